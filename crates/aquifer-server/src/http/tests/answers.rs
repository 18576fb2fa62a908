//! Answers that the client does not read.

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;

use super::*;

/// Size of the answers that may be under construction at the same time, on top of the budget.
const IN_THE_MAKING: usize = 4 * LARGE_MESSAGE;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unread_answers_stay_within_the_budget() {
    let server = Server::start(|settings| settings.max_unread_bytes = 16 * MIB).await;
    let mut silent = Vec::new();
    let mut most = 0;
    for _ in 0..100 {
        let mut client = server.connect().await;
        client.send(&call("get_large")).await;
        silent.push(client);
        most = most.max(server.held());
    }
    let is_settled = || {
        most = most.max(server.held());
        server.endpoint.in_flight().calls() == 0
    };
    until("all calls end", is_settled).await;
    assert!(most <= 16 * MIB + IN_THE_MAKING, "{most} bytes were held");
    until("what is held is within the budget", || server.held() <= 16 * MIB).await;
    // Others are served meanwhile: at once, or when the silent clients have moved nothing for long enough.
    for _ in 0..20 {
        assert_eq!(ask_until_served(&server, &call("get_small")).await.status, 200);
        assert_eq!(ask_until_served(&server, &call("get_large")).await.json()["result"]["isError"], false);
    }
    drop(silent);
    until("everything is let go", || server.held() == 0).await;
}

