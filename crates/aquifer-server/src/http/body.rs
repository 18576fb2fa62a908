//! The body's bytes, bounded while they arrive and scanned before anybody parses them.

use std::time::Duration;

use aquifer_protocol::limits::Limits;
use aquifer_protocol::scan::{Frame, Problem, Salvage, SalvagedMessage, scan};
use axum::body::Bytes;
use axum::http::{Method, StatusCode, header};
use axum::response::Response;
use futures::FutureExt;
use http_body_util::BodyExt;
use hyper::body::Incoming;

use super::connection::Connection;
use super::tracked_body::Content;
use super::{RETRY_SOON, respond, respond_busy};
use crate::refusal;

/// Past the limit a body is read on only to find whom to answer, and no further than this.
const READ_ON: usize = 32 * 1024 * 1024;

/// A body that takes longer than this to arrive is not waited for.
const TIMEOUT: Duration = Duration::from_secs(30);

/// What came of reading a body.
enum Arrived {
    Whole(Bytes),
    Oversized(SalvagedMessage),
    Broken,
    Late,
    NoRoom,
}

/// The body of a request, whole and scanned; or the answer to one that is not acceptable.
pub(super) async fn read(
    limits: &Limits,
    connection: &Connection,
    method: &Method,
    body: Incoming,
) -> Result<Bytes, Response<Content>> {
    if method != Method::POST {
        return Ok(Bytes::new());
    }
    let receiving = Receiving { body, connection, held: 0, is_awaited: false };
    let arrived = tokio::time::timeout(TIMEOUT, receive(receiving, limits.max_request_size + refusal::FRAME)).await;
    let bytes = match arrived.unwrap_or(Arrived::Late) {
        Arrived::Whole(bytes) => bytes,
        Arrived::Late => {
            return Err(respond(StatusCode::REQUEST_TIMEOUT, "Request Timeout: the body did not arrive in time\n"));
        }
        Arrived::NoRoom => return Err(respond_busy("too many requests are being received", RETRY_SOON)),
        Arrived::Oversized(salvaged) => {
            let problem = refusal::oversized(salvaged.bytes, limits);
            return Err(answer(&problem, &salvaged, limits, StatusCode::PAYLOAD_TOO_LARGE));
        }
        Arrived::Broken => return Err(respond(StatusCode::BAD_REQUEST, "")),
    };
    if let Err(problem) = scan(&bytes, Frame::Mcp, limits) {
        return Err(answer(&problem, &Salvage::search(&bytes), limits, StatusCode::BAD_REQUEST));
    }
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        return Err(json(StatusCode::BAD_REQUEST, refusal::not_a_message(&Salvage::search(&bytes), true)));
    }
    Ok(bytes)
}

/// A body while it arrives: what is kept of it counts as held by its connection.
struct Receiving<'c> {
    body: Incoming,
    connection: &'c Connection,
    held: usize,
    is_awaited: bool,
}

impl Receiving<'_> {
    /// The next piece; `Some(Err(()))` if the connection broke.
    async fn next(&mut self) -> Option<Result<Bytes, ()>> {
        loop {
            let frame = match self.body.frame().now_or_never() {
                Some(frame) => frame,
                None => {
                    // Nearly every body is here with its head. The clock is read only for the others.
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

    /// Counts that so much is kept now. `false`: there is no room for it.
    fn keep(&mut self, bytes: usize) -> bool {
        let more = bytes.saturating_sub(self.held);
        self.held += more;
        more == 0 || self.connection.hold(more)
    }

    fn let_go(&mut self) {
        self.connection.release(std::mem::take(&mut self.held));
    }
}

impl Drop for Receiving<'_> {
    fn drop(&mut self) {
        self.let_go();
        if self.is_awaited {
            self.connection.stop_awaiting_body();
        }
    }
}

/// Reads a body to its end. One that comes in a single piece is not copied; pieces are put together at once, because a
/// list of them would cost more than the bytes in it if they are small.
async fn receive(mut body: Receiving<'_>, max_size: usize) -> Arrived {
    let (mut only, mut whole) = (Bytes::new(), Vec::new());
    let mut beyond: Option<Salvage> = None;
    let mut size = 0_usize;
    while let Some(piece) = body.next().await {
        let Ok(piece) = piece else { return Arrived::Broken };
        size += piece.len();
        if size > max_size {
            let salvage = beyond.get_or_insert_with(|| {
                let mut salvage = Salvage::new();
                salvage.push(&std::mem::take(&mut only));
                salvage.push(&std::mem::take(&mut whole));
                salvage
            });
            salvage.push(&piece);
            body.let_go();
            if size > READ_ON {
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
            return Arrived::NoRoom;
        }
    }
    match beyond {
        Some(salvage) => Arrived::Oversized(salvage.finish()),
        None if whole.is_empty() => Arrived::Whole(only),
        None => Arrived::Whole(whole.into()),
    }
}

/// A refused tool call is an answer like any other; a refused message is a bad request.
fn answer(problem: &Problem, salvaged: &SalvagedMessage, limits: &Limits, status: StatusCode) -> Response<Content> {
    let is_call = salvaged.is_call() && !matches!(problem, Problem::Syntax { .. });
    match refusal::answer(problem, salvaged, limits) {
        Some(body) if is_call => json(StatusCode::OK, body),
        Some(body) => json(status, body),
        None => respond(status, ""),
    }
}

fn json(status: StatusCode, body: Vec<u8>) -> Response<Content> {
    let mut response = respond(status, body);
    response.headers_mut().insert(header::CONTENT_TYPE, super::JSON);
    response
}
