//! What a session sends to its client, bounded before the SDK keeps it.
//!
//! The SDK keeps the last messages of every stream so that a client that lost its connection can have them again, and
//! lets any number of messages wait while nobody reads. It also keeps an answer that nobody waits for any more, however
//! large it is. Neither is bounded in bytes, so what goes in is.

use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{GetExtensions as _, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{LocalSessionWorker, LocalSessionWorkerError};
use rmcp::transport::{Transport, WorkerTransport};

use super::Shared;
use super::session::{Session, WaitingMessage};

/// The largest notification, and the largest question to a client.
const MAX_NOTIFICATION_BYTES: usize = 64 * 1024;
const MAX_QUESTION_BYTES: usize = 1024 * 1024;

pub(in crate::http) struct SessionTransport {
    inner: WorkerTransport<LocalSessionWorker>,
    session: Arc<Session>,
    shared: Arc<Shared>,
}

/// What is to be done with a message.
enum Passage {
    /// It is sent, and this is held until the SDK has taken it over.
    Sent(Sending),
    /// It is left out.
    Dropped,
    /// It cannot be sent, and whoever sends it has to know.
    Refused,
}

/// What a message counts as while it is on its way.
enum Sending {
    Answer(#[expect(dead_code, reason = "counts until it is dropped")] Answering),
    Other(#[expect(dead_code, reason = "counts until it is dropped")] WaitingMessage),
}

/// Ends a request when its answer was taken over, or will never be.
struct Answering(Arc<Session>, RequestId);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.end_answer(&self.1);
    }
}

impl SessionTransport {
    pub(super) fn new(inner: WorkerTransport<LocalSessionWorker>, session: Arc<Session>, shared: Arc<Shared>) -> Self {
        Self { inner, session, shared }
    }

    fn judge(&self, message: &mut TxJsonRpcMessage<RoleServer>) -> Passage {
        let (max_bytes, otherwise) = match message {
            JsonRpcMessage::Response(response) => return self.judge_answer(&response.id),
            JsonRpcMessage::Error(error) => {
                return error.id.as_ref().map_or(Passage::Dropped, |id| self.judge_answer(id));
            }
            JsonRpcMessage::Notification(_) => (MAX_NOTIFICATION_BYTES, Passage::Dropped),
            JsonRpcMessage::Request(_) => (MAX_QUESTION_BYTES, Passage::Refused),
        };
        let bytes = size(message);
        let Some(kept) = (bytes <= max_bytes).then(|| self.shared.keep(&self.session, bytes)).flatten() else {
            tracing::debug!(bytes, "a message to a client was left out: too much is kept for its session");
            return otherwise;
        };
        let Some(waiting) = self.session.begin_waiting() else {
            tracing::debug!("a message to a client was left out: too many wait for it");
            return otherwise;
        };
        // The count lives as long as the message does, wherever the SDK keeps it.
        let kept = Arc::new(kept);
        match message {
            JsonRpcMessage::Notification(notification) => {
                notification.notification.extensions_mut().insert(kept);
            }
            JsonRpcMessage::Request(request) => {
                request.request.extensions_mut().insert(kept);
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        Passage::Sent(Sending::Other(waiting))
    }

    fn judge_answer(&self, id: &RequestId) -> Passage {
        if !self.session.begin_answer(id) {
            return Passage::Dropped;
        }
        Passage::Sent(Sending::Answer(Answering(self.session.clone(), id.clone())))
    }
}

impl Transport<RoleServer> for SessionTransport {
    type Error = LocalSessionWorkerError;

    fn send(
        &mut self,
        mut message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let passage = self.judge(&mut message);
        let sent = matches!(passage, Passage::Sent(_)).then(|| self.inner.send(message));
        async move {
            match (sent, passage) {
                (Some(sent), Passage::Sent(_sending)) => sent.await,
                (_, Passage::Refused) => Err(LocalSessionWorkerError::TransportClosed),
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

/// How many bytes a message has as text.
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
