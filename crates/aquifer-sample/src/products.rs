//! The products: several models of each kind.

use crate::customers::Customer;
use crate::value::cents::Cents;
use crate::value::moment::{DAY, Moment};
use crate::value::rng::Rng;
use crate::value::text::render;
use crate::words::kinds::{COLOURS, KINDS, Kind, MODELS, REMARKS};

/// The prices of the models of a kind, in percent of the cheapest.
const MODEL_PRICES: [i64; 4] = [100, 119, 145, 180];

pub(crate) struct Product {
    pub(crate) id: i64,
    pub(crate) sku: String,
    pub(crate) name: String,
    pub(crate) model: &'static str,
    pub(crate) description: String,
    pub(crate) category_id: i64,
    pub(crate) price: Cents,
    pub(crate) stock: i64,
    pub(crate) attributes: String,
    pub(crate) suggested_by: Option<i64>,
    pub(crate) created_at: Moment,
    pub(crate) discontinued_at: Option<Moment>,
}

impl Product {
    pub(crate) fn is_offered(&self, at: Moment) -> bool {
        self.created_at <= at && self.discontinued_at.is_none_or(|end| at < end)
    }
}

/// Generates the products in the order in which they were added to the shop.
pub(crate) fn generate(customers: &[Customer]) -> Vec<Product> {
    let mut rng = Rng::new(2);
    let mut products = Vec::with_capacity(KINDS.len() * MODEL_PRICES.len());
    for (shelf, kind) in (1..).zip(KINDS) {
        let mut models = MODELS.to_vec();
        rng.shuffle(&mut models);
        for ((number, percent), model) in (1..).zip(MODEL_PRICES).zip(models) {
            let sku = format!("{}-{shelf:02}{number}", kind.code);
            products.push(product(&mut rng, kind, model, sku, percent, customers));
        }
    }
    rng.shuffle(&mut products);
    products.sort_by_key(|product| product.created_at);
    for (id, product) in (1..).zip(&mut products) {
        product.id = id;
    }
    products
}

fn product(
    rng: &mut Rng,
    kind: &Kind,
    model: &'static str,
    sku: String,
    percent: i64,
    customers: &[Customer],
) -> Product {
    let opening = rng.chance(60);
    let day = Moment::START.after(DAY * if opening { 0 } else { rng.between(40, 880) });
    let created_at = day.in_waking_hours(rng, day);
    let members = customers.partition_point(|customer| customer.created_at < created_at) as i64;
    let discontinued = created_at.after(rng.between(120, 900) * DAY);
    let colour = rng.pick(COLOURS);
    Product {
        id: 0,
        sku,
        name: format!("{model} {}", kind.noun),
        model,
        description: description(rng, kind, model, colour),
        category_id: kind.category,
        price: price(rng, Cents(kind.price).percent(percent)),
        stock: if rng.chance(9) { 0 } else { rng.between(1, 240) },
        attributes: attributes(rng, kind, colour),
        suggested_by: (members > 0 && rng.chance(45)).then(|| rng.between(1, members)),
        created_at,
        discontinued_at: if rng.chance(14) { discontinued.if_past() } else { None },
    }
}

/// Rounds to a usual price ending. Free products stay free.
fn price(rng: &mut Rng, exact: Cents) -> Cents {
    let units = exact.0 / 100 * 100;
    Cents(if units == 0 { exact.0 } else { units + rng.pick(&[0, 49, 90, 90, 95]) })
}

/// One to three sentences.
fn description(rng: &mut Rng, kind: &Kind, model: &str, colour: &str) -> String {
    let [first, second] = kind.about;
    let remark = rng.pick(REMARKS);
    let sentences = match rng.between(1, 6) {
        // Free products get no remark.
        3.. if kind.price == 0 => vec![first, second],
        1 => vec![first],
        2 => vec![first, second],
        3 | 4 => vec![first, remark],
        _ => vec![first, second, remark],
    };
    let material = rng.pick(&kind.materials);
    render(&sentences.join(" "), &[("model", model), ("colour", colour), ("material", material)])
}

fn attributes(rng: &mut Rng, kind: &Kind, colour: &str) -> String {
    let other = rng.pick(COLOURS);
    let colours = if other == colour { format!(r#"["{colour}"]"#) } else { format!(r#"["{colour}","{other}"]"#) };
    let grams = Cents(kind.grams).percent(rng.between(85, 120)).0;
    let [main, minor] = kind.materials;
    let share = rng.between(55, 95);
    let rest = 100 - share;
    let size = if rng.chance(15) {
        "null".to_owned()
    } else {
        let (length, width, height) = (rng.between(12, 90), rng.between(8, 45), rng.between(2, 40));
        format!(r#"{{"length":{length},"width":{width},"height":{height}}}"#)
    };
    let materials = format!(r#"[{{"name":"{main}","percent":{share}}},{{"name":"{minor}","percent":{rest}}}]"#);
    let years = rng.pick(&[0, 2, 2, 5, 10]);
    let warranty = format!(r#"{{"years":{years},"repairable":{}}}"#, rng.chance(70));
    let body = format!(r#""colours":{colours},"weight_g":{grams},"size_cm":{size},"materials":{materials}"#);
    format!(r#"{{{body},"warranty":{warranty}}}"#)
}
