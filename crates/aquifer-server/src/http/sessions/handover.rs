//! Hands over a request from HTTP to its session.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rmcp::model::{ClientJsonRpcMessage, GetExtensions as _, JsonRpcMessage};

use super::manager::{SCOPE, SessionsError, refused};
use super::session::{RequestKey, ResponseSlot, Session};

/// A counted request that its session does not have yet. Unless it is handed over, dropping this removes it from the
/// count.
pub(super) struct PendingRequest {
    session: Arc<Session>,
    key: Option<RequestKey>,
    response_slot: Arc<ResponseSlot>,
}

impl PendingRequest {
    pub(super) fn new(session: Arc<Session>, message: &mut ClientJsonRpcMessage) -> Result<Self, SessionsError> {
        let response_slot = ResponseSlot::new(SCOPE.try_with(|scope| scope.connection.clone()).ok());
        let JsonRpcMessage::Request(request) = message else { return Ok(Self { session, key: None, response_slot }) };
        let key = session.begin_request(&request.id, response_slot.clone()).map_err(|cause| refused(cause.into()))?;
        request.request.extensions_mut().insert(Arc::new(session.guard(key.clone())));
        Ok(Self { session, key: Some(key), response_slot })
    }

    /// Hands over the request. It ends with its response.
    pub(super) fn hand_over(mut self) -> RunningRequest {
        RunningRequest { session: self.session.clone(), key: self.key.take(), _slot: self.response_slot.clone() }
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        if let Some(key) = &self.key {
            self.session.end_request(key);
        }
    }
}

/// A request that was handed over to its session and waits for its response.
pub(super) struct RunningRequest {
    session: Arc<Session>,
    key: Option<RequestKey>,
    _slot: Arc<ResponseSlot>,
}

impl RunningRequest {
    /// Ends the request when its response has arrived, before the client sees it, so that its id is free again by then.
    /// From here on the response is text, which is counted where it is sent.
    pub(super) fn complete(self) {
        if let Some(key) = &self.key {
            self.session.end_request(key);
        }
    }
}

/// A future that runs to completion even if it is dropped. The SDK hands over a request in two steps, and never
/// releases what the first step allocated if the second one does not follow.
pub(super) struct CompleteOnDrop<F: Future<Output: Send> + Send + 'static>(Option<Pin<Box<F>>>);

impl<F: Future<Output: Send> + Send + 'static> CompleteOnDrop<F> {
    pub(super) fn new(future: F) -> Self {
        Self(Some(Box::pin(future)))
    }
}

impl<F: Future<Output: Send> + Send + 'static> Future for CompleteOnDrop<F> {
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

impl<F: Future<Output: Send> + Send + 'static> Drop for CompleteOnDrop<F> {
    fn drop(&mut self) {
        if let (Some(future), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(async move { drop(future.await) });
        }
    }
}
