//! Writes messages to the client and bounds the size of what it leaves unread.

use aquifer_protocol::limits::Limits;
use rmcp::RoleServer;
use rmcp::model::{JsonRpcMessage, RequestId, ServerResult};
use rmcp::service::TxJsonRpcMessage;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio_util::sync::CancellationToken;

use super::pending::Pending;
use crate::answer::payload::CallAnswer;
use crate::answer::refusal;

/// The stream to the client. Everything is written through it, because each write may have to wait for a client that
/// does not read, and all of these waits have to end when the client is given up.
pub(super) struct Output<W> {
    write: tokio::sync::Mutex<W>,
    given_up: CancellationToken,
}

impl<W: AsyncWrite + Send + Unpin> Output<W> {
    pub(super) fn new(write: W, given_up: CancellationToken) -> Self {
        Self { write: tokio::sync::Mutex::new(write), given_up }
    }

    pub(super) async fn write_line(&self, mut line: Vec<u8>) -> std::io::Result<()> {
        line.push(b'\n');
        self.unless_given_up(async {
            let mut write = self.write.lock().await;
            // Nothing may follow a line that was cut off.
            if self.given_up.is_cancelled() {
                return Err(std::io::ErrorKind::TimedOut.into());
            }
            write.write_all(&line).await?;
            write.flush().await
        })
        .await
    }

    pub(super) async fn close(&self) -> std::io::Result<()> {
        self.unless_given_up(async { self.write.lock().await.shutdown().await }).await
    }

    async fn unless_given_up(&self, writing: impl Future<Output = std::io::Result<()>>) -> std::io::Result<()> {
        let written = self.given_up.run_until_cancelled(writing).await;
        written.unwrap_or_else(|| Err(std::io::ErrorKind::TimedOut.into()))
    }
}

/// Writes the answer to a direct call.
pub(super) async fn send_answer<W: AsyncWrite + Send + Unpin>(
    answer: CallAnswer,
    output: &Output<W>,
    pending: &Pending,
    limits: &Limits,
) -> std::io::Result<()> {
    let answered = Answered { id: Some(answer.id.clone()), is_call: answer.is_complete() };
    send_line(answer.encode()?, answered, output, pending, limits).await
}

/// Writes a message from the SDK. An answer ends its request.
pub(super) async fn send<W: AsyncWrite + Send + Unpin>(
    message: TxJsonRpcMessage<RoleServer>,
    output: &Output<W>,
    pending: &Pending,
    limits: &Limits,
) -> std::io::Result<()> {
    let line = serde_json::to_vec(&message)?;
    let answered = match message {
        JsonRpcMessage::Response(response) => {
            let is_call = matches!(response.result, ServerResult::CallToolResult(_));
            Answered { id: Some(response.id), is_call }
        }
        JsonRpcMessage::Error(error) => Answered { id: error.id, is_call: false },
        JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => {
            return send_other(line, output, pending).await;
        }
    };
    send_line(line, answered, output, pending, limits).await
}

/// The request that a message answers.
struct Answered {
    id: Option<RequestId>,
    is_call: bool,
}

/// Writes an answer, or a short failure in its place if the client has left too much unread.
async fn send_line<W: AsyncWrite + Send + Unpin>(
    mut line: Vec<u8>,
    Answered { id, is_call }: Answered,
    output: &Output<W>,
    pending: &Pending,
    limits: &Limits,
) -> std::io::Result<()> {
    if let Some(id) = &id {
        pending.settle(id);
    }
    if !pending.hold(line.len()) {
        line = id.as_ref().map(|id| refusal::discarded(id, is_call, limits)).unwrap_or_default();
        pending.hold(line.len());
    }
    let size = line.len();
    let written = output.write_line(line).await;
    pending.release(size);
    if let Some(id) = id {
        pending.end(&id);
    }
    written
}

