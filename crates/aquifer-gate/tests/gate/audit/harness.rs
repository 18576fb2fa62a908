//! A source whose calls end as their parameters say, behind a gate with a real audit.

use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::source::{Call, Offering};
use aquifer_engine::store::StateStore;
use aquifer_engine::{Answer, Context, Engine, InputRequest, Outcome, Reply, Source, configuration_changed};
use aquifer_gate::audit::{Audit, AuditSettings};
use aquifer_gate::{GateSettings, SafetyGate};
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::limits::Limits;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::{Kind, Parameter, Schema, Shape};
use aquifer_protocol::surface::{Mode, Profile, Receiver, Surface};
use aquifer_protocol::trust::Trust;
use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use super::support::{DEADLINE, Folder, ScriptedStore, files, lines};
use crate::harness::{anna, code, system_clock};

/// (name, category, whether it is native)
const OPERATIONS: &[(&str, Category, bool)] = &[
    ("get_item", Category::Read, true),
    ("peek_item", Category::Read, true),
    ("create_item", Category::Create, true),
    ("create_remote", Category::Create, false),
    ("update_item", Category::Update, true),
    ("update_remote", Category::Update, false),
    ("delete_item", Category::Delete, true),
    ("run_job", Category::Execute, false),
];

/// Ends each call as its parameter `then` says.
#[derive(Clone, Default)]
pub(super) struct ScriptedSource {
    pub(super) started: Arc<Mutex<Vec<String>>>,
    pub(super) has_started: Arc<Notify>,
}

impl Source for ScriptedSource {
    fn name(&self) -> &str {
        "scripted"
    }

    fn offering(&self) -> Offering {
        let operations = OPERATIONS.iter().map(|(name, category, native)| {
            let mut operation = Operation::new(name, *category, "Does it.");
            (operation.origin.trust, operation.origin.native, operation.open) = (Trust::Certified, *native, !*native);
            operation.parameters = vec![Parameter::optional("then", Schema::string())];
            let optional = |name: &str| Parameter::optional(name, Schema { nullable: true, ..Schema::default() });
            let fields: Vec<Parameter> = ["a", "b", "c", "d"].into_iter().map(optional).collect();
            if operation.takes_changes() {
                let shape = Shape { fields, ..Shape::default() };
                operation.parameters.push(Parameter::required("input", Schema::new(Kind::Object(shape))));
            } else {
                operation.parameters.extend(fields);
            }
            if *native && *category != Category::Read {
                let schema = Schema { default: Some(false.into()), ..Schema::new(Kind::Boolean) };
                operation.parameters.push(Parameter::optional("dry_run", schema));
                operation.safety.has_safe_dry_run = true;
            }
            if *name == "peek_item" {
                operation.safety.danger = Danger::Reversible;
            }
            operation
        });
        Offering { operations: operations.collect(), ..Offering::default() }
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Outcome> {
        let then = call.params.get("then").and_then(Value::as_str).unwrap_or("done").to_owned();
        self.started.lock().push(format!("{} {then}", call.name));
        self.has_started.notify_one();
        async move {
            let failure = |code| Failure::new(code, "It did not work");
            match then.as_str() {
                "fail" => Outcome::Failed(failure(Code::UpstreamError)),
                "lose" => Outcome::Failed(failure(Code::UpstreamTimeout).with_unknown_outcome()),
                "ask" => Outcome::NeedsInput(InputRequest {
                    key: "key".to_owned(),
                    message: "Which?".to_owned(),
                    schema: Map::new(),
                }),
                "outdated" => Outcome::Failed(configuration_changed()),
                "panic" => panic!("as asked"),
                "hang" => std::future::pending().await,
                _ => Outcome::Done(Answer::new(json!("done"))),
            }
        }
        .boxed()
    }
}

pub(super) struct AuditHarness {
    pub(super) engine: Engine,
    pub(super) audit: Audit,
    pub(super) source: ScriptedSource,
    pub(super) store: Arc<ScriptedStore>,
    pub(super) folder: Folder,
}

impl AuditHarness {
    /// Allows everything without confirmation.
    pub(super) fn new() -> Self {
        let all = json!({ "policy": { "rule": [{ "effect": "allow", "source": "scripted", "loosen": true }] } });
        Self::with(&all, |_| {})
    }

