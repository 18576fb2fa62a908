//! Tokens: their format, what they are bound to, how long they are valid, and that they work once.

use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::Context;
use aquifer_engine::store::StateStore;
use aquifer_gate::GateSettings;
use aquifer_gate::confirm::ConfirmSettings;
use aquifer_gate::policy::PolicySettings;
use aquifer_protocol::error::wording::looks_like_a_leak;
use serde_json::{Value, json};

use crate::harness::{Harness, anna, caller, code, request, with_token};

fn delete(id: &str) -> Value {
    request("alpha_delete_thing", json!({ "id": id }))
}

#[tokio::test]
async fn r_saf_3_the_answer_matches_the_specification() {
    let harness = Harness::new(&GateSettings::default());
    let answer = harness.ask(delete("x")).await;
    assert_eq!(answer["success"], false);
    assert_eq!(answer["error"]["code"], "CONFIRMATION_REQUIRED");
    // The specification's message, and what to do.
    assert_eq!(
        answer["error"]["message"],
        "This operation requires confirmation. Ask your user, then send the same request again with 'confirmation_token'"
    );
    let details = answer["error"]["details"].as_object().unwrap();
    let names: Vec<&String> = details.keys().collect();
    let expected = ["operation", "danger_level", "reasons", "confirmation_message", "confirmation_token", "expires_at"];
    assert_eq!(names, expected);
    assert_eq!(details["operation"], "alpha_delete_thing");
    assert_eq!(details["danger_level"], "destructive");
    assert_eq!(details["expires_at"], "2026-01-28T12:05:00Z");
    assert_eq!(
        details["confirmation_message"],
        "Delete thing \"x\" ('alpha_delete_thing' of source 'alpha')?\n1 parameter:\n  id = \"x\""
    );
    assert_eq!(details["reasons"], json!(["This deletes data, so a person has to confirm it"]));
    let token = details["confirmation_token"].as_str().unwrap();
    let identifier = token.strip_prefix("conf_").unwrap();
    assert_eq!(identifier.len(), 43, "256 bits");
    assert!(identifier.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)), "{token}");
    assert!(harness.done().is_empty());
    assert_eq!(code(&harness.ask(with_token(delete("x"), token)).await), "done");
    assert_eq!(harness.done(), [("alpha".to_owned(), "delete_thing".to_owned(), json!({ "id": "x" }))]);
}

#[tokio::test]
async fn r_saf_3_the_token_is_accepted_in_every_specified_place() {
    let harness = Harness::new(&GateSettings::default());
    for place in 0..4 {
        let token = harness.token(delete("x")).await;
        let sent = match place {
            0 => request("alpha_delete_thing", json!({ "id": "x", "confirmation_token": token })),
            1 => request("alpha_delete_thing", json!({ "id": "x", "_confirmation": token })),
            2 => json!({ "operation": "alpha_delete_thing", "id": "x", "confirmation_token": token }),
            _ => json!({ "operation": "alpha_delete_thing", "id": "x", "_confirmation": token }),
        };
        assert_eq!(code(&harness.ask(sent).await), "done", "{place}");
        assert_eq!(harness.done(), [("alpha".to_owned(), "delete_thing".to_owned(), json!({ "id": "x" }))]);
    }
    // If nothing has to be confirmed, the token is an unknown parameter.
    let answer = harness.ask(with_token(request("alpha_get_thing", json!({ "id": "x" })), "conf_x")).await;
    assert_eq!(code(&answer), "VALIDATION_UNKNOWN_PARAM");
}

