//! Failures about tokens, with the specification's messages and details. `token` is the fingerprint that the audit log has,
//! never the token: what a caller sent may be somebody else's, or another secret.

use std::time::Duration;

use aquifer_protocol::error::{Code, Failure, FailureReason};
use aquifer_protocol::operation::Operation;
use jiff::Timestamp;
use serde_json::json;

use super::call::MAX_CALL_BYTES;
use super::declined::MAX_REFUSALS;
use super::edit::RecordedEdit;
use super::message::ConfirmationPrompt;
use super::pages::ApprovalReference;
use super::record::{format_seconds, saturating_add};
use super::render::{escape, quote};
use super::scope::{Scope, ScopeMismatch};
use super::status::Status;
use crate::fingerprint::token_fingerprint;

/// The same message for unknown and malformed tokens.
pub(super) fn invalid(token: &str) -> Failure {
    Failure::new(Code::TokenInvalid, "Invalid confirmation token. Send the request without a token to get a new one")
        .detail("token", token_fingerprint(token))
}

/// The rules changed after the question was asked.
pub(crate) fn rules_changed() -> Failure {
    Failure::new(
        Code::TokenInvalid,
        "The rules changed before the confirmation took effect. Nothing was done. Send the request again",
    )
}

pub(super) fn expired(token: &str, at: Timestamp, now: Timestamp) -> Failure {
    Failure::new(
        Code::TokenExpired,
        "Confirmation token has expired. Send the request without a token to get a new one",
    )
    .detail("token", token_fingerprint(token))
    .detail("expired_at", format_seconds(at))
    .detail("current_time", format_seconds(now))
}

/// The time is unknown for tokens that an earlier version consumed.
pub(super) fn already_used(token: &str, used_at: Option<Timestamp>) -> Failure {
    let failure = Failure::new(
        Code::TokenAlreadyUsed,
        "Confirmation token has already been used. Send the request without a token to get a new one",
    )
    .detail("token", token_fingerprint(token));
    match used_at {
        Some(used_at) => failure.detail("consumed_at", format_seconds(used_at)),
        None => failure,
    }
}

/// A token for something else. Which operation it is for is said only to the caller it was issued to.
pub(super) fn mismatch(token: &str, difference: ScopeMismatch, issued: &Scope, requested: &Scope) -> Failure {
    let what = match difference {
        ScopeMismatch::Caller => "caller",
        ScopeMismatch::Source => "source",
        ScopeMismatch::Operation => "operation",
        ScopeMismatch::Params => "parameters",
        ScopeMismatch::Batch => "batch",
        ScopeMismatch::Strength => "strength",
    };
    let hint = match difference {
        ScopeMismatch::Batch => {
            ". Nothing was done. Send exactly the operations it was issued for, in their order, or leave the token out to \
             get a new one"
        }
        _ => "",
    };
    let failure = Failure::new(
        Code::TokenScopeMismatch,
        format!(
            "Confirmation token scope mismatch: it was issued for {} {what}{hint}",
            if what == "parameters" { "other" } else { "another" }
        ),
    )
    .detail("mismatch", what)
    .detail("token", token_fingerprint(token));
    let failure = match difference {
        ScopeMismatch::Caller => failure,
        _ => failure.detail("token_operation", issued.operation()),
    };
    failure.detail("requested_operation", requested.operation())
}

/// Confirmation is required, in the specification's format. The message mentions the approval if one is needed.
pub(super) fn confirmation_required(
    operation: &Operation,
    prompt: &ConfirmationPrompt,
    token: &str,
    expires_at: Timestamp,
    approval: Option<(&ApprovalReference, bool)>,
) -> Failure {
    let (subject, again) = (prompt.subject(), prompt.how_to_continue());
    let message = match approval {
        None => format!("{subject} confirmation. Ask your user, then {again}"),
        Some((_, true)) => format!("{subject} confirmation, and a person has approved it: {again}"),
        Some((ApprovalReference { id, url: None }, false)) => {
            format!(
                "{subject} confirmation by a person. Ask your user to run 'aquifer approvals approve {id}' and, once it \
                 is approved, {again}"
            )
        }
        Some((ApprovalReference { url: Some(url), .. }, false)) => {
            format!(
                "{subject} confirmation by a person. Ask your user to decide at {url} and, once it is approved, {again}"
            )
        }
    };
    let failure = details(Failure::new(Code::ConfirmationRequired, message), operation, prompt)
        .detail("confirmation_token", token)
        .detail("expires_at", format_seconds(expires_at));
    match approval {
        None => failure,
        Some((ApprovalReference { id, url }, is_approved)) => {
            let status = if is_approved { Status::Approved } else { Status::Pending };
            let failure = failure.detail("approval_id", id.as_str()).detail("approval_status", status.as_str());
            match url.as_ref().filter(|_| !is_approved) {
                Some(url) => failure
                    .with_reason(FailureReason::ApprovalPending { id: id.as_str().into(), url: url.as_str().into() }),
                None => failure,
            }
        }
    }
}

pub(super) fn cooling_down(
    operation: &Operation,
    prompt: &ConfirmationPrompt,
    token: &str,
    expires_at: Timestamp,
    wait: Duration,
) -> Failure {
    let seconds = whole_seconds(wait);
    let (subject, again) = (prompt.subject(), prompt.how_to_continue());
    let message = format!("{subject} confirmation and a cooldown: wait {seconds} seconds, then {again}");
    details(Failure::new(Code::ConfirmationRequired, message), operation, prompt)
        .detail("confirmation_token", token)
        .detail("expires_at", format_seconds(expires_at))
        .detail("retry_after_seconds", seconds)
}

