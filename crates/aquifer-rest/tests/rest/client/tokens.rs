//! OAuth 2 tokens: when they are requested, renewed and refused.

use aquifer_protocol::error::Code;
use aquifer_rest::{AuthScheme, Authenticator, HttpClient, SendRules};
use futures::future::join_all;
use tokio_util::sync::CancellationToken;

use super::server::{Received, Reply, Server};
use super::{assert_code, failure, get, post, send, settings};

fn environment(name: &str) -> Option<String> {
    match name {
        "ID" => Some("client one".to_owned()),
        "SECRET" => Some("client-s3cret".to_owned()),
        "REFRESH" => Some("refresh-0".to_owned()),
        _ => None,
    }
}

fn client_credentials(token_url: &str) -> AuthScheme {
    AuthScheme::ClientCredentials {
        token_url: token_url.to_owned(),
        id_variable: "ID".to_owned(),
        secret_variable: "SECRET".to_owned(),
        scopes: vec!["read".to_owned(), "write".to_owned()],
    }
}

fn client(server: &Server, scheme: AuthScheme) -> HttpClient {
    HttpClient::new(&settings(server), Authenticator::new(&[scheme], environment)).unwrap()
}

fn with_client_credentials(server: &Server) -> HttpClient {
    client(server, client_credentials(&format!("{}/token", server.url())))
}

fn is_token_request(received: &Received) -> bool {
    received.target == "/token"
}

fn token_requests(server: &Server) -> usize {
    server.received().iter().filter(|received| is_token_request(received)).count()
}

/// A server that issues numbered tokens and accepts them by a rule.
async fn issuing(lifetime: &'static str, accepts: fn(&str) -> bool) -> Server {
    Server::start(move |received, number| {
        if is_token_request(received) {
            return Reply::json(
                200,
                &format!("{{\"access_token\":\"token-{number}\",\"token_type\":\"Bearer\"{lifetime}}}"),
            );
        }
        let token = received.headers["authorization"].strip_prefix("Bearer ").unwrap().to_owned();
        if accepts(&token) { Reply::json(200, "{}") } else { Reply::json(401, "{}") }
    })
    .await
}

#[tokio::test]
async fn a_token_is_requested_once_and_kept() {
    let server = issuing(",\"expires_in\":3600", |_| true).await;
    let client = with_client_credentials(&server);
    let url = format!("{}/x", server.url());
    let results = join_all((0..8).map(|_| send(&client, get(&url)))).await;
    assert!(results.iter().all(Result::is_ok));
    assert_eq!((token_requests(&server), server.count()), (1, 9));
    let received = server.received();
    let request = received.iter().find(|received| is_token_request(received)).unwrap();
    assert_eq!(request.body, "grant_type=client_credentials&scope=read+write");
    assert_eq!(request.headers["authorization"], "Basic Y2xpZW50K29uZTpjbGllbnQtczNjcmV0");
    assert_eq!(request.headers["content-type"], "application/x-www-form-urlencoded");
}

#[tokio::test]
async fn a_token_is_renewed_before_it_expires() {
    for (lifetime, expected) in [
        (",\"expires_in\":20", 3),
        (",\"expires_in\":\"3600\"", 1),
        ("", 1),
        (",\"expires_in\":-5", 3),
        (",\"expires_in\":\"NaN\"", 1),
        (",\"expires_in\":\"inf\"", 1),
    ] {
        let server = issuing(lifetime, |_| true).await;
        let client = with_client_credentials(&server);
        for _ in 0..3 {
            send(&client, get(&format!("{}/x", server.url()))).await.unwrap();
        }
        assert_eq!(token_requests(&server), expected, "{lifetime}");
    }
}

#[tokio::test]
async fn a_refused_token_is_renewed_once() {
    let server = issuing(",\"expires_in\":3600", |token| token != "token-0").await;
    let client = with_client_credentials(&server);
    let url = format!("{}/x", server.url());
    send(&client, get(&url)).await.unwrap();
    assert_eq!((token_requests(&server), server.count()), (2, 4));
    let server = issuing(",\"expires_in\":3600", |_| false).await;
    let client = with_client_credentials(&server);
    let failure = failure(&client, get(&format!("{}/x", server.url()))).await;
    assert_eq!((failure.code(), &failure.details()["http_status"]), (Code::PermissionDenied, &401.into()));
    assert_eq!((token_requests(&server), server.count()), (2, 4));
}

#[tokio::test]
async fn a_change_is_not_repeated_with_a_renewed_token() {
    let server = issuing(",\"expires_in\":3600", |token| token != "token-0").await;
    let client = with_client_credentials(&server);
    let url = format!("{}/x", server.url());
    let failure = failure(&client, post(&url)).await;
    assert!(!failure.is_outcome_unknown());
    assert!(failure.message().contains("was not executed and can be repeated"), "{}", failure.message());
    assert_eq!((token_requests(&server), server.count()), (2, 3));
    assert_eq!(send(&client, post(&url)).await.unwrap().status, 200);
}

