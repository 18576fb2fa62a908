//! What a person has refused counts beyond the call: for the same destinations, and after three refusals for all changes.

use aquifer_engine::{Context, Interaction};
use aquifer_gate::GateSettings;
use aquifer_gate::confirm::approvals::{self, Approval, PausedCaller, Status};
use serde_json::{Value, json};

use crate::harness::{
    Harness, anna, answering, approve, approve_denied, caller, code, request, with_person, with_token,
};

fn harness() -> Harness {
    let settings = GateSettings::default();
    Harness::new(&settings).with_people(&settings)
}

fn delete(id: &str) -> Value {
    request("alpha_delete_thing", json!({ "id": id }))
}

fn delete_for(id: &str, email: &Value) -> Value {
    request("alpha_delete_thing", json!({ "id": id, "email": email }))
}

fn create(id: &str) -> Value {
    request("alpha_create_thing", json!({ "id": id }))
}

/// Asks for a call and gives its approval.
async fn wait_for(harness: &Harness, call: Value, context: Context) -> String {
    let answer = harness.ask_as(call, context).await;
    answer["error"]["details"]["approval_id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

async fn deny(harness: &Harness, id: &str) -> Approval {
    approvals::deny(&*harness.store, id, &harness.clock, "admin", "no").await.unwrap()
}

/// Asks for these calls and has each refused.
async fn refuse(harness: &Harness, ids: &[&str]) -> String {
    let mut last = String::new();
    for id in ids {
        last = wait_for(harness, delete(id), anna()).await;
        deny(harness, &last).await;
    }
    last
}

/// Asks a person at the client, who answers.
async fn elicit(harness: &Harness, call: &Value, action: &str) -> Value {
    let question = harness.ask_as(call.clone(), with_person(anna())).await;
    let Some(key) = question["question"].as_str() else { return question };
    harness.ask_as(call.clone(), answering(with_person(anna()), key, action)).await
}

async fn is_paused(harness: &Harness, context: Context) -> bool {
    // What nobody is asked about may lag behind by a second.
    harness.clock.advance(1);
    let answer = harness.ask_as(create("new"), context).await;
    match code(&answer) {
        "done" => false,
        "PERMISSION_DENIED" if answer["error"]["details"]["changes_paused"] == true => true,
        other => panic!("{other}: {answer}"),
    }
}

#[tokio::test]
async fn r_saf_7_a_refused_destination_is_not_asked_about_again_in_other_words() {
    let harness = harness();
    let both = json!(["Eve@x.com", "mallory@x.com"]);
    let id = wait_for(&harness, delete_for("1", &both), anna()).await;
    deny(&harness, &id).await;
    // Other parameters, another order, other case and blanks, another session, somebody who can be asked, a batch.
    let spellings = [
        both.clone(),
        json!([" mallory@x.com ", "EVE@X.COM"]),
        json!(["eve@x.com", "mallory@x.com", ""]),
        // One more destination, and names beside addresses.
        json!(["eve@x.com", "carol@x.com", "mallory@x.com"]),
        json!("Mallory <mallory@x.com>, eve@x.com"),
    ];
    for spelling in &spellings {
        for context in [anna(), caller(Some("anna"), Some("session_2")), with_person(anna())] {
            let refused = harness.ask_as(delete_for("2", spelling), context).await;
            assert_eq!(code(&refused), "PERMISSION_DENIED", "{refused}");
            assert_eq!(refused["error"]["details"]["approval_id"], id, "{refused}");
            assert!(refused["error"]["message"].as_str().unwrap().contains("to the same destination"), "{refused}");
        }
    }
    let batch = harness.ask(json!({ "operations": [delete_for("3", &both)] })).await;
    assert!(batch.to_string().contains("to the same destination"), "{batch}");
    assert_eq!(approvals::list(&*harness.store, &harness.clock).await.unwrap().len(), 1, "nobody was asked again");
    // Other destinations, another operation and other callers are.
    wait_for(&harness, delete_for("2", &json!("eve@x.com")), anna()).await;
    wait_for(&harness, delete("2"), anna()).await;
    wait_for(&harness, request("alpha_purge_thing", json!({ "id": "2", "email": both })), anna()).await;
    wait_for(&harness, request("beta_delete_thing", json!({ "id": "2", "email": both })), anna()).await;
    wait_for(&harness, delete_for("2", &both), caller(Some("berta"), None)).await;
    // A person who allows the refused call after all allows to ask for others.
    approve_denied(&*harness.store, &id, &harness.clock).await.unwrap();
    wait_for(&harness, delete_for("2", &both), anna()).await;
    assert!(harness.done().is_empty());
}

#[tokio::test]
async fn r_saf_7_refusals_at_the_client_and_of_batches_count_for_destinations() {
    let harness = harness();
    let email = json!("eve@x.com");
    assert_eq!(code(&elicit(&harness, &delete_for("1", &email), "decline").await), "PERMISSION_DENIED");
    let refused = harness.ask(delete_for("2", &email)).await;
    assert_eq!(code(&refused), "PERMISSION_DENIED", "{refused}");

    let other = json!("mallory@x.com");
    let batch = json!({ "operations": [delete_for("1", &other)] });
    let waiting = harness.ask(batch).await;
    let id = waiting["halted_at"]["result"]["error"]["details"]["approval_id"].as_str().unwrap().to_owned();
    deny(&harness, &id).await;
    let refused = harness.ask(delete_for("2", &other)).await;
    assert_eq!(refused["error"]["details"]["approval_id"], id, "{refused}");
    // A refusal is forgotten when its approval would have expired.
    harness.clock.advance(25 * 60 * 60);
    wait_for(&harness, delete_for("3", &other), anna()).await;
}

#[tokio::test]
async fn r_saf_7_changes_pause_after_three_refusals() {
    let harness = harness();
    refuse(&harness, &["1", "2"]).await;
    assert!(!is_paused(&harness, anna()).await);
    let waiting = wait_for(&harness, delete("4"), anna()).await;
    refuse(&harness, &["3"]).await;
    for context in [anna(), caller(Some("anna"), Some("session_2")), with_person(anna())] {
        assert!(is_paused(&harness, context.clone()).await);
        let asked = harness.ask_as(delete("5"), context).await;
        assert_eq!(asked["error"]["details"]["changes_paused"], true, "nobody is asked while changes pause: {asked}");
    }
    let batch = json!({ "operations": [create("6"), delete("7")] });
    for context in [anna(), with_person(anna())] {
        let answer = harness.ask_as(batch.clone(), context).await;
        assert!(answer.to_string().contains("changes_paused"), "{answer}");
        assert!(!answer.to_string().contains("confirmation_token"), "{answer}");
    }
    let created = harness.done();
    assert_eq!(created.len(), 1, "only before the pause: {created:?}");
    // Reads and dry runs go on, and so do other callers and the person.
    assert_eq!(code(&harness.ask(request("alpha_get_thing", json!({ "id": "1" }))).await), "done");
    assert!(!is_paused(&harness, caller(Some("berta"), None)).await);
    assert!(!is_paused(&harness, caller(None, None)).await);
    assert!(!is_paused(&harness, Context { interaction: Interaction::Person, ..anna() }).await);
    // A person who approves something ends the pause.
    approve(&*harness.store, &waiting, &harness.clock).await.unwrap();
    assert!(!is_paused(&harness, anna()).await);
    refuse(&harness, &["8", "9"]).await;
    assert!(!is_paused(&harness, anna()).await, "the refusals before the approval do not count");
}

#[tokio::test]
async fn r_saf_7_only_people_end_a_pause() {
    let harness = harness();
    let last = refuse(&harness, &["1", "2", "3"]).await;
    for _ in 0..3 {
        let refused = harness.ask(with_token(delete("3"), "conf_x")).await;
        assert_eq!(code(&refused), "TOKEN_INVALID", "{refused}");
    }
    harness.clock.advance(20 * 24 * 60 * 60);
    assert!(is_paused(&harness, anna()).await, "time does not end it");
    let paused = [PausedCaller { caller: Some("anna".to_owned()) }];
    assert_eq!(approvals::paused(&*harness.store).await.unwrap(), paused);
    assert_eq!(approvals::resume(&*harness.store).await.unwrap(), paused);
    assert_eq!(approvals::paused(&*harness.store).await.unwrap(), []);
    assert!(!is_paused(&harness, anna()).await);
    assert!(approvals::find(&*harness.store, &last, &harness.clock).await.is_err(), "that one is long over");

    // So does a refused call that is allowed after all, or a question that was open when the third was refused.
    let last = refuse(&harness, &["4", "5", "6"]).await;
    assert!(is_paused(&harness, anna()).await);
    assert_eq!(approve_denied(&*harness.store, &last, &harness.clock).await.unwrap().status, Status::Approved);
    assert!(!is_paused(&harness, anna()).await);
    harness.done();
    let question = harness.ask_as(delete("7"), with_person(anna())).await;
    refuse(&harness, &["8", "9", "10"]).await;
    assert!(is_paused(&harness, anna()).await);
    let key = question["question"].as_str().unwrap();
    let answer = harness.ask_as(delete("7"), answering(with_person(anna()), key, "accept")).await;
    assert_eq!(code(&answer), "done", "{answer}");
    assert!(!is_paused(&harness, anna()).await);
}

#[tokio::test]
async fn r_saf_7_questions_that_are_closed_do_not_count() {
    let harness = harness();
    for id in ["1", "2", "3", "4"] {
        for action in ["cancel", "timeout"] {
            assert_eq!(code(&elicit(&harness, &delete(id), action).await), "PERMISSION_DENIED");
        }
    }
    assert!(!is_paused(&harness, anna()).await);
    for id in ["5", "6", "7"] {
        elicit(&harness, &delete(id), "decline").await;
    }
    assert!(is_paused(&harness, anna()).await);
}

#[tokio::test]
async fn r_saf_7_refusals_of_long_ago_do_not_count() {
    let harness = harness();
    refuse(&harness, &["1", "2"]).await;
    harness.clock.advance(25 * 60 * 60);
    refuse(&harness, &["3"]).await;
    assert!(!is_paused(&harness, anna()).await);
}

#[tokio::test]
async fn r_saf_7_a_batch_that_the_model_confirms_is_no_way_around_a_pause() {
    let rule = json!({ "rule": [{ "effect": "confirm", "strength": "approval", "operation": ["alpha_purge_thing"] }] });
    let settings = GateSettings { policy: serde_json::from_value(rule).unwrap(), ..GateSettings::default() };
    let harness = Harness::new(&settings);
    let token = harness.token(delete("0")).await;
    for id in ["1", "2", "3"] {
        let id = wait_for(&harness, request("alpha_purge_thing", json!({ "id": id })), anna()).await;
        deny(&harness, &id).await;
    }
    let batch = json!({ "operations": [delete("4"), delete("5")] });
    for sent in [delete("4"), with_token(delete("0"), &token), batch] {
        let answer = harness.ask(sent).await.to_string();
        assert!(answer.contains("changes_paused") && !answer.contains("\"confirmation_token\""), "{answer}");
    }
    assert!(harness.done().is_empty());
}

#[tokio::test]
async fn r_saf_7_the_last_decision_about_a_destination_counts() {
    let harness = harness();
    let boss = json!("boss@x.com");
    let [draft, corrected] = [
        wait_for(&harness, delete_for("1", &boss), anna()).await,
        wait_for(&harness, delete_for("2", &boss), anna()).await,
    ];
    deny(&harness, &draft).await;
    assert_eq!(code(&harness.ask(delete_for("3", &boss)).await), "PERMISSION_DENIED");
    approve(&*harness.store, &corrected, &harness.clock).await.unwrap();
    wait_for(&harness, delete_for("3", &boss), anna()).await;
    // What was refused itself stays refused.
    assert_eq!(code(&harness.ask(delete_for("1", &boss)).await), "PERMISSION_DENIED");
}
