//! The calls under way on one connection: who waits for which answer, and who is behind each.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aquifer_engine::source::{ClientSide, Progress};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::message::Json;
use crate::error::{Outage, UpstreamError};

/// A call that reports progress may take this many times its timeout.
const MAX_TIMEOUT_FACTOR: u32 = 10;

/// Questions for a person or a model that one call may put. A person who is asked again and again stops reading.
const MAX_QUESTIONS: usize = 32;

/// Who is behind a call, and its last sign of life.
#[derive(Debug)]
pub(crate) struct CallOrigin {
    pub(crate) progress: Progress,
    pub(crate) client: Option<Arc<dyn ClientSide>>,
    /// The session of the caller, to tell clients apart.
    pub(crate) session: Option<Arc<str>>,
    started_at: Instant,
    /// Milliseconds after the beginning.
    last_activity_ms: AtomicU64,
    open_questions: AtomicUsize,
    /// Questions for a person or a model so far.
    question_count: AtomicUsize,
}

impl CallOrigin {
    pub(crate) fn new(progress: Progress, client: Option<Arc<dyn ClientSide>>, session: Option<Arc<str>>) -> Self {
        let (started_at, last_activity_ms) = (Instant::now(), AtomicU64::new(0));
        let (open_questions, question_count) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { progress, client, session, started_at, last_activity_ms, open_questions, question_count }
    }

    /// Nobody in particular.
    pub(crate) fn internal() -> Self {
        Self::new(Progress::silent(), None, None)
    }

    /// The upstream gave a sign of life.
    pub(crate) fn record_activity(&self) {
        let after = u64::try_from(self.started_at.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_activity_ms.store(after, Ordering::Relaxed);
    }

    /// Counts one more question for a person or a model. Says whether this call may put it.
    pub(crate) fn may_ask(&self) -> bool {
        self.question_count.fetch_add(1, Ordering::Relaxed) < MAX_QUESTIONS
    }

    /// The person is being asked: the upstream waits for us, not we for it. Ends when the answer is dropped.
    pub(crate) fn begin_question(self: &Arc<Self>) -> OpenQuestion {
        self.open_questions.fetch_add(1, Ordering::Relaxed);
        OpenQuestion(self.clone())
    }

    /// When to look again whether time is up; none if it is.
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

/// As long as it is held, the person is being asked.
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

/// The calls under way on one connection.
#[derive(Default)]
pub(crate) struct PendingCalls {
    next: AtomicU64,
    registry: Mutex<Registry>,
}

impl PendingCalls {
    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An id nobody has yet.
    pub(crate) fn next_id(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Enters a call. With a waiter, its answer goes there.
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

    /// The call is over. Says whether it was still under way.
    pub(crate) fn remove(&self, id: u64) -> bool {
        self.registry().pending.remove(&id).is_some()
    }

    /// Gives an answer to whoever waits for it. Says whether anybody does.
    pub(crate) fn settle(&self, id: u64, outcome: Result<Json, UpstreamError>) -> bool {
        let pending = self.registry().pending.remove(&id);
        // A receiver that is gone no longer wants it.
        pending.and_then(|pending| pending.waiter).map(|waiter| waiter.send(outcome)).is_some()
    }

    /// The connection is gone: everybody who waits is told, and nobody can begin to.
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

    /// Who is behind a call.
    pub(crate) fn call_origin(&self, id: u64) -> Option<Arc<CallOrigin>> {
        self.registry().pending.get(&id).map(|pending| pending.call_origin.clone())
    }

    /// The id of the only call under way.
    pub(crate) fn only_id(&self) -> Option<u64> {
        let registry = self.registry();
        let mut ids = registry.pending.keys();
        ids.next().copied().filter(|_| ids.next().is_none())
    }

    /// Whether calls of other clients than this one are under way.
    pub(crate) fn has_others(&self, origin: &CallOrigin) -> bool {
        let registry = self.registry();
        registry
            .pending
            .values()
            .any(|pending| pending.call_origin.client.is_some() && pending.call_origin.session != origin.session)
    }

    /// Who is behind the calls under way, if all of them are of one client.
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
