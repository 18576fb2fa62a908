//! Throttles a warning, so that a client that floods the server does not flood the log as well.

use std::sync::atomic::{AtomicU64, Ordering};

/// Milliseconds between two warnings of one kind.
const INTERVAL_MS: u64 = 60_000;

#[derive(Debug, Default)]
pub(super) struct WarningThrottle(AtomicU64);

impl WarningThrottle {
    /// Whether it is time to warn again. `now` is in milliseconds and never zero.
    pub(super) fn is_due(&self, now: u64) -> bool {
        let is_due = |last: u64| (last == 0 || now.saturating_sub(last) >= INTERVAL_MS).then_some(now);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, is_due).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_due_once_a_minute() {
        let throttle = WarningThrottle::default();
        let due: Vec<u64> = (1..=200).map(|second| second * 1_000).filter(|now| throttle.is_due(*now)).collect();
        assert_eq!(due, [1_000, 61_000, 121_000, 181_000]);
    }
}
