//! Opens and closes sessions and passes requests to them.

use std::cell::Cell;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::body::Bytes;
use futures::{FutureExt, Stream, StreamExt};
use parking_lot::{Mutex, MutexGuard};
use rmcp::model::{ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionError,
};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};

use super::handover::{CompleteOnDrop, PendingRequest, RunningRequest};
use super::rate;
use super::session::{KeptBytes, OpenStream, RequestRejection, Session};
use super::table::{self, SessionLimit, SessionTable};
use super::transport::SessionTransport;
use crate::http::connection::Connection;
use crate::http::connections::Connections;
use crate::http::throttle::WarningThrottle;
use crate::progress;

/// The maximum size of a request that opens a session. The client's description is stored as long as the session
/// exists.
const MAX_INITIALIZE_BYTES: usize = 64 * 1024;

/// The approximate memory of a JSON value apart from its text.
const VALUE_BYTES: usize = 200;

/// Messages up to this size are always stored, so that sessions over the budget cannot block the others. Their total is
/// bounded by the number of sessions.
const SMALL_INITIALIZE: usize = 16 * 1024;
const SMALL_MESSAGE: usize = 1024;

tokio::task_local! {
    pub(super) static SCOPE: Scope;
}

/// State of a request that the SDK does not pass to the session manager.
pub(super) struct Scope {
    pub(super) connection: Arc<Connection>,
    body: Bytes,
    refusal: Cell<Option<SessionRefusal>>,
}

/// Why the session manager refused a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum SessionRefusal {
    /// Too many sessions are being opened. Retry after this many seconds.
    TooFast(u64),
    /// Every session is waiting for a response.
    AllBusy,
    /// The request that opens a session is too large.
    TooLarge,
    /// The session was closed to make room.
    Gone,
    /// A request with the same id is running.
    DuplicateId,
    /// The session has too many requests or streams.
    TooMany,
}

/// Errors of the session manager.
#[derive(Debug, thiserror::Error)]
pub(in crate::http) enum SessionsError {
    #[error("refused")]
    Refused,
    #[error(transparent)]
    Inner(#[from] LocalSessionManagerError),
}

pub(in crate::http) struct BoundedSessions {
    inner: LocalSessionManager,
    pub(super) shared: Arc<SharedSessions>,
}

pub(super) struct SharedSessions {
    connections: Arc<Connections>,
    table: Mutex<SessionTable>,
    /// Sessions that were closed here but not yet in the SDK.
    to_close: Mutex<Vec<SessionId>>,
    warning: WarningThrottle,
}

impl SharedSessions {
    fn table(&self) -> MutexGuard<'_, SessionTable> {
        self.table.lock()
    }

    fn schedule_close(&self, id: SessionId) {
        self.to_close.lock().push(id);
    }

    /// Counts a message stored for a session.
    pub(super) fn keep(&self, session: &Arc<Session>, bytes: usize) -> Option<KeptBytes> {
        let counted = session.keep(bytes)?;
        (bytes <= SMALL_MESSAGE || self.make_room(bytes, self.connections.now())).then_some(counted)
    }

    /// Closes an unused session if the total exceeds the budget with this many more bytes. Returns `false` if that
    /// would not be enough.
    fn make_room(&self, bytes: usize, now: u64) -> bool {
        if !self.connections.is_session_share_exceeded() {
            return true;
        }
        let closed = self.table().close_largest_unused(bytes, now);
        closed.map(|id| self.schedule_close(id)).is_some()
    }
}

impl BoundedSessions {
    pub(in crate::http) fn new(max: usize, connections: Arc<Connections>) -> Self {
        let mut inner = LocalSessionManager::default();
        inner.session_config.keep_alive = Some(Duration::from_millis(table::IDLE_TIMEOUT_MS));
        // The SDK would only cache streams of cancelled requests. They get no response, so no client resumes them.
        inner.session_config.completed_cache_ttl = Duration::ZERO;
        let table = Mutex::new(SessionTable::new(max));
        Self {
            inner,
            shared: Arc::new(SharedSessions {
                connections,
                table,
                to_close: Mutex::default(),
                warning: WarningThrottle::default(),
            }),
        }
    }

