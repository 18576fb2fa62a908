//! What an answer is worth: its size, what a model reads of it, and whether it holds what was asked for.

use anyhow::{Context, bail};
use aquifer_bench::mcp::shortened;
use serde_json::Value;

/// Which part of an answer a model would be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// All of it.
    Whole,
    /// The text of an MCP result.
    Text,
}

/// The size of an answer.
pub(crate) struct Size {
    /// Bytes of the body.
    pub(crate) bytes: usize,
    /// Bytes of what a model reads.
    pub(crate) shown_bytes: usize,
    /// Tokens of what a model reads.
    pub(crate) tokens: usize,
}

/// Measures an answer. A fast failure must not pass for a fast answer: it has to hold an array of so many rows.
pub(crate) fn measure(answer: &[u8], shown: Shown, rows: Option<usize>) -> anyhow::Result<Size> {
    let whole = str::from_utf8(answer).context("the answer is not text")?;
    let value: Value = serde_json::from_str(whole).context("the answer is not JSON")?;
    let text = match shown {
        Shown::Whole => whole,
        Shown::Text => value.pointer("/result/content/0/text").and_then(Value::as_str).context("no text")?,
    };
    let read: Value = serde_json::from_str(text).context("what is shown is not JSON")?;
    if rows.is_some_and(|rows| !holds_rows(&read, rows)) {
        bail!("no {} rows in {}", rows.unwrap_or_default(), shortened(text));
    }
    let encoding = tiktoken::get_encoding("o200k_base").context("no tokenizer")?;
    Ok(Size { bytes: answer.len(), shown_bytes: text.len(), tokens: encoding.count(text) })
}

fn holds_rows(value: &Value, rows: usize) -> bool {
    match value {
        Value::Array(items) if items.len() == rows => items.iter().all(Value::is_object),
        Value::Array(items) => items.iter().any(|item| holds_rows(item, rows)),
        Value::Object(members) => members.values().any(|member| holds_rows(member, rows)),
        _ => false,
    }
}
