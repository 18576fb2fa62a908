//! Delays between attempts, including those that a target requests.

use std::time::Duration;

use aquifer_net::{retry_after, time_until_reset};
use jiff::Timestamp;
use reqwest::header::HeaderMap;

/// The maximum number of attempts after the first one.
pub(super) const MAX_RETRIES: u32 = 2;

/// The delay before a retry: exponential backoff, multiplied by a random factor between 0.5 and 1.5. Attempts are
/// counted from one.
pub(super) fn backoff(delay: Duration, attempt: u32) -> Duration {
    let regular = delay.saturating_mul(1 << attempt.saturating_sub(1).min(8));
    let jitter = getrandom::u32().map_or(0.5, |random| f64::from(random) / f64::from(u32::MAX));
    regular.mul_f64(0.5 + jitter)
}

/// The wait that an error response requests.
pub(super) fn requested_wait(status: u16, headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let is_requested = matches!(status, 429 | 503);
    is_requested.then(|| retry_after(headers, now).or_else(|| time_until_reset(headers, now))).flatten()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn refusals_request_waits() {
        let now: Timestamp = "2026-01-28T12:00:00Z".parse().unwrap();
        for (status, pairs, expected) in [
            (429, &[("retry-after", "7")][..], Some(7)),
            (429, &[("retry-after", "soon")], None),
            (429, &[], None),
            (429, &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "9")], Some(9)),
            (429, &[("x-ratelimit-remaining", "1"), ("x-ratelimit-reset", "9")], None),
            (503, &[("retry-after", "5")], Some(5)),
            (500, &[("retry-after", "5")], None),
        ] {
            let pair = |(name, value): &(&'static str, &'static str)| {
                (HeaderName::from_static(name), HeaderValue::from_static(value))
            };
            let headers: HeaderMap = pairs.iter().map(pair).collect();
            let actual = requested_wait(status, &headers, now).map(|wait| wait.as_secs());
            assert_eq!(actual, expected, "{status} {pairs:?}");
        }
    }

    #[test]
    fn pauses_grow_and_vary() {
        let delay = Duration::from_millis(100);
        for attempt in 1..=3 {
            let regular = delay * (1 << (attempt - 1));
            let pause = backoff(delay, attempt);
            assert!(pause >= regular / 2 && pause <= regular * 3 / 2, "{attempt} {pause:?}");
        }
        assert!(backoff(delay, u32::MAX) < Duration::from_secs(60));
    }
}
