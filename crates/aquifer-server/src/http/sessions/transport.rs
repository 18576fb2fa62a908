//! Limits the messages of a session to its client before the SDK stores them.
//!
//! The SDK stores the last messages of every stream, so that a client that lost its connection can fetch them again,
//! and queues any number of messages while the client does not read. It also stores responses to cancelled requests of
//! any size. None of this is bounded in bytes, so this transport bounds the messages that it passes to the SDK.

use std::sync::Arc;

use rmcp::model::{ContentBlock, ErrorCode, GetExtensions as _, JsonRpcMessage, RequestId, ServerResult};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{LocalSessionWorker, LocalSessionWorkerError};
use rmcp::transport::{Transport, WorkerTransport};
use rmcp::{ErrorData, RoleServer};

use super::manager::SharedSessions;
use super::session::{RequestKey, ResponseSlot, Session, WaitingMessage};
use crate::answer::refusal::{self, SERVER_BUSY};

/// The maximum size of a notification, and of a question to a client.
const MAX_NOTIFICATION_BYTES: usize = 64 * 1024;
const MAX_QUESTION_BYTES: usize = 1024 * 1024;

/// A response up to this size is always passed on.
const SMALL_RESPONSE_BYTES: usize = 64 * 1024;

/// The memory of a tree of values as a multiple of its text.
const TREE_FACTOR: usize = 2;

pub(in crate::http) struct SessionTransport {
    inner: WorkerTransport<LocalSessionWorker>,
    session: Arc<Session>,
    shared: Arc<SharedSessions>,
}

/// What to do with a message.
enum SendDecision {
    /// Send it, and hold this guard until the SDK has taken over.
    Sent(SendGuard),
    /// Drop it.
    Dropped,
    /// Refuse it with an error to the sender.
    Refused,
}

