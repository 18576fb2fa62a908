//! Operations that a request needs in addition are judged with the parameters with which they are called.

use std::sync::Arc;

use aquifer_engine::source::{Call, Offering, Resolution};
use aquifer_engine::store::{MemoryStore, StateStore};
use aquifer_engine::{Answer, Engine, Outcome, Reply, Source};
use aquifer_gate::audit::Audit;
use aquifer_gate::{GateSettings, SafetyGate};
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::error::Failure;
use aquifer_protocol::limits::Limits;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::{Parameter, Schema};
use aquifer_protocol::surface::{Mode, Profile, Receiver, Surface};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use crate::harness::{anna, code, request, system_clock};

/// Notes whose change begins with a read.
struct Notes;

impl Source for Notes {
    fn name(&self) -> &str {
        "notes"
    }

    fn offering(&self) -> Offering {
        let make = |name: &str, category| {
            let mut made = Operation::new(name, category, "Does it.");
            (made.origin.native, made.safety.danger) = (false, Danger::Safe);
            made.parameters = vec![Parameter::required("id", Schema::string())];
            made
        };
        let mut change = make("change_note", Category::Update);
        change.routing.may_need = vec!["get_note".into()];
        change.routing.reads_first = Some("get_note".into());
        Offering { operations: vec![make("get_note", Category::Read), change], ..Offering::default() }
    }

    fn resolve(&self, _operation: &str, params: Map<String, Value>) -> Result<Resolution, Failure> {
        let needed_params = params.clone();
        Ok(Resolution { params, also_needs: vec!["get_note".into()], needed_params, ..Resolution::default() })
    }

    fn call(&self, _call: Call) -> BoxFuture<'_, Outcome> {
        std::future::ready(Outcome::Done(Answer::new(json!("done")))).boxed()
    }
}

fn engine(settings: Value) -> Engine {
    let settings = GateSettings {
        policy: serde_json::from_value(json!({ "rule": settings["rule"] })).unwrap(),
        ..GateSettings::default()
    };
    let clock = system_clock();
    let store: Arc<dyn StateStore> = Arc::new(MemoryStore::new(clock.clone(), 1_000));
    let gate = Arc::new(
        SafetyGate::new(&crate::harness::with_tokens(&settings), Audit::disabled(clock.clone()), store.clone(), clock)
            .unwrap(),
    );
    let surface = Surface::new(Mode::All, Profile::known("crude").unwrap(), "").unwrap();
    Engine::builder(surface).gate(gate).store(store).source(Arc::new(Notes)).build().unwrap()
}

async fn change(engine: &Engine, id: &str) -> String {
    let request = request("change_note", json!({ "id": id }));
    match engine.handle(&Receiver::Unified, request.as_object().unwrap().clone(), anna()).await {
        Reply::Response(response) => code(&response.render(&Limits::default()).value()).to_owned(),
        Reply::NeedsInput(_) => "a question".to_owned(),
    }
}

#[tokio::test]
async fn r_saf_2_rules_about_a_needed_operation_see_its_parameters() {
    for (effect, expected) in [("deny", "PERMISSION_DENIED"), ("confirm", "CONFIRMATION_REQUIRED")] {
        let when = json!([{ "param": "id", "equals": "secret" }]);
        let engine = engine(json!({ "rule": [{ "effect": effect, "operation": "get_note", "when": when }] }));
        assert_eq!(change(&engine, "secret").await, expected);
        assert_eq!(change(&engine, "other").await, "done", "{effect}");
    }
}
