//! Converts the result of a tool call into an answer (R-DIS-7). Nothing is lost:
//!
//! - `structuredContent` is the data. Text that repeats it is left out; other text follows as a block.
//! - A single text is the data: parsed if it is a JSON object or array, otherwise a string.
//! - Several blocks, or any that is not text, are a list: text as above, everything else as
//!   `{_attachment, type, …}`, where `_attachment` counts the blocks that follow the envelope, from 0.
//! - Images, audio, links and embedded resources follow as blocks, unchanged.

use std::borrow::Cow;

use aquifer_engine::Answer;
use aquifer_protocol::response::{Attachment, Data, JsonText};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::compact_json::compact;
use crate::client::message::Json;
use crate::error::{RpcError, UpstreamError};
use crate::sanitize::Sanitizer;

/// The result of `tools/call`.
#[derive(Deserialize)]
struct ToolResult<'a> {
    #[serde(borrow, default)]
    content: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default, rename = "structuredContent")]
    structured: Option<&'a RawValue>,
    #[serde(default, rename = "isError")]
    is_error: Option<bool>,
}

/// The fields of a content block that identify it.
#[derive(Deserialize)]
struct Block {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default, rename = "mimeType")]
    media_type: Option<String>,
    #[serde(default)]
    uri: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    resource: Option<Map<String, Value>>,
}

/// Reads the result of a call. An error reported by the tool becomes a refusal. If there is an address prefix, resource
/// addresses get it, so that they name their source.
pub(crate) fn read_result(
    result: &Json,
    sanitizer: &Sanitizer,
    uri_prefix: Option<&str>,
) -> Result<Answer, UpstreamError> {
    let unreadable = UpstreamError::InvalidResponse;
    let parsed: ToolResult<'_> = serde_json::from_str(result.text()).map_err(|cause| unreadable(cause.to_string()))?;
    let blocks: Vec<(Block, Cow<'_, str>)> = parsed
        .content
        .unwrap_or_default()
        .into_iter()
        .map(|raw| match uri_prefix {
            Some(prefix) => qualify_address(raw.get(), prefix),
            None => Ok((serde_json::from_str(raw.get())?, Cow::Borrowed(raw.get()))),
        })
        .collect::<Result<_, _>>()
        .map_err(|cause| unreadable(cause.to_string()))?;
    if parsed.is_error == Some(true) {
        return Err(UpstreamError::Refused(RpcError::from_tool(error_text(&blocks, parsed.structured, sanitizer))));
    }
    match parsed.structured {
        Some(structured) => {
            with_structure(structured, blocks).ok_or_else(|| unreadable("nested too deeply".to_owned()))
        }
        None => Ok(without_structure(blocks)),
    }
}

/// A block whose resource address names its source. Other blocks stay unchanged.
fn qualify_address<'a>(raw: &'a str, prefix: &str) -> serde_json::Result<(Block, Cow<'a, str>)> {
    let mut block: Block = serde_json::from_str(raw)?;
    if !matches!(block.kind.as_str(), "resource" | "resource_link") {
        return Ok((block, Cow::Borrowed(raw)));
    }
    let qualify = |address: &mut String| address.insert_str(0, prefix);
    let mut fields: Map<String, Value> = serde_json::from_str(raw)?;
    let embedded = |fields: &mut Map<String, Value>| {
        if let Some(Value::String(address)) = fields.get_mut("uri") {
            qualify(address);
        }
    };
    embedded(&mut fields);
    if let Some(Value::Object(resource)) = fields.get_mut("resource") {
        embedded(resource);
    }
    block.uri.iter_mut().for_each(qualify);
    block.resource.iter_mut().for_each(embedded);
    Ok((block, Cow::Owned(Value::Object(fields).to_string())))
}

