//! No secret of a login appears in logs, answers, errors, bundles or caches.

use aquifer_upstream::{interrogate, logout};
use jiff::Timestamp;
use serde_json::json;

use super::server::{ProtectedServer, log_in};
use crate::interrogation::Log;
use crate::support::Gateway;

#[tokio::test]
async fn r_dis_2_no_token_is_shown() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(log.clone()).finish();
    let _logging = tracing::subscriber::set_default(subscriber);
    let server =
        ProtectedServer::start(json!({ "rotate": true, "repeat": true, "secret": "client_secret_basic" })).await;
    let mut settings = server.settings();
    settings.cache_dir = Some(server.folder.0.join("catalogs"));
    let mut events = String::new();
    let mut tell = |words: String| events.push_str(&words);
    tell(format!("{:?}", log_in(&settings, &[]).await.unwrap()));
    let script = interrogate(&settings).await.unwrap();
    tell(script.bundle(&settings, Timestamp::UNIX_EPOCH).write().unwrap());
    let gateway = Gateway::ready(settings.clone()).await;
    tell(format!("{settings:?} {:?}", gateway.upstream));
    let repeated = gateway.refused("repeat_token", json!({}), "UPSTREAM_ERROR").await;
    assert!(repeated["details"]["upstream_error"].as_str().unwrap().contains("[redacted]"), "{repeated}");
    tell(repeated.to_string());
    tell(gateway.refused("write_note", json!({}), "PERMISSION_DENIED").await.to_string());
    server.set(json!({ "expire_all": true })).await;
    tell(gateway.refused("repeat_token", json!({}), "UPSTREAM_UNAVAILABLE").await.to_string());
    tell(gateway.refused("repeat_token", json!({}), "UPSTREAM_ERROR").await.to_string());
    server.set(json!({ "revoke_all": true })).await;
    tell(gateway.refused("read_note", json!({}), "UPSTREAM_UNAVAILABLE").await.to_string());
    gateway.refresh();
    tell(gateway.get("introspect", json!({ "query": "operations" })).await.to_string());
    log_in(&settings, &[]).await.unwrap();
    server.set(json!({ "token_status": 503, "expire_all": true })).await;
    tell(format!("{:?}", gateway.upstream.ready().await.unwrap_err()));
    tell(format!("{:?}", logout(&settings).await.unwrap()));
    for entry in std::fs::read_dir(server.folder.0.join("catalogs")).unwrap() {
        tell(std::fs::read_to_string(entry.unwrap().path()).unwrap());
    }
    let log = log.text();
    assert!(log.contains("invalid_grant") && log.contains("[redacted]"), "{log}");
    tell(log);
    let shown = server.recorded_events().await["shown"].clone();
    let shown: Vec<&str> = shown.as_array().unwrap().iter().filter_map(|secret| secret.as_str()).collect();
    let kinds =
        ["code-", "at-", "rt-", "cs-"].map(|kind| shown.iter().filter(|secret| secret.starts_with(kind)).count());
    assert!(kinds.iter().all(|count| *count > 0), "secrets of every kind were used: {kinds:?}");
    for secret in shown.iter().filter(|secret| secret.len() > 8) {
        assert!(!events.contains(secret), "{secret} was told: {events}");
    }
}
