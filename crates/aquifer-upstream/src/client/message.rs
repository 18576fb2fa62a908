//! Messages as they go over the wire: JSON-RPC, read no further than needed.
//!
//! An answer's `result` stays the bytes it came as: discovery keeps them, and a call's answer is read once, by whoever
//! asked for it.

use std::borrow::Cow;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// One message as it came.
#[derive(Deserialize)]
pub(crate) struct Incoming<'a> {
    #[serde(borrow, default)]
    pub(crate) id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) error: Option<&'a RawValue>,
}

/// An error as JSON-RPC has it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct RpcError {
    #[serde(default)]
    pub(crate) code: i64,
    #[serde(default)]
    pub(crate) message: String,
    /// The HTTP status it came with, where that was not a success.
    #[serde(skip)]
    pub(crate) status: Option<u16>,
}

/// Errors of JSON-RPC that are found before a request is handled.
const REFUSALS: [i64; 4] = [-32700, -32600, -32601, -32602];

/// There is no such method.
const METHOD_NOT_FOUND: i64 = -32601;

/// Something went wrong inside of the server, at any time.
const INTERNAL_ERROR: i64 = -32603;

impl RpcError {
    pub(crate) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), status: None }
    }

    /// The words of a tool that says that it failed.
    pub(crate) fn from_tool(message: impl Into<String>) -> Self {
        Self::new(0, message)
    }

    /// Whether it may say that there is no such tool. MCP has no code for that, so the words are looked at, too.
    pub(crate) fn may_be_unknown_tool(&self) -> bool {
        let text = self.message.to_ascii_lowercase();
        let is_missing =
            ["not found", "does not exist", "no such", "unknown"].iter().any(|missing| text.contains(missing));
        self.code == METHOD_NOT_FOUND || (text.contains("tool") && is_missing)
    }

    /// Whether it says that the request was not carried out. Codes of a server's own say nothing about that: servers
    /// answer with them when a call took too long, and when it failed halfway.
    pub(crate) fn is_refusal(&self) -> bool {
        match self.status {
            Some(status) => !is_inconclusive(status) && self.code != INTERNAL_ERROR,
            None => REFUSALS.contains(&self.code),
        }
    }
}

/// Whether an HTTP status leaves open if the request was handled: server errors, which proxies also send when the server
/// was cut off; 408, which servers send when a handler takes too long; 499, which proxies write when the connection was
/// closed under way; redirects, which many servers send after they handled a POST, whatever the status means.
pub(crate) fn is_inconclusive(status: u16) -> bool {
    status >= 500 || matches!(status, 300..400 | 408 | 499)
}

/// JSON text inside of a message that came.
#[derive(Debug, Clone)]
pub(crate) struct Json(Bytes);

impl Json {
    /// The part of a message that was read from it.
    pub(crate) fn from_part(message: &Bytes, part: &RawValue) -> Self {
        Self(message.slice_ref(part.get().as_bytes()))
    }

    pub(crate) fn null() -> Self {
        Self(Bytes::from_static(b"null"))
    }

    /// The text. It was part of a message that was read as text, so it is never empty for its encoding.
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl Incoming<'_> {
    /// Our own id that this answers, if it answers one of ours.
    pub(crate) fn answered_id(&self) -> Option<u64> {
        if self.method.is_some() {
            return None;
        }
        let id = self.id?.get();
        // Some servers give numbers back as text.
        id.trim_matches('"').parse().ok()
    }

    /// What was answered.
    pub(crate) fn outcome(&self, message: &Bytes) -> Result<Json, RpcError> {
        match (self.error, self.result) {
            (Some(error), _) => Err(serde_json::from_str(error.get()).unwrap_or_else(|_| RpcError::new(0, ""))),
            (None, Some(result)) => Ok(Json::from_part(message, result)),
            (None, None) => Ok(Json::null()),
        }
    }
}

/// Hands over every message of a text: one, or those of a batch, which one revision allows.
pub(crate) fn for_each_message(text: &Bytes, mut take: impl FnMut(Incoming<'_>)) -> Result<(), serde_json::Error> {
    let batch = text.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
    if batch {
        for message in serde_json::from_slice::<Vec<Incoming<'_>>>(text)? {
            take(message);
        }
    } else {
        take(serde_json::from_slice(text)?);
    }
    Ok(())
}

#[derive(Serialize)]
struct Request<'a, P> {
    jsonrpc: &'static str,
    id: u64,
    method: &'a str,
    params: &'a P,
}

/// A request of ours, as a line without its end.
pub(crate) fn request<P: Serialize>(id: u64, method: &str, params: &P) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = Vec::with_capacity(256);
    serde_json::to_writer(&mut line, &Request { jsonrpc: "2.0", id, method, params })?;
    Ok(line)
}

/// A notification of ours.
pub(crate) fn notification(method: &str, params: Option<Value>) -> Vec<u8> {
    let mut message = json!({ "jsonrpc": "2.0", "method": method });
    if let (Some(params), Some(fields)) = (params, message.as_object_mut()) {
        fields.insert("params".to_owned(), params);
    }
    message.to_string().into_bytes()
}

/// Our answer to a request of theirs, whose id is given back as it came.
pub(crate) fn response(id: &RawValue, outcome: Result<Value, (i64, &str)>) -> Vec<u8> {
    let message = match outcome {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err((code, text)) => json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": text } }),
    };
    message.to_string().into_bytes()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn r_dis_2_a_result_keeps_its_bytes() {
        let text = Bytes::from_static(b"{\"id\":\"7\", \"result\": {\"b\" : 1.0, \"a\":\"\\u00e4\"} }");
        let mut seen = None;
        for_each_message(&text, |message| {
            seen = Some((message.answered_id(), message.outcome(&text).map_err(|e| e.code)))
        })
        .unwrap();
        let (id, outcome) = seen.unwrap();
        assert_eq!(id, Some(7));
        assert_eq!(outcome.unwrap().text(), "{\"b\" : 1.0, \"a\":\"\\u00e4\"}");
    }

    #[test]
    fn r_saf_5_only_errors_found_before_a_call_is_handled_are_refusals() {
        let read = |code: Value| serde_json::from_value::<RpcError>(json!({ "code": code, "message": "m" })).unwrap();
        for (code, status, expected) in [
            (-32700, None, true),
            (-32600, None, true),
            (-32601, None, true),
            (-32602, None, true),
            (-32603, None, false),
            (-32000, None, false),
            (-32001, None, false),
            (-32099, None, false),
            // Codes outside of what JSON-RPC reserves, and an error without one.
            (1, None, false),
            (-1, None, false),
            (0, None, false),
            (-32603, Some(400), false),
            (-32000, Some(400), true),
            (404, Some(404), true),
            (-32602, Some(500), false),
            (-32000, Some(504), false),
            (499, Some(499), false),
            (408, Some(408), false),
        ] {
            let error = RpcError { status, ..read(json!(code)) };
            assert_eq!(error.is_refusal(), expected, "{error:?}");
        }
        // A tool that fails may have done half of its work.
        assert!(!RpcError::from_tool("no such account").is_refusal());
    }

    #[test]
    fn batches_and_nonsense() {
        let mut count = 0;
        let batch = Bytes::from_static(br#" [{"id":1,"result":{}},{"method":"notifications/x"}]"#);
        for_each_message(&batch, |_| count += 1).unwrap();
        assert_eq!(count, 2);
        for nonsense in ["", "hello", "17", "{\"id\":", "null", "[1]"] {
            assert!(for_each_message(&Bytes::from(nonsense), |_| ()).is_err(), "{nonsense}");
        }
    }
}
