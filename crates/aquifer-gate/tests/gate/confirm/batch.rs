//! One confirmation for a whole batch (R-EXT-4): it covers exactly what the person has seen, once.

use std::sync::Arc;

use aquifer_gate::GateSettings;
use aquifer_gate::confirm::ConfirmSettings;
use aquifer_gate::confirm::approvals;
use aquifer_gate::policy::PolicySettings;
use serde_json::{Value, json};

use crate::harness::{Harness, anna, answering, approve, caller, code, request, with_person, with_token};

fn delete(id: &str) -> Value {
    request("alpha_delete_thing", json!({ "id": id }))
}

fn get(id: &str) -> Value {
    request("alpha_get_thing", json!({ "id": id }))
}

fn create(id: &str) -> Value {
    request("alpha_create_thing", json!({ "id": id }))
}

fn batch(operations: &[Value]) -> Value {
    json!({ "operations": operations })
}

fn confirmed(operations: &[Value], token: &str) -> Value {
    json!({ "operations": operations, "confirmation_token": token })
}

fn five() -> Vec<Value> {
    ["a", "b", "c", "d", "e"].map(delete).to_vec()
}

fn harness_with(policy: Value) -> Harness {
    let policy: PolicySettings = serde_json::from_value(policy).unwrap();
    let confirm = ConfirmSettings { issued_per_minute: 1000, wrong_per_minute: 1000, ..ConfirmSettings::default() };
    Harness::new(&GateSettings { policy, confirm, ..GateSettings::default() })
}

fn token(answer: &Value) -> String {
    let details = &answer["halted_at"]["result"]["error"]["details"];
    details["confirmation_token"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn done(harness: &Harness) -> Vec<(String, String)> {
    let id = |params: &Value| params["id"].as_str().unwrap_or_default().to_owned();
    harness.done().into_iter().map(|(_, name, params)| (name, id(&params))).collect()
}

fn deleted(ids: &[&str]) -> Vec<(String, String)> {
    ids.iter().map(|id| ("delete_thing".to_owned(), (*id).to_owned())).collect()
}

#[tokio::test]
async fn r_ext_4_one_token_confirms_five_deletions() {
    for is_beside in [true, false] {
        let harness = harness_with(json!({}));
        let halted = harness.ask(batch(&five())).await;
        assert_eq!(halted["summary"], json!({ "total": 5, "succeeded": 0, "failed": 0, "halted": 1, "pending": 4 }));
        let error = &halted["halted_at"]["result"]["error"];
        assert_eq!(error["details"]["covers"], json!([0, 1, 2, 3, 4]));
        assert_eq!(
            error["message"],
            "5 operations of this batch require one confirmation. Ask your user, then send operations[0] to operations[4] \
             again in this order, as a batch with 'confirmation_token' beside 'operations'"
        );
        let question = error["details"]["confirmation_message"].as_str().unwrap();
        for id in ["a", "b", "c", "d", "e"] {
            assert!(question.contains(&format!("id = \"{id}\"")), "{question}");
        }
        let token = token(&halted);
        let mut operations = five();
        let sent = match is_beside {
            true => confirmed(&operations, &token),
            // As the specification continues a batch.
            false => {
                operations[0] = with_token(delete("a"), &token);
                batch(&operations)
            }
        };
        assert!(harness.done().is_empty());
        let answer = harness.ask(sent.clone()).await;
        assert_eq!(answer["summary"], json!({ "total": 5, "succeeded": 5, "failed": 0 }), "{answer}");
        assert_eq!(done(&harness), deleted(&["a", "b", "c", "d", "e"]));
        // Nothing runs twice.
        let again = harness.ask(sent).await;
        assert_eq!(code(&again), "TOKEN_ALREADY_USED", "{again}");
        let keys: Vec<&String> = again["error"].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["code", "message"]);
        assert!(harness.done().is_empty());
    }
}

#[tokio::test]
async fn r_ext_4_one_yes_confirms_five_deletions() {
    let harness = harness_with(json!({}));
    let asked = harness.ask_as(batch(&five()), with_person(anna())).await;
    let (key, question) = (asked["question"].as_str().unwrap(), asked["message"].as_str().unwrap());
    let beginning = "Run these 5 operations?\n- This deletes data, so a person has to confirm it\n1. ";
    assert!(question.starts_with(beginning), "{question}");
    for id in ["a", "b", "c", "d", "e"] {
        assert!(question.contains(&format!("id = \"{id}\"")), "{question}");
    }
    assert!(harness.done().is_empty());
    let yes = || answering(with_person(anna()), key, "accept");
    let changed = [delete("a"), delete("b"), delete("c"), delete("d"), delete("f")];
    assert_eq!(code(&harness.ask_as(batch(&changed), yes()).await), "TOKEN_SCOPE_MISMATCH");
    assert!(harness.done().is_empty());
    let answer = harness.ask_as(batch(&five()), yes()).await;
    assert_eq!(answer["summary"], json!({ "total": 5, "succeeded": 5, "failed": 0 }), "{answer}");
    assert_eq!(done(&harness), deleted(&["a", "b", "c", "d", "e"]));
    assert_eq!(code(&harness.ask_as(batch(&five()), yes()).await), "TOKEN_ALREADY_USED");
    assert!(harness.done().is_empty());
}

/// The question comes before everything that changes something, because the request is repeated with the answer.
#[tokio::test]
async fn r_ext_4_nothing_but_reads_runs_before_the_question() {
    let harness = harness_with(json!({}));
    let operations = [get("1"), create("2"), delete("3"), create("4")];
    let asked = harness.ask_as(batch(&operations), with_person(anna())).await;
    let key = asked["question"].as_str().unwrap_or_else(|| panic!("{asked}")).to_owned();
    let question = asked["message"].as_str().unwrap();
    assert!(question.contains("2 more operations that need no confirmation: alpha_create_thing, alpha_create_thing"));
    assert_eq!(done(&harness), [("get_thing".to_owned(), "1".to_owned())]);
    // What was declined is not asked about again, so that comes last.
    for action in ["cancel", "timeout", "decline"] {
        let asked = harness.ask_as(batch(&operations), with_person(anna())).await;
        let other = asked["question"].as_str().unwrap();
        let refused = harness.ask_as(batch(&operations), answering(with_person(anna()), other, action)).await;
        assert_eq!(code(&refused), "PERMISSION_DENIED", "{refused}");
        assert!(done(&harness).iter().all(|(name, _)| name == "get_thing"), "a no is for the whole batch");
    }
    let yes = answering(with_person(anna()), &key, "accept");
    let answer = harness.ask_as(batch(&operations), yes).await;
    assert_eq!(answer["summary"], json!({ "total": 4, "succeeded": 4, "failed": 0 }), "{answer}");
    let names: Vec<String> = done(&harness).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["get_thing", "create_thing", "delete_thing", "create_thing"]);
}

