//! Parses `aggregate`: named aggregates, optionally grouped (R-COL-6, R-EXT-3).

use serde_json::{Map, Value};

use super::calculation::{self, Operand};
use super::path::{self, PathUse};
use super::problems::Problems;
use crate::collection::{FieldType, QueryRoot};
use crate::plan::{
    Aggregate, Comparison, Function, GroupKey, GroupOrder, GroupPage, Having, MAX_GROUPS, NumericFunction, Path,
};
use crate::value::bucket::{Bucket, TimeUnit, Zone};

const FUNCTIONS: &[&str] = &["count", "count_distinct", "sum", "avg", "min", "max"];
const MEMBERS: &[&str] =
    &["count", "count_distinct", "sum", "avg", "min", "max", "group_by", "having", "order", "first", "offset"];
/// Members that only make sense for groups.
const GROUP_MEMBERS: &[&str] = &["having", "order", "first", "offset"];
const COMPARISONS: &[&str] = &["eq", "ne", "gt", "gte", "lt", "lte", "between"];
const MAX_AGGREGATES: usize = 32;
const MAX_GROUP_FIELDS: usize = 4;
/// Larger offsets would compute too many groups.
pub(super) const MAX_GROUP_OFFSET: u64 = 1_000_000;

pub(super) fn parse(collection: QueryRoot<'_>, params: &Map<String, Value>, problems: &mut Problems) -> Vec<Aggregate> {
    let named = match params.get("aggregate") {
        None => return Vec::new(),
        Some(Value::Object(named)) if !named.is_empty() && named.len() <= MAX_AGGREGATES => named,
        Some(Value::Object(_)) => {
            problems.invalid("aggregate", format!("must have 1 to {MAX_AGGREGATES} named expressions"));
            return Vec::new();
        }
        Some(_) => {
            problems.wrong_type("aggregate", "named expressions such as {\"total\": {\"count\": true}}");
            return Vec::new();
        }
    };
    named.iter().filter_map(|(name, value)| expression(collection, name, value, problems)).collect()
}

fn expression(collection: QueryRoot<'_>, name: &str, value: &Value, problems: &mut Problems) -> Option<Aggregate> {
    let at = format!("aggregate.{name}");
    let Some(object) = value.as_object() else {
        problems.wrong_type(&at, "an object such as {\"count\": true}");
        return None;
    };
    let before = problems.count();
    let mut aggregate = Aggregate { name: name.into(), ..Aggregate::default() };
    for (member, argument) in object {
        match member.as_str() {
            "group_by" => aggregate.group_by = groups(collection, &at, argument, problems),
            "count" => match argument {
                Value::Bool(true) => aggregate.functions.push(Function::Count),
                Value::Bool(false) => {}
                _ => problems.wrong_type(
                    &format!("{at}.count"),
                    "true. To count different values, use {\"count_distinct\": field}",
                ),
            },
            "count_distinct" | "sum" | "avg" | "min" | "max" => {
                aggregate.functions.extend(calculation(collection, &at, member, argument, problems));
            }
            "having" | "order" | "first" | "offset" => {}
            other => problems.unknown_field(&at, other, MEMBERS),
        }
    }
    if aggregate.functions.is_empty() {
        // A bare group_by means a count.
        if problems.count() > before {
            return None;
        }
        if aggregate.group_by.is_empty() {
            let problem = "calculates nothing. Use count, count_distinct, sum, avg, min or max";
            problems.unsuitable(&at, problem, FUNCTIONS);
            return None;
        }
        aggregate.functions.push(Function::Count);
    }
    if aggregate.group_by.is_empty() {
        if let Some(member) = GROUP_MEMBERS.iter().find(|member| object.contains_key(**member))
            && problems.count() == before
        {
            problems.invalid(&format!("{at}.{member}"), "needs 'group_by'");
        }
        return Some(aggregate);
    }
    aggregate.order = order(&at, object, problems);
    aggregate.page = page(&at, object, problems);
    if let Some(condition) = object.get("having") {
        aggregate.having = having(&aggregate, &format!("{at}.having"), condition, problems);
    }
    Some(aggregate)
}

fn groups(collection: QueryRoot<'_>, at: &str, argument: &Value, problems: &mut Problems) -> Vec<GroupKey> {
    let place = format!("{at}.group_by");
    let keys: Vec<&Value> = match argument {
        Value::Array(keys) if !keys.is_empty() && keys.len() <= MAX_GROUP_FIELDS => keys.iter().collect(),
        Value::Array(_) => {
            problems.invalid(&place, format!("must name 1 to {MAX_GROUP_FIELDS} fields"));
            return Vec::new();
        }
        single => vec![single],
    };
    keys.into_iter().filter_map(|key| group_key(collection, &place, key, problems)).collect()
}

