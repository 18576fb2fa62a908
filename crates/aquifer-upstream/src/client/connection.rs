//! One live connection to an upstream over any transport: the handshake, then requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aquifer_discovery::bundle::ServerIdentity;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::timeout_at;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::delivery::Delivery;
use super::message::{self, Json};
use super::pending_calls::CallOrigin;
use super::shared_state::{Outbound, SharedState, describe_rpc_error};
use super::wire_log;
use crate::client::http::transport::{HttpTransport, RequestInfo};
use crate::client::stdio::child::Child;
use crate::client::stdio::serve;
use crate::error::{Outage, UpstreamError};
use crate::sanitize::Sanitizer;
use crate::settings::{AllowedRequests, Settings, Transport};

/// Marks a connection whose tool list is not served yet.
const NOT_FRESH: u64 = u64::MAX;

const SESSION_PROTOCOL: &str = "2025-11-25";
const STATELESS_PROTOCOL: &str = "2026-07-28";

/// The two modes of MCP. Trying the wrong one may cost seconds, so the mode is cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ProtocolMode {
    /// Requests follow a handshake and belong to its session. The upstream may send requests to us.
    #[default]
    Sessions,
    /// Every request carries the client's identity.
    Stateless,
}

/// What an upstream reports about itself in the handshake.
#[derive(Debug, Clone, Default)]
pub(crate) struct Handshake {
    pub(crate) server: ServerIdentity,
    pub(crate) protocol: String,
    pub(crate) instructions: Option<String>,
    pub(crate) capabilities: Value,
}

/// One live connection. Once closed, it accepts no new requests, but pending ones keep it alive. Dropping it ends
/// everything that belongs to it; the session ends last.
pub(crate) struct Connection {
    pub(crate) shared: Arc<SharedState>,
    pub(crate) mode: ProtocolMode,
    pub(crate) handshake: Handshake,
    /// The number of announced tool changes when the served list was requested. [`NOT_FRESH`] while a new list is being
    /// applied.
    served_changes: AtomicU64,
    /// Client identity, for requests that must carry it.
    meta: Value,
    /// The client capabilities offered to the upstream.
    capabilities: Value,
    /// Ends the session when the connection is dropped.
    _session_guard: Option<DropGuard>,
}

impl Connection {
    /// Connects with the capabilities that the settings allow. The caller bounds the time.
    pub(crate) async fn open(
        settings: &Settings,
        sanitizer: &Sanitizer,
        remembered: ProtocolMode,
    ) -> Result<Self, UpstreamError> {
        Self::open_with_capabilities(client_capabilities(settings.allow), settings, sanitizer, remembered).await
    }

    /// Connects with the given client capabilities.
    pub(crate) async fn open_with_capabilities(
        capabilities: Value,
        settings: &Settings,
        sanitizer: &Sanitizer,
        remembered: ProtocolMode,
    ) -> Result<Self, UpstreamError> {
        let shared = SharedState::new(&settings.name, sanitizer.clone());
        let mut session = None;
        match &settings.transport {
            Transport::Stdio { command, args, env, cwd } => {
                let (child, pipes) = Child::start(command, args, env, cwd.as_deref(), &shared.name, sanitizer)?;
                serve::serve(child, pipes, &shared, settings.max_answer_bytes);
            }
            Transport::Http { url, headers, bearer } => {
                let mut http = HttpTransport::new(url, headers, bearer.as_ref(), settings.max_answer_bytes)?;
                if let Some(login) = &settings.login {
                    http.use_login(login, sanitizer);
                }
                let http = Arc::new(http);
                session = Some(end_session_on_drop(http.clone()));
                let _ = shared.outbound.set(Outbound::Http(http));
            }
        }
        // From here on, dropping the connection cleans up.
        let mut connection = Self {
            shared,
            mode: remembered,
            handshake: Handshake::default(),
            served_changes: AtomicU64::new(NOT_FRESH),
            meta: json!({
                "io.modelcontextprotocol/protocolVersion": STATELESS_PROTOCOL,
                "io.modelcontextprotocol/clientInfo": client_info(),
                "io.modelcontextprotocol/clientCapabilities": capabilities,
            }),
            capabilities,
            _session_guard: session,
        };
        let other = match remembered {
            ProtocolMode::Sessions => ProtocolMode::Stateless,
            ProtocolMode::Stateless => ProtocolMode::Sessions,
        };
        match connection.shake_hands(remembered, settings.max_start_time()).await {
            // The server may speak the other mode.
            Err(UpstreamError::Refused(first) | UpstreamError::ServerError { error: Some(first), .. }) => {
                match connection.shake_hands(other, settings.max_start_time()).await {
                    Err(UpstreamError::Refused(_)) => {
                        return Err(UpstreamError::unavailable(
                            "it refused to initialize",
                            sanitizer.for_log(&describe_rpc_error(&first)),
                        ));
                    }
                    handshaken => handshaken?,
                }
            }
            handshaken => handshaken?,
        }
        connection.listen_for_notifications();
        Ok(connection)
    }

