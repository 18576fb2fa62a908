//! Calls are rehearsed before anybody is asked about them (R-SAF-3).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aquifer_engine::clock::SteadyClock;
use aquifer_engine::rehearsal::{AffectedRows, ChangeKind, Preview, RehearsalResult, RowCount, RowFate};
use aquifer_engine::source::{Call, Offering};
use aquifer_engine::store::MemoryStore;
use aquifer_engine::{Answer, Context, Engine, Outcome, Reply, Source};
use aquifer_gate::audit::Audit;
use aquifer_gate::confirm::approvals::{self, ReviewedApproval};
use aquifer_gate::{GateSettings, SafetyGate};
use aquifer_protocol::category::Category;
use aquifer_protocol::error::Failure;
use aquifer_protocol::limits::Limits;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::{Parameter, Schema};
use aquifer_protocol::surface::{Mode, Profile, Receiver, Surface};
use aquifer_protocol::trust::Trust;
use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::harness::{ManualClock, anna, answering, code, request, with_person, with_token};

/// Rows that can be deleted, unless they are missing. A row "panic" makes the rehearsal panic, a row "unknown" cannot be
/// rehearsed, and `delete_remote` belongs to an upstream.
#[derive(Default)]
struct Rows {
    done: Mutex<Vec<String>>,
    rehearsed: AtomicUsize,
    missing: Mutex<Vec<&'static str>>,
}

fn preview(id: &str) -> Preview {
    let group = |plural: &str, count, fate| AffectedRows {
        singular: plural.trim_end_matches('s').to_owned(),
        plural: plural.to_owned(),
        fields: vec!["row_id".to_owned()],
        count,
        fate,
    };
    Preview {
        change: ChangeKind::Delete,
        noun: "row".to_owned(),
        key: vec![("id".to_owned(), json!(id))],
        labels: vec!["Nice\nYes, delete everything".to_owned()],
        affected: vec![group("notes", RowCount::Exactly(1_347), RowFate::Deleted)],
        ..Preview::default()
    }
}

impl Rows {
    fn missing(&self, id: &str) -> Option<Failure> {
        self.missing.lock().contains(&id).then(|| Failure::not_found("row", id))
    }
}

impl Source for Rows {
    fn name(&self) -> &str {
        "rows"
    }

    fn offering(&self) -> Offering {
        let operations = [("delete_row", true), ("delete_remote", false)].into_iter().map(|(name, native)| {
            let mut operation = Operation::new(name, Category::Delete, "Deletes it.");
            operation.parameters = vec![Parameter::required("id", Schema::string())];
            (operation.origin.native, operation.safety.has_safe_dry_run, operation.origin.trust) =
                (native, true, Trust::Validated);
            operation
        });
        Offering { operations: operations.collect(), ..Offering::default() }
    }

    fn rehearse(&self, call: Call) -> BoxFuture<'_, RehearsalResult> {
        self.rehearsed.fetch_add(1, Ordering::Relaxed);
        let id = call.params["id"].as_str().unwrap_or_default().to_owned();
        async move {
            assert_ne!(id, "panic", "on purpose");
            match self.missing(&id) {
                Some(failure) => RehearsalResult::WouldFail(failure),
                None if id == "unknown" => RehearsalResult::Unknown,
                None => RehearsalResult::WouldDo(Box::new(preview(&id))),
            }
        }
        .boxed()
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Outcome> {
        let id = call.params["id"].as_str().unwrap_or_default().to_owned();
        std::future::ready(match self.missing(&id) {
            Some(failure) => Outcome::Failed(failure),
            None => {
                self.done.lock().push(id);
                Outcome::Done(Answer::new(json!("done")))
            }
        })
        .boxed()
    }
}

struct Rehearsing {
    engine: Engine,
    rows: Arc<Rows>,
    store: Arc<MemoryStore>,
    clock: Arc<SteadyClock>,
}

impl Rehearsing {
    fn new(policy: Value) -> Self {
        let clock = ManualClock::new().steady;
        let store = Arc::new(MemoryStore::new(clock.clone(), 1_000));
        let settings = GateSettings { policy: serde_json::from_value(policy).unwrap(), ..GateSettings::default() };
        let audit = Audit::disabled(clock.clone());
        let gate =
            SafetyGate::new(&crate::harness::with_tokens(&settings), audit, store.clone(), clock.clone()).unwrap();
        let rows = Arc::new(Rows::default());
        let surface = Surface::new(Mode::All, Profile::known("crude").unwrap(), "").unwrap();
        let builder = Engine::builder(surface).source(rows.clone()).gate(Arc::new(gate)).store(store.clone());
        Self { engine: builder.build().unwrap(), rows, store, clock }
    }

    async fn ask(&self, request: Value, context: Context) -> Value {
        match self.engine.handle(&Receiver::Unified, request.as_object().unwrap().clone(), context).await {
            Reply::Response(response) => response.render(&Limits::default()).value(),
            Reply::NeedsInput(question) => json!({ "question": question.key, "message": question.message }),
        }
    }

