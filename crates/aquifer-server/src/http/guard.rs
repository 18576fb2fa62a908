//! Checks `Host` and `Origin`, so that a web page cannot reach a server on its user's machine through DNS rebinding.
//!
//! Malformed headers get 400; well-formed ones that are not allowed get 403. Ambiguity is an error: programs disagree
//! on how to read a request with two `Host` headers, or with one that contradicts the authority in the request line.

use std::time::{Duration, Instant};

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use parking_lot::Mutex;

use super::authority::{Authority, Origin};
use super::{HttpError, HttpSettings};

/// The default port of `http`, used for a request line without a port.
const DEFAULT_PORT: u16 = 80;

/// Refusals are logged at most once in this interval, because any client can cause them.
const REPORT_INTERVAL: Duration = Duration::from_secs(60);

/// Longer values are truncated in the log.
const MAX_LOGGED_CHARS: usize = 100;

pub(super) struct Guard {
    hosts: Vec<Authority<String>>,
    origins: Vec<Origin<String>>,
    /// When a refusal was last logged.
    reported: Mutex<Option<Instant>>,
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    MalformedHost,
    HostNotAllowed,
    MalformedOrigin,
    OriginNotAllowed,
}

impl Refusal {
    pub(super) fn status(self) -> StatusCode {
        match self {
            Refusal::MalformedHost | Refusal::MalformedOrigin => StatusCode::BAD_REQUEST,
            Refusal::HostNotAllowed | Refusal::OriginNotAllowed => StatusCode::FORBIDDEN,
        }
    }

    pub(super) fn message(self) -> &'static str {
        match self {
            Refusal::MalformedHost => "Bad Request: exactly one Host header of the form host[:port] is required\n",
            Refusal::HostNotAllowed => "Forbidden: this Host is not allowed\n",
            Refusal::MalformedOrigin => "Bad Request: Origin must have the form scheme://host[:port]\n",
            Refusal::OriginNotAllowed => "Forbidden: this Origin is not allowed\n",
        }
    }

    /// Advice for the operator, which is not shown to the caller.
    fn advice(self) -> Option<(HeaderName, &'static str)> {
        match self {
            Refusal::HostNotAllowed => Some((header::HOST, "add it with --allow-host or in [http] allowed_hosts")),
            Refusal::OriginNotAllowed => {
                Some((header::ORIGIN, "add it with --allow-origin or in [http] allowed_origins"))
            }
            Refusal::MalformedHost | Refusal::MalformedOrigin => None,
        }
    }
}

impl Guard {
    /// Parses the lists. An entry that could never match is an error, because its author expects it to match.
    pub(super) fn new(settings: &HttpSettings) -> Result<Self, HttpError> {
        let mut hosts: Vec<Authority<String>> = ["localhost", "127.0.0.1", "[::1]"]
            .into_iter()
            .filter_map(|host| Some(Authority::parse(host)?.into_owned()))
            .collect();
        // A server that listens on an address can be reached under it.
        if !settings.address.ip().is_unspecified() {
            hosts.push(Authority::from_ip(settings.address.ip()));
        }
        for entry in &settings.allowed_hosts {
            let bare_address = entry.parse().ok().map(Authority::from_ip);
            let parsed = bare_address.or_else(|| Some(Authority::parse(entry)?.into_owned()));
            hosts.push(parsed.ok_or_else(|| HttpError::InvalidHost(entry.clone()))?);
        }
        let mut origins = Vec::with_capacity(settings.allowed_origins.len());
        for entry in &settings.allowed_origins {
            let parsed = Origin::parse(entry.strip_suffix('/').unwrap_or(entry));
            origins.push(parsed.ok_or_else(|| HttpError::InvalidOrigin(entry.clone()))?.into_owned());
        }
        Ok(Self { hosts, origins, reported: Mutex::new(None) })
    }

    /// Logs why a request was refused, and how to allow it.
    pub(super) fn report(&self, refusal: Refusal, headers: &HeaderMap) {
        let Some((header, advice)) = refusal.advice() else { return };
        let mut reported = self.reported.lock();
        if reported.is_some_and(|last| last.elapsed() < REPORT_INTERVAL) {
            return;
        }
        *reported = Some(Instant::now());
        drop(reported);
        let value = only(headers, &header).unwrap_or_default();
        let value: String = value.chars().take(MAX_LOGGED_CHARS).collect();
        tracing::warn!("a request was refused because {header} {value:?} is not allowed. To allow it, {advice}");
    }

    /// Whether a request to the MCP endpoint may pass.
    pub(super) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        self.check_host(uri, headers)?;
        match origin(headers)? {
            None => Ok(()),
            Some(origin) if self.origins.iter().any(|allowed| allowed.is_same(&origin)) => Ok(()),
            Some(_) => Err(Refusal::OriginNotAllowed),
        }
    }

    /// Whether a request for a page may pass. Pages accept only requests of their own origin: the origins that the
    /// operator allows are for MCP clients in other pages.
    pub(super) fn check_same_origin(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = self.check_host(uri, headers)?;
        match origin(headers)? {
            None => Ok(()),
            Some(origin) if origin.is_of_web_host(&host) => Ok(()),
            Some(_) => Err(Refusal::OriginNotAllowed),
        }
    }

    /// The host of a request, if it is allowed.
    fn check_host<'h>(&self, uri: &Uri, headers: &'h HeaderMap) -> Result<Authority<&'h str>, Refusal> {
        let host = only(headers, &header::HOST).and_then(Authority::parse).ok_or(Refusal::MalformedHost)?;
        if let Some(authority) = uri.authority() {
            let named = Authority::parse(authority.as_str()).ok_or(Refusal::MalformedHost)?;
            if !named.is_same(&host, DEFAULT_PORT) {
                return Err(Refusal::MalformedHost);
            }
        }
        let is_allowed = self.hosts.iter().any(|allowed| allowed.allows(&host));
        if is_allowed { Ok(host) } else { Err(Refusal::HostNotAllowed) }
    }
}

/// The origin of the page that sent a request. `None` if no page did.
fn origin(headers: &HeaderMap) -> Result<Option<Origin<&str>>, Refusal> {
    if !headers.contains_key(header::ORIGIN) {
        return Ok(None);
    }
    let text = only(headers, &header::ORIGIN).ok_or(Refusal::MalformedOrigin)?;
    // Sandboxed pages and local files send this. It is well-formed, but identifies no origin.
    if text == "null" {
        return Err(Refusal::OriginNotAllowed);
    }
    Origin::parse(text).map(Some).ok_or(Refusal::MalformedOrigin)
}

/// The value of a header that occurs exactly once, in ASCII.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())?.to_str().ok()
}

/// Allows a page of an allowed origin to read the response.
pub(super) fn allow_origin(origin: HeaderValue, headers: &mut HeaderMap) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::VARY, HeaderValue::from_static("origin"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(REQUEST_HEADERS));
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("mcp-session-id"));
}

/// The request headers that a page needs for MCP.
const REQUEST_HEADERS: &str =
    "content-type, accept, authorization, last-event-id, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name";
