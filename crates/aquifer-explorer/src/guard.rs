//! Checks every request before a page or the API sees it, and adds the headers that restrict what a page may do.
//!
//! The server has already checked `Host` and `Origin`, against DNS rebinding and requests of other origins. Browsers send
//! nothing by themselves that opens a session: its secret is in a header that only our own page can send, with every
//! request, whether it reads, listens or changes something. Pages and their files contain nothing secret and are for
//! everybody.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::error::ApiError;
use crate::{Explorer, login};

const FETCH_SITE: &str = "sec-fetch-site";

/// Headers with which MCP clients identify themselves. No page sends them.
const CLIENT_HEADERS: [&str; 3] = ["authorization", "mcp-session-id", "mcp-protocol-version"];

/// The policy of every page: only its own files and its own API.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; font-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'";

const SECURITY_HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Refuses requests that may not pass. A request to the API that passes carries the [`Session`](login::Session).
pub(crate) async fn check(State(explorer): State<Arc<Explorer>>, mut request: Request, next: Next) -> Response {
    let mut response = match admit(&explorer, &mut request).await {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in SECURITY_HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

async fn admit(explorer: &Explorer, request: &mut Request) -> Result<(), ApiError> {
    let headers = request.headers();
    if CLIENT_HEADERS.iter().any(|name| headers.contains_key(*name)) {
        return Err(ApiError::Forbidden("MCP clients cannot use the pages for people"));
    }
    if !request.uri().path().starts_with("/api/") {
        return match *request.method() {
            Method::GET | Method::HEAD => Ok(()),
            _ => Err(ApiError::Forbidden("Pages can only be read")),
        };
    }
    if !is_from_own_page(headers) {
        return Err(ApiError::Forbidden("Requests of other pages are refused"));
    }
    let is_login = request.uri().path() == "/api/session" && *request.method() == Method::POST;
    if !is_login {
        let session = login::find_session(explorer, headers).await?;
        request.extensions_mut().insert(session);
    }
    Ok(())
}

/// Whether the browser says that the request comes from our own page, or from the person typing its address. Programs
/// other than browsers do not send the header.
fn is_from_own_page(headers: &HeaderMap) -> bool {
    headers.get(FETCH_SITE).is_none_or(|site| matches!(site.as_bytes(), b"same-origin" | b"none"))
}
