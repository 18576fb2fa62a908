//! Decisions of a person: who decided and why is stored with the decision, and the caller is told.

use std::sync::Arc;

use aquifer_engine::store::StateStore as _;
use aquifer_gate::GateSettings;
use aquifer_gate::confirm::ApprovalNotifier;
use aquifer_gate::confirm::approvals::{self, Approval, MAX_REASON_CHARS, Status};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::harness::{Harness, code, request, with_token};

fn settings() -> GateSettings {
    let policy = json!({ "strength": { "destructive": "approval" } });
    GateSettings { policy: serde_json::from_value(policy).unwrap(), ..GateSettings::default() }
}

fn harness() -> Harness {
    Harness::new(&settings())
}

fn delete(id: &str) -> Value {
    request("alpha_delete_thing", json!({ "id": id }))
}

/// Sends a request that needs an approval. Returns the approval's id and the token.
async fn ask(harness: &Harness, id: &str) -> (String, String) {
    let answer = harness.ask(delete(id)).await;
    let detail =
        |name: &str| answer["error"]["details"][name].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
    (detail("approval_id"), detail("confirmation_token"))
}

#[tokio::test]
async fn r_saf_3_a_denial_says_who_and_why_to_everybody() {
    let harness = harness();
    let (store, clock) = (&*harness.store, &harness.clock);
    let (id, token) = ask(&harness, "x").await;
    let pending = approvals::find(store, &id, clock).await.unwrap();
    assert_eq!((pending.decided_by, pending.decision_reason), (None, None));

    let denied = approvals::deny(store, &id, clock, "carla", "  wrong row\nask \u{202e}again ").await.unwrap();
    assert_eq!((denied.status, denied.decided_by.as_deref()), (Status::Denied, Some("carla")));
    assert_eq!(denied.decision_reason.as_deref(), Some("wrong row\nask \u{202e}again"), "kept as typed");
    assert_eq!(approvals::find(store, &id, clock).await.unwrap(), denied);
    assert_eq!(approvals::list(store, clock).await.unwrap(), std::slice::from_ref(&denied));
    assert_eq!(approvals::get(store, &id, clock).await.unwrap().approval(), &denied);

    let answer = harness.ask(with_token(delete("x"), &token)).await;
    assert_eq!(code(&answer), "PERMISSION_DENIED");
    let shown = r"wrong row\nask \u{202e}again";
    assert_eq!(answer["error"]["details"]["decision_reason"], shown, "{answer}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.ends_with(&format!("Nothing was done. The person's reason: \"{shown}\"")), "{message}");
    assert!(!answer.to_string().contains("carla"), "who decided is not the caller's business: {answer}");
}

#[tokio::test]
async fn r_saf_3_a_denial_without_a_reason_has_none() {
    let harness = harness();
    let (id, token) = ask(&harness, "x").await;
    let denied = approvals::deny(&*harness.store, &id, &harness.clock, "carla", " \n").await.unwrap();
    assert_eq!(denied.decision_reason, None);
    let answer = harness.ask(with_token(delete("x"), &token)).await;
    assert!(answer["error"]["details"].get("decision_reason").is_none(), "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().ends_with("Nothing was done"), "{answer}");
}

#[tokio::test]
async fn r_saf_3_reasons_and_names_have_a_maximum_length() {
    let harness = harness();
    let (id, _) = ask(&harness, "x").await;
    let (by, reason) = ("ü".repeat(5_000), "ö".repeat(5_000));
    let denied = approvals::deny(&*harness.store, &id, &harness.clock, &by, &reason).await.unwrap();
    assert_eq!(denied.decision_reason.unwrap().chars().count(), MAX_REASON_CHARS);
    assert_eq!(denied.decided_by.unwrap().chars().count(), 100);
}

#[tokio::test]
async fn r_saf_3_an_approval_says_who_gave_it_and_a_withdrawal_replaces_that() {
    let harness = harness();
    let (store, clock) = (&*harness.store, &harness.clock);
    let (id, token) = ask(&harness, "x").await;
    let reviewed = approvals::get(store, &id, clock).await.unwrap();
    let approved = approvals::approve(store, &reviewed, clock, "carla").await.unwrap();
    assert_eq!((approved.status, approved.decided_by.as_deref()), (Status::Approved, Some("carla")));
    approvals::deny(store, &id, clock, "dora", "changed our mind").await.unwrap();
    let found = approvals::find(store, &id, clock).await.unwrap();
    assert_eq!(found.decided_by.as_deref(), Some("dora"));
    assert_eq!(code(&harness.ask(with_token(delete("x"), &token)).await), "PERMISSION_DENIED");

    let (id, token) = ask(&harness, "y").await;
    let reviewed = approvals::get(store, &id, clock).await.unwrap();
    approvals::approve(store, &reviewed, clock, "carla").await.unwrap();
    assert_eq!(code(&harness.ask(with_token(delete("y"), &token)).await), "done");
    let used = approvals::find(store, &id, clock).await.unwrap();
    assert_eq!((used.status, used.decided_by.as_deref()), (Status::Used, Some("carla")));
}

#[tokio::test]
async fn r_saf_3_the_digest_tells_calls_apart() {
    let harness = harness();
    let mut digests = Vec::new();
    for id in ["x", "y", "x"] {
        let (approval, _) = ask(&harness, id).await;
        let reviewed = approvals::get(&*harness.store, &approval, &harness.clock).await.unwrap();
        assert_eq!(reviewed.preview(), None, "this source cannot rehearse");
        digests.push(reviewed.digest().to_owned());
    }
    assert_ne!(digests[0], digests[1]);
    assert_eq!(digests[0], digests[2]);
}

/// Records of an earlier version, which know neither the decision nor the preview.
#[tokio::test]
async fn r_saf_3_records_without_the_decision_are_still_read() {
    let harness = harness();
    let (store, clock) = (&*harness.store, &harness.clock);
    let (id, token) = ask(&harness, "x").await;
    let stored = store.get(&format!("gate/approval/{id}")).await.unwrap().unwrap();
    let record: Value = serde_json::from_slice(&stored.value).unwrap();
    let has = |value: &Value, name: &str| value.get(name).is_some();
    assert!(!has(&record, "preview") && !has(&record["approval"], "decided_by"), "{record}");
    approvals::deny(store, &id, clock, "carla", "no").await.unwrap();
    let key = record["token"].as_str().unwrap();
    let stored = store.get(key).await.unwrap().unwrap();
    let mut token_record: Value = serde_json::from_slice(&stored.value).unwrap();
    assert!(token_record.as_object_mut().unwrap().remove("decision").is_some(), "{token_record}");
    let keep = std::time::Duration::from_secs(600);
    let value = serde_json::to_vec(&token_record).unwrap();
    assert!(store.compare_and_set(key, Some(stored.version), value, keep).await.unwrap());
    let found = approvals::find(store, &id, clock).await.unwrap();
    assert_eq!((found.status, found.decided_by, found.decision_reason), (Status::Denied, None, None));
    assert_eq!(code(&harness.ask(with_token(delete("x"), &token)).await), "PERMISSION_DENIED");
}

/// Remembers the approvals it was told about.
#[derive(Default)]
struct Recorder(Mutex<Vec<Approval>>);

impl ApprovalNotifier for Recorder {
    fn on_created(&self, approval: &Approval) {
        self.0.lock().push(approval.clone());
    }
}

#[tokio::test]
async fn r_saf_3_a_notifier_is_told_once_about_each_approval_that_can_be_decided() {
    let recorder = Arc::new(Recorder::default());
    let harness = harness().notifying(&settings(), recorder.clone());
    let told = || std::mem::take(&mut *recorder.0.lock());
    let (id, token) = ask(&harness, "x").await;
    assert_eq!(told(), [approvals::find(&*harness.store, &id, &harness.clock).await.unwrap()]);
    // Asking about it, and calls without an approval, are no news.
    harness.ask(with_token(delete("x"), &token)).await;
    harness.ask(request("alpha_get_thing", json!({ "id": "x" }))).await;
    assert_eq!(told(), []);
    harness.store.set_down(true);
    assert_eq!(code(&harness.ask(delete("y")).await), "INTERNAL_ERROR");
    assert_eq!(told(), []);
}
