//! One request and its response, as JSON or as an event stream.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use aquifer_net::{BodyError, read_body};
use bytes::Bytes;
use reqwest::{Response, StatusCode};

use super::sse::EventParser;
use super::transport::{DISCONNECTED, HttpTransport, RequestInfo, SESSION, describe_error, has_media_type};
use crate::client::delivery::Delivery;
use crate::client::message::{self, IncomingMessage, Json};
use crate::client::pending_calls::CallOrigin;
use crate::client::shared_state::SharedState;
use crate::error::{Outage, RpcError, UpstreamError, is_inconclusive};

/// Maximum number of consecutive resumptions of a stream without a new event.
const MAX_FRUITLESS_RESUMPTIONS: u32 = 5;

/// The shortest wait before a stream is resumed, and the first wait if the server specifies none.
const MIN_RESUME_WAIT: Duration = Duration::from_millis(250);

/// The longest wait before a stream is resumed if the server specifies none.
const MAX_RESUME_WAIT: Duration = Duration::from_secs(10);

/// Maximum number of bytes read from an error response.
const MAX_ERROR_BODY: usize = 256 * 1024;

/// Maximum number of characters shown of an error response that is not JSON-RPC.
const MAX_ERROR_TEXT: usize = 300;

/// The messages in a response body.
#[derive(Default)]
struct BodyMessages {
    /// The JSON-RPC response to this request.
    outcome: Option<Result<Json, RpcError>>,
    /// An error without a request id. Servers send it if they fail before they have read the id.
    stray: Option<RpcError>,
    unreadable: Option<serde_json::Error>,
}

impl HttpTransport {
    /// Sends a request and waits for its response. Other messages on the same stream are dispatched.
    pub(crate) async fn exchange(
        &self,
        shared: &Arc<SharedState>,
        info: RequestInfo<'_>,
        body: Vec<u8>,
        delivery: &mut Delivery,
        call_origin: &Arc<CallOrigin>,
    ) -> Result<Json, UpstreamError> {
        let in_session = self.session.id().is_some();
        let response = self.post(body, Some(info), delivery).await?;
        if info.method == "initialize"
            && let Some(id) = response.headers().get(SESSION)
        {
            self.session.open(id);
        }
        let status = response.status();
        let is_stream = has_media_type(&response, "text/event-stream");
        if status.is_success() {
            if is_stream {
                return self.read_stream(response, shared, info.id, call_origin).await;
            }
            let body = self.read_body(response).await?;
            let messages = find_outcome(&body, false, shared, info.id, call_origin);
            return match (messages.outcome, messages.stray) {
                (Some(outcome), _) => outcome.map_err(UpstreamError::Refused),
                (None, Some(error)) => Err(UpstreamError::Refused(error)),
                (None, None) => {
                    Err(UpstreamError::InvalidResponse(format!("no answer in the body: {:?}", messages.unreadable)))
                }
            };
        }
        let is_text = ["text/plain", "application/json"].into_iter().any(|kind| has_media_type(&response, kind));
        let body = error_body(response).await;
        let messages = find_outcome(&body, is_stream, shared, info.id, call_origin);
        if let Some(outcome) = messages.outcome {
            return outcome.map_err(|error| refused(status, error));
        }
        if status == StatusCode::NOT_FOUND && in_session {
            self.session.lose();
            return Err(UpstreamError::SessionLost);
        }
        if is_inconclusive(status.as_u16()) {
            return Err(UpstreamError::ServerError { status: status.as_u16(), error: messages.stray });
        }
        let stray = messages.stray.filter(|error| !error.message.is_empty());
        Err(refused(status, stray.unwrap_or_else(|| plain_error(status, if is_text { &body } else { &[] }))))
    }

    async fn read_body(&self, response: Response) -> Result<Bytes, UpstreamError> {
        read_body(response, self.max_bytes).await.map_err(|error| match error {
            BodyError::TooLarge { size } => UpstreamError::TooLarge { size },
            BodyError::Interrupted(cause) => describe_error(cause),
        })
    }

