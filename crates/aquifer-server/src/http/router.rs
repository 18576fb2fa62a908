//! MCP over HTTP as part of another axum application.
//!
//! That application accepts the connections, so only requests are seen here: each counts as a connection of its own,
//! with the same limits for bodies, responses, calls and sessions as in our own server.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use aquifer_engine::Engine;
use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt as _;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::accept::Endpoint as _;
use super::endpoint::McpEndpoint;
use super::tracked_body::{TrackedBody, TrackedBytes};
use super::{HttpError, HttpSettings, MAX_SWEEP_INTERVAL, sweep};

const EVENT_STREAM: &[u8] = b"text/event-stream";

/// How long the beginning of a stream waits for its response. A slower call starts its stream without it.
const MAX_HOLD: Duration = Duration::from_millis(20);

/// A router that serves the engine under `/mcp` and `/health`. The address in the settings is not used.
///
/// Only requests with a loopback host name are accepted unless `allowed_hosts` lists others. Progress and the results of
/// slow calls in sessions arrive up to 40 ms later if the application delays small packets, as axum does by default: use
/// `axum::serve(listener.tap_io(|stream| drop(stream.set_nodelay(true))), app)`.
pub fn router(engine: Arc<Engine>, settings: &HttpSettings) -> Result<Router, HttpError> {
    let served = Arc::new(ServedEndpoint {
        endpoint: McpEndpoint::from_settings(engine, settings, &CancellationToken::new())?,
        sweeper: OnceLock::new(),
    });
    let handler = any(move |request: Request| {
        let served = served.clone();
        async move { served.respond(request).await }
    });
    Ok(Router::new().route("/mcp", handler.clone()).route("/health", handler))
}

struct ServedEndpoint {
    endpoint: Arc<McpEndpoint>,
    /// Started with the first request, because a router may be built before there is a runtime.
    sweeper: OnceLock<AbortOnDropHandle<()>>,
}

impl ServedEndpoint {
    async fn respond(&self, request: Request) -> Response {
        self.sweeper.get_or_init(|| {
            let endpoint = self.endpoint.clone();
            AbortOnDropHandle::new(tokio::spawn(async move { sweep(&endpoint, MAX_SWEEP_INTERVAL).await }))
        });
        let (connection, registration) = self.endpoint.connections().register(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        let is_post = request.method() == Method::POST;
        let response = self.endpoint.serve(&connection, request).await;
        let (head, body) = response.into_parts();
        let mut body = RouterBody { held: VecDeque::new(), body, _registration: registration };
        let is_stream =
            head.headers.get(header::CONTENT_TYPE).is_some_and(|of| of.as_bytes().starts_with(EVENT_STREAM));
        if is_stream && is_post {
            let _ = timeout(MAX_HOLD, body.hold_first_events()).await;
        }
        if is_stream || body.size_hint().exact().is_some() {
            return Response::from_parts(head, Body::new(body));
        }
        match body.collect().await {
            Ok(whole) => Response::from_parts(head, Body::from(whole.to_bytes())),
            Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        }
    }
}

/// The body of a response. The other application may not have turned off the delay of small packets, so head and body have
/// to leave in one write: the length is known, or the first events are there when the head is written.
struct RouterBody<R> {
    /// What comes before the rest of the body.
    held: VecDeque<Result<Frame<Bytes>, axum::Error>>,
    body: TrackedBody,
    /// Counts the request until its response has been sent.
    _registration: R,
}

impl<R> RouterBody<R> {
    /// Waits for the event that opens a stream, and the next one. The next one is usually the response.
    async fn hold_first_events(&mut self) {
        while self.held.len() < 2
            && let Some(frame) = self.body.frame().await
        {
            self.held.push_back(frame.map(|frame| frame.map_data(TrackedBytes::into_bytes)));
        }
    }
}

impl<R: Unpin> HttpBody for RouterBody<R> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Some(held) = self.held.pop_front() {
            return Poll::Ready(Some(held));
        }
        let frame = Pin::new(&mut self.body).poll_frame(context);
        frame.map_ok(|frame| frame.map_data(TrackedBytes::into_bytes))
    }

    fn is_end_stream(&self) -> bool {
        self.held.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
