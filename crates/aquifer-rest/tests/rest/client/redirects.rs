//! Redirects: only on the same origin, and only where a second copy does no harm.

use aquifer_protocol::error::Code;
use aquifer_rest::SendRules;
use aquifer_rest::route::{HttpRequest, Method};
use reqwest::header::HeaderValue;
use tokio_util::sync::CancellationToken;

use super::server::{Reply, Server};
use super::{client, failure, get, post, reads, send, settings};

#[tokio::test]
async fn reads_follow_redirects_on_the_same_origin() {
    for status in [301, 302, 303, 307, 308] {
        for location in ["/b", "b", "?x=1", "/b#fragment"] {
            let server = Server::start(move |_, number| match number {
                0 => Reply::redirect(status, location),
                _ => Reply::json(200, "{}"),
            })
            .await;
            for method in [Method::Get, Method::Head] {
                let request = HttpRequest { method, ..get(&format!("{}/a", server.url())) };
                assert_eq!(
                    send(&client(&settings(&server)), request).await.unwrap().status,
                    200,
                    "{status} {location}"
                );
            }
            assert_eq!(server.count(), 3);
            let expected = if location == "?x=1" { "/a?x=1" } else { "/b" };
            assert_eq!(server.received()[1].target, expected);
        }
    }
}

#[tokio::test]
async fn redirects_elsewhere_are_refused() {
    let other = Server::start(|_, _| Reply::json(200, "{}")).await;
    let port = other.port();
    let elsewhere = [
        format!("http://127.0.0.1:{port}/"),
        format!("//127.0.0.1:{port}/"),
        format!("http://localhost:{port}/"),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "http://[fd00:ec2::254]/latest".to_owned(),
        "https://evil.example/".to_owned(),
        "//evil.example".to_owned(),
        "\\\\evil.example".to_owned(),
        "file:///etc/passwd".to_owned(),
        "javascript:alert(1)".to_owned(),
        "http://".to_owned(),
    ];
    for location in elsewhere {
        let target = location.clone();
        let server = Server::start(move |_, _| Reply::redirect(302, &target)).await;
        let failure = failure(&client(&settings(&server)), get(&server.url())).await;
        assert_eq!(failure.code(), Code::UpstreamError, "{location}: {}", failure.message());
        assert_eq!(failure.details()["http_status"], 302, "{location}");
        assert!(failure.details()["upstream_error"].as_str().unwrap().contains("redirect"), "{location}");
        assert_eq!(server.count(), 1, "{location}");
    }
    assert_eq!(other.count(), 0);
}

#[tokio::test]
async fn another_scheme_or_user_on_the_same_host_is_refused() {
    for scheme in ["https://", "http://user:password@", "http://user@"] {
        let server =
            Server::start(move |received, _| Reply::redirect(302, &format!("{scheme}{}/", received.headers["host"])))
                .await;
        let failure = failure(&client(&settings(&server)), get(&server.url())).await;
        assert_eq!(failure.code(), Code::UpstreamError, "{scheme}: {}", failure.message());
        assert_eq!(server.count(), 1, "{scheme}");
        assert!(!serde_json::to_string(&failure).unwrap().contains("password"));
    }
}

#[tokio::test]
async fn endless_redirects_end() {
    let server = Server::start(|_, number| Reply::redirect(302, &format!("/{number}"))).await;
    let failure = failure(&client(&settings(&server)), get(&server.url())).await;
    assert!(failure.details()["upstream_error"].as_str().unwrap().contains("too often"));
    assert_eq!(server.count(), 6);
}

#[tokio::test]
async fn repeatable_requests_follow_redirects_that_keep_the_method() {
    for status in [307, 308] {
        let server = Server::start(move |_, number| match number {
            0 => Reply::redirect(status, "/b"),
            _ => Reply::json(200, "{}"),
        })
        .await;
        let client = client(&settings(&server));
        let response = client.send(post(&server.url()), &reads(), &CancellationToken::new()).await.unwrap();
        assert_eq!(response.url, format!("{}/b", server.url()));
        let second = &server.received()[1];
        assert_eq!((second.method.as_str(), second.body.as_str()), ("POST", "{\"a\":1}"));
    }
    for status in [301, 302, 303] {
        let server = Server::start(move |_, _| Reply::redirect(status, "/b")).await;
        let client = client(&settings(&server));
        let error = client.send(post(&server.url()), &reads(), &CancellationToken::new()).await.unwrap_err();
        assert_eq!((error.status(), server.count()), (Some(status), 1));
    }
}

#[tokio::test]
async fn changes_do_not_follow_redirects() {
    for status in [301, 302, 307, 308] {
        let server = Server::start(move |_, _| Reply::redirect(status, "/b")).await;
        let client = client(&settings(&server));
        let result = client.send(post(&server.url()), &SendRules::default(), &CancellationToken::new()).await;
        let failure = result.unwrap_err().into_failure("pets");
        assert!(failure.is_outcome_unknown(), "{}", failure.message());
        assert_eq!(server.count(), 1);
    }
}

#[tokio::test]
async fn a_change_that_is_answered_with_the_place_of_its_outcome_is_done() {
    let server = Server::start(|_, _| Reply::redirect(303, "/b")).await;
    let client = client(&settings(&server));
    let answer = client.send(post(&server.url()), &SendRules::default(), &CancellationToken::new()).await.unwrap();
    assert_eq!((answer.status, &answer.headers["location"], server.count()), (303, &HeaderValue::from_static("/b"), 1));
    assert!(answer.body.is_empty());
}

#[tokio::test]
async fn redirects_without_a_target_are_responses_with_that_status() {
    for status in [300, 301, 304] {
        let server = Server::start(move |_, _| Reply::status(status)).await;
        let error = send(&client(&settings(&server)), get(&server.url())).await.unwrap_err();
        assert_eq!(error.status(), Some(status));
    }
}
