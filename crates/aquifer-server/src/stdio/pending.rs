//! Tracks the requests that are running on stdio, and the answers that the client has not read yet.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};
use rmcp::model::RequestId;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Maximum number of requests running at the same time. Further requests are refused.
const MAX_CALLS: usize = 256;

/// Maximum size of the answers that the client has not read yet. Above it, further requests are refused.
const MAX_UNREAD: usize = 32 * 1024 * 1024;

/// Maximum total size of the unread answers and the expected answers of running calls.
pub(super) const MAX_EXPECTED_BYTES: usize = 256 * 1024 * 1024;

/// Answers up to this size are never discarded.
const SMALL_ANSWER: usize = 64 * 1024;

/// Maximum number of messages other than answers that wait to be written.
const MAX_WAITING: usize = 256;

/// The requests that have not been answered yet.
pub(super) struct Pending {
    requests: Mutex<HashMap<RequestId, PendingId>>,
    calls: AtomicUsize,
    listening: AtomicUsize,
    /// The expected size of the answers to running calls.
    expected: AtomicUsize,
    unread: AtomicUsize,
    waiting: AtomicUsize,
    max_expected: usize,
    settled: Notify,
}

/// The running requests with the same id.
#[derive(Default)]
struct PendingId {
    count: usize,
    /// How many of them only listen for notifications and never end on their own.
    listening: usize,
    /// The expected size of all their answers.
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

    /// Records that the answer to a request has arrived: from now on its actual size counts, not the expected one.
    pub(super) fn settle(&self, id: &RequestId) {
        if let Some(under_way) = self.lock().get_mut(id) {
            self.expected.fetch_sub(std::mem::take(&mut under_way.expected), Ordering::SeqCst);
        }
    }

    /// Records that a request was answered or will never be.
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

    /// Whether a request whose answer may take `expected` bytes has to be refused. A request that would run alone is
    /// refused only if too much is unread.
    pub(super) fn is_full(&self, expected: usize) -> bool {
        let unread = self.unread.load(Ordering::SeqCst);
        let calls = self.calls.load(Ordering::SeqCst);
        let coming = self.expected.load(Ordering::SeqCst).saturating_add(expected);
        calls >= MAX_CALLS || unread > MAX_UNREAD || (calls > 0 && unread.saturating_add(coming) > self.max_expected)
    }

    /// Counts an answer that is about to be written. Returns `false` if it is too large to hold in addition to the
    /// others.
    pub(super) fn hold(&self, bytes: usize) -> bool {
        let held = self.unread.fetch_add(bytes, Ordering::SeqCst) + bytes;
        let fits = bytes <= SMALL_ANSWER || held <= self.max_expected;
        if !fits {
            self.unread.fetch_sub(bytes, Ordering::SeqCst);
        }
        fits
    }

    /// Uncounts bytes that have been written.
    pub(super) fn release(&self, bytes: usize) {
        self.unread.fetch_sub(bytes, Ordering::SeqCst);
    }

    /// Uncounts a message other than an answer that has been written.
    pub(super) fn release_other(&self, bytes: usize) {
        self.release(bytes);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
    }

    /// Counts a message other than an answer. Returns `false` if too much is already waiting.
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

    /// The number of unread bytes, and the number of waiting messages other than answers.
    #[cfg(test)]
    pub(super) fn held(&self) -> (usize, usize) {
        (self.unread.load(Ordering::SeqCst), self.waiting.load(Ordering::SeqCst))
    }

    /// Waits until every request that will be answered has been answered. Returns `false` if that takes longer than the
    /// deadline.
    pub(super) async fn drained(&self, deadline: Instant) -> bool {
        let empty = async {
            loop {
                let settled = self.settled.notified();
                if self.calls.load(Ordering::SeqCst) <= self.listening.load(Ordering::SeqCst) {
                    return;
                }
                settled.await;
            }
        };
        tokio::time::timeout_at(deadline, empty).await.is_ok()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, PendingId>> {
        self.requests.lock()
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::NumberOrString;

    use super::*;

    const MIB: usize = 1024 * 1024;

    #[test]
    fn calls_are_admitted_by_the_estimated_size_of_their_answers() {
        let pending = Pending::new(10 * MIB);
        let id = |number| NumberOrString::Number(number);
        assert!(!pending.is_full(100 * MIB), "a single call is always admitted");
        for number in 0..5 {
            assert!(!pending.is_full(2 * MIB), "{number}");
            pending.begin(&id(number), false, 2 * MIB);
        }
        assert!(pending.is_full(1));
        pending.settle(&id(0));
        assert!(!pending.is_full(2 * MIB), "the expected size of an answer that has arrived no longer counts");
        assert!(pending.hold(2 * MIB));
        assert!(pending.is_full(1));
        pending.release(2 * MIB);
        (0..5).for_each(|number| pending.end(&id(number)));
        assert!(!pending.is_full(10 * MIB));
    }
}