#[tokio::test]
async fn r_ext_4_a_token_is_for_exactly_this_batch() {
    let harness = harness_with(json!({}));
    let operations = [create("x"), delete("a"), get("b"), delete("c"), create("d")];
    let halted = harness.ask(batch(&operations)).await;
    assert_eq!(halted["halted_at"]["index"], 1, "harmless operations before it have run: {halted}");
    assert_eq!(done(&harness), [("create_thing".to_owned(), "x".to_owned())]);
    let token = token(&halted);
    let rest = &operations[1..];
    let changed = |index: usize, with: Value| {
        let mut changed = rest.to_vec();
        changed[index] = with;
        changed
    };
    let mut more = rest.to_vec();
    more.push(delete("z"));
    let mut twice = rest.to_vec();
    twice.insert(0, delete("a"));
    let attacks = [
        ("the whole batch again", operations.to_vec()),
        ("a part", rest[..3].to_vec()),
        ("only the deletions", vec![delete("a"), delete("c")]),
        ("another order", vec![rest[2].clone(), rest[1].clone(), rest[0].clone(), rest[3].clone()]),
        ("more", more),
        ("one twice", twice),
        ("another target", changed(2, delete("z"))),
        ("another source", changed(2, request("beta_delete_thing", json!({ "id": "c" })))),
        ("another operation", changed(2, request("alpha_purge_thing", json!({ "id": "c" })))),
        ("one parameter more", changed(0, request("alpha_delete_thing", json!({ "id": "a", "note": "x" })))),
        ("another harmless one", changed(3, create("e"))),
        ("a harmless one as a deletion", changed(1, delete("b"))),
        ("a reference for a value", changed(2, request("alpha_delete_thing", json!({ "id": { "$from": "1.data" } })))),
    ];
    for (what, sent) in attacks {
        let beside = harness.ask(confirmed(&sent, &token)).await;
        assert_eq!(code(&beside), "TOKEN_SCOPE_MISMATCH", "{what}: {beside}");
        let mut first = sent.clone();
        first[0] = with_token(first[0].clone(), &token);
        let within = harness.ask(batch(&first)).await;
        // `create` takes no token, so that it is refused for that.
        assert!(code(&within) == "TOKEN_SCOPE_MISMATCH" || what == "the whole batch again", "{what}: {within}");
        assert!(done(&harness).iter().all(|(name, _)| name == "create_thing" || name == "get_thing"), "{what}");
    }
    // Alone, by others, with an invented token.
    assert_eq!(code(&harness.ask(with_token(delete("a"), &token)).await), "TOKEN_SCOPE_MISMATCH");
    let berta = caller(Some("berta"), Some("session_2"));
    assert_eq!(code(&harness.ask_as(confirmed(rest, &token), berta).await), "TOKEN_SCOPE_MISMATCH");
    let invented = format!("conf_{}", "A".repeat(43));
    assert_eq!(code(&harness.ask(confirmed(rest, &invented)).await), "TOKEN_INVALID");
    harness.done();
    let answer = harness.ask(confirmed(rest, &token)).await;
    assert_eq!(
        answer["summary"],
        json!({ "total": 4, "succeeded": 4, "failed": 0 }),
        "the real one still holds: {answer}"
    );
    assert_eq!(code(&harness.ask(confirmed(rest, &token)).await), "TOKEN_ALREADY_USED");
}

