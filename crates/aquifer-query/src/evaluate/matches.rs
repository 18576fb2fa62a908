//! Whether an item matches.

use std::cmp::Ordering;

use serde_json::Value;

use super::at;
use crate::collection::{Collection, FieldType};
use crate::order::compare;
use crate::plan::{Filter, Test, TextQuery};
use crate::read::text::{fold, words};

/// Whether an item fits a condition.
pub(super) fn filter(filter: &Filter, item: &Value) -> bool {
    match filter {
        Filter::And(parts) => parts.iter().all(|part| self::filter(part, item)),
        Filter::Or(parts) => parts.iter().any(|part| self::filter(part, item)),
        Filter::Not(inner) => !self::filter(inner, item),
        Filter::Test { path, of, test } => passes(test, of, at(item, path)),
    }
}

pub(crate) fn passes(test: &Test, of: &FieldType, value: &Value) -> bool {
    if let Test::IsNull = test {
        return value.is_null();
    }
    if value.is_null() {
        return false;
    }
    // Values of no known type are in an order only among their own kind.
    let comparable =
        |bound: &Value| *of != FieldType::Json || std::mem::discriminant(value) == std::mem::discriminant(bound);
    let is = |bound: &Value, orders: &[Ordering]| comparable(bound) && orders.contains(&compare(of, value, bound));
    match test {
        Test::Eq(bound) => is(bound, &[Ordering::Equal]),
        Test::Gt(bound) => is(bound, &[Ordering::Greater]),
        Test::Gte(bound) => is(bound, &[Ordering::Greater, Ordering::Equal]),
        Test::Lt(bound) => is(bound, &[Ordering::Less]),
        Test::Lte(bound) => is(bound, &[Ordering::Less, Ordering::Equal]),
        Test::In(bounds) => bounds.iter().any(|bound| is(bound, &[Ordering::Equal])),
        Test::Contains(text) => holds(value, |value| value.contains(text)),
        Test::StartsWith(text) => holds(value, |value| value.starts_with(text)),
        Test::EndsWith(text) => holds(value, |value| value.ends_with(text)),
        Test::Has(element) => value.as_array().is_some_and(|elements| {
            let FieldType::List(of) = of else { return false };
            let of = of.as_deref().unwrap_or(&FieldType::Json);
            elements.iter().any(|one| !one.is_null() && compare(of, one, element) == Ordering::Equal)
        }),
        Test::IsNull => false,
    }
}

fn holds(value: &Value, test: impl Fn(&str) -> bool) -> bool {
    value.as_str().is_some_and(|text| test(&fold(text)))
}

/// How many of the words and phrases stand in the item's text; none if none do.
pub(super) fn rank(collection: &Collection, text: &TextQuery, item: &Value) -> Option<i64> {
    let texts: Vec<Vec<String>> = if collection.text.is_empty() {
        item.as_object().into_iter().flatten().filter_map(|(_, value)| value.as_str()).map(words).collect()
    } else {
        collection.text.iter().filter_map(|name| item.get(&**name)?.as_str()).map(words).collect()
    };
    let terms: Vec<Vec<String>> = text.terms.iter().map(|term| term.words.clone()).collect();
    Some(super::text::rank(&terms, &texts)).filter(|found| *found > 0)
}