    /// Reads a stream until the JSON-RPC response arrives. A stream that ends early is resumed after its last event,
    /// which requests the rest of the response and does not repeat the request. Servers may end a stream often to make
    /// the client poll; the caller's timeout bounds that.
    async fn read_stream(
        &self,
        mut response: Response,
        shared: &Arc<SharedState>,
        id: u64,
        call_origin: &Arc<CallOrigin>,
    ) -> Result<Json, UpstreamError> {
        let mut resumption = Resumption::default();
        loop {
            let mut events = EventParser::new(self.max_bytes);
            let mut result = None;
            let outcome = self
                .read_events(&mut response, &mut events, |event| {
                    let read = message::for_each_message(event, |message| {
                        if message.answered_id() == Some(id) {
                            result = Some(message.outcome(event));
                        } else {
                            shared.handle_message(event, &message, Some(call_origin));
                        }
                    });
                    log_unreadable(shared, read);
                    result.is_none()
                })
                .await;
            if let Some(result) = result {
                return result.map_err(UpstreamError::Refused);
            }
            if let Err(error @ UpstreamError::TooLarge { .. }) = outcome {
                return Err(error);
            }
            resumption.note(events);
            response = self.resume(&mut resumption).await?;
        }
    }

    /// Reopens a stream after its last event. Every error returned here means that the request was sent but not
    /// answered.
    async fn resume(&self, resumption: &mut Resumption) -> Result<Response, UpstreamError> {
        let disconnected = |cause: String| UpstreamError::Disconnected(Outage::new(DISCONNECTED, cause));
        let Some(after) = resumption.last_id.clone() else {
            return Err(disconnected("its stream ended without an answer".to_owned()));
        };
        while let Some(wait) = resumption.next_wait() {
            tokio::time::sleep(wait).await;
            match self.open_stream(Some(&after)).await {
                Ok(response) => return Ok(response),
                Err(refused @ UpstreamError::Refused(_)) => {
                    return Err(disconnected(format!("its stream cannot be resumed: {refused:?}")));
                }
                // The server or the network may be unavailable for a moment.
                Err(error) => tracing::debug!("a stream cannot be resumed now: {error:?}"),
            }
        }
        Err(disconnected("its stream ended repeatedly without an answer".to_owned()))
    }

