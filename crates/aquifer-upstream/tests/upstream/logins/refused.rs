//! Logins that must fail, and tokens that must not be sent elsewhere.

use serde_json::json;

use super::server::{ProtectedServer, failure, log_in, nothing};
use crate::support::{Gateway, HttpServer};
use aquifer_upstream::{BearerToken, Settings, Transport};

#[tokio::test]
async fn invalid_metadata_is_refused_and_reported() {
    for (options, expected) in [
        (json!({ "deny": true }), "the login was declined"),
        (json!({ "issuer": "https://evil.example" }), "issuer mismatch"),
        (json!({ "pkce": null }), "PKCE"),
        (json!({ "pkce": ["plain"] }), "PKCE"),
        (json!({ "registration": false }), "'client_id'"),
        (json!({ "iss": "wrong" }), "another authorization server"),
        (json!({ "iss": "promised" }), "does not name its authorization server"),
        (json!({ "resource": "https://evil.example/mcp" }), "describes another server"),
        (json!({ "servers": ["http://as.example"] }), "without https"),
        (json!({ "servers": ["https://169.254.169.254"] }), "may not name"),
        (json!({ "metadata_url": "http://169.254.169.254/latest/meta-data" }), "may not name"),
        (json!({ "metadata_url": "file:///etc/passwd" }), "may not name"),
        (json!({ "metadata_url": "/nowhere" }), "does not exist"),
        // Endpoints are assumed only if a server names no authorization server and has no metadata itself.
        (json!({ "metadata": false }), "has no metadata"),
        (json!({ "describe": false, "issuer": "https://evil.example" }), "issuer mismatch"),
        (json!({ "describe": false, "pkce": null }), "PKCE"),
        (json!({ "describe": false, "metadata": false, "default_endpoints": false }), "it may need a token instead"),
        (
            json!({ "describe": false, "metadata": false, "iss": "none", "token_status": 500 }),
            "temporarily_unavailable",
        ),
        (json!({ "huge": true }), "too large"),
        (json!({ "token_status": 500 }), "temporarily_unavailable"),
        (json!({ "token_status": 302 }), "issued no token"),
    ] {
        let failure = failure(options.clone()).await;
        assert!(failure.contains(expected), "{options}: {failure}");
    }
}

#[tokio::test]
async fn servers_without_a_login_are_reported() {
    let open = HttpServer::start(0, &[]);
    let server = ProtectedServer::start(nothing()).await;
    let login = server.settings().login;
    let settings = Settings { login: login.clone(), ..open.settings() };
    let failure = log_in(&settings, &[]).await.unwrap_err().to_string();
    assert!(failure.contains("does not require a login"), "{failure}");
    let settings = Settings { login: login.clone(), ..crate::support::fake(&[]) };
    assert!(log_in(&settings, &[]).await.unwrap_err().to_string().contains("started by a command"));
    let settings = Settings { login: login.clone(), ..Settings::http("x", "http://a.example/mcp") };
    assert!(log_in(&settings, &[]).await.unwrap_err().to_string().contains("only over https"));
    let settings = Settings { login, ..Settings::http("x", "http://127.0.0.1:9/mcp") };
    assert!(log_in(&settings, &[]).await.unwrap_err().to_string().contains("cannot be reached"));
}

#[tokio::test]
async fn a_token_goes_only_to_its_server() {
    let server = ProtectedServer::start(nothing()).await;
    server.log_in().await;
    let token = server.stored_login()["access_token"].as_str().unwrap().to_owned();
    let other = ProtectedServer::start(nothing()).await;
    server.set(json!({ "redirect": other.url("/mcp") })).await;
    let gateway = Gateway::new(server.settings());
    gateway.upstream.ready().await.unwrap_err();
    assert!(server.recorded_events().await["seen"].to_string().contains(&token), "it was sent where it belongs");
    assert_eq!(other.recorded_events().await["seen"], json!([]), "and nobody was sent on");
    // The login of one server is not used for another, although both share a folder.
    let settings = Settings { login: server.settings().login, ..other.settings() };
    Gateway::new(settings).upstream.ready().await.unwrap_err();
    let seen = other.recorded_events().await["seen"].to_string();
    assert!(!seen.contains("Bearer") && seen.contains("null"), "{seen}");
}

#[tokio::test]
async fn a_configured_token_is_sent_instead() {
    let server = ProtectedServer::start(nothing()).await;
    server.log_in().await;
    let mut settings = server.settings();
    let Transport::Http { bearer, .. } = &mut settings.transport else { unreachable!() };
    *bearer = Some(BearerToken { token: "configured".to_owned(), env: None });
    let failure = Gateway::new(settings.clone()).upstream.ready().await.unwrap_err();
    assert!(failure.message().contains("it requires authorization"), "{failure:?}");
    let seen = server.recorded_events().await["seen"].clone();
    assert_eq!(seen.as_array().unwrap().last().unwrap(), "Bearer configured");
    assert!(log_in(&settings, &[]).await.unwrap_err().to_string().contains("in its configuration"));
}
