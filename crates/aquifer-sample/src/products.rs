//! What is on the shelves: each kind in several models.

use crate::customers::Customer;
use crate::value::cents::Cents;
use crate::value::dice::Dice;
use crate::value::moment::{DAY, Moment};
use crate::value::text::render;
use crate::words::kinds::{COLOURS, KINDS, Kind, MODELS, REMARKS};

/// What each further model of a kind costs, in percent of the plainest.
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

/// In the order in which they came into the shop.
pub(crate) fn draw(customers: &[Customer]) -> Vec<Product> {
    let mut dice = Dice::new(2);
    let mut products = Vec::with_capacity(KINDS.len() * MODEL_PRICES.len());
    for (shelf, kind) in (1..).zip(KINDS) {
        let mut models = MODELS.to_vec();
        dice.shuffle(&mut models);
        for ((number, percent), model) in (1..).zip(MODEL_PRICES).zip(models) {
            let sku = format!("{}-{shelf:02}{number}", kind.code);
            products.push(product(&mut dice, kind, model, sku, percent, customers));
        }
    }
    dice.shuffle(&mut products);
    products.sort_by_key(|product| product.created_at);
    for (id, product) in (1..).zip(&mut products) {
        product.id = id;
    }
    products
}

fn product(
    dice: &mut Dice,
    kind: &Kind,
    model: &'static str,
    sku: String,
    percent: i64,
    customers: &[Customer],
) -> Product {
    let opening = dice.chance(60);
    let day = Moment::START.after(DAY * if opening { 0 } else { dice.between(40, 880) });
    let created_at = day.awake(dice, day);
    let members = customers.partition_point(|customer| customer.created_at < created_at) as i64;
    let discontinued = created_at.after(dice.between(120, 900) * DAY);
    let colour = dice.pick(COLOURS);
    Product {
        id: 0,
        sku,
        name: format!("{model} {}", kind.noun),
        model,
        description: description(dice, kind, model, colour),
        category_id: kind.category,
        price: price(dice, Cents(kind.price).percent(percent)),
        stock: if dice.chance(9) { 0 } else { dice.between(1, 240) },
        attributes: attributes(dice, kind, colour),
        suggested_by: (members > 0 && dice.chance(45)).then(|| dice.between(1, members)),
        created_at,
        discontinued_at: if dice.chance(14) { discontinued.if_come() } else { None },
    }
}

/// Ends like prices do. What is free stays free.
fn price(dice: &mut Dice, exact: Cents) -> Cents {
    let units = exact.0 / 100 * 100;
    Cents(if units == 0 { exact.0 } else { units + dice.pick(&[0, 49, 90, 90, 95]) })
}

/// One to three sentences.
fn description(dice: &mut Dice, kind: &Kind, model: &str, colour: &str) -> String {
    let [first, second] = kind.about;
    let remark = dice.pick(REMARKS);
    let sentences = match dice.between(1, 6) {
        // A remark would be too much for something that is free.
        3.. if kind.price == 0 => vec![first, second],
        1 => vec![first],
        2 => vec![first, second],
        3 | 4 => vec![first, remark],
        _ => vec![first, second, remark],
    };
    let material = dice.pick(&kind.materials);
    render(&sentences.join(" "), &[("model", model), ("colour", colour), ("material", material)])
}

fn attributes(dice: &mut Dice, kind: &Kind, colour: &str) -> String {
    let other = dice.pick(COLOURS);
    let colours = if other == colour { format!(r#"["{colour}"]"#) } else { format!(r#"["{colour}","{other}"]"#) };
    let grams = Cents(kind.grams).percent(dice.between(85, 120)).0;
    let [main, minor] = kind.materials;
    let share = dice.between(55, 95);
    let rest = 100 - share;
    let size = if dice.chance(15) {
        "null".to_owned()
    } else {
        let (length, width, height) = (dice.between(12, 90), dice.between(8, 45), dice.between(2, 40));
        format!(r#"{{"length":{length},"width":{width},"height":{height}}}"#)
    };
    let materials = format!(r#"[{{"name":"{main}","percent":{share}}},{{"name":"{minor}","percent":{rest}}}]"#);
    let years = dice.pick(&[0, 2, 2, 5, 10]);
    let warranty = format!(r#"{{"years":{years},"repairable":{}}}"#, dice.chance(70));
    let body = format!(r#""colours":{colours},"weight_g":{grams},"size_cm":{size},"materials":{materials}"#);
    format!(r#"{{{body},"warranty":{warranty}}}"#)
}
