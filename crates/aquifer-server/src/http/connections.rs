//! The registry of open connections and the budget of bytes held for all of them together.
//!
//! Held bytes are bodies while they arrive, responses until the socket has accepted their last byte, and what the SDK
//! stores for sessions. Reserved bytes are the estimated responses of running calls. Their sum stays below one budget:
//! a call that would exceed it is refused before it runs. A response can be larger than its reservation, so held bytes
//! can exceed the budget on their own. Connections are then closed, starting with the one whose peer has recently moved
//! the least data relative to what is held for it. Only connections that wait for their peer are closed, never one
//! whose call is still running.
//!
//! The registry is locked when connections are opened or closed, once a second, and when the budget is exceeded, but
//! never for an ordinary request.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use super::connection::Connection;
use super::throttle::WarningThrottle;

/// How long the head of a request may take to arrive once it has begun.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// A peer that has moved nothing for this long may be closed to make room for a call. Short, because a client that
/// fills the budget with unread responses blocks others for as long.
const STALL_TIMEOUT: Duration = Duration::from_millis(500);

/// A peer that has been waited for less than this is closed last: it had no chance to react yet.
const GRACE_PERIOD: Duration = Duration::from_secs(1);

/// Progress is measured in this fraction of the held bytes.
const PROGRESS_SCALE: u64 = 1024;

/// Sessions may use one part in this many of the budget.
const SESSION_SHARE: usize = 4;

pub(super) struct Connections {
    max_bytes: usize,
    write_timeout: Duration,
    started: Instant,
    held: AtomicUsize,
    reserved: AtomicUsize,
    /// The part of the held bytes that is stored for sessions.
    kept_for_sessions: AtomicUsize,
    next_id: AtomicU64,
    warning: WarningThrottle,
    open: Mutex<HashMap<u64, Arc<Connection>>>,
}

/// Removes the connection from the registry when dropped.
pub(super) struct Registration(Arc<Connection>);

impl Drop for Registration {
    fn drop(&mut self) {
        self.0.registry().lock().remove(&self.0.id());
    }
}

impl Connections {
    pub(super) fn new(max_bytes: usize, write_timeout: Duration) -> Arc<Self> {
        Arc::new(Self {
            max_bytes,
            write_timeout,
            started: Instant::now(),
            held: AtomicUsize::new(0),
            reserved: AtomicUsize::new(0),
            kept_for_sessions: AtomicUsize::new(0),
            next_id: AtomicU64::new(0),
            warning: WarningThrottle::default(),
            open: Mutex::default(),
        })
    }

    /// Registers a new connection.
    pub(super) fn register(self: &Arc<Self>, peer: IpAddr) -> (Arc<Connection>, Registration) {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let connection = Arc::new(Connection::new(id, peer, self.clone()));
        self.lock().insert(id, connection.clone());
        (connection.clone(), Registration(connection))
    }

