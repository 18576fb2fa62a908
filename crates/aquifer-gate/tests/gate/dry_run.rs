//! A dry run that its source guarantees changes nothing, so nobody is asked; it is denied and counted like any call
//! (R-REQ-9, R-SAF-2). A real call cannot pass as a dry run.

use std::sync::Arc;

use aquifer_engine::source::{Call, Offering};
use aquifer_engine::store::MemoryStore;
use aquifer_engine::{Answer, Engine, Outcome, Reply, Source};
use aquifer_gate::audit::{Audit, AuditSettings};
use aquifer_gate::{GateSettings, SafetyGate};
use aquifer_protocol::category::Category;
use aquifer_protocol::limits::Limits;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::{Kind, Parameter, Schema};
use aquifer_protocol::surface::{Mode, Profile, Receiver, Surface};
use aquifer_protocol::trust::Trust;
use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::harness::{ManualClock, anna, code, request, with_person, with_token};
use crate::stores::setup::Folder;

/// Three kinds of operations with a parameter `dry_run`: guaranteed by the source, an upstream's own, and an upstream's
/// with a guarantee that it cannot give.
#[derive(Clone)]
struct Rows {
    trust: Trust,
    seen: Arc<Mutex<Vec<Value>>>,
}

impl Source for Rows {
    fn name(&self) -> &str {
        "rows"
    }

    fn offering(&self) -> Offering {
        let kinds = [("delete_row", true, true), ("delete_remote", false, false), ("delete_claimed", false, true)];
        let operations = kinds.into_iter().map(|(name, native, guarantees)| {
            let mut operation = Operation::new(name, Category::Delete, "Deletes it.");
            let schema = Schema { default: Some(false.into()), ..Schema::new(Kind::Boolean) };
            operation.parameters =
                vec![Parameter::required("id", Schema::string()), Parameter::optional("dry_run", schema)];
            (operation.origin.native, operation.safety.has_safe_dry_run, operation.origin.trust) =
                (native, guarantees, self.trust);
            operation
        });
        Offering { operations: operations.collect(), ..Offering::default() }
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Outcome> {
        self.seen.lock().push(Value::Object(call.params));
        std::future::ready(Outcome::Done(Answer::new(json!("done")))).boxed()
    }
}

struct DryRunHarness {
    engine: Engine,
    gate: Arc<SafetyGate>,
    audit: Audit,
    rows: Rows,
    folder: Folder,
}

impl DryRunHarness {
    fn new(settings: Value) -> Self {
        Self::trusted(settings, Trust::Validated)
    }

    fn trusted(settings: Value, trust: Trust) -> Self {
        let (clock, folder) = (ManualClock::new().steady, Folder::new());
        let store = Arc::new(MemoryStore::new(clock.clone(), 1_000));
        let audit = Audit::open(AuditSettings::in_directory(&folder.0), clock.clone(), store.clone()).unwrap();
        let mut gate = GateSettings::default();
        if let Some(rules) = settings.get("policy") {
            gate.policy = serde_json::from_value(rules.clone()).unwrap();
        }
        if let Some(limits) = settings.get("quota") {
            gate.quota = serde_json::from_value(limits.clone()).unwrap();
        }
        let gate = Arc::new(SafetyGate::new(&crate::harness::with_tokens(&gate), audit.clone(), store, clock).unwrap());
        let rows = Rows { trust, seen: Arc::default() };
        let surface = Surface::new(Mode::All, Profile::known("crude").unwrap(), "").unwrap();
        let engine = Engine::builder(surface).source(Arc::new(rows.clone())).gate(gate.clone()).build().unwrap();
        Self { engine, gate, audit, rows, folder }
    }

    async fn ask(&self, request: Value) -> Value {
        let arguments = request.as_object().unwrap().clone();
        // The client can ask its user.
        match self.engine.handle(&Receiver::Unified, arguments, with_person(anna())).await {
            Reply::Response(response) => response.render(&Limits::default()).value(),
            Reply::NeedsInput(_) => json!({ "error": { "code": "asked" } }),
        }
    }

    fn seen(&self) -> Vec<Value> {
        std::mem::take(&mut self.rows.seen.lock())
    }

    /// The recorded events.
    async fn events(&self) -> Vec<String> {
        self.audit.flush().await.unwrap();
        let files = std::fs::read_dir(&self.folder.0).unwrap().map(|file| file.unwrap().path());
        let text: String = files.map(|file| std::fs::read_to_string(file).unwrap()).collect();
        let events = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["event"].clone());
        events.map(|event| event.as_str().unwrap().to_owned()).filter(|event| event != "CHAIN_STARTED").collect()
    }
}

