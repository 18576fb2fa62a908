//! Sessions of older clients, no more than a set number of them.

use std::cell::Cell;
use std::time::Duration;

use futures::Stream;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, LocalSessionManagerError};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};

/// A session nobody uses for this long is closed.
const IDLE: Duration = Duration::from_secs(30 * 60);

tokio::task_local! {
    /// Whether this request wanted a session that there was no room for.
    static REFUSED: Cell<bool>;
}

pub(super) struct BoundedSessions {
    inner: LocalSessionManager,
    most: usize,
}

/// Why a session cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionsError {
    #[error("too many sessions; end one, then repeat")]
    Full,
    #[error(transparent)]
    Inner(#[from] LocalSessionManagerError),
}

impl BoundedSessions {
    pub(super) fn new(most: usize) -> Self {
        let mut inner = LocalSessionManager::default();
        inner.session_config.keep_alive = Some(IDLE);
        Self { inner, most }
    }

    /// What comes of a request to the SDK, unless it was refused for want of room: the SDK has no word for that.
    pub(super) async fn unless_full<T>(handled: impl Future<Output = T>) -> Option<T> {
        let watched = async {
            let answer = handled.await;
            (!REFUSED.with(Cell::get)).then_some(answer)
        };
        REFUSED.scope(Cell::new(false), watched).await
    }
}

impl SessionManager for BoundedSessions {
    type Error = SessionsError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        if self.inner.sessions.read().await.len() >= self.most {
            let _ = REFUSED.try_with(|refused| refused.set(true));
            tracing::warn!(most = self.most, "a session was refused; raise [http] most_sessions if this is too few");
            return Err(SessionsError::Full);
        }
        Ok(self.inner.create_session().await?)
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        Ok(self.inner.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        Ok(self.inner.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        Ok(self.inner.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        Ok(self.inner.create_stream(id, message).await?)
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        Ok(self.inner.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        Ok(self.inner.create_standalone_stream(id).await?)
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        Ok(self.inner.resume(id, last_event_id).await?)
    }
}
