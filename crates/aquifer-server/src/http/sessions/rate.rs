//! Token buckets that limit how fast sessions are opened and replaced.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// How many sessions all peers together may open at once, and then per second. Fewer if the number of sessions is
/// small, so that a session lives for ten seconds even if every new one replaces another. One peer may open half as
/// many.
const MAX_BURST: usize = 400;
const MAX_RATE: usize = 100;
const MIN_BURST: usize = 32;
const MIN_RATE: usize = 2;

/// The maximum number of tracked peer addresses. Beyond that, only the total limit applies.
const MAX_PEERS: usize = 4_096;

const SECOND: u64 = 1_000;

/// A token bucket. It counts in thousandths of a token, so that slow buckets fill up as well.
#[derive(Debug, Clone, Copy)]
pub(super) struct TokenBucket {
    capacity: u64,
    rate: u64,
    tokens: u64,
    filled: u64,
}

impl TokenBucket {
    /// Creates a full bucket. `rate` is in thousandths of a token per second.
    pub(super) fn new(capacity: usize, rate: usize) -> Self {
        let (capacity, rate) = ((capacity as u64).saturating_mul(SECOND), rate as u64);
        Self { capacity, rate: rate.max(1), tokens: capacity, filled: 0 }
    }

    fn fill(&mut self, now: u64) {
        let elapsed = now.saturating_sub(self.filled);
        let more = elapsed.saturating_mul(self.rate) / SECOND;
        self.tokens = self.tokens.saturating_add(more).min(self.capacity);
        // Advances only by the time that was converted to tokens, so that frequent calls lose no fraction.
        self.filled += more.saturating_mul(SECOND) / self.rate;
    }

    /// Takes a token, or returns the number of seconds until one is available.
    pub(super) fn take(&mut self, now: u64) -> Result<(), u64> {
        self.fill(now);
        match self.tokens.checked_sub(SECOND) {
            Some(rest) => {
                self.tokens = rest;
                Ok(())
            }
            None => Err((SECOND - self.tokens).div_ceil(self.rate).max(1)),
        }
    }

    pub(super) fn give_back(&mut self) {
        self.tokens = (self.tokens + SECOND).min(self.capacity);
    }

    fn is_full(&mut self, now: u64) -> bool {
        self.fill(now);
        self.tokens == self.capacity
    }
}

/// Limits how fast sessions are opened, per peer and in total.
#[derive(Debug)]
pub(super) struct OpeningRate {
    total: TokenBucket,
    /// The initial bucket of a peer.
    peer: TokenBucket,
    peers: HashMap<IpAddr, TokenBucket>,
}

impl OpeningRate {
    /// The rate for this number of sessions.
    pub(super) fn new(sessions: usize) -> Self {
        let burst = (sessions / 5 * 2).clamp(MIN_BURST, MAX_BURST);
        let rate = (sessions / 10).clamp(MIN_RATE, MAX_RATE) * SECOND as usize;
        let total = TokenBucket::new(burst, rate);
        Self { total, peer: TokenBucket::new(burst / 2, rate / 2), peers: HashMap::new() }
    }

    /// Admits a new session of a peer, identified by [`network`], or returns the number of seconds to wait.
    pub(super) fn take(&mut self, peer: IpAddr, now: u64) -> Result<(), u64> {
        if self.peers.len() >= MAX_PEERS && !self.peers.contains_key(&peer) {
            self.peers.retain(|_, bucket| !bucket.is_full(now));
        }
        let has_room = self.peers.len() < MAX_PEERS || self.peers.contains_key(&peer);
        let bucket = has_room.then(|| self.peers.entry(peer).or_insert(self.peer));
        match bucket {
            Some(bucket) => {
                bucket.take(now)?;
                self.total.take(now).inspect_err(|_| bucket.give_back())
            }
            None => self.total.take(now),
        }
    }

    /// Returns the token of a session that its client has closed properly.
    pub(super) fn give_back(&mut self, peer: IpAddr) {
        self.total.give_back();
        if let Some(bucket) = self.peers.get_mut(&peer) {
            bucket.give_back();
        }
    }
}

/// The network that identifies a peer: a single IPv4 address, an IPv6 /64, or this machine, which has millions of
/// addresses of its own. This corresponds to what a provider assigns to one customer.
pub(super) fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        address if address.is_loopback() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
        address => address,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        network(text.parse().unwrap())
    }

    #[test]
    fn a_bucket_allows_its_burst_and_then_its_rate() {
        let mut bucket = TokenBucket::new(3, 500);
        assert_eq!([1, 1, 1, 1].map(|now| bucket.take(now)), [Ok(()), Ok(()), Ok(()), Err(2)]);
        assert_eq!(bucket.take(1_900), Err(1), "nearly there");
        assert_eq!(bucket.take(2_001), Ok(()));
        assert_eq!(bucket.take(2_002), Err(2));
        bucket.give_back();
        assert_eq!(bucket.take(2_003), Ok(()));
        let granted = (0..10).filter(|_| bucket.take(1_000_000).is_ok()).count();
        assert_eq!(granted, 3, "it never holds more than its burst");
    }

    #[test]
    fn frequent_requests_do_not_keep_a_bucket_empty() {
        let mut bucket = TokenBucket::new(1, 10);
        let granted = (0..200_000).filter(|now| bucket.take(*now).is_ok()).count();
        assert_eq!(granted, 2, "one at once, and one after a hundred seconds");
    }

    #[test]
    fn sessions_are_limited_per_peer_and_in_total() {
        let mut rate = OpeningRate::new(1_000);
        let burst =
            |rate: &mut OpeningRate, peer: &str| (0..1_000).filter(|_| rate.take(address(peer), 1).is_ok()).count();
        assert_eq!(burst(&mut rate, "192.0.2.1"), 200);
        assert_eq!(burst(&mut rate, "::ffff:192.0.2.1"), 0, "the same address, written as IPv6");
        assert_eq!(burst(&mut rate, "2001:db8::1"), 200);
        assert_eq!(burst(&mut rate, "2001:db8::2"), 0, "the same network");
        assert_eq!(burst(&mut rate, "192.0.2.2"), 0, "all together");
        assert_eq!(address("127.9.9.9"), address("::1"), "this machine is one peer");
        rate.give_back(address("192.0.2.1"));
        assert_eq!(burst(&mut rate, "192.0.2.1"), 1);
        let later = (0..1_000).filter(|_| rate.take(address("192.0.2.1"), 1_001).is_ok()).count();
        assert_eq!(later, 50);
    }

    #[test]
    fn the_memory_for_peers_is_bounded() {
        let mut rate = OpeningRate::new(1_000);
        for index in 0..3 * MAX_PEERS as u32 {
            // One second apart, so that the total limit is never reached.
            let _ = rate.take(IpAddr::V4(index.into()), u64::from(index) * SECOND);
            assert!(rate.peers.len() <= MAX_PEERS);
        }
        let mut rate = OpeningRate::new(1_000);
        for index in 0..3 * MAX_PEERS as u32 {
            let _ = rate.take(IpAddr::V4(index.into()), 1);
        }
        assert!(rate.peers.len() <= MAX_PEERS);
    }
}
