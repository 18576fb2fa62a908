//! Sums.

use std::cmp::Ordering;

use serde_json::{Map, Value, json};

use super::{Matched, Notes, at};
use crate::collection::FieldType;
use crate::order::{compare, number, whole};
use crate::plan::{Aggregate, Function, MAX_GROUPS, Path, group_label};

pub(crate) fn all(aggregates: &[Aggregate], matched: &[Matched<'_>], notes: &mut Notes) -> Value {
    let named = aggregates.iter().map(|aggregate| (aggregate.name.to_string(), one(aggregate, matched, notes)));
    Value::Object(named.collect())
}

fn one(aggregate: &Aggregate, matched: &[Matched<'_>], notes: &mut Notes) -> Value {
    if aggregate.group_by.is_empty() {
        return calculate(aggregate, &matched.iter().map(|one| one.item).collect::<Vec<_>>());
    }
    // Groups in the order of their values, so that the same items give the same answer. Members keep theirs.
    let mut keyed: Vec<(Vec<&Value>, &Value)> = matched
        .iter()
        .map(|one| (aggregate.group_by.iter().map(|(path, _)| at(one.item, path)).collect(), one.item))
        .collect();
    keyed.sort_by(|(a, _), (b, _)| by_values(aggregate, a, b));
    let mut groups: Vec<(Vec<&Value>, Vec<&Value>)> = Vec::new();
    for (values, item) in keyed {
        match groups.last_mut() {
            Some((known, members)) if by_values(aggregate, known, &values) == Ordering::Equal => members.push(item),
            _ => groups.push((values, vec![item])),
        }
    }
    if groups.len() > MAX_GROUPS {
        groups.truncate(MAX_GROUPS);
        notes.push(crate::evaluate::groups_cut(&aggregate.name));
    }
    let mut answer = Map::new();
    for (values, members) in groups {
        let labels: Vec<String> =
            aggregate.group_by.iter().zip(&values).map(|((_, of), value)| group_label(of, value)).collect();
        nest(&mut answer, &labels, calculate(aggregate, &members));
    }
    Value::Object(answer)
}

fn by_values(aggregate: &Aggregate, a: &[&Value], b: &[&Value]) -> Ordering {
    let types = aggregate.group_by.iter().map(|(_, of)| of);
    types
        .zip(a.iter().zip(b))
        .map(|(of, (a, b))| compare(of, a, b))
        .find(|order| *order != Ordering::Equal)
        .unwrap_or(Ordering::Equal)
}

/// One level of the answer for each field that was grouped by.
pub fn nest(answer: &mut Map<String, Value>, labels: &[String], result: Value) {
    match labels {
        [] => {}
        [last] => {
            answer.insert(last.clone(), result);
        }
        [first, rest @ ..] => {
            let inner = answer.entry(first.clone()).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(inner) = inner {
                nest(inner, rest, result);
            }
        }
    }
}

/// The number itself, or an object where several were asked for.
fn calculate(aggregate: &Aggregate, items: &[&Value]) -> Value {
    match aggregate.functions.as_slice() {
        [only] => value(only, items),
        several => {
            let values = several.iter().map(|function| value(function, items));
            Value::Object(aggregate.names().into_iter().zip(values).collect())
        }
    }
}

fn value(function: &Function, items: &[&Value]) -> Value {
    match function {
        Function::Count => json!(items.len()),
        Function::Sum(path, of) => sum(path, of, items).map_or(Value::Null, |(sum, _)| sum),
        Function::Avg(path, of) => match sum(path, of, items) {
            #[expect(clippy::cast_precision_loss, reason = "counts of items")]
            Some((total, count)) => double(number(&total) / count as f64),
            None => Value::Null,
        },
        Function::Min(path, of) => extreme(path, of, items, Ordering::Less),
        Function::Max(path, of) => extreme(path, of, items, Ordering::Greater),
    }
}

/// The sum and how many values it is of; whole as long as they are. Numbers of no known type are doubles.
fn sum(path: &Path, of: &FieldType, items: &[&Value]) -> Option<(Value, usize)> {
    let values: Vec<&Value> =
        items.iter().map(|item| at(item, path)).filter(|value| counts(of, value) && is_numeric(value)).collect();
    if values.is_empty() {
        return None;
    }
    let exact = || values.iter().try_fold(0_i128, |total, value| Some(total + i128::from(whole(value)?)));
    let exact = if *of == FieldType::Json { None } else { exact() };
    let total = exact.map_or_else(|| double(Doubles::of(values.iter().map(|value| number(value))).total()), integer);
    Some((total, values.len()))
}

/// A sum of doubles that also adds up what rounding takes from each step (after Neumaier): prices add up to a price.
#[derive(Debug, Clone, Copy, Default)]
pub struct Doubles {
    sum: f64,
    lost: f64,
}

impl Doubles {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut doubles = Self::default();
        values.for_each(|value| doubles.add(value));
        doubles
    }

    /// Adds one more.
    pub fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        let (larger, smaller) = if self.sum.abs() >= value.abs() { (self.sum, value) } else { (value, self.sum) };
        self.lost += (larger - sum) + smaller;
        self.sum = sum;
    }

    /// What they add up to.
    pub fn total(self) -> f64 {
        // Nothing is lost on the way to infinity.
        if self.sum.is_finite() { self.sum + self.lost } else { self.sum }
    }
}

/// A whole number; as text where JavaScript would round it (R-RES-5).
fn integer(number: i128) -> Value {
    const SAFE: i128 = (1 << 53) - 1;
    match i64::try_from(number) {
        Ok(small) if number.abs() <= SAFE => small.into(),
        _ => number.to_string().into(),
    }
}

/// A number; as text where JSON has none for it.
fn double(number: f64) -> Value {
    if number.is_nan() {
        return "NaN".into();
    }
    let infinite = if number > 0.0 { "Infinity" } else { "-Infinity" };
    serde_json::Number::from_f64(number).map_or_else(|| infinite.into(), Value::Number)
}

fn is_numeric(value: &Value) -> bool {
    value.is_number() || value.as_str().is_some_and(|text| text.parse::<f64>().is_ok())
}

fn extreme(path: &Path, of: &FieldType, items: &[&Value], wanted: Ordering) -> Value {
    let values = items.iter().map(|item| at(item, path)).filter(|value| !value.is_null() && counts(of, value));
    values
        .reduce(|best, value| if compare(of, value, best) == wanted { value } else { best })
        .cloned()
        .unwrap_or(Value::Null)
}

/// Of values of no known type only numbers are calculated with.
fn counts(of: &FieldType, value: &Value) -> bool {
    *of != FieldType::Json || value.is_number()
}
