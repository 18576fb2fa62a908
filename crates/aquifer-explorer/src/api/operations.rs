//! The operations: all of them for the table, and each with everything that is known about it.

use aquifer_engine::{Caller, Context, Snapshot};
use aquifer_gate::SafetyGate;
use aquifer_gate::policy::{Effect, Strength};
use aquifer_protocol::operation::Operation;
use aquifer_query::budget::estimate_text;
use axum::extract::{Path, Query, State};
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ExplorerState;
use super::run::{caller, introspect};
use crate::error::ApiError;
use crate::login::Session;

/// The maximum number of hits of a search.
const MAX_HITS: usize = 500;

#[derive(Deserialize)]
pub(super) struct Search {
    #[serde(default)]
    search: String,
}

/// An operation in the table.
#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    source: &'a str,
    category: &'static str,
    danger: &'static str,
    summary: &'a str,
    decision: &'static str,
    /// Whether agents find it: operations behind generic ones and denied ones are not listed.
    listed: bool,
    quarantined: bool,
    read_only: bool,
}

/// All operations, or those that match a search in the order in which agents get them.
pub(super) async fn list(
    State(explorer): ExplorerState,
    Extension(session): Extension<Session>,
    Query(Search { search }): Query<Search>,
) -> Result<Json<Value>, ApiError> {
    let (snapshot, gate, caller) = (explorer.engine.snapshot(), explorer.operator.gate(), caller(&session));
    let row = |operation, listed| row(operation, listed, decision_name(&gate, operation, &caller));
    let is_ranked = !search.trim().is_empty();
    let rows: Vec<Row<'_>> = match is_ranked {
        true => snapshot.search(&search, MAX_HITS).into_iter().map(|operation| row(operation, true)).collect(),
        false => {
            let listed = snapshot.catalog().operations().iter().map(|operation| row(operation, true));
            let unlisted = snapshot.unlisted().operations().iter().map(|operation| row(operation, false));
            listed.chain(unlisted).collect()
        }
    };
    Ok(Json(json!({ "operations": rows, "ranked": is_ranked })))
}

fn row<'a>(operation: &'a Operation, listed: bool, decision: &'static str) -> Row<'a> {
    Row {
        name: &operation.name,
        source: &operation.origin.source,
        category: operation.category.as_str(),
        danger: operation.safety.danger.as_str(),
        summary: operation.short_description(),
        decision,
        listed,
        quarantined: operation.safety.quarantine.is_some(),
        read_only: operation.category.permissions().read_only,
    }
}

fn decision_name(gate: &SafetyGate, operation: &Operation, caller: &Caller) -> &'static str {
    match gate.decide_without_params(operation, caller).effect {
        Effect::Allow => "allow",
        Effect::Confirm(strength) if strength.interactive == Strength::Approval => "approval",
        Effect::Confirm(_) => "confirm",
        Effect::Deny(_) => "deny",
    }
}

/// One operation: what agents are told about it, and what only operators may know.
pub(super) async fn show(
    State(explorer): ExplorerState,
    Extension(session): Extension<Session>,
    Path(name): Path<String>,
) -> Result<Json<Value>, ApiError> {
    let snapshot = explorer.engine.snapshot();
    let (operation, listed) = find(&snapshot, &name)?;
    let context = Context::new(caller(&session), explorer.engine.next_request_id());
    let decision = explorer.operator.gate().explain_without_params(operation, &context).await;
    let full = json!({ "query": "operations", "name": name, "fields": "full" });
    // A denied operation is concealed from introspection, but not from the operator.
    let details = introspect(&explorer, &session, full).await.ok();
    let details = details.and_then(|mut details| Some(details.get_mut("operation")?.take()));
    let signature = introspect(&explorer, &session, json!({ "query": "signatures", "names": [name] })).await.ok();
    let catalog = if listed { snapshot.catalog() } else { snapshot.unlisted() };
    let schema = operation.input_schema(catalog.types());
    let tokens = estimate_text(format!("{}{}{schema}", operation.name, operation.description).as_bytes());
    let safeguards = operation.safety.safeguards.reasons.iter().map(|reason| &**reason);
    Ok(Json(json!({
        "operation": details.unwrap_or_else(|| described(operation)),
        "schema": schema,
        "signature": signature,
        "source": operation.origin.source,
        "place": operation.origin.place,
        "own_name": operation.origin.own_name,
        "trust": operation.origin.trust.as_str(),
        "category": operation.category.as_str(),
        "danger": operation.safety.danger.as_str(),
        "danger_reasons": operation.safety.danger_evidence.as_deref().into_iter().chain(safeguards).collect::<Vec<_>>(),
        "decision": decision,
        "listed": listed,
        "quarantine": operation.safety.quarantine,
        "tokens": tokens,
    })))
}

fn find<'a>(snapshot: &'a Snapshot, name: &str) -> Result<(&'a Operation, bool), ApiError> {
    let listed = snapshot.catalog().operation(name).map(|operation| (&**operation, true));
    let unlisted = || snapshot.unlisted().operation(name).map(|operation| (&**operation, false));
    listed.or_else(unlisted).ok_or_else(|| ApiError::NotFound("There is no such operation".to_owned()))
}

/// An operation that agents cannot see.
fn described(operation: &Operation) -> Value {
    json!({ "name": operation.name, "description": operation.description })
}