#[tokio::test]
async fn r_req_9_a_dry_run_asks_nobody_and_reaches_the_source() {
    // (request, result); "asked" is a question to the user.
    let table = [
        (json!({ "params": { "id": "1", "dry_run": true } }), "done"),
        (json!({ "params": { "id": "1", "dryRun": true } }), "done"),
        (json!({ "params": { "id": "1" }, "dry_run": true }), "done"),
        (json!({ "params": { "id": "1" }, "dryRun": true }), "done"),
        (json!({ "id": "1", "dry_run": true }), "done"),
        // The value in params takes precedence.
        (json!({ "params": { "id": "1", "dry_run": true }, "dry_run": false }), "done"),
        (json!({ "params": { "id": "1", "dry_run": false }, "dry_run": true }), "asked"),
        (json!({ "params": { "id": "1", "dry_run": false }, "dryRun": true }), "asked"),
        (json!({ "params": { "id": "1", "dryRun": false }, "dry_run": true }), "asked"),
        (json!({ "params": { "id": "1", "dry_run": true, "dryRun": false } }), "VALIDATION_INVALID_VALUE"),
        (json!({ "params": { "id": "1", "dryRun": true, "dry_run": false } }), "VALIDATION_INVALID_VALUE"),
        // Only true is true.
        (json!({ "params": { "id": "1" } }), "asked"),
        (json!({ "params": { "id": "1", "dry_run": false } }), "asked"),
        (json!({ "params": { "id": "1", "dry_run": "true" } }), "VALIDATION_INVALID_TYPE"),
        (json!({ "params": { "id": "1", "dry_run": 1 } }), "VALIDATION_INVALID_TYPE"),
        (json!({ "params": { "id": "1", "dry_run": [true] } }), "VALIDATION_INVALID_TYPE"),
        (json!({ "params": { "id": "1", "dry_run": null } }), "VALIDATION_INVALID_TYPE"),
        (json!({ "params": { "id": "1" }, "dry_run": "true" }), "VALIDATION_INVALID_TYPE"),
        // And only `dry_run` is its name.
        (json!({ "params": { "id": "1", "DryRun": true } }), "VALIDATION_UNKNOWN_PARAM"),
        (json!({ "params": { "id": "1", "DRY_RUN": true } }), "VALIDATION_UNKNOWN_PARAM"),
        (json!({ "params": { "id": "1", "dry-run": true } }), "VALIDATION_UNKNOWN_PARAM"),
        (json!({ "params": { "id": "1", "params": { "dry_run": true } } }), "VALIDATION_UNKNOWN_PARAM"),
        (json!({ "params": { "id": "1" }, "_dry_run": true }), "asked"),
    ];
    let harness = DryRunHarness::new(json!({}));
    for (mut request, expected) in table {
        request["operation"] = "delete_row".into();
        let answer = harness.ask(request.clone()).await;
        assert_eq!(code(&answer), expected, "{request}: {answer}");
        for params in harness.seen() {
            assert_eq!(params["dry_run"], true, "{request} reached the source as {params}");
        }
    }
    let events = harness.events().await;
    assert!(events.iter().all(|event| event == "CONFIRMATION_REQUIRED"), "nothing was done: {events:?}");
}

#[tokio::test]
async fn r_req_9_an_upstreams_own_dry_run_does_not_count() {
    let harness = DryRunHarness::new(json!({}));
    for operation in ["delete_remote", "delete_claimed"] {
        let answer = harness.ask(request(operation, json!({ "id": "1", "dry_run": true }))).await;
        assert_eq!(code(&answer), "asked", "{operation}: {answer}");
    }
    assert!(harness.seen().is_empty());
}

#[tokio::test]
async fn r_req_9_a_dry_run_uses_up_no_token_and_needs_none() {
    let harness = DryRunHarness::new(json!({ "policy": { "strength": { "destructive": "token" } } }));
    let real = || request("delete_row", json!({ "id": "1" }));
    let rehearsal = || request("delete_row", json!({ "id": "1", "dry_run": true }));
    let asked = harness.ask(real()).await;
    let token = asked["error"]["details"]["confirmation_token"].as_str().unwrap_or_else(|| panic!("{asked}"));
    assert_eq!(code(&harness.ask(with_token(rehearsal(), token)).await), "done", "a token is no hindrance");
    assert_eq!(code(&harness.ask(with_token(rehearsal(), "conf_wrong")).await), "done", "nor is a wrong one");
    assert_eq!(code(&harness.ask(with_token(real(), token)).await), "done", "and it was not used up");
    assert_eq!(code(&harness.ask(with_token(real(), token)).await), "TOKEN_ALREADY_USED");
    let runs = harness.seen();
    assert_eq!(runs.iter().filter(|params| params["dry_run"] == true).count(), 2, "{runs:?}");
    // A batch does not halt.
    let batch = json!({ "operations": [rehearsal(), rehearsal()] });
    assert_eq!(harness.ask(batch).await["summary"], json!({ "total": 2, "succeeded": 2, "failed": 0 }));
    let intents = harness.events().await.into_iter().filter(|event| event == "OPERATION_INTENT").count();
    assert_eq!(intents, 1, "only what was really done");
}

