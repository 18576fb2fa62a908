//! The groups of an aggregate in an answer: nested objects, or the rows of a table, as many as fit.

use aquifer_protocol::warning::Warning;
use serde_json::{Map, Value, json};

use crate::answer::table;
use crate::budget::{self, Budget};
use crate::plan::{Aggregate, MAX_GROUPS, Plan, group_label};

/// One group: the values it is grouped by, its labels, and the results of the functions.
#[derive(Debug, Clone)]
pub struct Group {
    /// The values it is grouped by.
    pub values: Vec<Value>,
    /// The names of the group in nested objects.
    pub labels: Vec<String>,
    /// The results, in the order of the functions.
    pub results: Vec<Value>,
}

impl Group {
    /// A group with the labels of its values.
    pub fn new(aggregate: &Aggregate, values: Vec<Value>, results: Vec<Value>) -> Self {
        let labels = aggregate.group_by.iter().zip(&values).map(|(key, value)| group_label(key.label_type(), value));
        Self { labels: labels.collect(), values, results }
    }

    fn cells(self, aggregate: &Aggregate) -> Value {
        let values =
            aggregate.group_by.iter().zip(self.values).zip(self.labels).map(|((key, value), label)| match value {
                Value::Array(_) | Value::Object(_) => label.into(),
                // The label has the number in its shortest form.
                Value::Number(_) if key.bucket.is_none() => {
                    serde_json::from_str(&label).unwrap_or(Value::String(label))
                }
                other => other,
            });
        values.chain(self.results).collect()
    }
}

/// Writes the aggregates of an answer.
#[derive(Debug)]
pub struct AggregateWriter<'a> {
    table: bool,
    budget: Option<&'a mut Budget>,
    /// The parts of the answer that still share the budget.
    parts: usize,
    infos: Map<String, Value>,
    results: Map<String, Value>,
}

impl<'a> AggregateWriter<'a> {
    /// Creates a writer for the aggregates of a plan, within the remaining budget.
    pub fn new(plan: &Plan, budget: Option<&'a mut Budget>) -> Self {
        let grouped = plan.aggregates.iter().filter(|aggregate| !aggregate.group_by.is_empty()).count();
        let parts = grouped + usize::from(plan.items);
        Self { table: plan.table, budget, parts, infos: Map::new(), results: Map::new() }
    }

    /// Adds the result of an aggregate without groups.
    pub fn add_single(&mut self, aggregate: &Aggregate, results: Vec<Value>) {
        let result = result_value(aggregate, results);
        if let Some(budget) = &mut self.budget {
            budget.spend(budget::estimate_value(&result) + aggregate.name.len() / 2 + 2);
        }
        self.results.insert(aggregate.name.to_string(), result);
    }

    /// Adds the groups of an aggregate, as many as fit. `total` is the number of all groups.
    pub fn add_groups(&mut self, aggregate: &Aggregate, groups: Vec<Group>, total: usize, warnings: &mut Vec<Warning>) {
        let group_count = groups.len();
        let (result, shown) = self.write(aggregate, groups);
        let is_cut = shown < group_count;
        let info =
            if is_cut { aggregate.page.describe_part(shown, total) } else { aggregate.page.describe(shown, total) };
        self.infos.extend(info.map(|info| (aggregate.name.to_string(), info)));
        self.results.insert(aggregate.name.to_string(), result);
        if !is_cut && aggregate.page.first.is_none() && aggregate.page.offset + shown < total {
            warnings.push(groups_truncated(&aggregate.name));
        }
    }

    /// Writes the groups and returns how many fit: at least one, so that paging always makes progress.
    fn write(&mut self, aggregate: &Aggregate, groups: Vec<Group>) -> (Value, usize) {
        let columns = self.table.then(|| {
            let names = aggregate.group_by.iter().map(|key| key.path.to_string());
            names.chain(aggregate.names()).collect::<Vec<String>>()
        });
        let share = self.budget.as_ref().map(|budget| budget.share(self.parts));
        self.parts = self.parts.saturating_sub(1);
        let around = columns.as_ref().map_or(0, |columns| budget::estimate_value(&json!(columns)) + 8);
        let (mut used, mut shown) = (GROUPS_INFO + around, 0);
        let (mut nested, mut rows) = (Map::new(), Vec::new());
        for group in groups {
            let labels = if columns.is_some() { Vec::new() } else { group.labels.clone() };
            let value = if columns.is_some() { group.cells(aggregate) } else { result_value(aggregate, group.results) };
            if let Some(share) = share {
                let names: usize = labels.iter().map(|label| budget::estimate_text(label.as_bytes()) + 2).sum();
                let cost = names + budget::estimate_value(&value) + 1;
                if used + cost > share && shown > 0 {
                    break;
                }
                used += cost;
            }
            shown += 1;
            if columns.is_some() {
                rows.push(value);
            } else {
                insert_nested(&mut nested, &labels, value);
            }
        }
        if let Some(budget) = &mut self.budget {
            budget.spend(used);
        }
        match columns {
            Some(columns) => (json!({ table::COLUMNS: columns, table::ROWS: rows }), shown),
            None => (Value::Object(nested), shown),
        }
    }

    /// Returns which groups are shown (`None` if all are), which precedes the results in the answer, and the results.
    pub fn finish(self) -> (Option<Map<String, Value>>, Map<String, Value>) {
        ((!self.infos.is_empty()).then_some(self.infos), self.results)
    }
}

/// The names of an aggregate, and which of its groups are shown.
const GROUPS_INFO: usize = 30;

/// The result of the only function, or an object of several.
fn result_value(aggregate: &Aggregate, mut results: Vec<Value>) -> Value {
    match results.len() {
        1 => results.pop().unwrap_or_default(),
        _ => Value::Object(aggregate.names().into_iter().zip(results).collect()),
    }
}

/// Inserts a result under nested labels, one level for each group field.
fn insert_nested(answer: &mut Map<String, Value>, labels: &[String], result: Value) {
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

/// The warning for more groups than a result shows.
fn groups_truncated(name: &str) -> Warning {
    Warning::new("RESULT_TRUNCATED", format!("'{name}' has more groups than the first {MAX_GROUPS} shown"))
        .detail("aggregate", name)
        .detail("shown", MAX_GROUPS)
}