    pub(super) fn with(settings: &Value, change: impl FnOnce(&mut AuditSettings)) -> Self {
        let (folder, store, clock) = (Folder::new(), ScriptedStore::new(), system_clock());
        let mut audit = AuditSettings { timeout: Duration::from_secs(2), ..files(&folder.0, 1 << 20, 16) };
        change(&mut audit);
        let shared: Arc<dyn StateStore> = store.clone();
        let audit = Audit::open(audit, clock.clone(), shared.clone()).unwrap();
        let mut gate = GateSettings::default();
        if let Some(policy) = settings.get("policy") {
            gate.policy = serde_json::from_value(policy.clone()).unwrap();
        }
        if let Some(quota) = settings.get("quota") {
            gate.quota = serde_json::from_value(quota.clone()).unwrap();
        }
        let gate =
            Arc::new(SafetyGate::new(&crate::harness::with_tokens(&gate), audit.clone(), shared, clock).unwrap());
        let source = ScriptedSource::default();
        let surface = Surface::new(Mode::All, Profile::known("crude").unwrap(), "").unwrap();
        let engine = Engine::builder(surface).source(Arc::new(source.clone())).gate(gate).build().unwrap();
        Self { engine, audit, source, store, folder }
    }

    pub(super) async fn ask(&self, operation: &str, params: Value) -> Value {
        self.ask_as(operation, params, anna()).await
    }

    pub(super) async fn ask_as(&self, operation: &str, params: Value, context: Context) -> Value {
        let request = json!({ "operation": operation, "params": params });
        let request = request.as_object().unwrap().clone();
        match self.engine.handle(&Receiver::Unified, request, context).await {
            Reply::Response(response) => response.render(&Limits::default()).value(),
            Reply::NeedsInput(_) => json!({ "error": { "code": "asked" } }),
        }
    }

    /// The code of the response.
    pub(super) async fn code(&self, operation: &str, params: Value) -> String {
        code(&self.ask(operation, params).await).to_owned()
    }

    /// All entries so far, except the start of the chain.
    pub(super) async fn entries(&self) -> Vec<Value> {
        tokio::time::timeout(DEADLINE, self.audit.flush()).await.unwrap().unwrap();
        let mut entries = lines(&self.folder.0);
        entries.retain(|entry| entry["event"] != "CHAIN_STARTED");
        entries
    }

    /// Intents and outcomes, as (event, operation, result).
    pub(super) async fn writes(&self) -> Vec<(String, String, String)> {
        let word = |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        let is_write =
            |entry: &&Value| ["OPERATION_INTENT", "OPERATION_OUTCOME"].contains(&entry["event"].as_str().unwrap());
        let summary = |entry: &Value| (word(entry, "event"), word(entry, "operation"), word(entry, "result"));
        self.entries().await.iter().filter(is_write).map(summary).collect()
    }
}

/// Asserts that every intent has exactly one outcome that refers to it.
pub(super) fn assert_paired(entries: &[Value]) {
    let of = |event: &str| entries.iter().filter(move |entry| entry["event"] == event).collect::<Vec<_>>();
    let mut named: Vec<String> =
        of("OPERATION_OUTCOME").iter().map(|entry| entry["intent"].as_str().unwrap_or("none").to_owned()).collect();
    let mut intents: Vec<String> = of("OPERATION_INTENT")
        .iter()
        .map(|entry| format!("{}/{}", entry["chain"].as_str().unwrap(), entry["sequence"]))
        .collect();
    named.sort();
    intents.sort();
    assert_eq!(intents, named, "{entries:#?}");
}
