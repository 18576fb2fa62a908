//! The stream of events belongs to a session and ends with it.

use axum::body::Body;
use futures::StreamExt as _;
use futures::stream::BoxStream;

use crate::fixture::Fixture;

type Pieces = BoxStream<'static, Result<axum::body::Bytes, axum::Error>>;

async fn next(pieces: &mut Pieces) -> Option<String> {
    Some(String::from_utf8_lossy(&pieces.next().await?.unwrap()).into_owned())
}

fn pieces(body: Body) -> Pieces {
    body.into_data_stream().boxed()
}

#[tokio::test]
async fn the_stream_ends_when_the_person_logs_out() {
    let fixture = Fixture::new();
    let (first, second) = (fixture.log_in().await, fixture.log_in().await);
    let mut ended = pieces(fixture.stream(&first, "/api/events").await);
    let mut going_on = pieces(fixture.stream(&second, "/api/events").await);
    for stream in [&mut ended, &mut going_on] {
        assert!(next(stream).await.unwrap().starts_with("event: hello\n"));
    }
    fixture.log_out(&first).await;
    // A stream that does not end would keep this test waiting.
    while next(&mut ended).await.is_some() {}
    fixture.waiting_call("x").await;
    loop {
        let piece = next(&mut going_on).await.expect("another session goes on");
        if piece.contains("\"pending\":1") {
            break;
        }
    }
}

#[tokio::test]
async fn the_stream_ends_when_the_session_expires() {
    let fixture = Fixture::new();
    let session = fixture.log_in().await;
    let mut stream = pieces(fixture.stream(&session, "/api/events").await);
    assert!(next(&mut stream).await.unwrap().starts_with("event: hello\n"));
    fixture.wall.advance(13 * 60 * 60);
    while next(&mut stream).await.is_some() {}
}
