//! Rate limits that an HTTP server announces (R-SAF-4).
//!
//! These are `Retry-After` in a refusal (429, 503) and an exhausted allowance: `RateLimit-Remaining: 0` with
//! `RateLimit-Reset`, or the same headers with the prefix `X-`. Until the limit expires, calls fail here with the
//! remaining time and the server is not contacted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use aquifer_net::{retry_after, time_until_reset};
use jiff::Timestamp;
use reqwest::StatusCode;
use reqwest::header::HeaderMap;

/// The wait if the server specifies none.
const DEFAULT_WAIT: Duration = Duration::from_secs(1);

/// The time until which requests to a server are refused.
pub(crate) struct RateLimit {
    started_at: Instant,
    /// In milliseconds after `started_at`.
    until: AtomicU64,
}

impl RateLimit {
    pub(crate) fn new() -> Self {
        Self { started_at: Instant::now(), until: AtomicU64::new(0) }
    }

    /// The time left until the server accepts requests again.
    pub(crate) fn remaining_wait(&self) -> Option<Duration> {
        let until = Duration::from_millis(self.until.load(Ordering::Relaxed));
        until.checked_sub(self.started_at.elapsed()).filter(|wait| !wait.is_zero())
    }

    /// Records the headers of a response. Returns the wait if the response is a refusal because of a rate limit.
    pub(crate) fn record(&self, status: StatusCode, headers: &HeaderMap) -> Option<Duration> {
        let refused = requested_wait(status, headers, Timestamp::now());
        let wait = refused.or_else(|| time_until_reset(headers, Timestamp::now()))?;
        let until = self.started_at.elapsed() + wait;
        self.until.fetch_max(u64::try_from(until.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
        refused
    }
}

/// The wait that a refusal asks for, if it is caused by a rate limit.
fn requested_wait(status: StatusCode, headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let header = retry_after(headers, now);
    match status {
        StatusCode::TOO_MANY_REQUESTS => {
            Some(header.or_else(|| time_until_reset(headers, now)).unwrap_or(DEFAULT_WAIT))
        }
        StatusCode::SERVICE_UNAVAILABLE => header,
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    type HeaderPairs = &'static [(&'static str, &'static str)];

    fn headers(all: HeaderPairs) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        all.iter().map(pair).collect()
    }

    #[test]
    fn r_saf_4_refusals_request_waits() {
        let now: Timestamp = "2026-01-28T12:00:00Z".parse().unwrap();
        let table: &[(u16, HeaderPairs, Option<u64>)] = &[
            (429, &[], Some(1)),
            (429, &[("retry-after", "7")], Some(7)),
            (429, &[("retry-after", "soon")], Some(1)),
            (429, &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "9")], Some(9)),
            (503, &[], None),
            (503, &[("retry-after", "5")], Some(5)),
            (200, &[("retry-after", "5")], None),
            (404, &[], None),
        ];
        for (status, header, expected) in table {
            let status = StatusCode::from_u16(*status).unwrap();
            let found = requested_wait(status, &headers(header), now);
            assert_eq!(found.map(|wait| wait.as_secs()), *expected, "{status} {header:?}");
        }
    }

    #[test]
    fn r_saf_4_the_longest_wait_counts() {
        let rate_limit = RateLimit::new();
        assert!(rate_limit.remaining_wait().is_none());
        let ok = StatusCode::OK;
        assert!(rate_limit.record(ok, &headers(&[("ratelimit-remaining", "0"), ("ratelimit-reset", "500")])).is_none());
        let refused = rate_limit.record(StatusCode::TOO_MANY_REQUESTS, &headers(&[("retry-after", "2")]));
        assert_eq!(refused, Some(Duration::from_secs(2)));
        assert!(rate_limit.remaining_wait().unwrap() > Duration::from_secs(400));
    }
}
