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
const MOST_CALLS: usize = 1024;

#[derive(Clone, Default)]
pub(super) struct InFlight(Arc<Inner>);

#[derive(Default)]
struct Inner {
    count: AtomicUsize,
    changed: Notify,
}

impl InFlight {
    /// Counts a call in; none if there are too many. Streams that wait for news are not counted, in either of their two
    /// forms.
    pub(super) fn enter(&self, request: &Request) -> Option<Entry> {
        let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
        // Only from this revision on does the SDK hold the header against the body; before, anybody could claim it.
        let listens = header("mcp-protocol-version").is_some_and(|version| version >= "2026-07-28")
            && header("mcp-method") == Some("subscriptions/listen");
        if request.method() != Method::POST || listens {
            return Some(Entry(None));
        }
        self.0.count.fetch_add(1, Ordering::SeqCst);
        let entry = Entry(Some(self.clone()));
        (self.count() <= MOST_CALLS).then_some(entry)
    }

    fn count(&self) -> usize {
        self.0.count.load(Ordering::SeqCst)
    }

    /// Waits until nothing is under way.
    pub(super) async fn idle(&self) {
        loop {
            let changed = self.0.changed.notified();
            if self.count() == 0 {
                return;
            }
            changed.await;
        }
    }
}

/// A call that is counted until this is dropped.
pub(super) struct Entry(Option<InFlight>);

impl Entry {
    /// The body of the call's answer, which counts as under way until it is sent or given up.
    pub(super) fn carry(self, body: Body) -> Body {
        if self.0.is_none() { body } else { Body::new(Counted { body, _entry: self }) }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let Some(InFlight(inner)) = &self.0 else { return };
        if inner.count.fetch_sub(1, Ordering::SeqCst) == 1 {
            inner.changed.notify_waiters();
        }
    }
}

/// A body with the entry of its call.
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
pub(super) fn busy(why: &str) -> Response {
    let words = format!("Service Unavailable: {why}. Repeat in a moment\n");
    (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "1")], words).into_response()
}
