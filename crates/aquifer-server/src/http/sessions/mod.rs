//! Sessions of older clients: no more than a set number of them, and none that costs more than its share.
//!
//! The SDK's own manager does the work. Here it is decided who gets a session and whose is given up ([`table`]), and
//! what is kept for each is bounded ([`transport`]).

mod rate;
mod session;
mod table;
mod transport;

use std::cell::Cell;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Bytes;
use futures::{FutureExt, Stream, StreamExt};
use rmcp::model::{ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionError,
};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};

use super::connections::Connections;
use super::throttle::WarningThrottle;
use session::{Kept, NotNow, OpenStream, Session};
use table::{NoPlace, Table};
use transport::SessionTransport;

/// The largest request that opens a session: what a client says of itself is kept as long as its session is.
const MAX_INITIALIZE_BYTES: usize = 64 * 1024;

/// About what a value takes in memory beside its text.
const VALUE_BYTES: usize = 200;

/// What is no larger than this is kept even if others keep too much, so that they lock nobody out: it is bounded by the
/// number of sessions.
const SMALL_INTRODUCTION: usize = 16 * 1024;
const SMALL_MESSAGE: usize = 1024;

tokio::task_local! {
    static SCOPE: Scope;
}

/// What the SDK does not pass on to the session manager, and what it has no word for.
struct Scope {
    peer: IpAddr,
    body: Bytes,
    refusal: Cell<Option<SessionRefusal>>,
}

/// Why a request was refused for the sake of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionRefusal {
    /// Too many sessions are being opened: come back in so many seconds.
    TooFast(u64),
    /// Every session waits for an answer.
    AllBusy,
    /// The request that opens a session is too large.
    TooLarge,
    /// The session was given up.
    Gone,
    /// A request of the same id is under way.
    DuplicateId,
    /// The session has too many requests or streams.
    TooMany,
}

/// Why a session cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionsError {
    #[error("refused")]
    Refused,
    #[error(transparent)]
    Inner(#[from] LocalSessionManagerError),
}

pub(super) struct BoundedSessions {
    inner: LocalSessionManager,
    shared: Arc<Shared>,
}

struct Shared {
    connections: Arc<Connections>,
    table: Mutex<Table>,
    /// Sessions that were given up, until the SDK has been told.
    given_up: Mutex<Vec<SessionId>>,
    warning: WarningThrottle,
}

impl Shared {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn give_up(&self, id: SessionId) {
        self.given_up.lock().unwrap_or_else(PoisonError::into_inner).push(id);
    }

    /// Takes in a message for a session.
    fn keep(&self, session: &Arc<Session>, bytes: usize) -> Option<Kept> {
        let kept = session.keep(bytes)?;
        (bytes <= SMALL_MESSAGE || self.make_room(bytes, self.connections.now())).then_some(kept)
    }

    /// Gives up a session that is not in use if too much is kept for all, now that so many bytes have come. `false`: that
    /// would not be enough.
    fn make_room(&self, bytes: usize, now: u64) -> bool {
        if !self.connections.is_too_much_kept() {
            return true;
        }
        let shed = self.table().shed(bytes, now);
        shed.map(|id| self.give_up(id)).is_some()
    }
}

impl BoundedSessions {
    pub(super) fn new(max: usize, connections: Arc<Connections>) -> Self {
        let mut inner = LocalSessionManager::default();
        inner.session_config.keep_alive = Some(Duration::from_millis(table::IDLE_AFTER));
        // Kept are the streams of requests that were cancelled, which get no answer: nobody wants them back.
        inner.session_config.completed_cache_ttl = Duration::ZERO;
        let table = Mutex::new(Table::new(max));
        Self {
            inner,
            shared: Arc::new(Shared {
                connections,
                table,
                given_up: Mutex::default(),
                warning: WarningThrottle::default(),
            }),
        }
    }

