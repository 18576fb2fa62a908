//! Successful logins.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use aquifer_upstream::{LoginAttempt, LogoutOutcome, interrogate, logout};
use reqwest::redirect::Policy;
use serde_json::json;
use tokio::sync::mpsc;

use super::server::{ProtectedServer, browser_with, log_in, no_pasted_urls, nothing};
use crate::support::{Gateway, WAIT_TIMEOUT, until};

#[tokio::test]
async fn a_login_gives_access_to_the_server() {
    let server = ProtectedServer::start(nothing()).await;
    let gateway = Gateway::new(server.settings());
    let failure = gateway.upstream.ready().await.unwrap_err();
    assert_eq!(failure.code().as_str(), "UPSTREAM_UNAVAILABLE");
    assert!(
        failure.message().contains("it requires a login; a person has to run `aquifer login notes`"),
        "{failure:?}"
    );
    // Introspection names the command to run, but no paths of ours.
    gateway.refresh();
    let shown = gateway.get("introspect", json!({ "query": "operations" })).await.to_string();
    assert!(shown.contains("aquifer login notes") && !shown.contains("/full/path"), "{shown}");
    gateway.refused("upstream_status", json!({}), "UPSTREAM_UNAVAILABLE").await;
    let logged_in = server.log_in().await;
    assert_eq!(logged_in.scopes, ["notes.read"], "what the challenge wanted");
    assert!(logged_in.renews);
    // The same upstream, without a restart.
    until("it is found", async || {
        gateway.refresh();
        gateway.ask("read_note", json!({})).await["success"] == true
    })
    .await;
    assert_eq!(gateway.get("read_note", json!({})).await, json!({ "note": "read_note" }));
    assert!(!gateway.operations().contains(&"upstream_status".to_owned()));
    let script = interrogate(&server.settings()).await.unwrap();
    assert_eq!(script.server.name.as_deref(), Some("notes"));
}

#[tokio::test]
async fn authorization_requests_follow_the_standards() {
    let server = ProtectedServer::start(nothing()).await;
    let attempt = LoginAttempt::start(&server.settings(), &[]).await.unwrap();
    let url = reqwest::Url::parse(attempt.url()).unwrap();
    let field = |name: &str| {
        let found = url.query_pairs().find(|(key, _)| key == name);
        found.unwrap_or_else(|| panic!("{name}")).1.into_owned()
    };
    assert_eq!(url.path(), "/as/authorize");
    assert_eq!((field("response_type"), field("code_challenge_method")), ("code".into(), "S256".into()));
    assert_eq!((field("resource"), field("scope")), (server.url("/mcp"), "notes.read".into()));
    assert_eq!((field("code_challenge").len(), field("state").len()), (43, 43));
    let redirect = reqwest::Url::parse(&field("redirect_uri")).unwrap();
    assert_eq!((redirect.host_str(), redirect.path()), (Some("127.0.0.1"), "/callback"));
    let events = server.recorded_events().await;
    let about = &events["registered"]["client-1"];
    assert_eq!(about["redirect_uris"], json!([redirect.as_str()]));
    assert_eq!((&about["application_type"], &about["token_endpoint_auth_method"]), (&json!("native"), &json!("none")));
    assert_eq!(about["grant_types"], json!(["authorization_code", "refresh_token"]));
}

#[tokio::test]
async fn the_login_file_is_readable_by_its_owner_only() {
    let server = ProtectedServer::start(nothing()).await;
    server.log_in().await;
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let file = server.file().unwrap();
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    for entry in std::fs::read_dir(file.parent().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        assert!(!path.to_string_lossy().contains(".new"), "no draft is left: {}", path.display());
    }
    let name = file.file_stem().unwrap().to_string_lossy().into_owned();
    assert!(name.len() == 32 && name.chars().all(|char| char.is_ascii_hexdigit()), "{name}");
}

