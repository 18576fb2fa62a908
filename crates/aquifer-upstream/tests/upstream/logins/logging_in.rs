//! Logins that come about.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use aquifer_upstream::{Attempt, LoggedOut, interrogate, logout};
use serde_json::json;
use tokio::sync::mpsc;

use super::guarded::{Guarded, log_in, nothing, nothing_pasted};
use crate::support::{Stage, TIMEOUT, until};

#[tokio::test]
async fn a_login_opens_the_server_that_wanted_it() {
    let guarded = Guarded::start(nothing()).await;
    let stage = Stage::new(guarded.settings());
    let failure = stage.upstream.ready().await.unwrap_err();
    assert_eq!(failure.code().as_str(), "UPSTREAM_UNAVAILABLE");
    assert!(failure.message().contains("it wants a login; a person runs `aquifer login notes`"), "{failure:?}");
    // Introspection says what a person is to run, and nothing of where our files are.
    stage.refresh();
    let shown = stage.get("introspect", json!({ "query": "operations" })).await.to_string();
    assert!(shown.contains("aquifer login notes") && !shown.contains("/full/path"), "{shown}");
    stage.refused("upstream_status", json!({}), "UPSTREAM_UNAVAILABLE").await;
    let logged_in = guarded.log_in().await;
    assert_eq!(logged_in.scopes, ["notes.read"], "what the challenge wanted");
    assert!(logged_in.renews);
    // The same upstream, nobody restarted anything.
    until("it is found", async || {
        stage.refresh();
        stage.ask("read_note", json!({})).await["success"] == true
    })
    .await;
    assert_eq!(stage.get("read_note", json!({})).await, json!({ "note": "read_note" }));
    assert!(!stage.operations().contains(&"upstream_status".to_owned()));
    let said = interrogate(&guarded.settings()).await.unwrap();
    assert_eq!(said.server.name.as_deref(), Some("notes"));
}

#[tokio::test]
async fn what_is_asked_for_is_what_the_standards_want() {
    let guarded = Guarded::start(nothing()).await;
    let attempt = Attempt::begin(&guarded.settings(), &[]).await.unwrap();
    let url = reqwest::Url::parse(attempt.url()).unwrap();
    let field = |name: &str| {
        let found = url.query_pairs().find(|(key, _)| key == name);
        found.unwrap_or_else(|| panic!("{name}")).1.into_owned()
    };
    assert_eq!(url.path(), "/as/authorize");
    assert_eq!((field("response_type"), field("code_challenge_method")), ("code".into(), "S256".into()));
    assert_eq!((field("resource"), field("scope")), (guarded.url("/mcp"), "notes.read".into()));
    assert_eq!((field("code_challenge").len(), field("state").len()), (43, 43));
    let redirect = reqwest::Url::parse(&field("redirect_uri")).unwrap();
    assert_eq!((redirect.host_str(), redirect.path()), (Some("127.0.0.1"), "/callback"));
    let told = guarded.told().await;
    let about = &told["registered"]["client-1"];
    assert_eq!(about["redirect_uris"], json!([redirect.as_str()]));
    assert_eq!((&about["application_type"], &about["token_endpoint_auth_method"]), (&json!("native"), &json!("none")));
    assert_eq!(about["grant_types"], json!(["authorization_code", "refresh_token"]));
}

