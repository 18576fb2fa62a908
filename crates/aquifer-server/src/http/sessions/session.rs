//! The state of one session: when it was used, which requests are running in it, and how many bytes are stored for it.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};
use rmcp::model::RequestId;

use crate::http::connection::Connection;
use crate::http::connections::Connections;

/// The maximum number of running requests in one session.
const MAX_REQUESTS: usize = 256;

/// The maximum number of cancelled requests in one session whose ids are not free yet.
const MAX_DISCARDED: usize = 1024;

/// The maximum number of event streams of one session. Clients have one, or two while they reconnect.
const MAX_STREAMS: usize = 4;

/// The maximum number of bytes of notifications and questions that are waiting or stored for one session.
const MAX_KEPT_BYTES: usize = 2 * 1024 * 1024;

/// The maximum number of messages waiting to be passed to the session.
const MAX_WAITING: usize = 64;

/// A session used less than this many milliseconds ago counts as in use.
const RECENT_MS: u64 = 60_000;

/// A response that has not arrived this many milliseconds after its handler ended never will. A cancelled id is free
/// again after this time.
const LOST_TIMEOUT_MS: u64 = 10_000;

/// A session opened less than this many milliseconds ago has had no chance to be used.
const FRESH_MS: u64 = 5_000;

pub(super) struct Session {
    peer: Option<IpAddr>,
    connections: Arc<Connections>,
    opened: u64,
    last_used: AtomicU64,
    is_initialized: AtomicBool,
    requests_made: AtomicU64,
    streams: AtomicUsize,
    waiting: AtomicUsize,
    /// The size of the request that opened the session.
    initialize_bytes: usize,
    kept_bytes: AtomicUsize,
    requests: Mutex<Requests>,
}

#[derive(Default)]
struct Requests {
    by_id: HashMap<RequestId, Request>,
    begun: u64,
}

impl Requests {
    /// The request, unless its id has been reused.
    fn get_mut(&mut self, key: &RequestKey) -> Option<&mut Request> {
        self.by_id.get_mut(&key.id).filter(|request| request.serial == key.serial)
    }
}

/// Identifies one request, even if a later one has the same id: a client may reuse an id as soon as it has the
/// response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RequestKey {
    id: RequestId,
    serial: u64,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.connections.release_for_sessions(self.initialize_bytes);
    }
}

struct Request {
    serial: u64,
    state: RequestState,
    /// `None` if no client is waiting for the response.
    response_slot: Option<Arc<ResponseSlot>>,
}

impl Request {
    /// Whether its response can no longer arrive. The SDK silently discards the response to a cancelled request, so
    /// only the elapsed time tells.
    fn is_over(&self, now: u64) -> bool {
        matches!(self.state, RequestState::Discarded(done) if now.saturating_sub(done) >= LOST_TIMEOUT_MS)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestState {
    Running,
    /// Its handler has ended and its response is about to arrive, unless the handler panicked.
    Done(u64),
    /// Its response is being sent and can no longer be cancelled.
    Responding,
    /// Its client has cancelled it, but its handler is still running. Its id stays in use: the SDK assigns responses by
    /// id alone, so a later request with the same id would get the response to this one.
    Cancelled,
    /// It was cancelled and its handler has ended. The response is being discarded.
    Discarded(u64),
}

/// Counts the bytes of a response until its connection has taken it over as text. It is kept together with the response
/// and counts until the last clone is dropped.
pub(super) struct ResponseSlot {
    connection: Option<Arc<Connection>>,
    held: AtomicUsize,
}

impl ResponseSlot {
    pub(super) fn new(connection: Option<Arc<Connection>>) -> Arc<Self> {
        Arc::new(Self { connection, held: AtomicUsize::new(0) })
    }

    /// Counts the response. Returns `false` if there is no room for it.
    pub(super) fn hold(&self, bytes: usize) -> bool {
        let Some(connection) = &self.connection else { return true };
        self.held.fetch_add(bytes, Ordering::SeqCst);
        connection.hold(bytes)
    }

    /// Releases the bytes of a response that was not sent.
    pub(super) fn release(&self) {
        let held = self.held.swap(0, Ordering::SeqCst);
        self.connection.iter().for_each(|connection| connection.release(held));
    }
}

impl Drop for ResponseSlot {
    fn drop(&mut self) {
        self.release();
    }
}

/// Dropped together with its request, however that ends.
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

/// The order in which sessions are closed to make room for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// Nothing was received after `initialize`.
    Abandoned,
    /// Only the handshake was completed.
    Unused,
    /// It made requests, but none recently.
    Idle,
    /// It was opened recently and not used yet.
    Fresh,
    /// It has an open stream, but made no recent request.
    Listening,
    /// It was used recently.
    Recent,
    /// It is waiting for a response and is never closed.
    Busy,
}

/// Why a request cannot be made in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestRejection {
    /// A running request has the same id, so their responses could not be told apart.
    DuplicateId,
    TooManyRequests,
    TooManyStreams,
}

