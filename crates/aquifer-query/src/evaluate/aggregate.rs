//! Evaluates aggregates.

use std::borrow::Cow;
use std::cmp::Ordering;

use aquifer_protocol::warning::Warning;
use serde_json::{Map, Value, json};

use super::{Match, value_at};
use crate::answer::groups::{AggregateWriter, Group};
use crate::budget::Budget;
use crate::collection::FieldType;
use crate::plan::calculation::rounded;
use crate::plan::{Aggregate, Function, GroupKey, GroupOrder, NumericFunction, Path, Plan};
use crate::value::order::{as_float, as_integer, compare, number_text};
use crate::work::Work;

/// Adds the results of the aggregates to an answer: first which groups are shown, then the results.
pub(crate) fn insert_all(
    plan: &Plan,
    matched: &[Match<'_>],
    budget: Option<&mut Budget>,
    work: &Work<'_>,
    data: &mut Map<String, Value>,
    warnings: &mut Vec<Warning>,
) {
    let mut writer = AggregateWriter::new(plan, budget);
    let items: Vec<&Value> = matched.iter().map(|hit| hit.item).collect();
    for aggregate in &plan.aggregates {
        if work.is_stopped() {
            return;
        }
        if aggregate.group_by.is_empty() {
            writer.add_single(aggregate, calculate(aggregate, &items, work));
        } else {
            let (groups, total) = evaluate_groups(aggregate, &items, work);
            writer.add_groups(aggregate, groups, total, warnings);
        }
    }
    let (groups, results) = writer.finish();
    if let Some(groups) = groups {
        data.insert("groups".to_owned(), groups.into());
    }
    data.insert("aggregations".to_owned(), results.into());
}

/// The values of all items that they are grouped by.
struct GroupValues<'a> {
    aggregate: &'a Aggregate,
    values: Vec<Cow<'a, Value>>,
    /// The memory they take.
    bytes: usize,
}

impl<'a> GroupValues<'a> {
    fn new(aggregate: &'a Aggregate, items: &[&'a Value], work: &Work<'_>) -> Self {
        const LABEL_BYTES: usize = 32;
        let is_bucket = aggregate.group_by.iter().any(|key| key.bucket.is_some());
        let each = size_of::<Cow<'_, Value>>() + if is_bucket { LABEL_BYTES } else { 0 };
        let bytes = items.len().saturating_mul(aggregate.group_by.len()).saturating_mul(each);
        work.reserve(bytes);
        let mut values = Vec::new();
        for item in items.iter().take_while(|_| !work.is_stopped()) {
            for key in &aggregate.group_by {
                let value = value_at(item, &key.path);
                work.spend(1 + key.path.inside.len() + if key.bucket.is_some() { TIME_STEPS } else { 0 });
                values.push(match &key.bucket {
                    None => Cow::Borrowed(value),
                    Some(bucket) => Cow::Owned(bucket.label(&key.field_type, value)),
                });
            }
        }
        Self { aggregate, values, bytes }
    }

    /// The values of an item.
    fn get(&self, item: usize) -> &[Cow<'a, Value>] {
        let keys = self.aggregate.group_by.len();
        self.values.get(item * keys..(item + 1) * keys).unwrap_or_default()
    }

    fn compare(&self, a: usize, b: usize, descending: bool, work: &Work<'_>) -> Ordering {
        let types = self.aggregate.group_by.iter().map(GroupKey::label_type);
        let values = self.get(a).iter().zip(self.get(b));
        let mut orders = types.zip(values).map(|(field_type, (a, b))| {
            // The greatest come first and missing values last.
            match descending && !a.is_null() && !b.is_null() {
                true => compare_within(field_type, b, a, work),
                false => compare_within(field_type, a, b, work),
            }
        });
        orders.find(|order| *order != Ordering::Equal).unwrap_or(Ordering::Equal)
    }
}

/// Parsing a time takes this many steps.
const TIME_STEPS: usize = 8;

/// Compares two values at the expense of the work.
pub(crate) fn compare_within(field_type: &FieldType, a: &Value, b: &Value, work: &Work<'_>) -> Ordering {
    match field_type {
        FieldType::Time => work.spend(2 * TIME_STEPS),
        _ => work.spend_on(a),
    }
    compare(field_type, a, b)
}

