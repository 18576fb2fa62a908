//! Asking the user: the question is bound like a token, and any answer but yes is a no.

use aquifer_engine::Context;
use aquifer_gate::GateSettings;
use aquifer_gate::policy::PolicySettings;
use serde_json::{Value, json};

use crate::harness::{Harness, anna, answering, caller, code, request, with_person, with_token};

fn delete(id: &str) -> Value {
    request("alpha_delete_thing", json!({ "id": id }))
}

async fn question(harness: &Harness, sent: Value) -> String {
    let answer = harness.ask_as(sent, with_person(anna())).await;
    answer["question"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

#[tokio::test]
async fn r_saf_3_a_client_that_can_ask_its_user_does() {
    let harness = Harness::new(&GateSettings::default());
    for operation in ["alpha_delete_thing", "alpha_purge_thing", "alpha_drop_thing"] {
        let sent = || request(operation, json!({ "id": "x" }));
        let key = question(&harness, sent()).await;
        assert!(harness.done().is_empty());
        let yes = || answering(with_person(anna()), &key, "accept");
        assert_eq!(code(&harness.ask_as(sent(), yes()).await), "done");
        assert_eq!(harness.done().len(), 1);
        assert_eq!(code(&harness.ask_as(sent(), yes()).await), "TOKEN_ALREADY_USED", "a yes is for one call");
        assert!(harness.done().is_empty());
    }
}

#[tokio::test]
async fn r_saf_3_declined_cancelled_and_unanswered_have_their_own_messages() {
    let harness = Harness::new(&GateSettings::default());
    let mut messages = Vec::new();
    for action in ["decline", "cancel", "timeout", "", "ACCEPT", "yes"] {
        let sent = || delete(&format!("after {action}"));
        let key = question(&harness, sent()).await;
        let answered = |action: &str| answering(with_person(anna()), &key, action);
        let refused = harness.ask_as(sent(), answered(action)).await;
        assert_eq!(code(&refused), "PERMISSION_DENIED", "{action}");
        messages.push(refused["error"]["message"].as_str().unwrap().to_owned());
        // After a no, a yes to the same question is refused.
        assert_eq!(code(&harness.ask_as(sent(), answered("accept")).await), "PERMISSION_DENIED", "{action}");
    }
    assert!(harness.done().is_empty());
    assert!(messages[0] != messages[1] && messages[1] != messages[2] && messages[0] != messages[2], "{messages:?}");
}

#[tokio::test]
async fn r_saf_3_an_answer_cannot_be_made_up_moved_or_repeated() {
    let harness = Harness::new(&GateSettings::default());
    let key = question(&harness, delete("x")).await;
    let token = harness.token(delete("x")).await;
    let invented = format!("confirm_{}", "A".repeat(43));
    let yes = |context: Context, key: &str| answering(with_person(context), key, "accept");
    let attacks: Vec<(&str, Value, Context, &str)> = vec![
        ("invented", delete("x"), yes(anna(), &invented), "TOKEN_INVALID"),
        ("a token for a question", delete("x"), yes(anna(), &token.replace("conf_", "confirm_")), "TOKEN_INVALID"),
        ("other parameters", delete("y"), yes(anna(), &key), "TOKEN_SCOPE_MISMATCH"),
        ("other source", request("beta_delete_thing", json!({ "id": "x" })), yes(anna(), &key), "TOKEN_SCOPE_MISMATCH"),
        (
            "other operation",
            request("alpha_purge_thing", json!({ "id": "x" })),
            yes(anna(), &key),
            "TOKEN_SCOPE_MISMATCH",
        ),
        ("other caller", delete("x"), yes(caller(Some("berta"), Some("session_1")), &key), "TOKEN_SCOPE_MISMATCH"),
        ("other session", delete("x"), yes(caller(Some("anna"), Some("session_2")), &key), "TOKEN_SCOPE_MISMATCH"),
        ("the question as a token", with_token(delete("x"), &key), with_person(anna()), "TOKEN_INVALID"),
        ("a model's token", with_token(delete("x"), &token), with_person(anna()), "TOKEN_SCOPE_MISMATCH"),
    ];
    for (what, sent, context, expected) in attacks {
        harness.clock.advance(7);
        assert_eq!(code(&harness.ask_as(sent, context).await), expected, "{what}");
        assert!(harness.done().is_empty(), "{what}");
    }
    let other = answering(with_person(anna()), "something_else", "accept");
    assert!(harness.ask_as(delete("x"), other).await["question"].is_string(), "not our question: asked again");
    assert_eq!(code(&harness.ask_as(delete("x"), yes(anna(), &key)).await), "done", "the real one still holds");
    assert_eq!(harness.done().len(), 1);
}

#[tokio::test]
async fn r_saf_3_a_late_answer_is_refused() {
    let harness = Harness::new(&GateSettings::default());
    let key = question(&harness, delete("x")).await;
    harness.clock.advance(331);
    let yes = answering(with_person(anna()), &key, "accept");
    assert_eq!(code(&harness.ask_as(delete("x"), yes).await), "TOKEN_EXPIRED");
    assert!(harness.done().is_empty());
}

/// Asking again would only restart the cooldown, so the call waits after a yes.
#[tokio::test]
async fn r_saf_3_an_accepted_question_waits_for_its_cooldown() {
    let rule = json!({ "effect": "confirm", "operation": "*", "cooldown_seconds": 1 });
    let policy: PolicySettings = serde_json::from_value(json!({ "rule": [rule] })).unwrap();
    let harness = Harness::new(&GateSettings { policy, ..GateSettings::default() });
    let key = question(&harness, delete("x")).await;
    let passing = async {
        tokio::task::yield_now().await;
        assert!(harness.done().is_empty(), "nothing is done before it has rested");
        harness.clock.advance(1);
    };
    let yes = answering(with_person(anna()), &key, "accept");
    let (answer, ()) = tokio::join!(harness.ask_as(delete("x"), yes), passing);
    assert_eq!(code(&answer), "done");
    assert_eq!(harness.done().len(), 1);
    // A call that is cancelled meanwhile does not run.
    let key = question(&harness, delete("x")).await;
    let context = answering(with_person(anna()), &key, "accept");
    let cancelled = context.cancelled.clone();
    let (answer, ()) = tokio::join!(harness.ask_as(delete("x"), context), async { cancelled.cancel() });
    assert_ne!(code(&answer), "done");
    assert!(harness.done().is_empty());
}

#[tokio::test]
async fn r_saf_3_a_strength_that_needs_a_person_never_becomes_a_token() {
    let policy: PolicySettings = serde_json::from_value(json!({ "strength": { "destructive": "elicit" } })).unwrap();
    let harness = Harness::new(&GateSettings { policy, ..GateSettings::default() });
    let answer = harness.ask(delete("x")).await;
    // A client that cannot ask gets a token that needs an approval.
    assert_eq!(answer["error"]["details"]["approval_status"], "pending", "{answer}");
    let token = answer["error"]["details"]["confirmation_token"].as_str().unwrap();
    assert_eq!(code(&harness.ask(with_token(delete("x"), token)).await), "CONFIRMATION_REQUIRED");
    assert!(harness.done().is_empty());
}
