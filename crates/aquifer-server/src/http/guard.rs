//! Who may ask: a page in a browser must not reach a server on its user's machine by way of DNS rebinding.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::HttpSettings;

pub(super) struct Guard {
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl Guard {
    pub(super) fn new(settings: &HttpSettings) -> Self {
        let mut hosts: Vec<String> = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned).into();
        // Somebody who listens on an address means to be reached under it.
        if !settings.address.ip().is_unspecified() {
            hosts.push(match settings.address {
                std::net::SocketAddr::V4(address) => address.ip().to_string(),
                std::net::SocketAddr::V6(address) => format!("[{}]", address.ip()),
            });
        }
        hosts.extend(settings.allowed_hosts.iter().map(|host| host.to_lowercase()));
        let origins =
            settings.allowed_origins.iter().map(|origin| origin.trim_end_matches('/').to_lowercase()).collect();
        Self { hosts, origins }
    }

    fn refusal(&self, uri: &Uri, headers: &HeaderMap) -> Option<&'static str> {
        let host = uri.authority().map(|authority| authority.as_str()).or_else(|| text(headers, header::HOST));
        match host {
            None => return Some("Forbidden: the request names no Host\n"),
            Some(host) if !self.admits_host(host) => {
                return Some(
                    "Forbidden: this Host is not allowed. Add it with --allow-host or in [http] allowed_hosts\n",
                );
            }
            Some(_) => {}
        }
        if !headers.contains_key(header::ORIGIN) {
            return None;
        }
        let admitted = text(headers, header::ORIGIN)
            .is_some_and(|origin| self.origins.contains(&origin.trim_end_matches('/').to_lowercase()));
        (!admitted).then_some(
            "Forbidden: this Origin is not allowed. Add it with --allow-origin or in [http] allowed_origins\n",
        )
    }

    fn admits_host(&self, authority: &str) -> bool {
        let authority = authority.to_lowercase();
        let without_port = match authority.rfind(':') {
            Some(colon) if !authority.ends_with(']') => authority.get(..colon).unwrap_or(&authority),
            _ => &authority,
        };
        self.hosts.iter().any(|host| *host == authority || host == without_port)
    }
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

pub(super) async fn check(guard: Arc<Guard>, request: Request, next: Next) -> Response {
    if let Some(refusal) = guard.refusal(request.uri(), request.headers()) {
        return (StatusCode::FORBIDDEN, refusal).into_response();
    }
    // The guard has let it pass, so an origin that is there is one the operator allowed.
    let Some(origin) = request.headers().get(header::ORIGIN).cloned() else { return next.run(request).await };
    let mut response = match *request.method() {
        Method::OPTIONS => StatusCode::NO_CONTENT.into_response(),
        _ => next.run(request).await,
    };
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::VARY, HeaderValue::from_static("origin"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(ASKED));
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("mcp-session-id"));
    response
}

/// The headers a page has to send to speak MCP.
const ASKED: &str =
    "content-type, accept, authorization, last-event-id, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name";
