//! Pending and recent approvals, and decisions about them.

use aquifer_gate::audit::{Entry, Event};
use aquifer_gate::confirm::approvals::{self, Approval, MAX_REASON_CHARS};
use axum::extract::{Path, State};
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::{Value, json};

use super::ExplorerState;
use crate::Explorer;
use crate::error::ApiError;
use crate::login::Session;

pub(super) async fn list(State(explorer): ExplorerState) -> Result<Json<Value>, ApiError> {
    let approvals = approvals::list(&*explorer.store, &*explorer.clock).await?;
    Ok(Json(json!({ "now": explorer.clock.now(), "approvals": approvals })))
}

/// One approval with the whole call.
pub(super) async fn show(State(explorer): ExplorerState, Path(id): Path<String>) -> Result<Json<Value>, ApiError> {
    let reviewed = approvals::get(&*explorer.store, &id, &*explorer.clock).await?;
    Ok(Json(json!({
        "now": explorer.clock.now(),
        "approval": reviewed.approval(),
        "call": reviewed.call(),
        "preview": reviewed.preview().map(|preview| &preview.text),
        "lines": reviewed.call().lines(None),
        "digest": reviewed.digest(),
    })))
}

/// What the person decides.
#[derive(Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub(super) enum Decision {
    /// Approve the call with this digest, which the page has shown.
    Approve { digest: String },
    Deny {
        #[serde(default)]
        reason: String,
    },
}

pub(super) async fn decide(
    State(explorer): ExplorerState,
    Extension(session): Extension<Session>,
    Path(id): Path<String>,
    Json(decision): Json<Decision>,
) -> Result<Json<Value>, ApiError> {
    let (store, clock) = (&*explorer.store, &*explorer.clock);
    let by = format!("{} (explorer)", session.person);
    let approval = match decision {
        Decision::Approve { digest } => {
            let reviewed = approvals::get(store, &id, clock).await?;
            if reviewed.digest() != digest {
                let message = "The call is not the one that was shown. Look at it again";
                return Err(ApiError::Conflict(message.to_owned()));
            }
            let approval = approvals::approve(store, &reviewed, clock, &by).await?;
            record(&explorer, Event::Approved, &approval).await;
            approval
        }
        Decision::Deny { reason } => {
            if reason.trim().chars().count() > MAX_REASON_CHARS {
                let message = format!("The reason is too long: at most {MAX_REASON_CHARS} characters");
                return Err(ApiError::Invalid(message));
            }
            let approval = approvals::deny(store, &id, clock, &by, &reason).await?;
            record(&explorer, Event::Declined, &approval).await;
            approval
        }
    };
    Ok(Json(json!({ "approval": approval })))
}

async fn record(explorer: &Explorer, event: Event, decided: &Approval) {
    let mut text = format!("approval {}, by {}", decided.id, decided.decided_by.as_deref().unwrap_or_default());
    if let Some(reason) = &decided.decision_reason {
        text.push_str(": ");
        text.push_str(reason);
    }
    let entry = Entry::new(event).operation(&decided.source, &decided.operation).reason(&text);
    if let Err(error) = explorer.audit.record(entry).await {
        tracing::error!(%error, "the decision is in effect, but could not be written to the audit log");
    }
}
