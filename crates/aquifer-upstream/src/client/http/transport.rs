//! Sends messages over HTTP: headers, logins, redirects and retries.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use aquifer_net::client_builder_for;
use arc_swap::ArcSwap;
use base64::Engine as _;
use bytes::Bytes;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::rate_limit::RateLimit;
use super::session::Session;
use crate::client::delivery::Delivery;
use crate::client::shared_state::SharedState;
use crate::error::{Outage, UpstreamError};
use crate::oauth::{LoginTokens, StoredLogin};
use crate::sanitize::Sanitizer;
use crate::settings::{BearerToken, LoginSettings};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const SEND_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_REDIRECTS: usize = 3;

/// Maximum number of responses to the server that are being sent at once, besides answers to questions.
const MAX_REPLIES: usize = 64;

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

const UNREACHABLE: &str = "it cannot be reached";
pub(super) const DISCONNECTED: &str = "the connection was lost";

/// A transport to an MCP server over HTTP.
pub(crate) struct HttpTransport {
    pub(super) client: Client,
    /// The current URL of the server: the configured one, or a redirect target on the same origin.
    endpoint: ArcSwap<Url>,
    headers: HeaderMap,
    /// The tokens of a login, unless a token is configured.
    pub(super) tokens: Option<Arc<LoginTokens>>,
    /// Whether a request was refused for missing scopes. A person may have logged in with more scopes since.
    is_forbidden: AtomicBool,
    pub(super) session: Session,
    protocol: OnceLock<HeaderValue>,
    stateless: AtomicBool,
    pub(super) max_bytes: usize,
    rate_limit: RateLimit,
    /// Allows one probe of the session at a time.
    pub(super) probes: Semaphore,
    replies: Arc<Semaphore>,
}

/// The request's identity, for the headers of newer MCP revisions.
#[derive(Clone, Copy)]
pub(crate) struct RequestInfo<'a> {
    pub(crate) id: u64,
    pub(crate) method: &'a str,
    pub(crate) name: Option<&'a str>,
}

