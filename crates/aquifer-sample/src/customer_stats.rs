//! Customer columns derived from the orders: the tier from the amount spent, the favourite from the products bought.

use crate::customers::Customer;
use crate::orders::Order;
use crate::products::Product;
use crate::value::cents::Cents;
use crate::value::rng::Rng;

#[derive(Clone, Default)]
pub(crate) struct CustomerStats {
    spent: Cents,
    pub(crate) favourite_product_id: Option<i64>,
}

impl CustomerStats {
    pub(crate) fn tier(&self) -> &'static str {
        match self.spent.0 {
            280_000.. => "gold",
            90_000.. => "silver",
            _ => "bronze",
        }
    }
}

/// Generates one entry for each customer, in the same order.
pub(crate) fn generate(customers: &[Customer], products: &[Product], orders: &[Order<'_>]) -> Vec<CustomerStats> {
    let mut rng = Rng::new(4);
    let mut stats = vec![CustomerStats::default(); customers.len()];
    for order in orders.iter().filter(|order| !order.is_undone()) {
        let Some(own_stats) = stats_mut(&mut stats, order.customer.id) else { continue };
        own_stats.spent = own_stats.spent + order.total();
        if rng.chance(35) {
            own_stats.favourite_product_id = rng.choose(&order.lines).map(|line| line.product.id);
        }
    }
    // Many customers prefer a product that they suggested, so that these rows reference each other.
    for product in products {
        if let Some(suggested_by) = product.suggested_by
            && rng.chance(50)
            && let Some(own_stats) = stats_mut(&mut stats, suggested_by)
        {
            own_stats.favourite_product_id = Some(product.id);
        }
    }
    stats
}

pub(crate) fn find_stats<'a>(stats: &'a [CustomerStats], customer: &Customer) -> Option<&'a CustomerStats> {
    stats.get(position(customer.id)?)
}

fn stats_mut(stats: &mut [CustomerStats], customer_id: i64) -> Option<&mut CustomerStats> {
    stats.get_mut(position(customer_id)?)
}

/// Ids start at one.
fn position(customer_id: i64) -> Option<usize> {
    usize::try_from(customer_id - 1).ok()
}
