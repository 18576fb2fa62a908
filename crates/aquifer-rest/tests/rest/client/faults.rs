//! Servers that are slow, break off, or respond with too much: one structured error each, and bounded memory.

use std::time::Duration;

use aquifer_protocol::error::Code;
use aquifer_rest::ClientSettings;
use aquifer_rest::route::{HttpRequest, Method};
use tokio_util::sync::CancellationToken;

use super::server::{Reply, Server};
use super::{assert_code, client, failure, get, post, reads, send, settings};

const LIMIT: usize = 1024 * 1024;

/// More than the limit and the buffers of the operating system together, and much less than what the servers offer.
const MAX_WRITTEN: u64 = 40 * 1024 * 1024;

fn limited(server: &Server) -> ClientSettings {
    ClientSettings { max_answer_bytes: LIMIT, ..settings(server) }
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex.chars().map(|digit| digit.to_digit(16).unwrap()).collect();
    digits.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).unwrap()).collect()
}

#[tokio::test]
async fn responses_arrive() {
    let server = Server::start(|_, _| {
        let headers = vec![("content-type", "Application/JSON; charset=utf-8".to_owned()), ("x-page", "1".to_owned())];
        Reply::Answer(200, headers, b"{\"ok\":true}".to_vec())
    })
    .await;
    let client = client(&settings(&server));
    let response = send(&client, get(&format!("{}/a%20b?c=d", server.url()))).await.unwrap();
    assert_eq!((response.status, response.media_type.as_deref()), (200, Some("application/json")));
    assert_eq!(response.json().unwrap(), serde_json::json!({"ok": true}));
    assert_eq!(response.headers["x-page"], "1");
    assert_eq!(response.url, format!("{}/a%20b?c=d", server.url()));
    let received = &server.received()[0];
    assert_eq!((received.method.as_str(), received.target.as_str()), ("GET", "/a%20b?c=d"));
    assert!(received.headers["user-agent"].starts_with("aquifer/"));
    assert_eq!(received.headers["accept-encoding"], "gzip");
    assert!(!format!("{response:?}").contains("true"), "bodies are not shown");
}

#[tokio::test]
async fn empty_responses_and_byte_order_marks_are_json_too() {
    for (body, expected) in [("", "null"), (" \n", "null"), ("\u{feff}{\"a\":1}", "{\"a\":1}")] {
        let server = Server::start(move |_, _| Reply::json(200, body)).await;
        let response = send(&client(&settings(&server)), get(&server.url())).await.unwrap();
        assert_eq!(response.json().unwrap().to_string(), expected, "{body:?}");
    }
}

#[tokio::test]
async fn changes_without_a_body_state_its_length() {
    let server = Server::start(|_, _| Reply::status(204)).await;
    let client = client(&settings(&server));
    for method in [Method::Post, Method::Put, Method::Patch] {
        let request = HttpRequest { method, ..get(&server.url()) };
        assert_eq!(send(&client, request).await.unwrap().status, 204);
        assert_eq!(
            server.received().last().unwrap().headers.get("content-length").map(String::as_str),
            Some("0"),
            "{method:?}"
        );
    }
}

#[tokio::test]
async fn urls_that_are_too_long_are_not_sent() {
    let server = Server::start(|_, _| Reply::status(204)).await;
    let url = format!("{}/{}", server.url(), "x".repeat(70_000));
    let failure = failure(&client(&settings(&server)), post(&url)).await;
    assert_eq!(failure.code(), Code::InternalError, "{}", failure.message());
    assert!(!failure.is_outcome_unknown());
    assert_eq!(server.count(), 0);
}

#[tokio::test]
async fn compressed_responses_are_decompressed() {
    let gzip = "1f8b0800000000000203ab56cacf56b22a292a4dad0500905fd4a70b000000";
    let brotli = "0b05807b226f6b223a747275657d03";
    let respond = async |encoding: &'static str, body: &str| {
        let body = bytes(body);
        let server = Server::start(move |_, _| {
            Reply::Answer(200, vec![("content-encoding", encoding.to_owned())], body.clone())
        })
        .await;
        let response = send(&client(&settings(&server)), get(&server.url())).await;
        (response, server.received()[0].headers["accept-encoding"].clone())
    };
    let (response, accepted) = respond("gzip", gzip).await;
    assert_eq!((&response.unwrap().body[..], accepted.as_str()), (&b"{\"ok\":true}"[..], "gzip"));
    let (response, _) = respond("identity", "7b7d").await;
    assert_eq!(&response.unwrap().body[..], b"{}");
    // Nobody asked for it.
    let failure = respond("br", brotli).await.0.unwrap_err().into_failure("pets");
    assert_eq!(failure.code(), Code::SerializationParseError);
    assert!(failure.message().contains("compressed in another way than gzip"), "{}", failure.message());
}

