//! Responds to the requests of every connection: checks the caller, routes by path, and builds the response.

use std::sync::Arc;

use aquifer_engine::Engine;
use aquifer_protocol::limits::Limits;
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderValue, Method, Request, StatusCode, header};
use axum::response::Response;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tower_service::Service as _;

use super::accept::{Endpoint, RequestBody};
use super::connection::Connection;
use super::connections::Connections;
use super::guard::{self, Guard};
use super::in_flight::InFlight;
use super::sessions::{BoundedSessions, SessionRefusal};
use super::tracked_body::{Content, TrackedBody};
use super::{HttpError, HttpSettings, JSON_CONTENT_TYPE, MIN_RESPONSES, RETRY_SOON_SECS, body, respond, respond_busy};
use crate::answer::refusal::MAX_FRAME_BYTES;
use crate::direct::stateless_http::StatelessHttp;
use crate::handler::{Connection as HandlerConnection, McpHandler};

/// `Retry-After` in seconds if every session is waiting for a response.
const RETRY_SESSION_SECS: u64 = 10;

pub(super) struct McpEndpoint {
    engine: Arc<Engine>,
    guard: Guard,
    mcp: StreamableHttpService<McpHandler, BoundedSessions>,
    sessions: Arc<BoundedSessions>,
    stateless: StatelessHttp,
    limits: Limits,
    in_flight: InFlight,
    connections: Arc<Connections>,
    pages: Option<Router>,
    serves_mcp: bool,
}

impl McpEndpoint {
    /// Creates an endpoint with these settings, without a listener.
    pub(super) fn from_settings(
        engine: Arc<Engine>,
        settings: &HttpSettings,
        streams: &CancellationToken,
    ) -> Result<Arc<Self>, HttpError> {
        let guard = Guard::new(settings)?;
        let min_bytes = engine.settings().limits.max_response_size.saturating_mul(MIN_RESPONSES);
        let connections = Connections::new(settings.max_unread_bytes.max(min_bytes), settings.write_timeout);
        let (pages, serves_mcp) = (settings.pages.clone(), settings.serves_mcp);
        Ok(Arc::new(Self {
            pages,
            serves_mcp,
            ..Self::new(engine, guard, connections, settings.max_sessions, streams)
        }))
    }

    /// Cancelling `streams` ends the streams that only wait for notifications.
    fn new(
        engine: Arc<Engine>,
        guard: Guard,
        connections: Arc<Connections>,
        max_sessions: usize,
        streams: &CancellationToken,
    ) -> Self {
        let limits = engine.settings().limits;
        let config = StreamableHttpServerConfig::default()
            .with_json_response(true)
            .with_cancellation_token(streams.clone())
            .with_max_request_body_bytes(limits.max_request_size + MAX_FRAME_BYTES)
            // The guard has already checked Host and Origin on every path.
            .disable_allowed_hosts();
        let sessions = Arc::new(BoundedSessions::new(max_sessions, connections.clone()));
        let shared_engine = engine.clone();
        let handler = move || Ok(McpHandler::new(shared_engine.clone(), HandlerConnection::Http));
        let mcp = StreamableHttpService::new(handler, sessions.clone(), config);
        let stateless = StatelessHttp::new(engine.clone());
        let in_flight = InFlight::new(connections.clone(), engine.settings().max_batch_size);
        Self { engine, guard, mcp, sessions, stateless, limits, in_flight, connections, pages: None, serves_mcp: true }
    }

    pub(super) fn connections(&self) -> &Arc<Connections> {
        &self.connections
    }

    #[cfg(test)]
    pub(super) fn stateless(&self) -> &StatelessHttp {
        &self.stateless
    }

    pub(super) fn in_flight(&self) -> &InFlight {
        &self.in_flight
    }

    pub(super) fn sessions(&self) -> &BoundedSessions {
        &self.sessions
    }

    async fn respond(&self, connection: &Arc<Connection>, request: Request<impl RequestBody>) -> Response<Content> {
        let is_of_mcp = self.serves_mcp && matches!(request.uri().path(), "/mcp" | "/health");
        if let Some(pages) = self.pages.as_ref().filter(|_| !is_of_mcp) {
            return self.serve_page(pages, connection, request).await;
        }
        if let Err(refusal) = self.guard.check(request.uri(), request.headers()) {
            self.guard.report(refusal, request.headers());
            return respond(refusal.status(), refusal.message());
        }
        // The guard has accepted the request, so its origin, if any, is allowed by the operator.
        let origin = request.headers().get(header::ORIGIN).cloned();
        let mut response = match *request.method() {
            Method::OPTIONS if origin.is_some() => respond(StatusCode::NO_CONTENT, ""),
            _ => self.route(connection, request).await,
        };
        if let Some(origin) = origin {
            guard::allow_origin(origin, response.headers_mut());
        }
        response
    }