/// Writes a message that is not an answer, unless too many of them are waiting for a slow client.
async fn send_other<W: AsyncWrite + Send + Unpin>(
    line: Vec<u8>,
    output: &Output<W>,
    pending: &Pending,
) -> std::io::Result<()> {
    let size = line.len();
    if !pending.hold_other(size) {
        return Err(std::io::Error::other("the client does not read its answers"));
    }
    let written = output.write_line(line).await;
    pending.release_other(size);
    written
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
mod tests {
    use std::task::Poll;

    use aquifer_protocol::response::{Data, JsonText, Response, Success};
    use rmcp::model::NumberOrString;
    use serde_json::{Value, json};
    use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

    use super::*;
    use crate::answer::payload::{Payload, ResultForm};

    const MIB: usize = 1024 * 1024;
    const MAX: usize = 4 * MIB;

    fn answer(id: i64, bytes: usize) -> CallAnswer {
        let text = JsonText::vouched(format!("\"{}\"", "x".repeat(bytes)));
        let response = Response::Success(Success::new(Data::Text(text))).render(&Limits::default());
        let result = Ok(Payload::Response(response));
        CallAnswer { id: NumberOrString::Number(id), result, form: ResultForm::Untyped }
    }

    #[tokio::test]
    async fn unread_answers_are_bounded_and_every_request_is_answered() {
        let (pending, limits) = (Pending::new(MAX), Limits::default());
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let output = Output::new(ours, CancellationToken::new());
        for id in 0..100 {
            // They were accepted before the size of their answers was known.
            pending.begin(&NumberOrString::Number(id), false, 0);
        }
        // Some are small and are always kept.
        let bytes = |id: i64| if id % 10 == 9 { 1_000 } else { MIB / 2 };
        let send_one = |id| send_answer(answer(id, bytes(id)), &output, &pending, &limits);
        let mut sending: Vec<_> = (0..100).map(|id| Box::pin(send_one(id))).collect();
        for message in &mut sending {
            assert!(futures::poll!(message).is_pending(), "nobody reads");
        }
        let (unread, _) = pending.held();
        assert!(unread > MIB && unread <= MAX + 100 * 4_096, "{unread} bytes wait");
        let reading = async {
            let mut lines = BufReader::new(theirs).lines();
            let (mut whole, mut discarded) = (0, 0);
            for _ in 0..100 {
                let line = lines.next_line().await.unwrap().unwrap();
                let message: Value = serde_json::from_str(&line).unwrap();
                let error = &message["result"]["structuredContent"]["error"];
                if error.is_null() {
                    whole += 1;
                } else {
                    assert!(error["message"].as_str().unwrap().contains("was carried out"), "{error}");
                    assert_ne!(message["id"].as_i64().unwrap() % 10, 9, "small answers are kept");
                    discarded += 1;
                }
            }
            (whole, discarded)
        };
        let (sent, (whole, discarded)) = futures::join!(futures::future::try_join_all(sending), reading);
        assert!(sent.is_ok() && whole >= 10 && discarded > 0, "{whole} whole, {discarded} discarded");
        assert_eq!(pending.held(), (0, 0));
        assert!(!pending.is_full(0), "there is room again");
    }

    #[tokio::test]
    async fn unread_notifications_are_dropped() {
        let (pending, limits) = (Pending::new(MAX), Limits::default());
        let (ours, _theirs) = tokio::io::duplex(64);
        let output = Output::new(ours, CancellationToken::new());
        let message = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": "info", "data": "x".repeat(1_000) } });
        let send_one = || {
            let message = serde_json::from_value(message.clone()).unwrap();
            Box::pin(send(message, &output, &pending, &limits))
        };
        let mut sending: Vec<_> = (0..5_000).map(|_| send_one()).collect();
        let mut left_out = 0;
        for message in &mut sending {
            left_out += usize::from(futures::poll!(message).is_ready());
        }
        let (unread, waiting) = pending.held();
        assert!(waiting <= 256 && unread <= 256 * 2_000, "{waiting} wait, with {unread} bytes");
        assert_eq!(left_out + waiting, 5_000);
    }

    #[tokio::test]
    async fn nothing_waits_for_a_client_that_was_given_up() {
        let (pending, limits, given_up) = (Pending::new(MAX), Limits::default(), CancellationToken::new());
        let (ours, mut theirs) = tokio::io::duplex(64);
        let output = Output::new(ours, given_up.clone());
        let mut sending: Vec<_> =
            (0..3).map(|id| Box::pin(send_answer(answer(id, 1_000), &output, &pending, &limits))).collect();
        for message in &mut sending {
            assert!(futures::poll!(message).is_pending(), "nobody reads");
        }
        let mut closing = Box::pin(output.close());
        assert!(futures::poll!(&mut closing).is_pending(), "what is being written may still arrive");
        given_up.cancel();
        for message in &mut sending {
            assert!(matches!(futures::poll!(message), Poll::Ready(Err(_))));
        }
        assert!(futures::poll!(&mut closing).is_ready());
        // The client reads again, but too late: a message would follow one that was cut off.
        theirs.read_exact(&mut [0; 64]).await.unwrap();
        assert!(output.write_line(b"{}".to_vec()).await.is_err());
        assert_eq!(pending.held(), (0, 0));
        drop(closing);
        drop(sending);
        drop(output);
        assert_eq!(theirs.read(&mut [0; 64]).await.unwrap(), 0);
    }
}
