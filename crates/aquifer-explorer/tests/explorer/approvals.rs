//! Approvals: what the person sees, and what the decision does.

use aquifer_gate::audit::read::{EntryQuery, read_files};
use axum::http::StatusCode;
use serde_json::json;

use crate::fixture::Fixture;

#[tokio::test]
async fn a_waiting_call_is_shown_completely() {
    let fixture = Fixture::new();
    let session = fixture.log_in().await;
    let (id, _) = fixture.waiting_call("x\u{202e}y").await;
    let listed = fixture.get(&session, "/api/approvals").await.body;
    assert_eq!(listed["approvals"][0]["id"], id.as_str(), "{listed}");
    assert_eq!((&listed["approvals"][0]["status"], listed["now"].is_string()), (&json!("pending"), true));
    let shown = fixture.get(&session, &format!("/api/approvals/{id}")).await.body;
    assert_eq!(shown["approval"], listed["approvals"][0], "{shown}");
    assert_eq!(shown["call"]["params"], json!({ "id": "x\u{202e}y" }), "{shown}");
    assert_eq!(shown["lines"], json!([r#"├ id = "x\u{202e}y""#]), "{shown}");
    assert_eq!(shown["preview"], r#"This deletes row "x\u{202e}y"."#, "{shown}");
    assert!(shown["digest"].as_str().is_some_and(|digest| !digest.is_empty()), "{shown}");
    let unknown = fixture.get(&session, "/api/approvals/nothing").await;
    assert_eq!((unknown.status, &unknown.body["error"]["code"]), (StatusCode::NOT_FOUND, &json!("NOT_FOUND")));
}

#[tokio::test]
async fn an_approval_needs_the_digest_that_was_shown_and_works_once() {
    let fixture = Fixture::new();
    let session = fixture.log_in().await;
    let (id, token) = fixture.waiting_call("x").await;
    let path = format!("/api/approvals/{id}");
    let digest = fixture.get(&session, &path).await.body["digest"].clone();
    for wrong in [json!({ "decision": "approve", "digest": "" }), json!({ "decision": "approve", "digest": "0" })] {
        let refused = fixture.post(&session, &path, wrong).await;
        assert_eq!(refused.status, StatusCode::CONFLICT, "{}", refused.body);
    }
    for invalid in [json!({ "decision": "approve" }), json!({ "decision": "maybe" }), json!([])] {
        let refused = fixture.post(&session, &path, invalid).await;
        assert!(refused.status.is_client_error(), "{}", refused.body);
    }
    assert_eq!(fixture.ask("x", Some(&token)).await["error"]["code"], "CONFIRMATION_REQUIRED");

    let approve = json!({ "decision": "approve", "digest": digest });
    let approved = fixture.post(&session, &path, approve.clone()).await;
    assert_eq!(approved.status, StatusCode::OK, "{}", approved.body);
    assert_eq!(approved.body["approval"]["status"], "approved");
    assert_eq!(approved.body["approval"]["decided_by"], "admin (explorer)");
    assert_eq!(fixture.ask("x", Some(&token)).await["success"], true);
    let again = fixture.post(&session, &path, approve.clone()).await;
    assert_eq!((again.status, &again.body["error"]["code"]), (StatusCode::CONFLICT, &json!("CONFLICT")));
    assert_eq!(fixture.ask("x", Some(&token)).await["error"]["code"], "TOKEN_ALREADY_USED");
}

#[tokio::test]
async fn r_saf_7_the_page_shows_a_pause_and_ends_it() {
    let fixture = Fixture::new();
    let session = fixture.log_in().await;
    for id in ["x", "y", "z"] {
        assert_eq!(fixture.get(&session, "/api/approvals").await.body["paused"], json!([]));
        let (approval, _) = fixture.waiting_call(id).await;
        fixture.post(&session, &format!("/api/approvals/{approval}"), json!({ "decision": "deny" })).await;
    }
    let paused = fixture.get(&session, "/api/approvals").await.body["paused"].clone();
    assert_eq!(paused.as_array().map(Vec::len), Some(1), "{paused}");
    assert_eq!(fixture.ask("w", None).await["error"]["details"]["changes_paused"], true);
    let resumed = fixture.post(&session, "/api/approvals/resume", json!({})).await;
    assert_eq!((resumed.status, &resumed.body["resumed"]), (StatusCode::OK, &paused));
    fixture.waiting_call("w").await;
    fixture.audit.flush().await.unwrap();
    let lines = read_files(&fixture.folder.0, &EntryQuery::newest(100)).unwrap().entries;
    let entry = lines.iter().find(|line| line.contains("CHANGES_RESUMED")).unwrap();
    assert!(entry.contains("\"decided_by\":\"admin (explorer)\""), "{entry}");
}

#[tokio::test]
async fn r_saf_8_the_person_says_what_is_remembered_about_destinations() {
    let fixture = Fixture::new();
    let session = fixture.log_in().await;
    for (remember, expected) in [("nothing", "CONFIRMATION_REQUIRED"), ("destinations", "done")] {
        let asked = fixture.mail("bob@x.com", None).await;
        let details = &asked["error"]["details"];
        let path = format!("/api/approvals/{}", details["approval_id"].as_str().unwrap_or_else(|| panic!("{asked}")));
        let shown = fixture.get(&session, &path).await.body;
        assert_eq!(shown["approval"]["offers_memory"], true, "{shown}");
        let wrong = json!({ "decision": "approve", "digest": shown["digest"], "remember": "everything" });
        assert!(fixture.post(&session, &path, wrong).await.status.is_client_error());
        let approve = json!({ "decision": "approve", "digest": shown["digest"], "remember": remember });
        assert_eq!(fixture.post(&session, &path, approve).await.status, StatusCode::OK);
        let done = fixture.mail("bob@x.com", details["confirmation_token"].as_str()).await;
        assert_eq!(done["success"], true, "{done}");
        let next = fixture.mail("bob@x.com", None).await;
        let code = if next["success"] == true { "done" } else { next["error"]["code"].as_str().unwrap() };
        assert_eq!(code, expected, "{next}");
    }
    let (id, _) = fixture.waiting_call("x").await;
    let shown = fixture.get(&session, &format!("/api/approvals/{id}")).await.body;
    assert!(shown["approval"].get("offers_memory").is_none(), "what deletes is never remembered: {shown}");
}

#[tokio::test]
async fn a_denial_tells_the_caller_why_and_is_recorded() {
    let fixture = Fixture::new();
    let session = fixture.log_in().await;
    let (id, token) = fixture.waiting_call("x").await;
    let path = format!("/api/approvals/{id}");
    let too_long = fixture.post(&session, &path, json!({ "decision": "deny", "reason": "x".repeat(501) })).await;
    assert_eq!(too_long.status, StatusCode::BAD_REQUEST, "{}", too_long.body);
    let denied = fixture.post(&session, &path, json!({ "decision": "deny", "reason": "wrong row" })).await;
    assert_eq!(denied.status, StatusCode::OK, "{}", denied.body);
    assert_eq!(denied.body["approval"]["decision_reason"], "wrong row");
    let answer = fixture.ask("x", Some(&token)).await;
    assert_eq!(answer["error"]["code"], "PERMISSION_DENIED");
    assert_eq!(answer["error"]["details"]["decision_reason"], "wrong row");
    fixture.audit.flush().await.unwrap();
    let lines = read_files(&fixture.folder.0, &EntryQuery::newest(100)).unwrap().entries;
    let recorded = lines.iter().find(|line| line.contains("APPROVAL_DECLINED")).unwrap();
    assert!(recorded.contains(&format!("approval {id}, by admin (explorer): wrong row")), "{recorded}");
}

#[tokio::test]
async fn a_denial_needs_no_reason() {
    let fixture = Fixture::new();
    let session = fixture.log_in().await;
    let (id, _) = fixture.waiting_call("x").await;
    let denied = fixture.post(&session, &format!("/api/approvals/{id}"), json!({ "decision": "deny" })).await;
    assert_eq!(denied.body["approval"]["status"], "denied", "{}", denied.body);
    assert!(denied.body["approval"].get("decision_reason").is_none(), "{}", denied.body);
}
