//! Reads request bodies: limits their size while they arrive, and scans them before they are parsed.

use std::time::Duration;

use aquifer_protocol::limits::Limits;
use aquifer_protocol::scan::{Frame, Problem, Salvage, SalvagedMessage, scan};
use axum::body::Bytes;
use axum::http::{Method, StatusCode, header};
use axum::response::Response;
use futures::FutureExt;
use http_body_util::BodyExt;

use super::accept::RequestBody;
use super::connection::Connection;
use super::tracked_body::Content;
use super::{RETRY_SOON_SECS, respond, respond_busy};
use crate::answer::refusal;

/// A body over the limit is read up to this size, only to find the id to respond to.
const MAX_SALVAGED_BYTES: usize = 32 * 1024 * 1024;

/// How long a body may take to arrive.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The outcome of reading a body.
enum BodyOutcome {
    Whole(Bytes),
    Oversized(SalvagedMessage),
    Broken,
    Late,
    NoRoom,
}

/// Reads and scans the body of a request, or returns the response that refuses it.
pub(super) async fn read(
    limits: &Limits,
    connection: &Connection,
    method: &Method,
    body: impl RequestBody,
) -> Result<Bytes, Response<Content>> {
    if method != Method::POST {
        return Ok(Bytes::new());
    }
    let bytes = receive_in_time(limits.max_request_size + refusal::MAX_FRAME_BYTES, connection, body, |salvaged| {
        let problem = refusal::oversized(salvaged.bytes, limits);
        respond_refused(&problem, &salvaged, limits, StatusCode::PAYLOAD_TOO_LARGE)
    })
    .await?;
    if let Err(problem) = scan(&bytes, Frame::Mcp, limits) {
        return Err(respond_refused(&problem, &Salvage::search(&bytes), limits, StatusCode::BAD_REQUEST));
    }
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        return Err(json(StatusCode::BAD_REQUEST, refusal::not_a_message(&Salvage::search(&bytes), true)));
    }
    Ok(bytes)
}

/// Reads the body of a request for a page, or returns the response that refuses it.
pub(super) async fn read_for_page(
    limits: &Limits,
    connection: &Connection,
    body: impl RequestBody,
) -> Result<Bytes, Response<Content>> {
    let oversized = |_| respond(StatusCode::PAYLOAD_TOO_LARGE, "Payload Too Large\n");
    receive_in_time(limits.max_request_size, connection, body, oversized).await
}

/// Receives a body up to a size, or returns the response that refuses it.
async fn receive_in_time(
    max_size: usize,
    connection: &Connection,
    body: impl RequestBody,
    refuse_oversized: impl FnOnce(SalvagedMessage) -> Response<Content>,
) -> Result<Bytes, Response<Content>> {
    let receiving = IncomingBody { body, connection, held: 0, is_awaited: false };
    match tokio::time::timeout(TIMEOUT, receive(receiving, max_size)).await.unwrap_or(BodyOutcome::Late) {
        BodyOutcome::Whole(bytes) => Ok(bytes),
        BodyOutcome::Late => {
            Err(respond(StatusCode::REQUEST_TIMEOUT, "Request Timeout: the body did not arrive in time\n"))
        }
        BodyOutcome::NoRoom => Err(respond_busy("too many requests are being received", RETRY_SOON_SECS)),
        BodyOutcome::Oversized(salvaged) => Err(refuse_oversized(salvaged)),
        BodyOutcome::Broken => Err(respond(StatusCode::BAD_REQUEST, "")),
    }
}

/// A body being received. Its bytes count as held by its connection.
struct IncomingBody<'c, B> {
    body: B,
    connection: &'c Connection,
    held: usize,
    is_awaited: bool,
}

impl<B: RequestBody> IncomingBody<'_, B> {
    /// The next chunk; `Some(Err(()))` if the connection broke.
    async fn next(&mut self) -> Option<Result<Bytes, ()>> {
        loop {
            let frame = match self.body.frame().now_or_never() {
                Some(frame) => frame,
                None => {
                    // Nearly every body arrives together with its head, so the clock is read only for the others.
                    if !self.is_awaited {
                        self.is_awaited = true;
                        self.connection.await_body();
                    }
                    self.body.frame().await
                }
            };
            let Ok(frame) = frame? else { return Some(Err(())) };
            let Ok(bytes) = frame.into_data() else { continue };
            if self.is_awaited {
                self.connection.progressed(bytes.len());
            }
            return Some(Ok(bytes));
        }
    }

    /// Counts the bytes kept so far. Returns `false` if there is no room for them.
    fn keep(&mut self, bytes: usize) -> bool {
        let more = bytes.saturating_sub(self.held);
        self.held += more;
        more == 0 || self.connection.hold(more)
    }
}

impl<B> IncomingBody<'_, B> {
    fn release(&mut self) {
        self.connection.release(std::mem::take(&mut self.held));
    }
}

impl<B> Drop for IncomingBody<'_, B> {
    fn drop(&mut self) {
        self.release();
        if self.is_awaited {
            self.connection.stop_awaiting_body();
        }
    }
}

/// Reads a body to its end. A single chunk is not copied. Several chunks are joined as they arrive, because a list of
/// small chunks would cost more than their bytes.
async fn receive<B: RequestBody>(mut body: IncomingBody<'_, B>, max_size: usize) -> BodyOutcome {
    let (mut only, mut whole) = (Bytes::new(), Vec::new());
    let mut beyond: Option<Salvage> = None;
    let mut size = 0_usize;
    while let Some(piece) = body.next().await {
        let Ok(piece) = piece else { return BodyOutcome::Broken };
        size += piece.len();
        if size > max_size {
            let salvage = beyond.get_or_insert_with(|| {
                let mut salvage = Salvage::new();
                salvage.push(&std::mem::take(&mut only));
                salvage.push(&std::mem::take(&mut whole));
                salvage
            });
            salvage.push(&piece);
            body.release();
            if size > MAX_SALVAGED_BYTES {
                break;
            }
            continue;
        }
        if size == piece.len() {
            only = piece;
        } else {
            whole.extend_from_slice(&std::mem::take(&mut only));
            whole.extend_from_slice(&piece);
        }
        if !body.keep(whole.capacity().max(only.len())) {
            return BodyOutcome::NoRoom;
        }
    }
    match beyond {
        Some(salvage) => BodyOutcome::Oversized(salvage.finish()),
        None if whole.is_empty() => BodyOutcome::Whole(only),
        None => BodyOutcome::Whole(whole.into()),
    }
}

/// Responds to a refused tool call with status 200; to any other refused message with an error status.
fn respond_refused(
    problem: &Problem,
    salvaged: &SalvagedMessage,
    limits: &Limits,
    status: StatusCode,
) -> Response<Content> {
    let is_call = salvaged.is_call() && !matches!(problem, Problem::Syntax { .. });
    match refusal::answer(problem, salvaged, limits) {
        Some(body) if is_call => json(StatusCode::OK, body),
        Some(body) => json(status, body),
        None => respond(status, ""),
    }
}

fn json(status: StatusCode, body: Vec<u8>) -> Response<Content> {
    let mut response = respond(status, body);
    response.headers_mut().insert(header::CONTENT_TYPE, super::JSON_CONTENT_TYPE);
    response
}
