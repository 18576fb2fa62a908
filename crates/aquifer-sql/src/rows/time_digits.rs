//! The number of digits after the second with which a column's times are written.
//!
//! It is the same for all values of a column, so that times sort as text in the order of time: `05.050Z` is before
//! `05.056Z`, but `05.05Z` is after it. PostgreSQL declares it (six digits by default). In SQLite the sampled values
//! show it; a value with more digits than any before it is written with all of them, and so is every value after it.
//! Answers that were being written are written again (`work/read.rs`).

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// The digits of PostgreSQL's times, unless the column declares fewer.
pub(crate) const MICROSECONDS: u8 = 6;
/// The digits of the finest times that are distinguished.
pub(crate) const NANOSECONDS: u8 = 9;

static WIDENED: AtomicU64 = AtomicU64::new(0);

/// How many times a column got more digits. An answer during which this changed may show times of both widths.
pub(crate) fn widened_count() -> u64 {
    WIDENED.load(Ordering::Relaxed)
}

/// The digits of a column's times. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct TimeDigits(Arc<AtomicU8>);

impl TimeDigits {
    pub(crate) fn new(digits: u8) -> Self {
        Self(Arc::new(AtomicU8::new(digits.min(NANOSECONDS))))
    }

    /// The digits to write a value with that has this many without trailing zeros. Later values have as many.
    pub(crate) fn for_value(&self, significant: u8) -> u8 {
        let digits = self.get();
        if significant <= digits {
            return digits;
        }
        self.0.fetch_max(significant.min(NANOSECONDS), Ordering::Relaxed);
        WIDENED.fetch_add(1, Ordering::Relaxed);
        self.get()
    }

    pub(crate) fn get(&self) -> u8 {
        self.0.load(Ordering::Relaxed)
    }
}

impl PartialEq for TimeDigits {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for TimeDigits {}

/// The digits of a fraction in nanoseconds, without trailing zeros.
pub(crate) fn significant_digits(nanos: i128) -> u8 {
    (0..9).find(|digits| nanos % 10_i128.pow(9 - u32::from(*digits)) == 0).unwrap_or(9)
}
