//! Decides who gets a session, and which session is closed to make room for a new one.
//!
//! Unused sessions are closed first. So a client that opens many sessions neither locks out others nor costs them a
//! session in use: it replaces its own. A client that uses the sessions it opens could still push out others, so used
//! sessions are replaced only slowly, and so are newly opened ones, because their clients are about to use them.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use rmcp::transport::streamable_http_server::session::SessionId;

use super::rate::{OpeningRate, TokenBucket};
use super::session::{Rank, Session};

/// A session that is not used after `initialize` is closed after this many milliseconds.
const ABANDONED_TIMEOUT_MS: u64 = 60_000;

/// An unused session is closed after this many milliseconds.
pub(super) const IDLE_TIMEOUT_MS: u64 = 30 * 60_000;

/// The minimum limit of event streams, even if few sessions are allowed.
const MIN_STREAMS: usize = 4;

/// The minimum number of used sessions that can be replaced at once.
const MIN_REPLACED: usize = 8;

pub(super) struct SessionTable {
    max: usize,
    sessions: HashMap<SessionId, Arc<Session>>,
    opening: OpeningRate,
    replacing: TokenBucket,
}

/// Why a session could not be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionLimit {
    /// Too many are being opened. Retry after this many seconds.
    TooFast(u64),
    /// All are in use.
    AllBusy,
}

impl SessionTable {
    pub(super) fn new(max: usize) -> Self {
        // In the minute for which a session counts as recently used, at most three quarters of all sessions can be
        // replaced, the least recently used first.
        let replacing = TokenBucket::new((max / 4).max(MIN_REPLACED), max.saturating_mul(1_000) / 120);
        Self { max, sessions: HashMap::new(), opening: OpeningRate::new(max), replacing }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.sessions.len()
    }

    pub(super) fn get(&self, id: &SessionId) -> Option<&Arc<Session>> {
        self.sessions.get(id)
    }

    pub(super) fn remove(&mut self, id: &SessionId) -> Option<Arc<Session>> {
        self.sessions.remove(id)
    }

    /// Removes a session that its own client has ended.
    pub(super) fn end(&mut self, id: &SessionId) {
        if let Some(peer) = self.remove(id).and_then(|session| session.peer()) {
            self.opening.give_back(peer);
        }
    }

    /// Whether the rate allows a peer to open a session now.
    pub(super) fn admit(&mut self, peer: Option<IpAddr>, now: u64) -> Result<(), SessionLimit> {
        peer.map_or(Ok(()), |peer| self.opening.take(peer, now).map_err(SessionLimit::TooFast))
    }

    /// Adds a session. Removes and returns the session that is closed to make room for it.
    pub(super) fn insert(
        &mut self,
        id: SessionId,
        session: Arc<Session>,
        now: u64,
    ) -> Result<Option<SessionId>, SessionLimit> {
        let mut closed = None;
        if self.sessions.len() >= self.max {
            let (rank, first) = self.next_to_close(now, |_| true).ok_or(SessionLimit::AllBusy)?;
            if rank >= Rank::Idle {
                self.replacing.take(now).map_err(SessionLimit::TooFast)?;
            }
            self.remove(&first);
            closed = Some(first);
        }
        self.sessions.insert(id, session);
        Ok(closed)
    }

    /// Makes room for an event stream. There are at most as many streams as sessions, because the connection limit
    /// assumes that. Removes and returns the session that is closed to make room.
    pub(super) fn make_room_for_stream(&mut self, now: u64) -> Result<Option<SessionId>, SessionLimit> {
        let open: usize = self.sessions.values().map(|session| session.streams()).sum();
        if open < self.max.max(MIN_STREAMS) {
            return Ok(None);
        }
        let (rank, id) = self.next_to_close(now, |session| session.streams() > 0).ok_or(SessionLimit::AllBusy)?;
        if rank > Rank::Listening {
            return Err(SessionLimit::AllBusy);
        }
        self.replacing.take(now).map_err(SessionLimit::TooFast)?;
        self.remove(&id);
        Ok(Some(id))
    }

    /// Closes the unused session with the most stored bytes, because the total exceeds the budget. Returns `None` if
    /// that would not make enough room.
    pub(super) fn close_largest_unused(&mut self, bytes: usize, now: u64) -> Option<SessionId> {
        let unused = self.sessions.iter().filter(|(_, session)| session.rank(now) < Rank::Recent);
        let (id, largest) = unused.max_by_key(|(_, session)| session.kept_bytes())?;
        let id = (largest.kept_bytes() >= bytes).then(|| id.clone())?;
        self.remove(&id);
        Some(id)
    }

    /// Removes and returns the sessions that have been unused for too long.
    pub(super) fn expire(&mut self, now: u64) -> Vec<SessionId> {
        let is_expired = |session: &Session| {
            let unused_for = now.saturating_sub(session.last_used());
            match session.rank(now) {
                Rank::Abandoned => unused_for >= ABANDONED_TIMEOUT_MS,
                Rank::Unused | Rank::Idle => unused_for >= IDLE_TIMEOUT_MS,
                Rank::Fresh | Rank::Listening | Rank::Recent | Rank::Busy => false,
            }
        };
        let expired = self.sessions.iter().filter(|(_, session)| is_expired(session));
        let expired: Vec<SessionId> = expired.map(|(id, _)| id.clone()).collect();
        for id in &expired {
            self.remove(id);
        }
        expired
    }

