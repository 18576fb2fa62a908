//! Refusals: why a token was not issued or not accepted, and the failure that the caller gets.

use std::time::Duration;

use aquifer_engine::store::StoreError;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::validate::Checked;
use jiff::Timestamp;

use super::edit::RecordedEdit;
use super::failure;
use super::message::ConfirmationPrompt;
use super::pages::ApprovalReference;
use super::record::TokenRecord;

/// Why no token was issued, or why a token was refused.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The token is invalid, or the caller exceeds a limit.
    Token(Failure),
    /// Nobody has approved it yet.
    Pending {
        /// The approval.
        approval: ApprovalReference,
        expires_at: Timestamp,
    },
    /// A person denied it.
    Denied {
        /// Why, in the person's words.
        reason: Option<String>,
        /// The approval, if it was one.
        approval: Option<String>,
        /// Whether the person denied another call of the operation to the same destinations.
        is_other_call: bool,
    },
    /// A person approved it with other parameters.
    Edited(Box<RecordedEdit>),
    /// The cooldown is not over.
    CoolingDown { wait: Duration, expires_at: Timestamp },
    /// The call needs an approval but cannot be shown completely.
    CannotDisplay {
        /// Size of the call. `None` if it is nested too deeply.
        bytes: Option<usize>,
    },
    /// The store is unavailable.
    Store(StoreError),
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Refusal::Store(error)
    }
}

impl Refusal {
    /// The refusal of a call that a person has denied.
    pub(super) fn from_denied(record: TokenRecord) -> Self {
        let reason = record.decision.and_then(|decision| decision.reason);
        Refusal::Denied { reason, approval: record.approval, is_other_call: false }
    }

    /// The refusal of a call to destinations that a person has refused, with the record of that decision.
    pub(super) fn of_destinations(record: TokenRecord) -> Self {
        let reason = record.decision.and_then(|decision| decision.reason);
        Refusal::Denied { reason, approval: record.approval, is_other_call: true }
    }

    /// Whether the caller only has to wait. Such a refusal is not recorded: the request and the decision are.
    pub(crate) fn is_wait(&self) -> bool {
        matches!(self, Refusal::Pending { .. } | Refusal::CoolingDown { .. })
    }

    /// The approval that was denied.
    pub(crate) fn denied_approval(&self) -> Option<&str> {
        match self {
            Refusal::Denied { approval, .. } => approval.as_deref(),
            _ => None,
        }
    }

    pub(crate) fn into_failure(self, request: &Checked, prompt: &ConfirmationPrompt, token: &str) -> Failure {
        let operation = request.operation();
        match self {
            Refusal::Token(failure) => failure,
            Refusal::Denied { reason, approval: Some(approval), is_other_call: true } => {
                failure::destinations_denied(operation, reason.as_deref(), &approval)
            }
            Refusal::Denied { reason, .. } => failure::denied(operation, reason.as_deref()),
            Refusal::Edited(edit) => failure::edited(operation, &edit, token),
            Refusal::Pending { approval, expires_at } => {
                failure::confirmation_required(operation, prompt, token, expires_at, Some((&approval, false)))
            }
            Refusal::CoolingDown { wait, expires_at } => {
                failure::cooling_down(operation, prompt, token, expires_at, wait)
            }
            Refusal::CannotDisplay { bytes } => failure::cannot_display(operation, bytes),
            Refusal::Store(error) => store_unavailable(operation.safety.danger, &error),
        }
    }
}

/// The failure if a confirmation cannot be looked up or stored.
pub(crate) fn store_unavailable(danger: Danger, error: &StoreError) -> Failure {
    Failure::new(
        Code::InternalError,
        "Internal error: the state store does not answer, so operations which need confirmation or limits are refused. \
         Nothing was done. Try again later",
    )
    .detail("danger_level", danger.as_str())
    .because(error)
}
