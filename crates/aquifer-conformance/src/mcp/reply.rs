//! An answer to a call, read as leniently as it can be: what is wrong with its shape is told by checks, not by giving up.

use serde_json::Value;

use crate::record::Exchange;

/// What came back.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ReplyKind {
    /// An envelope that says `success: true`.
    Success,
    /// An envelope that says `success: false`.
    Failure,
    /// A JSON-RPC error.
    RpcError,
    /// A tool result that is no envelope.
    Malformed,
    /// Nothing: the server is gone.
    Lost,
}

/// One call and its answer.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) exchange: Exchange,
    pub(crate) kind: ReplyKind,
    /// Whether the text block and the structured content say the same; `None` where only one of them is there.
    pub(crate) texts_agree: Option<bool>,
}

impl Reply {
    pub(crate) fn unanswered(tool: &str, arguments: Value) -> Self {
        let exchange = Exchange { tool: tool.to_owned(), arguments, answer: Value::Null };
        Self { exchange, kind: ReplyKind::Lost, texts_agree: None }
    }

    pub(crate) fn from_message(tool: &str, arguments: Value, message: &Value) -> Self {
        let (answer, texts_agree) = match message.get("result") {
            Some(result) => envelope(result),
            None => (message.get("error").cloned().unwrap_or_else(|| message.clone()), None),
        };
        let kind = match answer.get("success").and_then(Value::as_bool) {
            _ if message.get("result").is_none() => ReplyKind::RpcError,
            Some(true) => ReplyKind::Success,
            Some(false) => ReplyKind::Failure,
            None => ReplyKind::Malformed,
        };
        Self { exchange: Exchange { tool: tool.to_owned(), arguments, answer }, kind, texts_agree }
    }

    pub(crate) fn is_success(&self) -> bool {
        self.kind == ReplyKind::Success
    }

    /// Whether the caller was told no, in whatever shape.
    pub(crate) fn is_refused(&self) -> bool {
        matches!(self.kind, ReplyKind::Failure | ReplyKind::RpcError)
    }

    pub(crate) fn data(&self) -> &Value {
        self.exchange.answer.get("data").unwrap_or(&Value::Null)
    }

    pub(crate) fn code(&self) -> &str {
        self.exchange.answer.pointer("/error/code").and_then(Value::as_str).unwrap_or_default()
    }

    /// The message of a failure, also where the error is but a string.
    pub(crate) fn message(&self) -> &str {
        let answer = &self.exchange.answer;
        let message =
            answer.pointer("/error/message").or_else(|| answer.get("error")).or_else(|| answer.get("message"));
        message.and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn warnings(&self) -> &[Value] {
        self.exchange.answer.get("warnings").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether the caller was told that something is unknown: refused with its name, or warned.
    pub(crate) fn reports_unknown(&self, name: &str) -> bool {
        match self.kind {
            ReplyKind::Success => !self.warnings().is_empty(),
            _ => self.is_refused() && self.message().contains(name),
        }
    }

    /// Whether a thing that is asked for is not there.
    pub(crate) fn is_not_found(&self) -> bool {
        self.is_refused() && self.code().contains("NOT_FOUND")
    }

    /// Whether a failure without a code says in words that a thing is not there.
    pub(crate) fn says_not_found(&self) -> bool {
        let message = self.message().to_lowercase();
        self.kind == ReplyKind::Failure
            && ["not found", "does not exist", "no such"].iter().any(|words| message.contains(words))
    }

    /// Whether a valid request was refused: of something that was there before, that it is gone, in whatever words.
    pub(crate) fn is_gone(&self) -> bool {
        self.is_refused() && !self.is_invalid_request()
    }

    /// Whether the request was refused for what it says, and not for what the world is like.
    pub(crate) fn is_invalid_request(&self) -> bool {
        self.kind == ReplyKind::RpcError || (self.is_refused() && self.code().contains("VALIDATION"))
    }

    /// The token of an answer that wants to be confirmed.
    pub(crate) fn confirmation_token(&self) -> Option<&str> {
        let answer = &self.exchange.answer;
        let inside =
            answer.pointer("/error/details/confirmation_token").or_else(|| answer.pointer("/confirmation/token"));
        inside.and_then(Value::as_str)
    }
}

/// The envelope of a tool result, and whether its two forms agree.
fn envelope(result: &Value) -> (Value, Option<bool>) {
    let text = result.pointer("/content/0/text").and_then(Value::as_str);
    let text = text.map(|text| serde_json::from_str::<Value>(text).unwrap_or_else(|_| Value::String(text.to_owned())));
    let structured = result.get("structuredContent").filter(|content| content.is_object());
    match (structured, text) {
        (Some(structured), Some(text)) => (structured.clone(), Some(*structured == text)),
        (Some(structured), None) => (structured.clone(), Some(false)),
        (None, Some(text)) => (text, None),
        (None, None) => (result.clone(), None),
    }
}
