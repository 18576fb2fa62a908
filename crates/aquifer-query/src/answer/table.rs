//! Pages as tables: the names of the columns once, and each row as a list of values. A table takes about half the tokens
//! of a list of objects.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::plan::{Embed, Path};
use crate::value::selection::{element_position, parse_index};

/// The name of the member with the columns.
pub const COLUMNS: &str = "columns";
/// The name of the member with the rows.
pub const ROWS: &str = "rows";

/// The columns of a selection: the paths as the caller writes them.
pub fn columns(select: &[Path], embeds: &[Embed]) -> Vec<String> {
    select.iter().map(Path::to_string).chain(embeds.iter().map(Embed::to_string)).collect()
}

/// The estimated tokens of the columns.
pub fn columns_tokens(select: &[Path], embeds: &[Embed]) -> usize {
    crate::budget::estimate_value(&columns(select, embeds).into()) + 8
}

/// Adds rows to an answer as a table. Without selected fields, every field of any row is a column.
pub(crate) fn insert(data: &mut Map<String, Value>, select: Option<&[Path]>, rows: &[Value]) {
    let (columns, rows): (Vec<String>, Vec<Value>) = match select {
        Some(select) => (columns(select, &[]), rows.iter().map(|row| cells(row, select).collect()).collect()),
        None => {
            let mut names: Vec<String> = Vec::new();
            for name in rows.iter().filter_map(Value::as_object).flat_map(Map::keys) {
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
            let cells = |row: &Value| match row {
                Value::Object(row) => names.iter().map(|name| row.get(name).cloned().unwrap_or_default()).collect(),
                // A row that is not an object has a single cell.
                other => Value::Array(vec![other.clone()]),
            };
            let rows = rows.iter().map(cells).collect();
            (names, rows)
        }
    };
    data.insert(COLUMNS.to_owned(), columns.into());
    data.insert(ROWS.to_owned(), rows.into());
}

/// The values at these paths.
pub(crate) fn cells(row: &Value, select: &[Path]) -> impl Iterator<Item = Value> {
    select.iter().map(|path| cell(row, path))
}

/// The value at a path in a row; null if there is none. For a list, the values of all elements.
fn cell(row: &Value, path: &Path) -> Value {
    let computed: Option<Arc<str>> = path.computed.then(|| "_computed".into());
    let steps: Vec<&str> =
        (path.through.iter().chain(&computed).chain([&path.name]).chain(&path.inside)).map(|step| &**step).collect();
    value_at(row, &steps)
}

fn value_at(value: &Value, steps: &[&str]) -> Value {
    let Some((first, rest)) = steps.split_first() else { return value.clone() };
    let inner = match value {
        Value::Array(elements) => match parse_index(first) {
            Some(index) => element_position(elements.len(), index).and_then(|position| elements.get(position)),
            None => return elements.iter().map(|element| value_at(element, steps)).collect(),
        },
        other => other.get(*first),
    };
    inner.map_or(Value::Null, |inner| value_at(inner, rest))
}