#[tokio::test]
async fn the_file_is_for_its_owner_alone() {
    let guarded = Guarded::start(nothing()).await;
    guarded.log_in().await;
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let file = guarded.file().unwrap();
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
    // Registered on the spot, with a secret, shown in either way.
    for method in ["client_secret_basic", "client_secret_post"] {
        let guarded = Guarded::start(json!({ "secret": method, "lifetime": 0 })).await;
        guarded.log_in().await;
        guarded.set(json!({ "lifetime": 3600 })).await;
        Stage::up(guarded.settings()).await;
        assert_eq!(guarded.count("refresh").await, 1, "{method}");
    }
    // Registered by the operator, whose secret is not written down.
    let guarded = Guarded::start(json!({ "registration": false, "secret": "client_secret_post", "known_secret": "s3cr3t-client", "lifetime": 0 })).await;
    let mut settings = guarded.settings();
    let login = settings.login.as_mut().unwrap();
    (login.client_id, login.client_secret) = (Some("ours".to_owned()), Some("s3cr3t-client".to_owned()));
    let failure = log_in(&settings, &[]).await.unwrap_err().to_string();
    assert!(failure.contains("'issuer'"), "a secret is for one authorization server: {failure}");
    settings.login.as_mut().unwrap().issuer = Some("https://elsewhere.example".to_owned());
    let failure = log_in(&settings, &[]).await.unwrap_err().to_string();
    assert!(failure.contains("another authorization server"), "{failure}");
    assert_eq!(guarded.told().await["forms"], json!([]), "the secret was not sent");
    settings.login.as_mut().unwrap().issuer = Some(guarded.url("/as"));
    log_in(&settings, &[]).await.unwrap();
    assert!(!guarded.kept().to_string().contains("s3cr3t-client"));
    guarded.set(json!({ "lifetime": 3600 })).await;
    Stage::up(settings).await;
    assert_eq!(guarded.told().await["forms"][1]["client_id"], "ours");
    // Described by a document.
    let guarded = Guarded::start(json!({ "documents": true })).await;
    let mut settings = guarded.settings();
    settings.login.as_mut().unwrap().client_document = Some("https://client.example/aquifer.json".to_owned());
    log_in(&settings, &[]).await.unwrap();
    assert_eq!(guarded.told().await["forms"][0]["client_id"], "https://client.example/aquifer.json");
    assert_eq!(guarded.count("register").await, 0);
    // Where documents are not read, one registers.
    guarded.set(json!({ "documents": false })).await;
    log_in(&settings, &[]).await.unwrap();
    assert_eq!(guarded.count("register").await, 1);
}

#[tokio::test]
async fn scopes_are_those_that_were_said() {
    let guarded = Guarded::start(json!({ "offline": true, "challenge_scope": "" })).await;
    let logged_in = guarded.log_in().await;
    assert_eq!(logged_in.scopes, ["notes.read", "notes.write", "offline_access"], "all it has, and to be renewed");
    let mut settings = guarded.settings();
    settings.login.as_mut().unwrap().scopes = vec!["notes.write".to_owned()];
    assert_eq!(log_in(&settings, &[]).await.unwrap().scopes, ["notes.write"], "the configuration's");
    assert_eq!(log_in(&settings, &["a", "b"]).await.unwrap().scopes, ["a", "b"], "the person's");
}

#[tokio::test]
async fn older_servers_are_their_own_authorization_servers() {
    let guarded = Guarded::start(json!({ "describe": false, "iss": "none" })).await;
    guarded.log_in().await;
    let stage = Stage::up(guarded.settings()).await;
    assert_eq!(stage.get("read_note", json!({})).await["note"], "read_note");
    // Their issuer may have a path, on their own origin.
    let guarded = Guarded::start(json!({ "describe": false, "iss": "none", "own_issuer": "/oauth" })).await;
    assert_eq!(guarded.log_in().await.issuer, guarded.url("/oauth"));
    Stage::up(guarded.settings()).await;
    // And those that do not say where their description is keep it where the standard says.
    let guarded = Guarded::start(json!({ "metadata_url": "" })).await;
    guarded.log_in().await;
    Stage::up(guarded.settings()).await;
}

