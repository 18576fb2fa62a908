//! Sessions that are opened and abandoned.

use aquifer_engine::clients::ClientTransport;

use super::*;

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_sessions_do_not_lock_out_others() {
    let server = Server::start(|settings| settings.max_sessions = 300).await;
    let used = server.open_session().await.unwrap();
    assert_eq!(server.in_session(&used, &session_call(2, "get_small")).await.status, 200);
    let (mut opened, mut refused) = (0, 0);
    for _ in 0..1_000 {
        match server.open_session().await {
            Ok(_) => opened += 1,
            Err(answer) => {
                assert_eq!(answer.status, 503, "{answer:?}");
                let seconds: u64 = answer.header("retry-after").unwrap().parse().unwrap();
                assert!((1..10).contains(&seconds), "{seconds}");
                refused += 1;
            }
        }
        assert!(server.endpoint.sessions().count() <= 300);
    }
    assert!(opened > 0 && refused > 0, "{opened} opened, {refused} refused");
    let still = server.in_session(&used, &session_call(3, "get_small")).await;
    assert_eq!(still.status, 200, "whoever uses a session keeps it");
    // A client that retries as the answer says gets a session and can use it.
    let newcomer = async {
        loop {
            match server.open_session().await {
                Ok(session) => return session,
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    };
    let newcomer = tokio::time::timeout(DEADLINE, newcomer).await.unwrap();
    let message: Value = serde_json::from_str(INITIALIZED).unwrap();
    assert_eq!(server.in_session(&newcomer, &message).await.status, 202);
    assert_eq!(server.in_session(&newcomer, &session_call(2, "get_small")).await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_longest_unused_session_makes_room_and_its_client_gets_404() {
    let server = Server::start(|settings| settings.max_sessions = 2).await;
    let (first, second) = (server.open_session().await.unwrap(), server.open_session().await.unwrap());
    assert_eq!(server.in_session(&first, &session_call(2, "get_small")).await.status, 200);
    let third = server.open_session().await.unwrap();
    for (session, status) in [(&first, 200), (&second, 404), (&third, 200)] {
        assert_eq!(server.in_session(session, &session_call(3, "get_small")).await.status, status);
    }
    let get = format!(
        "GET /mcp HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\nmcp-session-id: {second}\r\n\r\n"
    );
    assert_eq!(server.ask(get.as_bytes()).await.status, 404);
    // What the SDK held for it is gone as well.
    until("its tasks have ended", || server.endpoint.sessions().count() == 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_waiting_for_an_answer_are_never_closed() {
    let server = Server::start(|settings| settings.max_sessions = 2).await;
    let mut waiting = Vec::new();
    for index in 0..2 {
        let session = server.open_session().await.unwrap();
        let mut client = server.connect().await;
        client.send(&session_request(&session, &session_call(2, "get_slow"))).await;
        until("it waits", || server.calls_made() == index + 1).await;
        waiting.push(client);
    }
    let refused = server.open_session().await.unwrap_err();
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("10")), "{refused:?}");
    server.board.slow.add_permits(2);
    for mut client in waiting {
        assert_eq!(client.answer().await.unwrap().json()["result"]["structuredContent"]["data"], "at last");
    }
    server.open_session().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_size_of_initialize_is_bounded() {
    let server = Server::start(|_| ()).await;
    let refused = server.ask(&initialize_with(json!({ "x": { "y": "y".repeat(70 * 1024) } }))).await;
    assert_eq!(refused.status, 413, "{refused:?}");
    assert_eq!(server.endpoint.sessions().count(), 0);
    // Within that, what all of them keep is bounded, whether they are used or not: a quarter of the budget, and two
    // more that are about to go.
    let dense: Value = json!({ "x": { "y": vec![json!([]); 2_000] } });
    for is_used in [false, true] {
        let mut opened = 0;
        for _ in 0..60 {
            let answer = server.ask(&initialize_with(dense.clone())).await;
            assert!(server.held() <= 8 * MIB / 4 + 2 * MIB, "{} bytes are held", server.held());
            let Some(session) = answer.header("mcp-session-id").filter(|_| answer.status == 200) else {
                assert_eq!(answer.status, 503, "{answer:?}");
                continue;
            };
            opened += 1;
            if is_used {
                let answer = server.in_session(session, &session_call(2, "get_small")).await;
                assert!([200, 404].contains(&answer.status), "{answer:?}");
            }
        }
        assert!(opened > 0);
        assert!(server.endpoint.sessions().count() < 10);
    }
    // A client that sends an ordinary handshake still gets a session, however much the others keep.
    for _ in 0..20 {
        assert!(server.open_session().await.is_ok());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_running_requests_cannot_share_an_id() {
    let server = Server::start(|_| ()).await;
    let session = server.open_session().await.unwrap();
    let mut first = server.connect().await;
    first.send(&session_request(&session, &session_call(5, "get_slow"))).await;
    until("it waits", || server.calls_made() == 1).await;
    for _ in 0..20 {
        let refused = server.in_session(&session, &session_call(5, "get_large")).await;
        assert_eq!(refused.status, 400, "{refused:?}");
    }
    assert_eq!(server.calls_made(), 1, "none of them was made");
    server.board.slow.add_permits(1);
    assert_eq!(first.answer().await.unwrap().status, 200);
    let again = server.in_session(&session, &session_call(5, "get_small")).await;
    assert_eq!(again.json()["result"]["structuredContent"]["data"], "small", "the id is free again");
}

/// The answer to a cancelled call is never taken for the answer to the next call of the same id.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reused_id_does_not_get_the_answer_of_the_cancelled_request() {
    let server = Server::start(|_| ()).await;
    let session = server.open_session().await.unwrap();
    for (index, id) in (100..140).enumerate() {
        let mut first = server.connect().await;
        first.send(&session_request(&session, &session_call(id, "get_slow"))).await;
        until("it waits", || server.calls_made() == 2 * index + 1).await;
        let cancelled = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
        assert_eq!(server.in_session(&session, &cancelled).await.status, 202);
        let again = server.in_session(&session, &session_call(id, "get_small")).await;
        assert_eq!(again.status, 400, "the id is in use: {again:?}");
        let other = server.in_session(&session, &session_call(id + 1_000, "get_small")).await;
        assert_eq!(other.json()["result"]["structuredContent"]["data"], "small", "{other:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelled_calls_leave_no_answers_behind() {
    let server = Server::start(|_| ()).await;
    let session = server.open_session().await.unwrap();
    for id in 10..60 {
        let mut client = server.connect().await;
        client.send(&session_request(&session, &session_call(id, "get_large"))).await;
        let cancelled = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
        assert_eq!(server.in_session(&session, &cancelled).await.status, 202);
    }
    until("all are over", || server.endpoint.in_flight().calls() == 0).await;
    // Answers that came too late would be on the stream for news, and would be kept for it.
    let mut news = server.connect().await;
    let get = format!(
        "GET /mcp HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\nmcp-session-id: {session}\r\n\r\n"
    );
    news.send(get.as_bytes()).await;
    assert!(news.more().await);
    assert_eq!(server.in_session(&session, &session_call(1, "get_small")).await.status, 200);
    let received = String::from_utf8_lossy(&news.buffer).into_owned();
    assert!(received.len() < 4_096 && !received.contains("xxxx"), "{} bytes came for nobody", received.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_per_session_are_limited_and_released_with_it() {
    let server = Server::start(|_| ()).await;
    let session = server.open_session().await.unwrap();
    let get = format!(
        "GET /mcp HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\nmcp-session-id: {session}\r\n\r\n"
    );
    let mut streams = Vec::new();
    for _ in 0..4 {
        let mut client = server.connect().await;
        client.send(get.as_bytes()).await;
        assert!(client.more().await);
        streams.push(client);
    }
    assert_eq!(server.ask(get.as_bytes()).await.status, 503);
    streams.pop();
    until("one has left", || server.open_connections() == 3).await;
    let mut client = server.connect().await;
    client.send(get.as_bytes()).await;
    assert!(client.more().await && client.buffer.starts_with(b"HTTP/1.1 200"));
    let delete = format!("DELETE /mcp HTTP/1.1\r\nhost: localhost\r\nmcp-session-id: {session}\r\n\r\n");
    assert_eq!(server.ask(delete.as_bytes()).await.status, 204);
    for mut client in streams {
        client.until_end_of_stream().await;
    }
    assert_eq!(server.endpoint.sessions().count(), 0);
}

impl Client {
    async fn until_end_of_stream(&mut self) {
        while !self.buffer.ends_with(b"0\r\n\r\n") {
            assert!(self.more().await, "the stream ends in order");
        }
    }
}

#[tokio::test]
async fn clients_are_listed_by_name_while_they_have_a_session() {
    let server = Server::start(|_| ()).await;
    let clients = || server.engine.clients().list(server.engine.clock().now()).0;
    let session = server.open_session().await.unwrap();
    server.in_session(&session, &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    until("the client is listed", || clients().len() == 1).await;
    let client = clients().remove(0);
    assert_eq!((client.name.as_str(), client.version.as_str()), ("tests", "1"));
    assert_eq!(client.transport, ClientTransport::HttpSession);
    let end = format!("DELETE /mcp HTTP/1.1\r\nhost: localhost\r\nmcp-session-id: {session}\r\n\r\n");
    server.ask(end.as_bytes()).await;
    until("the client is gone", || clients().is_empty()).await;
}
