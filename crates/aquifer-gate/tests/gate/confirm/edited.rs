//! A person may change a call before approving it: what runs is checked like any call, and only the changed call runs.

use std::sync::Arc;

use aquifer_engine::store::StateStore;
use aquifer_gate::GateSettings;
use aquifer_gate::audit::Audit;
use aquifer_gate::confirm::ConfirmSettings;
use aquifer_gate::confirm::approvals::{self, Approval, ApprovalError, ReviewedApproval, Status};
use aquifer_gate::confirm::edit::{CallEdit, EditError};
use aquifer_gate::policy::PolicySettings;
use aquifer_protocol::request::{ParsedRequest, parse};
use aquifer_protocol::surface::Receiver;
use aquifer_protocol::trust::Trust;
use serde_json::{Value, json};

use super::shared::stores;
use crate::harness::{Harness, ManualClock, anna, caller, code, request, with_token};

fn settings(allow_edits: bool) -> GateSettings {
    let policy: PolicySettings = serde_json::from_value(json!({
        "strength": { "destructive": "approval" },
        "rule": [{ "effect": "deny", "operation": "*_delete_thing", "when": [{ "param": "id", "equals": "precious" }] }],
    }))
    .unwrap();
    let confirm = ConfirmSettings { issued_per_minute: 10_000, allow_edits, ..ConfirmSettings::default() };
    GateSettings { policy, confirm, ..GateSettings::default() }
}

fn delete(id: &str, note: &str) -> Value {
    request("alpha_delete_thing", json!({ "id": id, "note": note }))
}

/// A call that waits.
struct Waiting {
    id: String,
    token: String,
}

async fn ask(harness: &Harness, sent: Value) -> Waiting {
    let answer = harness.ask(sent).await;
    let detail =
        |name: &str| answer["error"]["details"][name].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
    Waiting { id: detail("approval_id"), token: detail("confirmation_token") }
}

/// Checks an edit as the explorer does.
async fn check(harness: &Harness, id: &str, edited: Value) -> Result<(ReviewedApproval, CallEdit), EditError> {
    let reviewed = approvals::get(&*harness.store, id, &*harness.clock.steady).await.unwrap();
    let Ok(ParsedRequest::One(parsed)) = parse(edited.as_object().unwrap().clone(), 10) else { panic!("{edited}") };
    let checked = harness.engine.check(&Receiver::Unified, parsed).map_err(EditError::Refused)?;
    let edit = harness.gate().check_edit(&reviewed, checked)?;
    let rehearsed = harness.engine.rehearse(edit.request(), &reviewed.asking_context()).await;
    Ok((reviewed, edit.rehearsed(&rehearsed)?))
}

async fn approve_edited(harness: &Harness, id: &str, edited: Value) -> Result<Approval, ApprovalError> {
    let (reviewed, edit) = check(harness, id, edited).await.unwrap();
    approvals::approve_edited(&*harness.store, &reviewed, &edit, &*harness.clock.steady, "anna's boss").await
}

