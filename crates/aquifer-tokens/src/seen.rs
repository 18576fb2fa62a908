//! What a model sees of MCP, defined once. `docs/tokens.md` says the same in words.
//!
//! - Of a tool: its name, description and input schema, as compact JSON in that order. Titles, annotations, output
//!   schemas, icons and `_meta` are for clients.
//! - Of a list of tools: one JSON array of those.
//! - Of a call: what the model writes, `{"name", "arguments"}` as compact JSON.
//! - Of a result: the text of its blocks. `structuredContent` says the same once more and counts only where there is no
//!   text. Images, audio and other binary data cost what a model's vendor says and are no text: they are told apart, by
//!   their number and size.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// What is no text: how many of each, and how many bytes they are once decoded.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Apart {
    /// Pictures in results.
    pub images: usize,
    /// Sounds in results.
    pub audio: usize,
    /// Other binary resources in results.
    pub blobs: usize,
    /// Icons of tools, those inside of the list and those it links to.
    pub icons: usize,
    /// The bytes of all of them that came along.
    pub bytes: usize,
}

impl Apart {
    /// Whether there is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Both together.
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

/// What a model reads of a result.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Seen {
    /// The text.
    pub text: String,
    /// What is no text.
    pub apart: Apart,
    /// Whether the tool says that it failed.
    pub failed: bool,
}

/// What a model sees of a tool.
#[must_use]
pub fn tool(tool: &Value) -> Value {
    let members = ["name", "description", "inputSchema"];
    let shown = members.iter().filter_map(|name| Some(((*name).to_owned(), tool.get(name)?.clone())));
    Value::Object(shown.collect::<Map<String, Value>>())
}

/// What a model sees of a list of tools.
#[must_use]
pub fn tools(tools: &[Value]) -> String {
    Value::from(tools.iter().map(tool).collect::<Vec<_>>()).to_string()
}

/// What a model writes to call a tool.
#[must_use]
pub fn call(tool: &str, arguments: &Value) -> String {
    json!({ "name": tool, "arguments": arguments }).to_string()
}

/// The icons of a tool. Most are data URIs, many times the size of the tool's text.
#[must_use]
pub fn icons(tool: &Value) -> Apart {
    let icons = tool.get("icons").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let source = |icon: &Value| icon.get("src").and_then(Value::as_str).map_or(0, data_bytes);
    Apart { icons: icons.len(), bytes: icons.iter().map(source).sum(), ..Apart::default() }
}

/// What a model reads of a result.
#[must_use]
pub fn result(result: &Value) -> Seen {
    let blocks = result.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut apart = Apart::default();
    let mut texts: Vec<String> = Vec::new();
    for block in blocks {
        let text = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "image" => apart = apart.and(Apart { images: 1, bytes: decoded(text("data")), ..Apart::default() }),
            "audio" => apart = apart.and(Apart { audio: 1, bytes: decoded(text("data")), ..Apart::default() }),
            "resource" => match block.pointer("/resource/blob").and_then(Value::as_str) {
                Some(blob) => apart = apart.and(Apart { blobs: 1, bytes: decoded(blob), ..Apart::default() }),
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
    Seen { text: texts.join("\n"), apart, failed }
}

/// The bytes behind base64.
fn decoded(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}

/// The bytes inside of a data URI; none behind any other address.
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
    fn of_a_tool_a_model_sees_name_description_and_input_schema() {
        let whole = json!({
            "inputSchema": { "type": "object" }, "title": "A tool", "name": "a", "outputSchema": {}, "description": "Does.",
            "annotations": { "readOnlyHint": true }, "icons": [{ "src": "data:image/png;base64,AAAA" }, { "src": "https://x/i.png" }],
            "_meta": {},
        });
        assert_eq!(
            tools(std::slice::from_ref(&whole)),
            r#"[{"name":"a","description":"Does.","inputSchema":{"type":"object"}}]"#
        );
        assert_eq!(icons(&whole), Apart { icons: 2, bytes: 3, ..Apart::default() });
        assert_eq!(tools(&[json!({ "name": "b" })]), r#"[{"name":"b"}]"#);
        assert_eq!(icons(&json!({ "name": "b" })), Apart::default());
    }

    #[test]
    fn of_a_result_a_model_reads_the_text_once_and_the_rest_is_told_apart() {
        let both = json!({ "content": [{ "type": "text", "text": "{\"a\":1}" }], "structuredContent": { "a": 1 } });
        assert_eq!(result(&both).text, "{\"a\":1}");
        let only = json!({ "content": [], "structuredContent": { "a": 1 }, "isError": true });
        assert_eq!(result(&only), Seen { text: "{\"a\":1}".to_owned(), apart: Apart::default(), failed: true });
        let mixed = json!({ "content": [
            { "type": "text", "text": "Look:" },
            { "type": "image", "data": "AAAAAAA=", "mimeType": "image/png" },
            { "type": "audio", "data": "AAAA", "mimeType": "audio/wav" },
            { "type": "resource", "resource": { "uri": "x:1", "text": "inside" } },
            { "type": "resource", "resource": { "uri": "x:2", "blob": "AAAA" } },
            { "type": "resource_link", "uri": "x:3", "name": "three", "mimeType": "text/plain" },
        ] });
        let seen = result(&mixed);
        assert_eq!(seen.text, "Look:\ninside\n{\"uri\":\"x:3\",\"name\":\"three\"}");
        assert_eq!(seen.apart, Apart { images: 1, audio: 1, blobs: 1, icons: 0, bytes: 5 + 3 + 3 });
        assert_eq!(result(&json!({})), Seen::default());
    }
}
