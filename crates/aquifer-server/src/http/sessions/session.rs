//! What is known of one session: how it is used, which requests are under way in it, and what is kept for it.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::RequestId;

use crate::http::connection::Connection;
use crate::http::connections::Connections;

/// Requests under way at once in one session.
const MAX_REQUESTS: usize = 256;

/// Requests that were cancelled, and whose ids are not free yet, in one session.
const MAX_DISCARDED: usize = 1024;

/// Streams open at once that wait for news of one session. Clients have one, and two while they reconnect.
const MAX_STREAMS: usize = 4;

/// Bytes of messages that wait or are kept for one session beside answers: notifications and questions.
const MAX_KEPT_BYTES: usize = 2 * 1024 * 1024;

/// Messages that wait at once to be taken over by the session.
const MAX_WAITING: usize = 64;

/// A session used less than this many milliseconds ago is in use.
const RECENT: u64 = 60_000;

/// An answer that has not come this many milliseconds after the work on it was done never will. An id that was cancelled is
/// free again after this time.
const LOST_AFTER: u64 = 10_000;

/// A session opened less than this many milliseconds ago has had no chance to be used.
const FRESH: u64 = 5_000;

pub(super) struct Session {
    peer: Option<IpAddr>,
    connections: Arc<Connections>,
    opened: u64,
    last_used: AtomicU64,
    is_initialized: AtomicBool,
    requests_made: AtomicU64,
    streams: AtomicUsize,
    waiting: AtomicUsize,
    /// Bytes of what the client said of itself when it opened the session.
    introduction: usize,
    kept: AtomicUsize,
    requests: Mutex<Requests>,
}

#[derive(Default)]
struct Requests {
    by_id: HashMap<RequestId, Request>,
    begun: u64,
}

impl Requests {
    /// The request, unless another has its id by now.
    fn get_mut(&mut self, key: &RequestKey) -> Option<&mut Request> {
        self.by_id.get_mut(&key.id).filter(|request| request.serial == key.serial)
    }
}

/// One request, also where a later one has its id: a client may use an id again as soon as it has the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RequestKey {
    id: RequestId,
    serial: u64,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.connections.release_for_sessions(self.introduction);
    }
}

struct Request {
    serial: u64,
    state: RequestState,
    /// None once nobody waits for the answer.
    answer: Option<Arc<AnswerSlot>>,
}

impl Request {
    /// Whether its answer may still come. The SDK discards the answer to a request that was cancelled without a word, so
    /// that its end is known only by the time that has passed.
    fn is_over(&self, now: u64) -> bool {
        matches!(self.state, RequestState::Discarded(done) if now.saturating_sub(done) >= LOST_AFTER)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestState {
    Running,
    /// Whoever worked on it is done, and its answer is about to come. It does not if that was a panic.
    Done(u64),
    /// Its answer is on its way to the client and cannot be called back.
    Answering,
    /// Its client does not wait for it any more, and somebody still works on it. Its id stays in use: the SDK tells answers
    /// apart by nothing else, and a later request of the same id would get the answer to this one.
    Cancelled,
    /// It was cancelled, and whoever worked on it is done. The answer is being discarded.
    Discarded(u64),
}

/// What the answer to a request takes until its connection has taken it over as text. Whoever holds the answer holds
/// this; it counts until the last of them has let go.
pub(super) struct AnswerSlot {
    connection: Option<Arc<Connection>>,
    held: AtomicUsize,
}

impl AnswerSlot {
    pub(super) fn new(connection: Option<Arc<Connection>>) -> Arc<Self> {
        Arc::new(Self { connection, held: AtomicUsize::new(0) })
    }

    /// Counts the answer. `false`: there is no room for it.
    pub(super) fn hold(&self, bytes: usize) -> bool {
        let Some(connection) = &self.connection else { return true };
        self.held.fetch_add(bytes, Ordering::SeqCst);
        connection.hold(bytes)
    }

    /// The answer was left out after all.
    pub(super) fn release(&self) {
        let held = self.held.swap(0, Ordering::SeqCst);
        self.connection.iter().for_each(|connection| connection.release(held));
    }
}

impl Drop for AnswerSlot {
    fn drop(&mut self) {
        self.release();
    }
}

/// Travels with a request and is dropped with it, however that ends.
pub(super) struct RequestGuard {
    session: Arc<Session>,
    key: RequestKey,
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        let now = self.session.connections.now();
        if let Some(request) = self.session.lock().get_mut(&self.key) {
            request.state = match request.state {
                RequestState::Running => RequestState::Done(now),
                RequestState::Cancelled => RequestState::Discarded(now),
                other => other,
            };
        }
    }
}

/// Which sessions are given up first when there is no room for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// Nothing came after `initialize`.
    Abandoned,
    /// The handshake was completed, and that was all.
    Unused,
    /// It made requests, but not lately.
    Idle,
    /// It was opened a moment ago and not used yet.
    Fresh,
    /// It has a stream open, but made no request lately.
    Listening,
    /// It was used a moment ago.
    Recent,
    /// It waits for an answer. Never given up.
    Busy,
}