    /// Runs a request in the SDK and returns its outcome, unless the session manager refused it.
    pub(in crate::http) async fn scoped<T>(
        connection: Arc<Connection>,
        body: Bytes,
        handled: impl Future<Output = T>,
    ) -> Result<T, SessionRefusal> {
        let watched = async {
            let outcome = handled.await;
            SCOPE.with(|scope| scope.refusal.get()).map_or(Ok(outcome), Err)
        };
        SCOPE.scope(Scope { connection, body, refusal: Cell::new(None) }, watched).await
    }

    /// The number of sessions.
    #[cfg(test)]
    pub(in crate::http) fn count(&self) -> usize {
        self.shared.table().len()
    }

    /// Closes unused sessions. Called about once a second.
    pub(in crate::http) async fn sweep(&self) {
        let expired = self.shared.table().expire(self.shared.connections.now());
        expired.into_iter().for_each(|id| self.shared.schedule_close(id));
        self.close_scheduled().await;
    }

    /// Closes the sessions in the SDK that were closed here.
    async fn close_scheduled(&self) {
        let to_close = std::mem::take(&mut *self.shared.to_close.lock());
        if to_close.is_empty() {
            return;
        }
        let mut sessions = self.inner.sessions.write().await;
        for id in to_close {
            if let Some(handle) = sessions.remove(&id) {
                tracing::debug!(session = %id, "closed an idle session");
                // A session that cannot accept this message now ends anyway, because its last sender is dropped.
                let _ = handle.close().now_or_never();
            }
        }
    }

    fn refuse_session(&self, cause: SessionLimit, now: u64) -> SessionsError {
        if self.shared.warning.is_due(now) {
            tracing::warn!(?cause, "refused a new session; raise [http] max_sessions if there are too few");
        }
        refused(cause.into())
    }

    fn get(&self, id: &SessionId) -> Result<Arc<Session>, SessionsError> {
        let session = self.shared.table().get(id).cloned();
        let session = session.ok_or_else(|| refused(SessionRefusal::Gone))?;
        session.touch(self.shared.connections.now());
        Ok(session)
    }

    /// Opens a stream that keeps its session in use.
    fn open_stream(&self, id: &SessionId) -> Result<OpenStream, SessionsError> {
        let session = self.get(id)?;
        session.set_initialized();
        let place = self.shared.table().make_room_for_stream(self.shared.connections.now());
        if let Some(to_close) = place.map_err(|cause| refused(cause.into()))? {
            self.shared.schedule_close(to_close);
        }
        session.open_stream().map_err(|cause| refused(cause.into()))
    }
}

impl From<RequestRejection> for SessionRefusal {
    fn from(cause: RequestRejection) -> Self {
        match cause {
            RequestRejection::DuplicateId => SessionRefusal::DuplicateId,
            RequestRejection::TooManyRequests | RequestRejection::TooManyStreams => SessionRefusal::TooMany,
        }
    }
}

impl From<SessionLimit> for SessionRefusal {
    fn from(cause: SessionLimit) -> Self {
        match cause {
            SessionLimit::TooFast(seconds) => SessionRefusal::TooFast(seconds),
            SessionLimit::AllBusy => SessionRefusal::AllBusy,
        }
    }
}

/// Records the reason for the response, because the SDK would report an internal error.
pub(super) fn refused(why: SessionRefusal) -> SessionsError {
    let _ = SCOPE.try_with(|scope| scope.refusal.set(Some(why)));
    SessionsError::Refused
}

/// Estimates the memory of a JSON text as a tree of values.
fn tree_size(text: &[u8]) -> usize {
    let values = text.iter().filter(|byte| matches!(byte, b',' | b':' | b'{' | b'[')).count();
    text.len() + values * VALUE_BYTES
}

/// The request that a message cancels.
fn cancelled_id(message: &ClientJsonRpcMessage) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Notification(notification) => match &notification.notification {
            ClientNotification::CancelledNotification(cancelled) => cancelled.params.request_id.as_ref(),
            _ => None,
        },
        _ => None,
    }
}

