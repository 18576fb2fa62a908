//! The gate as a whole: its order, its audit, and what it does without store or audit.

use std::time::Duration;

use aquifer_engine::source::FetchRequest;
use aquifer_gate::GateSettings;
use aquifer_gate::audit::{Audit, AuditSettings, Sink};
use aquifer_protocol::trust::Trust;
use serde_json::{Value, json};

use crate::harness::{Harness, OPERATIONS, anna, code, request, with_token};
use crate::stores::setup::eventually;

fn params() -> Value {
    json!({ "id": "x" })
}

/// A harness whose audit is in the state store, so that it can be read, and fails with the store.
fn audited(settings: &GateSettings, trust: Trust) -> (Harness, Audit) {
    let mut opened = None;
    let harness = Harness::with(settings, trust, |store, clock| {
        let sinks = vec![Sink::Store { keep: Duration::from_secs(3600) }];
        let settings = AuditSettings { sinks, timeout: Duration::from_secs(2), ..AuditSettings::default() };
        opened.insert(Audit::open(settings, clock, store).unwrap()).clone()
    });
    (harness, opened.unwrap())
}

/// The recorded entries.
async fn recorded(harness: &Harness, audit: &Audit) -> Vec<Value> {
    eventually("the queue of the audit is written", async || audit.flush().await.is_ok()).await;
    let lines = harness.store.inner.list("", 100_000).await.unwrap();
    let entries = lines.iter().filter_map(|(_, record)| serde_json::from_slice::<Value>(&record.value).ok());
    entries.filter(|line| line["event"].is_string()).collect()
}

fn find_events<'a>(events: &'a [Value], event: &str) -> Vec<&'a Value> {
    events.iter().filter(|line| line["event"] == event).collect()
}

#[tokio::test]
async fn r_saf_2_danger_and_trust_decide_together() {
    let (confirm, danger, trust) =
        ("CONFIRMATION_REQUIRED", "PERMISSION_DANGER_LEVEL_DENIED", "PERMISSION_TRUST_LEVEL_INSUFFICIENT");
    let table = [
        (Trust::Untested, [trust, danger, danger, danger, danger]),
        (Trust::Generated, ["done", danger, danger, danger, danger]),
        (Trust::Accepted, ["done", "done", confirm, danger, danger]),
        (Trust::Validated, ["done", "done", confirm, danger, danger]),
        (Trust::CommunityReviewed, ["done", "done", confirm, confirm, danger]),
        (Trust::Certified, ["done", "done", confirm, confirm, confirm]),
    ];
    for (trust, expected) in table {
        let harness = Harness::with(&GateSettings::default(), trust, |_, clock| Audit::disabled(clock));
        let operations = OPERATIONS.iter().map(|(name, _)| *name).filter(|name| *name != "erase_thing");
        for (name, expected) in operations.zip(expected) {
            let answer = harness.ask(request(&format!("alpha_{name}"), params())).await;
            assert_eq!(code(&answer), expected, "{trust} {name}");
        }
        let read = harness.engine.fetch(FetchRequest::Resource("aquifer://alpha/memo://1".to_owned()), anna()).await;
        assert_eq!(read.is_ok(), trust > Trust::Untested, "{trust}: a document");
        assert_eq!(code(&harness.ask(request("introspect", json!({ "query": "operations" }))).await), "done");
    }
}

#[tokio::test]
async fn r_int_6_introspection_reports_policy_and_the_token() {
    let harness = Harness::new(&GateSettings::default());
    let answer = harness.ask(request("introspect", json!({ "query": "policy" }))).await;
    let confirm = answer["data"]["policy"]["confirm"].as_array().unwrap();
    assert!(confirm.contains(&json!("alpha_delete_thing")), "{answer}");
    assert!(answer["data"]["policy"]["allow"].as_array().unwrap().contains(&json!("alpha_get_thing")), "{answer}");
    let listed = harness.ask(request("introspect", json!({ "query": "operations" }))).await;
    assert_eq!(listed["data"]["_protocol"]["capabilities"]["confirmation"], true);
    for (name, takes) in [("alpha_get_thing", false), ("alpha_create_thing", false), ("alpha_delete_thing", true)] {
        let answer = harness.ask(request("introspect", json!({ "query": "operations", "name": name }))).await;
        let parameters = answer["data"]["operation"]["parameters"].as_array().unwrap();
        let has = parameters.iter().any(|parameter| parameter["name"] == "confirmation_token");
        assert_eq!(has, takes, "{name}");
    }
}

#[tokio::test]
async fn r_saf_6_an_allowed_read_without_limits_touches_neither_store_nor_audit() {
    let (harness, audit) = audited(&GateSettings::default(), Trust::Certified);
    let before = *harness.store.asked.lock();
    for name in ["alpha_get_thing", "beta_get_thing", "introspect"] {
        let params = if name == "introspect" { json!({ "query": "operations" }) } else { params() };
        assert_eq!(code(&harness.ask(request(name, params)).await), "done");
    }
    assert_eq!(*harness.store.asked.lock(), before);
    assert_eq!(recorded(&harness, &audit).await, Vec::<Value>::new());
}

