//! Limits how many refusals are written to the audit. Audit files have a bounded size and drop their oldest entries, so
//! a caller that provokes many refusals could push out the record of real operations. Only a limited number of refusals
//! per event, principal and minute is written individually; the rest are counted, and the count is written. Unknown
//! callers share one count.

use std::collections::HashMap;

use jiff::Timestamp;
use parking_lot::Mutex;

use super::entry::{Entry, Event};

/// Refusals per event, principal and minute that are written individually.
pub(super) const MAX_LISTED_PER_MINUTE: u64 = 120;

/// Maximum number of principals with a count of their own.
const MAX_PRINCIPALS: usize = 1_000;

#[derive(Debug, Default)]
pub(super) struct RefusalLimiter(Mutex<HashMap<Key, RefusalCount>>);

/// The event and the principal.
type Key = (&'static str, Option<String>);

#[derive(Debug, Clone, Copy)]
struct RefusalCount {
    minute: i64,
    count: u64,
}

impl RefusalCount {
    /// Refusals above the limit, which are only counted.
    fn unlisted(self) -> u64 {
        self.count.saturating_sub(MAX_LISTED_PER_MINUTE)
    }
}

impl RefusalLimiter {
    /// Counts a refusal. Returns whether it is written individually, and entries for the counts of past minutes.
    pub(super) fn count(&self, key: (&'static str, Option<&str>), now: Timestamp) -> (bool, Vec<Entry>) {
        let minute = now.as_second().div_euclid(60);
        let mut counts = self.0.lock();
        let over = take(&mut counts, |count| count.minute != minute);
        let key = (key.0, key.1.map(str::to_owned));
        let key = if counts.len() < MAX_PRINCIPALS || counts.contains_key(&key) { key } else { (key.0, None) };
        let entry = counts.entry(key).or_insert(RefusalCount { minute, count: 0 });
        entry.count += 1;
        (entry.count <= MAX_LISTED_PER_MINUTE, over)
    }

    /// Returns entries for all counts that are not written yet.
    pub(super) fn drain(&self) -> Vec<Entry> {
        take(&mut self.0.lock(), |_| true)
    }
}

fn take(counts: &mut HashMap<Key, RefusalCount>, is_over: impl Fn(&RefusalCount) -> bool) -> Vec<Entry> {
    let mut entries = Vec::new();
    counts.retain(|(event, who), count| {
        if !is_over(count) {
            return true;
        }
        if count.unlisted() > 0 {
            let words = format!("{} more within a minute were counted and not written individually", count.unlisted());
            entries.push(Entry::new(Event::Counted).code(event).reason(&words).user(who.as_deref()));
        }
        false
    });
    entries
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(60_000 + second).unwrap()
    }

    #[test]
    fn r_saf_5_refusals_above_the_limit_are_counted_and_the_count_is_written() {
        let limiter = RefusalLimiter::default();
        let count = |event, who, second| limiter.count((event, who), at(second));
        for number in 1..=MAX_LISTED_PER_MINUTE + 50 {
            let (written, over) = count("DENIED", Some("anna"), 0);
            assert_eq!((written, over.len()), (number <= MAX_LISTED_PER_MINUTE, 0));
        }
        assert!(count("DENIED", Some("berta"), 1).0 && count("REJECTED", Some("anna"), 1).0, "each apart");
        let (written, over) = count("DENIED", Some("anna"), 60);
        assert!(written, "a new minute");
        let text = serde_json::to_string(&over).unwrap();
        assert!(over.len() == 1 && text.contains("50 more") && text.contains("anna"), "{text}");
        assert!(limiter.drain().is_empty(), "nothing was counted since");
    }

    #[test]
    fn r_saf_5_counts_are_written_at_the_end_and_names_are_bounded() {
        let limiter = RefusalLimiter::default();
        for number in 0..MAX_PRINCIPALS + 200 {
            limiter.count(("DENIED", Some(&format!("nobody {number}"))), at(0));
        }
        assert!(limiter.0.lock().len() <= MAX_PRINCIPALS + 1);
        let text = serde_json::to_string(&limiter.drain()).unwrap();
        assert!(text.contains(&format!("{} more", 200 - MAX_LISTED_PER_MINUTE)), "{text}");
        assert!(limiter.drain().is_empty());
    }
}