/// The details that the specification asks for. A token is shown by its fingerprint, as in the audit log, and only its own
/// caller learns what it is for.
#[tokio::test]
async fn r_saf_3_refused_tokens_have_the_published_details() {
    let settings = ConfirmSettings { wrong_per_minute: 1_000, ..ConfirmSettings::default() };
    let harness = Harness::new(&GateSettings { confirm: settings, ..GateSettings::default() });
    let token = harness.token(delete("x")).await;
    let details = |answer: &Value, expected: &str| {
        assert_eq!(code(answer), expected, "{answer}");
        assert!(!answer.to_string().contains(&token) && !looks_like_a_leak(&answer["error"]["message"].to_string()));
        let details = answer["error"]["details"].as_object().unwrap().clone();
        let fingerprint = details["token"].as_str().unwrap().to_owned();
        assert!(fingerprint.starts_with("token_") && !token.contains(&fingerprint["token_".len()..]), "{fingerprint}");
        (details, fingerprint)
    };
    let other = harness.ask(with_token(request("beta_delete_thing", json!({ "id": "x" })), &token)).await;
    let (found, fingerprint) = details(&other, "TOKEN_SCOPE_MISMATCH");
    assert_eq!(
        (&found["token_operation"], &found["requested_operation"], &found["mismatch"]),
        (&json!("alpha_delete_thing"), &json!("beta_delete_thing"), &json!("source"))
    );
    let (found, _) = details(&harness.ask(with_token(delete("y"), &token)).await, "TOKEN_SCOPE_MISMATCH");
    assert_eq!((&found["token_operation"], &found["mismatch"]), (&json!("alpha_delete_thing"), &json!("parameters")));
    let berta = caller(Some("berta"), Some("session_2"));
    let (found, _) = details(&harness.ask_as(with_token(delete("x"), &token), berta).await, "TOKEN_SCOPE_MISMATCH");
    assert_eq!(found.get("token_operation"), None, "it is another caller's");
    assert_eq!((&found["requested_operation"], &found["mismatch"]), (&json!("alpha_delete_thing"), &json!("caller")));
    assert_eq!(code(&harness.ask(with_token(delete("x"), &token)).await), "done");
    let used_at = harness.ask(with_token(delete("x"), &token)).await;
    harness.clock.advance(30);
    let again = harness.ask(with_token(delete("x"), &token)).await;
    let (found, same) = details(&again, "TOKEN_ALREADY_USED");
    assert_eq!((&same, &again), (&fingerprint, &used_at), "when it was consumed does not change");
    assert_eq!(found["consumed_at"], "2026-01-28T12:00:00Z");
    let late = harness.token(delete("z")).await;
    harness.clock.advance(600);
    let expired = harness.ask(with_token(delete("z"), &late)).await;
    assert_eq!(code(&expired), "TOKEN_EXPIRED");
    assert!(expired["error"]["details"]["token"].as_str().unwrap().starts_with("token_"), "{expired}");
}

#[tokio::test]
async fn r_saf_3_unknown_and_malformed_tokens_look_alike() {
    let settings = ConfirmSettings { wrong_per_minute: 1_000, ..ConfirmSettings::default() };
    let harness = Harness::new(&GateSettings { confirm: settings, ..GateSettings::default() });
    let good = harness.token(delete("x")).await;
    let unknown = format!("conf_{}", "A".repeat(43));
    // The fingerprint is the only difference: it is made from what was sent, not from what exists.
    let without_fingerprint = |mut answer: Value| {
        let details = answer["error"]["details"].as_object_mut().unwrap();
        let fingerprint = details.remove("token").unwrap();
        assert!(fingerprint.as_str().is_some_and(|token| token.starts_with("token_") && token.len() == 22));
        assert!(details.is_empty(), "{details:?}");
        answer
    };
    let expected = without_fingerprint(harness.ask(with_token(delete("x"), &unknown)).await);
    assert_eq!(code(&expected), "TOKEN_INVALID");
    let long = "conf_".repeat(20_000);
    let swapped = good.replace("conf_", "quota_continue_");
    let upper = good.to_uppercase();
    let bare = good.trim_start_matches("conf_").to_owned();
    let wrong = ["", " ", "conf_", "x", "null", &good[..good.len() - 1], &format!("{good} "), &long, &upper, &bare];
    for token in wrong {
        assert_eq!(without_fingerprint(harness.ask(with_token(delete("x"), token)).await), expected, "{token:.60}");
    }
    // A quota's token is not a confirmation, so a confirmation is still required.
    assert_eq!(code(&harness.ask(with_token(delete("x"), &swapped)).await), "CONFIRMATION_REQUIRED");
    for value in [json!(5), json!(true), json!(["conf_"]), json!({})] {
        let sent = request("alpha_delete_thing", json!({ "id": "x", "_confirmation": value }));
        assert_eq!(without_fingerprint(harness.ask(sent).await), expected);
    }
    assert!(harness.done().is_empty());
    assert_eq!(code(&harness.ask(with_token(delete("x"), &good)).await), "done");
}