#[tokio::test]
async fn r_saf_5_decisions_intents_and_outcomes_are_on_record() {
    let (harness, audit) = audited(&GateSettings::default(), Trust::CommunityReviewed);
    let delete = || request("alpha_delete_thing", json!({ "id": "x", "pass_code": "sesame-open" }));
    let token = harness.token(delete()).await;
    harness.ask(with_token(delete(), "conf_wrong")).await;
    assert_eq!(code(&harness.ask(with_token(delete(), &token)).await), "done");
    harness.ask(request("alpha_drop_thing", params())).await;
    let events = recorded(&harness, &audit).await;
    assert_eq!(find_events(&events, "CONFIRMATION_REQUIRED").len(), 1, "{events:#?}");
    assert_eq!(find_events(&events, "TOKEN_REJECTED")[0]["code"], "TOKEN_INVALID");
    assert_eq!(find_events(&events, "CONFIRMATION_GRANTED").len(), 1);
    assert_eq!(find_events(&events, "OPERATION_DENIED")[0]["code"], "PERMISSION_DANGER_LEVEL_DENIED");
    let intent = find_events(&events, "OPERATION_INTENT");
    assert_eq!((intent.len(), &intent[0]["parameters"]["id"]), (1, &json!("x")));
    let outcome = find_events(&events, "OPERATION_OUTCOME");
    assert_eq!((outcome.len(), &outcome[0]["result"]), (1, &json!("done")));
    assert!(outcome[0]["intent"].is_string(), "{outcome:?}");
    let asked = find_events(&events, "CONFIRMATION_REQUIRED")[0];
    assert_eq!(
        asked["token_id"],
        find_events(&events, "CONFIRMATION_GRANTED")[0]["token_id"],
        "one can follow a token"
    );
    let all = serde_json::to_string(&events).unwrap();
    assert!(!all.contains(&token) && !all.contains("sesame-open"), "{all}");
}

#[tokio::test]
async fn r_saf_5_operations_that_cannot_be_recorded_do_not_run() {
    let (harness, _) = audited(&GateSettings::default(), Trust::Certified);
    let loosened: GateSettings = GateSettings {
        policy: serde_json::from_value(json!({ "rule": [
            { "effect": "allow", "loosen": true, "operation": "*_delete_*" }
        ] }))
        .unwrap(),
        ..GateSettings::default()
    };
    let (free, _) = audited(&loosened, Trust::Certified);
    assert_eq!(code(&free.ask(request("alpha_delete_thing", params())).await), "done");
    assert_eq!(free.done().len(), 1);
    // The audit is in the store here: without the store nothing destructive runs, confirmed or not.
    for harness in [&harness, &free] {
        harness.store.set_down(true);
        let refused = harness.ask(request("alpha_delete_thing", params())).await;
        assert_eq!(code(&refused), "INTERNAL_ERROR", "{refused}");
        assert!(harness.done().is_empty());
        assert_eq!(code(&harness.ask(request("alpha_get_thing", params())).await), "done");
        harness.done();
        harness.store.set_down(false);
    }
    let message = "the audit cannot be written";
    free.store.set_down(true);
    let refused = free.ask(request("alpha_delete_thing", params())).await;
    assert!(refused["error"]["message"].as_str().unwrap().contains(message), "{refused}");
}

#[tokio::test]
async fn r_saf_6_without_the_store_reads_continue_and_gated_operations_do_not() {
    let quota = serde_json::from_value(json!({
        "rate_limit": [{ "name": "all", "limit": 1000, "window": "minute" }],
        "quota": [{ "metric": "requests_per_day", "hard_stop": 1000 }],
    }))
    .unwrap();
    let harness = Harness::new(&GateSettings { quota, ..GateSettings::default() });
    let delete = || request("alpha_delete_thing", params());
    let token = harness.token(delete()).await;
    harness.store.set_down(true);
    assert_eq!(code(&harness.ask(request("alpha_get_thing", params())).await), "done");
    assert_eq!(harness.done().len(), 1);
    for sent in [delete(), with_token(delete(), &token), request("alpha_create_thing", params())] {
        let refused = harness.ask(sent).await;
        assert_eq!(code(&refused), "INTERNAL_ERROR");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains("state store") && !message.contains("taken away"), "{message}");
    }
    let answer = harness.ask(request("introspect", json!({ "query": "quota" }))).await;
    assert_eq!(answer["data"]["quotas"][0]["status"], "unknown", "{answer}");
    assert!(harness.done().is_empty());
    harness.store.set_down(false);
    assert_eq!(code(&harness.ask(with_token(delete(), &token)).await), "done", "and recovers without more ado");
    assert_eq!(harness.done().len(), 1);
}

