//! The answer to a tool call.
//!
//! The handler returns a [`Payload`]. For a direct call, [`encode`] writes the message with the JSON text of the response
//! as it is. For a call through the SDK, the payload becomes the SDK's result, whose `structuredContent` is a tree of
//! values: parsing the text into it and serializing it again takes half of the time of returning a list of rows. The
//! messages are the same byte for byte, unless a source writes numbers in a form of its own or adds blanks.

use aquifer_protocol::response::{Attachment, RenderedResponse};
use rmcp::model::{
    CallToolResponse, CallToolResult, ContentBlock, InputRequiredResult, JsonRpcMessage, RequestId, Resource,
    ServerResult,
};
use rmcp::service::TxJsonRpcMessage;
use rmcp::{ErrorData, RoleServer};
use serde::Serialize;

/// The answer to a tool call.
#[derive(Debug)]
pub(crate) enum Payload {
    /// A response of the engine.
    Response(RenderedResponse),
    /// A question for a person. The client repeats the call with the answer. It has a format of its own and is encoded
    /// by the SDK's serializer, not by [`Envelope`].
    InputRequired(InputRequiredResult),
}

impl From<Payload> for CallToolResponse {
    fn from(payload: Payload) -> Self {
        match payload {
            Payload::Response(response) => sdk_result(response).into(),
            Payload::InputRequired(question) => question.into(),
        }
    }
}

/// The format of a result, which depends on the MCP revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultForm {
    /// With `resultType`, from revision 2026-07-28 on. Older clients ignore it.
    Typed,
    /// Without `resultType`, for earlier revisions.
    Untyped,
}

/// The answer to a direct call, ready to be encoded.
#[derive(Debug)]
pub(crate) struct CallAnswer {
    pub(crate) id: RequestId,
    pub(crate) result: Result<Payload, ErrorData>,
    pub(crate) form: ResultForm,
}

impl CallAnswer {
    /// Whether it is a complete result of a tool, rather than a question or an error.
    pub(crate) fn is_complete(&self) -> bool {
        matches!(self.result, Ok(Payload::Response(_)))
    }

    /// The whole message.
    pub(crate) fn encode(self) -> serde_json::Result<Vec<u8>> {
        let Self { id, result, form } = self;
        let message: TxJsonRpcMessage<RoleServer> = match result {
            Ok(Payload::Response(rendered)) => return encode(&id, rendered, form),
            Ok(Payload::InputRequired(question)) => {
                JsonRpcMessage::response(ServerResult::InputRequiredResult(question), id)
            }
            Err(error) => JsonRpcMessage::error(error, Some(id)),
        };
        serde_json::to_vec(&message)
    }
}

/// Encodes the message that answers a call with a response.
pub(crate) fn encode(id: &impl Serialize, response: RenderedResponse, form: ResultForm) -> serde_json::Result<Vec<u8>> {
    let envelope = Envelope::from(response);
    let mut message = Vec::with_capacity(envelope.estimated_bytes());
    message.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    serde_json::to_writer(&mut message, id)?;
    message.extend_from_slice(match form {
        ResultForm::Typed => b",\"result\":{\"resultType\":\"complete\",\"content\":",
        ResultForm::Untyped => b",\"result\":{\"content\":",
    });
    envelope.encode(&mut message)?;
    message.extend_from_slice(b"}}");
    Ok(message)
}