    /// The session to close first: by rank, then the least recently used. If all sessions were used recently, time says
    /// little, because a client can keep using all of its sessions. Then a session of the peer with the most sessions
    /// is closed, the one with the fewest requests first.
    fn next_to_close(&self, now: u64, fits: impl Fn(&Session) -> bool) -> Option<(Rank, SessionId)> {
        let candidates = || self.sessions.iter().filter(|(_, session)| fits(session));
        let ranked = candidates().map(|(id, session)| ((session.rank(now), session.last_used()), id));
        let ((rank, _), id) = ranked.min_by_key(|(order, _)| *order)?;
        if rank < Rank::Recent {
            return Some((rank, id.clone()));
        }
        let mut held: HashMap<Option<IpAddr>, usize> = HashMap::new();
        for session in self.sessions.values() {
            *held.entry(session.peer()).or_default() += 1;
        }
        let recent = candidates().filter(|(_, session)| session.rank(now) == Rank::Recent);
        let order = |session: &Session| {
            let held = held.get(&session.peer()).copied().unwrap_or_default();
            (Reverse(held), session.requests_made(), session.last_used())
        };
        recent.min_by_key(|(_, session)| order(session)).map(|(id, _)| (Rank::Recent, id.clone()))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
mod tests {
    use std::time::Duration;

    use rmcp::model::NumberOrString;

    use super::super::session::ResponseSlot;
    use super::*;
    use crate::http::connections::Connections;

    const SECOND: u64 = 1_000;

    struct Sessions {
        table: SessionTable,
        connections: Arc<Connections>,
    }

    impl Sessions {
        fn new(max: usize) -> Self {
            Self { table: SessionTable::new(max), connections: Connections::new(1 << 20, Duration::from_secs(30)) }
        }

        fn open(&mut self, id: &str, now: u64) -> Result<Option<SessionId>, SessionLimit> {
            self.open_from([127, 0, 0, 1], id, now)
        }

        fn open_from(&mut self, peer: [u8; 4], id: &str, now: u64) -> Result<Option<SessionId>, SessionLimit> {
            let peer = IpAddr::from(peer);
            self.table.admit(Some(peer), now)?;
            let session = Arc::new(Session::new(Some(peer), 0, now, self.connections.clone()));
            self.table.insert(id.into(), session, now)
        }

        fn use_session(&self, id: &str, now: u64) {
            let session = self.table.get(&id.into()).unwrap();
            session.count_request();
            session.touch(now);
        }
    }

    #[test]
    fn sessions_are_closed_in_the_order_of_their_use() {
        let mut all = Sessions::new(9);
        for id in ["abandoned", "unused", "idle", "idle-longer", "listening", "recent", "recent-before", "busy"] {
            all.open(id, SECOND).unwrap();
        }
        let now = 1_000 * SECOND;
        all.open("fresh", now - SECOND).unwrap();
        let get = |id: &str| all.table.get(&id.into()).unwrap().clone();
        get("unused").set_initialized();
        all.use_session("idle", now - 70 * SECOND);
        all.use_session("idle-longer", now - 80 * SECOND);
        let _stream = get("listening").open_stream().ok();
        get("listening").touch(SECOND);
        all.use_session("recent", now - SECOND);
        all.use_session("recent-before", now - 2 * SECOND);
        get("busy").begin_request(&NumberOrString::Number(1), ResponseSlot::new(None)).unwrap();
        let mut order = Vec::new();
        while let Some((_, id)) = all.table.next_to_close(now, |_| true) {
            all.table.remove(&id);
            order.push(id.to_string());
        }
        let expected = ["abandoned", "unused", "idle-longer", "idle", "fresh", "listening", "recent-before", "recent"];
        assert_eq!(order, expected, "the busy one stays");
    }

    #[test]
    fn a_flood_of_unused_sessions_replaces_only_its_own() {
        let mut all = Sessions::new(100);
        all.open("used", SECOND).unwrap();
        all.use_session("used", SECOND);
        // Slow enough for the rate limit, and long enough for the used session to become idle.
        for index in 0..5_000_u64 {
            let _ = all.open(&format!("flood-{index}"), 100 * SECOND + index * 20);
            assert!(all.table.len() <= 100);
            assert!(all.table.get(&"used".into()).is_some(), "{index}");
        }
    }

    #[test]
    fn sessions_in_use_survive_a_flood_of_used_sessions() {
        let mut all = Sessions::new(100);
        all.open("used", SECOND).unwrap();
        for _ in 0..3 {
            all.use_session("used", SECOND);
        }
        let mut refused = 0;
        for index in 0..30_000_u64 {
            let now = 2 * SECOND + index * 20;
            let id = format!("flood-{index}");
            match all.open(&id, now) {
                Ok(_) => all.use_session(&id, now),
                Err(cause) => {
                    assert_ne!(cause, SessionLimit::AllBusy, "none of them is busy");
                    refused += 1;
                }
            }
            // Used once a minute.
            if now % (50 * SECOND) < 20 {
                all.use_session("used", now);
            }
            assert!(all.table.get(&"used".into()).is_some(), "{index}");
        }
        assert!(refused > 0, "the rest was told to come back");
    }

    #[test]
    fn sessions_of_other_addresses_survive_a_flood() {
        let mut all = Sessions::new(100);
        all.open_from([192, 0, 2, 1], "used", SECOND).unwrap();
        all.use_session("used", SECOND);
        for index in 0..2_000_u64 {
            let (id, now) = (format!("flood-{index}"), 2 * SECOND + index * 25);
            if all.open(&id, now).is_ok() {
                // Used as often as possible.
                (0..10).for_each(|_| all.use_session(&id, now));
            }
            assert!(all.table.get(&"used".into()).is_some(), "{index}");
        }
    }

    #[test]
    fn new_sessions_can_be_used_during_any_flood() {
        // The flood fills the table with sessions that it has used, and opens others as fast as it can.
        let mut all = Sessions::new(100);
        for index in 0..100_u64 {
            let (id, now) = (format!("used-{index}"), SECOND + index * 200);
            all.open(&id, now).unwrap();
            all.use_session(&id, now);
        }
        let opened = 100 * SECOND;
        all.open("newcomer", opened).unwrap();
        for index in 0..490_u64 {
            let _ = all.open(&format!("flood-{index}"), opened + index * 10);
            assert!(all.table.get(&"newcomer".into()).is_some(), "{index}");
        }
    }

    #[test]
    fn sessions_that_wait_for_responses_are_never_replaced() {
        let mut all = Sessions::new(2);
        for id in ["one", "two"] {
            all.open(id, SECOND).unwrap();
            all.table
                .get(&id.into())
                .unwrap()
                .begin_request(&NumberOrString::Number(1), ResponseSlot::new(None))
                .unwrap();
        }
        assert_eq!(all.open("three", SECOND), Err(SessionLimit::AllBusy));
    }

    #[test]
    fn the_unused_session_with_the_most_stored_bytes_is_closed() {
        let mut all = Sessions::new(10);
        let now = 1_000 * SECOND;
        let mut counted = Vec::new();
        for (id, bytes) in [("small", 10), ("large", 100), ("middle", 50), ("used", 1_000)] {
            all.open(id, SECOND).unwrap();
            counted.push(all.table.get(&id.into()).unwrap().keep(bytes));
        }
        all.use_session("used", now);
        let mut close = |bytes| all.table.close_largest_unused(bytes, now).map(|id| id.to_string());
        assert_eq!(close(101), None, "none of them would make that much room");
        assert_eq!(close(20).as_deref(), Some("large"));
        assert_eq!(close(50).as_deref(), Some("middle"));
        assert_eq!(close(20), None, "and what is in use stays");
    }

    #[test]
    fn streams_are_limited_and_sessions_in_use_keep_theirs() {
        let mut all = Sessions::new(4);
        let now = 1_000 * SECOND;
        for id in ["used", "listening"] {
            all.open(id, SECOND).unwrap();
        }
        let get = |id: &str| all.table.get(&id.into()).unwrap().clone();
        let _streams: Vec<_> = ["used", "used", "listening", "listening"].map(|id| get(id).open_stream().ok()).into();
        all.use_session("used", now);
        assert_eq!(all.table.make_room_for_stream(now), Ok(Some("listening".into())));
        assert_eq!(all.table.make_room_for_stream(now), Ok(None));
        let _more: Vec<_> = [(); 2].map(|()| all.table.get(&"used".into()).unwrap().open_stream().ok()).into();
        assert_eq!(all.table.make_room_for_stream(now), Err(SessionLimit::AllBusy));
    }

    #[test]
    fn unused_sessions_expire() {
        let mut all = Sessions::new(10);
        for id in ["abandoned", "unused", "idle", "listening", "busy"] {
            all.open(id, SECOND).unwrap();
        }
        let get = |id: &str| all.table.get(&id.into()).unwrap().clone();
        get("unused").set_initialized();
        all.use_session("idle", 30 * SECOND);
        let _stream = get("listening").open_stream().ok();
        get("busy").begin_request(&NumberOrString::Number(1), ResponseSlot::new(None)).unwrap();
        get("listening").touch(SECOND);
        let mut gone =
            |second: u64| all.table.expire(second * SECOND).iter().map(|id| id.to_string()).collect::<Vec<_>>();
        assert_eq!(gone(60), [""; 0]);
        assert_eq!(gone(61), ["abandoned"]);
        assert_eq!(gone(1_800), [""; 0]);
        assert_eq!(gone(1_801), ["unused"]);
        assert_eq!(gone(1_830), ["idle"]);
        assert_eq!(gone(100_000), [""; 0]);
    }
}