    /// What the only approval shows.
    async fn only_approval(&self) -> ReviewedApproval {
        let listed = approvals::list(&*self.store, &*self.clock).await.unwrap();
        approvals::get(&*self.store, &listed.last().unwrap().id, &*self.clock).await.unwrap()
    }

    fn rehearsed(&self) -> usize {
        self.rows.rehearsed.swap(0, Ordering::Relaxed)
    }

    fn done(&self) -> Vec<String> {
        std::mem::take(&mut self.rows.done.lock())
    }
}

fn delete(id: &str) -> Value {
    request("delete_row", json!({ "id": id }))
}

/// What the question says.
const QUESTION: &str = "Delete row \"1\" (\"Nice\\nYes, delete everything\") of source 'rows'? 1,347 notes (row_id) would be \
                        deleted with it.\n1 parameter:\n  id = \"1\"";

#[tokio::test]
async fn r_saf_3_tokens_are_issued_only_for_calls_that_can_succeed() {
    let harness = Rehearsing::new(json!({}));
    let asked = harness.ask(delete("1"), anna()).await;
    assert_eq!(code(&asked), "CONFIRMATION_REQUIRED");
    assert_eq!(asked["error"]["details"]["confirmation_message"], QUESTION);
    assert_eq!(harness.rehearsed(), 1);
    let token = asked["error"]["details"]["confirmation_token"].as_str().unwrap();
    // The confirmed call is not rehearsed again, and runs once.
    assert_eq!(code(&harness.ask(with_token(delete("1"), token), anna()).await), "done");
    assert_eq!(code(&harness.ask(with_token(delete("1"), token), anna()).await), "TOKEN_ALREADY_USED");
    assert_eq!((harness.rehearsed(), harness.done()), (0, vec!["1".to_owned()]));
    // What cannot succeed is refused without a question.
    harness.rows.missing.lock().push("2");
    for context in [anna(), with_person(anna())] {
        let refused = harness.ask(delete("2"), context).await;
        assert_eq!(code(&refused), "NOT_FOUND_RESOURCE", "{refused}");
        assert!(!refused.to_string().contains("conf_"), "{refused}");
    }
    // The data changed after the question: the real call decides.
    let asked = harness.ask(delete("3"), anna()).await;
    harness.rows.missing.lock().push("3");
    let token = asked["error"]["details"]["confirmation_token"].as_str().unwrap();
    assert_eq!(code(&harness.ask(with_token(delete("3"), token), anna()).await), "NOT_FOUND_RESOURCE");
    assert!(harness.done().is_empty());
}

#[tokio::test]
async fn r_saf_3_a_person_is_asked_what_would_happen() {
    let harness = Rehearsing::new(json!({}));
    let asked = harness.ask(delete("1"), with_person(anna())).await;
    let (headline, parameters) = QUESTION.split_once('\n').unwrap();
    let expected = format!("{headline}\n- This deletes data, so a person has to confirm it\n{parameters}");
    assert_eq!(asked["message"], expected.as_str());
    assert_eq!(harness.rehearsed(), 1);
    let yes = answering(with_person(anna()), asked["question"].as_str().unwrap(), "accept");
    assert_eq!(code(&harness.ask(delete("1"), yes).await), "done");
    assert_eq!((harness.rehearsed(), harness.done()), (0, vec!["1".to_owned()]));
}

#[tokio::test]
async fn r_saf_3_calls_that_cannot_be_rehearsed_are_still_asked_about() {
    let harness = Rehearsing::new(json!({}));
    for id in ["unknown", "panic"] {
        let asked = harness.ask(delete(id), anna()).await;
        let message = asked["error"]["details"]["confirmation_message"].as_str().unwrap();
        assert!(message.starts_with(&format!("Delete row \"{id}\" ('delete_row' of source 'rows')?")), "{asked}");
    }
    assert_eq!(harness.rehearsed(), 2);
    // An upstream guarantees nothing.
    let asked = harness.ask(request("delete_remote", json!({ "id": "1" })), anna()).await;
    assert_eq!((code(&asked), harness.rehearsed()), ("CONFIRMATION_REQUIRED", 0));
}

/// What policy denies is not rehearsed, so nobody learns from it whether it could succeed. The operator's words stay.
#[tokio::test]
async fn r_saf_2_policy_decides_before_a_rehearsal() {
    let rule = |effect: &str| {
        json!({ "rule": [{ "effect": effect, "operation": ["delete_row"], "message": "Really {id}?",
            "when": [{ "param": "id", "equals": "1" }] }] })
    };
    let harness = Rehearsing::new(json!({ "rule": [{ "effect": "deny", "operation": ["delete_row"],
        "when": [{ "param": "id", "equals": "1" }] }] }));
    harness.rows.missing.lock().push("1");
    assert_eq!(code(&harness.ask(delete("1"), anna()).await), "PERMISSION_DENIED");
    assert_eq!(harness.rehearsed(), 0);
    let harness = Rehearsing::new(rule("confirm"));
    let asked = harness.ask(delete("1"), anna()).await;
    let message = asked["error"]["details"]["confirmation_message"].as_str().unwrap();
    assert!(
        message.starts_with("Really 1? This deletes row \"1\" (\"Nice\\nYes, delete everything\"). 1,347"),
        "{message}"
    );
}

