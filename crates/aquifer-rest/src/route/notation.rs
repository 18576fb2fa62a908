//! Writes values as text in the styles of OpenAPI.
//!
//! Values that the specification does not define are written the way most servers parse them:
//!
//! - `null`, empty arrays and empty objects are omitted.
//! - An array or object inside another one is written as JSON text, except in `deepObject`.
//! - `deepObject` nests: `a[b][c]=d`. Arrays of plain values repeat empty brackets, `a[b][]=1&a[b][]=2`; arrays of
//!   arrays or objects have indexes, `a[0][b]=1`, because empty brackets would not show which members belong together.
//! - `spaceDelimited` and `pipeDelimited` with `explode` are the same as `form`, as in OpenAPI 3.0.

use aquifer_protocol::exact_number;
use serde_json::{Map, Value};

use super::encoding::Escape;
use super::{Notation, Style};

/// Deeper values are written as JSON text.
const MAX_DEPTH: usize = 32;

/// A name and a value, both encoded.
pub(super) type Pair = (String, String);

/// Writes a value as pairs of a query, a form or a `Cookie` header. Returns no pairs if the value is omitted.
pub(super) fn pairs(name: &str, value: &Value, notation: Notation, escape: Escape) -> Vec<Pair> {
    // A name is always encoded as strictly as possible, so that it contains no character that would end it.
    let name_escape = if escape == Escape::Nothing { Escape::Nothing } else { Escape::Unreserved };
    let encoded_name = name_escape.encode(name);
    let Notation::Style { style, explode } = notation else {
        if value.is_null() {
            return Vec::new();
        }
        return vec![(encoded_name, escape.encode(&value.to_string()))];
    };
    match (style, value) {
        (_, Value::Null) => Vec::new(),
        (Style::DeepObject, Value::Array(_) | Value::Object(_)) => {
            let mut deep_pairs = Vec::new();
            push_deep(&mut deep_pairs, name.to_owned(), value, (name_escape, escape), 0);
            deep_pairs
        }
        (Style::SpaceDelimited, _) if !explode => joined(encoded_name, value, "%20", escape),
        (Style::PipeDelimited, _) if !explode => joined(encoded_name, value, "%7C", escape),
        (_, Value::Array(items)) if explode => {
            let item = |item| Some((encoded_name.clone(), escape.encode(&scalar(item)?)));
            items.iter().filter_map(item).collect()
        }
        (_, Value::Object(members)) if explode => {
            let member =
                |(name, member): (&String, &Value)| Some((name_escape.encode(name), escape.encode(&scalar(member)?)));
            members.iter().filter_map(member).collect()
        }
        _ => joined(encoded_name, value, ",", escape),
    }
}

/// Writes a value as the text of a path or a header. `None` if the value is omitted.
pub(super) fn text(name: &str, value: &Value, notation: Notation, escape: Escape) -> Option<String> {
    let Notation::Style { style, explode } = notation else {
        return (!value.is_null()).then(|| escape.encode(&value.to_string()));
    };
    match style {
        Style::Label => label(value, explode, escape),
        Style::Matrix => matrix(name, value, explode, escape),
        _ => match value {
            Value::Object(members) if explode => joined_members(members, ",", escape),
            other => list(other, ",", escape),
        },
    }
}

/// A plain value as text, or JSON text for an array or object. `None` for null.
pub(super) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(exact_number::held_number(text).unwrap_or(text).to_owned()),
        other => Some(other.to_string()),
    }
}

fn label(value: &Value, explode: bool, escape: Escape) -> Option<String> {
    let text = match value {
        Value::Object(members) if explode => joined_members(members, ".", escape)?,
        Value::Array(_) if explode => list(value, ".", escape)?,
        other => list(other, ",", escape)?,
    };
    Some(format!(".{text}"))
}

fn matrix(name: &str, value: &Value, explode: bool, escape: Escape) -> Option<String> {
    let name = escape.encode(name);
    let entry = |text: String| if text.is_empty() { format!(";{name}") } else { format!(";{name}={text}") };
    match value {
        Value::Object(members) if explode => Some(format!(";{}", joined_members(members, ";", escape)?)),
        Value::Array(items) if explode => {
            let entries: String = items.iter().filter_map(scalar).map(|item| entry(escape.encode(&item))).collect();
            (!entries.is_empty()).then_some(entries)
        }
        other => list(other, ",", escape).map(entry),
    }
}

fn joined(name: String, value: &Value, separator: &str, escape: Escape) -> Vec<Pair> {
    // Without percent-encoding the separators are the characters themselves.
    let separator = match (escape, separator) {
        (Escape::Nothing, "%20") => " ",
        (Escape::Nothing, "%7C") => "|",
        (_, other) => other,
    };
    list(value, separator, escape).map(|text| (name, text)).into_iter().collect()
}

/// Joins the items of an array, or the names and members of an object. `None` if there are none.
fn list(value: &Value, separator: &str, escape: Escape) -> Option<String> {
    let texts: Vec<String> = match value {
        Value::Array(items) => items.iter().filter_map(scalar).collect(),
        Value::Object(members) => members
            .iter()
            .filter_map(|(name, member)| scalar(member).map(|text| [name.clone(), text]))
            .flatten()
            .collect(),
        other => vec![scalar(other)?],
    };
    if texts.is_empty() {
        return None;
    }
    Some(texts.iter().map(|text| escape.encode(text)).collect::<Vec<_>>().join(separator))
}

fn joined_members(members: &Map<String, Value>, separator: &str, escape: Escape) -> Option<String> {
    let member = |(name, member): (&String, &Value)| {
        Some(format!("{}={}", escape.encode(name), escape.encode(&scalar(member)?)))
    };
    let texts: Vec<String> = members.iter().filter_map(member).collect();
    if texts.is_empty() { None } else { Some(texts.join(separator)) }
}

fn push_deep(out: &mut Vec<Pair>, name: String, value: &Value, escapes: (Escape, Escape), depth: usize) {
    let (name_escape, escape) = escapes;
    match value {
        Value::Object(members) if depth < MAX_DEPTH => {
            for (member_name, member) in members {
                push_deep(out, format!("{name}[{member_name}]"), member, escapes, depth + 1);
            }
        }
        Value::Array(items) if depth < MAX_DEPTH => {
            let is_plain = !items.iter().any(|item| item.is_array() || item.is_object());
            for (index, item) in items.iter().enumerate() {
                let name = if is_plain { format!("{name}[]") } else { format!("{name}[{index}]") };
                push_deep(out, name, item, escapes, depth + 1);
            }
        }
        other => {
            if let Some(text) = scalar(other) {
                out.push((name_escape.encode(&name), escape.encode(&text)));
            }
        }
    }
}
