//! The body's bytes, bounded while they arrive and scanned before anybody parses them.

use std::time::Duration;

use aquifer_protocol::limits::Limits;
use aquifer_protocol::scan::{Frame, Problem, Salvage, Salvaged, scan};
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;

use crate::refusal;

/// Past the limit a body is read on only to find whom to answer, and no further than this.
const READ_ON: usize = 32 * 1024 * 1024;

/// A body that takes longer than this to arrive is not waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// What came of reading a body.
enum Arrived {
    Whole(Bytes),
    Oversized(Salvaged),
    Broken,
    Late,
}

/// The request with its body whole and scanned, and that body; or the answer to one that is not acceptable.
pub(super) async fn check(limits: &Limits, request: Request) -> Result<(Request, Bytes), Response> {
    if request.method() != Method::POST {
        return Ok((request, Bytes::new()));
    }
    let (parts, body) = request.into_parts();
    let arrived = tokio::time::timeout(PATIENCE, arrive(body, limits.max_request_size + refusal::FRAME)).await;
    let bytes = match arrived.unwrap_or(Arrived::Late) {
        Arrived::Whole(bytes) => bytes,
        Arrived::Late => {
            let late = "Request Timeout: the body did not arrive in time\n";
            return Err((StatusCode::REQUEST_TIMEOUT, late).into_response());
        }
        Arrived::Oversized(salvaged) => {
            let problem = refusal::oversized(salvaged.bytes, limits);
            return Err(answer(&problem, &salvaged, limits, StatusCode::PAYLOAD_TOO_LARGE));
        }
        Arrived::Broken => return Err(StatusCode::BAD_REQUEST.into_response()),
    };
    if let Err(problem) = scan(&bytes, Frame::Mcp, limits) {
        return Err(answer(&problem, &Salvage::of(&bytes), limits, StatusCode::BAD_REQUEST));
    }
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        return Err(json(StatusCode::BAD_REQUEST, refusal::not_a_message(&Salvage::of(&bytes), true)));
    }
    Ok((Request::from_parts(parts, Body::from(bytes.clone())), bytes))
}

async fn arrive(mut body: Body, longest: usize) -> Arrived {
    let mut chunks: Vec<Bytes> = Vec::new();
    let mut size = 0_usize;
    let mut beyond: Option<Salvage> = None;
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return Arrived::Broken };
        let Ok(chunk) = frame.into_data() else { continue };
        size += chunk.len();
        if size > longest && beyond.is_none() {
            let mut salvage = Salvage::new();
            chunks.drain(..).for_each(|chunk| salvage.push(&chunk));
            beyond = Some(salvage);
        }
        match &mut beyond {
            None => chunks.push(chunk),
            Some(salvage) => salvage.push(&chunk),
        }
        if size > READ_ON {
            break;
        }
    }
    if let Some(salvage) = beyond {
        return Arrived::Oversized(salvage.finish());
    }
    if let [_] = chunks.as_slice()
        && let Some(only) = chunks.pop()
    {
        return Arrived::Whole(only);
    }
    Arrived::Whole(chunks.concat().into())
}

/// A refused tool call is an answer like any other; a refused message is a bad request.
fn answer(problem: &Problem, salvaged: &Salvaged, limits: &Limits, status: StatusCode) -> Response {
    let is_call = salvaged.is_call() && !matches!(problem, Problem::Syntax { .. });
    match refusal::answer(problem, salvaged, limits) {
        Some(body) if is_call => json(StatusCode::OK, body),
        Some(body) => json(status, body),
        None => status.into_response(),
    }
}

fn json(status: StatusCode, body: Vec<u8>) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}