/// The groups of the requested page, and how many there are in all.
fn evaluate_groups(aggregate: &Aggregate, items: &[&Value], work: &Work<'_>) -> (Vec<Group>, usize) {
    let values = GroupValues::new(aggregate, items, work);
    let bytes = items.len().saturating_mul(2 * size_of::<usize>());
    work.reserve(bytes);
    // Groups are ordered by their values, so that the same items give the same answer. Members keep their order.
    let mut order: Vec<usize> = (0..items.len()).collect();
    work.sort_by(&mut order, |a, b| values.compare(*a, *b, false, work));
    let members: Vec<&Value> = order.iter().filter_map(|index| items.get(*index)).copied().collect();
    // Each group is a range of the members.
    let mut groups: Vec<(usize, usize)> = Vec::new();
    for (position, item) in order.iter().enumerate() {
        if work.is_stopped() {
            return (Vec::new(), 0);
        }
        let before = position.checked_sub(1).and_then(|before| order.get(before));
        match groups.last_mut() {
            Some((_, end)) if before.is_some_and(|before| values.compare(*before, *item, false, work).is_eq()) => {
                *end = position + 1;
            }
            _ => groups.push((position, position + 1)),
        }
    }
    let members_of = |(start, end): (usize, usize)| members.get(start..end).unwrap_or_default();
    let first_of = |(start, _): (usize, usize)| order.get(start).copied().unwrap_or_default();
    if !aggregate.having.is_empty() {
        groups.retain(|group| meets_conditions(aggregate, members_of(*group), work));
    }
    if let (GroupOrder::ByValue { descending }, Some(function)) = (aggregate.order, aggregate.functions.first()) {
        let field_type = function.result_type();
        let results: Vec<SortedResult<'_>> = groups
            .iter()
            .map(|group| SortedResult {
                value: function_value(function, members_of(*group), work),
                field_type,
                descending,
            })
            .collect();
        let mut by_result: Vec<usize> = (0..groups.len()).collect();
        work.sort_by(&mut by_result, |a, b| results.get(*a).cmp(&results.get(*b)));
        groups = by_result.into_iter().filter_map(|index| groups.get(index).copied()).collect();
    }
    if aggregate.order == GroupOrder::ByGroupDescending {
        work.sort_by(&mut groups, |a, b| values.compare(first_of(*a), first_of(*b), true, work));
    }
    let total = groups.len();
    let shown = groups.into_iter().skip(aggregate.page.offset).take(aggregate.page.size());
    let shown = shown.take_while(|_| !work.is_stopped()).map(|group| {
        let own = values.get(first_of(group)).iter().map(|value| work.copy(value)).collect();
        Group::new(aggregate, own, calculate(aggregate, members_of(group), work))
    });
    let shown = shown.collect();
    work.release(bytes.saturating_add(values.bytes));
    (shown, total)
}

fn meets_conditions(aggregate: &Aggregate, members: &[&Value], work: &Work<'_>) -> bool {
    aggregate.having.iter().all(|having| {
        let result = aggregate.functions.get(having.function).map(|function| function_value(function, members, work));
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
    field_type: &'a FieldType,
    descending: bool,
}

impl Ord for SortedResult<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.value.is_null(), other.value.is_null()) {
            (false, false) if self.descending => compare(self.field_type, &other.value, &self.value),
            _ => compare(self.field_type, &self.value, &other.value),
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

/// The results of the functions.
fn calculate(aggregate: &Aggregate, items: &[&Value], work: &Work<'_>) -> Vec<Value> {
    aggregate.functions.iter().map(|function| function_value(function, items, work)).collect()
}

/// The values of the items at a path.
fn values_at<'a>(path: &'a Path, items: &[&'a Value], work: &Work<'_>) -> impl Iterator<Item = &'a Value> {
    let value = |item: &&'a Value| {
        work.spend(1 + path.inside.len());
        value_at(item, path)
    };
    items.iter().take_while(|_| !work.is_stopped()).map(value)
}

fn function_value(function: &Function, items: &[&Value], work: &Work<'_>) -> Value {
    match function {
        Function::Count => json!(items.len()),
        Function::CountDistinct(path, field_type) => {
            let mut values: Vec<&Value> = values_at(path, items, work).filter(|value| !value.is_null()).collect();
            work.sort_by(&mut values, |a, b| compare_within(field_type, a, b, work));
            values.dedup_by(|a, b| compare(field_type, a, b).is_eq());
            json!(values.len())
        }
        Function::Sum(path, field_type) => sum(path, field_type, items, work).map_or(Value::Null, |(sum, _)| sum),
        Function::Avg(path, field_type) => match sum(path, field_type, items, work) {
            #[expect(clippy::cast_precision_loss, reason = "counts of items")]
            Some((total, count)) => float_value(as_float(&total) / count as f64),
            None => Value::Null,
        },
        Function::Calculated(kind, calculation) => {
            let steps = calculation.size();
            let results = items.iter().take_while(|_| !work.is_stopped()).filter_map(|item| {
                work.spend(steps);
                calculation.result(&|path, field_type| number_at(item, path, field_type))
            });
            calculated(*kind, &results.collect::<Vec<f64>>()).map_or(Value::Null, rounded)
        }
        Function::Min(path, field_type) => extreme(path, field_type, items, Ordering::Less, work),
        Function::Max(path, field_type) => extreme(path, field_type, items, Ordering::Greater, work),
    }
}

/// The sum and the number of values. It is exact for integers; untyped numbers are doubles.
fn sum(path: &Path, field_type: &FieldType, items: &[&Value], work: &Work<'_>) -> Option<(Value, usize)> {
    let values: Vec<&Value> =
        values_at(path, items, work).filter(|value| is_included(field_type, value) && is_numeric(value)).collect();
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

fn extreme(path: &Path, field_type: &FieldType, items: &[&Value], wanted: Ordering, work: &Work<'_>) -> Value {
    values_at(path, items, work)
        .filter(|value| !value.is_null() && is_included(field_type, value))
        .reduce(|best, value| if compare_within(field_type, value, best, work) == wanted { value } else { best })
        .map_or(Value::Null, |value| work.copy(value))
}

/// Of untyped values only numbers are aggregated.
fn is_included(field_type: &FieldType, value: &Value) -> bool {
    *field_type != FieldType::Json || value.is_number()
}