#[tokio::test]
async fn clients_come_in_three_kinds() {
    // Registered dynamically, with a secret sent in either way.
    for method in ["client_secret_basic", "client_secret_post"] {
        let server = ProtectedServer::start(json!({ "secret": method, "lifetime": 0 })).await;
        server.log_in().await;
        server.set(json!({ "lifetime": 3600 })).await;
        Gateway::ready(server.settings()).await;
        assert_eq!(server.count("refresh").await, 1, "{method}");
    }
    // Registered by the operator. The secret is not stored.
    let server = ProtectedServer::start(json!({ "registration": false, "secret": "client_secret_post", "known_secret": "s3cr3t-client", "lifetime": 0 })).await;
    let mut settings = server.settings();
    let login = settings.login.as_mut().unwrap();
    (login.client_id, login.client_secret) = (Some("ours".to_owned()), Some("s3cr3t-client".to_owned()));
    let failure = log_in(&settings, &[]).await.unwrap_err().to_string();
    assert!(failure.contains("'issuer'"), "a secret is for one authorization server: {failure}");
    settings.login.as_mut().unwrap().issuer = Some("https://elsewhere.example".to_owned());
    let failure = log_in(&settings, &[]).await.unwrap_err().to_string();
    assert!(failure.contains("another authorization server"), "{failure}");
    assert_eq!(server.recorded_events().await["forms"], json!([]), "the secret was not sent");
    settings.login.as_mut().unwrap().issuer = Some(server.url("/as"));
    log_in(&settings, &[]).await.unwrap();
    assert!(!server.stored_login().to_string().contains("s3cr3t-client"));
    server.set(json!({ "lifetime": 3600 })).await;
    Gateway::ready(settings).await;
    assert_eq!(server.recorded_events().await["forms"][1]["client_id"], "ours");
    // Described by a document.
    let server = ProtectedServer::start(json!({ "documents": true })).await;
    let mut settings = server.settings();
    settings.login.as_mut().unwrap().client_document = Some("https://client.example/aquifer.json".to_owned());
    log_in(&settings, &[]).await.unwrap();
    assert_eq!(server.recorded_events().await["forms"][0]["client_id"], "https://client.example/aquifer.json");
    assert_eq!(server.count("register").await, 0);
    // If documents are not supported, a client is registered.
    server.set(json!({ "documents": false })).await;
    log_in(&settings, &[]).await.unwrap();
    assert_eq!(server.count("register").await, 1);
}

#[tokio::test]
async fn requested_scopes_are_used() {
    let server = ProtectedServer::start(json!({ "offline": true, "challenge_scope": "" })).await;
    let logged_in = server.log_in().await;
    assert_eq!(logged_in.scopes, ["notes.read", "notes.write", "offline_access"], "all it has, and to be renewed");
    let mut settings = server.settings();
    settings.login.as_mut().unwrap().scopes = vec!["notes.write".to_owned()];
    assert_eq!(log_in(&settings, &[]).await.unwrap().scopes, ["notes.write"], "the configuration's");
    assert_eq!(log_in(&settings, &["a", "b"]).await.unwrap().scopes, ["a", "b"], "the person's");
}

#[tokio::test]
async fn older_servers_are_their_own_authorization_servers() {
    let server = ProtectedServer::start(json!({ "describe": false, "iss": "none" })).await;
    server.log_in().await;
    let gateway = Gateway::ready(server.settings()).await;
    assert_eq!(gateway.get("read_note", json!({})).await["note"], "read_note");
    // The issuer may have a path on the same origin.
    let server = ProtectedServer::start(json!({ "describe": false, "iss": "none", "own_issuer": "/oauth" })).await;
    assert_eq!(server.log_in().await.issuer, server.url("/oauth"));
    Gateway::ready(server.settings()).await;
    // Servers that do not name their metadata have it at the standard location.
    let server = ProtectedServer::start(json!({ "metadata_url": "" })).await;
    server.log_in().await;
    Gateway::ready(server.settings()).await;
}