/// Sends a request again as long as the server asks for that.
async fn ask_until_served(server: &Server, request: &[u8]) -> TestResponse {
    let served = async {
        loop {
            let response = server.ask(request).await;
            match response.header("retry-after") {
                Some(_) => tokio::time::sleep(Duration::from_millis(20)).await,
                None => return response,
            }
        }
    };
    tokio::time::timeout(DEADLINE, served).await.expect("a response other than 503")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_calls_do_not_run() {
    let server = Server::start(|settings| settings.max_unread_bytes = 4 * MIB).await;
    // Each reserves 128 KiB and a little more for the request.
    let mut waiting = Vec::new();
    for _ in 0..100 {
        let mut client = server.connect().await;
        client.send(&call("get_slow")).await;
        waiting.push(client);
    }
    let answered = |server: &Server| server.endpoint.in_flight().calls() == server.calls_made();
    until("calls have begun", || server.calls_made() > 20 && answered(&server)).await;
    // Another call is refused and does not change the count.
    let before = server.calls_made();
    let refused = server.ask(&call("get_slow")).await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "{refused:?}");
    assert!(refused.body.contains("too many answers are waiting"), "{}", refused.body);
    assert_eq!(server.calls_made(), before);
    server.board.slow.add_permits(1_000);
    let (mut done, mut told_to_repeat) = (0, 0);
    for client in &mut waiting {
        match client.answer().await.expect("an answer").status {
            200 => done += 1,
            503 => told_to_repeat += 1,
            other => panic!("{other}"),
        }
    }
    assert_eq!(
        (done, done + told_to_repeat),
        (server.calls_made(), 100),
        "made are exactly those that were not refused"
    );
    assert_eq!(server.ask(&call("get_small")).await.status, 200, "there is room again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_reserve_for_all_their_operations() {
    let server = Server::start(|settings| settings.max_unread_bytes = 4 * MIB).await;
    let batch = |operation: &str| call_with(json!({ "operations": vec![json!({ "operation": operation }); 100] }));
    // Such a batch alone may fill a quarter of the budget, so that four fit.
    let mut answers = FuturesUnordered::new();
    for _ in 0..8 {
        let mut client = server.connect().await;
        client.send(&batch("get_slow")).await;
        answers.push(async move { client.answer().await.expect("an answer") });
    }
    // The others cannot be answered yet, so the first four answers are refusals.
    for _ in 0..4 {
        assert_eq!(answers.next().await.unwrap().status, 503);
    }
    server.board.slow.add_permits(10_000);
    let mut succeeded = 0;
    while let Some(answer) = answers.next().await {
        if answer.status != 503 {
            let answer = answer.json();
            assert_eq!(answer["result"]["structuredContent"]["summary"]["succeeded"], 100, "{answer}");
            succeeded += 1;
        }
    }
    assert!(succeeded > 0, "all batches were refused");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stuck_reader_is_closed_and_a_slow_reader_is_not() {
    // No connection is closed before the test says that this time has passed.
    let timeout = Duration::from_secs(3_600);
    let server = Server::start(|settings| settings.write_timeout = timeout).await;
    let mut slow = server.connect().await;
    slow.send(&call("get_large")).await;
    until("the slow one waits", || server.held() >= LARGE_MESSAGE).await;
    let slow_connection = server.endpoint.connections().lock().values().next().unwrap().clone();
    let mut stuck = server.connect().await;
    stuck.send(&call("get_large")).await;
    let mut idle = server.connect().await;
    assert_eq!(idle.ask(&call("get_small")).await.status, 200);
    let connections = server.endpoint.connections();
    let blocked_count = || connections.lock().values().filter(|other| other.unwritten_for(0).is_some()).count();
    until("both wait", || blocked_count() == 2).await;

    let stuck_connection = connections
        .lock()
        .values()
        .find(|other| other.unwritten_for(0).is_some() && !Arc::ptr_eq(other, &slow_connection))
        .unwrap()
        .clone();
    let last_progress = |connection: &crate::http::connection::Connection| {
        let now = connections.now();
        connection.unwritten_for(now).map_or(now, |waited| now - waited)
    };
    let mut read = 0;
    let mut piece = vec![0_u8; 16 * 1024];
    // The system may still take something of the stuck one's answer. Then it counts from there.
    while server.open_connections() == 3 {
        let stalled_at = last_progress(&stuck_connection);
        // The slow one reads piece by piece until the server could write more, later than to the stuck one.
        while last_progress(&slow_connection) <= stalled_at {
            read += tokio::time::timeout(DEADLINE, slow.stream.read(&mut piece)).await.unwrap().unwrap();
            tokio::task::yield_now().await;
        }
        connections.sweep_at(stalled_at + u64::try_from(timeout.as_millis()).unwrap());
        let has_moved = || last_progress(&stuck_connection) > stalled_at;
        until("the stuck one is closed, or has moved", || server.open_connections() == 2 || has_moved()).await;
    }
    assert!(stuck.answer().await.is_none(), "its answer is not whole");
    while read < LARGE_MESSAGE {
        let count = tokio::time::timeout(DEADLINE, slow.stream.read(&mut piece)).await.unwrap().unwrap();
        assert!(count > 0, "only {read} bytes came");
        read += count;
    }
    assert_eq!(idle.ask(&call("get_small")).await.status, 200, "nothing waits for an idle one");
}

impl Client {
    async fn ask(&mut self, request: &[u8]) -> TestResponse {
        self.send(request).await;
        self.answer().await.expect("an answer")
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pipelined_requests_run_one_by_one() {
    let server = Server::start(|_| ()).await;
    let mut client = server.connect().await;
    let large = call("get_large");
    let all = large.repeat(50);
    let (mut read, mut write) = client.stream.into_split();
    let writing = tokio::spawn(async move {
        let _ = write.write_all(&all).await;
        write
    });
    until("the first is answered", || server.held() > 0).await;
    // The next is not made before the peer has taken the one before it.
    let (mut calls, mut same) = (server.calls_made(), 0);
    until("nothing happens any more", || {
        same = if server.calls_made() == calls { same + 1 } else { 0 };
        calls = server.calls_made();
        same > 100
    })
    .await;
    assert!(calls <= 2, "{calls} calls were made");
    assert!(server.held() <= 2 * LARGE_MESSAGE + MIB, "{} bytes are held", server.held());
    // A client that reads gets everything.
    let reading = tokio::spawn(async move {
        let (mut whole, mut piece) = (0, vec![0_u8; MIB]);
        while whole < 50 * LARGE_MESSAGE {
            whole += tokio::time::timeout(DEADLINE, read.read(&mut piece)).await.unwrap().unwrap();
        }
        read
    });
    let (read, write) = (reading.await.unwrap(), writing.await.unwrap());
    client = Client { stream: read.reunite(write).unwrap(), buffer: Vec::new() };
    until("all are made", || server.calls_made() == 50).await;
    drop(client);
    until("everything is let go", || server.held() == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_of_sessions_are_within_the_same_budget() {
    let change = |settings: &mut HttpSettings| {
        settings.max_unread_bytes = 16 * MIB;
        settings.write_timeout = Duration::from_secs(2);
    };
    let server = Server::start(change).await;
    let session = server.open_session().await.unwrap();
    let mut silent = Vec::new();
    let mut most = 0;
    for id in 0..60 {
        let mut client = server.connect().await;
        client.send(&session_request(&session, &session_call(id, "get_large"))).await;
        silent.push(client);
        most = most.max(server.held());
    }
    let is_settled = || {
        most = most.max(server.held());
        server.endpoint.in_flight().calls() == 0
    };
    until("all calls end", is_settled).await;
    assert!(most <= 16 * MIB + IN_THE_MAKING, "{most} bytes were held");
    until("what is held is within the budget", || server.held() <= 16 * MIB).await;
    let answer = ask_until_served(&server, &session_request(&session, &session_call(1_000, "get_small"))).await;
    assert_eq!(answer.json()["result"]["structuredContent"]["data"], "small", "the session goes on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_count_until_they_end_even_after_their_client_disconnects() {
    let server = Server::start(|_| ()).await;
    let session = server.open_session().await.unwrap();
    for id in 0..10 {
        let mut client = server.connect().await;
        client.send(&session_request(&session, &session_call(id, "get_slow"))).await;
        until("it has begun", || server.calls_made() == id as usize + 1).await;
    }
    until("they have left", || server.open_connections() == 0).await;
    assert_eq!(server.endpoint.in_flight().calls(), 10, "a session's calls go on");
    server.board.slow.add_permits(10);
    until("they are over", || server.endpoint.in_flight().calls() == 0).await;
}