#[tokio::test]
async fn r_saf_3_a_token_is_for_exactly_one_call_of_exactly_one_caller() {
    let params = || json!({ "id": "x", "note": "n", "deep": { "a": [1, { "b": 2 }] } });
    let ask = |params: Value| request("alpha_delete_thing", params);
    let changed: Vec<(&str, Value, Context)> = vec![
        ("operation", request("alpha_purge_thing", params()), anna()),
        ("adapter", request("beta_delete_thing", params()), anna()),
        ("id", ask(json!({ "id": "y", "note": "n", "deep": { "a": [1, { "b": 2 }] } })), anna()),
        ("less", ask(json!({ "id": "x", "note": "n" })), anna()),
        ("more", ask(json!({ "id": "x", "note": "n", "deep": { "a": [1, { "b": 2 }] }, "pass_code": "1" })), anna()),
        ("deep", ask(json!({ "id": "x", "note": "n", "deep": { "a": [1, { "b": 3 }] } })), anna()),
        ("order", ask(json!({ "id": "x", "note": "n", "deep": { "a": [{ "b": 2 }, 1] } })), anna()),
        ("caller", ask(params()), caller(Some("berta"), Some("session_1"))),
        ("no caller", ask(params()), caller(None, Some("session_1"))),
        ("session", ask(params()), caller(Some("anna"), Some("session_2"))),
        ("no session", ask(params()), caller(Some("anna"), None)),
        ("nobody", ask(params()), caller(None, None)),
    ];
    for (what, sent, context) in changed {
        let harness = Harness::new(&GateSettings::default());
        let token = harness.token(ask(params())).await;
        let answer = harness.ask_as(with_token(sent, &token), context).await;
        assert_eq!(code(&answer), "TOKEN_SCOPE_MISMATCH", "{what}");
        assert!(harness.done().is_empty(), "{what}");
        // The same call in another spelling is accepted, and the failed attempts have not consumed the token.
        let same = ask(json!({ "deep": { "a": [1.0, { "b": 2 }] }, "note": "n", "id": "x" }));
        assert_eq!(code(&harness.ask(with_token(same, &token)).await), "done", "{what}");
    }
}

#[tokio::test]
async fn r_saf_3_a_token_works_once_and_is_then_reported_as_used() {
    let harness = Harness::new(&GateSettings::default());
    let token = harness.token(delete("x")).await;
    assert_eq!(code(&harness.ask(with_token(delete("x"), &token)).await), "done");
    for _ in 0..3 {
        assert_eq!(code(&harness.ask(with_token(delete("x"), &token)).await), "TOKEN_ALREADY_USED");
    }
    assert_eq!(harness.done().len(), 1);
}

#[tokio::test]
async fn r_saf_3_expired_is_one_second_past_the_skew() {
    let operations = [("alpha_delete_thing", 300), ("alpha_create_thing", 0), ("alpha_drop_thing", 120)];
    for (operation, lifetime) in operations {
        for skew in [0, 30, 300] {
            let confirm = ConfirmSettings { skew: Duration::from_secs(skew), ..ConfirmSettings::default() };
            let policy = serde_json::from_value(json!({ "strength": { "forbidden": "token" } })).unwrap();
            let harness = Harness::new(&GateSettings { confirm, policy, ..GateSettings::default() });
            let sent = || request(operation, json!({ "id": "x" }));
            if lifetime == 0 {
                assert_eq!(code(&harness.ask(sent()).await), "done", "what is reversible needs no token");
                continue;
            }
            let (late, in_time) = (harness.token(sent()).await, harness.token(sent()).await);
            harness.clock.advance(lifetime + skew);
            assert_eq!(code(&harness.ask(with_token(sent(), &in_time)).await), "done", "{operation} {skew}");
            harness.clock.advance(1);
            let answer = harness.ask(with_token(sent(), &late)).await;
            assert_eq!(code(&answer), "TOKEN_EXPIRED", "{operation} {skew}");
            assert!(answer["error"]["details"]["expired_at"].is_string(), "{answer}");
            // Long afterwards, used and expired tokens still differ from unknown ones.
            harness.clock.advance(30 * 60);
            assert_eq!(code(&harness.ask(with_token(sent(), &late)).await), "TOKEN_EXPIRED");
            harness.clock.advance(60 * 60);
            assert_eq!(code(&harness.ask(with_token(sent(), &late)).await), "TOKEN_INVALID", "and at last forgotten");
            assert_eq!(harness.done().len(), 1);
        }
    }
}

