//! MCP over Streamable HTTP.
//!
//! A request passes through [`accept`] (the connection), [`guard`] (allowed hosts and origins), [`body`] (its bytes)
//! and [`in_flight`] (limits on calls) before it reaches the SDK. Responses are tracked to their last byte
//! ([`tracked_body`]), and the bytes held for all connections share one budget ([`connections`]).

mod accept;
mod authority;
mod body;
mod connection;
mod connections;
mod endpoint;
mod guard;
mod in_flight;
mod router;
mod sessions;
#[cfg(test)]
mod tests;
mod throttle;
mod tracked_body;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::Engine;
use axum::Router;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use accept::ConnectionLimits;
use endpoint::McpEndpoint;
use in_flight::InFlight;
use tracked_body::Content;

/// How long running calls may take to finish after a stop was requested.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// How long connections may take to close after that.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The longest interval between two searches for connections and sessions to close.
const MAX_SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// The byte budget always has room for at least this many responses of the maximum size.
const MIN_RESPONSES: usize = 4;

/// `Retry-After` in seconds if there will be room as soon as calls finish.
const RETRY_SOON_SECS: u64 = 1;

const JSON_CONTENT_TYPE: HeaderValue = HeaderValue::from_static("application/json");

pub use router::router;

/// The operator's settings.
#[derive(Debug, Clone)]
pub struct HttpSettings {
    /// Where to listen.
    pub address: SocketAddr,
    /// Host names that clients may use, in addition to the loopback names.
    pub allowed_hosts: Vec<String>,
    /// Origins of browser pages that may send requests. None by default.
    pub allowed_origins: Vec<String>,
    /// The maximum number of sessions in memory. Only older clients open sessions.
    pub max_sessions: usize,
    /// The maximum number of bytes held for all connections together: bodies while they arrive, responses until they
    /// are read, and the messages stored for sessions. A value below four times the largest response is raised to that.
    pub max_unread_bytes: usize,
    /// How long a client may leave its response unread before its connection is closed.
    pub write_timeout: Duration,
    /// Serves every path except `/mcp` and `/health`: pages for people. It sees only requests of pages of its own
    /// origin and requests without an origin. None by default.
    pub pages: Option<Router>,
    /// Whether MCP is served. Without it, there are only the pages.
    pub serves_mcp: bool,
}

impl HttpSettings {
    /// Settings for an address, with defaults for everything else.
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            max_sessions: 1_000,
            max_unread_bytes: 256 * 1024 * 1024,
            write_timeout: Duration::from_secs(30),
            pages: None,
            serves_mcp: true,
        }
    }
}

/// Why the server cannot run.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The address is in use or does not belong to this machine.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, std::io::Error),
    /// An allowed host is not a valid host.
    #[error("'{0}' is not a host: allowed hosts have the form name, name:port, 192.0.2.1 or [2001:db8::1]")]
    InvalidHost(String),
    /// An allowed origin is not a valid origin.
    #[error("'{0}' is not an origin: allowed origins have the form https://name or https://name:port")]
    InvalidOrigin(String),
}

/// A server that is bound but does not respond yet.
pub struct HttpServer {
    listener: TcpListener,
    address: SocketAddr,
    endpoint: Arc<McpEndpoint>,
    settings: HttpSettings,
    streams: CancellationToken,
}

impl HttpServer {
    /// Binds the address.
    pub async fn bind(engine: Arc<Engine>, settings: HttpSettings) -> Result<Self, HttpError> {
        let streams = CancellationToken::new();
        let endpoint = McpEndpoint::from_settings(engine, &settings, &streams)?;
        let failed = |cause| HttpError::Listen(settings.address, cause);
        let listener = accept::listen(settings.address).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address, endpoint, settings, streams })
    }

    /// The address it listens on. If port 0 was requested, it contains the assigned port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is cancelled, then lets running calls finish.
    pub async fn serve(self, stop: CancellationToken) {
        let Self { listener, endpoint, settings, streams, .. } = self;
        let limits = ConnectionLimits::with_sessions(settings.max_sessions);
        let connections = endpoint.connections().clone();
        let serve = accept::serve(listener, endpoint.clone(), connections, limits, stop.clone());
        tokio::select! {
            () = serve => {}
            () = finish(stop, endpoint.in_flight().clone(), streams) => {}
            () = sweep(&endpoint, MAX_SWEEP_INTERVAL.min(settings.write_timeout / 4)) => {}
        }
    }
}

/// Lets calls finish after a stop was requested, then ends the streams that only wait for notifications.
async fn finish(stop: CancellationToken, in_flight: InFlight, streams: CancellationToken) {
    stop.cancelled().await;
    if tokio::time::timeout(DRAIN_TIMEOUT, in_flight.idle()).await.is_err() {
        tracing::warn!("stopping while calls are still running");
    }
    streams.cancel();
    tokio::time::sleep(CLOSE_TIMEOUT).await;
}

/// Periodically closes connections and sessions that have been waiting for too long.
async fn sweep(endpoint: &McpEndpoint, interval: Duration) {
    let mut ticks = tokio::time::interval(interval.max(Duration::from_millis(1)));
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        endpoint.connections().sweep();
        endpoint.sessions().sweep().await;
    }
}

/// A response whose body is complete in memory.
fn respond(status: StatusCode, body: impl Into<Bytes>) -> Response<Content> {
    let mut response = Response::new(Content::whole(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

/// The response to a request that exceeds a limit.
fn respond_busy(why: &str, seconds: u64) -> Response<Content> {
    let message = format!("Service Unavailable: {why}. Retry in {seconds} s\n");
    let mut response = respond(StatusCode::SERVICE_UNAVAILABLE, message);
    response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    response
}