fn group_key(collection: QueryRoot<'_>, at: &str, key: &Value, problems: &mut Problems) -> Option<GroupKey> {
    const PARTS: &[&str] = &["field", "by", "time_zone"];
    let Value::Object(parts) = key else {
        let (path, field_type) = field(collection, at, key, problems)?;
        return Some(GroupKey { path, field_type, bucket: None });
    };
    if let Some(other) = parts.keys().find(|name| !PARTS.contains(&name.as_str())) {
        problems.unknown_field(at, other, PARTS);
        return None;
    }
    let Some(name) = parts.get("field") else {
        problems.invalid(at, "needs 'field', such as {\"field\": \"created_at\", \"by\": \"month\"}");
        return None;
    };
    let (path, field_type) = field(collection, &format!("{at}.field"), name, problems)?;
    let unit = match parts.get("by").map(|by| by.as_str().and_then(TimeUnit::from_name)) {
        None if !parts.contains_key("time_zone") => return Some(GroupKey { path, field_type, bucket: None }),
        Some(Some(unit)) => unit,
        _ => {
            problems.unsuitable(&format!("{at}.by"), "must be a unit of time", &TimeUnit::NAMES);
            return None;
        }
    };
    let is_time = |field_type: &FieldType| matches!(field_type, FieldType::Time | FieldType::Date);
    if !is_time(&field_type) && !collection.open {
        let valid = path::valid_names_where(collection, PathUse::Aggregate, is_time);
        let problem = format!("needs a time or a date, and the field is of type {}", field_type.type_name());
        problems.unsuitable(&format!("{at}.field"), problem, &valid);
        return None;
    }
    if field_type == FieldType::Date && unit == TimeUnit::Hour {
        let days: Vec<&str> = TimeUnit::NAMES.into_iter().filter(|name| *name != "hour").collect();
        problems.unsuitable(&format!("{at}.by"), "cannot be 'hour': the field holds days", &days);
        return None;
    }
    let zone = match parts.get("time_zone") {
        None => Zone::utc(),
        Some(name) => match name.as_str().and_then(Zone::from_name) {
            Some(zone) => zone,
            None => {
                problems.invalid(&format!("{at}.time_zone"), "is not a time zone. Use a name such as Europe/Berlin");
                return None;
            }
        },
    };
    Some(GroupKey { path, field_type, bucket: Some(Bucket { unit, zone }) })
}

fn order(at: &str, object: &Map<String, Value>, problems: &mut Problems) -> GroupOrder {
    match object.get("order").map(Value::as_str) {
        None => GroupOrder::ByGroup,
        Some(Some("asc")) => GroupOrder::ByValue { descending: false },
        Some(Some("desc")) => GroupOrder::ByValue { descending: true },
        Some(_) => {
            let problem = "must be 'asc' or 'desc': the order of the groups by the first function";
            problems.unsuitable(&format!("{at}.order"), problem, &["asc", "desc"]);
            GroupOrder::ByGroup
        }
    }
}

fn page(at: &str, object: &Map<String, Value>, problems: &mut Problems) -> GroupPage {
    let mut number = |name: &str, least: u64, most: u64| match object.get(name) {
        None => None,
        Some(value) => {
            let number = value.as_u64().filter(|number| (least..=most).contains(number));
            if number.is_none() {
                problems.invalid(&format!("{at}.{name}"), format!("must be a number from {least} to {most}"));
            }
            number.and_then(|number| usize::try_from(number).ok())
        }
    };
    let first = number("first", 1, MAX_GROUPS as u64);
    let offset = number("offset", 0, MAX_GROUP_OFFSET);
    GroupPage { first, offset: offset.unwrap_or(0) }
}

/// Conditions on groups: `{"gte": 10}`, or `{"sum": {"gt": 0}}` if there are several functions.
fn having(aggregate: &Aggregate, at: &str, condition: &Value, problems: &mut Problems) -> Vec<Having> {
    let Some(object) = condition.as_object().filter(|object| !object.is_empty()) else {
        problems.wrong_type(at, "a condition on the result, such as {\"gte\": 10}");
        return Vec::new();
    };
    let names = aggregate.names();
    if object.keys().all(|name| COMPARISONS.contains(&name.as_str())) {
        if names.len() > 1 {
            let problem = "does not say which result it means. Write for example {\"count\": {\"gte\": 10}}";
            problems.unsuitable(at, problem, &names);
            return Vec::new();
        }
        return comparisons(aggregate, at, 0, object, problems);
    }
    let mut all = Vec::new();
    for (name, condition) in object {
        match (names.iter().position(|result_name| result_name == name), condition.as_object()) {
            (Some(function), Some(condition)) => {
                all.extend(comparisons(aggregate, &format!("{at}.{name}"), function, condition, problems));
            }
            (Some(_), None) => problems.wrong_type(&format!("{at}.{name}"), "a condition such as {\"gte\": 10}"),
            (None, _) => {
                let valid: Vec<&str> = names.iter().map(String::as_str).chain(COMPARISONS.iter().copied()).collect();
                problems.unsuitable(at, "must compare a result of this aggregate", &valid);
            }
        }
    }
    all
}

