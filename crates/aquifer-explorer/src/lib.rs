//! The explorer: pages to browse, try, review and approve in a browser, and the API behind them.
//!
//! It is the person's side of a server. Every request passes `guard` first: it is refused if it carries a credential
//! of an MCP client, comes from another origin, or needs a session and has none. Sessions begin with a one-time link
//! ([`login`]). Calls of a person run through the engine like those of everybody else, gate included.

mod api;
mod assets;
mod docs;
mod error;
mod feed;
mod guard;
pub mod login;
mod operator;

use std::sync::Arc;

use aquifer_engine::Engine;
use aquifer_engine::clock::SharedClock;
use aquifer_engine::store::StateStore;
use aquifer_gate::audit::Audit;
use axum::Router;
use axum::middleware;
use jiff::Timestamp;

pub use error::ApiError;
pub use feed::CallFeed;
pub use feed::CallSummary;
pub use operator::AuditFiles;
pub use operator::Operator;

/// What the explorer shows and changes.
pub struct Explorer {
    /// Answers the calls of the person.
    pub engine: Arc<Engine>,
    /// Holds links, sessions and approvals.
    pub store: Arc<dyn StateStore>,
    /// Decides when links and sessions expire.
    pub clock: SharedClock,
    /// Records the person's decisions.
    pub audit: Audit,
    /// What only the program around it knows: configuration, rules and the review of tools.
    pub operator: Arc<dyn Operator>,
    /// The calls of all callers as they happen.
    pub feed: CallFeed,
    /// When the server started.
    pub started_at: Timestamp,
}

impl Explorer {
    /// The router of all pages.
    pub fn router(self) -> Router {
        let explorer = Arc::new(self);
        let guarded = middleware::from_fn_with_state(explorer.clone(), guard::check);
        Router::new()
            .nest("/api", api::router())
            .merge(docs::router())
            .fallback(assets::serve)
            .layer(guarded)
            .with_state(explorer)
    }
}