#[tokio::test]
async fn r_saf_3_a_token_waits_for_the_cooldown_of_its_source() {
    let harness = Harness::new(&GateSettings::default());
    let erase = || request("alpha_erase_thing", json!({ "id": "x", "pass_code": "hunter2-x9" }));
    let answer = harness.ask(erase()).await;
    let details = &answer["error"]["details"];
    // A source can add text, but does not decide what a person sees.
    let expected = "Erase thing \"x\" ('alpha_erase_thing' of source 'alpha')? Its source says: Erase 'x' ([hidden, 10 \
                    characters, sha256 998a…])? It is gone then.\n2 parameters:\n  id = \"x\"\n  pass_code = [hidden, 10 \
                    characters, sha256 998a…]";
    assert_eq!(details["confirmation_message"], expected);
    assert_eq!(details["reasons"][0], "It is gone");
    assert!(!answer.to_string().contains("hunter2"), "{answer}");
    let token = details["confirmation_token"].as_str().unwrap().to_owned();
    harness.clock.advance(2);
    let early = harness.ask(with_token(erase(), &token)).await;
    assert_eq!(code(&early), "CONFIRMATION_REQUIRED");
    assert_eq!(early["error"]["details"]["retry_after_seconds"], 3);
    assert_eq!(early["error"]["details"]["confirmation_token"], token.as_str());
    assert!(harness.done().is_empty());
    harness.clock.advance(3);
    assert_eq!(code(&harness.ask(with_token(erase(), &token)).await), "done");
    assert_eq!(code(&harness.ask(with_token(erase(), &token)).await), "TOKEN_ALREADY_USED");
}

#[tokio::test]
async fn r_saf_3_the_operator_sets_the_question_and_the_cooldown() {
    let policy: PolicySettings = serde_json::from_value(json!({ "rule": [
        { "effect": "confirm", "operation": "alpha_delete_*", "message": "Throw {id} away, {pass_code}, {nothing}?" },
        { "effect": "confirm", "operation": "alpha_*", "cooldown_seconds": 20, "message": "Said later, not heard" },
        { "effect": "confirm", "operation": "alpha_erase_*", "message": "Ours before the source's: {id}" },
    ] }))
    .unwrap();
    let harness = Harness::new(&GateSettings { policy, ..GateSettings::default() });
    let sent = || request("alpha_delete_thing", json!({ "id": "x{note}\u{202e}", "pass_code": "hunter2-x9" }));
    let answer = harness.ask(sent()).await;
    let details = &answer["error"]["details"];
    assert_eq!(
        details["confirmation_message"],
        "Throw x{note}\\u{202e} away, [hidden, 10 characters, sha256 998a…], (not given)?\n2 parameters:\n  \
         id = \"x{note}\\u{202e}\"\n  pass_code = [hidden, 10 characters, sha256 998a…]"
    );
    assert!(!answer.to_string().contains("hunter2"), "{answer}");
    let token = details["confirmation_token"].as_str().unwrap().to_owned();
    harness.clock.advance(19);
    let early = harness.ask(with_token(sent(), &token)).await;
    assert_eq!(early["error"]["details"]["retry_after_seconds"], 1, "{early}");
    assert!(harness.done().is_empty());
    harness.clock.advance(1);
    assert_eq!(code(&harness.ask(with_token(sent(), &token)).await), "done");
    // Rules come first, in their order, and the source last.
    let erase = harness.ask(request("alpha_erase_thing", json!({ "id": "x" }))).await;
    let expected = "Said later, not heard\n1 parameter:\n  id = \"x\"";
    assert_eq!(erase["error"]["details"]["confirmation_message"], expected);
    let other = harness.ask(request("beta_erase_thing", json!({ "id": "x" }))).await;
    let shown = other["error"]["details"]["confirmation_message"].as_str().unwrap();
    assert!(shown.contains("Its source says: Erase 'x' ((not given))? It is gone then.\n1 parameter:\n"), "{shown}");
}