fn comparisons(
    aggregate: &Aggregate,
    at: &str,
    function: usize,
    conditions: &Map<String, Value>,
    problems: &mut Problems,
) -> Vec<Having> {
    if aggregate.functions.get(function).is_some_and(|function| !function.is_numeric()) {
        problems.invalid(
            at,
            "compares numbers, and this result is not a number. Use 'order' and 'first', or filter the items",
        );
        return Vec::new();
    }
    let mut all = Vec::new();
    for (name, value) in conditions {
        let place = format!("{at}.{name}");
        let mut number = |value: &Value| {
            let number = value.as_f64();
            if number.is_none() {
                problems.wrong_type(&place, "a number");
            }
            number
        };
        let mut add = |comparison, negated, value: &Value| {
            all.extend(number(value).map(|value| Having { function, comparison, negated, value }));
        };
        match name.as_str() {
            "eq" => add(Comparison::Eq, false, value),
            "ne" => add(Comparison::Eq, true, value),
            "gt" => add(Comparison::Gt, false, value),
            "gte" => add(Comparison::Gte, false, value),
            "lt" => add(Comparison::Lt, false, value),
            "lte" => add(Comparison::Lte, false, value),
            "between" => match value.as_array().map(Vec::as_slice) {
                Some([low, high]) => {
                    add(Comparison::Gte, false, low);
                    add(Comparison::Lte, false, high);
                }
                _ => problems.wrong_type(&place, "a list of two numbers, the lower first"),
            },
            _ => problems.unsuitable(at, "uses an unknown comparison", COMPARISONS),
        }
    }
    all
}

fn calculation(
    collection: QueryRoot<'_>,
    at: &str,
    function: &str,
    argument: &Value,
    problems: &mut Problems,
) -> Option<Function> {
    let place = format!("{at}.{function}");
    let Some(text) = argument.as_str() else {
        problems.wrong_type(&place, "a field's name, or a calculation such as \"price * quantity\"");
        return None;
    };
    let operand = calculation::resolve(collection, text, PathUse::Aggregate)
        .map_err(|error| error.report(collection, PathUse::Aggregate, &place, problems))
        .ok()?;
    let (path, field_type) = match operand {
        Operand::Path(path, field_type) => (path, field_type),
        Operand::Calculation(calculation) => {
            let numeric = match function {
                "sum" => NumericFunction::Sum,
                "avg" => NumericFunction::Avg,
                "min" => NumericFunction::Min,
                "max" => NumericFunction::Max,
                _ => {
                    let problem = "counts the values of a field, not the results of a calculation";
                    problems.unsuitable(&place, problem, &["sum", "avg", "min", "max"]);
                    return None;
                }
            };
            return Some(Function::Calculated(numeric, calculation));
        }
    };
    let loose = !path.inside.is_empty() || collection.open;
    match function {
        "sum" | "avg" if !field_type.is_numeric() && !loose => {
            let valid = path::valid_names_where(collection, PathUse::Aggregate, FieldType::is_numeric);
            problems.unsuitable(
                &place,
                format!("needs a number, and the field is of type {}", field_type.type_name()),
                &valid,
            );
            None
        }
        "min" | "max" | "count_distinct" if !field_type.is_ordered() && !loose => {
            let valid = path::valid_names_where(collection, PathUse::Aggregate, FieldType::is_ordered);
            problems.unsuitable(
                &place,
                format!("needs values with an order, and {} has none", field_type.type_name()),
                &valid,
            );
            None
        }
        "count_distinct" => Some(Function::CountDistinct(path, field_type)),
        "sum" => Some(Function::Sum(path, field_type)),
        "avg" => Some(Function::Avg(path, field_type)),
        "min" => Some(Function::Min(path, field_type)),
        _ => Some(Function::Max(path, field_type)),
    }
}

fn field(collection: QueryRoot<'_>, at: &str, name: &Value, problems: &mut Problems) -> Option<(Path, FieldType)> {
    let Some(name) = name.as_str() else {
        problems.wrong_type(at, "a field's name");
        return None;
    };
    path::resolve(collection, name, PathUse::Aggregate).map_err(|valid| problems.unknown_field(at, name, &valid)).ok()
}
