//! Approvals: a caller that does everything a model could do gets nothing through; one approval lets one call through.

use aquifer_engine::Context;
use aquifer_gate::GateSettings;
use aquifer_gate::confirm::ConfirmSettings;
use aquifer_gate::confirm::approvals::{self, ApprovalError, Status};
use aquifer_gate::policy::PolicySettings;
use serde_json::{Value, json};

use crate::harness::{Harness, anna, answering, approve, caller, code, request, with_person, with_token};

fn harness() -> Harness {
    let policy: PolicySettings = serde_json::from_value(json!({
        "strength": { "destructive": "approval", "dangerous": "approval", "forbidden": "approval" }
    }))
    .unwrap();
    let confirm = ConfirmSettings { issued_per_minute: 10_000, wrong_per_minute: 10_000, ..ConfirmSettings::default() };
    Harness::new(&GateSettings { policy, confirm, ..GateSettings::default() })
}

fn delete(id: &str) -> Value {
    request("alpha_delete_thing", json!({ "id": id }))
}

/// Sends everything that a client can send with what it has learned so far.
async fn attack(harness: &Harness) {
    let contexts = || -> Vec<Context> {
        vec![
            anna(),
            with_person(anna()),
            caller(Some("anna"), None),
            caller(None, Some("session_1")),
            caller(None, None),
            with_person(caller(Some("berta"), Some("session_2"))),
        ]
    };
    let mut known: Vec<String> = vec!["conf_x".to_owned(), format!("conf_{}", "A".repeat(43))];
    for round in 0..3 {
        for context in contexts() {
            for operation in ["alpha_delete_thing", "beta_delete_thing", "alpha_purge_thing", "alpha_drop_thing"] {
                let sent = request(operation, json!({ "id": "x" }));
                let answer = harness.ask_as(sent.clone(), context.clone()).await;
                let details = &answer["error"]["details"];
                let learnt = ["confirmation_token", "approval_id"].map(|name| details[name].as_str());
                known.extend(learnt.into_iter().flatten().map(str::to_owned));
                known.extend(answer["question"].as_str().map(str::to_owned));
                let batch = json!({ "operations": [sent.clone(), sent.clone()] });
                harness.ask_as(batch, context.clone()).await;
                for token in known.iter().rev().take(12) {
                    let with = with_token(sent.clone(), token);
                    harness.ask_as(with.clone(), context.clone()).await;
                    harness.ask_as(json!({ "operations": [with.clone(), with] }), context.clone()).await;
                    let underscore = request(operation, json!({ "id": "x", "_confirmation": token }));
                    harness.ask_as(underscore, context.clone()).await;
                    harness.ask_as(sent.clone(), answering(context.clone(), token, "accept")).await;
                    for made_up in [format!("confirm_{token}"), "sure".to_owned()] {
                        harness.ask_as(sent.clone(), answering(context.clone(), &made_up, "accept")).await;
                    }
                }
            }
        }
        assert!(harness.done().is_empty(), "round {round}");
        for name in ["confirm_operation", "verify_challenge", "approvals", "alpha_approve"] {
            harness.ask(request(name, json!({ "id": known.last() }))).await;
        }
    }
}

#[tokio::test]
async fn r_saf_3_one_approval_lets_exactly_one_call_through() {
    let harness = harness();
    attack(&harness).await;
    let answer = harness.ask(delete("target")).await;
    assert_eq!(code(&answer), "CONFIRMATION_REQUIRED");
    let id = answer["error"]["details"]["approval_id"].as_str().unwrap().to_owned();
    assert!(id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
    let token = answer["error"]["details"]["confirmation_token"].as_str().unwrap().to_owned();
    let waiting = harness.ask(with_token(delete("target"), &token)).await;
    assert_eq!(waiting, answer, "it says the same until a person has decided");

    let listed = approvals::list(&*harness.store, &harness.clock).await.unwrap();
    let own = listed.iter().find(|approval| approval.id == id).unwrap();
    assert_eq!((own.status, &*own.operation, &*own.danger), (Status::Pending, "alpha_delete_thing", "destructive"));
    assert_eq!((own.caller.as_deref(), own.parameter_count), (Some("anna"), 1), "{own:?}");
    let reviewed = approvals::get(&*harness.store, &id, &harness.clock).await.unwrap();
    assert_eq!(reviewed.call().lines(None), [r#"├ id = "target""#]);

    let typed = format!("{} {}", id[..4].to_uppercase(), &id[4..]);
    let approved = approve(&*harness.store, &typed, &harness.clock).await.unwrap();
    assert_eq!(approved.status, Status::Approved);
    attack(&harness).await;
    let berta = caller(Some("berta"), Some("session_2"));
    assert_eq!(code(&harness.ask_as(with_token(delete("target"), &token), berta).await), "TOKEN_SCOPE_MISMATCH");
    assert_eq!(code(&harness.ask(with_token(delete("other"), &token)).await), "TOKEN_SCOPE_MISMATCH");
    assert_eq!(code(&harness.ask(with_token(delete("target"), &token)).await), "done");
    assert_eq!(harness.done(), [("alpha".to_owned(), "delete_thing".to_owned(), json!({ "id": "target" }))]);
    assert_eq!(code(&harness.ask(with_token(delete("target"), &token)).await), "TOKEN_ALREADY_USED");
    let again = approve(&*harness.store, &id, &harness.clock).await;
    assert!(matches!(again, Err(ApprovalError::Over { status: Status::Used, .. })), "{again:?}");
    attack(&harness).await;
    assert!(harness.done().is_empty());
}

#[tokio::test]
async fn r_saf_3_denied_pending_and_late_approvals_say_so() {
    let harness = harness();
    let ids = |answer: &Value| {
        let details = &answer["error"]["details"];
        ["approval_id", "confirmation_token"].map(|name| details[name].as_str().unwrap().to_owned())
    };
    let clock = &harness.clock;
    let [id, token] = ids(&harness.ask(delete("x")).await);
    approvals::deny(&*harness.store, &id, clock, "admin", "").await.unwrap();
    let denied = harness.ask(with_token(delete("x"), &token)).await;
    assert_eq!(code(&denied), "PERMISSION_DENIED");
    let changed = approve(&*harness.store, &id, clock).await;
    assert!(matches!(changed, Err(ApprovalError::Over { status: Status::Denied, .. })), "{changed:?}");

    // An approval can be withdrawn until it is used.
    let [id, token] = ids(&harness.ask(delete("y")).await);
    approve(&*harness.store, &id, clock).await.unwrap();
    approvals::deny(&*harness.store, &id, clock, "admin", "").await.unwrap();
    assert_eq!(code(&harness.ask(with_token(delete("y"), &token)).await), "PERMISSION_DENIED");

    let [id, token] = ids(&harness.ask(delete("z")).await);
    harness.clock.advance(24 * 60 * 60 + 1);
    let late = approve(&*harness.store, &id, clock).await;
    assert!(matches!(late, Err(ApprovalError::Over { status: Status::Expired, .. })), "{late:?}");
    harness.clock.advance(30);
    assert_eq!(code(&harness.ask(with_token(delete("z"), &token)).await), "TOKEN_EXPIRED");
    let unknown = approve(&*harness.store, "nothing", clock).await;
    assert!(matches!(unknown, Err(ApprovalError::Unknown(_))), "{unknown:?}");
    assert!(harness.done().is_empty());
}