#[tokio::test]
async fn r_req_9_a_dry_run_is_denied_like_the_real_call() {
    let deny = json!({ "policy": { "rule": [{ "effect": "deny", "operation": "delete_row" }] } });
    let when = json!({ "policy": { "rule": [
        { "effect": "deny", "operation": "delete_row", "when": [{ "param": "dry_run", "equals": true }] }
    ] } });
    let stages = [
        (DryRunHarness::new(deny), "PERMISSION_DENIED"),
        (DryRunHarness::new(when), "PERMISSION_DENIED"),
        (DryRunHarness::trusted(json!({}), Trust::Generated), "PERMISSION_DANGER_LEVEL_DENIED"),
        (DryRunHarness::trusted(json!({}), Trust::Untested), "PERMISSION_DANGER_LEVEL_DENIED"),
    ];
    for (harness, expected) in stages {
        let answer = harness.ask(request("delete_row", json!({ "id": "1", "dry_run": true }))).await;
        assert_eq!(code(&answer), expected, "{answer}");
        assert!(harness.seen().is_empty());
        assert_eq!(harness.events().await, ["OPERATION_DENIED"]);
    }
}

#[tokio::test]
async fn r_req_9_the_strictest_confirmation_is_not_asked_of_a_dry_run() {
    let strict = json!({ "policy": { "rule": [
        { "effect": "confirm", "strength": "approval", "cooldown_seconds": 60, "operation": "delete_row" }
    ] } });
    let harness = DryRunHarness::new(strict);
    assert_eq!(code(&harness.ask(request("delete_row", json!({ "id": "1", "dry_run": true }))).await), "done");
    assert_eq!(code(&harness.ask(request("delete_row", json!({ "id": "1" }))).await), "CONFIRMATION_REQUIRED");
}

#[tokio::test]
async fn r_saf_4_limits_count_dry_runs() {
    let limits = [
        (json!({ "rate_limit": [{ "name": "calls", "limit": 2, "window": "hour" }] }), "RATE_LIMIT_EXCEEDED"),
        (json!({ "quota": [{ "metric": "requests_per_day", "hard_stop": 2 }] }), "RATE_LIMIT_QUOTA_EXHAUSTED"),
        (json!({ "quota": [{ "metric": "requests_per_day", "pause": 2 }] }), "RATE_LIMIT_QUOTA_PAUSE"),
    ];
    for (limits, expected) in limits {
        let harness = DryRunHarness::new(json!({ "quota": limits }));
        let rehearsal = || request("delete_row", json!({ "id": "1", "dry_run": true }));
        for _ in 0..2 {
            assert_eq!(code(&harness.ask(rehearsal()).await), "done");
        }
        assert_eq!(code(&harness.ask(rehearsal()).await), expected);
        assert_eq!(harness.seen().len(), 2);
    }
}

#[tokio::test]
async fn r_saf_2_an_explanation_says_that_a_dry_run_asks_nobody() {
    let harness = DryRunHarness::new(json!({}));
    let snapshot = harness.engine.snapshot();
    for (params, decision) in [(json!({ "id": "1" }), "confirm"), (json!({ "id": "1", "dry_run": true }), "allow")] {
        let wanted = request("delete_row", params.clone());
        let parsed = aquifer_protocol::request::parse(wanted.as_object().unwrap().clone(), 10).unwrap();
        let aquifer_protocol::request::ParsedRequest::One(parsed) = parsed else { panic!("{params}") };
        let routed =
            aquifer_protocol::validate::route(snapshot.catalog(), snapshot.surface(), &Receiver::Unified, parsed);
        let checked =
            routed.unwrap().check(snapshot.catalog(), aquifer_protocol::validate::Strictness::Strict).unwrap();
        let explanation = harness.gate.explain(&checked, &anna()).await;
        assert_eq!(explanation["decision"], decision, "{explanation}");
        assert_eq!(explanation["dry_run"], "A dry run changes nothing, so nobody is asked", "{explanation}");
    }
}