/// The error text of the tool.
fn error_text(blocks: &[(Block, Cow<'_, str>)], structured: Option<&RawValue>, sanitizer: &Sanitizer) -> String {
    let texts: Vec<&str> = blocks.iter().filter_map(|(block, _)| block.text.as_deref()).collect();
    match structured {
        // Sanitized as a value, because escapes in its text could hide a secret.
        Some(structured) if texts.is_empty() => serde_json::from_str(structured.get())
            .map(|value| sanitizer.clean_json(value).to_string())
            .unwrap_or_default(),
        _ => texts.join("\n"),
    }
}

fn with_structure(structured: &RawValue, blocks: Vec<(Block, Cow<'_, str>)>) -> Option<Answer> {
    let text = compact(structured.get())?;
    let mut attachments = Vec::new();
    for (block, raw) in blocks {
        let repeats = block.kind == "text"
            && block.text.as_deref().is_some_and(|block_text| repeats_structure(block_text, &text));
        if !repeats {
            attachments.push(Attachment::Verbatim(raw.into_owned()));
        }
    }
    let data = Data::Text(JsonText::checked(text)?);
    Some(Answer { attachments, ..Answer::new(data) })
}

/// Whether a text only repeats the structured content, as JSON or as its only value.
fn repeats_structure(block_text: &str, structured: &str) -> bool {
    if compact(block_text).is_some_and(|block_text| block_text == structured) {
        return true;
    }
    let Ok(structured) = serde_json::from_str::<Value>(structured) else { return false };
    let only = structured.as_object().filter(|fields| fields.len() == 1).and_then(|fields| fields.values().next());
    if only.and_then(Value::as_str) == Some(block_text) {
        return true;
    }
    match serde_json::from_str::<Value>(block_text) {
        Ok(block_text) => {
            block_text == structured || only.is_some_and(|only| *only == block_text || is_element(&block_text, only))
        }
        Err(_) => only.and_then(Value::as_array).is_some_and(|list| list.iter().any(|item| item == block_text)),
    }
}

/// Some servers send a list as one block for each element.
fn is_element(value: &Value, list: &Value) -> bool {
    list.as_array().is_some_and(|list| list.contains(value))
}

fn without_structure(blocks: Vec<(Block, Cow<'_, str>)>) -> Answer {
    let mut attachments = Vec::new();
    let mut texts: Vec<Box<RawValue>> = Vec::new();
    let alone = blocks.len() == 1;
    for (block, raw) in blocks {
        match block {
            Block { kind, text: Some(text), .. } if kind == "text" => {
                let data = text_data(text);
                if alone {
                    return Answer { attachments, ..Answer::new(data) };
                }
                texts.push(as_raw(data));
            }
            block => {
                texts.push(as_raw(reference(&block, attachments.len()).into()));
                attachments.push(Attachment::Verbatim(raw.into_owned()));
            }
        }
    }
    let data = match (texts.is_empty(), serde_json::value::to_raw_value(&texts)) {
        (false, Ok(list)) => JsonText::checked(list.get().to_owned()).map_or(Data::Value(Value::Null), Data::Text),
        _ => Data::Value(Value::Null),
    };
    Answer { attachments, ..Answer::new(data) }
}

/// Parses text that contains a JSON object or array. Other text becomes a string.
fn text_data(text: String) -> Data {
    let looks_like_json = text.trim_start().starts_with(['{', '[']);
    let json = looks_like_json.then(|| compact(&text)).flatten().and_then(JsonText::checked);
    json.map_or_else(|| Data::Value(Value::String(text)), Data::Text)
}

fn as_raw(data: Data) -> Box<RawValue> {
    match data {
        Data::Text(text) => RawValue::from_string(text.get().to_owned()).unwrap_or_default(),
        Data::Value(value) => serde_json::value::to_raw_value(&value).unwrap_or_default(),
    }
}

/// The placeholder in the data for a block that is not text.
fn reference(block: &Block, attachment: usize) -> Value {
    let mut shown = json!({ "_attachment": attachment, "type": block.kind });
    let inner = |key: &str| block.resource.as_ref().and_then(|resource| resource.get(key)).and_then(Value::as_str);
    let facts = [
        ("media_type", block.media_type.as_deref().or_else(|| inner("mimeType"))),
        ("uri", block.uri.as_deref().or_else(|| inner("uri"))),
        ("name", block.name.as_deref()),
    ];
    if let Some(fields) = shown.as_object_mut() {
        for (key, value) in facts {
            if let Some(value) = value {
                fields.insert(key.to_owned(), value.into());
            }
        }
    }
    shown
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn answered(result: Value) -> Result<(Value, usize), Value> {
        let text = bytes::Bytes::from(result.to_string());
        let json = Json::from_part(&text, serde_json::from_slice(&text).unwrap());
        match read_result(&json, &Sanitizer::new(&crate::Settings::stdio("x", "y", ["z"])), None) {
            Ok(answer) => {
                let value = match answer.data {
                    Data::Value(value) => value,
                    Data::Text(text) => serde_json::from_str(text.get()).unwrap(),
                };
                Ok((value, answer.attachments.len()))
            }
            Err(UpstreamError::Refused(error)) => Err(error.message.into()),
            Err(error) => Err(format!("{error:?}").into()),
        }
    }

    #[test]
    fn r_dis_7_results_keep_everything() {
        let text = |words: &str| json!({ "type": "text", "text": words });
        let image = json!({ "type": "image", "data": "aGk=", "mimeType": "image/png" });
        let embedded =
            json!({ "type": "resource", "resource": { "uri": "a:b", "mimeType": "text/plain", "text": "t" } });
        for (result, expected) in [
            (json!({ "content": [] }), (json!(null), 0)),
            (json!({ "content": [text("plain")] }), (json!("plain"), 0)),
            (json!({ "content": [text("17")] }), (json!("17"), 0)),
            (json!({ "content": [text(" {\n \"a\" : [1, 2 ] }\n")] }), (json!({ "a": [1, 2] }), 0)),
            (json!({ "content": [text("{not json")] }), (json!("{not json"), 0)),
            (json!({ "content": [text("[1]"), text("b")] }), (json!([[1], "b"]), 0)),
            (
                json!({ "content": [text("see"), image] }),
                (json!(["see", { "_attachment": 0, "type": "image", "media_type": "image/png" }]), 1),
            ),
            (
                json!({ "content": [embedded] }),
                (json!([{ "_attachment": 0, "type": "resource", "media_type": "text/plain", "uri": "a:b" }]), 1),
            ),
            (json!({ "content": [text("{\"a\": 1}")], "structuredContent": { "a": 1 } }), (json!({ "a": 1 }), 0)),
            (json!({ "content": [text("more")], "structuredContent": { "a": 1 } }), (json!({ "a": 1 }), 1)),
            (json!({ "content": [text("b")], "structuredContent": { "result": "b" } }), (json!({ "result": "b" }), 0)),
            (
                json!({ "content": [text("b"), text("c")], "structuredContent": { "result": ["b", "c"] } }),
                (json!({ "result": ["b", "c"] }), 0),
            ),
            (json!({ "content": [image], "structuredContent": { "a": 1 } }), (json!({ "a": 1 }), 1)),
        ] {
            assert_eq!(answered(result.clone()), Ok(expected), "{result}");
        }
        let refusal = json!({ "content": [text("no"), text("way")], "isError": true });
        assert_eq!(answered(refusal), Err(json!("no\nway")));
    }
}
