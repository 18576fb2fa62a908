//! A PUT that reads the current state is subject to the policy for reading it.

use std::sync::Arc;

use aquifer_engine::gate::{Decision, Gate, Pass};
use aquifer_engine::{Context, Engine};
use aquifer_protocol::danger::Danger;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::operation::Operation;
use aquifer_protocol::surface::{Mode, Profile, Surface};
use aquifer_protocol::validate::Checked;
use aquifer_rest::{RestSettings, RestSource};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::{api, call, note, settings};
use crate::client::server::{Reply, Server};

/// Denies one operation.
struct DenyingGate(&'static str);

impl Gate for DenyingGate {
    fn restricts(&self, operation: &Operation) -> bool {
        *operation.own_name == *self.0
    }

    fn decide<'a>(&'a self, request: &'a Checked, _context: &'a Context) -> BoxFuture<'a, Decision> {
        let mut needed = std::iter::once(request.operation()).chain(request.also_needs());
        let decision = match needed.any(|operation| self.restricts(operation)) {
            true => Decision::Refuse(Failure::new(Code::PermissionDenied, "Permission denied")),
            false => Decision::Allow(Pass::default()),
        };
        std::future::ready(decision).boxed()
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

fn engine(settings: RestSettings, gate: DenyingGate) -> Engine {
    let surface = Surface::new(Mode::All, Profile::known("crude").unwrap(), "").unwrap();
    let source = RestSource::new(settings, |_| None).unwrap();
    Engine::builder(surface).gate(Arc::new(gate)).source(Arc::new(source)).build().unwrap()
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
            reader.quarantine = Some("its definition changed".into());
        } else {
            settings.operation_dangers.insert("get_note".to_owned(), Danger::Destructive);
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
