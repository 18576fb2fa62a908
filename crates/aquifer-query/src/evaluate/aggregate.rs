//! Evaluates aggregates.

use std::cmp::Ordering;

use serde_json::{Map, Value, json};

use super::{Match, Warnings, value_at};
use crate::answer::groups::{AggregateWriter, Group};
use crate::budget::Budget;
use crate::collection::FieldType;
use crate::plan::calculation::rounded;
use crate::plan::{Aggregate, Function, GroupKey, GroupOrder, NumericFunction, Path, Plan};
use crate::value::order::{as_float, as_integer, compare, number_text};

/// Adds the results of the aggregates to an answer: first which groups are shown, then the results.
pub(crate) fn insert_all(
    plan: &Plan,
    matched: &[Match<'_>],
    budget: Option<&mut Budget>,
    data: &mut Map<String, Value>,
    warnings: &mut Warnings,
) {
    let mut writer = AggregateWriter::new(plan, budget);
    for aggregate in &plan.aggregates {
        if aggregate.group_by.is_empty() {
            let items: Vec<&Value> = matched.iter().map(|hit| hit.item).collect();
            writer.add_single(aggregate, calculate(aggregate, &items));
        } else {
            let (groups, total) = evaluate_groups(aggregate, matched);
            writer.add_groups(aggregate, groups, total, warnings);
        }
    }
    let (groups, results) = writer.finish();
    if let Some(groups) = groups {
        data.insert("groups".to_owned(), groups.into());
    }
    data.insert("aggregations".to_owned(), results.into());
}

/// The groups of the requested page, and how many there are in all.
fn evaluate_groups(aggregate: &Aggregate, matched: &[Match<'_>]) -> (Vec<Group>, usize) {
    let group_value = |key: &GroupKey, item: &Value| match &key.bucket {
        Some(bucket) => bucket.label(&key.of, value_at(item, &key.path)),
        None => value_at(item, &key.path).clone(),
    };
    // Groups are ordered by their values, so that the same items give the same answer. Members keep their order.
    let mut keyed: Vec<(Vec<Value>, &Value)> = matched
        .iter()
        .map(|hit| (aggregate.group_by.iter().map(|key| group_value(key, hit.item)).collect(), hit.item))
        .collect();
    keyed.sort_by(|(a, _), (b, _)| compare_groups(aggregate, a, b));
    let mut groups: Vec<(Vec<Value>, Vec<&Value>)> = Vec::new();
    for (values, item) in keyed {
        match groups.last_mut() {
            Some((group_values, members)) if compare_groups(aggregate, group_values, &values) == Ordering::Equal => {
                members.push(item)
            }
            _ => groups.push((values, vec![item])),
        }
    }
    if !aggregate.having.is_empty() {
        groups.retain(|(_, members)| meets_conditions(aggregate, members));
    }
    if let (GroupOrder::ByValue { descending }, Some(function)) = (aggregate.order, aggregate.functions.first()) {
        groups.sort_by_cached_key(|(_, members)| SortedResult {
            value: function_value(function, members),
            of: function.result_type(),
            descending,
        });
    }
    if aggregate.order == GroupOrder::ByGroupDescending {
        groups.sort_by(|(a, _), (b, _)| compare_groups_descending(aggregate, a, b));
    }
    let total = groups.len();
    let shown = groups.into_iter().skip(aggregate.page.offset).take(aggregate.page.size());
    let shown = shown.map(|(values, members)| Group::new(aggregate, values, calculate(aggregate, &members)));
    (shown.collect(), total)
}

fn meets_conditions(aggregate: &Aggregate, members: &[&Value]) -> bool {
    aggregate.having.iter().all(|having| {
        let result = aggregate.functions.get(having.function).map(|function| function_value(function, members));
        let number = result.filter(|result| !result.is_null()).map(|result| as_float(&result));
        let holds = number
            .and_then(|number| number.partial_cmp(&having.value))
            .is_some_and(|order| having.comparison.accepts(order));
        holds != having.negated
    })
}

/// A result by which groups are sorted.
struct SortedResult<'a> {
    value: Value,
    of: &'a FieldType,
    descending: bool,
}

impl Ord for SortedResult<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.value.is_null(), other.value.is_null()) {
            (false, false) if self.descending => compare(self.of, &other.value, &self.value),
            _ => compare(self.of, &self.value, &other.value),
        }
    }
}

impl PartialOrd for SortedResult<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for SortedResult<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for SortedResult<'_> {}