/// A caller decides what is sent. It must not decide what a person sees of it.
#[tokio::test]
async fn r_saf_3_callers_cannot_hide_values_from_the_person() {
    let harness = Harness::new(&GateSettings::default());
    let long = format!("SELECT 1 /* {} */; DROP TABLE customers", "harmless ".repeat(60));
    for (sent, shown) in [
        (json!("sk-1; DROP TABLE customers"), "\"sk-1; DROP TABLE customers\"".to_owned()),
        (json!("DELETE FROM a -- http://a:b@c"), "\"DELETE FROM a -- http://a:b@c\"".to_owned()),
        (json!("DELETE FROM a WHERE 1 OR token=1"), "\"DELETE FROM a WHERE 1 OR token=1\"".to_owned()),
        (json!(long), long.clone()),
        (json!({ "name": "token", "value": "1 OR 1" }), r#"{"name": "token", "value": "1 OR 1"}"#.to_owned()),
        (json!({ "password": "1 OR 1" }), r#"{"password": "1 OR 1"}"#.to_owned()),
    ] {
        let answer = harness.ask(request("alpha_delete_thing", json!({ "id": "x", "deep": sent }))).await;
        let message = answer["error"]["details"]["confirmation_message"].as_str().unwrap_or_else(|| panic!("{answer}"));
        assert!(message.contains(&shown), "{shown} in {message}");
    }
    // Sensitive values are not shown, whatever they contain.
    let sent = json!({ "id": "x", "pass_code": "open sesame" });
    let answer = harness.ask(request("alpha_delete_thing", sent)).await;
    assert!(!answer.to_string().contains("sesame"), "{answer}");
}

#[tokio::test]
async fn r_saf_3_the_store_never_has_the_token_itself() {
    let harness = Harness::new(&GateSettings::default());
    let mut tokens = vec![harness.token(delete("x")).await];
    tokens.push(harness.token(request("alpha_purge_thing", json!({ "id": "secret-id" }))).await);
    let records = harness.store.list("", 1_000).await.unwrap();
    assert!(records.len() >= 3, "two tokens and an approval");
    for (key, record) in records {
        let stored = format!("{key} {}", String::from_utf8_lossy(&record.value));
        for token in &tokens {
            assert!(!stored.contains(&token[5..]), "{stored}");
        }
        assert!(!stored.contains("session_1"), "{stored}");
    }
}

#[tokio::test]
async fn r_saf_3_asking_for_tokens_and_guessing_them_is_limited() {
    let confirm = ConfirmSettings { issued_per_minute: 5, wrong_per_minute: 3, ..ConfirmSettings::default() };
    let harness = Harness::new(&GateSettings { confirm, ..GateSettings::default() });
    let mut tokens = Vec::new();
    for _ in 0..5 {
        tokens.push(harness.token(delete("x")).await);
    }
    let refused = harness.ask(delete("x")).await;
    assert_eq!(code(&refused), "RATE_LIMIT_EXCEEDED");
    let wait = refused["error"]["details"]["retry_after_seconds"].as_u64().unwrap();
    assert!((1..=61).contains(&wait), "{refused}");
    // Another caller has its own limit.
    let berta = || caller(Some("berta"), Some("session_9"));
    assert_eq!(code(&harness.ask_as(delete("x"), berta()).await), "CONFIRMATION_REQUIRED");
    for _ in 0..3 {
        assert_eq!(code(&harness.ask(with_token(delete("x"), "conf_guess")).await), "TOKEN_INVALID");
    }
    for wrong in ["conf_guess", &tokens[1]] {
        let refused = harness.ask(with_token(delete("y"), wrong)).await;
        assert_eq!(code(&refused), "RATE_LIMIT_EXCEEDED", "nothing more is told of a wrong one");
    }
    let good = with_token(delete("x"), &tokens[0]);
    assert_eq!(code(&harness.ask(good).await), "done", "whoever has the right one is no guesser");
    // Callers without an identity are counted together, and cannot block each other.
    let nobody = || caller(None, None);
    let answer = harness.ask_as(delete("x"), nobody()).await;
    let theirs = answer["error"]["details"]["confirmation_token"].as_str().unwrap().to_owned();
    for _ in 0..10 {
        harness.ask_as(with_token(delete("x"), "conf_guess"), nobody()).await;
    }
    assert_eq!(code(&harness.ask_as(with_token(delete("x"), &theirs), nobody()).await), "done");
    // A used token is not a guess and is not counted.
    for _ in 0..20 {
        assert_eq!(code(&harness.ask(with_token(delete("x"), &tokens[0])).await), "TOKEN_ALREADY_USED");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r_saf_3_a_thousand_at_once_redeem_a_token_once() {
    let harness = Arc::new(Harness::new(&GateSettings::default()));
    let token = harness.token(delete("x")).await;
    let mut running = tokio::task::JoinSet::new();
    for _ in 0..1_000 {
        let (harness, sent) = (harness.clone(), with_token(delete("x"), &token));
        running.spawn(async move { code(&harness.ask(sent).await).to_owned() });
    }
    let codes = running.join_all().await;
    let count = |wanted: &str| codes.iter().filter(|code| *code == wanted).count();
    assert_eq!((count("done"), count("TOKEN_ALREADY_USED")), (1, 999));
    assert_eq!(harness.done().len(), 1);
}

#[tokio::test]
async fn r_res_4_no_message_looks_like_a_leak_or_repeats_a_token() {
    let harness = Harness::new(&GateSettings::default());
    let token = harness.token(delete("x")).await;
    let mut answers = vec![
        harness.ask(delete("x")).await,
        harness.ask(request("alpha_purge_thing", json!({ "id": "x" }))).await,
        harness.ask(with_token(delete("x"), "conf_wrong")).await,
        harness.ask(with_token(delete("y"), &token)).await,
        harness.ask(with_token(delete("x"), &token)).await,
        harness.ask(with_token(delete("x"), &token)).await,
    ];
    let late = harness.token(delete("x")).await;
    harness.clock.advance(1_000);
    answers.push(harness.ask(with_token(delete("x"), &late)).await);
    harness.store.set_down(true);
    answers.push(harness.ask(delete("x")).await);
    for answer in answers {
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(!looks_like_a_leak(message), "{message}");
        assert!(!message.contains("conf_"), "{message}");
    }
}

#[test]
fn r_saf_3_lifetimes_and_skew_have_the_specifications_bounds() {
    let seconds = Duration::from_secs;
    let base = ConfirmSettings::default;
    assert_eq!((base().lifetime, base().forbidden_lifetime, base().skew), (seconds(300), seconds(120), seconds(30)));
    let table = [
        (base(), true),
        (ConfirmSettings { skew: seconds(0), ..base() }, true),
        (ConfirmSettings { skew: seconds(300), ..base() }, true),
        (ConfirmSettings { skew: seconds(301), ..base() }, false),
        (ConfirmSettings { lifetime: seconds(901), ..base() }, false),
        (ConfirmSettings { lifetime: seconds(0), ..base() }, false),
        (ConfirmSettings { forbidden_lifetime: seconds(301), ..base() }, false),
        (ConfirmSettings { quota_lifetime: seconds(601), ..base() }, false),
    ];
    for (settings, good) in table {
        assert_eq!(settings.check().is_ok(), good, "{settings:?}");
    }
}
