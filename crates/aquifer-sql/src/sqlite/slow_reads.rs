//! Remembers reads that were too slow to run inline, so that they go directly to a blocking thread.

use std::hash::BuildHasher as _;
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::fast::RandomState;

/// Number of statements that are remembered. A new one may replace an old one.
const SLOTS: usize = 256;
/// How often a statement skips the inline attempt before it is tried again: it may have been slow only because its
/// pages were on disk.
const MAX_SKIPS: u64 = 0xff;

/// Statements that were interrupted inline. A slot holds the hash of a text, with the number of skips in its last byte;
/// an empty slot is zero.
pub(super) struct SlowReads {
    hasher: RandomState,
    slots: Box<[AtomicU64]>,
}

impl SlowReads {
    pub(super) fn new() -> Self {
        Self { hasher: RandomState::default(), slots: (0..SLOTS).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Records that a statement was interrupted.
    pub(super) fn record(&self, text: &str) {
        if let Some((slot, hash)) = self.slot(text) {
            slot.store(hash, Ordering::Relaxed);
        }
    }

    /// Whether a statement should skip the inline attempt.
    pub(super) fn should_skip(&self, text: &str) -> bool {
        let Some((slot, hash)) = self.slot(text) else { return false };
        let entry = slot.load(Ordering::Relaxed);
        if entry & !MAX_SKIPS != hash {
            return false;
        }
        let is_forgotten = entry & MAX_SKIPS == MAX_SKIPS;
        // Two callers may count one skip: the count need not be exact.
        slot.store(if is_forgotten { 0 } else { entry + 1 }, Ordering::Relaxed);
        !is_forgotten
    }

    fn slot(&self, text: &str) -> Option<(&AtomicU64, u64)> {
        let hash = self.hasher.hash_one(text);
        let slot = self.slots.get(usize::try_from(hash % SLOTS as u64).ok()?)?;
        Some((slot, hash & !MAX_SKIPS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_statement_skips_the_inline_attempt_for_a_while() {
        let slow = SlowReads::new();
        assert!(!slow.should_skip("SELECT 1"));
        slow.record("SELECT 1");
        let skips = (0..1_000).take_while(|_| slow.should_skip("SELECT 1")).count();
        assert_eq!(skips as u64, MAX_SKIPS);
        assert!(!slow.should_skip("SELECT 1"));
    }

    #[test]
    fn other_statements_are_not_affected() {
        let slow = SlowReads::new();
        slow.record("SELECT 1");
        let affected = (2..2_000).filter(|n| slow.should_skip(&format!("SELECT {n}"))).count();
        assert_eq!(affected, 0);
        assert!(slow.should_skip("SELECT 1"));
    }
}
