//! Classifies a result as rows, one value, or text. Parses only what is needed, and loses nothing.

use aquifer_protocol::exact_number;
use aquifer_protocol::operation::RowPlace;
use serde_json::{Map, Value};

use super::python_literal;
use super::row_location::{self, RowLocation};

/// The content of a result that a request is applied to.
#[derive(Debug, Clone, PartialEq)]
pub enum ResultContent {
    /// Rows, each an object, and the rest of the result.
    Rows {
        /// The rows.
        rows: Vec<Value>,
        /// The rest of the result.
        envelope: Value,
        /// The location of the rows.
        location: RowLocation,
    },
    /// One value.
    One(Value),
    /// A value without the rows that the operation is known to have. Controls do not apply to it.
    NoRows(Value),
    /// Text that is not JSON.
    Text(String),
}

impl ResultContent {
    /// Classifies a result. `place` says where its rows are.
    ///
    /// Without controls for rows, `fields` select from the object around the list if the list is a part of it, or if they
    /// name the list.
    pub fn new(result: Value, place: &RowPlace, controls: &Map<String, Value>) -> Self {
        let result = match unwrap_content(result) {
            Ok(result) => result,
            Err(text) => match parse_json_text(&text).or_else(|| python_literal::parse(&text)) {
                Some(value) => value,
                None => return ResultContent::Text(text),
            },
        };
        let known = match place {
            RowPlace::Path { path, .. } => Some(RowLocation::parse(path)),
            RowPlace::Detected | RowPlace::Unknown => None,
        };
        if result.is_object() && known.as_ref().is_some_and(|known| selects_from_object(place, known, controls)) {
            return ResultContent::One(result);
        }
        let Some(location) = row_location::locate(&result, place) else {
            // An object where a list of them was expected is a row itself.
            let is_row = known.is_none_or(|known| known.list_path.is_empty()) && *place != RowPlace::Detected;
            return if is_row { ResultContent::One(result) } else { ResultContent::NoRows(result) };
        };
        let (rows, envelope) = row_location::take(result, &location);
        ResultContent::Rows { rows, envelope, location }
    }
}

/// The text of a result that consists of text alone, with or without a wrapper.
pub fn plain_text(result: &Value) -> Option<&str> {
    match result {
        Value::String(text) => Some(text),
        Value::Object(object) => match blocks(object) {
            Some([block]) if object.get("structuredContent").is_none_or(Value::is_null) => block.get("text")?.as_str(),
            Some(_) => None,
            None => only_text(object),
        },
        _ => None,
    }
}

/// Converts a result that consists of text alone into that text. Returns other results unchanged, as `Err`.
pub fn into_text(mut result: Value) -> Result<String, Value> {
    if plain_text(&result).is_none() {
        return Err(result);
    }
    let text = match &mut result {
        Value::Object(object) if blocks(object).is_some() => {
            object.get_mut("content").and_then(|blocks| blocks.get_mut(0)?.get_mut("text"))
        }
        Value::Object(object) => object.values_mut().next(),
        text => Some(text),
    };
    match text.map(Value::take) {
        Some(Value::String(text)) => Ok(text),
        _ => Err(result),
    }
}

/// Unwraps the result of a tool call. `Ok` contains a JSON value; `Err` contains text that has not been parsed.
fn unwrap_content(result: Value) -> Result<Value, String> {
    match result {
        Value::String(text) => Err(text),
        Value::Object(mut object) => {
            if blocks(&object).is_some() {
                if let Some(structured) = object.remove("structuredContent").filter(|value| !value.is_null()) {
                    return unwrap_structured(structured);
                }
                return unwrap_blocks(object);
            }
            unwrap_structured(Value::Object(object))
        }
        other => Ok(other),
    }
}

/// Unwraps an object whose only member is a text, such as `{"result": "[…]"}`, if the text looks like JSON.
fn unwrap_structured(value: Value) -> Result<Value, String> {
    match value {
        Value::Object(mut object) if only_text(&object).is_some() => {
            let text = object.values_mut().next().map(Value::take);
            match text {
                // Other texts stay in their object: `{"name": "x"}` is a value with a field.
                Some(Value::String(text)) if looks_like_json(&text) => Err(text),
                Some(text) => {
                    if let Some(value) = object.values_mut().next() {
                        *value = text;
                    }
                    Ok(Value::Object(object))
                }
                None => Ok(Value::Object(object)),
            }
        }
        other => Ok(other),
    }
}

fn only_text(object: &Map<String, Value>) -> Option<&str> {
    match object.len() {
        1 => object.values().next()?.as_str(),
        _ => None,
    }
}

/// The content blocks of an MCP tool result.
fn blocks(object: &Map<String, Value>) -> Option<&[Value]> {
    const KINDS: &[&str] = &["text", "image", "audio", "resource", "resource_link"];
    let blocks = object.get("content")?.as_array()?;
    let is_block = |block: &Value| block.get("type").and_then(Value::as_str).is_some_and(|kind| KINDS.contains(&kind));
    let is_result_field = |name: &String| ["content", "structuredContent", "isError", "_meta"].contains(&name.as_str());
    (!blocks.is_empty() && blocks.iter().all(is_block) && object.keys().all(is_result_field)).then_some(blocks)
}

/// Unwraps content blocks. One text block becomes its text; several become a list if each is a JSON object, otherwise
/// one text.
fn unwrap_blocks(mut object: Map<String, Value>) -> Result<Value, String> {
    let texts: Option<Vec<&str>> = blocks(&object)
        .and_then(|blocks| blocks.iter().map(|block| block.get("text").and_then(Value::as_str)).collect());
    match texts.as_deref() {
        Some([_]) => {
            let only = object.get_mut("content").and_then(|blocks| blocks.get_mut(0)?.get_mut("text")).map(Value::take);
            match only {
                Some(Value::String(text)) => Err(text),
                _ => Ok(Value::Object(object)),
            }
        }
        Some(several) => {
            let values: Option<Vec<Value>> =
                several.iter().map(|text| parse_json_text(text).filter(Value::is_object)).collect();
            values.map_or_else(|| Err(several.join("\n")), |values| Ok(Value::Array(values)))
        }
        None => Ok(Value::Object(object)),
    }
}

fn looks_like_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

/// Parses the JSON in a text: one object or list, or one object on each line.
pub fn parse_json_text(text: &str) -> Option<Value> {
    let text = text.trim_start_matches('\u{feff}').trim();
    if !looks_like_json(text) {
        return None;
    }
    if let Ok(value) = exact_number::parse(text) {
        return Some(value);
    }
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    let first = lines.next()?;
    lines.peek()?;
    std::iter::once(first)
        .chain(lines)
        .map(|line| if line.starts_with('{') { exact_number::parse(line).ok() } else { None })
        .collect::<Option<Vec<Value>>>()
        .map(Value::Array)
}

/// Whether `fields` are those of the object around the list. This depends on the request and on what is known about the
/// operation, never on the result: an empty list or a missing member must not change what a name means.
fn selects_from_object(place: &RowPlace, location: &RowLocation, controls: &Map<String, Value>) -> bool {
    let is_only_fields = controls.keys().all(|name| ["fields", "preset"].contains(&name.as_str()));
    let names_list = || match controls.get("fields") {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).any(|name| location.contains(name)),
        _ => false,
    };
    is_only_fields && (place.is_part() || names_list())
}
