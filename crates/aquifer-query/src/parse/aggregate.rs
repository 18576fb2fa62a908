//! Parses `aggregate`: named aggregates, optionally grouped (R-COL-6).

use serde_json::{Map, Value};

use super::path::{self, PathUse};
use super::problems::Problems;
use crate::collection::{Collection, FieldType};
use crate::plan::{Aggregate, Function, Path};

const FUNCTIONS: &[&str] = &["count", "group_by", "sum", "avg", "min", "max"];
const MAX_AGGREGATES: usize = 32;
const MAX_GROUP_FIELDS: usize = 4;

pub(super) fn parse(collection: &Collection, params: &Map<String, Value>, problems: &mut Problems) -> Vec<Aggregate> {
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

fn expression(collection: &Collection, name: &str, value: &Value, problems: &mut Problems) -> Option<Aggregate> {
    let at = format!("aggregate.{name}");
    let Some(object) = value.as_object() else {
        problems.wrong_type(&at, "an object such as {\"count\": true}");
        return None;
    };
    let before = problems.count();
    let mut aggregate = Aggregate { name: name.into(), group_by: Vec::new(), functions: Vec::new() };
    for (function, argument) in object {
        match function.as_str() {
            "group_by" => aggregate.group_by = groups(collection, &at, argument, problems),
            "count" => match argument {
                Value::Bool(true) => aggregate.functions.push(Function::Count),
                Value::Bool(false) => {}
                _ => problems.wrong_type(&format!("{at}.count"), "true"),
            },
            "sum" | "avg" | "min" | "max" => {
                aggregate.functions.extend(calculation(collection, &at, function, argument, problems));
            }
            other => problems.unknown_field(&at, other, FUNCTIONS),
        }
    }
    if aggregate.functions.is_empty() {
        // A bare group_by means a count.
        if problems.count() > before {
            return None;
        }
        if aggregate.group_by.is_empty() {
            problems.invalid(&at, "calculates nothing. Use count, sum, avg, min or max");
            return None;
        }
        aggregate.functions.push(Function::Count);
    }
    Some(aggregate)
}

fn groups(collection: &Collection, at: &str, argument: &Value, problems: &mut Problems) -> Vec<(Path, FieldType)> {
    let names: Vec<&Value> = match argument {
        Value::Array(names) if !names.is_empty() && names.len() <= MAX_GROUP_FIELDS => names.iter().collect(),
        Value::Array(_) => {
            problems.invalid(&format!("{at}.group_by"), format!("must name 1 to {MAX_GROUP_FIELDS} fields"));
            return Vec::new();
        }
        one => vec![one],
    };
    names.into_iter().filter_map(|name| field(collection, &format!("{at}.group_by"), name, problems)).collect()
}

fn calculation(
    collection: &Collection,
    at: &str,
    function: &str,
    argument: &Value,
    problems: &mut Problems,
) -> Option<Function> {
    let place = format!("{at}.{function}");
    let (path, of) = field(collection, &place, argument, problems)?;
    let loose = !path.inside.is_empty() || collection.open;
    match function {
        "sum" | "avg" if !of.is_numeric() && !loose => {
            let valid = path::valid_names_where(collection, PathUse::Aggregate, FieldType::is_numeric);
            problems.unsuitable(&place, format!("needs a number, and the field is of type {}", of.type_name()), &valid);
            None
        }
        "min" | "max" if !of.is_ordered() && !loose => {
            let valid = path::valid_names_where(collection, PathUse::Aggregate, FieldType::is_ordered);
            problems.unsuitable(&place, format!("needs values with an order, and {} has none", of.type_name()), &valid);
            None
        }
        "sum" => Some(Function::Sum(path, of)),
        "avg" => Some(Function::Avg(path, of)),
        "min" => Some(Function::Min(path, of)),
        _ => Some(Function::Max(path, of)),
    }
}

fn field(collection: &Collection, at: &str, name: &Value, problems: &mut Problems) -> Option<(Path, FieldType)> {
    let Some(name) = name.as_str() else {
        problems.wrong_type(at, "a field's name");
        return None;
    };
    path::resolve(collection, name, PathUse::Aggregate).map_err(|valid| problems.unknown_field(at, name, &valid)).ok()
}
