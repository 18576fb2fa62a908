//! Who bought what, and how far it has got.

use crate::customers::Customer;
use crate::products::Product;
use crate::value::cents::Cents;
use crate::value::dice::Dice;
use crate::value::moment::{DAY, HOUR, Moment};
use crate::words::letters::ORDER_NOTES;

const ORDERS: usize = 1_500;

pub(crate) struct Order<'a> {
    pub(crate) id: i64,
    pub(crate) customer: &'a Customer,
    pub(crate) status: &'static str,
    pub(crate) placed_at: Moment,
    pub(crate) shipped_at: Option<Moment>,
    pub(crate) shipping: String,
    pub(crate) note: Option<&'static str>,
    pub(crate) lines: Vec<Line<'a>>,
}

pub(crate) struct Line<'a> {
    pub(crate) product: &'a Product,
    pub(crate) quantity: i64,
    pub(crate) unit_price: Cents,
}

impl Order<'_> {
    pub(crate) fn total(&self) -> Cents {
        self.lines.iter().map(|line| line.unit_price * line.quantity).sum()
    }

    /// Cancelled or sent back: it brought the shop nothing.
    pub(crate) fn is_undone(&self) -> bool {
        matches!(self.status, "cancelled" | "returned")
    }
}

/// In the order in which they were placed.
pub(crate) fn draw<'a>(customers: &'a [Customer], products: &'a [Product]) -> Vec<Order<'a>> {
    let mut dice = Dice::new(3);
    let mut buyers: Vec<&Customer> = customers.iter().collect();
    dice.shuffle(&mut buyers);
    // Not everybody who signs up buys.
    buyers.truncate(buyers.len() * 9 / 10);
    let mut popular: Vec<&Product> = products.iter().collect();
    dice.shuffle(&mut popular);

    let mut visits: Vec<Moment> = (0..ORDERS).map(|_| visit(&mut dice)).collect();
    visits.sort_unstable();
    let orders = (1..).zip(visits).filter_map(|(id, placed_at)| {
        let members: Vec<_> = buyers.iter().filter(|buyer| buyer.created_at.after(HOUR) < placed_at).collect();
        let customer = dice.any_early(&members)?;
        Some(order(&mut dice, id, customer, placed_at, &popular))
    });
    orders.collect()
}

/// When somebody comes to buy: the later the likelier, as the shop grows, and most of all when there is a sale.
fn visit(dice: &mut Dice) -> Moment {
    let mut some_day = || Moment::START.after(dice.between(20, 910).max(dice.between(20, 910)) * DAY);
    let (first, second) = (some_day(), some_day());
    let day = if is_sale_month(second) { second } else { first };
    day.awake(dice, day)
}

fn is_sale_month(at: Moment) -> bool {
    at.month() == 11
}

fn order<'a>(
    dice: &mut Dice,
    id: i64,
    customer: &'a Customer,
    placed_at: Moment,
    popular: &[&'a Product],
) -> Order<'a> {
    let (status, shipped_at) = fate(dice, placed_at);
    Order {
        id,
        customer,
        status,
        placed_at,
        shipped_at,
        shipping: shipping(dice, customer),
        note: dice.chance(12).then(|| dice.pick(ORDER_NOTES)),
        lines: lines(dice, customer.place.currency, placed_at, popular),
    }
}

/// How far an order has got, and when it left the house.
fn fate(dice: &mut Dice, placed_at: Moment) -> (&'static str, Option<Moment>) {
    let turn = dice.between(1, 100);
    let packing = dice.between(8 * HOUR, 5 * DAY);
    let packed_at = placed_at.after(packing).awake(dice, placed_at.after(HOUR));
    let arrives_at = packed_at.after(dice.between(DAY, 8 * DAY));
    let comes_back_at = arrives_at.after(dice.between(3 * DAY, 20 * DAY));
    match turn {
        1..=7 => ("cancelled", None),
        // Never paid for.
        8..=9 => ("pending", None),
        _ if !packed_at.has_come() => (if dice.chance(30) { "pending" } else { "paid" }, None),
        _ if !arrives_at.has_come() => ("shipped", Some(packed_at)),
        10..=15 if comes_back_at.has_come() => ("returned", Some(packed_at)),
        _ => ("delivered", Some(packed_at)),
    }
}

fn lines<'a>(dice: &mut Dice, currency: &str, placed_at: Moment, popular: &[&'a Product]) -> Vec<Line<'a>> {
    let offered: Vec<&Product> = popular.iter().copied().filter(|product| product.is_offered(placed_at)).collect();
    let mut lines: Vec<Line<'a>> = Vec::new();
    for _ in 0..dice.pick(&[1, 1, 2, 2, 2, 3, 3, 4, 4, 6]) {
        let Some(product) = dice.any_early(&offered).copied() else { break };
        if lines.iter().any(|line| line.product.id == product.id) {
            continue;
        }
        let quantity = match product.price.0 {
            0 => 1,
            1..3_000 => dice.pick(&[1, 1, 1, 2, 2, 3, 4, 6]),
            _ => dice.pick(&[1, 1, 1, 1, 1, 1, 2]),
        };
        lines.push(Line { product, quantity, unit_price: unit_price(product, currency, placed_at) });
    }
    lines
}

/// The price of the day, in the customer's currency at the shop's fixed rate.
fn unit_price(product: &Product, currency: &str, placed_at: Moment) -> Cents {
    let rate = match currency {
        "GBP" => 86,
        "USD" => 108,
        _ => 100,
    };
    product.price.percent(rate).percent(if is_sale_month(placed_at) { 80 } else { 100 })
}

/// Sometimes to another town, for a friend. The word lists hold nothing that JSON would want escaped.
fn shipping(dice: &mut Dice, customer: &Customer) -> String {
    let method = dice.pick(&["standard", "standard", "standard", "standard", "express", "pickup"]);
    let elsewhere = dice.chance(12);
    let city = if elsewhere { dice.pick(customer.place.cities) } else { customer.city };
    let zip = if elsewhere { dice.fill_pattern(customer.place.zip) } else { customer.zip.clone() };
    let country = customer.place.country;
    format!(r#"{{"method":"{method}","address":{{"city":"{city}","zip":"{zip}","country":"{country}"}}}}"#)
}
