//! Counts answers on their way out, to the last byte, so that stopping can wait for them.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body::{Frame, SizeHint};
use tokio::sync::Notify;

#[derive(Clone, Default)]
pub(super) struct InFlight(Arc<Inner>);

#[derive(Default)]
struct Inner {
    count: AtomicUsize,
    changed: Notify,
}

impl InFlight {
    fn enter(&self) -> Entry {
        self.0.count.fetch_add(1, Ordering::SeqCst);
        Entry(self.clone())
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

struct Entry(InFlight);

impl Drop for Entry {
    fn drop(&mut self) {
        let inner = &self.0.0;
        if inner.count.fetch_sub(1, Ordering::SeqCst) == 1 {
            inner.changed.notify_waiters();
        }
    }
}

/// A body that counts as under way until it is sent or given up.
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

/// Calls under way at once. More are told to come back: each holds a request and an answer in memory.
const MOST_CALLS: usize = 1024;

/// Calls are counted; streams that wait for news are not, in either of their two forms.
pub(super) async fn count(State(in_flight): State<InFlight>, request: Request, next: Next) -> Response {
    let listens = request.headers().get("mcp-method").is_some_and(|method| method == "subscriptions/listen");
    if request.method() != Method::POST || listens {
        return next.run(request).await;
    }
    let entry = in_flight.enter();
    if in_flight.count() > MOST_CALLS {
        let busy = "Service Unavailable: too many calls under way. Repeat in a moment\n";
        return (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "1")], busy).into_response();
    }
    next.run(request).await.map(|body| Body::new(Counted { body, _entry: entry }))
}