impl HttpTransport {
    pub(crate) fn new(
        url: &str,
        headers: &[(String, String)],
        bearer: Option<&BearerToken>,
        max_bytes: usize,
    ) -> Result<Self, Outage> {
        const REASON: &str = "its configuration is invalid";
        let url = Url::parse(url).map_err(|cause| Outage::new(REASON, format!("its URL: {cause}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Outage::new(REASON, "its URL begins with neither http: nor https:"));
        }
        let mut all = HeaderMap::new();
        let bearer = bearer.map(|bearer| (AUTHORIZATION.to_string(), format!("Bearer {}", bearer.token)));
        for (name, value) in headers.iter().cloned().chain(bearer) {
            let name = HeaderName::try_from(&name).map_err(|_| Outage::new(REASON, "an invalid header name"))?;
            let mut value = HeaderValue::try_from(&value).map_err(|_| Outage::new(REASON, format!("header {name}")))?;
            value.set_sensitive(true);
            all.insert(name, value);
        }
        let client = client_builder_for(&url).connect_timeout(CONNECT_TIMEOUT).build();
        let client = client.map_err(|cause| Outage::new(REASON, cause.without_url()))?;
        Ok(Self {
            client,
            endpoint: ArcSwap::from_pointee(url),
            headers: all,
            tokens: None,
            is_forbidden: AtomicBool::new(false),
            session: Session::default(),
            protocol: OnceLock::new(),
            stateless: AtomicBool::new(false),
            max_bytes,
            rate_limit: RateLimit::new(),
            probes: Semaphore::new(1),
            replies: Arc::new(Semaphore::new(MAX_REPLIES)),
        })
    }

    /// Sends the tokens of a login with every request, unless an `Authorization` header is configured.
    pub(crate) fn use_login(&mut self, login: &LoginSettings, sanitizer: &Sanitizer) {
        if !self.headers.contains_key(AUTHORIZATION) {
            self.tokens = LoginTokens::new(&self.endpoint(), login, sanitizer);
        }
    }

    /// Sets the MCP revision that every request names from now on.
    pub(crate) fn set_protocol(&self, protocol: &str, stateless: bool) {
        if let Ok(value) = HeaderValue::from_str(protocol) {
            let _ = self.protocol.set(value);
        }
        self.stateless.store(stateless, Ordering::Relaxed);
    }

    pub(super) fn endpoint(&self) -> Arc<Url> {
        self.endpoint.load_full()
    }

    /// The token to send now.
    pub(super) async fn current_token(&self) -> Option<Arc<StoredLogin>> {
        match &self.tokens {
            Some(tokens) => tokens.current().await,
            None => None,
        }
    }

    /// The token for this request. A once-only request cannot be retried with a newer login, so after an earlier
    /// refusal this looks for a newer login first.
    async fn token_for(&self, delivery: &Delivery) -> Option<Arc<StoredLogin>> {
        if !delivery.is_repeatable()
            && self.is_forbidden.load(Ordering::Relaxed)
            && let Some(tokens) = &self.tokens
            && let Some(newer) = tokens.newer_than(tokens.last().as_deref())
        {
            self.is_forbidden.store(false, Ordering::Relaxed);
            return Some(newer);
        }
        self.current_token().await
    }

    pub(super) fn with_headers(&self, mut request: RequestBuilder, token: Option<&StoredLogin>) -> RequestBuilder {
        request = request.headers(self.headers.clone());
        if let Some(token) = token.and_then(StoredLogin::header) {
            request = request.header(AUTHORIZATION, token);
        }
        if let Some(session) = self.session.id() {
            request = request.header(SESSION, session);
        }
        if let Some(protocol) = self.protocol.get() {
            request = request.header(PROTOCOL, protocol);
        }
        request
    }

    /// Sends a message, and retries with a newer login if the request may be sent again. Responses about logins and
    /// rate limits are returned as errors, all others as they are.
    pub(super) async fn post(
        &self,
        body: Vec<u8>,
        info: Option<RequestInfo<'_>>,
        delivery: &mut Delivery,
    ) -> Result<Response, UpstreamError> {
        if let Some(wait) = self.rate_limit.remaining_wait() {
            return Err(UpstreamError::RateLimited { wait });
        }
        let body = Bytes::from(body);
        let token = self.token_for(delivery).await;
        let response = self.post_with_redirects(token.as_deref(), body.clone(), info, delivery).await?;
        let better = match (&self.tokens, response.status()) {
            (Some(tokens), StatusCode::UNAUTHORIZED) if !tokens.is_insufficient(response.headers()) => {
                Some((tokens, tokens.replacement_for(token).await.map_err(UpstreamError::Unauthorized)?))
            }
            // A person may have logged in with more scopes in the meantime.
            (Some(tokens), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
                tokens.newer_than(token.as_deref()).map(|newer| (tokens, newer))
            }
            _ => None,
        };
        let Some((tokens, better)) = better else { return self.check_status(response, delivery) };
        if !delivery.may_send() {
            return Err(UpstreamError::LoginRenewed);
        }
        match self.post_with_redirects(Some(&better), body, info, delivery).await? {
            refused if refused.status() == StatusCode::UNAUTHORIZED && !tokens.is_insufficient(refused.headers()) => {
                Err(UpstreamError::Unauthorized(tokens.login_required("its login is no longer accepted")))
            }
            response => self.check_status(response, delivery),
        }
    }

    fn check_status(&self, response: Response, delivery: &Delivery) -> Result<Response, UpstreamError> {
        let status = response.status();
        // A proxy also responds with 503 if the server was disconnected during a call. It counts as a rate limit only
        // for repeatable requests.
        let is_refusal = status == StatusCode::TOO_MANY_REQUESTS || delivery.is_repeatable();
        if let Some(wait) = self.rate_limit.record(status, response.headers()).filter(|_| is_refusal) {
            return Err(UpstreamError::RateLimited { wait });
        }
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            let forbidden = self.tokens.as_ref().and_then(|tokens| tokens.forbidden_error(response.headers()));
            self.is_forbidden.store(forbidden.is_some(), Ordering::Relaxed);
            let unauthorized = || Outage::new("it requires authorization", format!("HTTP status {status}"));
            return Err(forbidden.unwrap_or_else(|| UpstreamError::Unauthorized(unauthorized())));
        }
        Ok(response)
    }

    /// Sends a message, and follows redirects if the message may be sent again.
    async fn post_with_redirects(
        &self,
        token: Option<&StoredLogin>,
        body: Bytes,
        info: Option<RequestInfo<'_>>,
        delivery: &mut Delivery,
    ) -> Result<Response, UpstreamError> {
        let mut url = self.endpoint();
        let mut redirects = 0;
        loop {
            let response = self.post_once(&url, token, body.clone(), info, delivery).await?;
            let Some(target) = redirect_target(&url, &response).filter(|_| redirects < MAX_REDIRECTS) else {
                if redirects > 0 && response.status().is_success() {
                    self.endpoint.store(url);
                }
                return Ok(response);
            };
            if !delivery.may_send() {
                return Err(UpstreamError::Redirected { status: response.status().as_u16() });
            }
            (url, redirects) = (Arc::new(target), redirects + 1);
        }
    }

    async fn post_once(
        &self,
        url: &Url,
        token: Option<&StoredLogin>,
        body: Bytes,
        info: Option<RequestInfo<'_>>,
        delivery: &mut Delivery,
    ) -> Result<Response, UpstreamError> {
        let mut request = self
            .with_headers(self.client.post(url.clone()), token)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream");
        if let (Some(info), true) = (info, self.stateless.load(Ordering::Relaxed)) {
            request = request.header(METHOD, info.method);
            if let Some(name) = info.name {
                request = request.header(NAME, header_text(name));
            }
        }
        delivery.begin_attempt()?;
        request.body(body).send().await.map_err(|cause| {
            if cause.is_connect() || cause.is_builder() {
                delivery.mark_unsent();
            }
            describe_error(cause)
        })
    }

    /// Sends a message that has no response, in the background.
    pub(crate) fn send_later(self: &Arc<Self>, shared: &Arc<SharedState>, message: Vec<u8>) {
        self.spawn_send(shared, message, None);
    }

    /// Sends a response that the server can request as often as it likes. Dropped if too many are being sent.
    pub(crate) fn reply_later(self: &Arc<Self>, shared: &Arc<SharedState>, response: Vec<u8>) {
        match self.replies.clone().try_acquire_owned() {
            Ok(permit) => self.spawn_send(shared, response, Some(permit)),
            Err(_) => tracing::debug!(source = &*shared.name, "dropped a response: too many are being sent"),
        }
    }

    fn spawn_send(self: &Arc<Self>, shared: &Arc<SharedState>, message: Vec<u8>, permit: Option<OwnedSemaphorePermit>) {
        let (http, shared) = (self.clone(), shared.clone());
        tokio::spawn(async move {
            let _permit = permit;
            match tokio::time::timeout(SEND_TIMEOUT, http.send(message)).await {
                Ok(Err(UpstreamError::SessionLost)) => shared.close(&Outage::new("it lost our session", "a message")),
                Ok(Ok(())) => {}
                failed => tracing::debug!(source = &*shared.name, "a message could not be sent: {failed:?}"),
            }
        });
    }

    /// Sends a message and waits until it was delivered. Notifications and responses can safely be delivered twice.
    pub(crate) async fn send(&self, message: Vec<u8>) -> Result<(), UpstreamError> {
        let in_session = self.session.id().is_some();
        let response = self.post(message, None, &mut Delivery::repeatable()).await?;
        if response.status() == StatusCode::NOT_FOUND && in_session {
            self.session.lose();
            return Err(UpstreamError::SessionLost);
        }
        Ok(())
    }
}

/// The target of a redirect that preserves method and body. It must have the same origin, because our headers are meant
/// for this server.
fn redirect_target(url: &Url, response: &Response) -> Option<Url> {
    let keeps_method = matches!(
        response.status(),
        StatusCode::MOVED_PERMANENTLY
            | StatusCode::FOUND
            | StatusCode::TEMPORARY_REDIRECT
            | StatusCode::PERMANENT_REDIRECT
    );
    let location = response.headers().get(LOCATION).filter(|_| keeps_method)?.to_str().ok()?;
    url.join(location).ok().filter(|target| target.origin() == url.origin())
}

pub(super) fn has_media_type(response: &Response, media_type: &str) -> bool {
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    content_type.trim_start().to_ascii_lowercase().starts_with(media_type)
}

/// Converts an error of the HTTP client.
pub(super) fn describe_error(cause: reqwest::Error) -> UpstreamError {
    let unreachable = cause.is_connect();
    let cause = cause.without_url();
    let mut text = cause.to_string();
    let mut inner = std::error::Error::source(&cause);
    while let Some(next) = inner {
        text.push_str(&format!(": {next}"));
        inner = next.source();
    }
    if unreachable {
        UpstreamError::unavailable(UNREACHABLE, text)
    } else {
        UpstreamError::Disconnected(Outage::new(DISCONNECTED, text))
    }
}

/// Encodes a name for a header.
fn header_text(name: &str) -> String {
    let plain = name.bytes().all(|byte| (0x20..0x7f).contains(&byte)) && name.trim() == name;
    if plain && !name.is_empty() && !name.starts_with("=?base64?") {
        return name.to_owned();
    }
    format!("=?base64?{}?=", base64::engine::general_purpose::STANDARD.encode(name))
}