#[tokio::test]
async fn r_saf_3_only_the_edited_call_runs_and_its_caller_learns_what_was_changed() {
    let harness = Harness::new(&settings(true));
    let Waiting { id, token } = ask(&harness, delete("a", "all of it")).await;
    let approved = approve_edited(&harness, &id, delete("b", "all of it")).await.unwrap();
    assert_eq!((approved.status, approved.decided_by.as_deref()), (Status::Approved, Some("anna's boss")));

    // The caller repeats its own request and is told what it may send.
    let told = harness.ask(with_token(delete("a", "all of it"), &token)).await;
    assert_eq!(code(&told), "TOKEN_SCOPE_MISMATCH", "{told}");
    let message = told["error"]["message"].as_str().unwrap();
    assert!(message.contains("'id' from \"a\" to \"b\"") && message.contains("edited_params"), "{message}");
    let details = &told["error"]["details"];
    assert_eq!(details["changes"], json!([{ "path": "/id", "from": "a", "to": "b" }]));
    assert_eq!(details["edited_params"], json!({ "id": "b", "note": "all of it" }));
    assert!(harness.done().is_empty());

    // Neither a third call nor another caller can use it.
    for other in [delete("c", "all of it"), delete("b", "less")] {
        assert_eq!(code(&harness.ask(with_token(other, &token)).await), "TOKEN_SCOPE_MISMATCH");
    }
    let stranger = harness.ask_as(with_token(delete("a", "all of it"), &token), caller(Some("berta"), None)).await;
    assert_eq!(
        (code(&stranger), &stranger["error"]["details"]["mismatch"]),
        ("TOKEN_SCOPE_MISMATCH", &json!("caller"))
    );
    assert!(stranger["error"]["details"]["edited_params"].is_null(), "{stranger}");
    assert!(harness.done().is_empty());

    let edited = json!({ "operation": details["operation"], "params": details["edited_params"] });
    let done = harness.ask(with_token(edited.clone(), &token)).await;
    assert_eq!(code(&done), "done", "{done}");
    let warning = &done["warnings"][0];
    assert_eq!(warning["code"], "CALL_EDITED", "{done}");
    assert_eq!(warning["details"]["changes"][0]["to"], "b");
    assert_eq!(
        harness.done(),
        [("alpha".to_owned(), "delete_thing".to_owned(), json!({ "id": "b", "note": "all of it" }))]
    );
    assert_eq!(code(&harness.ask(with_token(edited, &token)).await), "TOKEN_ALREADY_USED");
    let own = harness.ask(with_token(delete("a", "all of it"), &token)).await;
    assert_eq!(code(&own), "TOKEN_ALREADY_USED", "the call that it asked for cannot run either");
    let shown = approvals::get(&*harness.store, &id, &*harness.clock.steady).await.unwrap();
    assert_eq!(shown.call().params["id"], "a");
    assert_eq!(shown.edited().unwrap().call().params["id"], "b");
}

#[tokio::test]
async fn r_saf_3_an_edited_approval_can_be_withdrawn_and_expires() {
    let harness = Harness::new(&settings(true));
    let Waiting { id, token } = ask(&harness, delete("a", "x")).await;
    approve_edited(&harness, &id, delete("b", "x")).await.unwrap();
    approvals::deny(&*harness.store, &id, &*harness.clock.steady, "admin", "after all not").await.unwrap();
    for sent in ["a", "b"] {
        let denied = harness.ask(with_token(delete(sent, "x"), &token)).await;
        assert_eq!(denied["error"]["details"]["decision_reason"], "after all not", "{denied}");
    }
    let Waiting { id, token } = ask(&harness, delete("a", "y")).await;
    approve_edited(&harness, &id, delete("b", "y")).await.unwrap();
    harness.clock.advance(24 * 60 * 60 + 60);
    for sent in ["a", "b"] {
        assert_eq!(code(&harness.ask(with_token(delete(sent, "y"), &token)).await), "TOKEN_EXPIRED");
    }
    assert!(harness.done().is_empty());
}

#[tokio::test]
async fn r_saf_3_an_edit_is_checked_like_a_call() {
    let harness = Harness::new(&settings(true));
    let Waiting { id, .. } = ask(&harness, delete("a", "x")).await;
    let refused = |edited: Value| {
        let (harness, id) = (&harness, &id);
        async move { check(harness, id, edited).await.map(drop).unwrap_err() }
    };
    let unknown = request("alpha_delete_thing", json!({ "id": "a", "nonsense": 1 }));
    assert!(matches!(refused(unknown).await, EditError::Refused(_)), "the schema holds");
    let missing = request("alpha_delete_thing", json!({ "note": "x" }));
    assert!(matches!(refused(missing).await, EditError::Refused(_)));
    let denied = refused(delete("precious", "x")).await;
    assert!(
        matches!(&denied, EditError::Refused(failure) if failure.code().as_str() == "PERMISSION_DENIED"),
        "{denied}"
    );
    assert!(matches!(refused(delete("a", "x")).await, EditError::Unchanged));
    assert!(matches!(refused(request("beta_delete_thing", json!({ "id": "a" }))).await, EditError::OtherOperation));
    let secret = request("alpha_delete_thing", json!({ "id": "a", "pass_code": "1234" }));
    assert!(matches!(refused(secret).await, EditError::NotShown));
    assert!(matches!(refused(delete("a", &"x".repeat(40_000))).await, EditError::NotShown));

    // A rule that came after the approval still denies the call.
    let Waiting { id, token } = ask(&harness, delete("a", "x")).await;
    approve_edited(&harness, &id, delete("b", "x")).await.unwrap();
    let mut stricter = settings(true);
    let rule = json!({ "effect": "deny", "operation": "*_delete_thing", "when": [{ "param": "id", "equals": "b" }] });
    stricter.policy.rule.push(serde_json::from_value(rule).unwrap());
    harness.reload(&stricter);
    assert_eq!(code(&harness.ask(with_token(delete("b", "x"), &token)).await), "PERMISSION_DENIED");
    assert!(harness.done().is_empty());
}