#[tokio::test]
async fn r_saf_6_an_unresponsive_store_does_not_block_callers_forever() {
    let quota = serde_json::from_value(json!({
        "rate_limit": [{ "name": "all", "limit": 1000, "window": "minute" }],
        "quota": [{ "metric": "requests_per_day", "hard_stop": 1000 }],
    }))
    .unwrap();
    let harness = Harness::new(&GateSettings { quota, ..GateSettings::default() });
    harness.store.silent.store(true, std::sync::atomic::Ordering::SeqCst);
    let calls = async {
        let read = || harness.ask(request("alpha_get_thing", params()));
        assert_eq!(code(&read().await), "done");
        // A silent store is not used for every read.
        let asked = *harness.store.asked.lock();
        for _ in 0..20 {
            assert_eq!(code(&read().await), "done");
        }
        assert_eq!(*harness.store.asked.lock(), asked);
        assert_eq!(code(&harness.ask(request("alpha_delete_thing", params())).await), "INTERNAL_ERROR");
    };
    tokio::time::timeout(Duration::from_secs(60), calls).await.unwrap();
    assert_eq!(harness.done().len(), 21);
}

#[tokio::test]
async fn r_bat_3_a_batch_halts_and_resumes_with_its_token() {
    let harness = Harness::new(&GateSettings::default());
    let get = |id: &str| request("alpha_get_thing", json!({ "id": id }));
    let delete = || request("alpha_delete_thing", json!({ "id": "b" }));
    let batch = json!({ "operations": [get("a"), delete(), get("c"), delete()] });
    let halted = harness.ask(batch).await;
    assert_eq!(halted["results"].as_array().unwrap().len(), 1);
    assert_eq!(halted["halted_at"]["index"], 1, "{halted}");
    assert_eq!(halted["summary"]["pending"], 2);
    let token = halted["halted_at"]["result"]["error"]["details"]["confirmation_token"].as_str().unwrap();
    assert_eq!(harness.done().len(), 1);
    let mut rest = vec![with_token(delete(), token)];
    rest.extend(
        halted["pending_operations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|pending| request(pending["operation"].as_str().unwrap(), pending["params"].clone())),
    );
    let done = harness.ask(json!({ "operations": rest })).await;
    assert_eq!(done["summary"], json!({ "total": 3, "succeeded": 3, "failed": 0 }), "{done}");
    let done: Vec<String> = harness.done().into_iter().map(|(_, name, _)| name).collect();
    assert_eq!(done, ["delete_thing", "get_thing", "delete_thing"]);
    // A token of one call works once, also in a batch.
    let token = harness.token(delete()).await;
    let twice = json!({ "operations": [with_token(delete(), &token), with_token(delete(), &token)] });
    let answer = harness.ask(twice).await;
    assert_eq!(answer["summary"], json!({ "total": 2, "succeeded": 1, "failed": 1 }));
    assert_eq!(answer["results"][1]["result"]["error"]["code"], "TOKEN_ALREADY_USED");
    assert_eq!(harness.done().len(), 1);
}

#[tokio::test]
async fn r_saf_2_denials_say_what_decided() {
    let policy = serde_json::from_value(json!({ "rule": [
        { "name": "hands off", "effect": "deny", "operation": "*_create_*", "caller": "anna", "reason": "It is closed" },
        { "effect": "confirm", "operation": "*_get_*", "when": [{ "param": "id", "equals": "x" }] },
    ] }))
    .unwrap();
    let harness = Harness::new(&GateSettings { policy, ..GateSettings::default() });
    let denied = harness.ask(request("alpha_create_thing", params())).await;
    assert_eq!(code(&denied), "PERMISSION_DENIED");
    let reason = "The operator's rule 'hands off' does not allow this: It is closed";
    assert_eq!(denied["error"]["message"], format!("Permission denied: {reason}"));
    assert_eq!(denied["error"]["details"]["policy"], json!({ "decision": "deny", "reason": reason }));
    // A rule may require confirmation for any operation, which then accepts a token.
    let get = || request("alpha_get_thing", params());
    let token = harness.token(get()).await;
    assert_eq!(code(&harness.ask(with_token(get(), &token)).await), "done");
    assert_eq!(code(&harness.ask(request("alpha_get_thing", json!({ "id": "y" }))).await), "done");
}

#[tokio::test]
async fn r_ext_1_signatures_say_who_will_be_asked() {
    let rule = "[[rule]]\noperation = \"*erase_thing\"\neffect = \"confirm\"\nstrength = \"approval\"";
    let settings = GateSettings { policy: toml::from_str(rule).unwrap(), ..GateSettings::default() };
    let harness = Harness::new(&settings);
    let answer = harness.ask(request("introspect", json!({ "query": "signatures", "source": "alpha" }))).await;
    let lines = answer["data"]["signatures"].as_array().unwrap();
    for (name, mark) in [
        ("alpha_get_thing", None),
        ("alpha_create_thing", None),
        ("alpha_delete_thing", Some("[confirm]")),
        ("alpha_erase_thing", Some("[approval]")),
    ] {
        let line = lines.iter().filter_map(Value::as_str).find(|line| line.starts_with(&format!("{name}("))).unwrap();
        let found = ["[confirm]", "[approval]", "[denied]"].into_iter().find(|mark| line.contains(mark));
        assert_eq!(found, mark, "{line}");
        // The mark is what the call meets.
        let expected = if mark.is_some() { "CONFIRMATION_REQUIRED" } else { "done" };
        assert_eq!(code(&harness.ask(request(name, params())).await), expected, "{name}");
    }
}
