//! What is served, how healthy it is, and what it costs agents to connect.

use std::collections::HashMap;

use aquifer_engine::clients::ConnectedClient;
use aquifer_engine::{Mount, Snapshot};
use aquifer_gate::confirm::approvals::{self, Status};
use aquifer_protocol::operation::Operation;
use aquifer_query::budget::estimate_text;
use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use super::ExplorerState;
use crate::error::ApiError;

pub(super) async fn show(State(explorer): ExplorerState) -> Result<Json<Value>, ApiError> {
    let snapshot = explorer.engine.snapshot();
    let approvals = approvals::list(&*explorer.store, &*explorer.clock).await?;
    let pending = approvals.iter().filter(|approval| approval.status == Status::Pending).count();
    let direct = direct_tokens(&snapshot);
    let sources: Vec<Value> = snapshot.mounts().iter().map(|mount| source(&snapshot, mount, &direct)).collect();
    let tools: Vec<Value> = snapshot
        .tools()
        .iter()
        .map(|tool| {
            let schema = Value::Object(tool.input_schema());
            let text = json!({ "name": tool.name, "description": tool.description, "inputSchema": schema }).to_string();
            json!({ "name": tool.name, "description": tool.description, "tokens": estimate_text(text.as_bytes()) })
        })
        .collect();
    let connect: u64 = tools.iter().filter_map(|tool| tool.get("tokens")?.as_u64()).sum();
    let surface = snapshot.surface();
    let (clients, unlisted) = explorer.engine.clients().list(explorer.engine.clock().now());
    let clients: Vec<Value> = clients.iter().map(|client| describe(client, connect)).collect();
    Ok(Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "started_at": explorer.started_at,
        "now": explorer.clock.now(),
        "surface": {
            "mode": surface.mode().as_str(),
            "profile": surface.profile().name(),
            "tools": tools,
            "tokens": connect,
        },
        "direct_tokens": direct.values().sum::<usize>(),
        "tokens_are_estimated": true,
        "sources": sources,
        "operations": snapshot.catalog().operations().len(),
        "quarantined": quarantined(&snapshot),
        "pending_approvals": pending,
        "clients": clients,
        "unlisted_clients": unlisted,
    })))
}

/// A client, and what the tools cost it: all clients see the same.
fn describe(client: &ConnectedClient, tokens: u64) -> Value {
    json!({
        "name": client.name,
        "version": client.version,
        "transport": client.transport.as_str(),
        "since": client.since,
        "tokens": tokens,
    })
}

fn source(snapshot: &Snapshot, mount: &Mount, direct: &HashMap<&str, usize>) -> Value {
    let (name, status) = (mount.source.name(), mount.source.status());
    let operations = own(snapshot, name).count();
    let notes = [status.notes, status.setting_problems].concat();
    json!({
        "name": name,
        "place": mount.place,
        "trust": mount.trust(snapshot).as_str(),
        "state": status.state.as_str(),
        "catalog_age_ms": status.catalog_age.map(|age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX)),
        "version": mount.source.version(),
        "operations": operations,
        "quarantined": status.quarantined,
        "left_out": status.left_out,
        "notes": notes,
        "tables": mount.source.tables().len(),
        "direct_tokens": direct.get(name).copied().unwrap_or_default(),
    })
}

fn own<'a>(snapshot: &'a Snapshot, source: &'a str) -> impl Iterator<Item = &'a Operation> {
    let listed = snapshot.catalog().operations().iter().map(|operation| &**operation);
    listed.filter(move |operation| &*operation.origin.source == source)
}

fn quarantined(snapshot: &Snapshot) -> usize {
    snapshot.catalog().operations().iter().filter(|operation| operation.safety.quarantine.is_some()).count()
}

/// What each source would cost if every operation were a tool of its own.
fn direct_tokens(snapshot: &Snapshot) -> HashMap<&str, usize> {
    let types = snapshot.catalog().types();
    let mut direct = HashMap::new();
    for operation in snapshot.catalog().operations().iter().filter(|operation| !operation.origin.source.is_empty()) {
        let tool = json!({
            "name": operation.name,
            "description": operation.description,
            "inputSchema": operation.input_schema(types),
        });
        *direct.entry(&*operation.origin.source).or_default() += estimate_text(tool.to_string().as_bytes());
    }
    direct
}
