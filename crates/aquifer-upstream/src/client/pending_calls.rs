//! The pending calls of one connection: the waiter for each response, and the client behind each call.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use aquifer_engine::source::{ClientSide, Progress};
use aquifer_engine::trace::Trace;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::message::Json;
use crate::error::{Outage, UpstreamError};

/// A call that reports progress may take up to this many times its timeout.
const MAX_TIMEOUT_FACTOR: u32 = 10;

/// Maximum number of questions to a person or a model during one call. People who are asked too often stop reading.
const MAX_QUESTIONS: usize = 32;

/// The client behind a call, and the last activity of the call.
#[derive(Debug)]
pub(crate) struct CallOrigin {
    pub(crate) progress: Progress,
    pub(crate) client: Option<Arc<dyn ClientSide>>,
    /// The caller's session, which distinguishes clients.
    pub(crate) session: Option<Arc<str>>,
    /// Records what is sent and returned, if somebody follows the call.
    pub(crate) trace: Trace,
    started_at: Instant,
    /// In milliseconds after `started_at`.
    last_activity_ms: AtomicU64,
    open_questions: AtomicUsize,
    /// Questions asked so far.
    question_count: AtomicUsize,
}

impl CallOrigin {
    pub(crate) fn new(progress: Progress, client: Option<Arc<dyn ClientSide>>, session: Option<Arc<str>>) -> Self {
        let (started_at, last_activity_ms) = (Instant::now(), AtomicU64::new(0));
        let (open_questions, question_count) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let trace = Trace::default();
        Self { progress, client, session, trace, started_at, last_activity_ms, open_questions, question_count }
    }

    /// The same call with a trace that records its messages.
    pub(crate) fn with_trace(self, trace: Trace) -> Self {
        Self { trace, ..self }
    }

    /// A call made by us, without a client.
    pub(crate) fn internal() -> Self {
        Self::new(Progress::silent(), None, None)
    }

    /// Records that the upstream is still working on the call.
    pub(crate) fn record_activity(&self) {
        let after = u64::try_from(self.started_at.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_activity_ms.store(after, Ordering::Relaxed);
    }

    /// Counts one more question. Returns whether the limit allows it.
    pub(crate) fn may_ask(&self) -> bool {
        self.question_count.fetch_add(1, Ordering::Relaxed) < MAX_QUESTIONS
    }

    /// Suspends the timeout while a person is asked. Dropping the guard resumes it.
    pub(crate) fn begin_question(self: &Arc<Self>) -> OpenQuestion {
        self.open_questions.fetch_add(1, Ordering::Relaxed);
        OpenQuestion(self.clone())
    }

    /// When to check the timeout again. `None` if it has expired.
    pub(crate) fn deadline(&self, timeout: Duration) -> Option<Instant> {
        let now = Instant::now();
        if self.open_questions.load(Ordering::Relaxed) > 0 {
            return Some(now + timeout);
        }
        let last = self.started_at + Duration::from_millis(self.last_activity_ms.load(Ordering::Relaxed)) + timeout;
        let next = last.min(self.started_at + timeout * MAX_TIMEOUT_FACTOR);
        (next > now).then_some(next)
    }
}

/// Suspends the timeout of a call for as long as it is held.
pub(crate) struct OpenQuestion(Arc<CallOrigin>);

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        self.0.record_activity();
        self.0.open_questions.fetch_sub(1, Ordering::Relaxed);
    }
}

type Waiter = oneshot::Sender<Result<Json, UpstreamError>>;

struct PendingCall {
    call_origin: Arc<CallOrigin>,
    waiter: Option<Waiter>,
}

#[derive(Default)]
struct Registry {
    pending: HashMap<u64, PendingCall>,
    outage: Option<Outage>,
}

/// The pending calls of one connection.
#[derive(Default)]
pub(crate) struct PendingCalls {
    next: AtomicU64,
    registry: Mutex<Registry>,
}

impl PendingCalls {
    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock()
    }

    /// Returns a new request id.
    pub(crate) fn next_id(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Registers a call. Its response goes to the waiter, if there is one.
    pub(crate) fn register(
        &self,
        id: u64,
        call_origin: Arc<CallOrigin>,
        waiter: Option<Waiter>,
    ) -> Result<(), UpstreamError> {
        let mut registry = self.registry();
        if let Some(outage) = &registry.outage {
            return Err(outage.clone().into());
        }
        registry.pending.insert(id, PendingCall { call_origin, waiter });
        Ok(())
    }

    /// Removes a call. Returns whether it was pending.
    pub(crate) fn remove(&self, id: u64) -> bool {
        self.registry().pending.remove(&id).is_some()
    }

    /// Passes a response to its waiter. Returns whether there was one.
    pub(crate) fn settle(&self, id: u64, outcome: Result<Json, UpstreamError>) -> bool {
        let pending = self.registry().pending.remove(&id);
        // A dropped receiver no longer wants the response.
        pending.and_then(|pending| pending.waiter).map(|waiter| waiter.send(outcome)).is_some()
    }

    /// Fails all pending calls and refuses new ones, because the connection has ended.
    pub(crate) fn close(&self, outage: &Outage) {
        let pending = {
            let mut registry = self.registry();
            registry.outage.get_or_insert_with(|| outage.clone());
            std::mem::take(&mut registry.pending)
        };
        for waiter in pending.into_values().filter_map(|pending| pending.waiter) {
            let _ = waiter.send(Err(outage.clone().into()));
        }
    }

    /// The client behind a call.
    pub(crate) fn call_origin(&self, id: u64) -> Option<Arc<CallOrigin>> {
        self.registry().pending.get(&id).map(|pending| pending.call_origin.clone())
    }

    /// The id of the only pending call, if there is exactly one.
    pub(crate) fn only_id(&self) -> Option<u64> {
        let registry = self.registry();
        let mut ids = registry.pending.keys();
        ids.next().copied().filter(|_| ids.next().is_none())
    }

    /// Whether calls of other clients are pending.
    pub(crate) fn has_others(&self, origin: &CallOrigin) -> bool {
        let registry = self.registry();
        registry
            .pending
            .values()
            .any(|pending| pending.call_origin.client.is_some() && pending.call_origin.session != origin.session)
    }

    /// The client behind all pending calls, if it is the same one.
    pub(crate) fn sole_client(&self) -> Option<Arc<CallOrigin>> {
        let registry = self.registry();
        let mut with_client = registry.pending.values().filter(|pending| pending.call_origin.client.is_some());
        let first = with_client.next()?.call_origin.clone();
        let is_same_session =
            first.session.is_some() && with_client.all(|pending| pending.call_origin.session == first.session);
        let is_only_call =
            registry.pending.values().filter(|pending| pending.call_origin.client.is_some()).count() == 1;
        (is_same_session || is_only_call).then_some(first)
    }
}