    async fn serve_page(
        &self,
        pages: &Router,
        connection: &Arc<Connection>,
        request: Request<impl RequestBody>,
    ) -> Response<Content> {
        if let Err(refusal) = self.guard.check_same_origin(request.uri(), request.headers()) {
            self.guard.report(refusal, request.headers());
            return respond(refusal.status(), refusal.message());
        }
        let (head, body) = request.into_parts();
        match body::read_for_page(&self.limits, connection, body).await {
            Ok(bytes) => {
                let request = Request::from_parts(head, Body::from(bytes));
                let Ok(response) = pages.clone().call(request).await;
                response.map(Content::stream)
            }
            Err(refusal) => refusal,
        }
    }

    async fn route(&self, connection: &Arc<Connection>, request: Request<impl RequestBody>) -> Response<Content> {
        match (request.uri().path(), request.method()) {
            _ if !self.serves_mcp => respond(StatusCode::NOT_FOUND, "Not Found\n"),
            ("/mcp", _) => self.call(connection, request).await,
            ("/health", &Method::GET | &Method::HEAD) => self.health(),
            ("/health", _) => {
                let mut response = respond(StatusCode::METHOD_NOT_ALLOWED, "");
                response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET,HEAD"));
                response
            }
            _ => respond(StatusCode::NOT_FOUND, "Not Found: MCP is at /mcp, health at /health\n"),
        }
    }

    fn health(&self) -> Response<Content> {
        let operations = self.engine.snapshot().catalog().operations().len();
        let health = json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION"), "operations": operations });
        let mut response = respond(StatusCode::OK, health.to_string());
        response.headers_mut().insert(header::CONTENT_TYPE, JSON_CONTENT_TYPE);
        response
    }

    async fn call(&self, connection: &Arc<Connection>, request: Request<impl RequestBody>) -> Response<Content> {
        let (mut head, body) = request.into_parts();
        let bytes = match body::read(&self.limits, connection, &head.method, body).await {
            Ok(bytes) => bytes,
            Err(refusal) => return refusal,
        };
        // Counted once the body is complete: an unfinished body is not a call.
        let entry = match self.in_flight.enter(&head, &bytes) {
            Ok(entry) => entry,
            Err(why) => return respond_busy(why, RETRY_SOON_SECS),
        };
        if let Some(entry) = &entry
            && let Some(call) = self.stateless.read(&head.headers, &bytes)
        {
            drop((head, bytes));
            let message = self.stateless.run(call, entry.clone()).await;
            return respond_json(message).map(|content| content.counted(entry.clone()));
        }
        // A call in a session continues when its client disconnects, and is counted until it ends.
        if let Some(entry) = &entry {
            head.extensions.insert(entry.clone());
        }
        let ends_session = head.method == Method::DELETE;
        let request = Request::from_parts(head, Body::from(bytes.clone()));
        let handled = self.mcp.handle(request);
        let response = match BoundedSessions::scoped(connection.clone(), bytes, handled).await {
            Ok(response) => response,
            Err(refusal) => return refuse(refusal),
        };
        let (mut head, body) = response.into_parts();
        // The SDK responds with 202 when a session ends, which some clients report as a failure.
        if ends_session && head.status == StatusCode::ACCEPTED {
            head.status = StatusCode::NO_CONTENT;
        }
        let content = Content::stream(Body::new(body));
        let content = match entry {
            Some(entry) => content.counted(entry),
            None => content,
        };
        Response::from_parts(head, content)
    }
}

impl Endpoint for McpEndpoint {
    async fn serve(&self, connection: &Arc<Connection>, request: Request<impl RequestBody>) -> Response<TrackedBody> {
        connection.begin_request();
        self.respond(connection, request).await.map(|content| TrackedBody::new(content, connection.clone()))
    }
}

/// The response with an encoded message, or an internal error.
fn respond_json(message: std::io::Result<Vec<u8>>) -> Response<Content> {
    match message {
        Ok(body) => {
            let mut response = respond(StatusCode::OK, body);
            response.headers_mut().insert(header::CONTENT_TYPE, JSON_CONTENT_TYPE);
            response
        }
        Err(cause) => {
            tracing::error!(%cause, "could not encode an answer");
            respond(StatusCode::INTERNAL_SERVER_ERROR, "")
        }
    }
}

fn refuse(refusal: SessionRefusal) -> Response<Content> {
    match refusal {
        SessionRefusal::TooFast(seconds) => respond_busy("too many sessions are being opened", seconds),
        SessionRefusal::AllBusy => respond_busy("all sessions are in use", RETRY_SESSION_SECS),
        SessionRefusal::TooMany => respond_busy("too many requests are running in this session", RETRY_SOON_SECS),
        SessionRefusal::TooLarge => {
            respond(StatusCode::PAYLOAD_TOO_LARGE, "Payload Too Large: 'initialize' is limited to 64 KiB\n")
        }
        SessionRefusal::Gone => respond(StatusCode::NOT_FOUND, "Not Found: Session not found"),
        SessionRefusal::DuplicateId => {
            respond(StatusCode::BAD_REQUEST, "Bad Request: a request with this id is already running in this session\n")
        }
    }
}
