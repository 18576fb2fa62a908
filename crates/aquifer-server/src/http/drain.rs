//! Counts answers on their way out, to the last byte, so that stopping can wait for them.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body::{Frame, SizeHint};
use tokio::sync::Notify;

/// Calls under way at once. More are told to come back: each holds a request and an answer in memory.
pub(super) const MOST_CALLS: usize = 1024;

/// Streams at once that wait for news without a session.
pub(super) const MOST_LISTENERS: usize = 1024;

#[derive(Clone, Default)]
pub(super) struct InFlight(Arc<Inner>);

#[derive(Default)]
pub(super) struct Inner {
    calls: AtomicUsize,
    listeners: AtomicUsize,
    changed: Notify,
}

impl InFlight {
    /// Counts a request in, or says why there is no room for it. Streams that wait for news are no calls: those of sessions
    /// are no more than the sessions, the others are counted apart.
    pub(super) fn enter(&self, request: &Request) -> Result<Entry, &'static str> {
        let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
        // Only from this revision on does the SDK hold the header against the body; before, anybody could claim it.
        let listens = header("mcp-protocol-version").is_some_and(|version| version >= "2026-07-28")
            && header("mcp-method") == Some("subscriptions/listen");
        if request.method() != Method::POST {
            return Ok(Entry::Uncounted);
        }
        let (entry, count, most, why) = if listens {
            let entry = Entry::Listener(self.0.clone());
            (entry, &self.0.listeners, MOST_LISTENERS, "too many streams wait for news")
        } else {
            (Entry::Call(self.0.clone()), &self.0.calls, MOST_CALLS, "too many calls are under way")
        };
        if count.fetch_add(1, Ordering::SeqCst) < most { Ok(entry) } else { Err(why) }
    }

    /// Waits until no call is under way.
    pub(super) async fn idle(&self) {
        loop {
            let changed = self.0.changed.notified();
            if self.0.calls.load(Ordering::SeqCst) == 0 {
                return;
            }
            changed.await;
        }
    }
}

/// A request that is counted until this is dropped.
pub(super) enum Entry {
    Call(Arc<Inner>),
    Listener(Arc<Inner>),
    Uncounted,
}

impl Entry {
    /// The body of the answer: the request counts until it is sent or given up.
    pub(super) fn carry(self, body: Body) -> Body {
        match self {
            Self::Uncounted => body,
            counted => Body::new(Counted { body, _entry: counted }),
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        match self {
            Self::Call(inner) => {
                if inner.calls.fetch_sub(1, Ordering::SeqCst) == 1 {
                    inner.changed.notify_waiters();
                }
            }
            Self::Listener(inner) => {
                inner.listeners.fetch_sub(1, Ordering::SeqCst);
            }
            Self::Uncounted => {}
        }
    }
}

/// A body with the entry of its request.
struct Counted {
    body: Body,
    _entry: Entry,
}

impl HttpBody for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The answer to one too many.
pub(super) fn busy(why: &str, seconds: u8) -> Response {
    let words = format!("Service Unavailable: {why}. Repeat in {seconds} s\n");
    (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, seconds.to_string())], words).into_response()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn request(method: &str) -> Request {
        let request = Request::post("/mcp").header("mcp-protocol-version", "2026-07-28").header("mcp-method", method);
        request.body(Body::empty()).unwrap()
    }

    #[test]
    fn calls_and_listeners_are_bounded_apart() {
        let in_flight = InFlight::default();
        for (method, most) in [("subscriptions/listen", MOST_LISTENERS), ("tools/call", MOST_CALLS)] {
            let mut entries: Vec<Entry> = (0..most).map(|_| in_flight.enter(&request(method)).ok().unwrap()).collect();
            assert!(in_flight.enter(&request(method)).is_err(), "{method}");
            // One that leaves makes room for one, and one that was refused has taken none.
            drop(entries.pop());
            entries.push(in_flight.enter(&request(method)).ok().unwrap());
            assert!(in_flight.enter(&request(method)).is_err(), "{method}");
        }
    }
}