/// Compares groups so that the greatest come first and missing values last.
fn compare_groups_descending(aggregate: &Aggregate, a: &[Value], b: &[Value]) -> Ordering {
    let types = aggregate.group_by.iter().map(GroupKey::label_type);
    types
        .zip(a.iter().zip(b))
        .map(|(field_type, (a, b))| {
            let is_missing = a.is_null() || b.is_null();
            if is_missing { compare(field_type, a, b) } else { compare(field_type, b, a) }
        })
        .find(|order| *order != Ordering::Equal)
        .unwrap_or(Ordering::Equal)
}

fn compare_groups(aggregate: &Aggregate, a: &[Value], b: &[Value]) -> Ordering {
    let types = aggregate.group_by.iter().map(GroupKey::label_type);
    types
        .zip(a.iter().zip(b))
        .map(|(field_type, (a, b))| compare(field_type, a, b))
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

/// The results of the functions.
fn calculate(aggregate: &Aggregate, items: &[&Value]) -> Vec<Value> {
    aggregate.functions.iter().map(|function| function_value(function, items)).collect()
}

fn function_value(function: &Function, items: &[&Value]) -> Value {
    match function {
        Function::Count => json!(items.len()),
        Function::CountDistinct(path, field_type) => {
            let mut values: Vec<&Value> =
                items.iter().map(|item| value_at(item, path)).filter(|value| !value.is_null()).collect();
            values.sort_by(|a, b| compare(field_type, a, b));
            values.dedup_by(|a, b| compare(field_type, a, b).is_eq());
            json!(values.len())
        }
        Function::Sum(path, field_type) => sum(path, field_type, items).map_or(Value::Null, |(sum, _)| sum),
        Function::Avg(path, field_type) => match sum(path, field_type, items) {
            #[expect(clippy::cast_precision_loss, reason = "counts of items")]
            Some((total, count)) => float_value(as_float(&total) / count as f64),
            None => Value::Null,
        },
        Function::Calculated(kind, calculation) => {
            let results = items
                .iter()
                .filter_map(|item| calculation.result(&|path, field_type| number_at(item, path, field_type)));
            calculated(*kind, &results.collect::<Vec<f64>>()).map_or(Value::Null, rounded)
        }
        Function::Min(path, field_type) => extreme(path, field_type, items, Ordering::Less),
        Function::Max(path, field_type) => extreme(path, field_type, items, Ordering::Greater),
    }
}

/// The sum and the number of values. It is exact for integers; untyped numbers are doubles.
fn sum(path: &Path, field_type: &FieldType, items: &[&Value]) -> Option<(Value, usize)> {
    let values: Vec<&Value> = items
        .iter()
        .map(|item| value_at(item, path))
        .filter(|value| is_included(field_type, value) && is_numeric(value))
        .collect();
    if values.is_empty() {
        return None;
    }
    let exact = || values.iter().try_fold(0_i128, |total, value| Some(total + i128::from(as_integer(value)?)));
    let exact = if *field_type == FieldType::Json { None } else { exact() };
    let total = exact.map_or_else(
        || float_value(CompensatedSum::from_values(values.iter().map(|value| as_float(value))).total()),
        integer_value,
    );
    Some((total, values.len()))
}

/// The number at a path, for a calculation.
pub(super) fn number_at(item: &Value, path: &Path, field_type: &FieldType) -> Option<f64> {
    let value = value_at(item, path);
    (is_included(field_type, value) && is_numeric(value)).then(|| as_float(value))
}

/// A function of the results of a calculation.
fn calculated(function: NumericFunction, results: &[f64]) -> Option<f64> {
    let sum = || CompensatedSum::from_values(results.iter().copied()).total();
    match function {
        _ if results.is_empty() => None,
        NumericFunction::Sum => Some(sum()),
        #[expect(clippy::cast_precision_loss, reason = "counts of items")]
        NumericFunction::Avg => Some(sum() / results.len() as f64),
        NumericFunction::Min => results.iter().copied().reduce(f64::min),
        NumericFunction::Max => results.iter().copied().reduce(f64::max),
    }
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
    value.is_number() || value.as_str().is_some_and(|text| number_text(text).parse::<f64>().is_ok())
}

fn extreme(path: &Path, field_type: &FieldType, items: &[&Value], wanted: Ordering) -> Value {
    let values = items
        .iter()
        .map(|item| value_at(item, path))
        .filter(|value| !value.is_null() && is_included(field_type, value));
    values
        .reduce(|best, value| if compare(field_type, value, best) == wanted { value } else { best })
        .cloned()
        .unwrap_or(Value::Null)
}

/// Of untyped values only numbers are aggregated.
fn is_included(field_type: &FieldType, value: &Value) -> bool {
    *field_type != FieldType::Json || value.is_number()
}
