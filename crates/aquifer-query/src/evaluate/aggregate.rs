//! Evaluates aggregates.

use std::cmp::Ordering;

use serde_json::{Map, Value, json};

use super::{Match, Warnings, value_at};
use crate::collection::FieldType;
use crate::order::{as_float, as_integer, compare};
use crate::plan::{Aggregate, Function, MAX_GROUPS, Path, group_label};

pub(crate) fn evaluate_all(aggregates: &[Aggregate], matched: &[Match<'_>], warnings: &mut Warnings) -> Value {
    let named =
        aggregates.iter().map(|aggregate| (aggregate.name.to_string(), evaluate_one(aggregate, matched, warnings)));
    Value::Object(named.collect())
}

fn evaluate_one(aggregate: &Aggregate, matched: &[Match<'_>], warnings: &mut Warnings) -> Value {
    if aggregate.group_by.is_empty() {
        return calculate(aggregate, &matched.iter().map(|one| one.item).collect::<Vec<_>>());
    }
    // Groups are ordered by their values, so that the same items give the same answer. Members keep their order.
    let mut keyed: Vec<(Vec<&Value>, &Value)> = matched
        .iter()
        .map(|one| (aggregate.group_by.iter().map(|(path, _)| value_at(one.item, path)).collect(), one.item))
        .collect();
    keyed.sort_by(|(a, _), (b, _)| compare_groups(aggregate, a, b));
    let mut groups: Vec<(Vec<&Value>, Vec<&Value>)> = Vec::new();
    for (values, item) in keyed {
        match groups.last_mut() {
            Some((known, members)) if compare_groups(aggregate, known, &values) == Ordering::Equal => {
                members.push(item)
            }
            _ => groups.push((values, vec![item])),
        }
    }
    if groups.len() > MAX_GROUPS {
        groups.truncate(MAX_GROUPS);
        warnings.push(crate::evaluate::groups_truncated(&aggregate.name));
    }
    let mut answer = Map::new();
    for (values, members) in groups {
        let labels: Vec<String> =
            aggregate.group_by.iter().zip(&values).map(|((_, of), value)| group_label(of, value)).collect();
        insert_nested(&mut answer, &labels, calculate(aggregate, &members));
    }
    Value::Object(answer)
}

fn compare_groups(aggregate: &Aggregate, a: &[&Value], b: &[&Value]) -> Ordering {
    let types = aggregate.group_by.iter().map(|(_, of)| of);
    types
        .zip(a.iter().zip(b))
        .map(|(of, (a, b))| compare(of, a, b))
        .find(|order| *order != Ordering::Equal)
        .unwrap_or(Ordering::Equal)
}

/// Inserts a result under nested labels, one level for each group field.
pub fn insert_nested(answer: &mut Map<String, Value>, labels: &[String], result: Value) {
    match labels {
        [] => {}
        [last] => {
            answer.insert(last.clone(), result);
        }
        [first, rest @ ..] => {
            let inner = answer.entry(first.clone()).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(inner) = inner {
                insert_nested(inner, rest, result);
            }
        }
    }
}

/// The value itself, or an object for several functions.
fn calculate(aggregate: &Aggregate, items: &[&Value]) -> Value {
    match aggregate.functions.as_slice() {
        [only] => function_value(only, items),
        several => {
            let values = several.iter().map(|function| function_value(function, items));
            Value::Object(aggregate.names().into_iter().zip(values).collect())
        }
    }
}

fn function_value(function: &Function, items: &[&Value]) -> Value {
    match function {
        Function::Count => json!(items.len()),
        Function::Sum(path, of) => sum(path, of, items).map_or(Value::Null, |(sum, _)| sum),
        Function::Avg(path, of) => match sum(path, of, items) {
            #[expect(clippy::cast_precision_loss, reason = "counts of items")]
            Some((total, count)) => float_value(as_float(&total) / count as f64),
            None => Value::Null,
        },
        Function::Min(path, of) => extreme(path, of, items, Ordering::Less),
        Function::Max(path, of) => extreme(path, of, items, Ordering::Greater),
    }
}

/// The sum and the number of values. It is exact for integers; untyped numbers are doubles.
fn sum(path: &Path, of: &FieldType, items: &[&Value]) -> Option<(Value, usize)> {
    let values: Vec<&Value> = items
        .iter()
        .map(|item| value_at(item, path))
        .filter(|value| is_included(of, value) && is_numeric(value))
        .collect();
    if values.is_empty() {
        return None;
    }
    let exact = || values.iter().try_fold(0_i128, |total, value| Some(total + i128::from(as_integer(value)?)));
    let exact = if *of == FieldType::Json { None } else { exact() };
    let total = exact.map_or_else(
        || float_value(CompensatedSum::from_values(values.iter().map(|value| as_float(value))).total()),
        integer_value,
    );
    Some((total, values.len()))
}

/// A compensated sum of doubles (Neumaier): prices add up to a price.
#[derive(Debug, Clone, Copy, Default)]
pub struct CompensatedSum {
    sum: f64,
    lost: f64,
}

impl CompensatedSum {
    fn from_values(values: impl Iterator<Item = f64>) -> Self {
        let mut sum = Self::default();
        values.for_each(|value| sum.add(value));
        sum
    }

    /// Adds a value.
    pub fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        let (larger, smaller) = if self.sum.abs() >= value.abs() { (self.sum, value) } else { (value, self.sum) };
        self.lost += (larger - sum) + smaller;
        self.sum = sum;
    }

    /// The sum.
    pub fn total(self) -> f64 {
        // The compensation is meaningless once the sum is infinite.
        if self.sum.is_finite() { self.sum + self.lost } else { self.sum }
    }
}

/// An integer, as text where JavaScript would round it (R-RES-5).
fn integer_value(number: i128) -> Value {
    const MAX_SAFE_INTEGER: i128 = (1 << 53) - 1;
    match i64::try_from(number) {
        Ok(small) if number.abs() <= MAX_SAFE_INTEGER => small.into(),
        _ => number.to_string().into(),
    }
}

/// A float, as text where JSON cannot represent it.
fn float_value(number: f64) -> Value {
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
    let values =
        items.iter().map(|item| value_at(item, path)).filter(|value| !value.is_null() && is_included(of, value));
    values
        .reduce(|best, value| if compare(of, value, best) == wanted { value } else { best })
        .cloned()
        .unwrap_or(Value::Null)
}

/// Of untyped values only numbers are aggregated.
fn is_included(of: &FieldType, value: &Value) -> bool {
    *of != FieldType::Json || value.is_number()
}