#[tokio::test]
async fn r_saf_3_nothing_can_be_edited_unless_the_configuration_allows_it() {
    for (allows, sent) in [
        (false, delete("a", "x")),
        (true, request("alpha_delete_thing", json!({ "id": "a", "pass_code": "1234" }))),
        (true, delete("a", &"x".repeat(40_000))),
    ] {
        let harness = Harness::new(&settings(allows));
        let Waiting { id, .. } = ask(&harness, sent).await;
        let found = approvals::find(&*harness.store, &id, &*harness.clock.steady).await.unwrap();
        assert!(!found.is_editable);
        assert!(matches!(check(&harness, &id, delete("b", "x")).await, Err(EditError::NotEditable)));
    }
    // Turned off while a call waits.
    let harness = Harness::new(&settings(true));
    let Waiting { id, .. } = ask(&harness, delete("a", "x")).await;
    harness.reload(&settings(false));
    assert!(matches!(check(&harness, &id, delete("b", "x")).await, Err(EditError::NotEditable)));
    // A batch has several calls, and one decision.
    let harness = Harness::new(&settings(true));
    let batch = json!({ "operations": [delete("a", "x"), delete("b", "x")] });
    harness.ask_as(batch, anna()).await;
    let listed = approvals::list(&*harness.store, &*harness.clock.steady).await.unwrap();
    assert_eq!(listed.iter().map(|approval| approval.is_editable).collect::<Vec<_>>(), [false]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r_saf_6_of_two_decisions_at_the_same_time_one_counts() {
    let (mut stores, _folder) = stores();
    stores.push(("memory", Box::new(|clock| Arc::new(aquifer_engine::store::MemoryStore::new(clock.clone(), 10_000)))));
    for (name, open) in stores {
        let clock = ManualClock::new();
        let store: Arc<dyn StateStore> = open(&clock.steady);
        let harness = Harness::over(&settings(true), Trust::Certified, store, clock, |_, clock| Audit::disabled(clock));
        for round in 0..20 {
            // What was denied is not asked about again.
            let note = &format!("round {round}");
            let Waiting { id, token } = ask(&harness, delete("a", note)).await;
            // Both browsers show the call before either of them decides.
            let (reviewed, edit) = check(&harness, &id, delete("b", note)).await.unwrap();
            let (other, other_edit) = check(&harness, &id, delete("c", note)).await.unwrap();
            let (store, clock) = (&*harness.store, &*harness.clock.steady);
            let (first, second) =
                tokio::join!(approvals::approve_edited(store, &reviewed, &edit, clock, "one"), async {
                    match round % 3 {
                        0 => approvals::approve(store, &other, clock, "two").await,
                        1 => approvals::approve_edited(store, &other, &other_edit, clock, "two").await,
                        _ => approvals::deny(store, &id, clock, "two", "").await,
                    }
                });
            // A denial may follow an approval that was not used yet.
            let wins = usize::from(first.is_ok()) + usize::from(second.is_ok());
            assert!(wins == 1 || (round % 3 == 2 && second.is_ok()), "{name} {round}: {first:?} {second:?}");
            for sent in ["a", "b", "c"] {
                harness.ask(with_token(delete(sent, note), &token)).await;
            }
            let ran: Vec<Value> = harness.done().into_iter().map(|(_, _, params)| params["id"].clone()).collect();
            let expected: Vec<Value> = match (first.is_ok(), round % 3) {
                (_, 2) => vec![],
                (true, _) => vec![json!("b")],
                (false, 0) => vec![json!("a")],
                (false, _) => vec![json!("c")],
            };
            assert_eq!(ran, expected, "{name} {round}");
        }
    }
}