impl SessionManager for BoundedSessions {
    type Error = SessionsError;
    type Transport = SessionTransport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let asked = SCOPE
            .try_with(|scope| (rate::network(scope.connection.peer()), scope.body.len(), tree_size(&scope.body)))
            .ok();
        let (peer, size, initialize_bytes) = asked.map_or((None, 0, 0), |(peer, size, tree)| (Some(peer), size, tree));
        if size > MAX_INITIALIZE_BYTES {
            return Err(refused(SessionRefusal::TooLarge));
        }
        let now = self.shared.connections.now();
        self.shared.table().admit(peer, now).map_err(|cause| self.refuse_session(cause, now))?;
        let (id, transport) = self.inner.create_session().await?;
        let session = Arc::new(Session::new(peer, initialize_bytes, now, self.shared.connections.clone()));
        let has_room = initialize_bytes <= SMALL_INITIALIZE || self.shared.make_room(initialize_bytes, now);
        let placed = match has_room {
            true => self.shared.table().insert(id.clone(), session.clone(), now),
            false => Err(SessionLimit::AllBusy),
        };
        let refusal = placed.as_ref().err().map(|cause| self.refuse_session(*cause, now));
        // If there is no room, the new session itself is closed.
        let to_close = if refusal.is_some() { Some(id.clone()) } else { placed.ok().flatten() };
        to_close.into_iter().for_each(|id| self.shared.schedule_close(id));
        self.close_scheduled().await;
        refusal.map_or(Ok((id, SessionTransport::new(transport, session, self.shared.clone()))), Err)
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        // Either the request gets a response or its session ends.
        let running = PendingRequest::new(self.get(id)?, &mut message)?.hand_over();
        let response = self.inner.initialize_session(id, message).await?;
        running.complete();
        Ok(response)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        Ok(self.shared.table().get(id).is_some() && self.inner.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        // Inside a request, the client is closing the session; otherwise the SDK is.
        match SCOPE.try_with(|_| ()) {
            Ok(()) => self.shared.table().end(id),
            Err(_) => drop(self.shared.table().remove(id)),
        }
        Ok(self.inner.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let session = self.get(id)?;
        session.count_request();
        let pending = PendingRequest::new(session, &mut message)?;
        progress::adopt_token(&mut message);
        let handle = self.inner.sessions.read().await.get(id).cloned();
        let handle = handle.ok_or_else(|| refused(SessionRefusal::Gone))?;
        let hand_over = async move {
            let channel = handle.establish_request_wise_channel().await?;
            handle.push_message(message, channel.http_request_id).await?;
            Ok::<_, SessionError>((channel.inner, pending.hand_over()))
        };
        let (mut messages, running) = CompleteOnDrop::new(hand_over).await.map_err(LocalSessionManagerError::from)?;
        let mut running = Some(running);
        Ok(futures::stream::poll_fn(move |context| {
            let polled = messages.poll_recv(context);
            if let Poll::Ready(Some(ServerSseMessage { message: Some(message), .. })) = &polled
                && matches!(&**message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_))
            {
                running.take().into_iter().for_each(RunningRequest::complete);
            }
            polled
        }))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        let session = self.get(id)?;
        session.set_initialized();
        // A response that is being sent can no longer be cancelled: the SDK would cache it for resumption.
        if cancelled_id(&message).is_some_and(|cancelled| !session.cancel(cancelled)) {
            return Ok(());
        }
        Ok(self.inner.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let open = self.open_stream(id)?;
        let stream = self.inner.create_standalone_stream(id).await?;
        Ok(while_open(stream, open))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let open = self.open_stream(id)?;
        let stream = self.inner.resume(id, last_event_id).await?;
        Ok(while_open(stream, open))
    }
}

/// The stream together with the guard that counts it.
fn while_open<S: Stream>(stream: S, open: OpenStream) -> impl Stream<Item = S::Item> + use<S> {
    stream.map(move |message| {
        let _ = &open;
        message
    })
}
