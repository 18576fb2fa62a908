//! Passes a payload around the SDK's serializer.
//!
//! The SDK takes `structuredContent` as a tree of values. The response is already JSON text, so it would be parsed only
//! to be serialized again, which takes half the time of returning a list of rows. Instead, the SDK gets a placeholder,
//! which is replaced with the encoded payload before the SDK's message is sent.
//!
//! The placeholder is random and never leaves this process, so nothing else in a message can be mistaken for it.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::{Arc, LazyLock, OnceLock};

use aquifer_protocol::response::RenderedResponse;
use axum::body::{Body, Bytes, HttpBody as _};
use http_body_util::BodyExt as _;
use memchr::memmem;
use rmcp::RoleServer;
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock, JsonRpcMessage, ServerResult};
use rmcp::service::{RequestContext, TxJsonRpcMessage};
use serde_json::Value;

use super::payload::{Envelope, Payload, block};

static MARK: LazyLock<String> = LazyLock::new(|| {
    let random = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", random(), random())
});

/// The placeholder as the SDK writes it: the whole value of `content`.
static PLACEHOLDER: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| {
    let content = serde_json::to_vec(&placeholder().content).unwrap_or_default();
    memmem::Finder::new(&content).into_owned()
});

fn placeholder() -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(MARK.as_str())]);
    result.is_error = None;
    result
}

/// How a payload gets through the SDK, from the handler to the code that sends the message.
#[derive(Debug, Clone)]
pub(crate) enum Carrier {
    /// For stdio: inside the SDK's message. Our transport takes it out again and encodes it.
    Message,
    /// For HTTP without a session: in a slot attached to the request. The endpoint inserts it into the body that the
    /// SDK has written.
    Slot(Slot),
    /// For HTTP sessions: as a complete result, because the SDK stores messages to send them again after a reconnect.
    Tree,
}

/// Holds the payload of an HTTP request until the SDK has written the response body.
#[derive(Debug, Clone, Default)]
pub(crate) struct Slot(Arc<OnceLock<Envelope>>);

impl Carrier {
    /// The carrier that the HTTP endpoint chose for a request.
    pub(crate) fn from_http(context: &RequestContext<RoleServer>) -> Option<&Self> {
        context.extensions.get::<axum::http::request::Parts>()?.extensions.get()
    }

    /// Turns a payload into the result that is handed to the SDK.
    pub(crate) fn load(&self, payload: Payload) -> CallToolResponse {
        let response = match payload {
            Payload::Response(response) => response,
            Payload::InputRequired(question) => return question.into(),
        };
        match self {
            Carrier::Tree => tree(response).into(),
            Carrier::Message => in_message(response.into()).into(),
            Carrier::Slot(Slot(slot)) => {
                // The slot is empty, because a request has only one answer.
                let _ = slot.set(response.into());
                placeholder().into()
            }
        }
    }
}

/// The result in the SDK's own form.
fn tree(mut response: RenderedResponse) -> CallToolResult {
    let structured = response.value();
    let mut content = Vec::with_capacity(1 + response.attachments.len());
    content.push(ContentBlock::text(response.text));
    content.extend(response.attachments.into_iter().map(block));
    // `success` sets the fields that newer revisions require. `structured` would serialize the value again.
    let mut result = CallToolResult::success(content);
    result.structured_content = Some(structured);
    result.is_error = Some(response.is_error);
    result
}

/// A result that holds an envelope, with `MARK` in place of `structuredContent`.
fn in_message(envelope: Envelope) -> CallToolResult {
    let mut content = Vec::with_capacity(1 + envelope.blocks.len());
    content.push(ContentBlock::text(envelope.text));
    content.extend(envelope.blocks);
    let mut result = CallToolResult::success(content);
    result.structured_content = Some(MARK.as_str().into());
    result.is_error = Some(envelope.is_error);
    result
}

/// Takes the envelope out of a message, if it holds one, and leaves the placeholder.
fn take_envelope(message: &mut TxJsonRpcMessage<RoleServer>) -> Option<Envelope> {
    let JsonRpcMessage::Response(response) = message else { return None };
    let ServerResult::CallToolResult(result) = &mut response.result else { return None };
    if result.structured_content.as_ref().and_then(Value::as_str) != Some(MARK.as_str()) {
        return None;
    }
    let ContentBlock::Text(block) = result.content.first_mut()? else { return None };
    let text = std::mem::replace(&mut block.text, MARK.clone());
    let blocks = result.content.split_off(1);
    result.structured_content = None;
    Some(Envelope { text, blocks, is_error: result.is_error.take().unwrap_or_default() })
}

