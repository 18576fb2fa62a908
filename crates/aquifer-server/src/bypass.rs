//! The way of an answer's text around the SDK.
//!
//! An answer goes out twice in one message, as text and as `structuredContent` (R-RES-3). The SDK wants the second as a
//! tree of values, which would have to be read from the text only to be written again: half of what a list of rows
//! costs. So the SDK carries a mark, and whoever writes the message to the client puts the text in its place.
//!
//! Nothing else in a message can be taken for the mark: inside of a text every quote has a backslash before it, and a
//! bare `"structuredContent":` is written by the SDK alone.

use std::sync::{Arc, OnceLock};

use axum::body::{Body, Bytes, HttpBody as _};
use http_body_util::BodyExt as _;
use memchr::memmem;
use rmcp::RoleServer;
use rmcp::model::{CallToolResult, JsonRpcMessage, ServerResult};
use rmcp::service::{RequestContext, TxJsonRpcMessage};
use serde_json::Value;

const MARK: &str = "the same as the text";
const FIELD: &[u8] = b"\"structuredContent\":";
const MARKED: &[u8] = b"\"structuredContent\":\"the same as the text\"";

/// What stands for the text while the SDK has the message.
pub(crate) fn mark() -> Value {
    MARK.into()
}

/// Where a request over HTTP leaves the text of its answer. It travels with the request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bypass(Arc<OnceLock<String>>);

impl Bypass {
    /// The one that came with the request, if there is one.
    pub(crate) fn of(context: &RequestContext<RoleServer>) -> Option<&Self> {
        context.extensions.get::<axum::http::request::Parts>()?.extensions.get()
    }

    /// Takes the text. What stands for it meanwhile is the answer.
    pub(crate) fn take_along(&self, text: &str) -> Option<Value> {
        self.0.set(text.to_owned()).is_ok().then(mark)
    }

    /// The body with the text in place of the mark. Each message is in one frame.
    pub(crate) async fn restore(self, body: Body) -> Body {
        if body.size_hint().exact().is_none() {
            return Body::new(body.map_frame(move |frame| frame.map_data(|data| self.put(data))));
        }
        // It is here already, and its length is to be told.
        match body.collect().await {
            Ok(whole) => self.put(whole.to_bytes()).into(),
            Err(cause) => {
                tracing::error!(%cause, "an answer was lost");
                Body::empty()
            }
        }
    }

    fn put(&self, data: Bytes) -> Bytes {
        self.0.get().and_then(|text| put(text, &data)).map_or(data, Bytes::from)
    }
}

/// A message as bytes, with the text of an answer in place of the mark.
pub(crate) fn write(message: &TxJsonRpcMessage<RoleServer>) -> serde_json::Result<Vec<u8>> {
    let bytes = serde_json::to_vec(message)?;
    let text = match message {
        JsonRpcMessage::Response(response) => marked(&response.result),
        _ => None,
    };
    Ok(text.and_then(|text| put(text, &bytes)).unwrap_or(bytes))
}

/// The text that stands beside a mark.
fn marked(result: &ServerResult) -> Option<&str> {
    match result {
        ServerResult::CallToolResult(CallToolResult { content, structured_content: Some(Value::String(mark)), .. })
            if mark == MARK =>
        {
            content.first()?.as_text().map(|block| block.text.as_str())
        }
        _ => None,
    }
}

/// Puts text in place of the mark, if there is one. It stands towards the end.
fn put(text: &str, message: &[u8]) -> Option<Vec<u8>> {
    let start = memmem::rfind(message, MARKED)?;
    let (before, after) = (message.get(..start)?, message.get(start + MARKED.len()..)?);
    let mut whole = Vec::with_capacity(message.len() + text.len());
    whole.extend_from_slice(before);
    whole.extend_from_slice(FIELD);
    let from = whole.len();
    whole.extend_from_slice(text.as_bytes());
    // Only between values can an end of line stand as it is. Messages are lines.
    if memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_some() {
        for byte in whole.iter_mut().skip(from).filter(|byte| matches!(byte, b'\n' | b'\r')) {
            *byte = b' ';
        }
    }
    whole.extend_from_slice(after);
    Some(whole)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use rmcp::model::{ContentBlock, JsonRpcResponse, NumberOrString};

    fn message(text: &str) -> TxJsonRpcMessage<RoleServer> {
        let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
        result.structured_content = Some(mark());
        JsonRpcMessage::Response(JsonRpcResponse {
            jsonrpc: Default::default(),
            id: NumberOrString::String(MARK.into()),
            result: ServerResult::CallToolResult(result),
        })
    }

    #[test]
    fn r_res_3_the_text_stands_where_the_mark_stood_and_nowhere_else() {
        for text in [
            r#"{"success":true,"data":{"name":"ü\"\\"}}"#,
            r#"{"data":"\"structuredContent\":\"the same as the text\""}"#,
            r#"{"structuredContent":"the same as the text"}"#,
            "{\"a\":\n[1,\r\n2]}",
        ] {
            let bytes = write(&message(text)).unwrap();
            assert!(!bytes.contains(&b'\n') && !bytes.contains(&b'\r'), "messages are lines");
            let read: Value = serde_json::from_slice(&bytes).unwrap();
            let result = &read["result"];
            assert_eq!(read["id"], MARK);
            assert_eq!(result["content"][0]["text"], text);
            assert_eq!(result["structuredContent"], serde_json::from_str::<Value>(text).unwrap());
        }
    }

    #[test]
    fn what_has_no_mark_stays_as_it_is() {
        let plain: TxJsonRpcMessage<RoleServer> = JsonRpcMessage::Response(JsonRpcResponse {
            jsonrpc: Default::default(),
            id: NumberOrString::Number(1),
            result: ServerResult::empty(()),
        });
        assert_eq!(write(&plain).unwrap(), serde_json::to_vec(&plain).unwrap());
        assert_eq!(put("{}", br#"{"result":{"structuredContent":{"a":1}}}"#), None);
    }
}
