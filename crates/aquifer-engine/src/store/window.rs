//! The arithmetic of a sliding window, the same for every store.
//!
//! A window consists of sixty buckets of equal width. An amount is added to the bucket of its time. The bucket that
//! slides out counts in proportion to the part that is still inside, in thousandths, rounded up. A key therefore needs
//! a bounded number of values. All values are integers below 2^53, because the scripting language of a store may only
//! have floating point numbers.

use std::time::Duration;

use super::SpendResult;

const BUCKETS: u64 = 60;
const THOUSANDTHS: u64 = 1000;
/// About 34 years, in milliseconds.
const MAX_WINDOW_MILLIS: u64 = 1 << 40;

/// A sliding window. Amounts belong to a key and a window: with another window, counting starts again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    width: u64,
}

impl Window {
    /// The maximum amount. More is never accepted, whatever the limit.
    pub const MAX_AMOUNT: u64 = 1 << 43;

    /// A window of this length in milliseconds, rounded up so that its buckets are equal.
    pub fn new(length: Duration) -> Self {
        let length = u64::try_from(length.as_millis()).unwrap_or(MAX_WINDOW_MILLIS).min(MAX_WINDOW_MILLIS);
        Self { width: length.div_ceil(BUCKETS).max(1) }
    }

    pub(super) fn from_width(width: u64) -> Self {
        Self { width: width.max(1) }
    }

    /// The width of a bucket in milliseconds. It identifies the window.
    pub fn width(self) -> u64 {
        self.width
    }

    /// The bucket of a time, in milliseconds since the epoch.
    pub fn bucket(self, now: u64) -> u64 {
        now / self.width
    }

    /// The buckets that may still count. A clock that was set back leaves buckets in the future. They count, except
    /// those further ahead than the length of the window: otherwise one wrong time could block a key for years.
    pub fn live_buckets(self, now: u64) -> std::ops::RangeInclusive<u64> {
        let bucket = self.bucket(now);
        bucket.saturating_sub(BUCKETS)..=bucket.saturating_add(BUCKETS)
    }

    /// The time at which a bucket stops counting.
    pub fn expiry(self, bucket: u64) -> u64 {
        bucket.saturating_add(BUCKETS + 1).saturating_mul(self.width)
    }

    /// Whether `amount` more stays within `limit`. `buckets` are the live buckets with their amounts, in ascending
    /// order. If the amount is accepted, the caller adds it to the current bucket.
    pub fn check(self, buckets: &[(u64, u64)], now: u64, amount: u64, limit: u64) -> SpendResult {
        let living = self.live_buckets(now);
        let limit = limit.min(Self::MAX_AMOUNT);
        let counted = || buckets.iter().filter(|(bucket, _)| living.contains(bucket));
        let sum = counted().map(|(_, spent)| *spent).fold(0, u64::saturating_add);
        // Only the first bucket can be that old.
        let sliding = counted().next().filter(|(bucket, _)| bucket.saturating_add(BUCKETS) == self.bucket(now));
        let total = match sliding {
            Some((_, spent)) => sum - spent + self.inside(*spent, self.width - now % self.width),
            None => sum,
        };
        if total.saturating_add(amount) <= limit {
            return SpendResult { accepted: true, total: total + amount, retry_after: Duration::ZERO };
        }
        if amount > limit {
            return SpendResult { accepted: false, total, retry_after: Duration::MAX };
        }
        // While a bucket slides out, all later ones still count in full.
        let mut later = sum;
        for (bucket, spent) in counted() {
            later = later.saturating_sub(*spent);
            let Some(room) = (limit - amount).checked_sub(later) else { continue };
            let share = room.saturating_mul(THOUSANDTHS).checked_div(*spent).unwrap_or(THOUSANDTHS).min(THOUSANDTHS);
            let moment = self.expiry(*bucket) - share * self.width / THOUSANDTHS;
            return SpendResult {
                accepted: false,
                total,
                retry_after: Duration::from_millis(moment.saturating_sub(now).max(1)),
            };
        }
        SpendResult { accepted: false, total, retry_after: Duration::from_millis(1) }
    }

    /// The share of a bucket of which this many milliseconds are still inside.
    fn inside(self, spent: u64, left: u64) -> u64 {
        let share = (left * THOUSANDTHS).div_ceil(self.width);
        spent.saturating_mul(share).div_ceil(THOUSANDTHS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Window = Window { width: 1000 };

    #[test]
    fn r_saf_4_a_bucket_that_slides_out_counts_in_proportion() {
        let spent = [(100, 100), (101, 7)];
        // (milliseconds into bucket 160, expected total)
        for (into, total) in [(0, 107), (1, 107), (500, 57), (990, 8), (999, 8)] {
            assert_eq!(MINUTE.check(&spent, 160_000 + into, 0, 1_000).total, total, "after {into} ms");
        }
        assert_eq!(MINUTE.check(&spent, 161_000, 0, 1_000).total, 7);
        assert_eq!(MINUTE.check(&spent, 162_000, 0, 1_000).total, 0);
    }

    #[test]
    fn r_saf_4_retry_after_is_exact() {
        let spent = [(100, 100), (130, 50), (159, 50)];
        let now = 159_500;
        for (amount, limit) in [(1, 200), (50, 200), (99, 200), (100, 200), (125, 200), (151, 200), (200, 200), (3, 77)]
        {
            let result = MINUTE.check(&spent, now, amount, limit);
            assert!(!result.accepted, "{amount}");
            let then = now + result.retry_after.as_millis() as u64;
            assert!(MINUTE.check(&spent, then, amount, limit).accepted, "{amount} fits after the reported delay");
            assert!(!MINUTE.check(&spent, then - 1, amount, limit).accepted, "{amount} does not fit before");
        }
    }

    #[test]
    fn r_saf_4_an_amount_above_the_limit_is_never_accepted() {
        assert_eq!(MINUTE.check(&[], 0, 6, 5), SpendResult { accepted: false, total: 0, retry_after: Duration::MAX });
        assert!(!MINUTE.check(&[], 0, u64::MAX, u64::MAX).accepted);
        assert!(MINUTE.check(&[], 0, Window::MAX_AMOUNT, u64::MAX).accepted);
    }

    #[test]
    fn r_saf_4_a_clock_set_back_does_not_block_a_key_for_long() {
        let spent = [(1_000, 5)];
        assert!(!MINUTE.check(&spent, 990_000, 1, 5).accepted, "ten seconds back, it still counts");
        assert!(MINUTE.check(&spent, 900_000, 1, 5).accepted, "further back than the window, it does not");
    }
}
