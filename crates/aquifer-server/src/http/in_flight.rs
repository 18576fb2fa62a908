//! Counts running requests, to limit their number and to wait for them on shutdown.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Bytes;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use tokio::sync::Notify;

use super::connections::Connections;
use crate::memory_estimate::estimate_bytes;

/// The maximum number of running calls. Each holds a request and a response in memory, so further calls are told to
/// retry.
pub(super) const MAX_CALLS: usize = 1024;

/// The maximum number of open event streams without a session.
pub(super) const MAX_LISTENERS: usize = 1024;

#[derive(Clone)]
pub(super) struct InFlight(Arc<Inner>);

struct Inner {
    connections: Arc<Connections>,
    max_operations: usize,
    calls: AtomicUsize,
    listeners: AtomicUsize,
    changed: Notify,
}

impl InFlight {
    /// `max_operations` is the limit per batch.
    pub(super) fn new(connections: Arc<Connections>, max_operations: usize) -> Self {
        Self(Arc::new(Inner {
            connections,
            max_operations,
            calls: AtomicUsize::new(0),
            listeners: AtomicUsize::new(0),
            changed: Notify::new(),
        }))
    }

    /// Counts a request, or returns why there is no room for it. Event streams are not calls: those of sessions are
    /// counted with the sessions, the others separately.
    pub(super) fn enter(&self, request: &Parts, body: &Bytes) -> Result<Option<Entry>, &'static str> {
        if request.method != Method::POST {
            return Ok(None);
        }
        let kind = if is_listener(&request.headers) { Kind::Listener } else { Kind::Call };
        let (max, refusal) = match kind {
            Kind::Call => (MAX_CALLS, "too many calls are running"),
            Kind::Listener => (MAX_LISTENERS, "too many event streams are open"),
        };
        let before = self.0.count(kind).fetch_add(1, Ordering::SeqCst);
        // From here on, dropping this decrements the count.
        let counted = EntryInner { inner: self.0.clone(), kind, reserved: AtomicUsize::new(0) };
        if before >= max {
            return Err(refusal);
        }
        if kind == Kind::Call {
            let bytes = estimate_bytes(body, self.0.max_operations);
            let reserved = self.0.connections.reserve(bytes).ok_or("too many answers are waiting to be read")?;
            counted.reserved.store(reserved, Ordering::SeqCst);
        }
        Ok(Some(Entry(Arc::new(counted))))
    }

    /// Waits until no call is running.
    pub(super) async fn idle(&self) {
        loop {
            let changed = self.0.changed.notified();
            if self.calls() == 0 {
                return;
            }
            changed.await;
        }
    }

    /// The number of running calls.
    pub(super) fn calls(&self) -> usize {
        self.0.calls.load(Ordering::SeqCst)
    }
}

impl Inner {
    fn count(&self, kind: Kind) -> &AtomicUsize {
        match kind {
            Kind::Call => &self.calls,
            Kind::Listener => &self.listeners,
        }
    }
}

fn is_listener(headers: &HeaderMap) -> bool {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    // Since this revision, the SDK compares the header with the body. In earlier ones, any client could forge it.
    header("mcp-protocol-version").is_some_and(|version| version >= "2026-07-28")
        && header("mcp-method") == Some("subscriptions/listen")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Call,
    Listener,
}

/// A counted request. It counts until the last clone of this is dropped. Both the response's body and the call itself
/// hold one: a call can outlive its client's connection.
#[derive(Clone)]
pub(crate) struct Entry(Arc<EntryInner>);

struct EntryInner {
    inner: Arc<Inner>,
    kind: Kind,
    reserved: AtomicUsize,
}

impl Entry {
    /// Releases the reservation, because the response has arrived and is now counted itself.
    pub(super) fn settle(&self) {
        self.0.settle(usize::MAX);
    }

    /// Releases part of the reservation, because part of the response has arrived and is now counted itself.
    pub(super) fn settle_part(&self, bytes: usize) {
        self.0.settle(bytes);
    }
}

impl EntryInner {
    fn settle(&self, bytes: usize) {
        let less = |reserved: usize| Some(reserved.saturating_sub(bytes));
        let before = self.reserved.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).unwrap_or_default();
        self.inner.connections.unreserve(before.min(bytes));
    }
}

impl Drop for EntryInner {
    fn drop(&mut self) {
        self.settle(usize::MAX);
        let before = self.inner.count(self.kind).fetch_sub(1, Ordering::SeqCst);
        if self.kind == Kind::Call && before == 1 {
            self.inner.changed.notify_waiters();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::time::Duration;

    use axum::http::Request;

    use super::*;

    const KIB: usize = 1024;

    fn in_flight(max_bytes: usize) -> InFlight {
        InFlight::new(Connections::new(max_bytes, Duration::from_secs(30)), 100)
    }

    fn request(method: &str) -> Parts {
        let request = Request::post("/mcp").header("mcp-protocol-version", "2026-07-28").header("mcp-method", method);
        request.body(()).unwrap().into_parts().0
    }

    fn enter(in_flight: &InFlight, method: &str, body: &str) -> Result<Entry, &'static str> {
        in_flight.enter(&request(method), &Bytes::copy_from_slice(body.as_bytes())).map(Option::unwrap)
    }

    #[test]
    fn calls_and_listeners_have_separate_limits() {
        let in_flight = in_flight(256 * KIB * KIB);
        for (method, max) in [("subscriptions/listen", MAX_LISTENERS), ("tools/call", MAX_CALLS)] {
            let mut entries: Vec<Entry> = (0..max).map(|_| enter(&in_flight, method, "{}").unwrap()).collect();
            assert!(enter(&in_flight, method, "{}").is_err(), "{method}");
            // Each one that ends makes room for another, and a refused one takes no room.
            drop(entries.pop());
            entries.push(enter(&in_flight, method, "{}").unwrap());
            assert!(enter(&in_flight, method, "{}").is_err(), "{method}");
        }
    }

    #[test]
    fn large_batches_are_limited_by_their_estimated_responses() {
        let in_flight = in_flight(256 * KIB * KIB);
        let large = format!("[{}]", vec!["{}"; 200].join(","));
        let entries: Vec<Entry> = (0..1_000).map_while(|_| enter(&in_flight, "tools/call", &large).ok()).collect();
        assert!((10..30).contains(&entries.len()), "{} of the largest batches fit", entries.len());
        assert_eq!(in_flight.calls(), entries.len(), "one that was refused is not counted");
        entries.iter().for_each(Entry::settle);
        assert!(enter(&in_flight, "tools/call", &large).is_ok(), "their answers are there and counted themselves");
    }
}
