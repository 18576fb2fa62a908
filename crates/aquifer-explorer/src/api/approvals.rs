//! Pending and recent approvals, and decisions about them.

use aquifer_gate::audit::{Entry, Event};
use aquifer_gate::confirm::approvals::{self, Approval, MAX_REASON_CHARS, ReviewedApproval};
use aquifer_gate::confirm::edit::{CallEdit, EditError, EditedCall};
use aquifer_gate::destination::Remember;
use aquifer_protocol::error::Failure;
use aquifer_protocol::request::{ParsedRequest, parse};
use aquifer_protocol::surface::Receiver;
use axum::extract::{Path, State};
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{ExplorerState, run};
use crate::Explorer;
use crate::error::ApiError;
use crate::login::Session;

pub(super) async fn list(State(explorer): ExplorerState) -> Result<Json<Value>, ApiError> {
    let approvals = approvals::list(&*explorer.store, &*explorer.clock).await?;
    let paused = approvals::paused(&*explorer.store).await?;
    Ok(Json(json!({ "now": explorer.clock.now(), "approvals": approvals, "paused": paused })))
}

/// Ends the pause of callers whose changes are paused, because a person denied several of their requests.
pub(super) async fn resume(
    State(explorer): ExplorerState,
    Extension(session): Extension<Session>,
) -> Result<Json<Value>, ApiError> {
    let resumed = approvals::resume(&*explorer.store).await?;
    let by = format!("{} (explorer)", session.person);
    for paused in &resumed {
        record_entry(&explorer, Entry::for_resumption(paused, &by)).await;
    }
    Ok(Json(json!({ "resumed": resumed })))
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
        "params_text": reviewed.approval().is_editable.then(|| format!("{:#}", json!(reviewed.call().params))),
        "edited": reviewed.edited().map(describe_edited),
    })))
}

fn describe_edited(edited: &EditedCall) -> Value {
    json!({
        "call": edited.call(),
        "changes": edited.changes(),
        "preview": edited.preview(),
        "lines": edited.call().lines(None),
    })
}

/// What the person decides.
#[derive(Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub(super) enum Decision {
    /// Approve the call with this digest, which the page has shown.
    Approve {
        digest: String,
        #[serde(default)]
        remember: Remember,
    },
    /// Approve after all the call with this digest, which was denied.
    ApproveDenied {
        digest: String,
        #[serde(default)]
        remember: Remember,
    },
    /// Approve the call with this digest, with these parameters instead. They are the JSON that the person typed: a
    /// page would round large numbers.
    ApproveEdited {
        digest: String,
        params_text: String,
        #[serde(default)]
        remember: Remember,
    },
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
        Decision::Approve { digest, remember } => {
            let reviewed = get_shown(&explorer, &id, &digest).await?.remembering(remember);
            let approval = approvals::approve(store, &reviewed, clock, &by).await?;
            record(&explorer, Event::Approved, &approval).await;
            approval
        }
        Decision::ApproveDenied { digest, remember } => {
            let reviewed = get_shown(&explorer, &id, &digest).await?.remembering(remember);
            let approval = approvals::approve_denied(store, &reviewed, clock, &by).await?;
            record(&explorer, Event::Approved, &approval).await;
            approval
        }
        Decision::ApproveEdited { digest, params_text, remember } => {
            let reviewed = get_shown(&explorer, &id, &digest).await?.remembering(remember);
            let edit = edit(&explorer, &reviewed, &params_text).await?;
            let approval = approvals::approve_edited(store, &reviewed, &edit, clock, &by).await?;
            let (operation, types) = (edit.request().operation(), Some(edit.request().types()));
            let entry = Entry::for_decision(Event::Approved, &approval)
                .parameters(operation, types, &edit.edited().call().params)
                .original_parameters(operation, types, &reviewed.call().params);
            record_entry(&explorer, entry).await;
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

/// The approval whose call has this digest.
async fn get_shown(explorer: &Explorer, id: &str, digest: &str) -> Result<ReviewedApproval, ApiError> {
    let reviewed = approvals::get(&*explorer.store, id, &*explorer.clock).await?;
    match reviewed.digest() == digest {
        true => Ok(reviewed),
        false => Err(ApiError::Conflict("The call is not the one that was shown. Look at it again".to_owned())),
    }
}

/// Parameters that the person would like to send instead.
#[derive(Deserialize)]
pub(super) struct EditRequest {
    params_text: String,
}

/// Checks how a person would like to change a call. Changes nothing.
pub(super) async fn check_edit(
    State(explorer): ExplorerState,
    Path(id): Path<String>,
    Json(EditRequest { params_text }): Json<EditRequest>,
) -> Result<Json<Value>, ApiError> {
    let reviewed = approvals::get(&*explorer.store, &id, &*explorer.clock).await?;
    let edit = edit(&explorer, &reviewed, &params_text).await?;
    Ok(Json(json!({ "edited": describe_edited(edit.edited()), "digest": reviewed.digest() })))
}

/// Validates a changed call as the engine and its gate do with a call of its caller.
async fn edit(explorer: &Explorer, reviewed: &ReviewedApproval, params_text: &str) -> Result<CallEdit, ApiError> {
    let (engine, params) = (&explorer.engine, run::parse(explorer, params_text.as_bytes())?);
    let invalid = |failure: &Failure| ApiError::Invalid(failure.message().to_owned());
    let check = |params: &Map<String, Value>| {
        let operation = reviewed.approval().operation.clone();
        let request =
            Map::from_iter([("operation".to_owned(), operation.into()), ("params".to_owned(), params.clone().into())]);
        match parse(request, 1) {
            Ok(ParsedRequest::One(request)) => {
                engine.check(&Receiver::Unified, request).map_err(|failure| invalid(&failure))
            }
            Ok(ParsedRequest::Batch(_)) => Err(EditError::NotEditable.into()),
            Err(error) => Err(invalid(error.failure())),
        }
    };
    let checked = check(&params)?;
    if checked.metadata().confirmation.is_some() {
        return Err(ApiError::Invalid("A token cannot be part of the call".to_owned()));
    }
    // The caller has to send what is stored, so it has to mean the same when it is checked again.
    if check(checked.params())?.params() != checked.params() {
        return Err(EditError::NotEditable.into());
    }
    let edit = explorer.operator.gate().check_edit(reviewed, checked)?;
    let rehearsed = engine.rehearse(edit.request(), &reviewed.asking_context()).await;
    Ok(edit.rehearsed(&rehearsed)?)
}

async fn record(explorer: &Explorer, event: Event, decided: &Approval) {
    record_entry(explorer, Entry::for_decision(event, decided)).await;
}

async fn record_entry(explorer: &Explorer, entry: Entry) {
    if let Err(error) = explorer.audit.record(entry).await {
        tracing::error!(%error, "the decision is in effect, but could not be written to the audit log");
    }
}