pub(super) fn cannot_ask_in_batch(operation: &Operation, prompt: &ConfirmationPrompt) -> Failure {
    let message = "This operation requires confirmation by a person, who cannot be asked in the middle of a batch: send \
                   it alone";
    details(Failure::new(Code::ConfirmationRequired, message), operation, prompt)
}

fn details(failure: Failure, operation: &Operation, prompt: &ConfirmationPrompt) -> Failure {
    let failure = match &prompt.batch {
        Some(batch) => failure.detail("covers", json!(batch.covered)),
        None => failure,
    };
    failure
        .detail("operation", &*operation.name)
        .detail("danger_level", operation.safety.danger.as_str())
        .detail("reasons", json!(prompt.reasons))
        .detail("confirmation_message", prompt.message.as_str())
}

/// A person denied the call.
pub(super) fn denied(operation: &Operation, reason: Option<&str>) -> Failure {
    decided_against(operation, "this request. Nothing was done".to_owned(), reason)
}

/// A person has refused another call of the operation to the same destinations.
pub(super) fn destinations_denied(operation: &Operation, reason: Option<&str>, approval: &str) -> Failure {
    let what = format!(
        "another '{}' to the same destination, so nobody was asked and nothing was done. A person who wants it after all \
         approves that request: 'aquifer approvals approve {approval}'",
        operation.name
    );
    decided_against(operation, what, reason).detail("approval_id", approval)
}

/// People have refused so many requests of the caller that its changes are paused.
pub(super) fn changes_paused(operation: &Operation) -> Failure {
    Failure::new(
        Code::PermissionDenied,
        format!(
            "Permission denied: changes are paused, because a person decided against {MAX_REFUSALS} requests. Nothing was done. \
             Tell your user what you want to change, and why. A person ends the pause with 'aquifer approvals resume', or by \
             approving a request"
        ),
    )
    .detail("operation", &*operation.name)
    .detail("danger_level", operation.safety.danger.as_str())
    .detail("changes_paused", true)
}

fn decided_against(operation: &Operation, what: String, reason: Option<&str>) -> Failure {
    let mut message = format!("Permission denied: a person decided against {what}");
    if let Some(reason) = reason {
        message.push_str(&format!(". The person's reason: {}", quote(reason)));
    }
    let failure = Failure::new(Code::PermissionDenied, message)
        .detail("operation", &*operation.name)
        .detail("danger_level", operation.safety.danger.as_str());
    match reason {
        Some(reason) => failure.detail("decision_reason", escape(reason)),
        None => failure,
    }
}

/// A person approved the call with other parameters.
pub(super) fn edited(operation: &Operation, edit: &RecordedEdit, token: &str) -> Failure {
    let message = format!(
        "A person changed this request before approving it: {}. Nothing was done. If the change serves your user, send \
         operation '{}' with the params in 'edited_params' and the same confirmation_token",
        edit.edited.describe_changes(),
        operation.name
    );
    Failure::new(Code::TokenScopeMismatch, message)
        .detail("mismatch", "parameters")
        .detail("token", token_fingerprint(token))
        .detail("token_operation", &*operation.name)
        .detail("requested_operation", &*operation.name)
        .detail("operation", &*operation.name)
        .detail("changes", edit.edited.listed_changes())
        .detail("edited_params", edit.edited.call().params.clone())
}

/// The call needs an approval but cannot be shown completely.
pub(super) fn cannot_display(operation: &Operation, bytes: Option<usize>) -> Failure {
    let why = match bytes {
        Some(bytes) => format!("it is too large to be shown to that person ({bytes} bytes, limit {MAX_CALL_BYTES})"),
        None => "it is nested too deeply to be shown to that person".to_owned(),
    };
    let message = format!(
        "Permission denied: this request needs the approval of a person, and {why}. Nothing was done. Send less in one \
         request"
    );
    let failure = Failure::new(Code::PermissionDenied, message)
        .detail("operation", &*operation.name)
        .detail("danger_level", operation.safety.danger.as_str());
    match bytes {
        Some(bytes) => failure.detail("call_bytes", bytes).detail("max_call_bytes", MAX_CALL_BYTES),
        None => failure,
    }
}

/// The caller has too much waiting for approval.
pub(super) fn too_much_waits(
    what: &str,
    limit: u64,
    window: Duration,
    retry_after: Duration,
    now: Timestamp,
) -> Failure {
    Failure::new(Code::RateLimitExceeded, format!("API rate limit exceeded: too many {what} wait for approval"))
        .detail("limit", limit)
        .detail("remaining", 0)
        .detail("window", format!("{} seconds", window.as_secs()))
        .detail("resets_at", format_seconds(saturating_add(now, retry_after)))
        .detail("retry_after_seconds", whole_seconds(retry_after))
}

/// The call needs a person, and nobody is there to ask.
pub(crate) fn nobody_to_ask(operation: &Operation) -> Failure {
    Failure::new(
        Code::PermissionDenied,
        "Permission denied: a person has to confirm this operation, and nobody is there to ask. Nothing was done",
    )
    .detail("operation", &*operation.name)
    .detail("danger_level", operation.safety.danger.as_str())
}

/// The caller exceeds a rate limit.
pub(crate) fn rate_limited(what: &str, limit: u64, retry_after: Duration, now: Timestamp) -> Failure {
    Failure::new(Code::RateLimitExceeded, format!("API rate limit exceeded: too many {what}"))
        .detail("limit", limit)
        .detail("remaining", 0)
        .detail("window", "minute")
        .detail("resets_at", format_seconds(saturating_add(now, retry_after)))
        .detail("retry_after_seconds", whole_seconds(retry_after))
}

/// Rounds up, so that waiting this long is always enough.
pub(crate) fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0)).max(1)
}
