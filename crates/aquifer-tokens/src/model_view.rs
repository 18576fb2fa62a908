//! Defines what a model sees of MCP. `docs/tokens.md` describes the same rules.
//!
//! - Tool: its name, description and input schema, as compact JSON in that order. Titles, annotations, output schemas,
//!   icons and `_meta` are for clients.
//! - List of tools: a JSON array of tools.
//! - Call: what the model writes, `{"name", "arguments"}` as compact JSON.
//! - Result: the text of its blocks. `structuredContent` repeats the text and counts only if there is none. Images,
//!   audio and other binary data are not text, and their cost depends on the model's vendor: they are reported
//!   separately, by number and size.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Binary content: the number of items of each kind, and their decoded size in bytes.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct NonText {
    /// Images in results.
    pub images: usize,
    /// Audio in results.
    pub audio: usize,
    /// Other binary resources in results.
    pub blobs: usize,
    /// Icons of tools, embedded or linked.
    pub icons: usize,
    /// The size of all embedded content.
    pub bytes: usize,
}

impl NonText {
    /// Whether there is no binary content.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The sum of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            images: self.images + other.images,
            audio: self.audio + other.audio,
            blobs: self.blobs + other.blobs,
            icons: self.icons + other.icons,
            bytes: self.bytes + other.bytes,
        }
    }
}

/// A result as a model sees it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ModelView {
    /// The text.
    pub text: String,
    /// The binary content.
    pub non_text: NonText,
    /// Whether the tool reports a failure.
    pub failed: bool,
}

/// A tool as a model sees it.
#[must_use]
pub fn tool(tool: &Value) -> Value {
    let members = ["name", "description", "inputSchema"];
    let shown = members.iter().filter_map(|name| Some(((*name).to_owned(), tool.get(name)?.clone())));
    Value::Object(shown.collect::<Map<String, Value>>())
}

/// A list of tools as a model sees it.
#[must_use]
pub fn tools(tools: &[Value]) -> String {
    Value::from(tools.iter().map(tool).collect::<Vec<_>>()).to_string()
}

/// The call of a tool as a model writes it.
#[must_use]
pub fn call(tool: &str, arguments: &Value) -> String {
    json!({ "name": tool, "arguments": arguments }).to_string()
}

/// The icons of a tool. Most are data URIs, many times larger than the tool's text.
#[must_use]
pub fn icons(tool: &Value) -> NonText {
    let icons = tool.get("icons").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let source = |icon: &Value| icon.get("src").and_then(Value::as_str).map_or(0, data_bytes);
    NonText { icons: icons.len(), bytes: icons.iter().map(source).sum(), ..NonText::default() }
}

/// A result as a model sees it.
#[must_use]
pub fn result(result: &Value) -> ModelView {
    let blocks = result.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut non_text = NonText::default();
    let mut texts: Vec<String> = Vec::new();
    for block in blocks {
        let text = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "image" => {
                non_text = non_text.and(NonText { images: 1, bytes: decoded(text("data")), ..NonText::default() })
            }
            "audio" => {
                non_text = non_text.and(NonText { audio: 1, bytes: decoded(text("data")), ..NonText::default() })
            }
            "resource" => match block.pointer("/resource/blob").and_then(Value::as_str) {
                Some(blob) => non_text = non_text.and(NonText { blobs: 1, bytes: decoded(blob), ..NonText::default() }),
                None => texts.extend(block.pointer("/resource/text").and_then(Value::as_str).map(str::to_owned)),
            },
            "resource_link" => {
                let members = ["uri", "name", "description"];
                let shown = members.iter().filter_map(|name| Some(((*name).to_owned(), block.get(name)?.clone())));
                texts.push(Value::Object(shown.collect()).to_string());
            }
            _ => texts.push(text("text").to_owned()),
        }
    }
    if texts.is_empty() {
        texts.extend(result.get("structuredContent").map(Value::to_string));
    }
    let failed = result.get("isError") == Some(&Value::Bool(true));
    ModelView { text: texts.join("\n"), non_text, failed }
}

/// The decoded size of base64 text.
fn decoded(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}

/// The decoded size of a data URI; 0 for any other URI.
fn data_bytes(address: &str) -> usize {
    match address.strip_prefix("data:").and_then(|data| data.split_once(',')) {
        Some((head, data)) if head.ends_with(";base64") => decoded(data),
        Some((_, data)) => data.len(),
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_sees_name_description_and_input_schema_of_a_tool() {
        let whole = json!({
            "inputSchema": { "type": "object" }, "title": "A tool", "name": "a", "outputSchema": {}, "description": "Does.",
            "annotations": { "readOnlyHint": true }, "icons": [{ "src": "data:image/png;base64,AAAA" }, { "src": "https://x/i.png" }],
            "_meta": {},
        });
        assert_eq!(
            tools(std::slice::from_ref(&whole)),
            r#"[{"name":"a","description":"Does.","inputSchema":{"type":"object"}}]"#
        );
        assert_eq!(icons(&whole), NonText { icons: 2, bytes: 3, ..NonText::default() });
        assert_eq!(tools(&[json!({ "name": "b" })]), r#"[{"name":"b"}]"#);
        assert_eq!(icons(&json!({ "name": "b" })), NonText::default());
    }

    #[test]
    fn a_model_reads_result_text_once_and_the_rest_is_counted_separately() {
        let both = json!({ "content": [{ "type": "text", "text": "{\"a\":1}" }], "structuredContent": { "a": 1 } });
        assert_eq!(result(&both).text, "{\"a\":1}");
        let only = json!({ "content": [], "structuredContent": { "a": 1 }, "isError": true });
        assert_eq!(
            result(&only),
            ModelView { text: "{\"a\":1}".to_owned(), non_text: NonText::default(), failed: true }
        );
        let mixed = json!({ "content": [
            { "type": "text", "text": "Look:" },
            { "type": "image", "data": "AAAAAAA=", "mimeType": "image/png" },
            { "type": "audio", "data": "AAAA", "mimeType": "audio/wav" },
            { "type": "resource", "resource": { "uri": "x:1", "text": "inside" } },
            { "type": "resource", "resource": { "uri": "x:2", "blob": "AAAA" } },
            { "type": "resource_link", "uri": "x:3", "name": "three", "mimeType": "text/plain" },
        ] });
        let view = result(&mixed);
        assert_eq!(view.text, "Look:\ninside\n{\"uri\":\"x:3\",\"name\":\"three\"}");
        assert_eq!(view.non_text, NonText { images: 1, audio: 1, blobs: 1, icons: 0, bytes: 5 + 3 + 3 });
        assert_eq!(result(&json!({})), ModelView::default());
    }
}
