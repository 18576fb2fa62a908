//! JSON-RPC messages, parsed only as far as needed.
//!
//! The `result` of a response keeps its original bytes: discovery stores them, and the caller parses the result of a
//! call once.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer as _, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::error::RpcError;

/// One received message.
#[derive(Deserialize)]
pub(crate) struct IncomingMessage<'a> {
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

/// JSON text that is part of a received message.
#[derive(Debug, Clone)]
pub(crate) struct Json(Bytes);

impl Json {
    /// The given part of a message.
    pub(crate) fn from_part(message: &Bytes, part: &RawValue) -> Self {
        Self(message.slice_ref(part.get().as_bytes()))
    }

    /// A text that was made from parts of messages.
    pub(crate) fn new(text: String) -> Self {
        Self(text.into())
    }

    pub(crate) fn null() -> Self {
        Self(Bytes::from_static(b"null"))
    }

    /// The text. The whole message was parsed as UTF-8, so this never fails.
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl IncomingMessage<'_> {
    /// The id of our request that this message answers.
    pub(crate) fn answered_id(&self) -> Option<u64> {
        if self.method.is_some() {
            return None;
        }
        let id = self.id?.get();
        // Some servers return numbers as strings.
        id.trim_matches('"').parse().ok()
    }

    /// The result or error of a response.
    pub(crate) fn outcome(&self, message: &Bytes) -> Result<Json, RpcError> {
        match (self.error, self.result) {
            (Some(error), _) => Err(serde_json::from_str(error.get()).unwrap_or_else(|_| RpcError::new(0, ""))),
            (None, Some(result)) => Ok(Json::from_part(message, result)),
            (None, None) => Ok(Json::null()),
        }
    }
}

/// Calls `take` for each message: one, or several if it is a batch (MCP 2025-03-26). The messages of a batch are not
/// collected, because each would take many times the memory of its text.
pub(crate) fn for_each_message(
    text: &Bytes,
    mut take: impl FnMut(IncomingMessage<'_>),
) -> Result<(), serde_json::Error> {
    if text.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'[') {
        take(serde_json::from_slice(text)?);
        return Ok(());
    }
    let mut batch = serde_json::Deserializer::from_slice(text);
    batch.deserialize_seq(BatchVisitor(take))?;
    batch.end()
}

struct BatchVisitor<F>(F);

impl<'de, F: FnMut(IncomingMessage<'de>)> Visitor<'de> for BatchVisitor<F> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a batch of messages")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut messages: A) -> Result<(), A::Error> {
        while let Some(message) = messages.next_element()? {
            (self.0)(message);
        }
        Ok(())
    }
}

#[derive(Serialize)]
struct Request<'a, P> {
    jsonrpc: &'static str,
    id: u64,
    method: &'a str,
    params: &'a P,
}

/// Serializes a request as one line, without the line end.
pub(crate) fn request<P: Serialize>(id: u64, method: &str, params: &P) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = Vec::with_capacity(256);
    serde_json::to_writer(&mut line, &Request { jsonrpc: "2.0", id, method, params })?;
    Ok(line)
}

/// Serializes a notification.
pub(crate) fn notification(method: &str, params: Option<Value>) -> Vec<u8> {
    let mut message = json!({ "jsonrpc": "2.0", "method": method });
    if let (Some(params), Some(fields)) = (params, message.as_object_mut()) {
        fields.insert("params".to_owned(), params);
    }
    message.to_string().into_bytes()
}

/// Serializes a response to a request of the upstream. The id is returned unchanged.
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
    fn batches_are_read_and_invalid_text_is_refused() {
        let mut count = 0;
        let batch = Bytes::from_static(br#" [{"id":1,"result":{}},{"method":"notifications/x"}]"#);
        for_each_message(&batch, |_| count += 1).unwrap();
        assert_eq!(count, 2);
        for nonsense in ["", "hello", "17", "{\"id\":", "null", "[1]"] {
            assert!(for_each_message(&Bytes::from(nonsense), |_| ()).is_err(), "{nonsense}");
        }
    }
}
