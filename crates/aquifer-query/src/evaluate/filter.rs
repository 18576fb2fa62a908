//! Matches items against filters and text searches.

use std::cmp::Ordering;

use serde_json::Value;

use super::aggregate::number_at;
use super::value_at;
use crate::collection::{Collection, FieldType};
use crate::parse::text::{fold_case, split_words};
use crate::plan::{Filter, Quantifier, Test, TextQuery};
use crate::value::order::compare;

/// Whether an item matches a filter.
pub(crate) fn matches_filter(filter: &Filter, item: &Value) -> bool {
    match filter {
        Filter::And(parts) => parts.iter().all(|part| matches_filter(part, item)),
        Filter::Or(parts) => parts.iter().any(|part| matches_filter(part, item)),
        Filter::Not(inner) => !matches_filter(inner, item),
        Filter::Test { path, field_type, test } => passes_test(test, field_type, value_at(item, path)),
        Filter::Compare { left, comparison, right, field_type } => {
            let (left, right) = (value_at(item, left), value_at(item, right));
            // Untyped values are comparable only within their kind.
            let alike = *field_type != FieldType::Json || std::mem::discriminant(left) == std::mem::discriminant(right);
            !left.is_null() && !right.is_null() && alike && comparison.accepts(compare(field_type, left, right))
        }
        Filter::Calculate { left, field_type, comparison, right } => {
            let numbers = number_at(item, left, field_type)
                .zip(right.result(&|path, field_type| number_at(item, path, field_type)));
            let order = numbers.and_then(|(left, right)| left.partial_cmp(&right));
            order.is_some_and(|order| comparison.accepts(order))
        }
        Filter::Related { through, name, quantifier, filter } => {
            let item = through.iter().try_fold(item, |item, reference| item.get(&**reference));
            let related = item.and_then(|item| item.get(&**name)).and_then(Value::as_array);
            let mut related = related.into_iter().flatten();
            match quantifier {
                Quantifier::Some => related.any(|related_item| matches_filter(filter, related_item)),
                Quantifier::None => !related.any(|related_item| matches_filter(filter, related_item)),
                Quantifier::Every => related.all(|related_item| matches_filter(filter, related_item)),
            }
        }
    }
}

pub(crate) fn passes_test(test: &Test, field_type: &FieldType, value: &Value) -> bool {
    if let Test::IsNull = test {
        return value.is_null();
    }
    if value.is_null() {
        return false;
    }
    // Untyped values are comparable only within their kind.
    let comparable = |bound: &Value| {
        *field_type != FieldType::Json || std::mem::discriminant(value) == std::mem::discriminant(bound)
    };
    let compares =
        |bound: &Value, orders: &[Ordering]| comparable(bound) && orders.contains(&compare(field_type, value, bound));
    match test {
        Test::Eq(bound) => compares(bound, &[Ordering::Equal]),
        Test::Gt(bound) => compares(bound, &[Ordering::Greater]),
        Test::Gte(bound) => compares(bound, &[Ordering::Greater, Ordering::Equal]),
        Test::Lt(bound) => compares(bound, &[Ordering::Less]),
        Test::Lte(bound) => compares(bound, &[Ordering::Less, Ordering::Equal]),
        Test::In(bounds) => bounds.iter().any(|bound| compares(bound, &[Ordering::Equal])),
        Test::Contains(text) => folded_text_matches(value, |value| value.contains(text)),
        Test::StartsWith(text) => folded_text_matches(value, |value| value.starts_with(text)),
        Test::EndsWith(text) => folded_text_matches(value, |value| value.ends_with(text)),
        Test::Has(element) => value.as_array().is_some_and(|elements| {
            let FieldType::List(element_type) = field_type else { return false };
            let element_type = element_type.as_deref().unwrap_or(&FieldType::Json);
            elements
                .iter()
                .any(|candidate| !candidate.is_null() && compare(element_type, candidate, element) == Ordering::Equal)
        }),
        Test::IsNull => false,
    }
}

fn folded_text_matches(value: &Value, test: impl Fn(&str) -> bool) -> bool {
    value.as_str().is_some_and(|text| test(&fold_case(text)))
}

/// How many of the terms occur in the text of the item; `None` if none do.
pub(super) fn text_rank(collection: &Collection, text: &TextQuery, item: &Value) -> Option<i64> {
    let texts: Vec<Vec<String>> = if collection.text.is_empty() {
        item.as_object().into_iter().flatten().filter_map(|(_, value)| value.as_str()).map(split_words).collect()
    } else {
        collection.text.iter().filter_map(|name| item.get(&**name)?.as_str()).map(split_words).collect()
    };
    let terms: Vec<Vec<String>> = text.terms.iter().map(|term| term.words.clone()).collect();
    Some(super::text::rank(&terms, &texts)).filter(|count| *count > 0)
}
