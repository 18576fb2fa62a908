//! The server's notification stream, and the end of the session.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT, HeaderName, HeaderValue};
use reqwest::{Response, StatusCode};
use tokio::time::Instant;

use super::exchange::log_unreadable;
use super::sse::EventParser;
use super::transport::HttpTransport;
use super::transport::{describe_error, has_media_type};
use crate::client::message;
use crate::client::shared_state::SharedState;
use crate::error::{RpcError, UpstreamError};

/// The first and the longest wait before a stream is reopened.
const REOPEN_DELAY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// The shortest wait that a server can request.
const MIN_REOPEN_WAIT: Duration = Duration::from_millis(250);

const END_SESSION_TIMEOUT: Duration = Duration::from_secs(1);

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

impl HttpTransport {
    /// Opens a stream that continues after the given event, if any.
    pub(super) async fn open_stream(&self, after: Option<&str>) -> Result<Response, UpstreamError> {
        let token = self.current_token().await;
        let request = self.client.get((*self.endpoint()).clone());
        let mut request = self.with_headers(request, token.as_deref()).header(ACCEPT, "text/event-stream");
        // As bytes, because an id may contain non-ASCII characters.
        if let Some(after) = after.and_then(|after| HeaderValue::from_bytes(after.as_bytes()).ok()) {
            request = request.header(LAST_EVENT_ID, after);
        }
        let response = request.send().await.map_err(describe_error)?;
        let status = response.status();
        if status.is_success() && has_media_type(&response, "text/event-stream") {
            return Ok(response);
        }
        if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
            return Err(UpstreamError::ServerError { status: status.as_u16(), error: None });
        }
        Err(UpstreamError::Refused(RpcError::new(i64::from(status.as_u16()), "it offers no stream")))
    }

    /// Receives notifications as long as the connection lasts. A server may not offer this stream (usually status 405).
    /// If the stream ends or is refused, the session stays valid.
    pub(crate) async fn follow_notifications(self: Arc<Self>, shared: Arc<SharedState>) {
        let (mut pause, max_pause) = REOPEN_DELAY;
        let mut after: Option<String> = None;
        let mut retry = None;
        let mut was_open = false;
        loop {
            let opened_at = Instant::now();
            let mut brought_events = false;
            match self.open_stream(after.as_deref()).await {
                Ok(mut response) => {
                    was_open = true;
                    let mut events = EventParser::new(self.max_bytes);
                    let read = self.read_events(&mut response, &mut events, |event| {
                        log_unreadable(
                            &shared,
                            message::for_each_message(event, |message| shared.handle_message(event, &message, None)),
                        );
                        true
                    });
                    if matches!(read.await, Err(UpstreamError::TooLarge { .. })) {
                        return;
                    }
                    brought_events = events.last_id.is_some();
                    after = events.last_id.or(after).filter(|id| !id.is_empty());
                    retry = events.retry.or(retry);
                }
                Err(UpstreamError::Refused(_)) => return,
                // The server has offered the stream before, so the failure may be temporary.
                Err(_) if was_open => {}
                Err(_) => return,
            }
            let is_polled = brought_events && retry.is_some();
            pause = if is_polled || opened_at.elapsed() > pause { REOPEN_DELAY.0 } else { (pause * 2).min(max_pause) };
            tokio::time::sleep(reopen_wait(retry, brought_events, pause)).await;
        }
    }

    /// Ends the session with a DELETE request. Called once, when the connection is dropped, and never for a session
    /// that the server has lost.
    pub(crate) async fn end_session(&self) {
        if self.session.end() {
            let token = self.tokens.as_ref().and_then(|tokens| tokens.last());
            let request = self.client.delete((*self.endpoint()).clone());
            let ending = self.with_headers(request, token.as_deref()).send();
            let _ = tokio::time::timeout(END_SESSION_TIMEOUT, ending).await;
        }
    }
}

/// The wait before a stream is reopened. Servers that make clients poll specify an interval. Streams without events are
/// reopened less often.
fn reopen_wait(retry: Option<Duration>, brought_events: bool, pause: Duration) -> Duration {
    match retry {
        Some(retry) if brought_events => retry.max(MIN_REOPEN_WAIT),
        Some(retry) => retry.max(pause),
        None => pause,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_reopened_at_the_time_the_server_asks_for() {
        for (retry, brought_events, pause, expected) in [
            (None, false, 1_000, 1_000),
            (None, true, 8_000, 8_000),
            (Some(500), true, 8_000, 500),
            (Some(500), false, 8_000, 8_000),
            (Some(20_000), false, 8_000, 20_000),
            (Some(20_000), true, 1_000, 20_000),
            (Some(0), true, 1_000, 250),
        ] {
            let wait = reopen_wait(retry.map(Duration::from_millis), brought_events, Duration::from_millis(pause));
            assert_eq!(wait, Duration::from_millis(expected), "{retry:?} {brought_events} {pause}");
        }
    }
}
