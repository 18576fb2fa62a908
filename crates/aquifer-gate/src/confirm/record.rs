//! The record of a token in the store. It does not contain the token.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::edit::RecordedEdit;
use super::scope::{Scope, ScopeMismatch};
use super::token::Purpose;
use crate::destination::Remember;
use crate::strength::Strength;

/// How long the record of an expired or used token is kept, so that it stays distinguishable from one that never
/// existed.
pub(super) const RECORD_TTL_AFTER_END: Duration = Duration::from_secs(45 * 60);

/// The record of a token.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct TokenRecord {
    pub(super) purpose: Purpose,
    pub(super) scope: Scope,
    /// How strong the confirmation is.
    pub(super) strength: Strength,
    pub(super) state: TokenState,
    /// The end of the cooldown.
    pub(super) ready_at: Timestamp,
    pub(super) expires_at: Timestamp,
    /// The key of the record that counts instead: this token was issued for a call that already waits for an approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) same_as: Option<String>,
    /// The approval's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) approval: Option<String>,
    /// The digest of the call that the person is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) call: Option<String>,
    /// The person's decision. `None` before it, and in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) decision: Option<RecordedDecision>,
    /// How the person changed the call before approving it. The scope is then the one of the changed call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) edit: Option<RecordedEdit>,
    /// When it was consumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) used_at: Option<Timestamp>,
}

/// Who decided about a call, and why. Stored with the state, so that every process tells the same.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RecordedDecision {
    pub(super) by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    /// What is remembered about the destinations of an approved call.
    #[serde(default)]
    pub(super) remember: Remember,
}

impl RecordedDecision {
    pub(super) fn new(by: impl Into<String>, reason: Option<String>) -> Self {
        Self { by: by.into(), reason, remember: Remember::default() }
    }
}

/// The state of a token. A person may approve after denying and deny after approving; nothing leads back from `Used`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TokenState {
    /// Waiting for an approval.
    Pending,
    /// Can be used.
    Ready,
    /// Denied by a person.
    Denied,
    /// Used.
    Used,
}

impl TokenRecord {
    /// A record that can be used between these times.
    pub(super) fn new(
        purpose: Purpose,
        scope: Scope,
        strength: Strength,
        (ready_at, expires_at): (Timestamp, Timestamp),
    ) -> Self {
        Self {
            purpose,
            scope,
            strength,
            state: TokenState::Ready,
            ready_at,
            expires_at,
            same_as: None,
            approval: None,
            call: None,
            decision: None,
            edit: None,
            used_at: None,
        }
    }

    pub(super) fn is_expired(&self, now: Timestamp, skew: Duration) -> bool {
        now > saturating_add(self.expires_at, skew)
    }

    /// Whether `scope` is the call before a person edited it. `difference` is how it differs from the approved call.
    pub(super) fn is_edit_of(&self, scope: &Scope, difference: Option<ScopeMismatch>) -> bool {
        difference == Some(ScopeMismatch::Params) && self.edit.as_ref().is_some_and(|edit| edit.original == *scope)
    }

    /// How long the record has to be kept.
    pub(super) fn keep(&self, now: Timestamp, skew: Duration) -> Duration {
        let until = saturating_add(saturating_add(self.expires_at, skew), RECORD_TTL_AFTER_END);
        Duration::try_from(until.duration_since(now)).unwrap_or(Duration::ZERO).max(Duration::from_secs(1))
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        // Text, numbers and names are always valid JSON.
        serde_json::to_vec(self).unwrap_or_default()
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }
}

/// Adds a duration, saturating at the largest timestamp.
pub(super) fn saturating_add(time: Timestamp, by: Duration) -> Timestamp {
    SignedDuration::try_from(by).ok().and_then(|by| time.checked_add(by).ok()).unwrap_or(Timestamp::MAX)
}

/// Formats a time with second precision, as shown to callers.
pub(crate) fn format_seconds(time: Timestamp) -> String {
    Timestamp::from_second(time.as_second()).unwrap_or(time).to_string()
}
