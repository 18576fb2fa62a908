//! Statuses of the target as failures.

use aquifer_protocol::error::Code;
use serde_json::json;

use super::server::{Reply, Server};
use super::{client, failure, get, settings};

#[tokio::test]
async fn statuses_have_the_codes_of_the_specification() {
    for (status, code) in [
        (400, Code::ValidationInvalidType),
        (401, Code::PermissionDenied),
        (402, Code::ValidationInvalidType),
        (403, Code::PermissionDenied),
        (404, Code::NotFoundResource),
        (405, Code::ValidationInvalidType),
        (408, Code::TransportTimeout),
        (409, Code::ConflictAlreadyExists),
        (410, Code::NotFoundResource),
        (412, Code::ConflictVersionMismatch),
        (413, Code::ValidationPayloadTooLarge),
        (418, Code::ValidationInvalidType),
        (422, Code::ValidationInvalidType),
        (429, Code::RateLimitExceeded),
        (500, Code::InternalError),
        (502, Code::InternalError),
        (503, Code::InternalError),
        (504, Code::InternalError),
        (599, Code::InternalError),
    ] {
        let server = Server::start(move |_, _| Reply::json(status, "{\"error\":{\"message\":\"because\"}}")).await;
        let failure = failure(&client(&settings(&server)), get(&server.url())).await;
        assert_eq!(failure.code(), code, "{status}: {}", failure.message());
        assert_eq!(failure.details()["http_status"], status);
        assert_eq!(failure.details()["upstream_error"], "because");
        assert!(failure.message().contains("'pets'"), "{}", failure.message());
        assert!(!failure.message().contains("because"), "the target's text is a detail: {}", failure.message());
    }
}

#[tokio::test]
async fn problem_details_are_kept() {
    let body =
        json!({"type": "https://e.example/p", "title": "Bad", "status": 422, "detail": "worse", "extra": {"x": 1}});
    let server = Server::start(move |_, _| {
        let headers = vec![("content-type", "application/problem+json; charset=utf-8".to_owned())];
        Reply::Answer(422, headers, body.to_string().into_bytes())
    })
    .await;
    let failure = failure(&client(&settings(&server)), get(&server.url())).await;
    let expected = json!({"type": "https://e.example/p", "title": "Bad", "status": 422, "detail": "worse"});
    assert_eq!((&failure.details()["problem"], &failure.details()["upstream_error"]), (&expected, &json!("worse")));
}

#[tokio::test]
async fn texts_of_errors_are_clean_and_bounded() {
    let long = "x".repeat(1_000_000);
    for (media_type, body, expected) in [
        ("text/plain", "plain \u{1b}[31mred\u{202e}".to_owned(), "plain red".to_owned()),
        ("text/html", "<html>stack</html>".to_owned(), "HTTP status 400".to_owned()),
        ("application/json", "{broken".to_owned(), "HTTP status 400".to_owned()),
        ("application/json", "{\"code\":7}".to_owned(), "{\"code\":7}".to_owned()),
        ("application/octet-stream", "\0\u{1}".to_owned(), "HTTP status 400".to_owned()),
        ("text/plain", long, format!("{}…", "x".repeat(2_000))),
    ] {
        let server = Server::start(move |_, _| {
            Reply::Answer(400, vec![("content-type", media_type.to_owned())], body.clone().into_bytes())
        })
        .await;
        let failure = failure(&client(&settings(&server)), get(&server.url())).await;
        assert_eq!(failure.details()["upstream_error"], expected, "{media_type}");
    }
}

#[tokio::test]
async fn missing_scopes_are_named() {
    let server = Server::start(|_, _| {
        Reply::status(403).with("www-authenticate", "Bearer error=\"insufficient_scope\", scope=\"repo admin\"")
    })
    .await;
    let failure = failure(&client(&settings(&server)), get(&server.url())).await;
    assert_eq!((failure.code(), &failure.details()["required_scope"]), (Code::PermissionDenied, &json!("repo admin")));
}

#[tokio::test]
async fn a_broken_error_body_still_tells_the_status() {
    let raw = b"HTTP/1.1 404 X\r\ncontent-type: text/plain\r\ncontent-length: 100\r\n\r\nno such".to_vec();
    let server = Server::start(move |_, _| Reply::Raw(raw.clone())).await;
    let failure = failure(&client(&settings(&server)), get(&server.url())).await;
    assert_eq!((failure.code(), &failure.details()["upstream_error"]), (Code::NotFoundResource, &json!("no such")));
}
