//! The rate limit that a refused request has reached, as far as the headers of the response tell it.
//!
//! Read are `RateLimit-Limit`, `-Remaining`, `-Reset`, the same with `X-` (common practice), `RateLimit` and
//! `RateLimit-Policy` (the IETF draft, in its older and newer notation), and `Retry-After`.

use aquifer_net::{parse_wait, retry_after};
use aquifer_protocol::error::Failure;
use jiff::Timestamp;
use reqwest::header::HeaderMap;

/// A rate limit. What the target does not say is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RateLimit {
    limit: Option<u64>,
    remaining: Option<u64>,
    /// The length of its window, if it has one of the names that the specification knows.
    window: Option<&'static str>,
    resets_at: Option<Timestamp>,
}

impl RateLimit {
    pub(crate) fn from_headers(headers: &HeaderMap, now: Timestamp) -> Self {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let own = |name: &str| {
            let all = ["ratelimit", "x-ratelimit"].into_iter();
            all.filter_map(|prefix| text(&format!("{prefix}-{name}"))).next()
        };
        let (state, policy) = (text("ratelimit"), text("ratelimit-policy"));
        // A limit may be followed by its policy: `100, 100;w=60`.
        let number = |written: &str| written.split([',', ';']).next()?.trim().parse::<u64>().ok();
        let limit = own("limit").and_then(number).or_else(|| member(state, "limit")).or_else(|| member(policy, "q"));
        let remaining =
            own("remaining").and_then(number).or_else(|| member(state, "remaining")).or_else(|| member(state, "r"));
        let window = member(policy, "w").or_else(|| member(own("limit"), "w")).and_then(window_name);
        let reset = member(state, "reset").or_else(|| member(state, "t")).map(|seconds| seconds.to_string());
        let reset = own("reset").map(str::to_owned).or(reset);
        let wait = match reset {
            Some(text) => parse_wait(&text, now),
            None => retry_after(headers, now),
        };
        let resets_at = wait.and_then(|wait| now.checked_add(jiff::SignedDuration::try_from(wait).ok()?).ok());
        Self { limit, remaining, window, resets_at }
    }

    /// Adds what is known to the details of a failure.
    pub(crate) fn add_to(self, mut failure: Failure) -> Failure {
        for (name, value) in [("limit", self.limit), ("remaining", self.remaining)] {
            failure = if let Some(value) = value { failure.detail(name, value) } else { failure };
        }
        if let Some(window) = self.window {
            failure = failure.detail("window", window);
        }
        match self.resets_at {
            Some(at) => failure.detail("resets_at", at.to_string()),
            None => failure,
        }
    }
}

/// The number of a member such as `w=60`, in a list of members.
fn member(header: Option<&str>, name: &str) -> Option<u64> {
    let members = header?.split([',', ';']).filter_map(|member| member.split_once('='));
    members.filter(|(key, _)| key.trim().eq_ignore_ascii_case(name)).find_map(|(_, value)| value.trim().parse().ok())
}

/// The name of a window of this many seconds.
fn window_name(seconds: u64) -> Option<&'static str> {
    match seconds {
        1 => Some("second"),
        60 => Some("minute"),
        3_600 => Some("hour"),
        86_400 => Some("day"),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn r_saf_4_limits_of_targets_are_read_in_every_notation() {
        let now: Timestamp = "2026-01-28T12:00:00Z".parse().unwrap();
        let read = |pairs: &[(&'static str, &'static str)]| {
            let pairs =
                pairs.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
            RateLimit::from_headers(&pairs.collect(), now)
        };
        let at = |text: &str| Some(text.parse().unwrap());
        let limit = |limit, remaining, window, resets_at| RateLimit { limit, remaining, window, resets_at };
        for (headers, expected) in [
            (&[][..], RateLimit::default()),
            (&[("retry-after", "30")], limit(None, None, None, at("2026-01-28T12:00:30Z"))),
            (
                &[("x-ratelimit-limit", "60"), ("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1769601612")],
                limit(Some(60), Some(0), None, at("2026-01-28T12:00:12Z")),
            ),
            (
                &[("ratelimit-limit", "100, 100;w=60"), ("ratelimit-remaining", "0"), ("ratelimit-reset", "5")],
                limit(Some(100), Some(0), Some("minute"), at("2026-01-28T12:00:05Z")),
            ),
            (
                &[("ratelimit", "limit=10, remaining=0, reset=7"), ("ratelimit-policy", "10;w=3600")],
                limit(Some(10), Some(0), Some("hour"), at("2026-01-28T12:00:07Z")),
            ),
            (
                &[("ratelimit", "\"default\";r=0;t=9"), ("ratelimit-policy", "\"default\";q=1000;w=86400")],
                limit(Some(1_000), Some(0), Some("day"), at("2026-01-28T12:00:09Z")),
            ),
            (&[("ratelimit-limit", "many"), ("ratelimit-policy", "5;w=77")], RateLimit::default()),
        ] {
            assert_eq!(read(headers), expected, "{headers:?}");
        }
    }
}
