//! The calls under way on one connection: who waits for which answer, and who is behind each.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aquifer_engine::source::{ClientSide, Progress};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::error::{Gone, UpstreamError};
use crate::message::Json;

/// A call that reports progress may take this many times its timeout.
const MAX_LEN: u32 = 10;

/// Questions for a person or a model that one call may put. A person who is asked again and again stops reading.
const MAX_QUESTIONS: usize = 32;

/// Who is behind a call, and its last sign of life.
#[derive(Debug)]
pub(crate) struct CallOrigin {
    pub(crate) progress: Progress,
    pub(crate) client: Option<Arc<dyn ClientSide>>,
    /// The session of the caller, to tell clients apart.
    pub(crate) session: Option<Arc<str>>,
    begun: Instant,
    /// Milliseconds after the beginning.
    heard: AtomicU64,
    asking: AtomicUsize,
    /// Questions for a person or a model so far.
    asked: AtomicUsize,
}

impl CallOrigin {
    pub(crate) fn new(progress: Progress, client: Option<Arc<dyn ClientSide>>, session: Option<Arc<str>>) -> Self {
        let (begun, heard) = (Instant::now(), AtomicU64::new(0));
        let (asking, asked) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { progress, client, session, begun, heard, asking, asked }
    }

    /// Nobody in particular.
    pub(crate) fn nobody() -> Self {
        Self::new(Progress::silent(), None, None)
    }

    /// The upstream gave a sign of life.
    pub(crate) fn hear(&self) {
        let after = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.heard.store(after, Ordering::Relaxed);
    }

    /// Counts one more question for a person or a model. Says whether this call may put it.
    pub(crate) fn may_question(&self) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed) < MAX_QUESTIONS
    }

    /// The person is being asked: the upstream waits for us, not we for it. Ends when the answer is dropped.
    pub(crate) fn ask(self: &Arc<Self>) -> Asking {
        self.asking.fetch_add(1, Ordering::Relaxed);
        Asking(self.clone())
    }

    /// When to look again whether time is up; none if it is.
    pub(crate) fn deadline(&self, timeout: Duration) -> Option<Instant> {
        let now = Instant::now();
        if self.asking.load(Ordering::Relaxed) > 0 {
            return Some(now + timeout);
        }
        let last = self.begun + Duration::from_millis(self.heard.load(Ordering::Relaxed)) + timeout;
        let next = last.min(self.begun + timeout * MAX_LEN);
        (next > now).then_some(next)
    }
}

/// As long as it is held, the person is being asked.
pub(crate) struct Asking(Arc<CallOrigin>);

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.hear();
        self.0.asking.fetch_sub(1, Ordering::Relaxed);
    }
}

type Waiter = oneshot::Sender<Result<Json, UpstreamError>>;

struct Open {
    call_origin: Arc<CallOrigin>,
    waiter: Option<Waiter>,
}

#[derive(Default)]
struct Registry {
    open: HashMap<u64, Open>,
    gone: Option<Gone>,
}

/// The calls under way on one connection.
#[derive(Default)]
pub(crate) struct Calls {
    next: AtomicU64,
    registry: Mutex<Registry>,
}

impl Calls {
    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An id nobody has yet.
    pub(crate) fn next_id(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Enters a call. With a waiter, its answer goes there.
    pub(crate) fn begin(
        &self,
        id: u64,
        call_origin: Arc<CallOrigin>,
        waiter: Option<Waiter>,
    ) -> Result<(), UpstreamError> {
        let mut registry = self.registry();
        if let Some(gone) = &registry.gone {
            return Err(gone.clone().into());
        }
        registry.open.insert(id, Open { call_origin, waiter });
        Ok(())
    }

    /// The call is over. Says whether it was still under way.
    pub(crate) fn end(&self, id: u64) -> bool {
        self.registry().open.remove(&id).is_some()
    }

    /// Gives an answer to whoever waits for it. Says whether anybody does.
    pub(crate) fn settle(&self, id: u64, outcome: Result<Json, UpstreamError>) -> bool {
        let open = self.registry().open.remove(&id);
        // A receiver that is gone no longer wants it.
        open.and_then(|open| open.waiter).map(|waiter| waiter.send(outcome)).is_some()
    }

    /// The connection is gone: everybody who waits is told, and nobody can begin to.
    pub(crate) fn close(&self, gone: &Gone) {
        let open = {
            let mut registry = self.registry();
            registry.gone.get_or_insert_with(|| gone.clone());
            std::mem::take(&mut registry.open)
        };
        for waiter in open.into_values().filter_map(|open| open.waiter) {
            let _ = waiter.send(Err(gone.clone().into()));
        }
    }

    /// Who is behind a call.
    pub(crate) fn call_origin(&self, id: u64) -> Option<Arc<CallOrigin>> {
        self.registry().open.get(&id).map(|open| open.call_origin.clone())
    }

    /// The id of the only call under way.
    pub(crate) fn only(&self) -> Option<u64> {
        let registry = self.registry();
        let mut ids = registry.open.keys();
        ids.next().copied().filter(|_| ids.next().is_none())
    }

    /// Whether calls of other clients than this one are under way.
    pub(crate) fn has_others(&self, than: &CallOrigin) -> bool {
        let registry = self.registry();
        registry.open.values().any(|open| open.call_origin.client.is_some() && open.call_origin.session != than.session)
    }

    /// Who is behind the calls under way, if all of them are of one client.
    pub(crate) fn sole_client(&self) -> Option<Arc<CallOrigin>> {
        let registry = self.registry();
        let mut with_client = registry.open.values().filter(|open| open.call_origin.client.is_some());
        let first = with_client.next()?.call_origin.clone();
        let same = first.session.is_some() && with_client.all(|open| open.call_origin.session == first.session);
        let alone = registry.open.values().filter(|open| open.call_origin.client.is_some()).count() == 1;
        (same || alone).then_some(first)
    }
}
