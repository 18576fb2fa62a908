//! The gate: allowed calls, recorded outcomes, and access to resources.

use std::sync::Arc;

use aquifer_engine::gate::{Decision, Gate, Pass, Receipt, Rules};
use aquifer_engine::source::{Call, FetchRequest, Offering, Outcome, ResourceSource, SourceCapabilities};
use aquifer_engine::{Context, Engine, Mount, Source};
use aquifer_protocol::category::Category;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::operation::Operation;
use aquifer_protocol::trust::Trust;
use aquifer_protocol::validate::Checked;
use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::fixture::{ask, ask_as, context, operation, surface};

/// Allows trusted operations and keeps a journal.
#[derive(Default, Clone)]
struct Journal(Arc<Mutex<Vec<String>>>);

impl Journal {
    fn write(&self, line: &str) {
        self.0.lock().push(line.to_owned());
    }

    fn read(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock())
    }
}

struct Entry {
    journal: Journal,
    settled: bool,
}

impl Receipt for Entry {
    fn settle<'a>(mut self: Box<Self>, outcome: &'a Outcome) -> BoxFuture<'a, ()> {
        self.settled = true;
        self.journal.write(match outcome {
            Outcome::Done(_) => "done",
            Outcome::Failed(_) => "failed",
            Outcome::NeedsInput(_) => "asked",
        });
        std::future::ready(()).boxed()
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if !self.settled {
            self.journal.write("unknown");
        }
    }
}

impl Gate for Journal {
    fn decide<'a>(&'a self, request: &'a Checked, _context: &'a Context) -> BoxFuture<'a, Decision> {
        self.write(&request.operation().name);
        if let Some(token) = &request.metadata().confirmation {
            self.write(token);
        }
        let receipt: Box<dyn Receipt> = Box::new(Entry { journal: self.clone(), settled: false });
        std::future::ready(Decision::Allow(Pass { receipt: Some(receipt), ..Pass::default() })).boxed()
    }

    fn admit<'a>(&'a self, reading: &'a Operation, _context: &'a Context) -> BoxFuture<'a, Result<(), Failure>> {
        self.write(&format!("{} of {}", reading.name, reading.origin.source));
        let decided = match reading.origin.trust {
            Trust::Untested => Err(Failure::new(Code::PermissionTrustLevelInsufficient, "Nobody tried it")),
            _ => Ok(()),
        };
        std::future::ready(decided).boxed()
    }

    fn quota<'a>(&'a self, _context: &'a Context, _source: Option<&'a str>) -> BoxFuture<'a, Value> {
        async { json!({ "quotas": ["asked for"] }) }.boxed()
    }

    fn as_rules(&self) -> Option<&dyn Rules> {
        Some(self)
    }
}

impl Rules for Journal {
    fn may_confirm(&self, operation: &Operation) -> bool {
        operation.category == Category::Delete
    }
}

