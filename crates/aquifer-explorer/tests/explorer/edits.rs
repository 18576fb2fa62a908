//! A person changes a call before approving it.

use aquifer_gate::audit::read::{EntryFilter, EntryQuery, read_files};
use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::fixture::Fixture;

#[tokio::test]
async fn an_edit_is_shown_first_and_then_approved_as_it_was_shown() {
    let fixture = Fixture::new();
    let session = fixture.log_in().await;
    let (id, token) = fixture.waiting_call("x").await;
    let path = format!("/api/approvals/{id}");
    let shown = fixture.get(&session, &path).await.body;
    assert_eq!((&shown["approval"]["is_editable"], &shown["edited"]), (&json!(true), &Value::Null), "{shown}");

    let checked = fixture.post(&session, &format!("{path}/edit"), json!({ "params_text": r#"{"id":"y"}"# })).await;
    assert_eq!(checked.status, StatusCode::OK, "{}", checked.body);
    let edited = &checked.body["edited"];
    assert_eq!(edited["changes"], json!([{ "path": "/id", "from": "x", "to": "y" }]));
    assert_eq!(edited["preview"], "This deletes row \"y\".", "{edited}");
    assert_eq!(fixture.get(&session, &path).await.body["approval"]["status"], "pending", "checking changes nothing");

    let decision = json!({ "decision": "approve_edited", "digest": shown["digest"], "params_text": r#"{"id": "y"}"# });
    let approved = fixture.post(&session, &path, decision.clone()).await;
    assert_eq!(approved.status, StatusCode::OK, "{}", approved.body);
    assert_eq!(fixture.post(&session, &path, decision).await.status, StatusCode::CONFLICT);
    let after = fixture.get(&session, &path).await.body;
    assert_eq!((&after["call"]["params"]["id"], &after["edited"]["call"]["params"]["id"]), (&json!("x"), &json!("y")));

    let told = fixture.ask("x", Some(&token)).await;
    assert_eq!(told["error"]["details"]["edited_params"], json!({ "id": "y" }), "{told}");
    let done = fixture.ask("y", Some(&token)).await;
    assert_eq!((&done["success"], &done["warnings"][0]["code"]), (&json!(true), &json!("CALL_EDITED")), "{done}");

    fixture.audit.flush().await.unwrap();
    let filter =
        EntryFilter { approval_id: Some(id), event: Some("APPROVAL_GRANTED".to_owned()), ..Default::default() };
    let page = read_files(&fixture.folder.0, &EntryQuery { filter, limit: 10, before: None }).unwrap();
    let entry: Value = serde_json::from_str(&page.entries[0]).unwrap();
    assert_eq!(
        (&entry["original_parameters"]["id"], &entry["parameters"]["id"]),
        (&json!("x"), &json!("y")),
        "{entry}"
    );
    assert_eq!((&entry["decided_by"], &entry["user_id"]), (&json!("admin (explorer)"), &json!("agent")));
}

#[tokio::test]
async fn edits_that_are_no_valid_call_are_refused() {
    let fixture = Fixture::new();
    let session = fixture.log_in().await;
    let (id, token) = fixture.waiting_call("x").await;
    let path = format!("/api/approvals/{id}");
    let digest = fixture.get(&session, &path).await.body["digest"].clone();
    let with_token = json!({ "id": "y", "confirmation_token": token }).to_string();
    let refused = [
        r#"{ "id": 1 }"#,
        "{}",
        "{",
        "[]",
        r#"{ "id": "x" }"#,
        r#"{ "id": "x", "id": "y" }"#,
        r#"{ "id": "y", "other": true }"#,
        &with_token,
    ];
    for params in refused {
        let checked = fixture.post(&session, &format!("{path}/edit"), json!({ "params_text": params })).await;
        assert_eq!(checked.status, StatusCode::BAD_REQUEST, "{params}: {}", checked.body);
        let decision = json!({ "decision": "approve_edited", "digest": digest, "params_text": params });
        let decided = fixture.post(&session, &path, decision).await;
        assert_eq!(decided.status, StatusCode::BAD_REQUEST, "{params}: {}", decided.body);
    }
    let other = json!({ "decision": "approve_edited", "digest": "0", "params_text": r#"{"id": "y"}"# });
    assert_eq!(fixture.post(&session, &path, other).await.status, StatusCode::CONFLICT);
    assert_eq!(fixture.get(&session, &path).await.body["approval"]["status"], "pending");
}
