//! Carries a payload past the SDK.
//!
//! The SDK takes `structuredContent` as a tree of values, so the text of a response would have to be parsed only to be
//! written again, which is half the cost of a list of rows. Instead, the SDK gets a placeholder, and the code that sends
//! the SDK's message on replaces the placeholder by the encoded payload.
//!
//! Nothing else in a message can be mistaken for the placeholder: it is random and never leaves this process.

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

/// How the SDK carries a payload from the handler to the code that sends the message.
#[derive(Debug, Clone)]
pub(crate) enum Carrier {
    /// Inside the message. Our own transport takes it out again and encodes it: pipes.
    Message,
    /// Beside the message, in a slot that travels with the request. The endpoint inserts it into the body that the SDK
    /// has written: HTTP without a session.
    Slot(Slot),
    /// As a result in the SDK's own form, which the SDK stores in order to send it again: HTTP sessions.
    Tree,
}

/// Where the payload of a request over HTTP waits for the body of the response.
#[derive(Debug, Clone, Default)]
pub(crate) struct Slot(Arc<OnceLock<Envelope>>);

impl Carrier {
    /// The carrier that the HTTP endpoint chose for a request.
    pub(crate) fn from_http(context: &RequestContext<RoleServer>) -> Option<&Self> {
        context.extensions.get::<axum::http::request::Parts>()?.extensions.get()
    }

    /// The result that the SDK is given for a payload.
    pub(crate) fn load(&self, payload: Payload) -> CallToolResponse {
        let response = match payload {
            Payload::Response(response) => response,
            Payload::InputRequired(question) => return question.into(),
        };
        match self {
            Carrier::Tree => tree(response).into(),
            Carrier::Message => in_message(response.into()).into(),
            Carrier::Slot(Slot(slot)) => {
                // There is one answer to a request.
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
    // The constructor fills in what newer revisions want; the data goes in once, as it is.
    let mut result = CallToolResult::success(content);
    result.structured_content = Some(structured);
    result.is_error = Some(response.is_error);
    result
}

/// A result that holds an envelope. The mark instead of `structuredContent` says so.
fn in_message(envelope: Envelope) -> CallToolResult {
    let mut content = Vec::with_capacity(1 + envelope.blocks.len());
    content.push(ContentBlock::text(envelope.text));
    content.extend(envelope.blocks);
    let mut result = CallToolResult::success(content);
    result.structured_content = Some(MARK.as_str().into());
    result.is_error = Some(envelope.is_error);
    result
}

/// Takes the envelope out of a message that holds one, and leaves the placeholder.
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

/// A message of the SDK as bytes, with the payload it carries.
pub(crate) fn write(message: &mut TxJsonRpcMessage<RoleServer>) -> serde_json::Result<Vec<u8>> {
    let envelope = take_envelope(message);
    let bytes = serde_json::to_vec(message)?;
    Ok(envelope.and_then(|envelope| splice(&envelope, &bytes)).unwrap_or(bytes))
}

impl Slot {
    /// The body that the SDK has written, with the payload. Each message is in one frame.
    pub(crate) async fn restore(self, body: Body) -> Body {
        if body.size_hint().exact().is_none() {
            return Body::new(body.map_frame(move |frame| frame.map_data(|data| self.insert(data))));
        }
        // It is here already, and its length is to be told.
        match body.collect().await {
            Ok(whole) => self.insert(whole.to_bytes()).into(),
            Err(cause) => {
                tracing::error!(%cause, "an answer was lost");
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
    let mut whole = Vec::with_capacity(message.len() + envelope.expected_bytes());
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
    use crate::fast_path::payload::{ResultForm, encode};

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
    async fn r_res_3_every_carrier_brings_the_bytes_of_the_fast_path() {
        let expected = encode(&1, response(), ResultForm::Typed).unwrap();
        let expected = String::from_utf8(expected).unwrap();
        let written = |carrier: &Carrier| String::from_utf8(write(&mut message(carrier)).unwrap()).unwrap();
        assert_eq!(written(&Carrier::Message), expected);
        assert_eq!(written(&Carrier::Tree), expected);
        let slot = Slot::default();
        let by_sdk = written(&Carrier::Slot(slot.clone()));
        assert!(!by_sdk.contains("structuredContent"), "the SDK sees the placeholder only: {by_sdk}");
        let body = slot.restore(Body::from(by_sdk)).await.collect().await.unwrap().to_bytes();
        assert_eq!(std::str::from_utf8(&body).unwrap(), expected);
    }

    #[test]
    fn what_has_no_placeholder_stays_as_it_is() {
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
