//! Finding rows in an answer, whoever gave it.

use anyhow::Context;
use serde_json::Value;

use crate::by_hand::Place;

/// The first list of objects.
pub(crate) fn find(answer: &Value) -> Option<&[Value]> {
    match answer {
        Value::Array(items) if items.iter().all(Value::is_object) => Some(items),
        Value::Array(items) => items.iter().find_map(find),
        Value::Object(members) => members.values().find_map(find),
        _ => None,
    }
}

/// The ids of the rows, in order.
pub(crate) fn ids(answer: &Value) -> Vec<i64> {
    find(answer).unwrap_or_default().iter().filter_map(|row| row.get("id")?.as_i64()).collect()
}

/// The place after the last row.
pub(crate) fn end(answer: &Value) -> anyhow::Result<Place> {
    let last = find(answer).and_then(|rows| rows.last()).context("no rows")?;
    let created_at = last.get("created_at").and_then(Value::as_str).context("no created_at")?;
    Ok(Place::new(created_at, last.get("id").and_then(Value::as_i64).context("no id")?))
}

/// The cursor after the last row.
pub(crate) fn end_cursor(answer: &Value) -> anyhow::Result<String> {
    let cursor = answer.pointer("/data/pageInfo/endCursor").and_then(Value::as_str);
    cursor.map(str::to_owned).context("no cursor")
}