    /// Calls `more` for every event until it returns false.
    pub(super) async fn read_events(
        &self,
        response: &mut Response,
        events: &mut EventParser,
        mut more: impl FnMut(&Bytes) -> bool,
    ) -> Result<(), UpstreamError> {
        let too_large = |size: super::sse::EventTooLarge| UpstreamError::TooLarge { size: size.0 };
        while let Some(chunk) = response.chunk().await.map_err(describe_error)? {
            events.push(&chunk).map_err(too_large)?;
            while let Some(event) = events.next().map_err(too_large)? {
                // An event may consist of only an id.
                if !event.is_empty() && !more(&event) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// Where and when to resume a stream.
#[derive(Default)]
struct Resumption {
    last_id: Option<String>,
    retry: Option<Duration>,
    /// Resumptions in total and since the last new event.
    count: u32,
    fruitless: u32,
}

impl Resumption {
    /// Records the last id and the reconnection time when a stream ends. Values that the stream did not send again stay
    /// in effect.
    fn note(&mut self, events: EventParser) {
        self.retry = events.retry.or(self.retry);
        if let Some(id) = events.last_id
            && self.last_id.as_ref() != Some(&id)
        {
            // An empty id resets the last one.
            self.last_id = Some(id).filter(|id| !id.is_empty());
            self.fruitless = 0;
        }
    }

    /// The wait before the next attempt. `None` after too many attempts.
    fn next_wait(&mut self) -> Option<Duration> {
        if self.fruitless >= MAX_FRUITLESS_RESUMPTIONS {
            return None;
        }
        let backoff = MIN_RESUME_WAIT.saturating_mul(1 << self.count.min(8)).min(MAX_RESUME_WAIT);
        self.count = self.count.saturating_add(1);
        self.fruitless += 1;
        Some(self.retry.map_or(backoff, |retry| retry.max(MIN_RESUME_WAIT)))
    }
}

fn refused(status: StatusCode, error: RpcError) -> UpstreamError {
    UpstreamError::Refused(RpcError { status: Some(status.as_u16()), ..error })
}

/// Builds an error from a response that is not JSON-RPC.
fn plain_error(status: StatusCode, text: &[u8]) -> RpcError {
    let text: String = String::from_utf8_lossy(text).trim().chars().take(MAX_ERROR_TEXT).collect();
    let status = status.as_u16();
    let message =
        if text.is_empty() { format!("HTTP status {status}") } else { format!("HTTP status {status}: {text}") };
    RpcError::new(i64::from(status), message)
}

/// The body of an error response. Empty if it cannot be read, so that the status decides.
async fn error_body(response: Response) -> Bytes {
    read_body(response, MAX_ERROR_BODY).await.unwrap_or_default()
}

/// Finds the JSON-RPC response to a request and dispatches all other messages.
fn find_outcome(
    body: &Bytes,
    is_stream: bool,
    shared: &Arc<SharedState>,
    id: u64,
    call_origin: &Arc<CallOrigin>,
) -> BodyMessages {
    let mut messages = BodyMessages::default();
    let mut scan = |text: &Bytes| {
        let read = message::for_each_message(text, |message: IncomingMessage<'_>| match message.answered_id() {
            Some(answered) if answered == id => messages.outcome = Some(message.outcome(text)),
            None if message.method.is_none() && message.error.is_some() => messages.stray = message.outcome(text).err(),
            _ => shared.handle_message(text, &message, Some(call_origin)),
        });
        messages.unreadable = read.err().or(messages.unreadable.take());
    };
    if !is_stream {
        scan(body);
        return messages;
    }
    let mut events = EventParser::new(body.len());
    if events.push(body).is_ok() {
        while let Ok(Some(event)) = events.next() {
            scan(&event);
        }
    }
    messages
}

pub(super) fn log_unreadable(shared: &SharedState, read: Result<(), serde_json::Error>) {
    if let Err(cause) = read {
        let cause = shared.sanitizer.for_log(&cause.to_string());
        let text = "the upstream sent an invalid message on its stream";
        match shared.has_logged_invalid.swap(true, Ordering::Relaxed) {
            false => tracing::warn!(source = &*shared.name, "{text}: {cause}"),
            true => tracing::debug!(source = &*shared.name, "{text}: {cause}"),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A parser after one stream has ended.
    fn ended(text: &str) -> EventParser {
        let mut events = EventParser::new(1_000);
        events.push(text.as_bytes()).unwrap();
        while events.next().unwrap().is_some() {}
        events
    }

    #[test]
    fn the_last_retry_time_of_the_server_applies() {
        let mut resumption = Resumption::default();
        for (stream, expected) in [
            ("id: 1\ndata:\n\n", 250),
            ("id: 2\ndata:\n\n", 500),
            ("id: 3\nretry: 700\ndata:\n\n", 700),
            ("id: 4\ndata:\n\n", 700),
            ("", 700),
            ("id: 5\nretry: 1\n\n", 250),
            ("id: 6\nretry: 45000\n\n", 45_000),
        ] {
            resumption.note(ended(stream));
            assert_eq!(resumption.next_wait(), Some(Duration::from_millis(expected)), "{stream:?}");
        }
        assert_eq!(resumption.last_id.as_deref(), Some("6"));
        resumption.note(ended("id\ndata: x\n\n"));
        assert_eq!(resumption.last_id, None);
    }

    #[test]
    fn only_streams_without_a_new_event_count_as_fruitless() {
        let mut resumption = Resumption::default();
        for id in 0..100 {
            resumption.note(ended(&format!("id: {id}\ndata:\n\n")));
            assert!(resumption.next_wait().is_some_and(|wait| wait <= MAX_RESUME_WAIT), "{id}");
        }
        let more = (0..100).take_while(|_| {
            resumption.note(ended("id: 99\ndata:\n\n"));
            resumption.next_wait().is_some()
        });
        assert_eq!(u32::try_from(more.count()).unwrap(), MAX_FRUITLESS_RESUMPTIONS - 1);
    }
}