    /// What comes of a request to the SDK, unless it was refused here.
    pub(super) async fn scoped<T>(
        peer: IpAddr,
        body: Bytes,
        handled: impl Future<Output = T>,
    ) -> Result<T, SessionRefusal> {
        let watched = async {
            let answer = handled.await;
            SCOPE.with(|scope| scope.refusal.get()).map_or(Ok(answer), Err)
        };
        SCOPE.scope(Scope { peer, body, refusal: Cell::new(None) }, watched).await
    }

    /// Sessions there are now.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.shared.table().len()
    }

    /// Closes sessions that nobody uses. Called about once a second.
    pub(super) async fn sweep(&self) {
        let expired = self.shared.table().expire(self.shared.connections.now());
        expired.into_iter().for_each(|id| self.shared.give_up(id));
        self.close_given_up().await;
    }

    /// Tells the SDK which sessions were given up.
    async fn close_given_up(&self) {
        let given_up = std::mem::take(&mut *self.shared.given_up.lock().unwrap_or_else(PoisonError::into_inner));
        if given_up.is_empty() {
            return;
        }
        let mut sessions = self.inner.sessions.write().await;
        for id in given_up {
            if let Some(handle) = sessions.remove(&id) {
                tracing::debug!(session = %id, "a session that was not in use was closed");
                // One that cannot take this message now ends because nobody can send it another.
                let _ = handle.close().now_or_never();
            }
        }
    }

    fn no_place(&self, cause: NoPlace, now: u64) -> SessionsError {
        if self.shared.warning.is_due(now) {
            tracing::warn!(?cause, "a session was refused; raise [http] most_sessions if this is too few");
        }
        refused(cause.into())
    }

    fn get(&self, id: &SessionId) -> Result<Arc<Session>, SessionsError> {
        let session = self.shared.table().get(id).cloned();
        let session = session.ok_or_else(|| refused(SessionRefusal::Gone))?;
        session.touch(self.shared.connections.now());
        Ok(session)
    }

    /// A stream that keeps its session in use.
    fn open_stream(&self, id: &SessionId) -> Result<OpenStream, SessionsError> {
        let session = self.get(id)?;
        session.set_initialized();
        let place = self.shared.table().make_stream_place(self.shared.connections.now());
        if let Some(given_up) = place.map_err(|cause| refused(cause.into()))? {
            self.shared.give_up(given_up);
        }
        session.open_stream().map_err(|cause| refused(cause.into()))
    }
}

impl From<NotNow> for SessionRefusal {
    fn from(cause: NotNow) -> Self {
        match cause {
            NotNow::DuplicateId => SessionRefusal::DuplicateId,
            NotNow::TooManyRequests | NotNow::TooManyStreams => SessionRefusal::TooMany,
        }
    }
}

impl From<NoPlace> for SessionRefusal {
    fn from(cause: NoPlace) -> Self {
        match cause {
            NoPlace::TooFast(seconds) => SessionRefusal::TooFast(seconds),
            NoPlace::AllBusy => SessionRefusal::AllBusy,
        }
    }
}

/// Leaves word why, for the answer: the SDK would call it an error of ours.
fn refused(why: SessionRefusal) -> SessionsError {
    let _ = SCOPE.try_with(|scope| scope.refusal.set(Some(why)));
    SessionsError::Refused
}

/// About how many bytes a JSON text takes as a tree of values.
fn tree_size(text: &[u8]) -> usize {
    let values = text.iter().filter(|byte| matches!(byte, b',' | b':' | b'{' | b'[')).count();
    text.len() + values * VALUE_BYTES
}

/// The id of a request.
fn request_id(message: &ClientJsonRpcMessage) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Request(request) => Some(&request.id),
        _ => None,
    }
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

/// Counts a request in. One that is not handed on after all is counted out when this is dropped.
struct Begun {
    session: Arc<Session>,
    id: Option<RequestId>,
}

impl Begun {
    fn new(session: Arc<Session>, message: &ClientJsonRpcMessage) -> Result<Self, SessionsError> {
        let id = request_id(message).cloned();
        if let Some(id) = &id {
            session.begin_request(id).map_err(|cause| refused(cause.into()))?;
        }
        Ok(Self { session, id })
    }

