//! The messages of one call, each of bounded size.

use std::time::Duration;

use aquifer_query::budget::estimate_text;
use serde::Serialize;

use super::secret_values::SecretValues;

/// The maximum size of the head and of the body of a message. What follows is cut off.
pub const MAX_TEXT_BYTES: usize = 64 * 1024;

/// What is kept beyond the maximum until secrets are removed, so that a secret at its end is recognized.
const MARGIN_BYTES: usize = 4 * 1024;

/// Further messages of a call are not kept.
const MAX_MESSAGES: usize = 200;

/// The maximum size of all messages of a call. Those beyond it are kept without their text.
const MAX_CALL_BYTES: usize = 1024 * 1024;

/// Where on its way a message was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// The client sent it.
    Received,
    /// It was sent to the source.
    Sent,
    /// The source returned it.
    Returned,
    /// The client got it.
    Answered,
}

/// The language of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// The tool calls of a client.
    Client,
    /// JSON-RPC to an MCP server.
    Mcp,
    /// A request to an HTTP API.
    Http,
    /// A statement to a database.
    Sql,
}

/// A message, without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WireMessage {
    /// Where on its way it was seen.
    pub step: Step,
    /// Its language.
    pub channel: Channel,
    /// When it was seen, in microseconds after the call began.
    pub after_us: u64,
    /// What precedes the body: method, address and headers, or the types of bound values.
    pub head: String,
    /// The body.
    pub body: String,
    /// The size of the whole body.
    pub bytes: usize,
    /// The estimated number of tokens of the whole body.
    pub tokens: usize,
    /// Whether the head or the body was cut.
    pub is_cut: bool,
}

/// The messages of a call. They still contain the secrets of the caller.
#[derive(Debug, Default)]
pub(super) struct Messages {
    list: Vec<WireMessage>,
    bytes: usize,
}

impl Messages {
    pub(super) fn add(&mut self, step: Step, channel: Channel, after: Duration, head: &str, body: &str) {
        if self.list.len() >= MAX_MESSAGES {
            return;
        }
        let room = MAX_CALL_BYTES.saturating_sub(self.bytes).min(MAX_TEXT_BYTES + MARGIN_BYTES);
        let kept_head = beginning(head, room);
        let kept_body = beginning(body, room.saturating_sub(kept_head.len()));
        self.bytes += kept_head.len() + kept_body.len();
        self.list.push(WireMessage {
            step,
            channel,
            after_us: u64::try_from(after.as_micros()).unwrap_or(u64::MAX),
            head: kept_head.to_owned(),
            body: kept_body.to_owned(),
            bytes: body.len(),
            tokens: estimate_text(body.as_bytes()),
            is_cut: kept_head.len() < head.len() || kept_body.len() < body.len(),
        });
    }

    /// The tokens of everything that an MCP server or an HTTP API returned. `None` if nothing was returned.
    pub(super) fn returned_tokens(&self) -> Option<usize> {
        let is_returned =
            |one: &&WireMessage| one.step == Step::Returned && matches!(one.channel, Channel::Mcp | Channel::Http);
        let returned = self.list.iter().filter(is_returned).map(|one| one.tokens);
        returned.reduce(|sum, tokens| sum + tokens)
    }

    pub(super) fn redacted(&self, secrets: &SecretValues) -> Vec<WireMessage> {
        self.list.iter().map(|message| redact(message, secrets)).collect()
    }
}

fn redact(message: &WireMessage, secrets: &SecretValues) -> WireMessage {
    let [head, body] = [&message.head, &message.body].map(|text| {
        let mut text = secrets.redact(text);
        let length = beginning(&text, MAX_TEXT_BYTES).len();
        let is_cut = length < text.len();
        text.truncate(length);
        (text, is_cut)
    });
    WireMessage { is_cut: message.is_cut || head.1 || body.1, head: head.0, body: body.0, ..message.clone() }
}

/// The beginning of a text, up to a number of bytes.
fn beginning(text: &str, max_bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(max_bytes)).unwrap_or_default()
}