/// Why a request cannot be made in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotNow {
    /// Its id is one of a request under way: the answers could not be told apart.
    DuplicateId,
    TooManyRequests,
    TooManyStreams,
}

impl Session {
    pub(super) fn new(peer: Option<IpAddr>, introduction: usize, now: u64, connections: Arc<Connections>) -> Self {
        connections.charge_for_sessions(introduction);
        Self {
            peer,
            introduction,
            opened: now,
            last_used: AtomicU64::new(now),
            connections,
            is_initialized: AtomicBool::new(false),
            requests_made: AtomicU64::new(0),
            streams: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            kept: AtomicUsize::new(0),
            requests: Mutex::default(),
        }
    }

    pub(super) fn peer(&self) -> Option<IpAddr> {
        self.peer
    }

    pub(super) fn last_used(&self) -> u64 {
        self.last_used.load(Ordering::Relaxed)
    }

    pub(super) fn touch(&self, now: u64) {
        self.last_used.store(now, Ordering::Relaxed);
    }

    /// The client has said that the handshake is complete, or something else after it.
    pub(super) fn set_initialized(&self) {
        self.is_initialized.store(true, Ordering::Relaxed);
    }

    pub(super) fn rank(&self, now: u64) -> Rank {
        let has_requested = self.requests_made() > 0;
        let is_recent = now.saturating_sub(self.last_used()) < RECENT;
        let is_under_way = |request: &Request| match request.state {
            RequestState::Running | RequestState::Answering => true,
            RequestState::Done(done) => now.saturating_sub(done) < LOST_AFTER,
            RequestState::Cancelled | RequestState::Discarded(_) => false,
        };
        if self.lock().by_id.values().any(is_under_way) {
            Rank::Busy
        } else if has_requested && is_recent {
            Rank::Recent
        } else if self.streams() > 0 {
            Rank::Listening
        } else if has_requested {
            Rank::Idle
        } else if now.saturating_sub(self.opened) < FRESH {
            Rank::Fresh
        } else if self.is_initialized.load(Ordering::Relaxed) {
            Rank::Unused
        } else {
            Rank::Abandoned
        }
    }

    /// A request begins. It ends with [`end_request`](Self::end_request), or some time after [`cancel`](Self::cancel).
    pub(super) fn begin_request(&self, id: &RequestId, answer: Arc<AnswerSlot>) -> Result<RequestKey, NotNow> {
        let now = self.connections.now();
        let mut requests = self.lock();
        if requests.by_id.get(id).is_some_and(|request| !request.is_over(now)) {
            return Err(NotNow::DuplicateId);
        }
        if requests.by_id.len() >= MAX_REQUESTS {
            requests.by_id.retain(|_, request| !request.is_over(now));
            let discarded = |request: &&Request| matches!(request.state, RequestState::Discarded(_));
            let discarded = requests.by_id.values().filter(discarded).count();
            // Cancelling often is no reason to be locked out.
            if discarded >= MAX_DISCARDED || requests.by_id.len() - discarded >= MAX_REQUESTS {
                return Err(NotNow::TooManyRequests);
            }
        }
        requests.begun += 1;
        let serial = requests.begun;
        requests.by_id.insert(id.clone(), Request { serial, state: RequestState::Running, answer: Some(answer) });
        Ok(RequestKey { id: id.clone(), serial })
    }