#[tokio::test]
async fn servers_that_describe_nothing_have_the_endpoints_of_2025_03_26() {
    let options = json!({ "describe": false, "metadata": false, "iss": "none", "lifetime": 0 });
    let guarded = Guarded::start(options.clone()).await;
    let logged_in = guarded.log_in().await;
    assert_eq!((logged_in.issuer.as_str(), logged_in.renews), (guarded.url("").as_str(), true));
    guarded.set(json!({ "lifetime": 3600 })).await;
    let stage = Stage::up(guarded.settings()).await;
    assert_eq!(stage.get("read_note", json!({})).await["note"], "read_note");
    for (what, count) in [("default /register", 1), ("default /authorize", 1), ("default /token", 2)] {
        assert_eq!(guarded.count(what).await, count, "{what}");
    }
    // A client of the operator's, whose secret is for this issuer.
    let guarded = Guarded::start(options).await;
    guarded.set(json!({ "secret": "client_secret_basic", "known_secret": "s3cr3t-client" })).await;
    let mut settings = guarded.settings();
    let login = settings.login.as_mut().unwrap();
    (login.client_id, login.client_secret) = (Some("ours".to_owned()), Some("s3cr3t-client".to_owned()));
    login.issuer = Some(guarded.url("/as"));
    let failure = log_in(&settings, &[]).await.unwrap_err().to_string();
    assert!(failure.contains("another authorization server"), "{failure}");
    settings.login.as_mut().unwrap().issuer = Some(guarded.url(""));
    log_in(&settings, &[]).await.unwrap();
    assert_eq!(guarded.count("default /register").await, 0);
}

#[tokio::test]
async fn a_browser_elsewhere_is_helped_by_hand() {
    let guarded = Guarded::start(nothing()).await;
    let attempt = Attempt::begin(&guarded.settings(), &[]).await.unwrap();
    let browser = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let answer = browser.get(attempt.url()).send().await.unwrap();
    let ended_at = answer.headers()["location"].to_str().unwrap().to_owned();
    let (sender, pasted) = mpsc::channel(4);
    for line in ["", "what?", &ended_at.replace("state=", "state=x"), &ended_at] {
        sender.send(format!(" {line}\n")).await.unwrap();
    }
    attempt.finish(TIMEOUT, pasted).await.unwrap();
    Stage::up(guarded.settings()).await;
}

#[tokio::test]
async fn somebody_else_at_the_door_is_sent_away() {
    let guarded = Guarded::start(nothing()).await;
    let attempt = Attempt::begin(&guarded.settings(), &[]).await.unwrap();
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
    attempt.finish(TIMEOUT, nothing_pasted()).await.unwrap();
    visits.await.unwrap();
}

#[tokio::test]
async fn nobody_waits_for_ever() {
    let guarded = Guarded::start(json!({ "forge": true })).await;
    let attempt = Attempt::begin(&guarded.settings(), &[]).await.unwrap();
    let url = attempt.url().to_owned();
    let browser = tokio::spawn(async move { reqwest::get(url).await.unwrap().status().as_u16() });
    let failure = attempt.finish(Duration::from_millis(500), nothing_pasted()).await.unwrap_err();
    assert!(failure.to_string().contains("in time"), "{failure}");
    assert_eq!(browser.await.unwrap(), 400, "a wrong state is no answer");
    assert!(guarded.file().is_none());
    assert_eq!(guarded.told().await["forms"], json!([]), "the code was not redeemed");
}

#[tokio::test]
async fn a_logout_forgets_and_revokes() {
    let guarded = Guarded::start(nothing()).await;
    assert_eq!(logout(&guarded.settings()).await, Ok(LoggedOut::Nothing));
    guarded.log_in().await;
    let stage = Stage::up(guarded.settings()).await;
    assert_eq!(logout(&guarded.settings()).await, Ok(LoggedOut::Revoked));
    assert!(guarded.file().is_none());
    let error = stage.refused("read_note", json!({}), "UPSTREAM_UNAVAILABLE").await;
    assert!(error["message"].as_str().unwrap().contains("`aquifer login notes`"), "{error}");
    assert_eq!(guarded.count("refresh").await, 0, "a login that is forgotten is not renewed");
}
