//! The latest time a store was used at, for stores that outlive the process.
//!
//! Such a store keeps that time under [`HIGH_WATER`], reads it with every call and writes it with every change, else once
//! a second. That is how processes on one store agree about the time, and how a process that was restarted learns it: a
//! clock that was set back meanwhile brings back nothing that had expired or was counted.

use std::sync::Arc;

use jiff::Timestamp;

use super::milliseconds;
use crate::clock::{Clock as _, SteadyClock};

/// Where stores keep the latest time they were used at: milliseconds since the epoch, in decimal digits.
pub const HIGH_WATER: &str = "clock/high_water";

/// How far the kept time may be behind, in milliseconds, before a call that only reads writes it.
const WRITE_INTERVAL: u64 = 1000;

/// The time by which a store counts.
#[derive(Clone)]
pub struct HighWater {
    clock: Arc<SteadyClock>,
}

impl HighWater {
    /// Counts by this clock.
    pub fn new(clock: Arc<SteadyClock>) -> Self {
        Self { clock }
    }

    /// Now, in milliseconds since the epoch.
    pub fn now(&self) -> u64 {
        milliseconds(self.clock.now())
    }

    /// Now, given what the store has kept. If that is later, the clock learns it.
    pub fn now_after(&self, kept: u64) -> u64 {
        let now = self.now();
        if kept <= now {
            return now;
        }
        if let Some(moment) = i64::try_from(kept).ok().and_then(|kept| Timestamp::from_millisecond(kept).ok()) {
            self.clock.advance_to(moment);
        }
        self.now()
    }

    /// Whether a call that only reads has to write the time down. A kept time that the clock did not believe is
    /// overwritten.
    pub fn is_due(kept: u64, now: u64) -> bool {
        kept.abs_diff(now) >= WRITE_INTERVAL
    }

    /// What a store has kept; zero if that cannot be read.
    pub fn parse(value: &[u8]) -> u64 {
        std::str::from_utf8(value).ok().and_then(|digits| digits.parse().ok()).unwrap_or(0)
    }
}
