//! Responses that do not end, and responses that are nested too deeply.

use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::Engine;
use aquifer_protocol::surface::{Mode, Profile, Surface};
use aquifer_rest::RestSource;
use serde_json::json;

use super::{Served, api, call, settings};
use crate::client::server::{Reply, Server};

#[tokio::test]
async fn what_arrived_of_an_endless_stream_is_returned() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    for stalls in [true, false] {
        let server = Server::start(move |_, _| match stalls {
            true => Reply::Stall(format!("{head}data: one\n\ndata: two\n\n").into_bytes()),
            false => Reply::Endless(format!("{head}data: one\n\n").into_bytes(), vec![b'x'; 4_096]),
        })
        .await;
        let paths = json!({ "/events": { "get": { "operationId": "getEvents", "summary": "Get events" } } });
        let mut settings = settings(api(paths), &server);
        settings.client.timeout = Duration::from_millis(500);
        settings.client.max_answer_bytes = 64 * 1_024;
        let source = RestSource::new(settings, |_| None).unwrap();
        let surface = Surface::new(Mode::All, Profile::known("crude").unwrap(), "").unwrap();
        let engine = Engine::builder(surface).dangerously_let_everything_pass().source(Arc::new(source)).build();
        let answer = call(&engine.unwrap(), "get_events", json!({})).await;
        let shown = answer.to_string();
        assert!(shown.contains("data: one"), "{stalls}: {shown}");
        assert_eq!(answer["warnings"][0]["code"], "RESULT_INCOMPLETE", "{stalls}");
    }
}

#[tokio::test]
async fn bodies_that_clients_cannot_parse_are_refused() {
    let paths = json!({ "/deep": { "get": { "operationId": "getDeep", "summary": "Get something deep" } } });
    for (depth, is_refused) in [(100, false), (100_000, true), (200, true)] {
        let served = Served::start(paths.clone(), move |_, _| {
            Reply::json(200, &format!("{}{}", "[".repeat(depth), "]".repeat(depth)))
        })
        .await;
        let answer = served.call("get_deep", json!({})).await;
        assert_eq!(answer["error"].is_object(), is_refused, "{depth}");
        if is_refused {
            assert_eq!(answer["error"]["code"], "SERIALIZATION_PARSE_ERROR", "{answer}");
            assert!(answer["error"]["message"].as_str().unwrap().contains("nested too deeply"), "{answer}");
        }
    }
    let brackets = "[".repeat(500);
    let served = Served::start(paths, move |_, _| Reply::json(200, &format!("{{\"text\":\"\\\"{brackets}\"}}"))).await;
    assert_eq!(served.call("get_deep", json!({})).await["success"], true, "brackets in strings do not count");
}
