//! A connection over Streamable HTTP: every message of ours is a request, and answers come as JSON or as events.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base64::Engine as _;
use bytes::{Bytes, BytesMut};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};

use crate::calls::Companion;
use crate::message::{self, Json, RpcError};
use crate::oauth::{Kept, Login, Tokens};
use crate::pacing::Pacing;
use crate::settings::Bearer;
use crate::shared::Shared;
use crate::sse::Events;
use crate::trouble::{Gone, Trouble};
use crate::words::Words;

const CONNECT_IN: Duration = Duration::from_secs(10);
const SEND_IN: Duration = Duration::from_secs(10);
const MOST_REDIRECTS: usize = 3;
/// How often an answer is asked for again whose stream broke off.
const MOST_RESUMPTIONS: usize = 5;
const RESUME_AFTER: (u64, u64) = (250, 10_000);

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

const UNREACHABLE: &str = "it cannot be reached";
const BROKE: &str = "the connection broke off";

/// A way to an MCP server over HTTP.
pub(crate) struct Http {
    client: Client,
    url: Url,
    headers: HeaderMap,
    /// What a login gave, unless a token is configured.
    tokens: Option<Arc<Tokens>>,
    session: OnceLock<HeaderValue>,
    protocol: OnceLock<HeaderValue>,
    stateless: AtomicBool,
    largest: usize,
    pacing: Pacing,
}

/// What a request is about, for the headers of newer revisions.
#[derive(Clone, Copy)]
pub(crate) struct About<'a> {
    pub(crate) id: u64,
    pub(crate) method: &'a str,
    pub(crate) name: Option<&'a str>,
}