    async fn shake_hands(&mut self, mode: ProtocolMode, timeout: Duration) -> Result<(), UpstreamError> {
        self.mode = mode;
        let origin = || Arc::new(CallOrigin::internal());
        self.handshake = match mode {
            ProtocolMode::Sessions => {
                let params = json!({
                    "protocolVersion": SESSION_PROTOCOL,
                    "capabilities": self.capabilities,
                    "clientInfo": client_info(),
                });
                let result = self.request("initialize", None, origin(), timeout, |_| &params).await?;
                let handshake = parse_handshake(&result, "serverInfo", &self.shared.sanitizer)?;
                self.set_protocol(&handshake.protocol);
                self.notify("notifications/initialized").await?;
                handshake
            }
            ProtocolMode::Stateless => {
                self.set_protocol(STATELESS_PROTOCOL);
                let params = json!({ "_meta": self.meta });
                let result = self.request("server/discover", None, origin(), timeout, |_| &params).await?;
                let mut handshake = parse_handshake(&result, "", &self.shared.sanitizer)?;
                handshake.protocol = STATELESS_PROTOCOL.to_owned();
                handshake
            }
        };
        Ok(())
    }

    fn set_protocol(&self, protocol: &str) {
        if let Some(Outbound::Http(http)) = self.shared.outbound.get() {
            http.set_protocol(protocol, self.mode == ProtocolMode::Stateless);
        }
    }

    /// Sends a notification and waits until it was delivered, so that later messages cannot overtake it.
    async fn notify(&self, method: &str) -> Result<(), UpstreamError> {
        let message = message::notification(method, None);
        match self.shared.outbound.get() {
            Some(Outbound::Http(http)) => http.send(message).await,
            _ => {
                self.shared.send(message);
                Ok(())
            }
        }
    }

    /// Opens a stream for notifications if the transport needs one.
    fn listen_for_notifications(&self) {
        let shared = self.shared.clone();
        match (self.shared.outbound.get(), self.mode) {
            (Some(Outbound::Http(http)), ProtocolMode::Sessions) => {
                let http = http.clone();
                crate::tasks::spawn(async move {
                    let ended = shared.ended.clone();
                    ended.run_until_cancelled(http.follow_notifications(shared)).await;
                });
            }
            (Some(out), ProtocolMode::Stateless) => {
                let id = self.shared.calls.next_id();
                let params = json!({ "notifications": { "toolsListChanged": true }, "_meta": self.meta });
                let Ok(line) = message::request(id, "subscriptions/listen", &params) else { return };
                match out {
                    Outbound::Pipe(_) => self.shared.send(line),
                    Outbound::Http(http) => {
                        let http = http.clone();
                        crate::tasks::spawn(async move {
                            let info = RequestInfo { id, method: "subscriptions/listen", name: None };
                            let origin = Arc::new(CallOrigin::internal());
                            let ended = shared.ended.clone();
                            let mut delivery = Delivery::for_method(info.method);
                            let listening = http.exchange(&shared, info, line, &mut delivery, &origin);
                            ended.run_until_cancelled(listening).await;
                        });
                    }
                }
            }
            _ => {}
        }
    }

    /// Whether the connection accepts requests.
    pub(crate) fn is_alive(&self) -> bool {
        !self.shared.ended.is_cancelled()
    }

    /// Whether the served catalog matches the last tool list and no change was announced since.
    pub(crate) fn is_fresh(&self) -> bool {
        *self.shared.tools_changed.borrow() == self.served_changes.load(Ordering::Acquire)
    }

    /// Marks that a received list is not served yet. Calls wait, because tools may have changed.
    pub(crate) fn mark_stale(&self) {
        self.served_changes.store(NOT_FRESH, Ordering::Release);
    }

