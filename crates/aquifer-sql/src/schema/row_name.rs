//! The key of a row as text: `5`, `A,1`. Answers name rows by it, and callers may do so, too.

use aquifer_query::FieldType;
use aquifer_query::value::coerce;
use serde_json::{Map, Value};

use crate::schema::exposed_table::ExposedTable;

/// Separates the parts of a composite key. In a part it follows a backslash.
const SEPARATOR: char = ',';
const ESCAPE: char = '\\';

/// The key as text. A key of one column is the value itself.
pub(crate) fn format_key(key: &[Value]) -> String {
    let text = |part: &Value| match part {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match key {
        [only] => text(only),
        several => several.iter().map(|part| escape(&text(part))).collect::<Vec<_>>().join(","),
    }
}

fn escape(part: &str) -> String {
    part.replace(ESCAPE, "\\\\").replace(SEPARATOR, "\\,")
}

/// Adds the key columns to a reference that names its row by text only.
pub(crate) fn expand(exposed: &ExposedTable, root: &mut Map<String, Value>) {
    let has_column = exposed.table.key_columns().any(|column| root.contains_key(&*column.name));
    if let (false, Some(Value::String(name))) = (has_column, root.get("element_name"))
        && let Some(key) = parse_key(exposed, name)
    {
        let names = exposed.table.key_columns().map(|column| column.name.to_string());
        root.extend(names.zip(key));
    }
}

/// The key values of a text. `None` if it is not the key of any row.
fn parse_key(exposed: &ExposedTable, name: &str) -> Option<Vec<Value>> {
    let types: Vec<&FieldType> = exposed.table.key_columns().map(|column| &column.field_type).collect();
    let parts = if types.len() == 1 { vec![name.to_owned()] } else { split(name) };
    if parts.len() != types.len() || types.is_empty() {
        return None;
    }
    types.into_iter().zip(parts).map(|(field_type, part)| parse_part(field_type, part)).collect()
}

fn parse_part(field_type: &FieldType, part: String) -> Option<Value> {
    let value = match field_type {
        FieldType::Integer | FieldType::Number | FieldType::Boolean => {
            serde_json::from_str(&part).unwrap_or(Value::String(part))
        }
        _ => Value::String(part),
    };
    coerce(field_type, &value).map(|_| value)
}

/// The parts of a composite key.
fn split(name: &str) -> Vec<String> {
    let (mut parts, mut part, mut is_escaped) = (Vec::new(), String::new(), false);
    for c in name.chars() {
        match c {
            _ if is_escaped => {
                part.push(c);
                is_escaped = false;
            }
            ESCAPE => is_escaped = true,
            SEPARATOR => parts.push(std::mem::take(&mut part)),
            c => part.push(c),
        }
    }
    parts.push(part);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_col_10_composite_names_are_split_where_they_were_joined() {
        for key in [&["a", "b"][..], &["a,b", "c"], &["\\", ","], &["", ""], &["a\\,", "\\\\b", "c"]] {
            let values: Vec<Value> = key.iter().map(|part| Value::from(*part)).collect();
            assert_eq!(split(&format_key(&values)), key);
        }
    }
}