impl Session {
    pub(super) fn new(peer: Option<IpAddr>, initialize_bytes: usize, now: u64, connections: Arc<Connections>) -> Self {
        connections.charge_for_sessions(initialize_bytes);
        Self {
            peer,
            initialize_bytes,
            opened: now,
            last_used: AtomicU64::new(now),
            connections,
            is_initialized: AtomicBool::new(false),
            requests_made: AtomicU64::new(0),
            streams: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            kept_bytes: AtomicUsize::new(0),
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

    /// Records that the client has sent `initialized` or any later message.
    pub(super) fn set_initialized(&self) {
        self.is_initialized.store(true, Ordering::Relaxed);
    }

    pub(super) fn rank(&self, now: u64) -> Rank {
        let has_requested = self.requests_made() > 0;
        let is_recent = now.saturating_sub(self.last_used()) < RECENT_MS;
        let is_under_way = |request: &Request| match request.state {
            RequestState::Running | RequestState::Responding => true,
            RequestState::Done(done) => now.saturating_sub(done) < LOST_TIMEOUT_MS,
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
        } else if now.saturating_sub(self.opened) < FRESH_MS {
            Rank::Fresh
        } else if self.is_initialized.load(Ordering::Relaxed) {
            Rank::Unused
        } else {
            Rank::Abandoned
        }
    }

    /// Starts a request. It ends with [`end_request`](Self::end_request), or some time after [`cancel`](Self::cancel).
    pub(super) fn begin_request(
        &self,
        id: &RequestId,
        response_slot: Arc<ResponseSlot>,
    ) -> Result<RequestKey, RequestRejection> {
        let now = self.connections.now();
        let mut requests = self.lock();
        if requests.by_id.get(id).is_some_and(|request| !request.is_over(now)) {
            return Err(RequestRejection::DuplicateId);
        }
        if requests.by_id.len() >= MAX_REQUESTS {
            requests.by_id.retain(|_, request| !request.is_over(now));
            let discarded = |request: &&Request| matches!(request.state, RequestState::Discarded(_));
            let discarded = requests.by_id.values().filter(discarded).count();
            // Cancelled requests have a limit of their own, so that frequent cancellation does not block a client.
            if discarded >= MAX_DISCARDED || requests.by_id.len() - discarded >= MAX_REQUESTS {
                return Err(RequestRejection::TooManyRequests);
            }
        }
        requests.begun += 1;
        let serial = requests.begun;
        requests
            .by_id
            .insert(id.clone(), Request { serial, state: RequestState::Running, response_slot: Some(response_slot) });
        Ok(RequestKey { id: id.clone(), serial })
    }

    /// The guard to attach to a request.
    pub(super) fn guard(self: &Arc<Self>, key: RequestKey) -> RequestGuard {
        RequestGuard { session: self.clone(), key }
    }

    /// Counts a request other than the one that opened the session.
    pub(super) fn count_request(&self) {
        self.requests_made.fetch_add(1, Ordering::Relaxed);
        self.set_initialized();
    }

    /// The number of requests so far, not counting the one that opened the session.
    pub(super) fn requests_made(&self) -> u64 {
        self.requests_made.load(Ordering::Relaxed)
    }

    /// Starts passing on a response. Returns `None` if no client is waiting for it.
    pub(super) fn begin_response(&self, id: &RequestId) -> Option<(RequestKey, Arc<ResponseSlot>)> {
        let mut requests = self.lock();
        let request = requests.by_id.get_mut(id)?;
        let Some(response_slot) = request.response_slot.clone() else {
            // The request was cancelled, and nothing follows its response.
            requests.by_id.remove(id);
            return None;
        };
        request.state = RequestState::Responding;
        Some((RequestKey { id: id.clone(), serial: request.serial }, response_slot))
    }

    pub(super) fn end_request(&self, key: &RequestKey) {
        let mut requests = self.lock();
        if requests.get_mut(key).is_some() {
            requests.by_id.remove(&key.id);
        }
    }

    /// Cancels a request. Its id stays in use until no more messages for it can arrive. Returns `false` if its response
    /// is already being sent.
    pub(super) fn cancel(&self, id: &RequestId) -> bool {
        let now = self.connections.now();
        let mut requests = self.lock();
        let Some(request) = requests.by_id.get_mut(id) else { return true };
        request.state = match request.state {
            RequestState::Responding => return false,
            RequestState::Running => RequestState::Cancelled,
            RequestState::Done(_) => RequestState::Discarded(now),
            cancelled @ (RequestState::Cancelled | RequestState::Discarded(_)) => cancelled,
        };
        request.response_slot = None;
        true
    }

    /// Opens an event stream. It counts until the guard is dropped.
    pub(super) fn open_stream(self: &Arc<Self>) -> Result<OpenStream, RequestRejection> {
        let before = self.streams.fetch_add(1, Ordering::SeqCst);
        let open = OpenStream(self.clone());
        if before < MAX_STREAMS { Ok(open) } else { Err(RequestRejection::TooManyStreams) }
    }

    /// The number of open event streams.
    pub(super) fn streams(&self) -> usize {
        self.streams.load(Ordering::SeqCst)
    }

    /// Counts a message that is not a response, if there is room for it. It counts until the guard is dropped.
    pub(super) fn keep(self: &Arc<Self>, bytes: usize) -> Option<KeptBytes> {
        let before = self.kept_bytes.fetch_add(bytes, Ordering::SeqCst);
        self.connections.charge_for_sessions(bytes);
        let counted = KeptBytes { session: self.clone(), bytes };
        (before + bytes <= MAX_KEPT_BYTES).then_some(counted)
    }

    /// The number of bytes stored for it.
    pub(super) fn kept_bytes(&self) -> usize {
        self.initialize_bytes + self.kept_bytes.load(Ordering::SeqCst)
    }

    /// Counts a message that is waiting for the session, unless there are too many.
    pub(super) fn begin_waiting(self: &Arc<Self>) -> Option<WaitingMessage> {
        let before = self.waiting.fetch_add(1, Ordering::SeqCst);
        let waiting = WaitingMessage(self.clone());
        (before < MAX_WAITING).then_some(waiting)
    }

    fn lock(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock()
    }
}

/// An open event stream.
pub(super) struct OpenStream(Arc<Session>);

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.touch(self.0.connections.now());
        self.0.streams.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The bytes of a message that is stored for a session.
pub(super) struct KeptBytes {
    session: Arc<Session>,
    bytes: usize,
}

impl Drop for KeptBytes {
    fn drop(&mut self) {
        self.session.kept_bytes.fetch_sub(self.bytes, Ordering::SeqCst);
        self.session.connections.release_for_sessions(self.bytes);
    }
}

/// A message that is waiting for the session.
pub(super) struct WaitingMessage(Arc<Session>);

impl Drop for WaitingMessage {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}
