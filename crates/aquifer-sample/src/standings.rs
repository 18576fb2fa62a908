//! What the shop has come to know about each customer: the tier from what they spent, the favourite from what they
//! bought. Drawn after the orders, though stored with the customer.

use crate::customers::Customer;
use crate::orders::Order;
use crate::products::Product;
use crate::value::cents::Cents;
use crate::value::dice::Dice;

#[derive(Clone, Default)]
pub(crate) struct Standing {
    spent: Cents,
    pub(crate) favourite_product_id: Option<i64>,
}

impl Standing {
    pub(crate) fn tier(&self) -> &'static str {
        match self.spent.0 {
            280_000.. => "gold",
            90_000.. => "silver",
            _ => "bronze",
        }
    }
}

/// One for each customer, in the same order.
pub(crate) fn draw(customers: &[Customer], products: &[Product], orders: &[Order<'_>]) -> Vec<Standing> {
    let mut dice = Dice::new(4);
    let mut standings = vec![Standing::default(); customers.len()];
    for order in orders.iter().filter(|order| !order.is_undone()) {
        let Some(standing) = of(&mut standings, order.customer.id) else { continue };
        standing.spent = standing.spent + order.total();
        if dice.chance(35) {
            standing.favourite_product_id = dice.any(&order.lines).map(|line| line.product.id);
        }
    }
    // Many like best what they had asked for themselves. These close the circle from a customer to a product and back.
    for product in products {
        if let Some(suggested_by) = product.suggested_by
            && dice.chance(50)
            && let Some(standing) = of(&mut standings, suggested_by)
        {
            standing.favourite_product_id = Some(product.id);
        }
    }
    standings
}

pub(crate) fn standing_of<'a>(standings: &'a [Standing], customer: &Customer) -> Option<&'a Standing> {
    standings.get(position(customer.id)?)
}

fn of(standings: &mut [Standing], customer_id: i64) -> Option<&mut Standing> {
    standings.get_mut(position(customer_id)?)
}

/// Ids count from one.
fn position(customer_id: i64) -> Option<usize> {
    usize::try_from(customer_id - 1).ok()
}
