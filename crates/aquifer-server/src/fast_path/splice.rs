//! Passes the text of an answer around the SDK.
//!
//! An answer appears twice in a message, as text and as `structuredContent` (R-RES-3). The SDK takes the second as a
//! tree of values, so the text would have to be parsed only to be written again, which is half the cost of a list of
//! rows. Instead, the SDK gets a mark in both places, and the code that writes the message to the client replaces the
//! marks by the text.
//!
//! Nothing else in a message can be mistaken for a mark: it is random and never leaves this process.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::{Arc, LazyLock, OnceLock};

use axum::body::{Body, Bytes, HttpBody as _};
use http_body_util::BodyExt as _;
use memchr::memmem;
use rmcp::RoleServer;
use rmcp::model::{CallToolResult, ContentBlock, JsonRpcMessage, ServerResult};
use rmcp::service::{RequestContext, TxJsonRpcMessage};

/// What stands for the text, as long as the SDK has the message.
static MARK: LazyLock<String> = LazyLock::new(|| {
    let random = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", random(), random())
});

static FINDER: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(MARK.as_bytes()));

/// Where a request over HTTP leaves the text of its answer. It travels with the request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Splice(Arc<OnceLock<String>>);

impl Splice {
    /// The one that came with the request, if there is one.
    pub(crate) fn from_context(context: &RequestContext<RoleServer>) -> Option<&Self> {
        context.extensions.get::<axum::http::request::Parts>()?.extensions.get()
    }

    /// Takes the text along, and leaves marks in its place.
    pub(crate) fn replace_text(&self, result: &mut CallToolResult) {
        if let Some(text) = take_text(result) {
            // There is one answer to a request.
            let _ = self.0.set(text);
        }
    }

    /// The body with the text in place of the marks. Each message is in one frame.
    pub(crate) async fn restore(self, body: Body) -> Body {
        if body.size_hint().exact().is_none() {
            return Body::new(body.map_frame(move |frame| frame.map_data(|data| self.insert_text(data))));
        }
        // It is here already, and its length is to be told.
        match body.collect().await {
            Ok(whole) => self.insert_text(whole.to_bytes()).into(),
            Err(cause) => {
                tracing::error!(%cause, "an answer was lost");
                Body::empty()
            }
        }
    }

    fn insert_text(&self, data: Bytes) -> Bytes {
        self.0.get().and_then(|text| insert_text(text, &data)).map_or(data, Bytes::from)
    }
}

/// A message as bytes, and the same if its result has yet to become `structuredContent`.
pub(crate) fn write(message: &mut TxJsonRpcMessage<RoleServer>) -> serde_json::Result<Vec<u8>> {
    let text = match message {
        JsonRpcMessage::Response(response) => match &mut response.result {
            ServerResult::CallToolResult(result) if result.structured_content.is_none() => take_text(result),
            _ => None,
        },
        _ => None,
    };
    let bytes = serde_json::to_vec(message)?;
    Ok(text.and_then(|text| insert_text(&text, &bytes)).unwrap_or(bytes))
}

/// Takes the text out of a result, and leaves marks wherever it belongs.
fn take_text(result: &mut CallToolResult) -> Option<String> {
    let Some(ContentBlock::Text(block)) = result.content.first_mut() else { return None };
    result.structured_content = Some(MARK.as_str().into());
    Some(std::mem::replace(&mut block.text, MARK.clone()))
}

/// Puts text in place of the marks, if they are there: first as a string, then as it is.
fn insert_text(text: &str, message: &[u8]) -> Option<Vec<u8>> {
    let (before, rest) = cut(message)?;
    let (between, after) = cut(rest)?;
    let mut whole = Vec::with_capacity(message.len() + text.len() * 2 + text.len() / 4);
    whole.extend_from_slice(before);
    quote(text, &mut whole);
    whole.extend_from_slice(between);
    let start = whole.len();
    whole.extend_from_slice(text.as_bytes());
    // Only between values can an end of line stand as it is. Messages are lines.
    if memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_some() {
        for byte in whole.iter_mut().skip(start).filter(|byte| matches!(byte, b'\n' | b'\r')) {
            *byte = b' ';
        }
    }
    whole.extend_from_slice(after);
    Some(whole)
}

/// What stands before and after the next mark and its quotes.
fn cut(message: &[u8]) -> Option<(&[u8], &[u8])> {
    let start = FINDER.find(message)?.checked_sub(1)?;
    Some((message.get(..start)?, message.get(start + MARK.len() + 2..)?))
}

/// Writes text as a JSON string. Our own text is JSON itself and full of quotes, which are all that needs care.
fn quote(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for &byte in text.as_bytes() {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0..b' ' => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
mod tests {
    use super::*;
    use rmcp::model::{JsonRpcResponse, NumberOrString};
    use serde_json::Value;

    fn message(text: &str) -> TxJsonRpcMessage<RoleServer> {
        let result = CallToolResult::success(vec![ContentBlock::text(text), ContentBlock::text("another")]);
        JsonRpcMessage::Response(JsonRpcResponse {
            jsonrpc: Default::default(),
            id: NumberOrString::String("one".into()),
            result: ServerResult::CallToolResult(result),
        })
    }

    #[test]
    fn r_res_3_the_text_stands_where_the_marks_stood() {
        for text in [
            r#"{"success":true,"data":{"name":"ü\"\\"}}"#,
            r#"{"data":"\"structuredContent\":\"x\""}"#,
            r#"{"text":"x","structuredContent":"x"}"#,
            "{\"a\":\n[1,\r\n\t2]}",
        ] {
            let bytes = write(&mut message(text)).unwrap();
            assert!(!bytes.contains(&b'\n') && !bytes.contains(&b'\r'), "messages are lines");
            assert!(memmem::find(&bytes, MARK.as_bytes()).is_none(), "the mark stays here");
            let read: Value = serde_json::from_slice(&bytes).unwrap();
            let result = &read["result"];
            assert_eq!(read["id"], "one");
            assert_eq!(result["content"][0]["text"], text);
            assert_eq!(result["content"][1]["text"], "another");
            assert_eq!(result["structuredContent"], serde_json::from_str::<Value>(text).unwrap());
        }
    }

    #[test]
    fn every_character_is_quoted_as_json_wants_it() {
        let text: String = (0..=0x2FF).chain([0x2028, 0x1F600]).filter_map(char::from_u32).collect();
        let mut quoted = Vec::new();
        quote(&text, &mut quoted);
        assert_eq!(serde_json::from_slice::<String>(&quoted).unwrap(), text);
    }

    #[test]
    fn what_has_no_mark_stays_as_it_is() {
        let mut plain: TxJsonRpcMessage<RoleServer> = JsonRpcMessage::Response(JsonRpcResponse {
            jsonrpc: Default::default(),
            id: NumberOrString::Number(1),
            result: ServerResult::empty(()),
        });
        assert_eq!(write(&mut plain).unwrap(), serde_json::to_vec(&plain).unwrap());
        assert_eq!(insert_text("{}", br#"{"result":{"structuredContent":{"a":1}}}"#), None);
    }
}
