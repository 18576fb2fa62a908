//! Nothing secret of a login is ever told: not in logs, answers, errors, bundles, caches.

use aquifer_upstream::{interrogate, logout};
use jiff::Timestamp;
use serde_json::json;

use super::guarded::{Guarded, log_in};
use crate::interrogation::Log;
use crate::support::Stage;

#[tokio::test]
async fn r_dis_2_no_token_is_told() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(log.clone()).finish();
    let _logging = tracing::subscriber::set_default(subscriber);
    let guarded = Guarded::start(json!({ "rotate": true, "repeat": true, "secret": "client_secret_basic" })).await;
    let mut settings = guarded.settings();
    settings.cache_dir = Some(guarded.folder.0.join("catalogues"));
    let mut told = String::new();
    let mut tell = |words: String| told.push_str(&words);
    tell(format!("{:?}", log_in(&settings, &[]).await.unwrap()));
    let said = interrogate(&settings).await.unwrap();
    tell(said.bundle(&settings, Timestamp::UNIX_EPOCH).write().unwrap());
    let stage = Stage::up(settings.clone()).await;
    tell(format!("{settings:?} {:?}", stage.upstream));
    let repeated = stage.refused("repeat_token", json!({}), "UPSTREAM_ERROR").await;
    assert!(repeated["details"]["upstream_error"].as_str().unwrap().contains("[redacted]"), "{repeated}");
    tell(repeated.to_string());
    tell(stage.refused("write_note", json!({}), "PERMISSION_DENIED").await.to_string());
    guarded.set(json!({ "expire_all": true })).await;
    tell(stage.refused("repeat_token", json!({}), "UPSTREAM_UNAVAILABLE").await.to_string());
    tell(stage.refused("repeat_token", json!({}), "UPSTREAM_ERROR").await.to_string());
    guarded.set(json!({ "revoke_all": true })).await;
    tell(stage.refused("read_note", json!({}), "UPSTREAM_UNAVAILABLE").await.to_string());
    stage.refresh();
    tell(stage.get("introspect", json!({ "query": "operations" })).await.to_string());
    log_in(&settings, &[]).await.unwrap();
    guarded.set(json!({ "token_status": 503, "expire_all": true })).await;
    tell(format!("{:?}", stage.upstream.ready().await.unwrap_err()));
    tell(format!("{:?}", logout(&settings).await.unwrap()));
    for entry in std::fs::read_dir(guarded.folder.0.join("catalogues")).unwrap() {
        tell(std::fs::read_to_string(entry.unwrap().path()).unwrap());
    }
    let log = log.text();
    assert!(log.contains("invalid_grant") && log.contains("[redacted]"), "{log}");
    tell(log);
    let shown = guarded.told().await["shown"].clone();
    let shown: Vec<&str> = shown.as_array().unwrap().iter().filter_map(|secret| secret.as_str()).collect();
    let kinds =
        ["code-", "at-", "rt-", "cs-"].map(|kind| shown.iter().filter(|secret| secret.starts_with(kind)).count());
    assert!(kinds.iter().all(|count| *count > 0), "secrets of every kind were used: {kinds:?}");
    for secret in shown.iter().filter(|secret| secret.len() > 8) {
        assert!(!told.contains(secret), "{secret} was told: {told}");
    }
}