#[tokio::test]
async fn r_ext_4_a_token_is_redeemed_by_one_of_many() {
    let harness = Arc::new(harness_with(json!({})));
    let token = token(&harness.ask(batch(&five())).await);
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let (harness, sent) = (harness.clone(), confirmed(&five(), &token));
        tasks.spawn(async move { harness.ask(sent).await });
    }
    let answers = tasks.join_all().await;
    let succeeded = answers.iter().filter(|answer| answer["summary"]["succeeded"] == 5).count();
    assert_eq!(succeeded, 1);
    assert_eq!(answers.iter().filter(|answer| code(answer) == "TOKEN_ALREADY_USED").count(), 15);
    assert_eq!(done(&harness), deleted(&["a", "b", "c", "d", "e"]));
}

#[tokio::test]
async fn r_ext_4_an_expired_token_confirms_nothing() {
    let harness = harness_with(json!({}));
    let token = token(&harness.ask(batch(&five())).await);
    harness.clock.advance(331);
    assert_eq!(code(&harness.ask(confirmed(&five(), &token)).await), "TOKEN_EXPIRED");
    assert!(harness.done().is_empty());
    // The shortest lifetime of all counts: a forbidden operation is among them.
    let harness = harness_with(json!({ "strength": { "forbidden": "token" } }));
    let operations = [delete("a"), request("alpha_drop_thing", json!({ "id": "b" }))];
    let token = token_of(&harness, &operations).await;
    harness.clock.advance(151);
    assert_eq!(code(&harness.ask(confirmed(&operations, &token)).await), "TOKEN_EXPIRED");
    assert!(harness.done().is_empty());
}

async fn token_of(harness: &Harness, operations: &[Value]) -> String {
    token(&harness.ask(batch(operations)).await)
}

/// One operation that needs an approval makes the whole batch need it.
#[tokio::test]
async fn r_ext_4_a_batch_does_not_weaken_an_approval() {
    let harness = harness_with(json!({ "strength": { "dangerous": "approval" } }));
    let purge = request("alpha_purge_thing", json!({ "id": "p", "pass_code": "very secret" }));
    let operations = [delete("a"), purge, get("b")];
    for person in [anna(), with_person(anna())] {
        let halted = harness.ask_as(batch(&operations), person.clone()).await;
        let details = &halted["halted_at"]["result"]["error"]["details"];
        assert_eq!(details["approval_status"], "pending", "{halted}");
        assert_eq!(details["danger_level"], "dangerous");
        let (id, token) = (details["approval_id"].as_str().unwrap().to_owned(), token(&halted));
        let waiting = harness.ask_as(confirmed(&operations, &token), person.clone()).await;
        assert_eq!(waiting["halted_at"], halted["halted_at"], "it says the same until a person has spoken");
        // Answers and other tokens do not help.
        let question = answering(person.clone(), &token.replace("conf_", "confirm_"), "accept");
        harness.ask_as(batch(&operations), question).await;
        assert!(harness.done().is_empty());
        let reviewed = approvals::get(&*harness.store, &id, &harness.clock).await.unwrap();
        let shown = reviewed.call().lines(None).join("\n");
        assert!(shown.contains("0. alpha_delete_thing") && shown.contains("1. alpha_purge_thing"), "{shown}");
        assert!(shown.contains("\"a\"") && !shown.contains("very secret"), "{shown}");
        assert_eq!(reviewed.approval().operation, "batch: alpha_delete_thing, alpha_purge_thing");
        approve(&*harness.store, &id, &harness.clock).await.unwrap();
        let other = [delete("a"), delete("z"), get("b")];
        assert_eq!(code(&harness.ask_as(confirmed(&other, &token), person.clone()).await), "TOKEN_SCOPE_MISMATCH");
        let answer = harness.ask_as(confirmed(&operations, &token), person.clone()).await;
        assert_eq!(answer["summary"]["succeeded"], 3, "{answer}");
        assert_eq!(harness.done().len(), 3);
        assert_eq!(code(&harness.ask_as(confirmed(&operations, &token), person).await), "TOKEN_ALREADY_USED");
    }
    // Denied.
    let halted = harness.ask(batch(&operations)).await;
    let id = halted["halted_at"]["result"]["error"]["details"]["approval_id"].as_str().unwrap();
    approvals::deny(&*harness.store, id, &harness.clock, "admin", "").await.unwrap();
    assert_eq!(code(&harness.ask(confirmed(&operations, &token(&halted))).await), "PERMISSION_DENIED");
    assert!(harness.done().is_empty());
}