#[tokio::test]
async fn servers_without_metadata_use_the_endpoints_of_2025_03_26() {
    let options = json!({ "describe": false, "metadata": false, "iss": "none", "lifetime": 0 });
    let server = ProtectedServer::start(options.clone()).await;
    let logged_in = server.log_in().await;
    assert_eq!((logged_in.issuer.as_str(), logged_in.renews), (server.url("").as_str(), true));
    server.set(json!({ "lifetime": 3600 })).await;
    let gateway = Gateway::ready(server.settings()).await;
    assert_eq!(gateway.get("read_note", json!({})).await["note"], "read_note");
    for (what, count) in [("default /register", 1), ("default /authorize", 1), ("default /token", 2)] {
        assert_eq!(server.count(what).await, count, "{what}");
    }
    // A client registered by the operator, with a secret for this issuer.
    let server = ProtectedServer::start(options).await;
    server.set(json!({ "secret": "client_secret_basic", "known_secret": "s3cr3t-client" })).await;
    let mut settings = server.settings();
    let login = settings.login.as_mut().unwrap();
    (login.client_id, login.client_secret) = (Some("ours".to_owned()), Some("s3cr3t-client".to_owned()));
    login.issuer = Some(server.url("/as"));
    let failure = log_in(&settings, &[]).await.unwrap_err().to_string();
    assert!(failure.contains("another authorization server"), "{failure}");
    settings.login.as_mut().unwrap().issuer = Some(server.url(""));
    log_in(&settings, &[]).await.unwrap();
    assert_eq!(server.count("default /register").await, 0);
}

#[tokio::test]
async fn the_redirect_url_can_be_pasted() {
    let server = ProtectedServer::start(nothing()).await;
    let attempt = LoginAttempt::start(&server.settings(), &[]).await.unwrap();
    let answer = browser_with(Policy::none()).get(attempt.url()).send().await.unwrap();
    let ended_at = answer.headers()["location"].to_str().unwrap().to_owned();
    let (sender, pasted) = mpsc::channel(4);
    for line in ["", "what?", &ended_at.replace("state=", "state=x"), &ended_at] {
        sender.send(format!(" {line}\n")).await.unwrap();
    }
    attempt.finish(WAIT_TIMEOUT, pasted).await.unwrap();
    Gateway::ready(server.settings()).await;
}

#[tokio::test]
async fn callbacks_without_the_state_are_refused() {
    let server = ProtectedServer::start(nothing()).await;
    let attempt = LoginAttempt::start(&server.settings(), &[]).await.unwrap();
    let url = reqwest::Url::parse(attempt.url()).unwrap();
    let redirect = url.query_pairs().find(|(key, _)| key == "redirect_uri").unwrap().1.into_owned();
    let visits = tokio::spawn(async move {
        // Browsers open connections that they never use.
        let port = reqwest::Url::parse(&redirect).unwrap().port().unwrap();
        let _silent = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        for (path, status) in [
            ("?code=forged&state=forged", 400),
            ("?error=access_denied&state=forged", 400),
            ("?code=forged", 400),
            ("", 400),
            ("/more", 404),
        ] {
            let answer = reqwest::get(format!("{redirect}{path}")).await.unwrap();
            assert_eq!(answer.status().as_u16(), status, "{path}");
            assert!(!answer.text().await.unwrap().contains("forged"));
        }
        assert!(reqwest::get(url).await.unwrap().status().is_success());
    });
    attempt.finish(WAIT_TIMEOUT, no_pasted_urls()).await.unwrap();
    visits.await.unwrap();
}

#[tokio::test]
async fn a_login_times_out() {
    let server = ProtectedServer::start(json!({ "forge": true })).await;
    let attempt = LoginAttempt::start(&server.settings(), &[]).await.unwrap();
    let url = attempt.url().to_owned();
    let browser = tokio::spawn(async move { reqwest::get(url).await.unwrap().status().as_u16() });
    let failure = attempt.finish(Duration::from_millis(500), no_pasted_urls()).await.unwrap_err();
    assert!(failure.to_string().contains("in time"), "{failure}");
    assert_eq!(browser.await.unwrap(), 400, "a wrong state is no answer");
    assert!(server.file().is_none());
    assert_eq!(server.recorded_events().await["forms"], json!([]), "the code was not redeemed");
}

#[tokio::test]
async fn a_logout_removes_and_revokes_the_login() {
    let server = ProtectedServer::start(nothing()).await;
    assert_eq!(logout(&server.settings()).await, Ok(LogoutOutcome::NotLoggedIn));
    server.log_in().await;
    let gateway = Gateway::ready(server.settings()).await;
    assert_eq!(logout(&server.settings()).await, Ok(LogoutOutcome::Revoked));
    assert!(server.file().is_none());
    let error = gateway.refused("read_note", json!({}), "UPSTREAM_UNAVAILABLE").await;
    assert!(error["message"].as_str().unwrap().contains("`aquifer login notes`"), "{error}");
    assert_eq!(server.count("refresh").await, 0, "a login that is forgotten is not renewed");
}