/// Counts a message while it is being sent.
enum SendGuard {
    Response(#[expect(dead_code, reason = "counts until it is dropped")] ResponseGuard),
    Other(#[expect(dead_code, reason = "counts until it is dropped")] WaitingMessage),
}

/// Ends a request once its response was taken over or dropped.
struct ResponseGuard {
    session: Arc<Session>,
    key: RequestKey,
    _slot: Arc<ResponseSlot>,
}

impl Drop for ResponseGuard {
    fn drop(&mut self) {
        self.session.end_request(&self.key);
    }
}

impl SessionTransport {
    pub(super) fn new(
        inner: WorkerTransport<LocalSessionWorker>,
        session: Arc<Session>,
        shared: Arc<SharedSessions>,
    ) -> Self {
        Self { inner, session, shared }
    }

    fn decide(&self, message: &mut TxJsonRpcMessage<RoleServer>) -> SendDecision {
        let (max_bytes, otherwise) = match message {
            JsonRpcMessage::Response(response) => {
                let id = response.id.clone();
                return self.decide_response(id, message);
            }
            JsonRpcMessage::Error(error) => {
                return error.id.clone().map_or(SendDecision::Dropped, |id| self.decide_response(id, message));
            }
            JsonRpcMessage::Notification(_) => (MAX_NOTIFICATION_BYTES, SendDecision::Dropped),
            JsonRpcMessage::Request(_) => (MAX_QUESTION_BYTES, SendDecision::Refused),
        };
        let bytes = size(message);
        let Some(counted) = (bytes <= max_bytes).then(|| self.shared.keep(&self.session, bytes)).flatten() else {
            tracing::debug!(bytes, "dropped a message to a client: its session already holds too many bytes");
            return otherwise;
        };
        let Some(waiting) = self.session.begin_waiting() else {
            tracing::debug!("dropped a message to a client: too many messages are waiting for it");
            return otherwise;
        };
        // Its bytes count as long as the message exists, wherever the SDK stores it.
        let counted = Arc::new(counted);
        match message {
            JsonRpcMessage::Notification(notification) => {
                notification.notification.extensions_mut().insert(counted);
            }
            JsonRpcMessage::Request(request) => {
                request.request.extensions_mut().insert(counted);
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        SendDecision::Sent(SendGuard::Other(waiting))
    }

    /// Passes on a response if a client is waiting for it. If there is no room for it even after closing clients that
    /// do not read, it is replaced with a failure.
    fn decide_response(&self, id: RequestId, message: &mut TxJsonRpcMessage<RoleServer>) -> SendDecision {
        let Some((key, slot)) = self.session.begin_response(&id) else { return SendDecision::Dropped };
        let bytes = response_size(message);
        if !slot.hold(bytes) && bytes > SMALL_RESPONSE_BYTES {
            slot.release();
            let error = ErrorData::new(ErrorCode(SERVER_BUSY), refusal::DISCARDED, None);
            *message = JsonRpcMessage::error(error, Some(id));
        }
        SendDecision::Sent(SendGuard::Response(ResponseGuard { session: self.session.clone(), key, _slot: slot }))
    }
}

/// Estimates the memory of a response: its text plus its tree of values.
fn response_size(message: &TxJsonRpcMessage<RoleServer>) -> usize {
    let JsonRpcMessage::Response(response) = message else { return 0 };
    let ServerResult::CallToolResult(result) = &response.result else { return size(message) };
    let text = |block: &ContentBlock| match block {
        ContentBlock::Text(text) => text.text.len() * (1 + TREE_FACTOR),
        ContentBlock::Image(image) => image.data.len(),
        ContentBlock::Audio(audio) => audio.data.len(),
        _ => SMALL_RESPONSE_BYTES,
    };
    result.content.iter().map(text).sum()
}

impl Transport<RoleServer> for SessionTransport {
    type Error = LocalSessionWorkerError;

    fn send(
        &mut self,
        mut message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let decision = self.decide(&mut message);
        let sent = matches!(decision, SendDecision::Sent(_)).then(|| self.inner.send(message));
        async move {
            match (sent, decision) {
                (Some(sent), SendDecision::Sent(_sending)) => sent.await,
                (_, SendDecision::Refused) => Err(LocalSessionWorkerError::TransportClosed),
                _ => Ok(()),
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        self.inner.receive().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

/// The size of a message as text.
fn size(message: &TxJsonRpcMessage<RoleServer>) -> usize {
    struct Counter(usize);
    impl std::io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    match serde_json::to_writer(&mut counter, message) {
        Ok(()) => counter.0,
        Err(_) => usize::MAX,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod tests {
    use std::time::Duration;

    use futures::FutureExt;
    use futures::future::BoxFuture;
    use rmcp::model::{ClientJsonRpcMessage, NumberOrString};
    use rmcp::transport::streamable_http_server::session::local::{
        LocalSessionHandle, SessionConfig, create_local_session,
    };
    use serde_json::{Value, json};

    use super::*;
    use crate::http::connections::Connections;
    use crate::http::sessions::BoundedSessions;
    use crate::http::sessions::session::Rank;

    const DEADLINE: Duration = Duration::from_secs(30);

    struct OpenSession {
        connections: Arc<Connections>,
        session: Arc<Session>,
        transport: SessionTransport,
        handle: LocalSessionHandle,
    }

    fn message(value: Value) -> TxJsonRpcMessage<RoleServer> {
        serde_json::from_value(value).unwrap()
    }

    fn response(id: i64, text: &str) -> TxJsonRpcMessage<RoleServer> {
        message(
            json!({ "jsonrpc": "2.0", "id": id, "result": { "content": [{ "type": "text", "text": text }], "isError": false } }),
        )
    }

    fn log(bytes: usize) -> TxJsonRpcMessage<RoleServer> {
        let params = json!({ "level": "info", "data": "x".repeat(bytes) });
        message(json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params }))
    }

    /// Opens a session with a completed handshake.
    async fn open(max_bytes: usize) -> OpenSession {
        let connections = Connections::new(max_bytes, DEADLINE);
        let shared = BoundedSessions::new(10, connections.clone()).shared;
        let session = Arc::new(Session::new(None, 0, 1, connections.clone()));
        let (handle, worker) = create_local_session("one", SessionConfig::default());
        let mut transport = SessionTransport::new(WorkerTransport::spawn(worker), session.clone(), shared);
        let initialize: ClientJsonRpcMessage =
            serde_json::from_value(json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "tests", "version": "1" } } }))
            .unwrap();
        session.begin_request(&NumberOrString::Number(1), ResponseSlot::new(None)).unwrap();
        let responding = async {
            transport.receive().await.unwrap();
            transport.send(response(1, "welcome")).await
        };
        let (greeted, sent) = futures::join!(handle.initialize(initialize), responding);
        assert!(greeted.is_ok() && sent.is_ok());
        OpenSession { connections, session, transport, handle }
    }

    #[tokio::test]
    async fn stored_messages_of_a_session_are_bounded_in_bytes() {
        let mut opened = open(256 << 20).await;
        // Without a listener, the SDK stores the last sixteen.
        for _ in 0..200 {
            opened.transport.send(log(60_000)).await.unwrap();
        }
        let bytes = opened.session.kept_bytes();
        assert!((60_000..=17 * 64 * 1024).contains(&bytes), "{bytes} bytes");
        assert_eq!(opened.connections.held(), bytes);
        // A message that is too large is skipped and evicts nothing.
        opened.transport.send(log(100_000)).await.unwrap();
        assert_eq!(opened.session.kept_bytes(), bytes);
        drop(opened.transport);
        drop(opened.handle);
        let released = async {
            while opened.connections.held() > 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(DEADLINE, released).await.unwrap();
    }

    #[tokio::test]
    async fn unread_messages_are_bounded() {
        let mut opened = open(256 << 20).await;
        // With a listener that does not read, sixteen messages fit and the rest wait.
        let stream = opened.handle.establish_common_channel().await.unwrap();
        let mut sending: Vec<BoxFuture<'static, _>> = Vec::new();
        for _ in 0..1_000 {
            sending.push(opened.transport.send(log(1_000)).boxed());
        }
        for message in &mut sending {
            let _ = futures::poll!(message);
        }
        assert!(opened.session.kept_bytes() < 100 * 2_000, "{} bytes are kept", opened.session.kept_bytes());
        drop(stream);
    }

    #[tokio::test]
    async fn oversized_questions_are_refused_with_an_error() {
        let mut opened = open(256 << 20).await;
        let question = message(json!({ "jsonrpc": "2.0", "id": 9, "method": "elicitation/create", "params": {
            "message": "x".repeat(2 << 20), "requestedSchema": { "type": "object", "properties": {} } } }));
        assert!(opened.transport.send(question).await.is_err());
    }

    #[tokio::test]
    async fn responses_without_a_waiting_client_are_not_stored() {
        let mut opened = open(256 << 20).await;
        let id = NumberOrString::Number(5);
        opened.session.begin_request(&id, ResponseSlot::new(None)).unwrap();
        assert!(opened.session.cancel(&id));
        opened.transport.send(response(5, "too late")).await.unwrap();
        opened.transport.send(response(6, "never asked")).await.unwrap();
        // Responses without their own stream would arrive here.
        let mut stream = opened.handle.establish_common_channel().await.unwrap();
        opened.transport.send(log(1)).await.unwrap();
        let first = tokio::time::timeout(DEADLINE, stream.inner.recv()).await.unwrap().unwrap();
        assert!(matches!(first.message.as_deref(), Some(JsonRpcMessage::Notification(_))), "{first:?}");
    }

    #[tokio::test]
    async fn responses_count_until_their_stream_has_taken_them() {
        let mut opened = open(1 << 20).await;
        let (connection, _registration) = opened.connections.register([127, 0, 0, 1].into());
        let id = NumberOrString::Number(5);
        let slot = ResponseSlot::new(Some(connection));
        opened.session.begin_request(&id, slot.clone()).unwrap();
        let sending = opened.transport.send(response(5, &"x".repeat(100_000))).boxed();
        assert_eq!(opened.connections.held(), 300_000);
        let _ = tokio::time::timeout(DEADLINE, sending).await.unwrap();
        assert_eq!(opened.connections.held(), 300_000, "a stream that nobody reads holds it");
        drop(slot);
        assert_eq!(opened.connections.held(), 0);
        // A response that cannot be held is reported.
        let (connection, _registration) = opened.connections.register([127, 0, 0, 1].into());
        opened.session.begin_request(&id, ResponseSlot::new(Some(connection))).unwrap();
        let mut too_large = response(5, &"x".repeat(1 << 20));
        assert!(matches!(opened.transport.decide(&mut too_large), SendDecision::Sent(_)));
        let JsonRpcMessage::Error(error) = &too_large else { panic!("{too_large:?}") };
        assert!(error.error.message.contains("was carried out"), "{error:?}");
        assert_eq!(opened.connections.held(), 0);
    }

    #[test]
    fn a_response_being_sent_cannot_be_cancelled() {
        let session = Session::new(None, 0, 1, Connections::new(1 << 20, DEADLINE));
        let id = NumberOrString::Number(5);
        let begin = || session.begin_request(&id, ResponseSlot::new(None));
        let first = begin().unwrap();
        assert!(session.begin_response(&id).is_some());
        assert!(!session.cancel(&id), "it would be kept for nobody");
        assert!(begin().is_err(), "and its id is still in use");
        session.end_request(&first);
        assert!(begin().is_ok());
    }

    #[tokio::test]
    async fn an_id_is_free_as_soon_as_its_response_is_seen() {
        let opened = open(1 << 20).await;
        let id = NumberOrString::Number(5);
        let first = opened.session.begin_request(&id, ResponseSlot::new(None)).unwrap();
        let guard = opened.session.guard(first.clone());
        let mut late = response(5, "first");
        let SendDecision::Sent(sending) = opened.transport.decide(&mut late) else { panic!("it is awaited") };
        // The response is in its stream, and its sender has not been notified yet.
        opened.session.end_request(&first);
        opened.session.begin_request(&id, ResponseSlot::new(None)).unwrap();
        drop((sending, guard));
        assert_eq!(opened.session.rank(1_000_000_000), Rank::Busy, "the second one is still under way");
        assert!(opened.session.begin_response(&id).is_some());
    }

    /// A response to the first request would be mistaken for one to the second.
    #[test]
    fn a_cancelled_id_stays_in_use_until_no_message_can_arrive() {
        let session = Arc::new(Session::new(None, 0, 1, Connections::new(1 << 20, DEADLINE)));
        let id = NumberOrString::Number(5);
        let begin = || session.begin_request(&id, ResponseSlot::new(None));
        let guard = session.guard(begin().unwrap());
        assert!(session.cancel(&id) && session.cancel(&id));
        assert!(begin().is_err(), "somebody still works on it");
        assert_ne!(session.rank(1_000_000_000), Rank::Busy, "but nobody waits for it");
        drop(guard);
        assert!(begin().is_err(), "its answer may not have been discarded yet");
        assert!(session.begin_response(&id).is_none(), "it was cancelled too late for the SDK, and is discarded here");
        let guard = session.guard(begin().unwrap());
        drop(guard);
        assert!(session.cancel(&id), "done, but not answered");
        assert!(begin().is_err());
        assert!(session.begin_response(&id).is_none());
        // A client that has the response can reuse the id at once.
        let again = begin().unwrap();
        assert!(session.begin_response(&id).is_some());
        session.end_request(&again);
        assert!(begin().is_ok());
    }

    #[test]
    fn frequent_cancellation_does_not_block_a_client() {
        let session = Arc::new(Session::new(None, 0, 1, Connections::new(1 << 20, DEADLINE)));
        let mut accepted = 0;
        for number in 0..10_000 {
            let id = NumberOrString::Number(number);
            let Ok(key) = session.begin_request(&id, ResponseSlot::new(None)) else { break };
            let guard = session.guard(key);
            assert!(session.cancel(&id));
            drop(guard);
            accepted += 1;
        }
        assert!((1_000..2_000).contains(&accepted), "{accepted}: there is a bound, and it is not that of requests");
    }

    #[test]
    fn unanswered_requests_do_not_keep_a_session_forever() {
        let session = Arc::new(Session::new(None, 0, 1, Connections::new(1 << 20, DEADLINE)));
        let id = NumberOrString::Number(5);
        let key = session.begin_request(&id, ResponseSlot::new(None)).unwrap();
        let guard = session.guard(key);
        assert_eq!(session.rank(1_000_000_000), Rank::Busy, "as long as somebody works on it");
        drop(guard);
        assert_eq!(session.rank(1_000), Rank::Busy, "the answer is about to come");
        assert_eq!(session.rank(1_000_000_000), Rank::Abandoned, "it never came");
    }
}
