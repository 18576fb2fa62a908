//! By default a person confirms: a token alone confirms nothing, an approval lasts as long as people need, and what a
//! person has refused is not asked about again.

use std::sync::Arc;

use aquifer_engine::Context;
use aquifer_gate::GateSettings;
use aquifer_gate::audit::Audit;
use aquifer_gate::confirm::approvals::{self, ApprovalError, Status};
use aquifer_gate::confirm::{ConfirmSettings, WhenNobodyAnswers};
use aquifer_protocol::trust::Trust;
use serde_json::{Value, json};

use super::shared::stores;
use crate::harness::{
    Harness, ManualClock, anna, answering, approve, approve_denied, caller, code, request, with_person, with_token,
};

fn harness() -> Harness {
    let settings = GateSettings::default();
    Harness::new(&settings).with_people(&settings)
}

fn delete(id: &str) -> Value {
    request("alpha_delete_thing", json!({ "id": id }))
}

/// The approval and the token of an answer that asks for confirmation.
fn approval_of(answer: &Value) -> [String; 2] {
    assert_eq!(code(answer), "CONFIRMATION_REQUIRED", "{answer}");
    let details = &answer["error"]["details"];
    ["approval_id", "confirmation_token"].map(|name| details[name].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn r_saf_7_a_token_confirms_nothing_before_a_person_has() {
    let harness = harness();
    for operation in ["alpha_delete_thing", "alpha_purge_thing", "alpha_drop_thing"] {
        let sent = || request(operation, json!({ "id": "x" }));
        let answer = harness.ask(sent()).await;
        let [id, token] = approval_of(&answer);
        assert_eq!(answer["error"]["details"]["approval_status"], "pending");
        assert!(answer["error"]["details"]["expires_at"].is_string());
        for _ in 0..3 {
            approval_of(&harness.ask(with_token(sent(), &token)).await);
        }
        // A client that says it can ask does not make the token of one that cannot any better.
        let answer = harness.ask_as(with_token(sent(), &token), with_person(anna())).await;
        assert_eq!(code(&answer), "CONFIRMATION_REQUIRED", "{answer}");
        assert!(harness.done().is_empty(), "{operation}");
        approve(&*harness.store, &id, &harness.clock).await.unwrap();
        assert_eq!(code(&harness.ask(with_token(sent(), &token)).await), "done");
        assert_eq!(code(&harness.ask(with_token(sent(), &token)).await), "TOKEN_ALREADY_USED");
        assert_eq!(harness.done().len(), 1, "{operation}");
    }
    let batch = json!({ "operations": [delete("a"), delete("b")] });
    let answer = harness.ask(batch.clone()).await;
    let token = answer["halted_at"]["result"]["error"]["details"]["confirmation_token"].as_str().unwrap();
    let mut again = batch;
    again["confirmation_token"] = token.into();
    harness.ask(again).await;
    assert!(harness.done().is_empty(), "a batch is no way around it");
}

#[tokio::test]
async fn r_saf_9_an_approval_given_eight_hours_later_runs_once_in_another_process() {
    let (stores, _folder) = stores();
    for (name, open) in stores {
        let settings = GateSettings::default();
        let over = |clock: &ManualClock| {
            let store = open(&clock.steady);
            let harness =
                Harness::over(&settings, Trust::Certified, store, clock.clone(), |_, clock| Audit::disabled(clock));
            Arc::new(harness.with_people(&settings))
        };
        let morning = ManualClock::new();
        let first = over(&morning);
        let [id, token] = approval_of(&first.ask(delete("x")).await);
        morning.advance(8 * 60 * 60);
        let evening = morning.other_process();
        let second = over(&evening);
        drop(first);
        let reconnected = || caller(Some("anna"), Some("session_2"));
        approval_of(&second.ask_as(with_token(delete("x"), &token), reconnected()).await);
        assert!(second.done().is_empty(), "{name}");
        approve(&*second.store, &id, &*evening.steady).await.unwrap();
        let other = second.ask_as(with_token(delete("x"), &token), caller(Some("berta"), Some("session_1"))).await;
        assert_eq!(code(&other), "TOKEN_SCOPE_MISMATCH", "{name}: it is bound to the caller");
        assert_eq!(code(&second.ask_as(with_token(delete("x"), &token), reconnected()).await), "done", "{name}");
        let again = second.ask_as(with_token(delete("x"), &token), anna()).await;
        assert_eq!(code(&again), "TOKEN_ALREADY_USED", "{name}");
        assert_eq!(second.done().len(), 1, "{name}");
    }
}

#[tokio::test]
async fn r_saf_9_the_same_request_finds_the_open_approval() {
    let harness = harness();
    let [id, first] = approval_of(&harness.ask(delete("x")).await);
    let mut tokens = vec![first];
    for session in ["session_1", "session_2", "session_3"] {
        let [again, token] = approval_of(&harness.ask_as(delete("x"), caller(Some("anna"), Some(session))).await);
        assert_eq!(again, id);
        tokens.push(token);
    }
    let listed = || approvals::list(&*harness.store, &harness.clock);
    assert_eq!(listed().await.unwrap().len(), 1, "a person is asked once");
    // Neither another call nor another caller finds it.
    let [other_call, _] = approval_of(&harness.ask(delete("y")).await);
    let [other_caller, _] = approval_of(&harness.ask_as(delete("x"), caller(Some("berta"), None)).await);
    let [no_caller, _] = approval_of(&harness.ask_as(delete("x"), caller(None, None)).await);
    assert!(![other_call, other_caller, no_caller].contains(&id));

    approve(&*harness.store, &id, &harness.clock).await.unwrap();
    let answer = harness.ask(delete("x")).await;
    let [again, token] = approval_of(&answer);
    assert_eq!((&again, &answer["error"]["details"]["approval_status"]), (&id, &json!("approved")));
    tokens.push(token);
    for (index, token) in tokens.iter().rev().enumerate() {
        let expected = if index == 0 { "done" } else { "TOKEN_ALREADY_USED" };
        assert_eq!(code(&harness.ask(with_token(delete("x"), token)).await), expected, "{index}");
    }
    assert_eq!(harness.done().len(), 1, "one approval is for one call, however many tokens there are");
    let [next, _] = approval_of(&harness.ask(delete("x")).await);
    assert_ne!(next, id, "a used approval is over");
}

#[tokio::test]
async fn r_saf_7_what_a_person_denied_is_not_asked_about_again() {
    let harness = harness();
    let [id, token] = approval_of(&harness.ask(delete("x")).await);
    approvals::deny(&*harness.store, &id, &harness.clock, "admin", "not this one").await.unwrap();
    for sent in [delete("x"), with_token(delete("x"), &token)] {
        let refused = harness.ask(sent).await;
        assert_eq!(code(&refused), "PERMISSION_DENIED", "{refused}");
        assert!(refused["error"]["message"].as_str().unwrap().contains("not this one"), "{refused}");
    }
    assert_eq!(approvals::list(&*harness.store, &harness.clock).await.unwrap().len(), 1);
    approval_of(&harness.ask(delete("y")).await);
    // Somebody else who still saw it waiting does not overrule the refusal; whoever changes their mind says so.
    let overruled = approve(&*harness.store, &id, &harness.clock).await;
    assert!(matches!(overruled, Err(ApprovalError::Over { status: Status::Denied, .. })), "{overruled:?}");
    approve_denied(&*harness.store, &id, &harness.clock).await.unwrap();
    assert_eq!(code(&harness.ask(with_token(delete("x"), &token)).await), "done");
    let over = approvals::deny(&*harness.store, &id, &harness.clock, "admin", "").await;
    assert!(matches!(over, Err(ApprovalError::Over { status: Status::Used, .. })), "{over:?}");
    // A denial is forgotten when its approval would have expired.
    let [id, _] = approval_of(&harness.ask(delete("z")).await);
    approvals::deny(&*harness.store, &id, &harness.clock, "admin", "").await.unwrap();
    harness.clock.advance(24 * 60 * 60 + 60);
    let late = approve_denied(&*harness.store, &id, &harness.clock).await;
    assert!(late.is_err(), "{late:?}");
    approval_of(&harness.ask(delete("z")).await);
}

#[tokio::test]
async fn r_saf_7_what_the_person_at_the_client_declined_is_not_asked_about_again() {
    let harness = harness();
    let ask = async |id: &str, context: Context| harness.ask_as(delete(id), context).await;
    let answer = async |id: &str, action: &str| {
        let question = ask(id, with_person(anna())).await;
        let key = question["question"].as_str().unwrap_or_else(|| panic!("{question}")).to_owned();
        ask(id, answering(with_person(anna()), &key, action)).await
    };
    assert_eq!(code(&answer("x", "decline").await), "PERMISSION_DENIED");
    // Neither here, nor in a new session, nor by a client that cannot ask.
    for context in [with_person(anna()), with_person(caller(Some("anna"), Some("session_2"))), anna()] {
        assert_eq!(code(&ask("x", context).await), "PERMISSION_DENIED");
    }
    assert_eq!(code(&answer("y", "accept").await), "done", "another call is asked about");
    // A closed question is no refusal.
    for action in ["cancel", "timeout", "unavailable", "accept"] {
        let expected = if action == "accept" { "done" } else { "PERMISSION_DENIED" };
        assert_eq!(code(&answer("z", action).await), expected, "{action}");
    }
    // The person changes their mind, where approvals are decided.
    let listed = approvals::list(&*harness.store, &harness.clock).await.unwrap();
    let [declined] = &listed[..] else { panic!("{listed:?}") };
    assert_eq!((declined.status, declined.decided_by.as_deref()), (Status::Denied, Some("the person at the client")));
    approve_denied(&*harness.store, &declined.id, &harness.clock).await.unwrap();
    assert_eq!(code(&answer("x", "accept").await), "done");
}

#[tokio::test]
async fn r_saf_7_where_nobody_answers_calls_can_be_denied_at_once() {
    let confirm = ConfirmSettings { when_nobody_answers: WhenNobodyAnswers::Deny, ..ConfirmSettings::default() };
    let settings = GateSettings { confirm, ..GateSettings::default() };
    let harness = Harness::new(&settings).with_people(&settings);
    let refused = harness.ask(delete("x")).await;
    assert_eq!(code(&refused), "PERMISSION_DENIED");
    assert!(refused["error"]["details"]["confirmation_token"].is_null(), "{refused}");
    let batch = harness.ask(json!({ "operations": [delete("x"), delete("y")] })).await;
    assert!(!batch.to_string().contains("confirmation_token"), "{batch}");
    assert!(harness.done().is_empty());
    assert!(approvals::list(&*harness.store, &harness.clock).await.unwrap().is_empty());
    assert!(harness.ask_as(delete("x"), with_person(anna())).await["question"].is_string(), "somebody is there");
}

#[tokio::test]
async fn r_saf_9_approvals_that_wait_are_bounded() {
    let confirm = ConfirmSettings { issued_per_minute: 100_000, ..ConfirmSettings::default() };
    let settings = GateSettings { confirm, ..GateSettings::default() };
    let harness = Harness::new(&settings).with_people(&settings);
    for index in 0..1_000 {
        approval_of(&harness.ask(delete(&index.to_string())).await);
    }
    assert_eq!(code(&harness.ask(delete("one more")).await), "RATE_LIMIT_EXCEEDED");
    approval_of(&harness.ask(delete("7")).await);
    harness.clock.advance(25 * 60 * 60);
    approval_of(&harness.ask(delete("one more")).await);
}
