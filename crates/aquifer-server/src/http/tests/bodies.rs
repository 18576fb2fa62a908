//! Request bodies that never arrive completely.

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn incomplete_bodies_stay_within_the_budget_and_do_not_lock_out_others() {
    let server = Server::start(|_| ()).await;
    let mut half_sent = Vec::new();
    let mut most = 0;
    for _ in 0..60 {
        let mut client = server.connect().await;
        let mut request = post(&[], &vec![b' '; MIB]);
        request.truncate(request.len() - 1);
        client.send(&request).await;
        half_sent.push(client);
        most = most.max(server.held());
    }
    // Connections that make room let go a moment later, and a growing vector may take twice its size.
    assert!(most <= 2 * 8 * MIB, "{most} bytes were held");
    until("it is within the budget", || server.held() <= 8 * MIB).await;
    // Meanwhile, clients that retry when refused can make calls.
    for _ in 0..20 {
        let answered = async {
            while server.ask(&call("get_small")).await.status != 200 {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(DEADLINE, answered).await.expect("an answer in time");
    }
    drop(half_sent);
    until("everything is let go", || server.held() == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn small_chunks_cost_no_more_than_their_bytes() {
    let server = Server::start(|_| ()).await;
    let mut client = server.connect().await;
    let head = "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
                accept: application/json, text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    client.send(head.as_bytes()).await;
    client.send(&b"1\r\n \r\n".repeat(100_000)).await;
    until("they have come", || server.held() >= 100_000).await;
    assert!(server.held() <= 4 * 100_000, "{} bytes are held", server.held());
    client.send(b"2\r\n{}\r\n0\r\n\r\n").await;
    assert!(client.answer().await.is_some_and(|answer| answer.status >= 400));
    until("everything is let go", || server.held() == 0).await;
}