    /// It is handed on, and ends when it is answered.
    fn hand_on(mut self) {
        self.id = None;
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        if let Some(id) = &self.id {
            self.session.end_answer(id);
        }
    }
}

/// A future that is carried through even if nobody waits for it any more. The SDK hands a request on in two steps, and
/// what the first has made is never given back if the second does not follow.
struct CarriedThrough<F: Future<Output: Send> + Send + 'static>(Option<Pin<Box<F>>>);

impl<F: Future<Output: Send> + Send + 'static> CarriedThrough<F> {
    fn new(future: F) -> Self {
        Self(Some(Box::pin(future)))
    }
}

impl<F: Future<Output: Send> + Send + 'static> Future for CarriedThrough<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Some(future) = &mut self.0 else { return Poll::Pending };
        let polled = future.as_mut().poll(context);
        if polled.is_ready() {
            self.0 = None;
        }
        polled
    }
}

impl<F: Future<Output: Send> + Send + 'static> Drop for CarriedThrough<F> {
    fn drop(&mut self) {
        if let (Some(future), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(async move { drop(future.await) });
        }
    }
}

impl SessionManager for BoundedSessions {
    type Error = SessionsError;
    type Transport = SessionTransport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let asked = SCOPE.try_with(|scope| (rate::network(scope.peer), scope.body.len(), tree_size(&scope.body))).ok();
        let (peer, size, introduction) = asked.map_or((None, 0, 0), |(peer, size, tree)| (Some(peer), size, tree));
        if size > MAX_INITIALIZE_BYTES {
            return Err(refused(SessionRefusal::TooLarge));
        }
        let now = self.shared.connections.now();
        self.shared.table().admit(peer, now).map_err(|cause| self.no_place(cause, now))?;
        let (id, transport) = self.inner.create_session().await?;
        let session = Arc::new(Session::new(peer, introduction, now, self.shared.connections.clone()));
        let has_room = introduction <= SMALL_INTRODUCTION || self.shared.make_room(introduction, now);
        let placed = match has_room {
            true => self.shared.table().insert(id.clone(), session.clone(), now),
            false => Err(NoPlace::AllBusy),
        };
        let refusal = placed.as_ref().err().map(|cause| self.no_place(*cause, now));
        // It is the newcomer itself that is given up where it has no place.
        let given_up = if refusal.is_some() { Some(id.clone()) } else { placed.ok().flatten() };
        given_up.into_iter().for_each(|id| self.shared.give_up(id));
        self.close_given_up().await;
        refusal.map_or(Ok((id, SessionTransport::new(transport, session, self.shared.clone()))), Err)
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        // It is answered in any case, or its session ends.
        Begun::new(self.get(id)?, &message)?.hand_on();
        Ok(self.inner.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        Ok(self.shared.table().get(id).is_some() && self.inner.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        // Within a request it is the client that ends it, otherwise the SDK.
        match SCOPE.try_with(|_| ()) {
            Ok(()) => self.shared.table().end(id),
            Err(_) => drop(self.shared.table().remove(id)),
        }
        Ok(self.inner.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let session = self.get(id)?;
        session.count_request();
        let begun = Begun::new(session, &message)?;
        let handle = self.inner.sessions.read().await.get(id).cloned();
        let handle = handle.ok_or_else(|| refused(SessionRefusal::Gone))?;
        let handing_on = async move {
            let channel = handle.establish_request_wise_channel().await?;
            handle.push_message(message, channel.http_request_id).await?;
            begun.hand_on();
            Ok::<_, SessionError>(channel.inner)
        };
        let mut messages = CarriedThrough::new(handing_on).await.map_err(LocalSessionManagerError::from)?;
        Ok(futures::stream::poll_fn(move |context| messages.poll_recv(context)))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        let session = self.get(id)?;
        session.set_initialized();
        // Too late to cancel an answer that is on its way: the SDK would keep it for whoever may want it.
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

/// The stream, with the guard that counts it.
fn while_open<S: Stream>(stream: S, open: OpenStream) -> impl Stream<Item = S::Item> + use<S> {
    stream.map(move |message| {
        let _ = &open;
        message
    })
}
