//! Who asked, what was decided and what ran can be joined by the id of the approval.

use aquifer_engine::{Caller, Context};
use aquifer_gate::audit::read::{EntryFilter, EntryQuery, read_files};
use aquifer_gate::audit::{Audit, Entry, Event};
use aquifer_gate::confirm::approvals::{self, Approval};
use aquifer_gate::{GateSettings, policy::PolicySettings};
use aquifer_protocol::trust::Trust;
use serde_json::{Value, json};

use super::support::*;
use crate::harness::{Harness, anna, answering, approve, code, request, with_person, with_token};

fn settings() -> GateSettings {
    let policy: PolicySettings = serde_json::from_value(json!({ "strength": { "destructive": "approval" } })).unwrap();
    GateSettings { policy, ..GateSettings::default() }
}

/// A client of a session that calls itself something.
fn nameless(request_id: &str) -> Context {
    Context { client_name: Some("scout 1.0".into()), ..Context::new(Caller::session("session_1"), request_id) }
}

/// The entries with this approval, oldest first.
fn entries_of(folder: &Folder, id: &str) -> Vec<Value> {
    let filter = EntryFilter { approval_id: Some(id.to_owned()), ..EntryFilter::default() };
    let page = read_files(&folder.0, &EntryQuery { filter, limit: 100, before: None }).unwrap();
    page.entries.iter().rev().map(|line| serde_json::from_str(line).unwrap()).collect()
}

async fn ask(harness: &Harness, sent: &Value, request_id: &str) -> (String, String) {
    let answer = harness.ask_as(sent.clone(), nameless(request_id)).await;
    let detail = |name: &str| answer["error"]["details"][name].as_str().unwrap().to_owned();
    (detail("approval_id"), detail("confirmation_token"))
}

async fn record(audit: &Audit, event: Event, decided: &Approval) {
    audit.record(Entry::for_decision(event, decided)).await.unwrap();
}

#[tokio::test]
async fn r_saf_5_an_approval_joins_the_request_the_decision_and_the_call() {
    let (folder, audit) = (Folder::new(), std::sync::OnceLock::new());
    let harness = Harness::with(&settings(), Trust::Certified, |store, _| {
        audit.get_or_init(|| open(files(&folder.0, 1 << 20, 16), &store)).clone()
    });
    let (audit, clock) = (audit.get().unwrap(), &*harness.clock.steady);
    let delete = request("alpha_delete_thing", json!({ "id": "x" }));

    let (id, token) = ask(&harness, &delete, "req_asks").await;
    let decided = approve(&*harness.store, &id, clock).await.unwrap();
    record(audit, Event::Approved, &decided).await;
    let done = harness.ask_as(with_token(delete.clone(), &token), nameless("req_runs")).await;
    assert_eq!(code(&done), "done");

    let (denied, token) = ask(&harness, &delete, "req_denied").await;
    let decided = approvals::deny(&*harness.store, &denied, clock, "admin", "no").await.unwrap();
    record(audit, Event::Declined, &decided).await;
    harness.ask_as(with_token(delete, &token), nameless("req_again")).await;
    audit.flush().await.unwrap();

    let steps = |id: &str| -> Vec<(String, String)> {
        let text = |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        entries_of(&folder, id).iter().map(|entry| (text(entry, "event"), text(entry, "request_id"))).collect()
    };
    let step = |event: &str, request: &str| (event.to_owned(), request.to_owned());
    let expected = [
        step("CONFIRMATION_REQUIRED", "req_asks"),
        step("APPROVAL_GRANTED", "req_asks"),
        step("CONFIRMATION_GRANTED", "req_runs"),
        step("OPERATION_INTENT", "req_runs"),
        step("OPERATION_OUTCOME", "req_runs"),
    ];
    assert_eq!(steps(&id), expected);
    let expected = [
        step("CONFIRMATION_REQUIRED", "req_denied"),
        step("APPROVAL_DECLINED", "req_denied"),
        step("TOKEN_REJECTED", "req_again"),
    ];
    assert_eq!(steps(&denied), expected);
    assert_eq!(entries_of(&folder, &denied)[0]["parameters"], json!({ "id": "x" }), "what was denied");

    let entries = entries_of(&folder, &id);
    for entry in &entries {
        assert_eq!(entry["client_name"], "scout 1.0", "{entry}");
        assert_eq!(entry["session_id"], entries[0]["session_id"], "{entry}");
        assert!(entry["user_id"].is_null(), "a name that nobody verified is no principal: {entry}");
    }
    assert_eq!(entries[1]["decided_by"], "admin");
    for entry in &entries[2..] {
        assert_eq!((&entry["confirmed_by"], &entry["decided_by"]), (&json!("approval"), &json!("admin")), "{entry}");
    }
    assert!(verify_directory(&folder.0, &harness.store.inner).await.is_intact());
}

/// A token that the caller redeems itself, a person who is asked in the client, and both for a batch.
#[tokio::test]
async fn r_saf_5_the_audit_says_who_or_what_confirmed() {
    let (folder, audit) = (Folder::new(), std::sync::OnceLock::new());
    let harness = Harness::with(&GateSettings::default(), Trust::Certified, |store, _| {
        audit.get_or_init(|| open(files(&folder.0, 1 << 20, 16), &store)).clone()
    });
    let delete = |id: &str| request("alpha_delete_thing", json!({ "id": id }));
    let batch = json!({ "operations": [delete("c"), delete("d")] });
    let token = harness.token(delete("a")).await;
    assert_eq!(code(&harness.ask(with_token(delete("a"), &token)).await), "done");
    let halted = harness.ask(batch.clone()).await;
    let token = &halted["halted_at"]["result"]["error"]["details"]["confirmation_token"];
    let confirmed = json!({ "operations": batch["operations"], "confirmation_token": token });
    let done = harness.ask(confirmed).await;
    assert_eq!(done["summary"]["succeeded"], 2, "{done}");
    for sent in [delete("b"), batch] {
        let asked = harness.ask_as(sent.clone(), with_person(anna())).await;
        let answered = answering(with_person(anna()), asked["question"].as_str().unwrap(), "accept");
        harness.ask_as(sent, answered).await;
    }
    audit.get().unwrap().flush().await.unwrap();
    let entries = lines(&folder.0);
    for event in ["CONFIRMATION_GRANTED", "OPERATION_INTENT", "OPERATION_OUTCOME"] {
        let entries: Vec<&Value> = entries.iter().filter(|entry| entry["event"] == event).collect();
        let by: Vec<&Value> = entries.iter().map(|entry| &entry["confirmed_by"]).collect();
        assert_eq!(by, ["caller", "caller", "caller", "elicitation", "elicitation", "elicitation"], "{event}");
        assert!(entries.iter().all(|entry| entry["decided_by"].is_null()), "{event}");
        // No entry names a person where nobody was asked.
        let by_caller = entries.iter().filter(|entry| entry["confirmed_by"] == "caller");
        by_caller.for_each(|entry| assert!(!entry.to_string().contains("person"), "{entry}"));
    }
}

#[test]
fn r_saf_5_a_known_caller_is_not_mixed_with_a_claimed_name() {
    let caller = Caller { principal: Some("anna".into()), session: None };
    let context = Context { client_name: Some("berta".into()), ..Context::new(caller, "req_1") };
    let entry = serde_json::to_value(Entry::for_operation(Event::Denied, &deletion()).context(&context)).unwrap();
    assert_eq!((&entry["user_id"], &entry["client_name"]), (&json!("anna"), &Value::Null));
}
