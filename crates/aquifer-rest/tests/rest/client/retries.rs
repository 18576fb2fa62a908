//! Which requests are sent again, and which never are.

use std::time::Duration;

use aquifer_protocol::error::Code;
use aquifer_rest::client::Effect;
use aquifer_rest::route::{HttpRequest, Method};
use aquifer_rest::{ClientSettings, SendRules};
use tokio_util::sync::CancellationToken;

use super::server::{Reply, Server};
use super::{assert_code, client, failure, get, post, reads, send, settings};

async fn send_with(server: &Server, request: HttpRequest, rules: &SendRules) -> Result<u16, bool> {
    let client = client(&settings(server));
    let result = client.send(request, rules, &CancellationToken::new()).await;
    result.map(|response| response.status).map_err(|error| error.is_outcome_unknown())
}

/// A server that fails twice and then succeeds.
async fn recovering(fault: fn() -> Reply) -> Server {
    Server::start(move |_, number| if number < 2 { fault() } else { Reply::json(200, "{}") }).await
}

#[tokio::test]
async fn reads_survive_two_faults() {
    let unavailable = || Reply::status(503).with("retry-after", "0");
    for fault in [|| Reply::Reset, || Reply::Raw(Vec::new()), || Reply::status(502), || Reply::status(429), unavailable]
    {
        for method in [Method::Get, Method::Head, Method::Options, Method::Query] {
            let server = recovering(fault).await;
            let request = HttpRequest { method, ..get(&server.url()) };
            assert_eq!(send_with(&server, request, &reads()).await, Ok(200), "{method:?}");
            assert_eq!(server.count(), 3, "{method:?}");
        }
        let server = recovering(fault).await;
        assert_eq!(send_with(&server, post(&server.url()), &reads()).await, Ok(200), "a POST that only reads");
        assert_eq!(server.count(), 3);
    }
}

