//! Answers to messages that never reach the SDK, with the request id whenever it can be determined.
//!
//! A tool call that exceeds a limit gets a tool failure, because a model can correct it. Invalid JSON gets a JSON-RPC
//! error, because it is not MCP.

use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::limits::{LimitKind, Limits};
use aquifer_protocol::response::Response;
use aquifer_protocol::scan::{Problem, SalvagedMessage};
use rmcp::model::RequestId;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::payload::{self, ResultForm};

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
pub(crate) const SERVER_BUSY: i32 = -32000;

/// Replaces an answer that was discarded because the client does not read.
pub(crate) const DISCARDED: &str = "The request was carried out, but its answer was discarded: too many answers wait to \
                                    be read. Read answers before asking for more";

/// Room for the JSON-RPC frame around a request of the maximum size.
pub(crate) const MAX_FRAME_BYTES: usize = 16 * 1024;

/// The answer to a message with this problem. `None` for a notification, which expects no answer.
pub(crate) fn answer(problem: &Problem, salvaged: &SalvagedMessage, limits: &Limits) -> Option<Vec<u8>> {
    if salvaged.method.is_some() && !salvaged.has_id {
        return None;
    }
    let id = answer_id(salvaged);
    let failure = match problem {
        Problem::Syntax { offset, expected } => {
            let message = format!("Parse error: not valid JSON near byte {offset}, expected {expected}");
            return Some(error(id, PARSE_ERROR, &message, None));
        }
        other => Failure::from(other),
    };
    if salvaged.is_call() {
        return Some(refused_call(&id, failure, limits));
    }
    Some(error(id, INVALID_REQUEST, failure.message(), Some(json!({ "code": failure.code().as_str() }))))
}

/// The answer to valid JSON that is not a JSON-RPC message of MCP.
pub(crate) fn not_a_message(salvaged: &SalvagedMessage, is_batch: bool) -> Vec<u8> {
    let id = answer_id(salvaged);
    let message = if is_batch {
        "Invalid Request: JSON-RPC batches are not part of MCP. Send one message, or use 'operations' for a batch"
    } else {
        "Invalid Request: not a JSON-RPC 2.0 message of MCP"
    };
    error(id, INVALID_REQUEST, message, None)
}

/// The id to answer under. A message without a method is the client's answer to one of our requests: its id is ours,
/// and the client may have a request with the same id in flight.
fn answer_id(salvaged: &SalvagedMessage) -> Option<Box<RawValue>> {
    salvaged.method.as_ref()?;
    RawValue::from_string(salvaged.id.clone()?).ok()
}

/// The answer to a client that has too many requests in flight.
pub(crate) fn too_many(id: &RequestId, is_call: bool, limits: &Limits) -> Vec<u8> {
    let id = serde_json::value::to_raw_value(id).ok();
    let message = "Too many calls are running on this connection. Read their answers, then retry";
    if !is_call {
        return error(id, SERVER_BUSY, message, None);
    }
    refused_call(&id, Failure::new(Code::RateLimitExceeded, message), limits)
}

/// Replaces an answer that was discarded because the client does not read.
pub(crate) fn discarded(id: &RequestId, is_call: bool, limits: &Limits) -> Vec<u8> {
    let id = serde_json::value::to_raw_value(id).ok();
    if !is_call {
        return error(id, SERVER_BUSY, DISCARDED, None);
    }
    refused_call(&id, Failure::new(Code::ValidationPayloadTooLarge, DISCARDED), limits)
}

/// The problem of a message that exceeds the size limit.
pub(crate) fn oversized(bytes: usize, limits: &Limits) -> Problem {
    Problem::TooLarge { limit: LimitKind::RequestSize, limit_value: limits.max_request_size, actual_value: bytes }
}

/// A failure as the result of a tool call. The client's revision is unknown here, so the result includes `resultType`.
fn refused_call(id: &Option<Box<RawValue>>, failure: Failure, limits: &Limits) -> Vec<u8> {
    payload::encode(id, Response::Failure(failure).render(limits), ResultForm::Typed).unwrap_or_default()
}

fn error(id: Option<Box<RawValue>>, code: i32, message: &str, data: Option<Value>) -> Vec<u8> {
    let mut error = json!({ "code": code, "message": message });
    if let (Some(error), Some(data)) = (error.as_object_mut(), data) {
        error.insert("data".to_owned(), data);
    }
    let id = id.as_ref().map_or("null", |id| id.get());
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}").into_bytes()
}
