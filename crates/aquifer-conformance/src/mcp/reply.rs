//! The reply to a call, parsed leniently, because checks report problems with its shape.

use serde_json::Value;

use crate::record::Exchange;

/// The kind of a reply.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ReplyKind {
    /// An envelope with `success: true`.
    Success,
    /// An envelope with `success: false`.
    Failure,
    /// A JSON-RPC error.
    RpcError,
    /// A tool result that is not an envelope.
    Malformed,
    /// No answer: the server was lost.
    Lost,
}

/// A call and its answer.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) exchange: Exchange,
    pub(crate) kind: ReplyKind,
    /// Whether text and structured content agree; `None` if there is only one of them.
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

    /// Whether the request was refused, in any form.
    pub(crate) fn is_refused(&self) -> bool {
        matches!(self.kind, ReplyKind::Failure | ReplyKind::RpcError)
    }

    pub(crate) fn data(&self) -> &Value {
        self.exchange.answer.get("data").unwrap_or(&Value::Null)
    }

    pub(crate) fn code(&self) -> &str {
        self.exchange.answer.pointer("/error/code").and_then(Value::as_str).unwrap_or_default()
    }

    /// The message of a failure, even if the error is only a string.
    pub(crate) fn message(&self) -> &str {
        let answer = &self.exchange.answer;
        let message =
            answer.pointer("/error/message").or_else(|| answer.get("error")).or_else(|| answer.get("message"));
        message.and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn warnings(&self) -> &[Value] {
        self.exchange.answer.get("warnings").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether the reply reports an unknown name, by a refusal that mentions it or by a warning.
    pub(crate) fn reports_unknown(&self, name: &str) -> bool {
        match self.kind {
            ReplyKind::Success => !self.warnings().is_empty(),
            _ => self.is_refused() && self.message().contains(name),
        }
    }

    /// Whether the code of a refusal means "not found".
    pub(crate) fn is_not_found(&self) -> bool {
        self.is_refused() && self.code().contains("NOT_FOUND")
    }

    /// Whether the message of a failure means "not found".
    pub(crate) fn says_not_found(&self) -> bool {
        let message = self.message().to_lowercase();
        self.kind == ReplyKind::Failure
            && ["not found", "does not exist", "no such"].iter().any(|words| message.contains(words))
    }

    /// Whether a valid request was refused. For a resource that existed before, this means that it is gone.
    pub(crate) fn is_gone(&self) -> bool {
        self.is_refused() && !self.is_invalid_request()
    }

    /// Whether the request was refused as invalid, rather than because of the state of the server.
    pub(crate) fn is_invalid_request(&self) -> bool {
        self.kind == ReplyKind::RpcError || (self.is_refused() && self.code().contains("VALIDATION"))
    }

    /// The confirmation token of a refusal that asks for confirmation.
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