    /// Milliseconds since the server started, never zero: connections use zero for "never".
    pub(super) fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX - 1) + 1
    }

    /// The bytes currently held.
    pub(super) fn held(&self) -> usize {
        self.held.load(Ordering::SeqCst)
    }

    /// Counts bytes that are already in memory. Returns `false` if even closing connections could not bring them within
    /// the budget.
    pub(super) fn charge(&self, bytes: usize) -> bool {
        let held = self.held.fetch_add(bytes, Ordering::SeqCst) + bytes;
        held <= self.max_bytes || self.make_room(self.max_bytes, 0)
    }

    pub(super) fn release(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::SeqCst);
    }

    /// Counts bytes that are stored for a session.
    pub(super) fn charge_for_sessions(&self, bytes: usize) {
        self.kept_for_sessions.fetch_add(bytes, Ordering::SeqCst);
        self.charge(bytes);
    }

    pub(super) fn release_for_sessions(&self, bytes: usize) {
        self.kept_for_sessions.fetch_sub(bytes, Ordering::SeqCst);
        self.release(bytes);
    }

    /// Whether sessions use more than their share, which leaves most of the budget to responses.
    pub(super) fn is_session_share_exceeded(&self) -> bool {
        self.kept_for_sessions.load(Ordering::SeqCst) > self.max_bytes / SESSION_SHARE
    }

    /// Reserves bytes for the response to a call and returns how many. `None` if there is no room and the call must not
    /// run.
    pub(super) fn reserve(&self, bytes: usize) -> Option<usize> {
        // Capped, so that a single call always fits.
        let bytes = bytes.min(self.max_bytes / 4);
        let reserved = self.reserved.fetch_add(bytes, Ordering::SeqCst) + bytes;
        let room = self.max_bytes.saturating_sub(reserved);
        let fits = reserved <= self.max_bytes && (self.held() <= room || self.make_room(room, millis(STALL_TIMEOUT)));
        if !fits {
            self.unreserve(bytes);
        }
        fits.then_some(bytes)
    }

    /// Returns bytes taken by [`reserve`](Self::reserve).
    pub(super) fn unreserve(&self, bytes: usize) {
        self.reserved.fetch_sub(bytes, Ordering::SeqCst);
    }

    /// Closes connections until at most `target` bytes are held, counting the bytes of closed connections as released.
    /// Only connections whose peer has moved nothing for `stalled_for` milliseconds are considered.
    fn make_room(&self, target: usize, stalled_for: u64) -> bool {
        let now = self.now();
        let open = self.lock();
        let leaving: usize = open.values().filter(|one| one.is_close_requested()).map(|one| one.held()).sum();
        let mut held = self.held().saturating_sub(leaving);
        if held <= target {
            return true;
        }
        let mut candidates: Vec<_> = open
            .values()
            .filter(|connection| connection.held() > 0 && !connection.is_close_requested())
            .filter_map(|connection| Some((connection.waiting(now)?, connection)))
            .filter(|(waiting, _)| waiting.stalled_for >= stalled_for)
            .collect();
        candidates.sort_by_cached_key(|(waiting, connection)| {
            let is_fresh = waiting.waited_for < millis(GRACE_PERIOD);
            let progress = waiting.recent_bytes.saturating_mul(PROGRESS_SCALE) / (connection.held() as u64).max(1);
            (is_fresh, progress, Reverse(waiting.waited_for))
        });
        let mut closed = 0_usize;
        for (_, connection) in candidates {
            if held <= target {
                break;
            }
            held = held.saturating_sub(connection.held());
            connection.request_close();
            closed += 1;
        }
        drop(open);
        if closed > 0 && self.warning.is_due(now) {
            tracing::warn!(
                closed,
                max_bytes = self.max_bytes,
                "closed connections whose peers do not read or send: too many bytes are waiting for them"
            );
        }
        held <= target
    }

    /// Closes the connection that has been idle for longest, preferring those that never made a request. If none is
    /// idle, closes one whose peer has stopped sending its request.
    pub(super) fn close_idle(&self) -> bool {
        self.close_idle_at(self.now())
    }

    fn close_idle_at(&self, now: u64) -> bool {
        let open = self.lock();
        let order = |connection: &Connection| {
            let unfinished_for = connection.unfinished_for(now).filter(|waited| *waited >= millis(STALL_TIMEOUT));
            match unfinished_for {
                _ if connection.is_close_requested() => None,
                _ if connection.is_idle() => Some((false, connection.has_served(), connection.last_used())),
                Some(waited) => Some((true, true, now.saturating_sub(waited))),
                None => None,
            }
        };
        let ordered = open.values().filter_map(|one| Some((order(one)?, one)));
        ordered.min_by_key(|(order, _)| *order).inspect(|(_, connection)| connection.request_close()).is_some()
    }

    /// Closes connections that we have waited on for too long. Called about once a second.
    pub(super) fn sweep(&self) {
        self.sweep_at(self.now());
    }

    pub(super) fn sweep_at(&self, now: u64) {
        let open = self.lock();
        for connection in open.values() {
            connection.note_use(now);
            let is_stuck = connection.unwritten_for(now).is_some_and(|waited| waited >= millis(self.write_timeout));
            let is_slow = connection.head_pending_for(now).is_some_and(|waited| waited >= millis(HEAD_TIMEOUT));
            if is_stuck || is_slow {
                connection.request_close();
            }
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, HashMap<u64, Arc<Connection>>> {
        self.open.lock()
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const PEER: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const SECOND: u64 = 1_000;

    fn connections(max_bytes: usize) -> Arc<Connections> {
        Connections::new(max_bytes, Duration::from_secs(30))
    }

    /// Connections whose peer has accepted nothing since the given second, each holding the given bytes.
    fn blocked(all: &Arc<Connections>, each: &[(u64, usize)]) -> Vec<(Arc<Connection>, Registration)> {
        let open = |(since, bytes): &(u64, usize)| {
            let (connection, registration) = all.register(PEER);
            connection.hold(*bytes);
            connection.write_blocked_at(since * SECOND);
            (connection, registration)
        };
        each.iter().map(open).collect()
    }

    fn close_requested(all: &[(Arc<Connection>, Registration)]) -> Vec<bool> {
        all.iter().map(|(connection, _)| connection.is_close_requested()).collect()
    }

    #[test]
    fn the_peer_with_the_least_progress_is_closed_first() {
        let all = connections(100);
        // The server's clock has just started, so everything here has waited for less than the grace period. Only the
        // amount and the time of the last progress decide.
        let open = blocked(&all, &[(0, 30), (0, 30), (0, 30)]);
        open[0].0.progressed_at(1, 5_000);
        open[1].0.progressed_at(1, 10);
        open[2].0.progressed_at(1, 800);
        assert!(all.charge(20), "closing one is enough");
        assert_eq!(close_requested(&open), [false, true, false]);
        assert!(all.charge(25), "what the closed one holds counts as gone");
        assert_eq!(close_requested(&open), [false, true, true]);
        drop(open);
    }

    #[test]
    fn progress_is_relative_to_the_held_bytes() {
        let all = connections(10_000);
        let open = blocked(&all, &[(0, 9_000), (0, 100)]);
        open[0].0.progressed_at(1, 1_000);
        open[1].0.progressed_at(1, 100);
        assert!(all.charge(1_000));
        assert_eq!(close_requested(&open), [true, false], "the other one is nearly done");
    }

    #[test]
    fn connections_with_running_calls_are_never_closed_to_make_room() {
        let all = connections(100);
        let (running, _registration) = all.register(PEER);
        running.hold(90);
        assert!(!all.charge(50), "nobody waits for a peer");
        assert!(!running.is_close_requested());
    }

    #[test]
    fn calls_are_refused_before_they_run_if_their_response_exceeds_the_budget() {
        let all = connections(100);
        let reserved: Vec<usize> = (0..4).map(|_| all.reserve(25).unwrap()).collect();
        assert!(all.reserve(1).is_none(), "all is reserved");
        reserved.into_iter().for_each(|bytes| all.unreserve(bytes));
        assert_eq!(all.reserve(1_000), Some(25), "one call on its own always fits");
        all.charge(76);
        assert!(all.reserve(1).is_none(), "what is held counts as well");
        all.release(76);
        assert!(all.reserve(1).is_some());
    }

    #[test]
    fn a_stuck_connection_is_closed_after_the_timeout_and_a_slow_one_is_not() {
        let all = connections(1_000);
        let open = blocked(&all, &[(1, 10), (1, 10)]);
        for second in 2..100 {
            open[1].0.progressed_at(second * SECOND, 1);
            all.sweep_at(second * SECOND);
            assert_eq!(close_requested(&open), [second >= 31, false], "second {second}");
        }
    }

    #[test]
    fn the_longest_idle_connection_is_closed_and_busy_ones_never() {
        let all = connections(1_000);
        let open: Vec<_> = (0..4).map(|_| all.register(PEER)).collect();
        open[0].0.begin_request();
        for (index, second) in [(1, 50), (2, 40)] {
            open[index].0.begin_request();
            open[index].0.end_request();
            open[index].0.note_use(second * SECOND);
        }
        let mut order = Vec::new();
        while all.close_idle() {
            order.push(close_requested(&open));
        }
        let expected =
            [[false, false, false, true], [false, false, true, true], [false, true, true, true]].map(Vec::from);
        assert_eq!(order, expected, "never used, then used longest ago");
    }

    #[test]
    fn unfinished_requests_make_room_if_no_connection_is_idle() {
        let all = connections(1_000);
        let open: Vec<_> = (0..3).map(|_| all.register(PEER)).collect();
        open.iter().for_each(|(connection, _)| connection.begin_request());
        open[0].0.await_body_at(SECOND);
        open[1].0.await_body_at(SECOND);
        open[0].0.progressed_at(9 * SECOND, 1);
        assert!(all.close_idle_at(10 * SECOND));
        assert_eq!(close_requested(&open), [false, true, false], "the one that stopped first");
        assert!(all.close_idle_at(10 * SECOND));
        assert!(!all.close_idle_at(10 * SECOND), "the last one has a call under way");
    }

    #[test]
    fn connections_with_an_unfinished_head_are_closed() {
        let all = connections(1_000);
        let open: Vec<_> = (0..2).map(|_| all.register(PEER)).collect();
        open[0].0.note_read();
        for second in 1..60 {
            // The other one makes a request every second, and each is observed half-way.
            open[1].0.note_read();
            all.sweep_at(second * SECOND);
            open[1].0.begin_request();
            open[1].0.end_request();
        }
        assert_eq!(close_requested(&open), [true, false]);
    }
}