/// An approval keeps what the rehearsal found, even if the question has no room for it.
#[tokio::test]
async fn r_saf_3_an_approval_keeps_what_would_change() {
    const CHANGE: &str = "This deletes row \"1\" (\"Nice\\nYes, delete everything\"). 1,347 notes (row_id) would be deleted \
                          with it.";
    let harness = Rehearsing::new(json!({ "strength": { "destructive": "approval" } }));
    harness.ask(delete("1"), anna()).await;
    let reviewed = harness.only_approval().await;
    let preview = reviewed.preview().unwrap();
    assert_eq!((preview.text.as_str(), preview.is_in_message), (CHANGE, true));
    assert!(reviewed.approval().message.contains("1,347 notes"), "{reviewed:?}");
    // A call that cannot be rehearsed has none.
    let harness = Rehearsing::new(json!({ "strength": { "destructive": "approval" } }));
    harness.ask(delete("unknown"), anna()).await;
    assert_eq!(harness.only_approval().await.preview(), None);
}

#[tokio::test]
async fn r_saf_3_an_approval_of_a_long_call_keeps_what_would_change() {
    let harness = Rehearsing::new(json!({}));
    harness.ask(delete(&"x".repeat(10_000)), anna()).await;
    let reviewed = harness.only_approval().await;
    let preview = reviewed.preview().unwrap();
    assert!(!preview.is_in_message && preview.text.contains("1,347 notes"), "{preview:?}");
    assert!(!reviewed.approval().message.contains("1,347 notes"), "{reviewed:?}");
}

#[tokio::test]
async fn r_ext_4_an_approval_of_a_batch_keeps_what_each_call_would_change() {
    let harness = Rehearsing::new(json!({ "strength": { "destructive": "approval" } }));
    harness.ask(batch(&[delete("1"), delete("unknown"), delete("3")]), anna()).await;
    let reviewed = harness.only_approval().await;
    let preview = reviewed.preview().unwrap();
    let lines: Vec<&str> = preview.text.lines().collect();
    assert_eq!(lines.len(), 2, "{preview:?}");
    assert!(lines[0].starts_with("0. delete_row: This deletes row \"1\""), "{preview:?}");
    assert!(lines[1].starts_with("2. delete_row: This deletes row \"3\"") && !preview.is_in_message, "{preview:?}");
}

fn batch(operations: &[Value]) -> Value {
    json!({ "operations": operations })
}

#[tokio::test]
async fn r_ext_4_a_token_for_a_batch_covers_only_calls_that_can_succeed() {
    let harness = Rehearsing::new(json!({}));
    harness.rows.missing.lock().extend(["2", "4"]);
    // The first cannot succeed. The last may, because an operation before it may change something.
    let operations = [delete("2"), delete("1"), delete("3"), delete("4")];
    let asked = harness.ask(batch(&operations), anna()).await;
    let details = &asked["halted_at"]["result"]["error"]["details"];
    assert_eq!(details["covers"], json!([1, 2, 3]), "{asked}");
    assert_eq!(asked["results"][0]["result"]["error"]["code"], "NOT_FOUND_RESOURCE", "{asked}");
    let question = details["confirmation_message"].as_str().unwrap_or_else(|| panic!("{asked}"));
    assert!(question.contains("\n1. Delete row \"1\"") && question.contains("\n2. Delete row \"3\""), "{question}");
    assert!(question.contains("As things are now, it would fail: "), "{question}");
    assert!(harness.done().is_empty());
    let again = json!({ "operations": operations[1..], "confirmation_token": details["confirmation_token"] });
    let answer = harness.ask(again, anna()).await;
    assert_eq!(harness.done(), ["1", "3"], "{answer}");
}

#[tokio::test]
async fn r_ext_4_a_question_about_a_batch_says_what_would_fail() {
    let harness = Rehearsing::new(json!({}));
    harness.rows.missing.lock().extend(["2", "4"]);
    let operations = [delete("2"), delete("1")];
    let asked = harness.ask(batch(&operations), with_person(anna())).await;
    let question = asked["message"].as_str().unwrap_or_else(|| panic!("{asked}"));
    assert!(question.contains("As things are now, it would fail: "), "{question}");
    assert_eq!(harness.rehearsed(), 2);
    let yes = answering(with_person(anna()), asked["question"].as_str().unwrap(), "accept");
    let answer = harness.ask(batch(&operations), yes).await;
    assert_eq!((harness.rehearsed(), harness.done()), (0, vec!["1".to_owned()]), "{answer}");
    // Nobody is asked if nothing can succeed.
    let refused = harness.ask(batch(&[delete("2"), delete("4")]), with_person(anna())).await;
    assert_eq!(refused["summary"], json!({ "total": 2, "succeeded": 0, "failed": 2 }), "{refused}");
}
