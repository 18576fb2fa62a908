//! The intersection of several schemas.
//!
//! Constraints that a single schema cannot express are dropped, so the result may accept more values than the parts do,
//! but never fewer.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use super::{Kind, Range, Rest, Schema, Shape, Span};

/// The index of each field in the result. Shared by all parts, so that merging takes time linear in the number of
/// fields.
type Places = HashMap<Arc<str>, usize>;

/// A schema for values that satisfy all parts.
pub(super) fn intersect<'a>(parts: impl Iterator<Item = &'a Schema>) -> Schema {
    let mut whole = Schema::new(Kind::Any);
    // `null` is accepted only if every part accepts it.
    let mut nullable = true;
    let mut places = Places::new();
    for part in parts {
        let Some(kind) = both(std::mem::take(&mut whole.kind), &part.kind, &mut places) else {
            return Schema::default();
        };
        whole.kind = kind;
        nullable &= part.nullable || matches!(part.kind, Kind::Any | Kind::Null);
        whole.allowed = common(whole.allowed.take(), part.allowed.as_ref());
        whole.range = narrower(whole.range, part.range);
        whole.length = shorter(whole.length, part.length);
        whole.items = shorter(whole.items, part.items);
        whole.unique_items |= part.unique_items;
        whole.read_only |= part.read_only;
        whole.pattern = whole.pattern.or_else(|| part.pattern.clone());
        whole.format = whole.format.or_else(|| part.format.clone());
        whole.default = whole.default.or_else(|| part.default.clone());
        whole.description = whole.description.or_else(|| part.description.clone());
    }
    whole.nullable = nullable && !matches!(whole.kind, Kind::Any | Kind::Null);
    whole
}

/// The intersection of two kinds, if it can be expressed.
fn both(one: Kind, other: &Kind, places: &mut Places) -> Option<Kind> {
    Some(match (one, other) {
        (Kind::Any, kind) => kind.clone(),
        (kind, Kind::Any) => kind,
        (Kind::Object(mut one), Kind::Object(other)) => {
            merge(&mut one, other, places);
            Kind::Object(one)
        }
        (Kind::Integer, Kind::Integer | Kind::Number) | (Kind::Number, Kind::Integer) => Kind::Integer,
        (Kind::Number, Kind::Number) => Kind::Number,
        (Kind::String, Kind::String) => Kind::String,
        (Kind::Boolean, Kind::Boolean) => Kind::Boolean,
        (Kind::Null, Kind::Null) => Kind::Null,
        (Kind::Array(Some(items)), Kind::Array(None)) => Kind::Array(Some(items)),
        (Kind::Array(None), Kind::Array(Some(items))) => Kind::Array(Some(items.clone())),
        (Kind::Array(_), Kind::Array(_)) => Kind::Array(None),
        _ => return None,
    })
}

/// Merges the fields of both parts. A field in both is required if either part requires it. Other fields are allowed,
/// because a part that accepts only its own fields would refuse those of the other.
fn merge(one: &mut Shape, other: &Shape, places: &mut Places) {
    one.rest = Rest::default();
    if places.len() != one.fields.len() {
        *places = one.fields.iter().enumerate().map(|(place, field)| (field.name.clone(), place)).collect();
    }
    for field in &other.fields {
        match places.get(&field.name).and_then(|place| one.fields.get_mut(*place)) {
            Some(known) => {
                known.required |= field.required;
                known.schema = intersect([&known.schema, &field.schema].into_iter());
            }
            None => {
                places.insert(field.name.clone(), one.fields.len());
                one.fields.push(field.clone());
            }
        }
    }
}

/// The values in both lists. If there are none, the list is dropped, because the intention is unclear.
fn common(one: Option<Arc<[Value]>>, other: Option<&Arc<[Value]>>) -> Option<Arc<[Value]>> {
    match (one, other) {
        (Some(one), Some(other)) => {
            let written = |value: &Value| (!value.is_array() && !value.is_object()).then(|| value.to_string());
            let plain: HashSet<String> = other.iter().filter_map(written).collect();
            let is_shared =
                |value: &&Value| written(value).map_or_else(|| other.contains(value), |text| plain.contains(&text));
            let shared: Arc<[Value]> = one.iter().filter(is_shared).cloned().collect();
            (!shared.is_empty()).then_some(shared)
        }
        (one, other) => one.or_else(|| other.cloned()),
    }
}

fn narrower(one: Range, other: Range) -> Range {
    let higher = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a.max(b)).or(a).or(b);
    let least = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a.min(b)).or(a).or(b);
    Range {
        minimum: higher(one.minimum, other.minimum),
        maximum: least(one.maximum, other.maximum),
        above: higher(one.above, other.above),
        below: least(one.below, other.below),
        multiple_of: one.multiple_of.or(other.multiple_of),
    }
}

fn shorter(one: Span, other: Span) -> Span {
    Span { min: one.min.max(other.min), max: one.max.zip(other.max).map(|(a, b)| a.min(b)).or(one.max).or(other.max) }
}