impl Http {
    pub(crate) fn new(
        url: &str,
        headers: &[(String, String)],
        bearer: Option<&Bearer>,
        largest: usize,
    ) -> Result<Self, Gone> {
        const REASON: &str = "its configuration cannot be used";
        let url = Url::parse(url).map_err(|cause| Gone::new(REASON, format!("its URL: {cause}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Gone::new(REASON, "its URL begins neither with http: nor with https:"));
        }
        let mut all = HeaderMap::new();
        let bearer = bearer.map(|bearer| (AUTHORIZATION.to_string(), format!("Bearer {}", bearer.token)));
        for (name, value) in headers.iter().cloned().chain(bearer) {
            let name = HeaderName::try_from(&name).map_err(|_| Gone::new(REASON, "a header's name"))?;
            let mut value = HeaderValue::try_from(&value).map_err(|_| Gone::new(REASON, format!("header {name}")))?;
            value.set_sensitive(true);
            all.insert(name, value);
        }
        let origin = url.origin();
        // Our headers are for this server and no other.
        let same_server = Policy::custom(move |attempt| {
            let same = attempt.url().origin() == origin;
            if same && attempt.previous().len() <= MOST_REDIRECTS { attempt.follow() } else { attempt.stop() }
        });
        let mut builder = Client::builder().connect_timeout(CONNECT_IN).redirect(same_server).tcp_nodelay(true);
        builder = builder.user_agent(concat!("aquifer/", env!("CARGO_PKG_VERSION")));
        if url.host_str().is_some_and(|host| host == "localhost" || host.starts_with("127.") || host == "[::1]") {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|cause| Gone::new(REASON, cause.without_url()))?;
        Ok(Self {
            client,
            url,
            headers: all,
            tokens: None,
            session: OnceLock::new(),
            protocol: OnceLock::new(),
            stateless: AtomicBool::new(false),
            largest,
            pacing: Pacing::new(),
        })
    }

    /// Sends the tokens of a login with every request, unless the configuration has something else to send.
    pub(crate) fn log_in(&mut self, login: &Login, words: &Words) {
        if !self.headers.contains_key(AUTHORIZATION) {
            self.tokens = Tokens::new(&self.url, login, words);
        }
    }

    /// From now on every request says which revision it is of.
    pub(crate) fn speak(&self, protocol: &str, stateless: bool) {
        if let Ok(value) = HeaderValue::from_str(protocol) {
            let _ = self.protocol.set(value);
        }
        self.stateless.store(stateless, Ordering::Relaxed);
    }

    /// The token to send now.
    async fn token(&self) -> Option<Arc<Kept>> {
        match &self.tokens {
            Some(tokens) => tokens.current().await,
            None => None,
        }
    }

    fn with_headers(&self, mut request: RequestBuilder, token: Option<&Kept>) -> RequestBuilder {
        request = request.headers(self.headers.clone());
        if let Some(token) = token.and_then(Kept::header) {
            request = request.header(AUTHORIZATION, token);
        }
        if let Some(session) = self.session.get() {
            request = request.header(SESSION, session);
        }
        if let Some(protocol) = self.protocol.get() {
            request = request.header(PROTOCOL, protocol);
        }
        request
    }

    async fn post(&self, body: Vec<u8>, about: Option<About<'_>>) -> Result<Response, Trouble> {
        if let Some(wait) = self.pacing.wait() {
            return Err(Trouble::TooOften { wait });
        }
        let body = Bytes::from(body);
        let token = self.token().await;
        let response = self.post_with(token.as_deref(), body.clone(), about).await?;
        // Nothing was done: it may be asked again, once, with a better token.
        let better = match (&self.tokens, response.status()) {
            (Some(tokens), StatusCode::UNAUTHORIZED) => Some((tokens, tokens.instead_of(token).await?)),
            // Somebody may have logged in for more meanwhile.
            (Some(tokens), StatusCode::FORBIDDEN) => tokens.newer_than(token.as_deref()).map(|newer| (tokens, newer)),
            _ => None,
        };
        let Some((tokens, better)) = better else { return self.accepted(response) };
        match self.post_with(Some(&better), body, about).await? {
            refused if refused.status() == StatusCode::UNAUTHORIZED => {
                Err(tokens.wanted("its login is no longer accepted").into())
            }
            response => self.accepted(response),
        }
    }

    fn accepted(&self, response: Response) -> Result<Response, Trouble> {
        if let Some(wait) = self.pacing.note(response.status(), response.headers()) {
            return Err(Trouble::TooOften { wait });
        }
        match response.status() {
            StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST if self.session.get().is_some() => {
                Err(Trouble::SessionLost)
            }
            status @ (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
                let forbidden = self.tokens.as_ref().and_then(|tokens| tokens.forbidden(response.headers()));
                Err(forbidden
                    .unwrap_or_else(|| Trouble::gone("it wants authorization", format!("HTTP status {status}"))))
            }
            _ => Ok(response),
        }
    }

    async fn post_with(
        &self,
        token: Option<&Kept>,
        body: Bytes,
        about: Option<About<'_>>,
    ) -> Result<Response, Trouble> {
        let mut request = self
            .with_headers(self.client.post(self.url.clone()), token)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream");
        if let (Some(about), true) = (about, self.stateless.load(Ordering::Relaxed)) {
            request = request.header(METHOD, about.method);
            if let Some(name) = about.name {
                request = request.header(NAME, header_text(name));
            }
        }
        request.body(body).send().await.map_err(broken)
    }

    /// Sends a request and waits for its answer. What else comes on its stream is handed on.
    pub(crate) async fn exchange(
        &self,
        shared: &Arc<Shared>,
        about: About<'_>,
        body: Vec<u8>,
        companion: &Arc<Companion>,
    ) -> Result<Json, Trouble> {
        let response = self.post(body, Some(about)).await?;
        if about.method == "initialize"
            && let Some(session) = response.headers().get(SESSION)
        {
            let mut session = session.clone();
            session.set_sensitive(true);
            let _ = self.session.set(session);
        }
        let status = response.status();
        if is(&response, "text/event-stream") {
            return self.follow(response, shared, about.id, companion).await;
        }
        let body = self.body(response).await?;
        let mut answer = None;
        let read = message::each(&body, |message| match message.answers() {
            Some(id) if id == about.id => answer = Some(message.outcome(&body)),
            // An error before the id was read has none.
            None if message.error.is_some() => answer = Some(message.outcome(&body)),
            _ => shared.take(&body, &message, Some(companion)),
        });
        match (answer, read) {
            (Some(answer), _) => answer.map_err(Trouble::Refused),
            _ if status.is_server_error() => {
                Err(Trouble::gone("it answers with server errors", format!("HTTP status {status}")))
            }
            _ if !status.is_success() => Err(Trouble::Refused(RpcError {
                code: i64::from(status.as_u16()),
                message: format!("HTTP status {}", status.as_u16()),
            })),
            (None, read) => Err(Trouble::Unintelligible(format!("no answer in the body: {:?}", read.err()))),
        }
    }

    async fn body(&self, mut response: Response) -> Result<Bytes, Trouble> {
        let announced = response.content_length().and_then(|size| usize::try_from(size).ok()).unwrap_or_default();
        if announced > self.largest {
            return Err(Trouble::TooLarge { size: announced });
        }
        let mut body = BytesMut::with_capacity(announced);
        while let Some(chunk) = response.chunk().await.map_err(broken)? {
            body.extend_from_slice(&chunk);
            if body.len() > self.largest {
                return Err(Trouble::TooLarge { size: body.len() });
            }
        }
        Ok(body.freeze())
    }

    /// Reads a stream until the answer is there. A stream that breaks off is resumed where it can be.
    async fn follow(
        &self,
        mut response: Response,
        shared: &Arc<Shared>,
        id: u64,
        companion: &Arc<Companion>,
    ) -> Result<Json, Trouble> {
        let mut last_id: Option<String> = None;
        for _ in 0..=MOST_RESUMPTIONS {
            let mut events = Events::new(self.largest);
            let mut answer = None;
            let broke = self
                .events(&mut response, &mut events, |event| {
                    let read = message::each(event, |message| {
                        if message.answers() == Some(id) {
                            answer = Some(message.outcome(event));
                        } else {
                            shared.take(event, &message, Some(companion));
                        }
                    });
                    report(shared, read);
                    answer.is_none()
                })
                .await;
            if let Some(answer) = answer {
                return answer.map_err(Trouble::Refused);
            }
            if let Err(trouble @ Trouble::TooLarge { .. }) = broke {
                return Err(trouble);
            }
            last_id = events.last_id.or(last_id);
            let Some(after) = &last_id else {
                return Err(Trouble::Broke(Gone::new(BROKE, "its stream ended without an answer")));
            };
            let (least, most) = RESUME_AFTER;
            tokio::time::sleep(Duration::from_millis(events.retry.unwrap_or_default().clamp(least, most))).await;
            response = self.listen(Some(after)).await?;
        }
        Err(Trouble::Broke(Gone::new(BROKE, "its stream ended again and again without an answer")))
    }

    /// Hands every event on until `more` says that it was enough.
    async fn events(
        &self,
        response: &mut Response,
        events: &mut Events,
        mut more: impl FnMut(&Bytes) -> bool,
    ) -> Result<(), Trouble> {
        let too_large = |size: crate::sse::TooLarge| Trouble::TooLarge { size: size.0 };
        while let Some(chunk) = response.chunk().await.map_err(broken)? {
            events.push(&chunk).map_err(too_large)?;
            while let Some(event) = events.next().map_err(too_large)? {
                // An event may be there only for its id.
                if !event.is_empty() && !more(&event) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    async fn listen(&self, after: Option<&str>) -> Result<Response, Trouble> {
        let token = self.token().await;
        let mut request =
            self.with_headers(self.client.get(self.url.clone()), token.as_deref()).header(ACCEPT, "text/event-stream");
        if let Some(after) = after {
            request = request.header(LAST_EVENT, after);
        }
        let response = request.send().await.map_err(broken)?;
        if response.status().is_success() && is(&response, "text/event-stream") {
            return Ok(response);
        }
        Err(Trouble::gone("it offers no stream", format!("HTTP status {}", response.status())))
    }

    /// Listens to what the server says unasked, for as long as the connection lasts. A server that has no such stream is
    /// left in peace.
    pub(crate) async fn overhear(self: Arc<Self>, shared: Arc<Shared>) {
        let mut pause = Duration::from_secs(1);
        let mut after: Option<String> = None;
        loop {
            let Ok(mut response) = self.listen(after.as_deref()).await else { return };
            let mut events = Events::new(self.largest);
            let begun = tokio::time::Instant::now();
            let ended = self
                .events(&mut response, &mut events, |event| {
                    report(&shared, message::each(event, |message| shared.take(event, &message, None)));
                    true
                })
                .await;
            if matches!(ended, Err(Trouble::TooLarge { .. })) {
                return;
            }
            after = events.last_id.or(after);
            pause = if begun.elapsed() > pause { Duration::from_secs(1) } else { pause * 2 };
            tokio::time::sleep(pause.min(Duration::from_secs(60))).await;
        }
    }

    /// Sends a message to which no answer is expected.
    pub(crate) fn send_later(self: &Arc<Self>, shared: &Arc<Shared>, message: Vec<u8>) {
        let (http, shared) = (self.clone(), shared.clone());
        tokio::spawn(async move {
            match tokio::time::timeout(SEND_IN, http.post(message, None)).await {
                Ok(Err(Trouble::SessionLost)) => shared.close(&Gone::new("it lost our session", "a message")),
                Ok(Ok(_)) => {}
                failed => tracing::debug!(source = &*shared.name, "a message could not be sent: {failed:?}"),
            }
        });
    }

    /// Sends a message and waits until it was taken.
    pub(crate) async fn send(&self, message: Vec<u8>) -> Result<(), Trouble> {
        self.post(message, None).await.map(|_| ())
    }

    /// Tells the server that we will not come again.
    pub(crate) async fn leave(&self) {
        if self.session.get().is_some() {
            let token = self.tokens.as_ref().and_then(|tokens| tokens.last());
            let leaving = self.with_headers(self.client.delete(self.url.clone()), token.as_deref()).send();
            let _ = tokio::time::timeout(Duration::from_secs(1), leaving).await;
        }
    }
}

fn report(shared: &Shared, read: Result<(), serde_json::Error>) {
    if let Err(cause) = read {
        let cause = shared.words.for_log(&cause.to_string());
        tracing::warn!(source = &*shared.name, "the upstream's stream holds what is no message: {cause}");
    }
}

fn is(response: &Response, media_type: &str) -> bool {
    let said = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    said.trim_start().to_ascii_lowercase().starts_with(media_type)
}

fn broken(cause: reqwest::Error) -> Trouble {
    let unreachable = cause.is_connect();
    let cause = cause.without_url();
    let mut words = cause.to_string();
    let mut inner = std::error::Error::source(&cause);
    while let Some(next) = inner {
        words.push_str(&format!(": {next}"));
        inner = next.source();
    }
    if unreachable { Trouble::gone(UNREACHABLE, words) } else { Trouble::Broke(Gone::new(BROKE, words)) }
}

/// A name as a header may carry it.
fn header_text(name: &str) -> String {
    let plain = name.bytes().all(|byte| (0x20..0x7f).contains(&byte)) && name.trim() == name;
    if plain && !name.is_empty() && !name.starts_with("=?base64?") {
        return name.to_owned();
    }
    format!("=?base64?{}?=", base64::engine::general_purpose::STANDARD.encode(name))
}
