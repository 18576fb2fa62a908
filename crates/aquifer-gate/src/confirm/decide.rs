//! A person's decision about an approval: it changes the token's record atomically, and says who decided and why.

use std::time::Duration;

use aquifer_engine::clock::Clock;
use aquifer_engine::store::{StateStore, StoreError};

use super::MAX_ATTEMPTS;
use super::approvals::{
    Approval, ApprovalError, ApprovalRecord, ReviewedApproval, Status, load_approval, load_token_record, normalize_id,
};
use super::declined;
use super::edit::CallEdit;
use super::record::{RecordedDecision, TokenState};
use super::status::status;
use crate::timeout::with_timeout;

/// Maximum number of characters of the reason of a denial. Longer ones are cut off.
pub const MAX_REASON_CHARS: usize = 500;

/// Maximum number of characters of a person's name.
const MAX_NAME_CHARS: usize = 100;

/// The largest tolerated difference between clocks.
const MAX_CLOCK_SKEW: Duration = Duration::from_secs(300);

/// A person's decision.
#[derive(Clone, Copy)]
enum ApprovalDecision<'a> {
    /// Approve the call with this digest.
    Approve(&'a str),
    /// Approve the call with this digest, which was denied.
    ApproveDenied(&'a str),
    /// Approve the call with this digest after these changes.
    ApproveEdited(&'a str, &'a CallEdit),
    Deny,
}

/// Approves a call that a person has seen in full. Its token then works once. `by` names the person.
pub async fn approve(
    store: &dyn StateStore,
    reviewed: &ReviewedApproval,
    clock: &dyn Clock,
    by: &str,
) -> Result<Approval, ApprovalError> {
    decide_reviewed(store, reviewed, clock, by, ApprovalDecision::Approve(reviewed.digest())).await
}

/// Approves a call after all that was denied. Whoever decides knows that: of two people who decide at the same time, the
/// one who denies a call wins.
pub async fn approve_denied(
    store: &dyn StateStore,
    reviewed: &ReviewedApproval,
    clock: &dyn Clock,
    by: &str,
) -> Result<Approval, ApprovalError> {
    decide_reviewed(store, reviewed, clock, by, ApprovalDecision::ApproveDenied(reviewed.digest())).await
}

/// Approves a call with the changes that a person made to it. Its token then works once, for the changed call only.
pub async fn approve_edited(
    store: &dyn StateStore,
    reviewed: &ReviewedApproval,
    edit: &CallEdit,
    clock: &dyn Clock,
    by: &str,
) -> Result<Approval, ApprovalError> {
    decide_reviewed(store, reviewed, clock, by, ApprovalDecision::ApproveEdited(reviewed.digest(), edit)).await
}

async fn decide_reviewed(
    store: &dyn StateStore,
    reviewed: &ReviewedApproval,
    clock: &dyn Clock,
    by: &str,
    decision: ApprovalDecision<'_>,
) -> Result<Approval, ApprovalError> {
    let recorded =
        RecordedDecision { remember: reviewed.remember(), ..RecordedDecision::new(clip(by, MAX_NAME_CHARS), None) };
    decide(store, &reviewed.approval().id, clock, recorded, decision).await
}

/// Denies a call. Its token does not work, and the same call is not asked about again until the approval expires. An
/// approved call can be denied until it is used. The caller is told the reason, which may be empty; `by` names the
/// person.
pub async fn deny(
    store: &dyn StateStore,
    id: &str,
    clock: &dyn Clock,
    by: &str,
    reason: &str,
) -> Result<Approval, ApprovalError> {
    let reason = Some(clip(reason, MAX_REASON_CHARS)).filter(|reason| !reason.is_empty());
    let decision = RecordedDecision::new(clip(by, MAX_NAME_CHARS), reason);
    decide(store, id, clock, decision, ApprovalDecision::Deny).await
}

/// Cuts off text after this many characters.
fn clip(text: &str, max_chars: usize) -> String {
    text.trim().chars().take(max_chars).collect()
}

async fn decide(
    store: &dyn StateStore,
    id: &str,
    clock: &dyn Clock,
    recorded: RecordedDecision,
    decision: ApprovalDecision<'_>,
) -> Result<Approval, ApprovalError> {
    let ApprovalRecord { approval, token, .. } = load_approval(store, id).await?;
    let id = normalize_id(id);
    let unknown = || ApprovalError::Unknown(id.clone());
    for _ in 0..MAX_ATTEMPTS {
        let (mut token_record, version) = load_token_record(store, &token).await?.ok_or_else(unknown)?;
        // Read the clock after the store, because the store's response adjusts it.
        let now = clock.now();
        let status = status(&token_record, now);
        let digest = match decision {
            ApprovalDecision::Approve(digest)
            | ApprovalDecision::ApproveDenied(digest)
            | ApprovalDecision::ApproveEdited(digest, _) => Some(digest),
            ApprovalDecision::Deny => None,
        };
        let is_approval = digest.is_some();
        // People may change their mind until the call has run.
        let may_reconsider = || !token_record.is_expired(now, Duration::ZERO);
        let open = match (status, decision) {
            (Status::Pending, ApprovalDecision::ApproveDenied(_)) => false,
            (Status::Pending, _) | (Status::Approved, ApprovalDecision::Deny) => true,
            (Status::Denied, ApprovalDecision::ApproveDenied(_)) => may_reconsider(),
            _ => false,
        };
        if !open {
            return Err(ApprovalError::Over { id, status });
        }
        if digest.is_some() && token_record.call.as_deref() != digest {
            return Err(ApprovalError::Incomplete(id));
        }
        if let ApprovalDecision::ApproveEdited(_, edit) = decision {
            edit.apply_to(&mut token_record).ok_or_else(|| ApprovalError::Incomplete(id.clone()))?;
        }
        token_record.state = if is_approval { TokenState::Ready } else { TokenState::Denied };
        token_record.decision = Some(recorded.clone());
        // Clocks may differ, and an expired token must stay distinguishable from one that never existed.
        let keep = token_record.keep(now, MAX_CLOCK_SKEW);
        if with_timeout(store.compare_and_set(&token, Some(version), token_record.to_bytes(), keep)).await? {
            let principal = approval.caller.as_deref();
            let remembered = match is_approval {
                true => declined::forget(store, principal, &token_record.scope).await,
                false => declined::remember(store, principal, &token, &token_record, keep).await,
            };
            if let Err(error) = remembered {
                tracing::warn!(%error, "the decision is in effect, but is not remembered for other requests");
            }
            return Ok(approval.with_decision(&token_record, now));
        }
    }
    Err(ApprovalError::Store(StoreError("other processes keep changing the record".to_owned())))
}
