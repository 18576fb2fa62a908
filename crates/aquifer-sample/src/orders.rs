//! The orders and their lines.

use crate::customers::Customer;
use crate::products::Product;
use crate::value::cents::Cents;
use crate::value::moment::{DAY, HOUR, Moment};
use crate::value::rng::Rng;
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

    /// Whether it was cancelled or returned. Such orders bring no revenue.
    pub(crate) fn is_undone(&self) -> bool {
        matches!(self.status, "cancelled" | "returned")
    }
}

/// Generates the orders in the order in which they were placed.
pub(crate) fn generate<'a>(customers: &'a [Customer], products: &'a [Product]) -> Vec<Order<'a>> {
    let mut rng = Rng::new(3);
    let mut buyers: Vec<&Customer> = customers.iter().collect();
    rng.shuffle(&mut buyers);
    // Some customers never order.
    buyers.truncate(buyers.len() * 9 / 10);
    let mut popular: Vec<&Product> = products.iter().collect();
    rng.shuffle(&mut popular);

    let mut visits: Vec<Moment> = (0..ORDERS).map(|_| visit(&mut rng)).collect();
    visits.sort_unstable();
    let orders = (1..).zip(visits).filter_map(|(id, placed_at)| {
        let members: Vec<_> = buyers.iter().filter(|buyer| buyer.created_at.after(HOUR) < placed_at).collect();
        let customer = rng.choose_early(&members)?;
        Some(order(&mut rng, id, customer, placed_at, &popular))
    });
    orders.collect()
}

/// When an order is placed. Later times are more likely, because the shop grows, and sale months even more so.
fn visit(rng: &mut Rng) -> Moment {
    let mut some_day = || Moment::START.after(rng.between(20, 910).max(rng.between(20, 910)) * DAY);
    let (first, second) = (some_day(), some_day());
    let day = if is_sale_month(second) { second } else { first };
    day.in_waking_hours(rng, day)
}

fn is_sale_month(at: Moment) -> bool {
    at.month() == 11
}

fn order<'a>(rng: &mut Rng, id: i64, customer: &'a Customer, placed_at: Moment, popular: &[&'a Product]) -> Order<'a> {
    let (status, shipped_at) = delivery_status(rng, placed_at);
    Order {
        id,
        customer,
        status,
        placed_at,
        shipped_at,
        shipping: shipping(rng, customer),
        note: rng.chance(12).then(|| rng.pick(ORDER_NOTES)),
        lines: lines(rng, customer.place.currency, placed_at, popular),
    }
}

/// The status of an order and when it was shipped.
fn delivery_status(rng: &mut Rng, placed_at: Moment) -> (&'static str, Option<Moment>) {
    let turn = rng.between(1, 100);
    let packing = rng.between(8 * HOUR, 5 * DAY);
    let packed_at = placed_at.after(packing).in_waking_hours(rng, placed_at.after(HOUR));
    let arrives_at = packed_at.after(rng.between(DAY, 8 * DAY));
    let comes_back_at = arrives_at.after(rng.between(3 * DAY, 20 * DAY));
    match turn {
        1..=7 => ("cancelled", None),
        // Never paid.
        8..=9 => ("pending", None),
        _ if !packed_at.is_past() => (if rng.chance(30) { "pending" } else { "paid" }, None),
        _ if !arrives_at.is_past() => ("shipped", Some(packed_at)),
        10..=15 if comes_back_at.is_past() => ("returned", Some(packed_at)),
        _ => ("delivered", Some(packed_at)),
    }
}

fn lines<'a>(rng: &mut Rng, currency: &str, placed_at: Moment, popular: &[&'a Product]) -> Vec<Line<'a>> {
    let offered: Vec<&Product> = popular.iter().copied().filter(|product| product.is_offered(placed_at)).collect();
    let mut lines: Vec<Line<'a>> = Vec::new();
    for _ in 0..rng.pick(&[1, 1, 2, 2, 2, 3, 3, 4, 4, 6]) {
        let Some(product) = rng.choose_early(&offered).copied() else { break };
        if lines.iter().any(|line| line.product.id == product.id) {
            continue;
        }
        let quantity = match product.price.0 {
            0 => 1,
            1..3_000 => rng.pick(&[1, 1, 1, 2, 2, 3, 4, 6]),
            _ => rng.pick(&[1, 1, 1, 1, 1, 1, 2]),
        };
        lines.push(Line { product, quantity, unit_price: unit_price(product, currency, placed_at) });
    }
    lines
}

/// The price on that day in the customer's currency, converted at a fixed rate.
fn unit_price(product: &Product, currency: &str, placed_at: Moment) -> Cents {
    let rate = match currency {
        "GBP" => 86,
        "USD" => 108,
        _ => 100,
    };
    product.price.percent(rate).percent(if is_sale_month(placed_at) { 80 } else { 100 })
}

/// Some orders are shipped to another city. The word lists contain nothing that JSON has to escape.
fn shipping(rng: &mut Rng, customer: &Customer) -> String {
    let method = rng.pick(&["standard", "standard", "standard", "standard", "express", "pickup"]);
    let elsewhere = rng.chance(12);
    let city = if elsewhere { rng.pick(customer.place.cities) } else { customer.city };
    let zip = if elsewhere { rng.fill_pattern(customer.place.zip) } else { customer.zip.clone() };
    let country = customer.place.country;
    format!(r#"{{"method":"{method}","address":{{"city":"{city}","zip":"{zip}","country":"{country}"}}}}"#)
}
