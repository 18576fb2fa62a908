//! The status of an approval, and why an approval could not be read or decided.

use std::time::Duration;

use aquifer_engine::store::StoreError;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::record::{TokenRecord, TokenState, saturating_add};

/// The status of an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Nobody has decided yet.
    #[default]
    Pending,
    /// Approved, and not used yet.
    Approved,
    /// Denied.
    Denied,
    /// Approved and used.
    Used,
    /// Expired.
    Expired,
}

impl Status {
    /// The status as text.
    pub const fn as_str(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::Approved => "approved",
            Status::Denied => "denied",
            Status::Used => "used",
            Status::Expired => "expired",
        }
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why an approval could not be read or decided.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ApprovalError {
    /// There is no approval with this id.
    #[error("there is no approval '{0}': 'aquifer approvals list' shows those that wait")]
    Unknown(String),
    /// The approval was already decided, used or has expired.
    #[error("approval '{id}' is no longer open: it is {status}")]
    Over {
        /// The id.
        id: String,
        /// Its status.
        status: Status,
    },
    /// The stored call is missing, or does not match the token.
    #[error(
        "the call of approval '{0}' cannot be shown completely, so it cannot be approved. Have the caller send the \
         request again"
    )]
    Incomplete(String),
    /// The store is unavailable.
    #[error(transparent)]
    Store(#[from] StoreError),
}

pub(super) fn status(token_record: &TokenRecord, now: Timestamp) -> Status {
    match token_record.state {
        TokenState::Used => Status::Used,
        TokenState::Denied => Status::Denied,
        _ if now > saturating_add(token_record.expires_at, Duration::ZERO) => Status::Expired,
        TokenState::Pending => Status::Pending,
        TokenState::Ready => Status::Approved,
    }
}
