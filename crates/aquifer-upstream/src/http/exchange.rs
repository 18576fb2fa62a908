//! One request and its answer, which comes as JSON or on a stream of events.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::{Response, StatusCode};

use super::client::{About, BROKE, Http, SESSION, describe, has_media_type};
use crate::calls::Companion;
use crate::delivery::Delivery;
use crate::message::{self, Incoming, Json, RpcError};
use crate::shared::Shared;
use crate::sse::Events;
use crate::trouble::{Gone, Trouble};

/// How often an answer is asked for again whose stream broke off.
const MAX_RESUMPTIONS: usize = 5;
const RESUME_AFTER: (u64, u64) = (250, 10_000);

/// Bytes read of an answer that is not a success.
const MAX_ERROR_BODY: usize = 256 * 1024;

/// Characters shown of an answer that is not a success and not JSON-RPC.
const MAX_ERROR_TEXT: usize = 300;

/// What a body holds for one request.
#[derive(Default)]
struct Found {
    /// The answer to this very request.
    answer: Option<Result<Json, RpcError>>,
    /// An error that names no request of ours: servers write one if they fail before they have read the id.
    stray: Option<RpcError>,
    unreadable: Option<serde_json::Error>,
}

impl Http {
    /// Sends a request and waits for its answer. What else comes on its stream is handed on.
    pub(crate) async fn exchange(
        &self,
        shared: &Arc<Shared>,
        about: About<'_>,
        body: Vec<u8>,
        delivery: &mut Delivery,
        companion: &Arc<Companion>,
    ) -> Result<Json, Trouble> {
        let in_session = self.session.id().is_some();
        let response = self.post(body, Some(about), delivery).await?;
        if about.method == "initialize"
            && let Some(id) = response.headers().get(SESSION)
        {
            self.session.open(id);
        }
        let status = response.status();
        let is_stream = has_media_type(&response, "text/event-stream");
        if status.is_success() {
            if is_stream {
                return self.follow(response, shared, about.id, companion).await;
            }
            let body = self.body(response).await?;
            let found = find(&body, false, shared, about.id, companion);
            return match (found.answer, found.stray) {
                (Some(answer), _) => answer.map_err(Trouble::Refused),
                (None, Some(error)) => Err(Trouble::Refused(error)),
                (None, None) => Err(Trouble::Unintelligible(format!("no answer in the body: {:?}", found.unreadable))),
            };
        }
        let is_text = ["text/plain", "application/json"].into_iter().any(|kind| has_media_type(&response, kind));
        let body = error_body(response).await;
        let found = find(&body, is_stream, shared, about.id, companion);
        if let Some(answer) = found.answer {
            return answer.map_err(|error| refused(status, error));
        }
        if status == StatusCode::NOT_FOUND && in_session {
            self.session.lose();
            return Err(Trouble::SessionLost);
        }
        if message::is_inconclusive(status.as_u16()) {
            return Err(Trouble::ServerError { status: status.as_u16(), error: found.stray });
        }
        let stray = found.stray.filter(|error| !error.message.is_empty());
        Err(refused(status, stray.unwrap_or_else(|| plain_error(status, if is_text { &body } else { &[] }))))
    }

    async fn body(&self, mut response: Response) -> Result<Bytes, Trouble> {
        let announced = response.content_length().and_then(|size| usize::try_from(size).ok()).unwrap_or_default();
        if announced > self.largest {
            return Err(Trouble::TooLarge { size: announced });
        }
        let mut body = BytesMut::with_capacity(announced);
        while let Some(chunk) = response.chunk().await.map_err(describe)? {
            body.extend_from_slice(&chunk);
            if body.len() > self.largest {
                return Err(Trouble::TooLarge { size: body.len() });
            }
        }
        Ok(body.freeze())
    }

