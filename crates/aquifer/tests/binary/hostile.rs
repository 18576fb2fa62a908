//! Hostile input on pipes and over HTTP: always one structured answer, never a panic or a hang, and flat memory.

use serde_json::{Value, json};

use crate::support::{HttpServer, StdioServer, envelope, memory, processor_time, until};

/// A tool call with this text in place of its arguments.
fn call(id: u64, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"mcp_aql_read","arguments":{arguments}}}}}"#
    )
}

/// As TypeScript clients write it: the id last.
fn call_id_last(id: u64, arguments: &str) -> String {
    format!(
        r#"{{"method":"tools/call","params":{{"name":"mcp_aql_read","arguments":{arguments}}},"jsonrpc":"2.0","id":{id}}}"#
    )
}

fn nested(depth: usize) -> String {
    format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth))
}

/// What is sent, and the code of the failure that must come back; none: a JSON-RPC error.
fn calls() -> Vec<(&'static str, Vec<u8>, Option<&'static str>)> {
    let text = |arguments: &str| call(1, arguments).into_bytes();
    let many = format!(r#"{{"operation":"x","params":{{"a":[{}1]}}}}"#, "1,".repeat(400_000));
    let mut invalid_utf8 = call(1, r#"{"operation":"X"}"#).into_bytes();
    let place = invalid_utf8.iter().position(|byte| *byte == b'X').unwrap();
    invalid_utf8[place] = 0xff;
    vec![
        ("200 deep", text(&nested(200)), Some("VALIDATION_PAYLOAD_TOO_LARGE")),
        ("a hundred thousand deep", text(&nested(100_000)), Some("VALIDATION_PAYLOAD_TOO_LARGE")),
        ("33 deep", text(&nested(33)), Some("VALIDATION_PAYLOAD_TOO_LARGE")),
        ("hundreds of thousands of elements", text(&many), Some("VALIDATION_PAYLOAD_TOO_LARGE")),
        (
            "two megabytes",
            text(&format!(r#"{{"operation":"{}"}}"#, "x".repeat(2 << 20))),
            Some("VALIDATION_PAYLOAD_TOO_LARGE"),
        ),
        (
            "two megabytes, id last",
            call_id_last(1, &format!(r#"{{"operation":"{}"}}"#, "x".repeat(2 << 20))).into_bytes(),
            Some("VALIDATION_PAYLOAD_TOO_LARGE"),
        ),
        ("invalid UTF-8", invalid_utf8, Some("VALIDATION_INVALID_ENCODING")),
        ("a lone surrogate", text(r#"{"operation":"\ud800"}"#), Some("VALIDATION_INVALID_ENCODING")),
        (
            "a name twice",
            text(r#"{"operation":"list_tasks","operation":"get_task"}"#),
            Some("VALIDATION_INVALID_REQUEST"),
        ),
        (
            "a name twice, once escaped",
            text(r#"{"params":{"id":1,"\u0069d":2},"operation":"get_task"}"#),
            Some("VALIDATION_INVALID_REQUEST"),
        ),
        (
            "a huge integer",
            text(r#"{"operation":"get_task","id":123456789012345678901234567890}"#),
            Some("VALIDATION_INVALID_VALUE"),
        ),
        (
            "a number beyond all numbers",
            text(r#"{"operation":"get_task","id":1e999}"#),
            Some("VALIDATION_INVALID_VALUE"),
        ),
        (
            "NUL in text",
            text(r#"{"operation":"introspect","params":{"query":"operations","search":"a\u0000b"}}"#),
            Some("VALIDATION_INVALID_ENCODING"),
        ),
        ("no operation", text("{}"), Some("VALIDATION_INVALID_REQUEST")),
        ("an operation that is none", text(r#"{"operation":{"a":1}}"#), Some("VALIDATION_INVALID_REQUEST")),
        ("NaN", text(r#"{"operation":"get_task","id":NaN}"#), None),
        ("Infinity", text(r#"{"operation":"get_task","id":-Infinity}"#), None),
        ("a trailing comma", text(r#"{"operation":"list_tasks",}"#), None),
        ("half a message", call(1, "{").into_bytes(), None),
        ("arguments that are a list", text("[]"), None),
        ("arguments that are text", text("\"{}\""), None),
    ]
}

fn code(answer: &Value) -> Option<String> {
    match answer.get("result") {
        Some(_) => Some(envelope(answer)["error"]["code"].as_str().unwrap().to_owned()),
        None => {
            assert!(answer["error"]["code"].is_i64() && answer["error"]["message"].is_string(), "{answer}");
            None
        }
    }
}

#[test]
fn r_req_7_and_r_req_8_hold_on_pipes() {
    let mut piped = StdioServer::tasks();
    for (what, bytes, expected) in calls() {
        piped.send_bytes(&bytes);
        let answer = piped.receive();
        assert_eq!(code(&answer).as_deref(), expected, "{what}: {answer}");
        assert_eq!(answer["id"], 1, "{what}: {answer}");
    }
    let alive = piped.call("mcp_aql_read", json!({ "operation": "list_tasks" }));
    assert_eq!(alive["success"], true);
}

#[test]
fn r_req_7_and_r_req_8_hold_over_http() {
    let served = HttpServer::tasks();
    for (what, bytes, expected) in calls() {
        let headers =
            [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "mcp_aql_read")];
        let mut bytes = bytes;
        // The newest revision wants its metadata in every request.
        if let Some(place) = find(&bytes, br#""name":"mcp_aql_read""#) {
            let meta = br#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},"#;
            bytes.splice(place..place, meta.iter().copied());
        }
        let answer = served.post(&headers, &bytes);
        let json = answer.json();
        assert_eq!(code(&json).as_deref(), expected, "{what}: {} {json}", answer.status);
        assert_eq!(
            answer.status == 200,
            expected.is_some() || what.starts_with("arguments"),
            "{what}: {} {json}",
            answer.status
        );
    }
    assert_eq!(served.call("mcp_aql_read", json!({ "operation": "list_tasks" }))["success"], true);
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

#[test]
fn r_req_7_details_name_the_limit() {
    let mut piped = StdioServer::tasks();
    piped.send_bytes(call(9, &nested(40)).as_bytes());
    assert_eq!(
        envelope(&piped.receive())["error"]["details"],
        json!({ "limit_type": "nesting_depth", "limit_value": 32, "actual_value": 40, "unit": "levels" })
    );
    let request = format!(r#"{{"operation":"x","a":[{}1]}}"#, "1,".repeat(10_000));
    piped.send_bytes(call(9, &request).as_bytes());
    assert_eq!(
        envelope(&piped.receive())["error"]["details"],
        json!({ "limit_type": "array_elements", "limit_value": 10_000, "actual_value": 10_001, "unit": "elements" })
    );
    let request = format!(r#"{{"operation":"{}"}}"#, "x".repeat(1 << 20));
    piped.send_bytes(call(9, &request).as_bytes());
    let details = envelope(&piped.receive())["error"]["details"].clone();
    assert_eq!(details["limit_type"], "request_size");
    assert_eq!(details["limit_value"], 1 << 20);
    assert_eq!(details["actual_value"], request.len());
    // Just below every limit is fine.
    piped.send_bytes(call(9, &nested(32)).as_bytes());
    assert_eq!(
        envelope(&piped.receive())["error"]["code"],
        "VALIDATION_INVALID_REQUEST",
        "only the operation is missing"
    );
}

#[test]
fn junk_between_messages_is_answered_or_ignored_and_never_fatal() {
    let mut piped = StdioServer::tasks();
    for (line, code) in [
        (&b"hello"[..], Some(-32700)),
        (b"\xff\xfe\x00", Some(-32700)),
        (b"[]", Some(-32600)),
        (br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, Some(-32600)),
        (b"42", Some(-32600)),
        (b"null", Some(-32600)),
        (b"{}", Some(-32600)),
        (br#"{"id":5}"#, Some(-32600)),
        (b"", None),
        (b"   \t ", None),
        (br#"{"jsonrpc":"2.0","method":"notifications/unheard_of","params":{"x":"\ud800"}}"#, None),
        (br#"{"jsonrpc":"2.0","method":"notifications/unheard_of"}"#, None),
    ] {
        piped.send_bytes(line);
        if let Some(code) = code {
            let answer = piped.receive();
            let found = answer["error"]["code"].as_i64().unwrap_or_default();
            assert!(
                found == code || (code == -32700 && found == -32600),
                "{:?}: {answer}",
                String::from_utf8_lossy(line)
            );
        }
    }
    assert_eq!(piped.call("mcp_aql_read", json!({ "operation": "list_tasks" }))["success"], true);
}

/// Sends refused messages in batches until one of them adds next to nothing to the memory of the server.
///
/// Every thread that happens to serve one keeps a little for the next, and how many threads take part depends on the
/// machine's load, so early batches may grow. A message that is kept grows every batch.
fn levels_off(mut send: impl FnMut() -> u64) -> Result<(), Vec<u64>> {
    let mut seen = vec![send()];
    while seen.len() < 12 {
        let (before, after) = (seen[seen.len() - 1], send());
        seen.push(after);
        if after < before + 1024 {
            // Two of the messages sent below.
            return if after < 48 * 1024 { Ok(()) } else { Err(seen) };
        }
    }
    Err(seen)
}

#[test]
fn r_req_7_memory_stays_flat() {
    // Eight of them kept, or only the megabyte of each that is read, are far more than a batch may add.
    const BATCH: usize = 8;
    let big = call_id_last(3, &format!(r#"{{"operation":"{}"}}"#, "x".repeat(24 << 20)));

    let mut piped = StdioServer::tasks();
    let flat = levels_off(|| {
        for _ in 0..BATCH {
            piped.send_bytes(big.as_bytes());
            let answer = piped.receive();
            assert_eq!(
                (&answer["id"], &envelope(&answer)["error"]["details"]["limit_type"]),
                (&json!(3), &json!("request_size"))
            );
        }
        memory(piped.pid())
    });
    assert_eq!(flat, Ok(()), "kB after each batch on pipes");

    let served = HttpServer::tasks();
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "mcp_aql_read")];
    let flat = levels_off(|| {
        for _ in 0..BATCH {
            let answer = served.post(&headers, big.as_bytes());
            assert_eq!(envelope(&answer.json())["error"]["code"], "VALIDATION_PAYLOAD_TOO_LARGE");
        }
        memory(served.pid())
    });
    assert_eq!(flat, Ok(()), "kB after each batch over HTTP");
}

/// A client that sends and never reads must not fill our memory.
#[test]
fn r_req_7_a_client_that_never_reads_is_not_served_for_ever() {
    use std::io::Write;
    use std::process::Stdio;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const PIPE_CAPACITY: usize = 64 * 1024;
    let mut child = crate::support::aquifer()
        .args(["serve", "tasks:"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let pid = child.id();
    let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
    let list = call(1, r#"{"operation":"introspect","params":{"query":"operations"}}"#);
    let sent = Arc::new(AtomicUsize::new(0));
    let count = sent.clone();
    let writer = std::thread::spawn(move || {
        let _ = writeln!(input, "{initialize}");
        // Ends when the server is killed, or with everything sent.
        for id in 0..100_000 {
            // Half of them under one and the same id.
            let line = list.replacen("\"id\":1,", &format!("\"id\":{},", id * (id % 2)), 1);
            if writeln!(input, "{line}").is_err() {
                return;
            }
            count.fetch_add(line.len(), Ordering::Relaxed);
        }
    });
    let (mut most, mut same, mut before) = (0, 0, None);
    until("the server neither reads nor works", || {
        assert!(!writer.is_finished(), "the server does not stop reading a client that does not read");
        most = most.max(memory(pid));
        let sent = sent.load(Ordering::Relaxed);
        let now = Some((sent, processor_time(pid)));
        same = if now == before { same + 1 } else { 0 };
        before = now;
        // More than the pipe holds was sent, so the server has read some of it.
        (same >= 50 && sent > PIPE_CAPACITY).then_some(())
    });
    child.kill().unwrap();
    child.wait().unwrap();
    writer.join().unwrap();
    assert!(most < 60 * 1024, "{most} kB");
}
