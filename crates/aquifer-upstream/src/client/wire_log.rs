//! Records the messages of a call without the secrets of its upstream, for a person who follows the call.

use std::borrow::Cow;

use aquifer_engine::trace::{Channel, Step, Trace};

use super::connection::Connection;
use super::message::Json;
use super::shared_state::Outbound;
use crate::error::UpstreamError;
use crate::sanitize::Sanitizer;

/// Records a request as it is sent.
pub(super) fn record_request(trace: &Trace, connection: &Connection, method: &str, message: &[u8]) {
    trace.record(Step::Sent, Channel::Mcp, || {
        let transport = match connection.shared.outbound.get() {
            Some(Outbound::Http(_)) => "HTTP",
            _ => "stdio",
        };
        let head = format!("{method} to {} over {transport}", connection.shared.name);
        let message = String::from_utf8_lossy(message).into_owned();
        (head, Cow::Owned(connection.shared.sanitizer.without_secrets(message)))
    });
}

/// Records the result of a response, or why there is none.
pub(super) fn record_response(trace: &Trace, sanitizer: &Sanitizer, response: &Result<Json, UpstreamError>) {
    trace.record(Step::Returned, Channel::Mcp, || {
        let (head, text) = match response {
            Ok(result) => ("result", result.text().to_owned()),
            Err(error) => ("error", format!("{error:?}")),
        };
        (head.to_owned(), Cow::Owned(sanitizer.without_secrets(text)))
    });
}