    /// Reads a stream until the answer is there. A stream that breaks off is resumed where it can be, which asks for the
    /// rest of the answer and does not send the request again.
    async fn follow(
        &self,
        mut response: Response,
        shared: &Arc<Shared>,
        id: u64,
        companion: &Arc<Companion>,
    ) -> Result<Json, Trouble> {
        let mut last_id: Option<String> = None;
        for _ in 0..=MAX_RESUMPTIONS {
            let mut events = Events::new(self.largest);
            let mut answer = None;
            let broke = self
                .events(&mut response, &mut events, |event| {
                    let read = message::each(event, |message| {
                        if message.answers() == Some(id) {
                            answer = Some(message.outcome(event));
                        } else {
                            shared.take(event, &message, Some(companion));
                        }
                    });
                    report(shared, read);
                    answer.is_none()
                })
                .await;
            if let Some(answer) = answer {
                return answer.map_err(Trouble::Refused);
            }
            if let Err(trouble @ Trouble::TooLarge { .. }) = broke {
                return Err(trouble);
            }
            last_id = events.last_id.or(last_id);
            let Some(after) = &last_id else {
                return Err(Trouble::Broke(Gone::new(BROKE, "its stream ended without an answer")));
            };
            let (least, most) = RESUME_AFTER;
            tokio::time::sleep(Duration::from_millis(events.retry.unwrap_or_default().clamp(least, most))).await;
            // Whatever is wrong with the stream, the request has been sent and not been answered.
            response = self.listen(Some(after)).await.map_err(|trouble| {
                Trouble::Broke(Gone::new(BROKE, format!("its stream cannot be resumed: {trouble:?}")))
            })?;
        }
        Err(Trouble::Broke(Gone::new(BROKE, "its stream ended again and again without an answer")))
    }

    /// Hands every event on until `more` says that it was enough.
    pub(super) async fn events(
        &self,
        response: &mut Response,
        events: &mut Events,
        mut more: impl FnMut(&Bytes) -> bool,
    ) -> Result<(), Trouble> {
        let too_large = |size: crate::sse::TooLarge| Trouble::TooLarge { size: size.0 };
        while let Some(chunk) = response.chunk().await.map_err(describe)? {
            events.push(&chunk).map_err(too_large)?;
            while let Some(event) = events.next().map_err(too_large)? {
                // An event may be there only for its id.
                if !event.is_empty() && !more(&event) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

fn refused(status: StatusCode, error: RpcError) -> Trouble {
    Trouble::Refused(RpcError { status: Some(status.as_u16()), ..error })
}

/// The error that an answer stands for that is not JSON-RPC.
fn plain_error(status: StatusCode, text: &[u8]) -> RpcError {
    let text: String = String::from_utf8_lossy(text).trim().chars().take(MAX_ERROR_TEXT).collect();
    let status = status.as_u16();
    let message =
        if text.is_empty() { format!("HTTP status {status}") } else { format!("HTTP status {status}: {text}") };
    RpcError::new(i64::from(status), message)
}

/// What an answer that is not a success says. What cannot be read says nothing: the status decides.
async fn error_body(mut response: Response) -> Bytes {
    let mut body = BytesMut::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_ERROR_BODY {
            return Bytes::new();
        }
    }
    body.freeze()
}

/// Looks for the answer to a request, and hands everything else on.
fn find(body: &Bytes, is_stream: bool, shared: &Arc<Shared>, id: u64, companion: &Arc<Companion>) -> Found {
    let mut found = Found::default();
    let mut look = |text: &Bytes| {
        let read = message::each(text, |message: Incoming<'_>| match message.answers() {
            Some(answered) if answered == id => found.answer = Some(message.outcome(text)),
            None if message.method.is_none() && message.error.is_some() => found.stray = message.outcome(text).err(),
            _ => shared.take(text, &message, Some(companion)),
        });
        found.unreadable = read.err().or(found.unreadable.take());
    };
    if !is_stream {
        look(body);
        return found;
    }
    let mut events = Events::new(body.len());
    if events.push(body).is_ok() {
        while let Ok(Some(event)) = events.next() {
            look(&event);
        }
    }
    found
}

pub(super) fn report(shared: &Shared, read: Result<(), serde_json::Error>) {
    if let Err(cause) = read {
        let cause = shared.words.for_log(&cause.to_string());
        tracing::warn!(source = &*shared.name, "the upstream's stream holds what is no message: {cause}");
    }
}