    /// What a request that began takes along.
    pub(super) fn guard(self: &Arc<Self>, key: RequestKey) -> RequestGuard {
        RequestGuard { session: self.clone(), key }
    }

    /// The client has made a request other than the one that opened the session.
    pub(super) fn count_request(&self) {
        self.requests_made.fetch_add(1, Ordering::Relaxed);
        self.set_initialized();
    }

    /// Requests made so far, beside the one that opened the session.
    pub(super) fn requests_made(&self) -> u64 {
        self.requests_made.load(Ordering::Relaxed)
    }

    /// An answer is about to be handed on. `None`: nobody waits for it.
    pub(super) fn begin_answer(&self, id: &RequestId) -> Option<(RequestKey, Arc<AnswerSlot>)> {
        let mut requests = self.lock();
        let request = requests.by_id.get_mut(id)?;
        let Some(answer) = request.answer.clone() else {
            // It was cancelled, and nothing else of it can come.
            requests.by_id.remove(id);
            return None;
        };
        request.state = RequestState::Answering;
        Some((RequestKey { id: id.clone(), serial: request.serial }, answer))
    }

    pub(super) fn end_request(&self, key: &RequestKey) {
        let mut requests = self.lock();
        if requests.get_mut(key).is_some() {
            requests.by_id.remove(&key.id);
        }
    }

    /// The client does not wait for a request any more. Its id stays in use until nothing of it can come. `false`: its answer
    /// is already on its way.
    pub(super) fn cancel(&self, id: &RequestId) -> bool {
        let now = self.connections.now();
        let mut requests = self.lock();
        let Some(request) = requests.by_id.get_mut(id) else { return true };
        request.state = match request.state {
            RequestState::Answering => return false,
            RequestState::Running => RequestState::Cancelled,
            RequestState::Done(_) => RequestState::Discarded(now),
            cancelled @ (RequestState::Cancelled | RequestState::Discarded(_)) => cancelled,
        };
        request.answer = None;
        true
    }

    /// Opens a stream that waits for news. It is counted until the guard is dropped.
    pub(super) fn open_stream(self: &Arc<Self>) -> Result<OpenStream, NotNow> {
        let before = self.streams.fetch_add(1, Ordering::SeqCst);
        let open = OpenStream(self.clone());
        if before < MAX_STREAMS { Ok(open) } else { Err(NotNow::TooManyStreams) }
    }

    /// Streams that wait for news now.
    pub(super) fn streams(&self) -> usize {
        self.streams.load(Ordering::SeqCst)
    }

    /// Takes in a message that is no answer, if there is room for it. It counts until the guard is dropped, wherever
    /// copies of it are kept.
    pub(super) fn keep(self: &Arc<Self>, bytes: usize) -> Option<Kept> {
        let before = self.kept.fetch_add(bytes, Ordering::SeqCst);
        self.connections.charge_for_sessions(bytes);
        let kept = Kept { session: self.clone(), bytes };
        (before + bytes <= MAX_KEPT_BYTES).then_some(kept)
    }

    /// Bytes kept for it.
    pub(super) fn kept(&self) -> usize {
        self.introduction + self.kept.load(Ordering::SeqCst)
    }

    /// A message begins to wait to be taken over by the session, if not too many do.
    pub(super) fn begin_waiting(self: &Arc<Self>) -> Option<WaitingMessage> {
        let before = self.waiting.fetch_add(1, Ordering::SeqCst);
        let waiting = WaitingMessage(self.clone());
        (before < MAX_WAITING).then_some(waiting)
    }

    fn lock(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A stream that waits for news.
pub(super) struct OpenStream(Arc<Session>);

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.touch(self.0.connections.now());
        self.0.streams.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A message that is kept for a session.
pub(super) struct Kept {
    session: Arc<Session>,
    bytes: usize,
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.session.kept.fetch_sub(self.bytes, Ordering::SeqCst);
        self.session.connections.release_for_sessions(self.bytes);
    }
}

/// A message that waits to be taken over.
pub(super) struct WaitingMessage(Arc<Session>);

impl Drop for WaitingMessage {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}
