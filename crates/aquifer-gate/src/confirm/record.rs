//! What a store keeps of a token: never the token itself.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::scope::Scope;
use super::token::Purpose;
use crate::strength::Strength;

/// How long past its end a token is remembered, so that "expired" and "used" can be told from "never existed".
pub(super) const RECORD_TTL_AFTER_END: Duration = Duration::from_secs(45 * 60);

/// What is kept of a token.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct TokenRecord {
    pub(super) purpose: Purpose,
    pub(super) scope: Scope,
    /// How hard it is to come by.
    pub(super) strength: Strength,
    pub(super) state: TokenState,
    /// Before this it is too early.
    pub(super) ready_at: Timestamp,
    pub(super) expires_at: Timestamp,
    /// Under which name a person approves it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) approval: Option<String>,
    /// What identifies the call that this person is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) call: Option<String>,
}

/// Where a token is in its life. It only ever moves down this list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TokenState {
    /// A person has not said anything yet.
    Pending,
    /// It can be used: nobody has to be asked, or somebody said yes.
    Ready,
    /// A person said no.
    Denied,
    /// It was used.
    Used,
}

impl TokenRecord {
    pub(super) fn is_expired(&self, now: Timestamp, skew: Duration) -> bool {
        now > saturating_add(self.expires_at, skew)
    }

    /// How long it must still be kept.
    pub(super) fn keep(&self, now: Timestamp, skew: Duration) -> Duration {
        let until = saturating_add(saturating_add(self.expires_at, skew), RECORD_TTL_AFTER_END);
        Duration::try_from(until.duration_since(now)).unwrap_or(Duration::ZERO).max(Duration::from_secs(1))
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        // It consists of text, numbers and names: that is always JSON.
        serde_json::to_vec(self).unwrap_or_default()
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }
}

/// So much later, or the end of time.
pub(super) fn saturating_add(time: Timestamp, by: Duration) -> Timestamp {
    SignedDuration::try_from(by).ok().and_then(|by| time.checked_add(by).ok()).unwrap_or(Timestamp::MAX)
}

/// The moment as callers are told it: to the second.
pub(crate) fn format_seconds(time: Timestamp) -> String {
    Timestamp::from_second(time.as_second()).unwrap_or(time).to_string()
}
