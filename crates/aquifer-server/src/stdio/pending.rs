//! Running requests of the client on a pair of pipes, and the bytes that wait to be read by it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::model::RequestId;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Requests under way at once for one client, and bytes of answers it has not read yet. What comes beyond is refused.
const MAX_CALLS: usize = 256;
const MAX_UNREAD: usize = 32 * 1024 * 1024;

/// Bytes of answers that wait to be read and that calls under way may still bring.
pub(super) const MAX_EXPECTED_BYTES: usize = 256 * 1024 * 1024;

/// An answer of this size is never discarded.
const SMALL_ANSWER: usize = 64 * 1024;

/// Messages at once, other than answers, that wait for the client to read.
const MAX_WAITING: usize = 256;

/// What was handed on and not answered yet.
pub(super) struct Pending {
    requests: Mutex<HashMap<RequestId, PendingId>>,
    calls: AtomicUsize,
    listening: AtomicUsize,
    /// Bytes that calls under way are expected to answer with.
    expected: AtomicUsize,
    unread: AtomicUsize,
    waiting: AtomicUsize,
    max_expected: usize,
    settled: Notify,
}

/// The requests under way of one id: how often it is under way, how many of those only wait for news and never end by
/// themselves, and what all of them are expected to answer with.
#[derive(Default)]
struct PendingId {
    count: usize,
    listening: usize,
    expected: usize,
}

impl Pending {
    pub(super) fn new(max_expected: usize) -> Self {
        Self {
            requests: Mutex::default(),
            calls: AtomicUsize::new(0),
            listening: AtomicUsize::new(0),
            expected: AtomicUsize::new(0),
            unread: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            max_expected,
            settled: Notify::new(),
        }
    }

    pub(super) fn begin(&self, id: &RequestId, listens: bool, expected: usize) {
        let listens = usize::from(listens);
        let mut requests = self.lock();
        let under_way = requests.entry(id.clone()).or_default();
        under_way.count += 1;
        under_way.listening += listens;
        under_way.expected += expected;
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.listening.fetch_add(listens, Ordering::SeqCst);
        self.expected.fetch_add(expected, Ordering::SeqCst);
    }

    /// The answer to a request is there: what was expected of it counts as itself from now on.
    pub(super) fn settle(&self, id: &RequestId) {
        if let Some(under_way) = self.lock().get_mut(id) {
            self.expected.fetch_sub(std::mem::take(&mut under_way.expected), Ordering::SeqCst);
        }
    }

    /// A request was answered, or will never be.
    pub(super) fn end(&self, id: &RequestId) {
        let mut requests = self.lock();
        let Some(under_way) = requests.get_mut(id) else { return };
        under_way.count -= 1;
        if under_way.listening > 0 {
            under_way.listening -= 1;
            self.listening.fetch_sub(1, Ordering::SeqCst);
        }
        if under_way.count == 0 {
            self.expected.fetch_sub(under_way.expected, Ordering::SeqCst);
            requests.remove(id);
        }
        drop(requests);
        self.calls.fetch_sub(1, Ordering::SeqCst);
        self.settled.notify_waiters();
    }

    /// Whether a request that may bring so many bytes is one too many. One alone never is.
    pub(super) fn is_full(&self, expected: usize) -> bool {
        let unread = self.unread.load(Ordering::SeqCst);
        let calls = self.calls.load(Ordering::SeqCst);
        let coming = self.expected.load(Ordering::SeqCst).saturating_add(expected);
        calls >= MAX_CALLS || unread > MAX_UNREAD || (calls > 0 && unread.saturating_add(coming) > self.max_expected)
    }

    /// Counts an answer that is written from now on. `false`: it is too large to be held beside the others.
    pub(super) fn hold(&self, bytes: usize) -> bool {
        let held = self.unread.fetch_add(bytes, Ordering::SeqCst) + bytes;
        let fits = bytes <= SMALL_ANSWER || held <= self.max_expected;
        if !fits {
            self.unread.fetch_sub(bytes, Ordering::SeqCst);
        }
        fits
    }

    /// Bytes that were counted have been written.
    pub(super) fn release(&self, bytes: usize) {
        self.unread.fetch_sub(bytes, Ordering::SeqCst);
    }

    /// A message other than an answer has been written.
    pub(super) fn release_other(&self, bytes: usize) {
        self.release(bytes);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
    }

    /// Counts a message other than an answer. `false`: too much waits already.
    pub(super) fn hold_other(&self, bytes: usize) -> bool {
        let fits = self.waiting.fetch_add(1, Ordering::SeqCst) < MAX_WAITING
            && self.unread.load(Ordering::SeqCst).saturating_add(bytes) <= MAX_UNREAD;
        if fits {
            self.unread.fetch_add(bytes, Ordering::SeqCst);
        } else {
            self.waiting.fetch_sub(1, Ordering::SeqCst);
        }
        fits
    }

    /// Bytes that wait to be read, and messages other than answers among them.
    #[cfg(test)]
    pub(super) fn held(&self) -> (usize, usize) {
        (self.unread.load(Ordering::SeqCst), self.waiting.load(Ordering::SeqCst))
    }

    /// Waits until everything is answered that will be, but not for ever.
    pub(super) async fn drained(&self, deadline: Instant) {
        let empty = async {
            loop {
                let settled = self.settled.notified();
                if self.calls.load(Ordering::SeqCst) <= self.listening.load(Ordering::SeqCst) {
                    return;
                }
                settled.await;
            }
        };
        if tokio::time::timeout_at(deadline, empty).await.is_err() {
            tracing::warn!("stopping while calls are still running");
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, PendingId>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::NumberOrString;

    use super::*;

    const MIB: usize = 1024 * 1024;

    #[test]
    fn calls_are_let_in_by_what_they_may_answer() {
        let pending = Pending::new(10 * MIB);
        let id = |number| NumberOrString::Number(number);
        assert!(!pending.is_full(100 * MIB), "one alone is never too many");
        for number in 0..5 {
            assert!(!pending.is_full(2 * MIB), "{number}");
            pending.begin(&id(number), false, 2 * MIB);
        }
        assert!(pending.is_full(1));
        pending.settle(&id(0));
        assert!(!pending.is_full(2 * MIB), "its answer is there and counts as itself");
        assert!(pending.hold(2 * MIB));
        assert!(pending.is_full(1));
        pending.release(2 * MIB);
        (0..5).for_each(|number| pending.end(&id(number)));
        assert!(!pending.is_full(10 * MIB));
    }
}