/// Encodes a message of the SDK, including the payload it carries.
pub(crate) fn write(message: &mut TxJsonRpcMessage<RoleServer>) -> serde_json::Result<Vec<u8>> {
    let envelope = take_envelope(message);
    let bytes = serde_json::to_vec(message)?;
    Ok(envelope.and_then(|envelope| splice(&envelope, &bytes)).unwrap_or(bytes))
}

impl Slot {
    /// Inserts the payload into the body that the SDK has written. Each message is in one frame.
    pub(crate) async fn restore(self, body: Body) -> Body {
        if body.size_hint().exact().is_none() {
            return Body::new(body.map_frame(move |frame| frame.map_data(|data| self.insert(data))));
        }
        // The body is complete. It is not streamed, so that the response has a `Content-Length`.
        match body.collect().await {
            Ok(whole) => self.insert(whole.to_bytes()).into(),
            Err(cause) => {
                tracing::error!(%cause, "could not read the SDK's response body; the client gets an empty one");
                Body::empty()
            }
        }
    }

    fn insert(&self, data: Bytes) -> Bytes {
        self.0.get().and_then(|envelope| splice(envelope, &data)).map_or(data, Bytes::from)
    }
}

/// Replaces the placeholder in a message, if it is there.
fn splice(envelope: &Envelope, message: &[u8]) -> Option<Vec<u8>> {
    let start = PLACEHOLDER.find(message)?;
    let mut whole = Vec::with_capacity(message.len() + envelope.estimated_bytes());
    whole.extend_from_slice(message.get(..start)?);
    envelope.encode(&mut whole).ok()?;
    whole.extend_from_slice(message.get(start + PLACEHOLDER.needle().len()..)?);
    Some(whole)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod tests {
    use aquifer_protocol::error::{Code, Failure};
    use aquifer_protocol::limits::Limits;
    use aquifer_protocol::response::{Attachment, Response};
    use rmcp::model::{JsonRpcResponse, NumberOrString};

    use super::*;
    use crate::answer::payload::{ResultForm, encode};

    fn response() -> RenderedResponse {
        let failure = Failure::new(Code::NotFoundOperation, "There is no \"structuredContent\"");
        let mut rendered = Response::Failure(failure).render(&Limits::default());
        let (media_type, base64) = ("image/png".to_owned(), "AAAA".to_owned());
        rendered.attachments.push(Attachment::Image { media_type, base64 });
        rendered
    }

    fn message(carrier: &Carrier) -> TxJsonRpcMessage<RoleServer> {
        let CallToolResponse::Complete(result) = carrier.load(Payload::Response(response())) else {
            panic!("complete")
        };
        JsonRpcMessage::response(ServerResult::CallToolResult(result), NumberOrString::Number(1))
    }

    #[tokio::test]
    async fn r_res_3_every_carrier_produces_the_same_bytes_as_the_fast_path() {
        let expected = encode(&1, response(), ResultForm::Typed).unwrap();
        let expected = String::from_utf8(expected).unwrap();
        let written = |carrier: &Carrier| String::from_utf8(write(&mut message(carrier)).unwrap()).unwrap();
        assert_eq!(written(&Carrier::Message), expected);
        assert_eq!(written(&Carrier::Tree), expected);
        let slot = Slot::default();
        let by_sdk = written(&Carrier::Slot(slot.clone()));
        assert!(!by_sdk.contains("structuredContent"), "the SDK sees only the placeholder: {by_sdk}");
        let body = slot.restore(Body::from(by_sdk)).await.collect().await.unwrap().to_bytes();
        assert_eq!(std::str::from_utf8(&body).unwrap(), expected);
    }

    #[test]
    fn a_message_without_a_placeholder_is_unchanged() {
        let mut plain: TxJsonRpcMessage<RoleServer> = JsonRpcMessage::Response(JsonRpcResponse {
            jsonrpc: Default::default(),
            id: NumberOrString::Number(1),
            result: ServerResult::empty(()),
        });
        assert_eq!(write(&mut plain).unwrap(), serde_json::to_vec(&plain).unwrap());
        let slot = Slot::default();
        let CallToolResponse::Complete(_) = Carrier::Slot(slot.clone()).load(Payload::Response(response())) else {
            panic!("complete")
        };
        let other = Bytes::from_static(br#"{"result":{"structuredContent":{"a":1}}}"#);
        assert_eq!(slot.insert(other.clone()), other);
    }
}
