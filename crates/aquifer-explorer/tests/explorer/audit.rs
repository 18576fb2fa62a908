//! The audit log: pages, filters and verification.

use std::time::Duration;

use aquifer_engine::Caller;
use aquifer_explorer::AuditFiles;
use aquifer_gate::audit::{AuditSettings, Entry, Event, Sink};
use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::fixture::Fixture;

async fn write(fixture: &Fixture, count: usize) {
    for number in 0..count {
        let principal = if number % 2 == 0 { "anna" } else { "berta" };
        let caller = Caller { principal: Some(principal.into()), session: None };
        let entry = Entry::new(Event::Denied).operation("rows", "delete_row").caller(&caller);
        fixture.audit.record(entry.request(&format!("req_{number}"))).await.unwrap();
    }
}

/// The requests of all pages.
async fn walk(fixture: &Fixture, session: &str, filter: &str) -> Vec<String> {
    let (mut found, mut before) = (Vec::new(), String::new());
    loop {
        let page = fixture.get(session, &format!("/api/audit?{filter}&before={before}")).await;
        assert_eq!(page.status, StatusCode::OK, "{}", page.body);
        let entries = page.body["entries"].as_array().unwrap();
        // The first entry of a chain has none.
        found.extend(entries.iter().filter_map(|entry| entry["request_id"].as_str()).map(str::to_owned));
        match &page.body["next"] {
            Value::String(next) => before = next.replace('+', "%2B"),
            _ => return found,
        }
    }
}

#[tokio::test]
async fn pages_have_every_entry_once_newest_first() {
    let fixture = Fixture::new();
    let session = fixture.log_in().await;
    write(&fixture, 12).await;
    let all: Vec<String> = (0..12).rev().map(|number| format!("req_{number}")).collect();
    assert_eq!(walk(&fixture, &session, "limit=5").await, all);
    assert_eq!(walk(&fixture, &session, "").await, all);
    assert_eq!(
        walk(&fixture, &session, "caller=anna&limit=2").await,
        ["req_10", "req_8", "req_6", "req_4", "req_2", "req_0"]
    );
    assert_eq!(walk(&fixture, &session, "request=req_3&caller=&from=&to=").await, ["req_3"]);
    assert_eq!(
        walk(&fixture, &session, "source=rows&operation=delete_row&outcome=denied&event=OPERATION_DENIED").await,
        all
    );
    for none in ["caller=carla", "outcome=done", "to=2000-01-01T00:00:00Z", "from=2999-01-01T00:00:00Z"] {
        assert_eq!(walk(&fixture, &session, none).await, Vec::<String>::new(), "{none}");
    }
    // Entries are as they were written.
    let page = fixture.get(&session, "/api/audit?limit=1").await.body;
    let entry = &page["entries"][0];
    assert_eq!((&entry["event"], &entry["sequence"]), (&json!("OPERATION_DENIED"), &json!(13)), "{page}");
    assert!(entry["hash"].is_string() && entry["previous"].is_string(), "{page}");
}

#[tokio::test]
async fn invalid_parameters_are_refused() {
    let fixture = Fixture::new();
    let session = fixture.log_in().await;
    for query in ["from=yesterday", "to=1", "limit=many", "limit=-1", "before=x"] {
        let refused = fixture.get(&session, &format!("/api/audit?{query}")).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{query}: {}", refused.body);
        let name = query.split('=').next().unwrap();
        assert!(refused.body["error"]["message"].as_str().unwrap().contains(name), "{}", refused.body);
    }
}

#[tokio::test]
async fn a_modified_entry_is_detected() {
    let fixture = Fixture::new();
    let session = fixture.log_in().await;
    write(&fixture, 3).await;
    let report = fixture.post(&session, "/api/audit/verify", Value::Null).await.body;
    assert_eq!(report["intact"], true, "{report}");
    assert_eq!(report["reports"][0]["place"], fixture.folder.0.display().to_string());
    assert_eq!(
        report["reports"][0]["text"], "4 entries and 1 of 1 chains are intact.",
        "with the first entry of the file"
    );
    for file in std::fs::read_dir(&fixture.folder.0).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("\"anna\"", "\"anno\"")).unwrap();
    }
    let report = fixture.post(&session, "/api/audit/verify", Value::Null).await.body;
    assert_eq!((&report["intact"], &report["reports"][0]["intact"]), (&json!(false), &json!(false)), "{report}");
    // What is there is shown nevertheless.
    assert_eq!(walk(&fixture, &session, "caller=anno").await, ["req_2", "req_0"]);
}

#[tokio::test]
async fn an_audit_in_the_store_is_read_and_verified() {
    let sinks = vec![Sink::Store { keep: Duration::from_secs(3_600) }];
    let settings = AuditSettings { sinks, ..AuditSettings::default() };
    let fixture = Fixture::with_audit(settings, AuditFiles { directory: None, is_in_store: true });
    let session = fixture.log_in().await;
    write(&fixture, 4).await;
    assert_eq!(walk(&fixture, &session, "limit=3").await, ["req_3", "req_2", "req_1", "req_0"]);
    let report = fixture.post(&session, "/api/audit/verify", Value::Null).await.body;
    assert_eq!((&report["intact"], &report["reports"][0]["place"]), (&json!(true), &json!("state store")), "{report}");
}

#[tokio::test]
async fn without_an_audit_there_are_no_entries() {
    let fixture = Fixture::with_audit(AuditSettings::default(), AuditFiles::default());
    let session = fixture.log_in().await;
    assert_eq!(fixture.get(&session, "/api/audit").await.body, json!({ "entries": [], "next": null }));
    let report = fixture.post(&session, "/api/audit/verify", Value::Null).await.body;
    assert_eq!(report, json!({ "intact": true, "reports": [] }));
}
