//! What a result is about: rows, one thing, or text. Nothing is parsed that need not be, and nothing is lost.

use serde_json::{Map, Value};

use super::literal;
use super::rows::{self, Place};

/// A result, seen as something the language applies to.
#[derive(Debug, Clone, PartialEq)]
pub enum Subject {
    /// Rows, each an object, and what stood around them.
    Rows {
        /// The rows.
        rows: Vec<Value>,
        /// The rest of the result, without them.
        around: Value,
        /// Where they were.
        place: Place,
    },
    /// One value.
    One(Value),
    /// Text that is no JSON.
    Text(String),
}

impl Subject {
    /// Sees a result as what the controls are about. `path` is where its rows are, if somebody said so.
    ///
    /// Without other controls, `fields` that all lead somewhere in an object itself are about that object, not about a
    /// list inside it: unless the list stands under a name for lists and has such fields, too.
    pub fn of(result: Value, path: Option<&str>, controls: &Map<String, Value>) -> Self {
        let result = match content(result) {
            Ok(result) => result,
            Err(text) => match from_text(&text).or_else(|| literal::read(&text)) {
                Some(value) => value,
                None => return Subject::Text(text),
            },
        };
        let Some(place) = rows::find(&result, path) else {
            // Of an object around a text a page can only mean the text.
            let of_text = controls.contains_key("first") && !controls.contains_key("fields");
            return if of_text {
                into_text(result).map_or_else(Subject::One, Subject::Text)
            } else {
                Subject::One(result)
            };
        };
        if is_about_the_whole(&result, &place, controls) {
            return Subject::One(result);
        }
        let (rows, around) = rows::take(result, &place);
        Subject::Rows { rows, around, place }
    }
}

/// The text of a result that is nothing but text, whatever it is wrapped in.
pub fn plain_text(result: &Value) -> Option<&str> {
    match result {
        Value::String(text) => Some(text),
        Value::Object(object) => match blocks(object) {
            Some([one]) if object.get("structuredContent").is_none_or(Value::is_null) => one.get("text")?.as_str(),
            Some(_) => None,
            None => only_text(object),
        },
        _ => None,
    }
}

/// The text of a result that is nothing but text; the result itself if it is more.
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

/// The value inside of what a tool call answers with, or its text.
fn content(result: Value) -> Result<Value, String> {
    match result {
        Value::String(text) => Err(text),
        Value::Object(mut object) => {
            if blocks(&object).is_some() {
                if let Some(structured) = object.remove("structuredContent").filter(|value| !value.is_null()) {
                    return content_of_structured(structured);
                }
                return of_blocks(object);
            }
            content_of_structured(Value::Object(object))
        }
        other => Ok(other),
    }
}

/// `{"result": "…"}` and the like: an object around a text is that text.
fn content_of_structured(value: Value) -> Result<Value, String> {
    match value {
        Value::Object(mut object) if only_text(&object).is_some() => {
            let text = object.values_mut().next().map(Value::take);
            match text {
                // Only text that holds something is worth unwrapping: `{"name": "x"}` is an object.
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

/// The blocks of an MCP tool's result, if it is one.
fn blocks(object: &Map<String, Value>) -> Option<&[Value]> {
    const KINDS: &[&str] = &["text", "image", "audio", "resource", "resource_link"];
    let blocks = object.get("content")?.as_array()?;
    let is_block = |block: &Value| block.get("type").and_then(Value::as_str).is_some_and(|kind| KINDS.contains(&kind));
    let beside = |name: &String| ["content", "structuredContent", "isError", "_meta"].contains(&name.as_str());
    (!blocks.is_empty() && blocks.iter().all(is_block) && object.keys().all(beside)).then_some(blocks)
}

/// One block of text is that text. Several that are each a JSON value are a list of them.
fn of_blocks(mut object: Map<String, Value>) -> Result<Value, String> {
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
                several.iter().map(|text| from_text(text).filter(Value::is_object)).collect();
            values.map_or_else(|| Err(several.join("\n")), |values| Ok(Value::Array(values)))
        }
        None => Ok(Value::Object(object)),
    }
}

fn looks_like_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

/// The JSON in a text: one object or list, or several objects, one on each line.
pub fn from_text(text: &str) -> Option<Value> {
    let text = text.trim_start_matches('\u{feff}').trim();
    if !looks_like_json(text) {
        return None;
    }
    if let Ok(value) = serde_json::from_str(text) {
        return Some(value);
    }
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    let first = lines.next()?;
    lines.peek()?;
    std::iter::once(first)
        .chain(lines)
        .map(|line| if line.starts_with('{') { serde_json::from_str::<Value>(line).ok() } else { None })
        .collect::<Option<Vec<Value>>>()
        .map(Value::Array)
}

fn is_about_the_whole(result: &Value, place: &Place, controls: &Map<String, Value>) -> bool {
    let Some(Value::Array(names)) = controls.get("fields") else { return false };
    if controls.len() > 1 || !result.is_object() || place.said || names.is_empty() {
        return false;
    }
    let leads = |value: &Value| {
        let root = |name: &Value| name.as_str().is_some_and(|name| rows::leads_somewhere(value, name));
        (names.iter().all(root), names.iter().any(root))
    };
    let (all, _) = leads(result);
    all && !(place.known && rows::sample(result, place).iter().any(|row| leads(row).1))
}
