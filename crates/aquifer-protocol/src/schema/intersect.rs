//! Several schemas that one value has to satisfy, as one.
//!
//! What one schema cannot say is left out: the outcome may admit more than the parts do, never less.

use std::sync::Arc;

use serde_json::Value;

use super::{Kind, Range, Schema, Shape, Span};

/// What satisfies all parts.
pub(super) fn intersect<'a>(parts: impl Iterator<Item = &'a Schema>) -> Schema {
    let mut whole = Schema::of(Kind::Any);
    // `null` passes only where every part lets it.
    let mut nullable = true;
    for part in parts {
        let Some(kind) = both(&whole.kind, &part.kind) else { return Schema::default() };
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

/// The kind that is of both kinds, if that can be said.
fn both(one: &Kind, other: &Kind) -> Option<Kind> {
    Some(match (one, other) {
        (Kind::Any, kind) | (kind, Kind::Any) => kind.clone(),
        (Kind::Object(one), Kind::Object(other)) => Kind::Object(merged(one, other)),
        (Kind::Integer, Kind::Integer | Kind::Number) | (Kind::Number, Kind::Integer) => Kind::Integer,
        (Kind::Number, Kind::Number) => Kind::Number,
        (Kind::String, Kind::String) => Kind::String,
        (Kind::Boolean, Kind::Boolean) => Kind::Boolean,
        (Kind::Null, Kind::Null) => Kind::Null,
        (Kind::Array(Some(items)), Kind::Array(None)) | (Kind::Array(None), Kind::Array(Some(items))) => {
            Kind::Array(Some(items.clone()))
        }
        (Kind::Array(_), Kind::Array(_)) => Kind::Array(None),
        _ => return None,
    })
}

/// The fields of both. A part may repeat a field of another; demanding it once is demanding it. A part that knows only
/// its own fields would refuse the other's, so what else may stand there is left open.
fn merged(one: &Shape, other: &Shape) -> Shape {
    let mut shape = Shape { fields: one.fields.clone(), ..Shape::default() };
    for field in &other.fields {
        match shape.fields.iter_mut().find(|known| known.name == field.name) {
            Some(known) => {
                known.required |= field.required;
                known.schema = intersect([&known.schema, &field.schema].into_iter());
            }
            None => shape.fields.push(field.clone()),
        }
    }
    shape
}

/// No common value would leave none at all; what was meant then is anybody's guess.
fn common(one: Option<Arc<[Value]>>, other: Option<&Arc<[Value]>>) -> Option<Arc<[Value]>> {
    match (one, other) {
        (Some(one), Some(other)) => {
            let shared: Arc<[Value]> = one.iter().filter(|value| other.contains(value)).cloned().collect();
            (!shared.is_empty()).then_some(shared)
        }
        (one, other) => one.or_else(|| other.cloned()),
    }
}

fn narrower(one: Range, other: Range) -> Range {
    let most = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a.max(b)).or(a).or(b);
    let least = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a.min(b)).or(a).or(b);
    Range {
        minimum: most(one.minimum, other.minimum),
        maximum: least(one.maximum, other.maximum),
        above: most(one.above, other.above),
        below: least(one.below, other.below),
        multiple_of: one.multiple_of.or(other.multiple_of),
    }
}

fn shorter(one: Span, other: Span) -> Span {
    Span { min: one.min.max(other.min), max: one.max.zip(other.max).map(|(a, b)| a.min(b)).or(one.max).or(other.max) }
}