/// Rules may change between confirmation and run: the strength in force counts.
#[tokio::test]
async fn r_ext_4_a_token_of_weaker_rules_confirms_nothing_under_stronger_ones() {
    let harness = harness_with(json!({}));
    let token = token_of(&harness, &five()).await;
    let policy: PolicySettings = serde_json::from_value(json!({ "strength": { "destructive": "approval" } })).unwrap();
    harness.reload(&GateSettings { policy, ..GateSettings::default() });
    assert_eq!(code(&harness.ask(confirmed(&five(), &token)).await), "TOKEN_SCOPE_MISMATCH");
    let policy: PolicySettings = serde_json::from_value(
        json!({ "rule": [{ "effect": "confirm", "operation": "*_get_*" }, { "effect": "deny", "operation": "*_drop_*" }] }),
    )
    .unwrap();
    harness.reload(&GateSettings { policy, ..GateSettings::default() });
    // What needed no confirmation needs one now, and the person has not seen it.
    let operations = [delete("a"), delete("b")];
    let token = token_of(&harness, &operations).await;
    let more = [delete("a"), delete("b"), get("c")];
    assert_eq!(code(&harness.ask(confirmed(&more, &token)).await), "TOKEN_SCOPE_MISMATCH");
    assert!(harness.done().is_empty());
}

/// A value that is taken from an answer is confirmed as a value.
#[tokio::test]
async fn r_ext_4_references_cannot_change_what_was_confirmed() {
    let harness = harness_with(json!({}));
    let taken = |index: usize| request("alpha_delete_thing", json!({ "id": { "$from": format!("{index}.data") } }));
    // The answer of every operation is "done".
    let operations = [get("x"), taken(0), taken(0)];
    let asked = harness.ask_as(batch(&operations), with_person(anna())).await;
    assert_eq!(asked["message"].as_str().unwrap().matches("id = \"done\"").count(), 2, "{asked}");
    assert_eq!(done(&harness).len(), 1);
    let yes = answering(with_person(anna()), asked["question"].as_str().unwrap(), "accept");
    let answer = harness.ask_as(batch(&operations), yes).await;
    assert_eq!(answer["summary"]["succeeded"], 3, "{answer}");
    harness.done();

    // By token, the values are sent again; a reference instead is another batch.
    let halted = harness.ask(batch(&operations)).await;
    assert_eq!(halted["halted_at"]["result"]["error"]["details"]["params"], json!({ "id": "done" }));
    assert_eq!(halted["pending_operations"][0]["params"], json!({ "id": "done" }));
    let token = token(&halted);
    let smuggled = [delete("done"), taken(0)];
    assert_eq!(code(&harness.ask(confirmed(&smuggled, &token)).await), "TOKEN_SCOPE_MISMATCH");
    harness.done();
    let answer = harness.ask(confirmed(&[delete("done"), delete("done")], &token)).await;
    assert_eq!(answer["summary"]["succeeded"], 2, "{answer}");
    assert_eq!(done(&harness), deleted(&["done", "done"]));

    // What can be known only after a confirmed operation has run is not covered.
    let operations = [delete("a"), delete("b"), taken(1)];
    let halted = harness.ask(batch(&operations)).await;
    assert_eq!(halted["halted_at"]["result"]["error"]["details"]["covers"], json!([0, 1]), "{halted}");
    let answer = harness.ask(confirmed(&operations, &token_of(&harness, &operations).await)).await;
    assert_eq!(answer["halted_at"]["index"], 2, "{answer}");
    assert_eq!(done(&harness), deleted(&["a", "b"]));
    let asked = harness.ask_as(batch(&operations), with_person(anna())).await;
    let yes = answering(with_person(anna()), asked["question"].as_str().unwrap(), "accept");
    let answer = harness.ask_as(batch(&operations), yes).await;
    assert_eq!(answer["halted_at"]["index"], 2, "a second question would repeat what is done: {answer}");
    assert!(answer["halted_at"]["result"]["error"]["details"].get("confirmation_token").is_none());
    assert_eq!(done(&harness), deleted(&["a", "b"]));
}