#[tokio::test]
async fn changes_are_sent_once() {
    for method in [Method::Post, Method::Put, Method::Patch, Method::Delete] {
        for (fault, is_unknown) in [
            ((|| Reply::Reset) as fn() -> Reply, true),
            (|| Reply::Raw(Vec::new()), true),
            (|| Reply::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx".to_vec()), true),
            (|| Reply::status(500), true),
            (|| Reply::status(502), true),
            (|| Reply::status(503).with("retry-after", "0"), true),
            (|| Reply::status(504), true),
            (|| Reply::status(408), true),
            (|| Reply::redirect(307, "/elsewhere"), true),
            (|| Reply::redirect(302, "/elsewhere"), true),
            (|| Reply::status(429).with("retry-after", "0"), false),
            (|| Reply::status(400), false),
            (|| Reply::status(401), false),
            (|| Reply::status(409), false),
        ] {
            let server = recovering(fault).await;
            let request = HttpRequest { method, ..post(&server.url()) };
            assert_eq!(send_with(&server, request, &SendRules::default()).await, Err(is_unknown), "{method:?}");
            assert_eq!(server.count(), 1, "{method:?}");
        }
    }
}

#[tokio::test]
async fn attempts_end_after_three() {
    for fault in [|| Reply::Reset, || Reply::status(503)] {
        let server = Server::start(move |_, _| fault()).await;
        assert_eq!(send_with(&server, get(&server.url()), &reads()).await, Err(false));
        assert_eq!(server.count(), 3);
    }
}

#[tokio::test]
async fn other_errors_are_not_repeated() {
    for status in [400, 401, 403, 404, 409, 412, 418, 422, 500, 501] {
        let server = Server::start(move |_, _| Reply::status(status)).await;
        assert_eq!(send_with(&server, get(&server.url()), &reads()).await, Err(false), "{status}");
        assert_eq!(server.count(), 1, "{status}");
    }
}

#[tokio::test]
async fn an_idempotency_key_makes_changes_repeatable() {
    let server = recovering(|| Reply::Reset).await;
    let rules = SendRules { idempotency_header: Some("Idempotency-Key".into()), ..SendRules::default() };
    assert_eq!(send_with(&server, post(&server.url()), &rules).await, Ok(200));
    let keys: Vec<String> =
        server.received().iter().map(|received| received.headers["idempotency-key"].clone()).collect();
    assert_eq!(keys.len(), 3);
    assert!(keys.iter().all(|key| key == &keys[0]), "{keys:?}");
    let groups: Vec<usize> = keys[0].split('-').map(str::len).collect();
    assert_eq!(groups, [8, 4, 4, 4, 12], "{keys:?}");
    assert!(server.received().iter().all(|received| received.body == "{\"a\":1}"));
    // Another call has another key.
    assert_eq!(send_with(&server, post(&server.url()), &rules).await, Ok(200));
    assert_ne!(server.received()[3].headers["idempotency-key"], keys[0]);
    // The caller's own key is kept.
    let mut request = post(&server.url());
    request.headers.push(("idempotency-key".to_owned(), "mine".to_owned()));
    assert_eq!(send_with(&server, request, &rules).await, Ok(200));
    assert_eq!(server.received()[4].headers["idempotency-key"], "mine");
    // Reads need none.
    assert_eq!(send_with(&server, get(&server.url()), &rules).await, Ok(200));
    assert!(!server.received()[5].headers.contains_key("idempotency-key"));
}

#[tokio::test]
async fn a_change_with_a_key_is_still_in_doubt_when_all_attempts_fail() {
    let server = Server::start(|_, _| Reply::Reset).await;
    let rules = SendRules {
        idempotency_header: Some("Idempotency-Key".into()),
        effect: Effect::Changes,
        ..SendRules::default()
    };
    assert_eq!(send_with(&server, post(&server.url()), &rules).await, Err(true));
    assert_eq!(server.count(), 3);
}

#[tokio::test]
async fn long_waits_are_reported_instead_of_waited() {
    let limited = || {
        Reply::json(429, "{\"message\":\"slow down\"}")
            .with("retry-after", "3600")
            .with("x-ratelimit-limit", "60")
            .with("x-ratelimit-remaining", "0")
            .with("ratelimit-policy", "60;w=3600")
    };
    let server = Server::start(move |_, _| limited()).await;
    let failure = failure(&client(&settings(&server)), get(&server.url())).await;
    assert_eq!(failure.code(), Code::RateLimitExceeded);
    let details = failure.details();
    assert_eq!((&details["retry_after_seconds"], &details["limit"]), (&3600.into(), &60.into()));
    assert_eq!((&details["remaining"], &details["window"]), (&0.into(), &"hour".into()));
    assert!(details["resets_at"].as_str().is_some_and(|at| at.ends_with('Z')), "{details:?}");
    assert_eq!((&details["http_status"], &details["upstream_error"]), (&429.into(), &"slow down".into()));
    assert_eq!(server.count(), 1);
}

#[tokio::test]
async fn waits_beyond_the_timeout_are_not_begun() {
    let server = Server::start(|_, _| Reply::status(503).with("retry-after", "5")).await;
    let settings = ClientSettings {
        timeout: Duration::from_secs(4),
        max_retry_wait: Duration::from_secs(60),
        ..settings(&server)
    };
    let failure = failure(&client(&settings), get(&server.url())).await;
    assert_eq!((failure.code(), &failure.details()["retry_after_seconds"]), (Code::InternalError, &5.into()));
    assert_eq!(server.count(), 1);
}

#[tokio::test]
async fn refused_connections_are_known_not_to_be_sent() {
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let url = format!("http://127.0.0.1:{port}");
    let settings = ClientSettings { retry_delay: Duration::from_millis(1), ..ClientSettings::new(url.as_str()) };
    let failure = failure(&client(&settings), post(&url)).await;
    assert_code(&failure, Code::TransportConnectionRefused);
    assert!(!failure.is_outcome_unknown());
}

/// A pooled connection that the server has closed is detected before anything is sent, or the outcome is reported as
/// unknown. A change is never sent twice.
#[tokio::test]
async fn closed_pooled_connections_never_cause_a_second_copy() {
    let server = Server::start(|received, _| match received.method.as_str() {
        "GET" => Reply::json(200, "{}").with("connection", "close"),
        _ => Reply::json(200, "{}"),
    })
    .await;
    let client = client(&settings(&server));
    for round in 1..=20 {
        send(&client, get(&server.url())).await.unwrap();
        let result = send(&client, post(&server.url())).await;
        let posts = server.received().iter().filter(|received| received.method == "POST").count();
        assert!(posts <= round, "round {round}: {posts}");
        if let Err(error) = result {
            assert!(error.is_outcome_unknown());
        }
    }
}
