//! An error response of a target.

use std::time::Duration;

use serde_json::{Map, Value};

use super::rate_limit::RateLimit;

/// A response whose status is not a success.
#[derive(Debug, Clone)]
pub(crate) struct StatusError {
    pub(crate) status: u16,
    /// The message of the target. Empty if there is none.
    pub(crate) text: String,
    /// Problem details (RFC 9457).
    pub(crate) problem: Option<Map<String, Value>>,
    /// How long the target asks to wait.
    pub(crate) wait: Option<Duration>,
    /// The rate limit, as far as the response tells it.
    pub(crate) rate_limit: RateLimit,
    /// The scope that a token needs.
    pub(crate) scope: Option<String>,
}
