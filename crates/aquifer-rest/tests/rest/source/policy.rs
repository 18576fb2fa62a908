//! A PUT that reads the current state is subject to the policy for reading it.

use std::sync::Arc;

use aquifer_engine::gate::{Decision, Gate, Pass, Rules};
use aquifer_engine::{Context, Engine};
use aquifer_protocol::danger::Danger;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::operation::{Operation, SafetyOverride};
use aquifer_protocol::surface::{Mode, Profile, Surface};
use aquifer_protocol::validate::Checked;
use aquifer_rest::{RestSettings, RestSource};
use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{api, call, note, settings};
use crate::client::server::{Reply, Server};

/// Denies one operation, with all parameters.
struct DenyingGate(&'static str);

/// Denies `get_note` for one note, and counts the requests that come before others.
#[derive(Default)]
struct CountingGate {
    denied_id: Option<&'static str>,
    /// How many more requests may be sent.
    left: Option<usize>,
    counted: Mutex<Vec<String>>,
}

impl Gate for CountingGate {
    fn decide<'a>(&'a self, request: &'a Checked, _context: &'a Context) -> BoxFuture<'a, Decision> {
        let is_denied = |needed: &Operation| {
            let id = request.needed_params().get("id").and_then(Value::as_str);
            &*needed.origin.own_name == "get_note" && id == self.denied_id && id.is_some()
        };
        let decision = match request.also_needs().iter().any(|needed| is_denied(needed)) {
            true => Decision::Refuse(Failure::new(Code::PermissionDenied, "Permission denied")),
            false => Decision::Allow(Pass::default()),
        };
        std::future::ready(decision).boxed()
    }

    fn count_page<'a>(&'a self, operation: &'a Operation, _: &'a Context) -> BoxFuture<'a, Result<(), Failure>> {
        let mut counted = self.counted.lock();
        let is_left = self.left.is_none_or(|left| counted.len() < left);
        counted.push(operation.origin.own_name.to_string());
        let limit = || Failure::new(Code::RateLimitExceeded, "The limit is reached");
        std::future::ready(if is_left { Ok(()) } else { Err(limit()) }).boxed()
    }
}

impl Gate for DenyingGate {
    fn decide<'a>(&'a self, request: &'a Checked, _context: &'a Context) -> BoxFuture<'a, Decision> {
        let mut needed = std::iter::once(request.operation()).chain(request.also_needs());
        let decision = match needed.any(|operation| self.restricts(operation)) {
            true => Decision::Refuse(Failure::new(Code::PermissionDenied, "Permission denied")),
            false => Decision::Allow(Pass::default()),
        };
        std::future::ready(decision).boxed()
    }

    fn as_rules(&self) -> Option<&dyn Rules> {
        Some(self)
    }
}

impl Rules for DenyingGate {
    fn restricts(&self, operation: &Operation) -> bool {
        *operation.origin.own_name == *self.0
    }

    fn denies_always(&self, operation: &Operation) -> bool {
        self.restricts(operation)
    }
}

fn paths() -> Value {
    let text = json!({ "type": "string" });
    note(
        json!({ "type": "object", "required": ["title", "body"], "properties": { "title": text, "body": text } }),
        None,
    )
}

async fn stored() -> Server {
    Server::start(|_, _| Reply::json(200, "{\"title\":\"a\",\"body\":\"stored\"}")).await
}

fn engine(settings: RestSettings, gate: impl Gate) -> Engine {
    shared_engine(settings, Arc::new(gate))
}

fn shared_engine(settings: RestSettings, gate: Arc<dyn Gate>) -> Engine {
    let surface = Surface::new(Mode::All, Profile::known("crude").unwrap(), "").unwrap();
    let source = RestSource::new(settings, |_| None).unwrap();
    Engine::builder(surface).gate(gate).source(Arc::new(source)).build().unwrap()
}

#[tokio::test]
async fn what_a_caller_may_not_read_is_not_shown_by_a_change() {
    for (denied, code) in [("get_note", json!("PERMISSION_DENIED")), ("other", Value::Null)] {
        let server = stored().await;
        let engine = engine(settings(api(paths()), &server), DenyingGate(denied));
        let params = json!({ "id": "1", "input": { "title": "x" }, "dry_run": true });
        let answer = call(&engine, "update_note", params).await;
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert_eq!(answer.to_string().contains("stored"), denied == "other", "{answer}");
        assert_eq!(server.count(), usize::from(denied == "other"));
    }
}

#[tokio::test]
async fn operations_that_cannot_be_called_do_not_read() {
    for is_quarantined in [true, false] {
        let server = stored().await;
        let mut settings = settings(api(paths()), &server);
        if is_quarantined {
            let reader = settings.api.operations.iter_mut().find(|operation| &*operation.name == "get_note").unwrap();
            reader.safety.quarantine = Some("its definition changed".into());
        } else {
            let said = SafetyOverride { danger: Some(Danger::Destructive), ..SafetyOverride::default() };
            settings.safety_overrides.insert("get_note".to_owned(), said);
        }
        let engine = engine(settings, DenyingGate("none"));
        let params = json!({ "id": "1", "input": { "title": "x" }, "dry_run": true });
        let answer = call(&engine, "update_note", params).await;
        assert_eq!(answer["error"]["code"], "VALIDATION_MISSING_PARAM", "{answer}");
        let whole = json!({ "id": "1", "input": { "title": "x", "body": "y" }, "dry_run": true });
        assert_eq!(call(&engine, "update_note", whole).await["success"], true);
        assert_eq!(server.count(), 0);
    }
}

#[tokio::test]
async fn rules_about_reading_see_what_is_read() {
    for (denied_id, code) in [("1", json!("PERMISSION_DENIED")), ("2", Value::Null)] {
        let server = stored().await;
        let gate = CountingGate { denied_id: Some(denied_id), ..CountingGate::default() };
        let engine = engine(settings(api(paths()), &server), gate);
        let answer = call(&engine, "update_note", json!({ "id": "1", "input": { "title": "x" } })).await;
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert_eq!(server.count(), if denied_id == "1" { 0 } else { 2 });
    }
}

#[tokio::test]
async fn the_request_that_reads_counts_against_limits() {
    let server = stored().await;
    let gate = Arc::new(CountingGate { left: Some(1), ..CountingGate::default() });
    let engine = shared_engine(settings(api(paths()), &server), gate.clone());
    let change = json!({ "id": "1", "input": { "title": "x" } });
    let done = call(&engine, "update_note", change.clone()).await;
    assert_eq!(done["success"], true, "{done}");
    assert_eq!(*gate.counted.lock(), ["get_note"]);
    assert_eq!(server.count(), 2);
    let refused = call(&engine, "update_note", change).await;
    assert_eq!(refused["error"]["message"], "The limit is reached", "{refused}");
    assert_eq!(server.count(), 2, "nothing is sent beyond the limit");
    // Other requests are counted by the gate's decision alone.
    call(&engine, "get_note", json!({ "id": "1" })).await;
    assert_eq!(gate.counted.lock().len(), 2);
}
