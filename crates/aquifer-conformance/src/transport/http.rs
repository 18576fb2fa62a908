//! Streamable HTTP: every message is a POST, answered with JSON or an event stream.

use std::time::Duration;

use futures::future::BoxFuture;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, Url};
use serde_json::{Value, json};

use super::connection::{
    Connection, MAX_ANSWER_BYTES, SimulatedUser, TransportError, answer_to_server, is_response_to,
};

const SESSION: &str = "mcp-session-id";
const PROTOCOL: &str = "mcp-protocol-version";

/// One session over HTTP.
pub(super) struct HttpConnection {
    client: Client,
    url: Url,
    headers: HeaderMap,
    user: SimulatedUser,
}

impl HttpConnection {
    pub(super) fn new(url: &str, headers: &[(String, String)]) -> Result<Self, TransportError> {
        let url = Url::parse(url).map_err(|cause| TransportError(format!("'{url}' is not a URL: {cause}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(TransportError(format!("'{url}' does not start with http: or https:")));
        }
        let mut all = HeaderMap::new();
        all.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        all.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        for (name, value) in headers {
            let (Ok(header), Ok(mut value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) else {
                return Err(TransportError(format!("header '{name}' cannot be sent")));
            };
            value.set_sensitive(true);
            all.insert(header, value);
        }
        // Fails if it is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder()
            .connect_timeout(Duration::from_secs(10))
            .redirect(reqwest::redirect::Policy::none())
            .tcp_nodelay(true)
            .user_agent(concat!("aquifer-conformance/", env!("CARGO_PKG_VERSION")));
        if url.host_str().is_some_and(|host| host == "localhost" || host.starts_with("127.") || host == "[::1]") {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|cause| TransportError(cause.without_url().to_string()))?;
        Ok(Self { client, url, headers: all, user: SimulatedUser::default() })
    }

    async fn post(&mut self, body: Vec<u8>) -> Result<Response, TransportError> {
        let sent = self.client.post(self.url.clone()).headers(self.headers.clone()).body(body).send().await;
        let response =
            sent.map_err(|cause| TransportError(format!("the server cannot be reached: {}", root_cause(&cause))))?;
        if let Some(session) = response.headers().get(SESSION) {
            self.headers.insert(SESSION, session.clone());
        }
        Ok(response)
    }

    /// The message that `wanted` accepts, from a JSON body or an event stream.
    async fn read(
        &mut self,
        response: Response,
        wanted: impl Fn(&Value) -> bool,
    ) -> Result<Option<Value>, TransportError> {
        let status = response.status();
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if kind.starts_with("text/event-stream") {
            return self.read_events(response, wanted).await;
        }
        let body = read_body(response).await?;
        if let Ok(message) = serde_json::from_slice::<Value>(&body)
            && wanted(&message)
        {
            return Ok(Some(message));
        }
        if status.is_success() {
            return Ok(None);
        }
        // A refusal by the transport is also an answer: the client is not left waiting.
        let text: String = String::from_utf8_lossy(&body).chars().take(300).collect();
        match status.as_u16() {
            400 | 413 | 415 | 422 => {
                let text = serde_json::from_str::<Value>(&text).ok();
                let message = text.as_ref().and_then(|text| text.pointer("/error/message")).and_then(Value::as_str);
                let message = message.map_or_else(|| format!("HTTP {status}"), str::to_owned);
                Ok(Some(json!({"jsonrpc": "2.0", "error": {"code": -32600, "message": message}})))
            }
            _ => Err(TransportError(format!("the server answered HTTP {status}: {text}"))),
        }
    }

    /// Reads an event stream up to the wanted message. The gateway has its own parser for the event streams of its
    /// upstreams. They share no code, because a mistake on both sides would pass every check (see
    /// `docs/adr/0018-independent-conformance-client.md`).
    async fn read_events(
        &mut self,
        mut response: Response,
        wanted: impl Fn(&Value) -> bool,
    ) -> Result<Option<Value>, TransportError> {
        let mut buffer = Vec::new();
        let mut data = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(interrupted)? {
            buffer.extend_from_slice(&piece);
            if buffer.len() + data.len() > MAX_ANSWER_BYTES {
                return Err(TransportError(format!("an answer is larger than {MAX_ANSWER_BYTES} bytes")));
            }
            while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = buffer.drain(..=end).collect();
                let line = line.trim_ascii_end();
                if let Some(part) = line.strip_prefix(b"data:") {
                    data.extend_from_slice(part.strip_prefix(b" ").unwrap_or(part));
                    continue;
                }
                if !line.is_empty() {
                    continue;
                }
                let Ok(message) = serde_json::from_slice::<Value>(&std::mem::take(&mut data)) else { continue };
                if wanted(&message) {
                    // The connection can be reused only after the body was read to its end.
                    let rest = async { while let Ok(Some(_)) = response.chunk().await {} };
                    let _ = tokio::time::timeout(Duration::from_millis(50), rest).await;
                    return Ok(Some(message));
                }
                if let Some(reply) = answer_to_server(&message, &mut self.user) {
                    self.post(reply.to_string().into_bytes()).await?;
                }
            }
        }
        Ok(None)
    }
}

impl Connection for HttpConnection {
    fn user(&mut self) -> &mut SimulatedUser {
        &mut self.user
    }

    fn request<'a>(&'a mut self, request: &'a Value) -> BoxFuture<'a, Result<Value, TransportError>> {
        Box::pin(async move {
            let id = request.get("id").cloned().unwrap_or_default();
            let response = self.post(request.to_string().into_bytes()).await?;
            let status = response.status();
            let message = self.read(response, |message| is_response_to(message, &id) || is_refusal(message)).await?;
            let message = message
                .ok_or_else(|| TransportError(format!("the server answered HTTP {status} without a response")))?;
            let agreed = message.pointer("/result/protocolVersion").and_then(Value::as_str);
            if let Some(agreed) = agreed.and_then(|agreed| HeaderValue::from_str(agreed).ok()) {
                self.headers.insert(PROTOCOL, agreed);
            }
            Ok(message)
        })
    }

    fn notify<'a>(&'a mut self, notification: &'a Value) -> BoxFuture<'a, Result<(), TransportError>> {
        Box::pin(async move {
            let response = self.post(notification.to_string().into_bytes()).await?;
            let status = response.status();
            if status.is_success() { Ok(()) } else { Err(TransportError(format!("the server answered HTTP {status}"))) }
        })
    }

    fn send_raw<'a>(
        &'a mut self,
        bytes: &'a [u8],
        timeout: Duration,
    ) -> BoxFuture<'a, Result<Option<Value>, TransportError>> {
        Box::pin(async move {
            let answered = async {
                let response = self.post(bytes.to_vec()).await?;
                self.read(response, |_| true).await
            };
            tokio::time::timeout(timeout, answered).await.unwrap_or(Ok(None))
        })
    }
}

/// Whether a message is a JSON-RPC error. The id is ignored, because the server may not have parsed it.
fn is_refusal(message: &Value) -> bool {
    message.get("jsonrpc").is_some() && message.get("error").is_some_and(Value::is_object)
}

async fn read_body(mut response: Response) -> Result<Vec<u8>, TransportError> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(interrupted)? {
        body.extend_from_slice(&piece);
        if body.len() > MAX_ANSWER_BYTES {
            return Err(TransportError(format!("an answer is larger than {MAX_ANSWER_BYTES} bytes")));
        }
    }
    Ok(body)
}

fn interrupted(cause: reqwest::Error) -> TransportError {
    TransportError(format!("the answer was interrupted: {}", root_cause(&cause)))
}

/// The innermost cause, which is the most specific.
fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