/// Answers with its parameters; has one resource.
struct Echo(&'static str);

impl Source for Echo {
    fn name(&self) -> &str {
        self.0
    }

    fn offering(&self) -> Offering {
        let mut own = Operation::new("delete_own", Category::Delete, "Has a parameter of that name itself.");
        own.accept_confirmation_token();
        own.safety.takes_token = false;
        let operations = [("get_it", Category::Read), ("get_panic", Category::Read), ("get_slow", Category::Read)]
            .map(|(name, category)| Operation::new(name, category, "Get."));
        let mut operations = operations.to_vec();
        operations.push(Operation::new("delete_it", Category::Delete, "Delete."));
        operations.push(own);
        Offering { operations, ..Offering::default() }
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Outcome> {
        async move {
            match &*call.name {
                "get_panic" => panic!("a source that panics"),
                "get_slow" => std::future::pending().await,
                _ => Outcome::from(Ok(Value::Object(call.params))),
            }
        }
        .boxed()
    }

    fn as_resources(&self) -> Option<&dyn ResourceSource> {
        Some(self)
    }
}

impl ResourceSource for Echo {
    fn capabilities(&self) -> SourceCapabilities {
        SourceCapabilities { resources: true, ..SourceCapabilities::default() }
    }

    fn fetch(&self, wanted: FetchRequest, _context: Context) -> BoxFuture<'_, Result<Value, Failure>> {
        let content = match wanted {
            FetchRequest::Resources if self.0 == "silent" => return std::future::pending().boxed(),
            FetchRequest::Resources => json!([{ "uri": "memo://1" }]),
            _ => json!({ "contents": [] }),
        };
        std::future::ready(Ok(content)).boxed()
    }
}

#[tokio::test]
async fn a_source_that_does_not_answer_is_missing_from_lists() {
    let engine = ["silent", "memos", "more"]
        .into_iter()
        .fold(Engine::builder(surface()), |builder, name| builder.source(Arc::new(Echo(name))));
    let engine = engine.dangerously_let_everything_pass().build().unwrap();
    let listed = engine.list(&FetchRequest::Resources, crate::fixture::context());
    // Without a timeout the silent source would block the list forever.
    let listed = tokio::time::timeout(std::time::Duration::from_secs(120), listed).await.unwrap();
    let uris: Vec<&str> = listed.iter().filter_map(|entry| entry["uri"].as_str()).collect();
    assert_eq!(uris, ["aquifer://memos/memo://1", "aquifer://more/memo://1"]);
}

fn engine(trust: Option<Trust>) -> (Engine, Journal) {
    let journal = Journal::default();
    let mount = Mount { trust, ..Mount::new(Arc::new(Echo("memos"))) };
    (Engine::builder(surface()).mount(mount).gate(Arc::new(journal.clone())).build().unwrap(), journal)
}

#[tokio::test]
async fn r_saf_5_the_gate_receives_the_outcome_of_an_allowed_call() {
    let (engine, journal) = engine(None);
    ask(&engine, operation("get_it", json!({}))).await;
    assert_eq!(journal.read(), ["get_it", "done"]);
    ask(&engine, operation("get_panic", json!({}))).await;
    assert_eq!(journal.read(), ["get_panic", "unknown"]);
    let cancelled = context();
    cancelled.cancelled.cancel();
    ask_as(&engine, operation("get_slow", json!({})), cancelled).await;
    assert_eq!(journal.read(), ["get_slow", "unknown"]);
    // Polled once, then dropped: the source is never going to answer.
    assert!(ask(&engine, operation("get_slow", json!({}))).now_or_never().is_none());
    assert_eq!(journal.read(), ["get_slow", "unknown"]);
}

#[tokio::test]
async fn r_saf_3_the_token_is_a_parameter_where_it_may_be_asked_for_and_stays_with_the_gate() {
    let (engine, journal) = engine(None);
    for place in [json!({ "confirmation_token": "conf_1" }), json!({ "_confirmation": "conf_1" })] {
        assert_eq!(ask(&engine, operation("delete_it", place)).await["data"], json!({}));
        assert_eq!(journal.read(), ["delete_it", "conf_1", "done"]);
    }
    let with_token = json!({ "operation": "delete_it", "confirmation_token": "conf_1" });
    assert_eq!(ask(&engine, with_token).await["data"], json!({}));
    assert_eq!(journal.read(), ["delete_it", "conf_1", "done"]);
    let both = operation("delete_it", json!({ "confirmation_token": "conf_1", "_confirmation": "conf_2" }));
    ask(&engine, both).await;
    assert_eq!(journal.read(), ["delete_it", "conf_1", "done"]);
    let refused = ask(&engine, operation("get_it", json!({ "confirmation_token": "conf_1" }))).await;
    assert_eq!(refused["error"]["code"], "VALIDATION_UNKNOWN_PARAM");
    let own = ask(&engine, operation("delete_own", json!({ "confirmation_token": "its own" }))).await;
    assert_eq!(own["data"], json!({ "confirmation_token": "its own" }), "{own}");
    let named = |name: &str| operation("introspect", json!({ "query": "operations", "name": name }));
    let shown = ask(&engine, named("delete_it")).await;
    assert_eq!(shown["data"]["operation"]["parameters"][0]["name"], "confirmation_token");
    assert_eq!(shown["data"]["operation"]["parameters"][0]["sensitive"], true);
}

#[tokio::test]
async fn r_saf_2_resources_of_an_untested_source_are_not_read() {
    for (trust, readable) in [(Some(Trust::Untested), false), (Some(Trust::Generated), true), (None, true)] {
        let (engine, journal) = engine(trust);
        let read = engine.fetch(FetchRequest::Resource("memo://1".to_owned()), context()).await;
        assert_eq!(read.is_ok(), readable, "{trust:?}");
        assert_eq!(engine.list(&FetchRequest::Resources, context()).await.len(), usize::from(readable));
        assert_eq!(journal.read(), ["read_resource of memos", "list_resources of memos"]);
    }
}

#[tokio::test]
async fn r_int_6_quotas_are_fetched_when_they_are_shown() {
    let (engine, _) = engine(None);
    let quota = ask(&engine, operation("introspect", json!({ "query": "quota" }))).await;
    assert_eq!(quota["data"]["quotas"], json!(["asked for"]));
}
