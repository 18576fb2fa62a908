//! The latest time a store was used at, for stores that outlive the process.
//!
//! Such a store keeps this time under [`HIGH_WATER`]. It reads the time with every call and writes it with every change,
//! otherwise once a second. Processes with one store thus agree about the time, and a restarted process learns it. A clock
//! that was set back meanwhile does not revive anything that had expired.

use std::sync::Arc;

use jiff::Timestamp;

use super::milliseconds;
use crate::clock::{Clock as _, SteadyClock};

/// The key of the latest time the store was used at: milliseconds since the epoch, in decimal digits.
pub const HIGH_WATER: &str = "clock/high_water";

/// How far the stored time may be behind, in milliseconds, before a read updates it.
const WRITE_INTERVAL: u64 = 1000;

/// The clock of a store.
#[derive(Clone)]
pub struct HighWater {
    clock: Arc<SteadyClock>,
}

impl HighWater {
    /// Uses this clock.
    pub fn new(clock: Arc<SteadyClock>) -> Self {
        Self { clock }
    }

    /// Now, in milliseconds since the epoch.
    pub fn now(&self) -> u64 {
        milliseconds(self.clock.now())
    }

    /// Now, given the stored time. If that is later, the clock advances to it.
    pub fn now_after(&self, stored: u64) -> u64 {
        let now = self.now();
        if stored <= now {
            return now;
        }
        if let Some(moment) = i64::try_from(stored).ok().and_then(|stored| Timestamp::from_millisecond(stored).ok()) {
            self.clock.advance_to(moment);
        }
        self.now()
    }

    /// Whether a read has to update the stored time. A stored time that the clock did not accept is overwritten.
    pub fn is_due(stored: u64, now: u64) -> bool {
        stored.abs_diff(now) >= WRITE_INTERVAL
    }

    /// Parses the stored time; zero if it is invalid.
    pub fn parse(value: &[u8]) -> u64 {
        std::str::from_utf8(value).ok().and_then(|digits| digits.parse().ok()).unwrap_or(0)
    }
}
