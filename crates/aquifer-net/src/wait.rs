//! Waits that servers ask for.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::{HeaderMap, RETRY_AFTER};

/// The longest wait, because a header may be wrong.
const MAX_WAIT: Duration = Duration::from_secs(60 * 60);

/// Numbers from here on are Unix times; smaller ones are seconds to wait. Servers use both.
const MIN_UNIX_TIME: u64 = 1_000_000_000;

/// The wait in `Retry-After`.
pub fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    parse_wait(headers.get(RETRY_AFTER)?.to_str().ok()?, now)
}

/// The time until an exhausted rate limit resets: `RateLimit-Remaining: 0` with `RateLimit-Reset`, or the same with the
/// prefix `X-`.
pub fn time_until_reset(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    ["ratelimit", "x-ratelimit"].into_iter().find_map(|prefix| {
        let remaining = text(&format!("{prefix}-remaining"))?.trim();
        if remaining != "0" { None } else { parse_wait(text(&format!("{prefix}-reset"))?, now) }
    })
}

/// Parses a number of seconds, a Unix time or an HTTP date.
pub fn parse_wait(text: &str, now: Timestamp) -> Option<Duration> {
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
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn r_saf_4_waits_are_parsed() {
        let now: Timestamp = "2026-01-28T12:00:00Z".parse().unwrap();
        for (text, expected) in [
            ("7", Some(7)),
            (" 7 ", Some(7)),
            ("Wed, 28 Jan 2026 12:00:30 GMT", Some(30)),
            ("Wed, 28 Jan 2026 11:00:00 GMT", Some(0)),
            ("1769601612", Some(12)),
            ("999999999", Some(3600)),
            ("99999999999999999999", None),
            ("-1", None),
            ("soon", None),
        ] {
            assert_eq!(parse_wait(text, now).map(|wait| wait.as_secs()), expected, "{text}");
        }
    }

    #[test]
    fn r_saf_4_exhausted_limits_are_recognized() {
        let now: Timestamp = "2026-01-28T12:00:00Z".parse().unwrap();
        for (pairs, expected) in [
            (&[("ratelimit-remaining", "0"), ("ratelimit-reset", "20")][..], Some(20)),
            (&[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1769601660")], Some(60)),
            (&[("ratelimit-remaining", "1"), ("ratelimit-reset", "20")], None),
            (&[("ratelimit-remaining", "0")], None),
            (&[], None),
        ] {
            let pair = |(name, value): &(&'static str, &'static str)| {
                (HeaderName::from_static(name), HeaderValue::from_static(value))
            };
            let headers: HeaderMap = pairs.iter().map(pair).collect();
            assert_eq!(time_until_reset(&headers, now).map(|wait| wait.as_secs()), expected, "{pairs:?}");
        }
    }
}