    /// Marks that the served list was requested after this many announced changes.
    pub(crate) fn mark_fresh(&self, changes: u64) {
        self.served_changes.store(changes, Ordering::Release);
    }

    /// The `_meta` that requests need in this mode.
    pub(crate) fn meta(&self, progress_token: Option<u64>) -> Option<Value> {
        let mut meta = match self.mode {
            ProtocolMode::Sessions if progress_token.is_none() => return None,
            ProtocolMode::Sessions => json!({}),
            ProtocolMode::Stateless => self.meta.clone(),
        };
        if let (Some(token), Some(fields)) = (progress_token, meta.as_object_mut()) {
            fields.insert("progressToken".to_owned(), token.into());
        }
        Some(meta)
    }

    /// Sends a request and waits for the response. The method determines whether the request may be sent again.
    pub(crate) async fn request<P: Serialize>(
        &self,
        method: &str,
        name: Option<&str>,
        call_origin: Arc<CallOrigin>,
        timeout: Duration,
        params: impl FnOnce(u64) -> P,
    ) -> Result<Json, UpstreamError> {
        self.deliver(&mut Delivery::for_method(method), method, name, call_origin, timeout, params).await
    }

    /// Sends a request and waits for the response. `params` is called with the request id. Dropping the future sends a
    /// cancellation to the upstream.
    pub(crate) async fn deliver<P: Serialize>(
        &self,
        delivery: &mut Delivery,
        method: &str,
        name: Option<&str>,
        call_origin: Arc<CallOrigin>,
        timeout: Duration,
        params: impl FnOnce(u64) -> P,
    ) -> Result<Json, UpstreamError> {
        let id = self.shared.calls.next_id();
        let message = message::request(id, method, &params(id))
            .map_err(|cause| UpstreamError::Unsent(Outage::new("the request cannot be written", cause)))?;
        let trace = call_origin.trace.clone();
        wire_log::record_request(&trace, self, method, &message);
        let response = self.exchange(delivery, (id, method, name), message, call_origin, timeout).await;
        wire_log::record_response(&trace, &self.shared.sanitizer, &response);
        response
    }

    async fn exchange(
        &self,
        delivery: &mut Delivery,
        (id, method, name): (u64, &str, Option<&str>),
        message: Vec<u8>,
        call_origin: Arc<CallOrigin>,
        timeout: Duration,
    ) -> Result<Json, UpstreamError> {
        match self.shared.outbound.get() {
            Some(Outbound::Pipe(pipe)) => {
                delivery.begin_attempt()?;
                let (sender, mut response) = oneshot::channel();
                let registered = self.shared.calls.register(id, call_origin.clone(), Some(sender));
                registered.map_err(into_unsent).inspect_err(|_| delivery.mark_unsent())?;
                let mut pending = PendingRequest { shared: &self.shared, id, is_waiting: true };
                if let Err(outage) = pipe.send(message) {
                    delivery.mark_unsent();
                    pending.is_waiting = false;
                    let outage = if pipe.is_broken() { self.exit_outage(outage, response).await } else { outage };
                    self.shared.close(&outage);
                    return Err(UpstreamError::Unsent(outage));
                }
                loop {
                    let deadline = call_origin.deadline(timeout).ok_or(UpstreamError::TimedOut)?;
                    if let Ok(response) = timeout_at(deadline, &mut response).await {
                        pending.is_waiting = false;
                        return response
                            .unwrap_or_else(|_| Err(UpstreamError::unavailable("its process ended", "no answer")));
                    }
                }
            }
            Some(Outbound::Http(http)) => {
                self.shared.calls.register(id, call_origin.clone(), None).map_err(into_unsent)?;
                let mut pending = PendingRequest { shared: &self.shared, id, is_waiting: true };
                let info = RequestInfo { id, method, name };
                let response = {
                    let mut exchange =
                        std::pin::pin!(http.exchange(&self.shared, info, message, delivery, &call_origin));
                    loop {
                        let deadline = call_origin.deadline(timeout).ok_or(UpstreamError::TimedOut)?;
                        if let Ok(response) = timeout_at(deadline, &mut exchange).await {
                            break response;
                        }
                    }
                };
                pending.is_waiting = false;
                self.shared.calls.remove(id);
                match response {
                    Ok(response) => Ok(response),
                    Err(error) => Err(self.check_after_error(http, method, delivery, error).await),
                }
            }
            None => Err(UpstreamError::unavailable("it is not connected", "no transport")),
        }
    }