#[tokio::test]
async fn refresh_tokens_are_replaced() {
    let server = Server::start(|received, number| {
        if !is_token_request(received) {
            return Reply::json(200, "{}");
        }
        let answer = format!(
            "{{\"access_token\":\"a{number}\",\"token_type\":\"bearer\",\"expires_in\":1,\"refresh_token\":\"refresh-{number}x\"}}"
        );
        Reply::json(200, &answer)
    })
    .await;
    let scheme = AuthScheme::RefreshToken {
        token_url: format!("{}/token", server.url()),
        id_variable: "ID".to_owned(),
        secret_variable: None,
        token_variable: "REFRESH".to_owned(),
    };
    let client = client(&server, scheme);
    for _ in 0..2 {
        send(&client, get(&format!("{}/x", server.url()))).await.unwrap();
    }
    let bodies: Vec<String> = server
        .received()
        .iter()
        .filter(|received| is_token_request(received))
        .map(|received| received.body.clone())
        .collect();
    assert_eq!(bodies[0], "grant_type=refresh_token&refresh_token=refresh-0&client_id=client+one");
    assert_eq!(bodies[1], "grant_type=refresh_token&refresh_token=refresh-0x&client_id=client+one");
    assert!(
        server
            .received()
            .iter()
            .all(|received| received.headers.get("authorization").is_none_or(|value| value.starts_with("Bearer")))
    );
}

#[tokio::test]
async fn credentials_of_the_client_may_be_part_of_the_form() {
    let server =
        Server::start(|received, _| match (is_token_request(received), received.body.contains("client_secret=")) {
            (true, false) => Reply::json(401, "{\"error\":\"invalid_client\"}"),
            (true, true) => Reply::json(200, "{\"access_token\":\"a\"}"),
            _ => Reply::json(200, "{}"),
        })
        .await;
    send(&with_client_credentials(&server), get(&format!("{}/x", server.url()))).await.unwrap();
    assert!(server.received()[1].body.ends_with("&client_id=client+one&client_secret=client-s3cret"));
    assert!(!server.received()[1].headers.contains_key("authorization"));
}

#[tokio::test]
async fn token_endpoints_that_fail_are_reported_without_credentials() {
    let echo = "{\"error\":\"invalid_grant\",\"error_description\":\"bad client-s3cret\"}";
    let page = "x".repeat(300_000);
    let large = format!("{{\"access_token\":\"a\",\"x\":\"{page}\"}}");
    for (reply, code) in [
        ((400, echo.to_owned()), Code::AuthConfigInvalid),
        ((500, echo.to_owned()), Code::TransportNetworkError),
        ((302, "{}".to_owned()), Code::TransportNetworkError),
        ((200, "{}".to_owned()), Code::TransportNetworkError),
        ((200, "<html>".to_owned()), Code::TransportNetworkError),
        ((200, "{\"access_token\":\"a\\r\\nb\"}".to_owned()), Code::TransportNetworkError),
        ((200, "{\"access_token\":\"a\",\"token_type\":\"mac\"}".to_owned()), Code::TransportNetworkError),
        ((200, large), Code::TransportNetworkError),
    ] {
        let (status, body) = reply;
        let answer = body.clone();
        let server = Server::start(move |_, _| Reply::json(status, &answer).with("location", "/elsewhere")).await;
        let client = with_client_credentials(&server);
        let failure = failure(&client, post(&format!("{}/x", server.url()))).await;
        assert_code(&failure, code);
        assert!(!failure.is_outcome_unknown());
        assert!(!format!("{failure:?}{client:?}").contains("s3cret"), "{failure:?}");
        assert!(server.received().iter().all(is_token_request), "nothing is sent without a token");
        // Immediately following calls share the error.
        let again = send(&client, get(&format!("{}/x", server.url()))).await;
        assert!(again.is_err());
        assert_eq!(server.count(), 1, "{status}");
    }
}

#[tokio::test]
async fn token_endpoints_must_be_secure() {
    let server = Server::start(|_, _| Reply::json(200, "{}")).await;
    for token_url in
        ["http://login.example/token", "ftp://login.example", "https://user:x@login.example/", "not a url", ""]
    {
        let client = client(&server, client_credentials(token_url));
        let failure = failure(&client, get(&server.url())).await;
        assert_code(&failure, Code::AuthConfigInvalid);
    }
    // An API elsewhere must not send the credentials of its client to this machine or a private network.
    let public = aquifer_rest::ClientSettings::new("https://api.example");
    for token_url in
        ["http://localhost:1/token", "http://127.0.0.1:1/token", "https://10.0.0.1/token", "https://169.254.169.254/"]
    {
        let authenticator = Authenticator::new(&[client_credentials(token_url)], environment);
        assert!(HttpClient::new(&public, authenticator).is_err(), "{token_url}");
    }
    let authenticator = Authenticator::new(&[client_credentials("https://login.example/token?x=1")], environment);
    assert!(HttpClient::new(&public, authenticator).is_ok());
    assert_eq!(server.count(), 0);
}

#[tokio::test]
async fn calls_that_wait_for_a_token_can_be_cancelled() {
    let server = Server::start(|_, _| Reply::Silence).await;
    let client = with_client_credentials(&server);
    let cancelled = CancellationToken::new();
    let cancel = async {
        server.wait_for_requests(1).await;
        cancelled.cancel();
    };
    let request = post(&format!("{}/x", server.url()));
    let rules = SendRules::default();
    let (result, ()) = tokio::join!(client.send(request, &rules, &cancelled), cancel);
    assert!(!result.unwrap_err().is_outcome_unknown(), "the call itself was not sent");
    assert_eq!((token_requests(&server), server.count()), (1, 1));
}