/// A response as the result type of the SDK.
fn sdk_result(mut response: RenderedResponse) -> CallToolResult {
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

/// A response formatted as an MCP result. Its text appears twice: as the first content block and as `structuredContent`
/// (R-RES-3). Further blocks follow the first.
#[derive(Debug)]
struct Envelope {
    text: String,
    blocks: Vec<ContentBlock>,
    is_error: bool,
}

impl From<RenderedResponse> for Envelope {
    fn from(rendered: RenderedResponse) -> Self {
        let blocks = rendered.attachments.into_iter().map(block).collect();
        Self { text: rendered.text, blocks, is_error: rendered.is_error }
    }
}

impl Envelope {
    /// The approximate size of a message with this envelope, without attachments.
    fn estimated_bytes(&self) -> usize {
        256 + self.text.len() * 2 + self.text.len() / 4
    }

    /// Writes the value of `content`, followed by the fields `structuredContent` and `isError`.
    fn encode(&self, out: &mut Vec<u8>) -> serde_json::Result<()> {
        out.extend_from_slice(b"[{\"type\":\"text\",\"text\":");
        quote(&self.text, out);
        out.push(b'}');
        for block in &self.blocks {
            out.push(b',');
            serde_json::to_writer(&mut *out, block)?;
        }
        out.extend_from_slice(b"],\"structuredContent\":");
        let start = out.len();
        out.extend_from_slice(self.text.as_bytes());
        // A message must be a single line. Raw line breaks in JSON text are always whitespace between tokens, so a
        // space can replace them.
        if memchr::memchr2(b'\n', b'\r', self.text.as_bytes()).is_some() {
            for byte in out.iter_mut().skip(start).filter(|byte| matches!(byte, b'\n' | b'\r')) {
                *byte = b' ';
            }
        }
        out.extend_from_slice(if self.is_error { b",\"isError\":true" } else { b",\"isError\":false" });
        Ok(())
    }
}

fn block(attachment: Attachment) -> ContentBlock {
    match attachment {
        Attachment::Image { media_type, base64 } => ContentBlock::image(base64, media_type),
        Attachment::Audio { media_type, base64 } => ContentBlock::audio(base64, media_type),
        Attachment::Link { uri, name } => ContentBlock::resource_link(Resource::new(uri, name)),
        // A block type unknown to the SDK is passed on as text.
        Attachment::Verbatim(json) => serde_json::from_str(&json).unwrap_or_else(|_| ContentBlock::text(json)),
    }
}

/// Writes text as a JSON string. The text is JSON itself, so quotes are the most frequent characters to escape.
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
    use aquifer_protocol::error::{Code, Failure};
    use aquifer_protocol::limits::Limits;
    use aquifer_protocol::response::Response;
    use rmcp::model::NumberOrString;
    use serde_json::Value;

    use super::*;

    /// The message that the SDK writes with the same response. It removes `resultType` for older clients.
    fn by_sdk(id: RequestId, response: RenderedResponse, form: ResultForm) -> Vec<u8> {
        let mut result = sdk_result(response);
        if form == ResultForm::Untyped {
            result.result_type = None;
        }
        let message: TxJsonRpcMessage<RoleServer> = JsonRpcMessage::response(ServerResult::CallToolResult(result), id);
        serde_json::to_vec(&message).unwrap()
    }

    #[test]
    fn r_res_3_messages_equal_those_of_the_sdk_byte_for_byte() {
        let limits = Limits::default();
        let refused =
            || Response::Failure(Failure::new(Code::NotFoundOperation, "There is no \"x\"\n")).render(&limits);
        let broken = || Response::Failure(Failure::internal("a cause")).render(&limits);
        let with_picture = || {
            let mut rendered = refused();
            let (media_type, base64) = ("image/png".to_owned(), "AAAA".to_owned());
            rendered.attachments.push(Attachment::Image { media_type, base64 });
            rendered.attachments.push(Attachment::Link { uri: "x://y".to_owned(), name: "y".to_owned() });
            rendered
        };
        for id in [NumberOrString::Number(-7), NumberOrString::String("a\"b".into())] {
            for form in [ResultForm::Typed, ResultForm::Untyped] {
                for response in [&refused as &dyn Fn() -> RenderedResponse, &broken, &with_picture] {
                    let own = encode(&id, response(), form).unwrap();
                    let sdk = by_sdk(id.clone(), response(), form);
                    assert_eq!(String::from_utf8(own).unwrap(), String::from_utf8(sdk).unwrap());
                }
            }
        }
    }

    #[test]
    fn r_res_3_a_message_is_one_line_and_contains_the_text_twice() {
        for text in [
            r#"{"success":true,"data":{"name":"ü\"\\"}}"#,
            r#"{"data":"\"structuredContent\":\"x\""}"#,
            r#"{"text":"x","structuredContent":"x"}"#,
            "{\"a\":\n[1,\r\n\t2]}",
        ] {
            let envelope =
                Envelope { text: text.to_owned(), blocks: vec![ContentBlock::text("more")], is_error: false };
            let mut bytes = b"{\"content\":".to_vec();
            envelope.encode(&mut bytes).unwrap();
            bytes.push(b'}');
            assert!(!bytes.contains(&b'\n') && !bytes.contains(&b'\r'), "messages are lines");
            let result: Value = serde_json::from_slice(&bytes).unwrap();
            assert_eq!(result["content"][0]["text"], text);
            assert_eq!(result["content"][1]["text"], "more");
            assert_eq!(result["structuredContent"], serde_json::from_str::<Value>(text).unwrap());
        }
    }

    #[test]
    fn quoted_text_parses_back_to_the_same_text() {
        let text: String = (0..=0x2FF).chain([0x2028, 0x1F600]).filter_map(char::from_u32).collect();
        let mut quoted = Vec::new();
        quote(&text, &mut quoted);
        assert_eq!(serde_json::from_slice::<String>(&quoted).unwrap(), text);
    }
}
