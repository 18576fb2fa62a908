//! What goes wrong has the published codes.

use std::convert::Infallible;

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures::StreamExt as _;
use serde_json::{Value, json};

use super::{Fixture, call, json_response};
use crate::support::{Server, Transport, until};

fn error(fixture: &Fixture, operation: &str) -> Value {
    fixture.serve().error("read", operation, json!({}))
}

#[test]
fn r_res_3a_connections_that_fail_have_the_codes_of_the_transport() {
    let fixture = Fixture::described("");
    let base_urls = [
        ("http://127.0.0.1:1".to_owned(), "TRANSPORT_CONNECTION_REFUSED"),
        (fixture.shop.url().replace("http:", "https:"), "TRANSPORT_TLS_ERROR"),
        ("https://nowhere.invalid".to_owned(), "TRANSPORT_DNS_ERROR"),
    ];
    for (base_url, code) in base_urls {
        fixture.configure(&format!("[[source]]\nopenapi = \"shop.yaml\"\nbase_url = \"{base_url}\"\n"));
        let error = error(&fixture, "get_account");
        assert_eq!(error["code"], code, "{base_url}: {error}");
        assert_eq!(error["details"]["source"], "shop", "{error}");
    }
}

#[test]
fn r_res_3a_answers_that_do_not_come_or_cannot_be_read() {
    let fixture = Fixture::described("timeout_seconds = 1\n");
    assert_eq!(error(&fixture, "get_slow")["code"], "TRANSPORT_TIMEOUT");
    assert_eq!(error(&fixture, "get_broken")["code"], "SERIALIZATION_PARSE_ERROR");
}

#[test]
fn r_saf_4_limits_of_the_api_are_told_with_the_time_to_wait() {
    let fixture = Fixture::described("");
    let mut server = fixture.serve();
    assert_eq!(server.data("read", "get_limited", json!({})), json!({ "ok": true }));
    let error = server.error("read", "get_limited", json!({}));
    assert_eq!(error["code"], "RATE_LIMIT_EXCEEDED", "{error}");
    let details = &error["details"];
    assert_eq!((&details["retry_after_seconds"], &details["limit"]), (&json!(60), &json!(1)), "{error}");
    assert_eq!(fixture.shop.take("/limited").len(), 2, "a minute is not waited for");
}

#[test]
fn failures_that_no_request_can_mend_are_errors_of_the_tool() {
    let fixture = Fixture::described("bearer_env = \"NOT_SET\"\n");
    let mut server = fixture.serve();
    let call = json!({ "name": "mcp_aql_read", "arguments": { "operation": "get_account" } });
    let answer = server.request("tools/call", call);
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert_eq!(answer["result"]["structuredContent"]["error"]["code"], "AUTH_CREDENTIAL_MISSING", "{answer}");
}

#[test]
fn bodies_that_clients_cannot_parse_do_not_reach_them() {
    let get = |operation: &str| json!({ "get": { "operationId": operation, "summary": "Get something deep." } });
    let paths = json!({ "/lists": get("getLists"), "/objects": get("getObjects"), "/problem": get("getProblem"),
        "/flat": get("getFlat") });
    let fixture = Fixture::answered(&paths, "", |request| {
        const DEPTH: usize = 100_000;
        let lists = format!("{}{}", "[".repeat(DEPTH), "]".repeat(DEPTH));
        Some(match request.path.as_str() {
            "/lists" => json_response(200, &lists),
            "/objects" => json_response(200, &format!("{}1{}", "{\"a\":".repeat(DEPTH), "}".repeat(DEPTH))),
            "/problem" => json_response(422, &format!("{{\"detail\":{lists}}}")),
            _ => json_response(200, "{\"text\":\"[[[[\"}"),
        })
    });
    for transport in Transport::BOTH {
        let mut server = Server::spawn(transport, &mut fixture.command(&["serve"]));
        for (operation, code) in [
            ("get_lists", "SERIALIZATION_PARSE_ERROR"),
            ("get_objects", "SERIALIZATION_PARSE_ERROR"),
            ("get_problem", "VALIDATION_INVALID_TYPE"),
        ] {
            let (answer, text) = call(&mut server, "read", operation, json!({}));
            let error = &answer["error"];
            assert_eq!(error["code"], code, "{transport:?} {operation}: {answer}");
            let is_named = error["message"].as_str().unwrap().contains("nested too deeply");
            assert!(is_named || operation == "get_problem", "{transport:?} {operation}: {answer}");
            assert!(text.len() < 4_000 && !text.contains("[[[["), "{transport:?} {operation}: {} bytes", text.len());
        }
        let (answer, _) = call(&mut server, "read", "get_flat", json!({}));
        assert_eq!(answer["data"], json!({ "text": "[[[[" }), "{transport:?}");
        assert_eq!(fixture.shop.received().len(), 4, "the API was asked");
        fixture.shop.take("");
        server.stop();
    }
}

#[test]
fn what_arrived_of_an_endless_stream_is_the_answer() {
    let paths = json!({ "/ticks": { "get": { "operationId": "getTicks", "summary": "Get ticks." } } });
    let fixture = Fixture::answered(&paths, "timeout_seconds = 1", |_| {
        let events = ["data: {\"tick\":1}\n\n", "data: {\"tick\":2}\n\n"].map(|event| Ok(Bytes::from(event)));
        let endless = futures::stream::iter(events).chain(futures::stream::pending::<Result<Bytes, Infallible>>());
        let response = Response::builder().header("content-type", "text/event-stream");
        Some(response.body(Body::from_stream(endless)).unwrap())
    });
    for transport in Transport::BOTH {
        let mut server = Server::spawn(transport, &mut fixture.command(&["serve"]));
        // A busy machine may take longer than the timeout to receive the first event.
        let (answer, text) = until("both events arrive within the timeout", || {
            let (answer, text) = call(&mut server, "read", "get_ticks", json!({}));
            answer["data"].to_string().contains("tick\\\":2").then_some((answer, text))
        });
        assert_eq!(answer["success"], true, "{transport:?}: {answer}");
        assert!(answer["data"].to_string().contains("tick\\\":1"), "{transport:?}: {answer}");
        assert_eq!(answer["warnings"][0]["code"], "RESULT_INCOMPLETE", "{transport:?}: {answer}");
        assert!(text.find("\"warnings\"") < text.find("\"data\""), "the warning comes first: {text}");
        server.stop();
    }
}
