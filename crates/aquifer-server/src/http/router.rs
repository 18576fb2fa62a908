//! MCP over HTTP as part of another axum application.
//!
//! That application accepts the connections, so only requests are seen here: each counts as a connection of its own,
//! with the same limits for bodies, responses, calls and sessions as in our own server.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, OnceLock};

use aquifer_engine::Engine;
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use axum::routing::any;
use http_body_util::BodyExt as _;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::accept::Endpoint as _;
use super::endpoint::McpEndpoint;
use super::tracked_body::TrackedBytes;
use super::{HttpError, HttpSettings, MAX_SWEEP_INTERVAL, sweep};

/// A router that serves the engine under `/mcp` and `/health`. The address in the settings is not used.
///
/// Only requests with a loopback host name are accepted unless `allowed_hosts` lists others.
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
        let response = self.endpoint.serve(&connection, request).await;
        response.map(|body| {
            Body::new(body.map_frame(move |frame| {
                let _registered = &registration;
                frame.map_data(TrackedBytes::into_bytes)
            }))
        })
    }
}
