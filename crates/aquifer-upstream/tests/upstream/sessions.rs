//! A session lasts as long as its connection and is ended once.

use std::sync::Arc;

use serde_json::json;

use crate::faulty_server::{Fault, FaultyServer, Stream};
use crate::support::{Gateway, until};

const STREAMS: &[Stream] =
    &[Stream::Status(405), Stream::Status(404), Stream::Status(400), Stream::Status(500), Stream::Ends, Stream::Open];

#[tokio::test]
async fn a_stream_that_is_refused_or_ends_does_not_end_the_session() {
    for stream in STREAMS {
        let server = FaultyServer::start(Fault::None).await;
        server.set(|now| now.stream = *stream);
        let gateway = Gateway::ready(server.settings()).await;
        until("the stream was asked for", async || server.log(|log| log.streams) > 0).await;
        for round in 0..30 {
            let tool = ["get_account", "delete_account"][round % 2];
            assert_eq!(gateway.get(tool, json!({})).await, "done", "{stream:?} {round}");
        }
        assert_eq!(server.log(|log| (log.opened, log.ended.len())), (1, 0), "{stream:?}");
        drop(gateway);
        until("the session is ended", async || server.log(|log| !log.ended.is_empty())).await;
        // The server must not be asked twice to end the session, so all spawned tasks run first.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(server.log(|log| log.ended.clone()), ["session-1"], "{stream:?}");
    }
}

#[tokio::test]
async fn a_stream_that_ended_is_opened_again() {
    let server = FaultyServer::start(Fault::None).await;
    server.set(|now| now.stream = Stream::Ends);
    let _stage = Gateway::ready(server.settings()).await;
    until("it is opened again", async || server.log(|log| log.streams) >= 2).await;
    // Even if the server is unavailable for a while.
    server.set(|now| now.stream = Stream::Status(503));
    let so_far = server.log(|log| log.streams);
    until("it is opened again", async || server.log(|log| log.streams) >= so_far + 2).await;
    assert_eq!(server.log(|log| (log.opened, log.ended.len())), (1, 0));
}

#[tokio::test]
async fn a_session_is_ended_after_the_calls_in_it() {
    let server = FaultyServer::start(Fault::WhenReleased).await;
    let gateway = Arc::new(Gateway::ready(server.settings()).await);
    let call = {
        let gateway = gateway.clone();
        tokio::spawn(async move { gateway.get("delete_account", json!({})).await })
    };
    until("the call is under way", async || server.executed("delete_account") == 1).await;
    gateway.upstream.stop();
    until("the connection is given up", async || !gateway.upstream.is_connected()).await;
    server.release();
    assert_eq!(call.await.unwrap(), "done");
    until("the session is ended", async || server.log(|log| !log.ended.is_empty())).await;
    assert_eq!(server.log(|log| log.events.clone()), ["execute", "answer", "delete"]);
}

#[tokio::test]
async fn a_call_that_fails_does_not_end_the_session_of_others() {
    for fault in [Fault::Status(500), Fault::Drop, Fault::Status(400), Fault::Status(403)] {
        let server = FaultyServer::start(Fault::WhenReleased).await;
        let gateway = Arc::new(Gateway::ready(server.settings()).await);
        let call = {
            let gateway = gateway.clone();
            tokio::spawn(async move { gateway.get("delete_account", json!({})).await })
        };
        until("the call is under way", async || server.executed("delete_account") == 1).await;
        server.set(|now| now.fault = fault);
        assert_eq!(gateway.ask("frobnicate", json!({})).await["success"], false, "{fault:?}");
        assert_eq!(gateway.ask("get_account", json!({})).await["success"], false, "{fault:?}");
        server.set(|now| now.fault = Fault::None);
        assert_eq!(gateway.get("set_account", json!({})).await, "done", "{fault:?}");
        server.release();
        assert_eq!(call.await.unwrap(), "done", "{fault:?}");
        assert_eq!(server.log(|log| (log.opened, log.ended.len())), (1, 0), "{fault:?}");
    }
}

#[tokio::test]
async fn a_session_that_no_longer_works_is_replaced() {
    for fault in [Fault::Status(500), Fault::Drop, Fault::Status(400), Fault::Answer(404)] {
        let server = FaultyServer::start(fault).await;
        server.set(|now| now.ping_fails = true);
        let gateway = Gateway::ready(server.settings()).await;
        assert_eq!(gateway.ask("delete_account", json!({})).await["success"], false, "{fault:?}");
        // The next one may have been opened before anybody looks.
        let is_given_up = async || !gateway.upstream.is_connected() || server.log(|log| log.opened > 1);
        until("it is given up", is_given_up).await;
        server.set(|now| now.fault = Fault::None);
        assert_eq!(gateway.get("delete_account", json!({})).await, "done", "{fault:?}");
        assert_eq!(server.executed("delete_account"), 2, "{fault:?}: once each");
        assert_eq!(server.log(|log| log.opened), 2, "{fault:?}");
    }
}

#[tokio::test]
async fn a_failed_handshake_leaves_no_session_behind() {
    let server = FaultyServer::start(Fault::None).await;
    let mut settings = server.settings();
    // Enough for the handshake, not for the tool list.
    settings.max_answer_bytes = 300;
    let gateway = Gateway::new(settings);
    assert!(gateway.upstream.ready().await.is_err());
    drop(gateway);
    until("every session is ended", async || server.log(|log| log.opened > 0 && log.opened == log.ended.len())).await;
}