/// Where a server skips, one token is for all that were skipped.
#[tokio::test]
async fn r_bat_3_skipped_operations_share_a_token() {
    let harness = harness_with(json!({})).skipping();
    let operations = [delete("a"), get("b"), delete("c"), create("d")];
    let answer = harness.ask(batch(&operations)).await;
    assert_eq!(answer["summary"], json!({ "total": 4, "succeeded": 2, "failed": 0, "pending_confirmation": 2 }));
    let details = |index: usize| &answer["results"][index]["result"]["error"]["details"];
    let token = details(0)["confirmation_token"].as_str().unwrap();
    assert_eq!(details(2)["confirmation_token"], token);
    assert_eq!(details(0)["covers"], json!([0, 2]));
    assert_eq!(done(&harness).len(), 2);
    let superset = harness.ask(confirmed(&[delete("a"), delete("c"), get("b")], token)).await;
    assert_eq!(code(&superset), "TOKEN_SCOPE_MISMATCH");
    let answer = harness.ask(confirmed(&[delete("a"), delete("c")], token)).await;
    assert_eq!(answer["summary"]["succeeded"], 2, "{answer}");
    assert_eq!(done(&harness), deleted(&["a", "c"]));
}

/// A question that would be too long covers as many as it can show, and says that there are more.
#[tokio::test]
async fn r_saf_3_a_question_covers_what_it_shows() {
    let harness = harness_with(json!({}));
    let long = |id: usize| request("alpha_delete_thing", json!({ "id": id.to_string(), "note": "n".repeat(1000) }));
    let operations: Vec<Value> = (0..20).map(long).collect();
    let asked = harness.ask_as(batch(&operations), with_person(anna())).await;
    let question = asked["message"].as_str().unwrap();
    assert!(
        question.chars().count() <= 8000 && question.contains("You will be asked about 15 more later."),
        "{question}"
    );
    let yes = answering(with_person(anna()), asked["question"].as_str().unwrap(), "accept");
    let answer = harness.ask_as(batch(&operations), yes).await;
    assert_eq!(answer["halted_at"]["index"], 5, "{}", answer["summary"]);
    assert_eq!(harness.done().len(), 5);
    // By token, the next one covers the next part.
    let mut rest = operations;
    let mut count = 0;
    while !rest.is_empty() {
        let halted = harness.ask(batch(&rest)).await;
        let Some(covers) = halted["halted_at"]["result"]["error"]["details"]["covers"].as_array() else {
            let token = token(&halted);
            harness.ask(confirmed(&rest, &token)).await;
            count += harness.done().len();
            break;
        };
        let covered = covers.len();
        let answer = harness.ask(confirmed(&rest, &token(&halted))).await;
        assert_eq!(answer["summary"]["succeeded"], covered, "{}", answer["summary"]);
        count += harness.done().len();
        rest.drain(..covered);
    }
    assert_eq!(count, 20);
}

#[tokio::test]
async fn r_ext_4_a_token_of_one_operation_may_stand_beside_the_operations() {
    let harness = harness_with(json!({}));
    let halted = harness.ask(batch(&[get("a"), delete("b"), get("c")])).await;
    assert!(halted["halted_at"]["result"]["error"]["details"].get("covers").is_none(), "{halted}");
    harness.done();
    let answer = harness.ask(confirmed(&[delete("b"), get("c")], &token(&halted))).await;
    assert_eq!(answer["summary"]["succeeded"], 2, "{answer}");
    assert_eq!(done(&harness).first(), deleted(&["b"]).first());
}
