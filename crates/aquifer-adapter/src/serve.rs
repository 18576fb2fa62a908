//! Serves an adapter by itself, behind a gate.

use std::fmt::{Debug, Display, Formatter};
use std::net::SocketAddr;
use std::sync::Arc;

use aquifer_engine::clock::{SteadyClock, SystemClock};
use aquifer_engine::store::MemoryStore;
use aquifer_engine::{BuildError, Engine};
use aquifer_gate::audit::Audit;
use aquifer_gate::confirm::{ConfirmSettings, WhenNobodyAnswers};
use aquifer_gate::{GateSettings, GateSettingsError, SafetyGate};
use aquifer_protocol::surface::Surface;
use aquifer_server::{HttpError, HttpServer, HttpSettings, StdioError};
use aquifer_system::StopSignals;
use tokio_util::sync::CancellationToken;

use crate::adapter::IntoAdapter;
use crate::error::AdapterErrors;

/// How many tokens and counters the gate remembers before it drops the oldest.
const MAX_RECORDS: usize = 100_000;

/// Why an adapter cannot be served. Its `Debug` form is its message, because that is what Rust prints if `main` returns it.
#[derive(thiserror::Error)]
pub enum ServeError {
    /// Its definition has problems.
    #[error(transparent)]
    Definition(#[from] AdapterErrors),
    /// Its operations do not make a catalog.
    #[error(transparent)]
    Catalog(#[from] BuildError),
    /// The gate cannot be built.
    #[error(transparent)]
    Gate(#[from] GateSettingsError),
    /// `MCP_AQL_ENDPOINT_MODE` has an unknown value.
    #[error("MCP_AQL_ENDPOINT_MODE must be semantic, single or all, not '{0}'")]
    Mode(String),
    /// The connection ended abnormally.
    #[error(transparent)]
    Stdio(#[from] StdioError),
    /// The address cannot be used.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// Signals cannot be received.
    #[error("cannot receive signals: {0}")]
    Signals(#[source] std::io::Error),
}

impl Debug for ServeError {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        Display::fmt(self, f)
    }
}

/// An engine with the adapter behind a gate with its default settings: the client asks its user about operations that
/// destroy something, and they are denied if it cannot. State is kept in memory, and nothing is audited. `MCP_AQL_ENDPOINT_MODE` in the environment chooses the mode
/// (`semantic`, `single` or `all`). To configure more, build the engine yourself from
/// [`Adapter::build`](crate::Adapter::build).
pub fn engine(adapter: impl IntoAdapter) -> Result<Arc<Engine>, ServeError> {
    let source = adapter.into_adapter().build()?;
    let clock = Arc::new(SteadyClock::new(Arc::new(SystemClock)));
    let store = Arc::new(MemoryStore::new(clock.clone(), MAX_RECORDS));
    let audit = Audit::disabled(clock.clone());
    // Nobody could give an approval here.
    let confirm = ConfirmSettings { when_nobody_answers: WhenNobodyAnswers::Deny, ..ConfirmSettings::default() };
    let settings = GateSettings { confirm, ..GateSettings::default() };
    let gate = SafetyGate::new(&settings, audit, store, clock)?;
    Ok(Arc::new(Engine::builder(surface()?).source(source).gate(Arc::new(gate)).build()?))
}

fn surface() -> Result<Surface, ServeError> {
    let Ok(mode) = std::env::var("MCP_AQL_ENDPOINT_MODE") else { return Ok(Surface::default()) };
    let mode = mode.parse().map_err(|_| ServeError::Mode(mode))?;
    Ok(Surface::default().with_mode(mode))
}

/// Serves the adapter to the client at standard input and output, until the client leaves or the process is told to stop.
pub async fn serve_stdio(adapter: impl IntoAdapter) -> Result<(), ServeError> {
    let engine = engine(adapter)?;
    Ok(aquifer_server::serve_stdio(engine, stop_signal()?).await?)
}

/// Serves the adapter over HTTP, at the path `/mcp`, until the process is told to stop.
pub async fn serve_http(adapter: impl IntoAdapter, address: SocketAddr) -> Result<(), ServeError> {
    let server = HttpServer::bind(engine(adapter)?, HttpSettings::new(address)).await?;
    server.serve(stop_signal()?).await;
    Ok(())
}

/// The adapter as a router with the path `/mcp`, for a server built with axum.
///
/// It accepts requests for loopback addresses only. To serve under another host name, build an [`Engine`] and use
/// [`aquifer_server::router`] with its own [`HttpSettings`].
pub fn router(adapter: impl IntoAdapter) -> Result<axum::Router, ServeError> {
    let any_address = SocketAddr::from(([127, 0, 0, 1], 0));
    Ok(aquifer_server::router(engine(adapter)?, &HttpSettings::new(any_address))?)
}

/// Fires when the system tells the process to stop: on SIGINT or SIGTERM, and on Ctrl-C on Windows.
fn stop_signal() -> Result<CancellationToken, ServeError> {
    let mut signals = StopSignals::new().map_err(ServeError::Signals)?;
    let stop = CancellationToken::new();
    let fired = stop.clone();
    tokio::spawn(async move {
        signals.recv().await;
        fired.cancel();
    });
    Ok(stop)
}