    /// The reason why a child stopped reading. Prefers the reason from its standard error, if that arrives in time.
    async fn exit_outage(&self, outage: Outage, closed: oneshot::Receiver<Result<Json, UpstreamError>>) -> Outage {
        match tokio::time::timeout(serve::CLOSE_TIMEOUT, closed).await {
            Ok(Ok(Err(UpstreamError::Unavailable(reported)))) => reported,
            _ => outage,
        }
    }

    /// Closes the connection after a failed HTTP request, or probes whether it still works.
    async fn check_after_error(
        &self,
        http: &Arc<HttpTransport>,
        method: &str,
        delivery: &Delivery,
        error: UpstreamError,
    ) -> UpstreamError {
        match &error {
            UpstreamError::Unavailable(outage) | UpstreamError::Unsent(outage) => self.shared.close(outage),
            UpstreamError::SessionLost => self.shared.close(&Outage::new("it lost our session", "a request")),
            // Nothing else can be sent before the handshake is complete.
            doubtful if http.is_doubtful(doubtful) && !matches!(method, "initialize" | "server/discover" | "ping") => {
                let is_waiting = delivery.is_repeatable();
                let probe = tokio::spawn(http.clone().probe(self.shared.clone(), self.meta(None), is_waiting));
                // Only repeatable requests wait for the probe, so that they are retried on a working session.
                let works = !is_waiting || probe.await.unwrap_or(true);
                if !works && matches!(error, UpstreamError::Refused(_)) {
                    return UpstreamError::SessionLost;
                }
            }
            _ => {}
        }
        error
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shared.close(&Outage::new("it was stopped", "the connection was dropped"));
    }
}

/// Ends the session when the guard is dropped. The session outlives streams that end, calls that fail and a connection
/// that is closed while others still use it.
fn end_session_on_drop(http: Arc<HttpTransport>) -> DropGuard {
    let dropped = CancellationToken::new();
    let guard = dropped.clone().drop_guard();
    crate::tasks::spawn(async move {
        dropped.cancelled().await;
        http.end_session().await;
    });
    guard
}

/// A request without a response yet. Dropping it sends a cancellation.
struct PendingRequest<'a> {
    shared: &'a Arc<SharedState>,
    id: u64,
    is_waiting: bool,
}

impl Drop for PendingRequest<'_> {
    fn drop(&mut self) {
        if self.is_waiting && self.shared.calls.remove(self.id) && !self.shared.ended.is_cancelled() {
            let params = json!({ "requestId": self.id, "reason": "the request was cancelled" });
            self.shared.send(message::notification("notifications/cancelled", Some(params)));
        }
    }
}

fn into_unsent(error: UpstreamError) -> UpstreamError {
    match error {
        UpstreamError::Unavailable(outage) => UpstreamError::Unsent(outage),
        other => other,
    }
}

fn client_info() -> Value {
    json!({ "name": "aquifer", "version": env!("CARGO_PKG_VERSION") })
}

/// The client capabilities that the operator allows. One connection serves many clients; requests that a client does
/// not support are declined.
pub(crate) fn client_capabilities(allowed: AllowedRequests) -> Value {
    let mut capabilities = json!({ "roots": { "listChanged": true } });
    for (name, is_allowed) in [("elicitation", allowed.elicitation), ("sampling", allowed.sampling)] {
        if let (true, Some(fields)) = (is_allowed, capabilities.as_object_mut()) {
            fields.insert(name.to_owned(), json!({}));
        }
    }
    capabilities
}

fn parse_handshake(result: &Json, identity: &str, sanitizer: &Sanitizer) -> Result<Handshake, UpstreamError> {
    let value: Value = serde_json::from_str(result.text())
        .map_err(|cause| UpstreamError::InvalidResponse(format!("its handshake: {cause}")))?;
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    let server = value.get(identity).or_else(|| value.get("_meta")?.get("io.modelcontextprotocol/serverInfo"));
    Ok(Handshake {
        server: server.map(|server| ServerIdentity::read(&sanitizer.clean_json(server.clone()))).unwrap_or_default(),
        protocol: text("protocolVersion").unwrap_or_default().chars().take(32).collect(),
        instructions: text("instructions").map(|text| sanitizer.presentable(text)),
        capabilities: value.get("capabilities").cloned().unwrap_or_default(),
    })
}
