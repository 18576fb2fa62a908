//! Rules that change during a confirmation: the rules at the time of redemption apply (R-SAF-2, R-SAF-3). Counts
//! continue (R-SAF-4).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use aquifer_gate::GateSettings;
use serde_json::{Value, json};

use crate::harness::{Harness, anna, answering, approve, code, request, with_person, with_token};

fn delete() -> Value {
    request("alpha_delete_thing", json!({ "id": "x" }))
}

/// Rules and strengths.
fn policy(policy: Value) -> GateSettings {
    GateSettings { policy: serde_json::from_value(policy).unwrap(), ..GateSettings::default() }
}

fn strength(strength: &str) -> GateSettings {
    policy(json!({ "strength": { "destructive": strength } }))
}

/// Denies this call only, so that others still have to be confirmed.
fn denied() -> GateSettings {
    let when = json!([{ "param": "id", "equals": "x" }]);
    policy(json!({ "rule": [{ "effect": "deny", "operation": "alpha_*", "when": when }] }))
}

#[tokio::test]
async fn r_saf_3_a_token_has_to_pass_the_rules_of_the_moment_it_is_redeemed() {
    // (rules when it was issued, rules when it is redeemed, result)
    let table = [
        (strength("token"), strength("token"), "done"),
        (strength("token"), denied(), "PERMISSION_DENIED"),
        (strength("token"), strength("approval"), "TOKEN_SCOPE_MISMATCH"),
        (strength("token"), strength("elicit"), "TOKEN_SCOPE_MISMATCH"),
        (strength("approval"), strength("token"), "CONFIRMATION_REQUIRED"),
    ];
    for (row, (before, after, expected)) in table.into_iter().enumerate() {
        let harness = Harness::new(&before);
        let token = harness.token(delete()).await;
        harness.reload(&after);
        let answer = harness.ask(with_token(delete(), &token)).await;
        assert_eq!(code(&answer), expected, "row {row}: {answer}");
        assert_eq!(harness.done().len(), usize::from(expected == "done"), "row {row}");
    }
}

#[tokio::test]
async fn r_saf_3_an_answer_has_to_pass_the_rules_of_the_moment_it_is_given() {
    let table = [
        (GateSettings::default(), "done"),
        (denied(), "PERMISSION_DENIED"),
        (strength("approval"), "CONFIRMATION_REQUIRED"),
    ];
    for (after, expected) in table {
        let harness = Harness::new(&GateSettings::default());
        let asked = harness.ask_as(delete(), with_person(anna())).await;
        let question = asked["question"].as_str().unwrap().to_owned();
        harness.reload(&after);
        let yes = answering(with_person(anna()), &question, "accept");
        let answer = harness.ask_as(delete(), yes).await;
        assert_eq!(code(&answer), expected, "{answer}");
        assert_eq!(harness.done().len(), usize::from(expected == "done"), "{expected}");
    }
}

#[tokio::test]
async fn r_saf_3_an_approval_does_not_outlive_the_rules_it_was_given_under() {
    let harness = Harness::new(&strength("approval"));
    let answer = harness.ask(delete()).await;
    let details = &answer["error"]["details"];
    let (id, token) = (details["approval_id"].as_str().unwrap(), details["confirmation_token"].as_str().unwrap());
    approve(&*harness.store, id, &harness.clock).await.unwrap();
    harness.reload(&denied());
    assert_eq!(code(&harness.ask(with_token(delete(), token)).await), "PERMISSION_DENIED");
    assert!(harness.done().is_empty());
    harness.reload(&strength("approval"));
    assert_eq!(code(&harness.ask(with_token(delete(), token)).await), "done", "it was not used up");
}

/// The cooldown after a yes is spent inside one call, which started under the old rules.
#[tokio::test]
async fn r_saf_3_an_accepted_question_is_refused_if_rules_change_during_its_cooldown() {
    let resting = policy(json!({ "rule": [{ "effect": "confirm", "operation": "*", "cooldown_seconds": 1 }] }));
    for after in [denied(), strength("approval"), resting.clone()] {
        let harness = Harness::new(&resting);
        let asked = harness.ask_as(delete(), with_person(anna())).await;
        let question = asked["question"].as_str().unwrap().to_owned();
        let changing = async {
            tokio::task::yield_now().await;
            harness.reload(&after);
            harness.clock.advance(1);
        };
        let yes = answering(with_person(anna()), &question, "accept");
        let (answer, ()) = tokio::join!(harness.ask_as(delete(), yes), changing);
        assert_eq!(code(&answer), "TOKEN_INVALID", "{answer}");
        assert!(harness.done().is_empty());
    }
}

#[tokio::test]
async fn r_saf_4_counts_carry_over_to_new_limits() {
    let limits =
        |quota: Value| GateSettings { quota: serde_json::from_value(quota).unwrap(), ..GateSettings::default() };
    let rate = |limit: u64| json!({ "name": "gets", "limit": limit, "window": "hour", "operation": "*_get_thing" });
    let quota =
        |stop: u64, operation: &str| json!({ "metric": "requests_per_day", "hard_stop": stop, "operation": operation });
    let harness = Harness::new(&limits(json!({ "rate_limit": [rate(5)], "quota": [quota(5, "*_create_thing")] })));
    let used = async |operation: &str| {
        let mut count = 0;
        while code(&harness.ask(request(operation, json!({ "id": "x" }))).await) == "done" {
            count += 1;
        }
        count
    };
    assert_eq!((used("alpha_get_thing").await, used("alpha_create_thing").await), (5, 5));
    // Thresholds, order and neighbours may change: counts stay.
    for (limit, more) in [(7, 2), (3, 0), (8, 1)] {
        let other = json!({ "name": "other", "limit": 1, "window": "hour", "operation": "nothing" });
        let neighbours = [quota(1, "nothing"), quota(limit, "*_create_thing"), quota(2, "nothing_either")];
        harness.reload(&limits(json!({ "rate_limit": [other, rate(limit)], "quota": neighbours })));
        assert_eq!((used("alpha_get_thing").await, used("alpha_create_thing").await), (more, more), "{limit}");
    }
    // Two quotas that count the same do not share a counter.
    let twins = [quota(9, "*_create_thing"), quota(9, "*_create_thing")];
    harness.reload(&limits(json!({ "quota": twins })));
    assert_eq!(used("alpha_create_thing").await, 1);
}

/// Every set of rules denies the call in its own way: there is no moment between them when it is not denied.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r_saf_2_no_call_slips_through_between_two_sets_of_rules() {
    let by_operation = policy(json!({ "rule": [{ "effect": "deny", "operation": "alpha_delete_*" }] }));
    let by_source = policy(json!({ "rule": [{ "effect": "deny", "source": "alpha", "category": "DELETE" }] }));
    let harness = Arc::new(Harness::new(&by_operation));
    let is_over = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> = (0..4)
        .map(|_| {
            let (harness, is_over) = (harness.clone(), is_over.clone());
            tokio::spawn(async move {
                while !is_over.load(Ordering::Relaxed) {
                    assert_eq!(code(&harness.ask(delete()).await), "PERMISSION_DENIED");
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    for _ in 0..25 {
        harness.reload(&by_source);
        harness.reload(&by_operation);
        tokio::task::yield_now().await;
    }
    is_over.store(true, Ordering::Relaxed);
    for caller in callers {
        caller.await.unwrap();
    }
    assert!(harness.done().is_empty());
}