#[tokio::test]
async fn a_silent_server_times_out() {
    let server = Server::start(|_, _| Reply::Silence).await;
    let settings = ClientSettings { timeout: Duration::from_millis(200), ..settings(&server) };
    let client = client(&settings);
    let failure_of_read = failure(&client, get(&server.url())).await;
    assert_code(&failure_of_read, Code::TransportTimeout);
    assert!(!failure_of_read.is_outcome_unknown());
    let failure_of_change = failure(&client, post(&server.url())).await;
    assert_code(&failure_of_change, Code::TransportTimeout);
    assert!(failure_of_change.is_outcome_unknown());
    assert!(failure_of_change.message().contains("It is unknown whether the call was executed"));
    assert_eq!(server.count(), 2, "timeouts are not retried");
}

#[tokio::test]
async fn a_slow_body_times_out() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nx";
    let server = Server::start(|_, _| Reply::Stall(head.to_vec())).await;
    let settings = ClientSettings { timeout: Duration::from_millis(200), ..settings(&server) };
    let failure = failure(&client(&settings), get(&server.url())).await;
    assert_code(&failure, Code::TransportTimeout);
}

#[tokio::test]
async fn broken_connections_are_network_errors() {
    let garbage = b"SSH-2.0-OpenSSH_9.6\r\n".to_vec();
    let half_head = b"HTTP/1.1 200 OK\r\ncontent-le".to_vec();
    let half_body = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"a\"".to_vec();
    let half_chunk = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n64\r\n{\"a\"".to_vec();
    let half_gzip = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\n\x1f\x8b".to_vec();
    let no_gzip = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 4\r\n\r\nnope".to_vec();
    for raw in [garbage, half_head, half_body, half_chunk, half_gzip, no_gzip, Vec::new()] {
        let shown = String::from_utf8_lossy(&raw).into_owned();
        let server = Server::start(move |_, _| Reply::Raw(raw.clone())).await;
        let client = client(&settings(&server));
        let read = failure(&client, get(&server.url())).await;
        assert_code(&read, Code::TransportNetworkError);
        assert!(!read.is_outcome_unknown(), "{shown}");
        assert_eq!(server.count(), 3, "{shown}: a read is attempted three times");
        let change = failure(&client, post(&server.url())).await;
        assert!(change.is_outcome_unknown(), "{shown}");
        assert_eq!(server.count(), 4, "{shown}: a change is sent once");
    }
}

#[tokio::test]
async fn large_responses_are_not_read() {
    let megabyte = vec![b'x'; 1024 * 1024];
    let announced = b"HTTP/1.1 200 OK\r\ncontent-length: 104857600\r\n\r\n".to_vec();
    let unannounced = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    for head in [announced, unannounced] {
        let chunk = megabyte.clone();
        let server = Server::start(move |_, _| Reply::Endless(head.clone(), chunk.clone())).await;
        let failure = failure(&client(&limited(&server)), get(&server.url())).await;
        assert_eq!(failure.code(), Code::ValidationPayloadTooLarge, "{}", failure.message());
        assert_eq!(failure.details()["limit_value"], LIMIT);
        server.wait_for_closed(1).await;
        assert!(server.written() < MAX_WRITTEN, "{}", server.written());
        assert_eq!(server.count(), 1);
    }
}

#[tokio::test]
async fn a_large_response_to_a_change_leaves_the_outcome_unknown() {
    let server = Server::start(|_, _| Reply::Answer(200, Vec::new(), vec![b'x'; LIMIT + 1])).await;
    let failure = failure(&client(&limited(&server)), post(&server.url())).await;
    assert_eq!(failure.code(), Code::ValidationPayloadTooLarge);
    assert!(failure.is_outcome_unknown(), "{}", failure.message());
}

#[tokio::test]
async fn responses_of_exactly_the_limit_are_read() {
    let server = Server::start(|_, _| Reply::Answer(200, Vec::new(), vec![b'x'; LIMIT])).await;
    let response = send(&client(&limited(&server)), get(&server.url())).await.unwrap();
    assert_eq!(response.body.len(), LIMIT);
}

/// 100 MiB of one byte: a literal, then copies of 258 bytes in the fixed code of DEFLATE.
fn gzip_bomb() -> Vec<u8> {
    let mut out = bytes("1f8b08000000000000ff");
    let (mut buffer, mut used) = (0_u32, 0_u32);
    let mut push = |bits: u32, count: u32| {
        buffer |= bits << used;
        used += count;
        while used >= 8 {
            out.push((buffer & 0xff) as u8);
            buffer >>= 8;
            used -= 8;
        }
    };
    // A final block in the fixed code. The literal 0 is 00110000, the length 258 is 11000101, the distance 1 is 00000.
    push(0b1, 1);
    push(0b01, 2);
    push(0b0000_1100, 8);
    for _ in 0..100 * 1024 * 1024 / 258 {
        push(0b1010_0011, 8);
        push(0, 5);
    }
    push(0, 7);
    push(0, 7);
    out
}

#[tokio::test]
async fn compression_bombs_are_not_unpacked() {
    let bomb = gzip_bomb();
    assert!(bomb.len() < LIMIT, "the packed response is below the limit");
    for status in [200, 500] {
        let body = bomb.clone();
        let server = Server::start(move |_, _| {
            Reply::Answer(status, vec![("content-encoding", "gzip".to_owned())], body.clone())
        })
        .await;
        let failure = failure(&client(&limited(&server)), get(&server.url())).await;
        if status == 500 {
            assert_eq!(failure.code(), Code::InternalError, "{}", failure.message());
            continue;
        }
        assert_eq!(failure.code(), Code::ValidationPayloadTooLarge, "{}", failure.message());
        let read = failure.details()["actual_value"].as_u64().unwrap();
        assert!(read < 2 * LIMIT as u64, "{read} bytes were unpacked");
    }
}

#[tokio::test]
async fn large_headers_are_not_read() {
    let line = format!("x-filler: {}\r\n", "x".repeat(100_000)).into_bytes();
    let server = Server::start(move |_, _| Reply::Endless(b"HTTP/1.1 200 OK\r\n".to_vec(), line.clone())).await;
    let failure = failure(&client(&settings(&server)), post(&server.url())).await;
    assert_code(&failure, Code::TransportNetworkError);
    server.wait_for_closed(1).await;
    assert!(server.written() < MAX_WRITTEN, "{}", server.written());
}

#[tokio::test]
async fn responses_that_are_not_json_are_refused_as_json() {
    let page = "<html><title>Log in</title></html>";
    let deep = "[".repeat(100_000);
    for (media_type, body) in
        [("text/html", page), ("application/json", "{\"a\":"), ("application/json", deep.as_str())]
    {
        let (media_type, body) = (media_type.to_owned(), body.to_owned());
        let server = Server::start(move |_, _| {
            Reply::Answer(200, vec![("content-type", media_type.clone())], body.as_bytes().to_vec())
        })
        .await;
        let client = client(&settings(&server));
        let read = send(&client, get(&server.url())).await.unwrap().json().unwrap_err().into_failure("pets");
        assert_code(&read, Code::SerializationParseError);
        assert!(!read.is_outcome_unknown());
        let change = send(&client, post(&server.url())).await.unwrap().json().unwrap_err().into_failure("pets");
        assert!(change.is_outcome_unknown());
    }
}

#[tokio::test]
async fn cancelled_requests_end_at_once() {
    let server = Server::start(|_, _| Reply::Silence).await;
    let client = client(&settings(&server));
    let cancelled = CancellationToken::new();
    for (number, request, rules, is_unknown) in
        [(1, get(&server.url()), reads(), false), (2, post(&server.url()), aquifer_rest::SendRules::default(), true)]
    {
        let token = cancelled.child_token();
        let cancel = async {
            server.wait_for_requests(number).await;
            token.cancel();
        };
        let (result, ()) = tokio::join!(client.send(request, &rules, &token), cancel);
        let failure = result.unwrap_err().into_failure("pets");
        assert_eq!(failure.is_outcome_unknown(), is_unknown, "{}", failure.message());
        assert!(failure.message().contains("cancelled"), "{}", failure.message());
        server.wait_for_closed(number).await;
    }
    cancelled.cancel();
    let result = client.send(post(&server.url()), &reads(), &cancelled).await;
    assert!(!result.unwrap_err().is_outcome_unknown());
    assert_eq!(server.count(), 2, "a cancelled request is not sent");
}

#[tokio::test]
async fn requests_at_the_same_time_are_limited() {
    let server = Server::start(|_, _| Reply::json(200, "{}")).await;
    for (max_concurrent, expected) in [(1, 1..=1), (3, 2..=3)] {
        let client = client(&ClientSettings { max_concurrent, ..settings(&server) });
        let url = server.url();
        let results = futures::future::join_all((0..20).map(|_| send(&client, get(&url)))).await;
        assert!(results.iter().all(Result::is_ok));
        assert!(expected.contains(&server.max_active()), "{max_concurrent}: {}", server.max_active());
    }
}
