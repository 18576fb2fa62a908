//! Delays between attempts, including those that a target requests.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::{HeaderMap, RETRY_AFTER};

/// The maximum number of attempts after the first one.
pub(super) const MAX_RETRIES: u32 = 2;

/// The maximum wait that is reported, in case a header is wrong.
const MAX_WAIT: Duration = Duration::from_secs(60 * 60);

/// Numbers from here on are Unix times; smaller ones are seconds to wait. Servers use both.
const MIN_UNIX_TIME: u64 = 1_000_000_000;

/// The delay before a retry: exponential backoff, multiplied by a random factor between 0.5 and 1.5. Attempts are
/// counted from one.
pub(super) fn backoff(delay: Duration, attempt: u32) -> Duration {
    let regular = delay.saturating_mul(1 << attempt.saturating_sub(1).min(8));
    let jitter = getrandom::u32().map_or(0.5, |random| f64::from(random) / f64::from(u32::MAX));
    regular.mul_f64(0.5 + jitter)
}

/// The wait that an error response requests.
pub(super) fn requested_wait(status: u16, headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    if !matches!(status, 429 | 503) {
        return None;
    }
    let header = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()).and_then(|text| parse_wait(text, now));
    header.or_else(|| time_until_reset(headers, now))
}

/// The time until an exhausted rate limit resets.
fn time_until_reset(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    ["ratelimit", "x-ratelimit"].into_iter().find_map(|prefix| {
        let remaining = text(&format!("{prefix}-remaining"))?.trim();
        if remaining != "0" { None } else { parse_wait(text(&format!("{prefix}-reset"))?, now) }
    })
}

/// Parses a number of seconds, a Unix time or an HTTP date.
pub(super) fn parse_wait(text: &str, now: Timestamp) -> Option<Duration> {
    let text = text.trim();
    let until = |moment: Timestamp| Duration::try_from(moment.duration_since(now)).unwrap_or_default();
    let wait = match text.parse::<u64>() {
        Ok(seconds) if seconds < MIN_UNIX_TIME => Duration::from_secs(seconds),
        Ok(seconds) => until(Timestamp::from_second(i64::try_from(seconds).ok()?).ok()?),
        Err(_) => until(jiff::fmt::rfc2822::parse(text).ok()?.timestamp()),
    };
    Some(wait.min(MAX_WAIT))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn waits_are_parsed() {
        let now: Timestamp = "2026-01-28T12:00:00Z".parse().unwrap();
        for (status, pairs, expected) in [
            (429, &[("retry-after", "7")][..], Some(7)),
            (429, &[("retry-after", "Wed, 28 Jan 2026 12:00:30 GMT")], Some(30)),
            (429, &[("retry-after", "Wed, 28 Jan 2026 11:00:00 GMT")], Some(0)),
            (429, &[("retry-after", "1769601612")], Some(12)),
            (429, &[("retry-after", "999999999")], Some(3600)),
            (429, &[("retry-after", "99999999999999999999")], None),
            (429, &[("retry-after", "-1")], None),
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
