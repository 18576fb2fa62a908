//! MCP over Streamable HTTP.
//!
//! The way in: a connection ([`accept`]), who asks ([`guard`]), then the body's bytes ([`body`]), then the SDK. The way out is counted
//! ([`drain`]), so that stopping finishes what has begun.

mod accept;
mod body;
mod drain;
mod guard;
mod sessions;
mod short;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::Engine;
use aquifer_protocol::limits::Limits;
use axum::Json;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::from_fn;
use axum::response::Response;
use axum::routing::{any, get};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::bypass::Bypass;
use crate::face::{Connection, Face};
use accept::Patience;
use drain::InFlight;
use guard::Guard;
use sessions::BoundedSessions;
use short::ShortWay;

/// How long calls under way may take to finish once we are told to stop.
const DRAIN: Duration = Duration::from_secs(10);

/// How long connections may take to close after that.
const CLOSE: Duration = Duration::from_secs(1);

/// After how many seconds to come back: when calls are done, and when sessions have been left for long.
const A_MOMENT: u8 = 1;
const LONG: u8 = 60;

/// The header by which a client names its session.
const SESSION: &str = "mcp-session-id";

/// What an operator can set.
#[derive(Debug, Clone)]
pub struct HttpSettings {
    /// Where to listen.
    pub address: SocketAddr,
    /// Host names clients may use besides the loopback ones.
    pub allowed_hosts: Vec<String>,
    /// Origins of browser pages that may call. None by default.
    pub allowed_origins: Vec<String>,
    /// The most sessions of older clients held in memory.
    pub most_sessions: usize,
}

impl HttpSettings {
    /// Settings for an address, with nothing else allowed.
    pub fn new(address: SocketAddr) -> Self {
        Self { address, allowed_hosts: Vec::new(), allowed_origins: Vec::new(), most_sessions: 1_000 }
    }
}

/// Why the server cannot run.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The address is taken, or not ours.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, std::io::Error),
}

/// A server that listens but does not answer yet.
pub struct HttpServer {
    listener: TcpListener,
    address: SocketAddr,
    engine: Arc<Engine>,
    settings: HttpSettings,
}

impl HttpServer {
    /// Takes the address.
    pub async fn bind(engine: Arc<Engine>, settings: HttpSettings) -> Result<Self, HttpError> {
        let failed = |cause| HttpError::Listen(settings.address, cause);
        let listener = TcpListener::bind(settings.address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address, engine, settings })
    }

    /// Where it listens: the port is known even if any was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` fires, then finishes the calls under way.
    pub async fn serve(self, stop: CancellationToken) {
        let in_flight = InFlight::default();
        let streams = CancellationToken::new();
        let router = router(&self.engine, &self.settings, &in_flight, &streams);
        let patience = Patience::with_sessions(self.settings.most_sessions);
        let serve = accept::serve(self.listener, router, patience, stop.clone());
        tokio::select! {
            () = serve => {}
            () = finish(stop, in_flight, streams) => {}
        }
    }
}

/// Lets calls finish once we are told to stop, then ends the streams that only wait for news and would wait for ever.
async fn finish(stop: CancellationToken, in_flight: InFlight, streams: CancellationToken) {
    stop.cancelled().await;
    if tokio::time::timeout(DRAIN, in_flight.idle()).await.is_err() {
        tracing::warn!("stopping although calls are still under way");
    }
    streams.cancel();
    tokio::time::sleep(CLOSE).await;
}

fn router(engine: &Arc<Engine>, settings: &HttpSettings, in_flight: &InFlight, streams: &CancellationToken) -> Router {
    let limits = engine.settings().limits;
    let config = StreamableHttpServerConfig::default()
        .with_json_response(true)
        .with_cancellation_token(streams.clone())
        .with_max_request_body_bytes(limits.max_request_size + crate::refusal::FRAME)
        // The guard has looked at Host and Origin already, on every path.
        .disable_allowed_hosts();
    let faces = engine.clone();
    let sessions = BoundedSessions::new(settings.most_sessions);
    let mcp =
        StreamableHttpService::new(move || Ok(Face::new(faces.clone(), Connection::Http)), Arc::new(sessions), config);
    let short = ShortWay::new(engine.clone());
    let door = Arc::new(Door { mcp, short, limits, in_flight: in_flight.clone() });
    Router::new()
        .route("/mcp", any(enter).with_state(door))
        .route("/health", get(health).with_state(engine.clone()))
        .fallback(not_here)
        .layer(from_fn({
            let guard = Arc::new(Guard::new(settings));
            move |request, next| guard::check(guard.clone(), request, next)
        }))
}

/// The way in to the SDK. One handler, because every layer of a stack would copy what lies below it, the SDK's
/// configuration included, for every request.
struct Door {
    mcp: StreamableHttpService<Face, BoundedSessions>,
    short: ShortWay,
    limits: Limits,
    in_flight: InFlight,
}

async fn enter(State(door): State<Arc<Door>>, request: Request) -> Response {
    let (mut request, bytes) = match body::check(&door.limits, request).await {
        Ok(checked) => checked,
        Err(refusal) => return refusal,
    };
    // Counted once it is whole: a body that never ends is nobody's call.
    let entry = match door.in_flight.enter(&request) {
        Ok(entry) => entry,
        Err(why) => return drain::busy(why, A_MOMENT),
    };
    if let Some(call) = door.short.read(request.headers(), &bytes) {
        return door.short.make(call).await.map(|body| entry.carry(body));
    }
    let ends_session = request.method() == Method::DELETE;
    // What a session sends is kept by the SDK, to be sent again to whoever lost it: it has to be whole.
    let bypass = (!request.headers().contains_key(SESSION)).then(Bypass::default);
    if let Some(bypass) = &bypass {
        request.extensions_mut().insert(bypass.clone());
    }
    let Some(response) = BoundedSessions::unless_full(door.mcp.handle(request)).await else {
        return drain::busy("all sessions are taken", LONG);
    };
    let (head, body) = response.into_parts();
    let body = match bypass {
        Some(bypass) => bypass.restore(Body::new(body)).await,
        None => Body::new(body),
    };
    let mut response = Response::from_parts(head, entry.carry(body));
    // The SDK answers 202 to the end of a session, which some clients report to their users as a failure.
    if ends_session && response.status() == StatusCode::ACCEPTED {
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    response
}

async fn health(State(engine): State<Arc<Engine>>) -> Json<Value> {
    let operations = engine.snapshot().catalog().operations().len();
    Json(json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION"), "operations": operations }))
}

async fn not_here() -> (StatusCode, &'static str) {
    (StatusCode::NOT_FOUND, "Not Found: MCP is at /mcp, health at /health\n")
}
