//! One live connection to an upstream, whatever it goes over: the greeting, then requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aquifer_discovery::bundle::ServerIdentity;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::timeout_at;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::calls::CallOrigin;
use crate::child::Child;
use crate::delivery::Delivery;
use crate::error::{Gone, UpstreamError};
use crate::http::{About, Http};
use crate::message::{self, Json};
use crate::sanitize::Sanitizer;
use crate::settings::{Allowed, Settings, Transport};
use crate::shared::{Out, Shared, told};
use crate::stdio;

/// What we say we speak. Older servers answer with what they speak.
/// No count of announced changes.
const NEVER: u64 = u64::MAX;

const SESSIONS: &str = "2025-11-25";
const STATELESS: &str = "2026-07-28";

/// Which of the two kinds of MCP an upstream speaks. Greeting it in the wrong way may cost seconds, so it is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ProtocolMode {
    /// A greeting first, then requests that refer to it; the upstream may ask back.
    #[default]
    Sessions,
    /// Every request says who asks.
    Stateless,
}

/// What an upstream said of itself.
#[derive(Debug, Clone, Default)]
pub(crate) struct Greeting {
    pub(crate) server: ServerIdentity,
    pub(crate) protocol: String,
    pub(crate) instructions: Option<String>,
    pub(crate) capabilities: Value,
}

/// One live connection. A connection that is closed takes no more requests; those under way hold it. When it is dropped,
/// everything that belongs to it ends, its session last.
pub(crate) struct Link {
    pub(crate) shared: Arc<Shared>,
    pub(crate) mode: ProtocolMode,
    pub(crate) greeting: Greeting,
    /// How many changes of its tools had been announced when those were listed that are served now; [`NEVER`] while a list
    /// is being taken over.
    taken_over: AtomicU64,
    /// Who asks, for requests that must say so.
    meta: Value,
    /// What the asker can do for the upstream.
    capabilities: Value,
    /// Tells the task of `end_session_after` that the link is dropped.
    _session: Option<DropGuard>,
}

impl Link {
    /// Connects and greets for clients of all kinds. The caller bounds how long that may take.
    pub(crate) async fn open(
        settings: &Settings,
        sanitizer: &Sanitizer,
        remembered: ProtocolMode,
    ) -> Result<Self, UpstreamError> {
        Self::offering(capabilities(settings.allow), settings, sanitizer, remembered).await
    }

    /// The same with what the asker can do for the upstream.
    pub(crate) async fn offering(
        capabilities: Value,
        settings: &Settings,
        sanitizer: &Sanitizer,
        remembered: ProtocolMode,
    ) -> Result<Self, UpstreamError> {
        let shared = Shared::new(&settings.name, sanitizer.clone());
        let mut session = None;
        match &settings.transport {
            Transport::Stdio { command, args, env, cwd } => {
                let (child, pipes) = Child::start(command, args, env, cwd.as_deref(), &shared.name, sanitizer)?;
                stdio::serve(child, pipes, &shared, settings.max_answer_bytes);
            }
            Transport::Http { url, headers, bearer } => {
                let mut http = Http::new(url, headers, bearer.as_ref(), settings.max_answer_bytes)?;
                if let Some(login) = &settings.login {
                    http.log_in(login, sanitizer);
                }
                let http = Arc::new(http);
                session = Some(end_session_after(http.clone()));
                let _ = shared.out.set(Out::Http(http));
            }
        }
        // From here on dropping ends what was begun.
        let mut link = Self {
            shared,
            mode: remembered,
            greeting: Greeting::default(),
            taken_over: AtomicU64::new(NEVER),
            meta: json!({
                "io.modelcontextprotocol/protocolVersion": STATELESS,
                "io.modelcontextprotocol/clientInfo": ourselves(),
                "io.modelcontextprotocol/clientCapabilities": capabilities,
            }),
            capabilities,
            _session: session,
        };
        let other = match remembered {
            ProtocolMode::Sessions => ProtocolMode::Stateless,
            ProtocolMode::Stateless => ProtocolMode::Sessions,
        };
        match link.greet(remembered, settings.start_timeout).await {
            // It does not speak that; perhaps the other.
            Err(UpstreamError::Refused(first) | UpstreamError::ServerError { error: Some(first), .. }) => {
                match link.greet(other, settings.start_timeout).await {
                    Err(UpstreamError::Refused(_)) => {
                        return Err(UpstreamError::gone("it does not speak MCP", sanitizer.for_log(&told(&first))));
                    }
                    greeted => greeted?,
                }
            }
            greeted => greeted?,
        }
        link.overhear();
        Ok(link)
    }

    async fn greet(&mut self, mode: ProtocolMode, timeout: Duration) -> Result<(), UpstreamError> {
        self.mode = mode;
        let nobody = || Arc::new(CallOrigin::nobody());
        self.greeting = match mode {
            ProtocolMode::Sessions => {
                let params = json!({
                    "protocolVersion": SESSIONS,
                    "capabilities": self.capabilities,
                    "clientInfo": ourselves(),
                });
                let result = self.request("initialize", None, nobody(), timeout, |_| &params).await?;
                let greeting = read_greeting(&result, "serverInfo", &self.shared.sanitizer)?;
                self.speak(&greeting.protocol);
                self.tell("notifications/initialized").await?;
                greeting
            }
            ProtocolMode::Stateless => {
                self.speak(STATELESS);
                let params = json!({ "_meta": self.meta });
                let result = self.request("server/discover", None, nobody(), timeout, |_| &params).await?;
                let mut greeting = read_greeting(&result, "", &self.shared.sanitizer)?;
                greeting.protocol = STATELESS.to_owned();
                greeting
            }
        };
        Ok(())
    }

    fn speak(&self, protocol: &str) {
        if let Some(Out::Http(http)) = self.shared.out.get() {
            http.speak(protocol, self.mode == ProtocolMode::Stateless);
        }
    }

    /// Tells without expecting an answer, and waits until it was taken: what comes next must not overtake it.
    async fn tell(&self, method: &str) -> Result<(), UpstreamError> {
        let message = message::notification(method, None);
        match self.shared.out.get() {
            Some(Out::Http(http)) => http.send(message).await,
            _ => {
                self.shared.send(message);
                Ok(())
            }
        }
    }

    /// Listens to what the upstream says unasked, where that takes a stream of its own.
    fn overhear(&self) {
        let shared = self.shared.clone();
        match (self.shared.out.get(), self.mode) {
            (Some(Out::Http(http)), ProtocolMode::Sessions) => {
                let http = http.clone();
                tokio::spawn(async move {
                    let ended = shared.ended.clone();
                    ended.run_until_cancelled(http.overhear(shared)).await;
                });
            }
            (Some(out), ProtocolMode::Stateless) => {
                let id = self.shared.calls.next_id();
                let params = json!({ "notifications": { "toolsListChanged": true }, "_meta": self.meta });
                let Ok(line) = message::request(id, "subscriptions/listen", &params) else { return };
                match out {
                    Out::Pipe(_) => self.shared.send(line),
                    Out::Http(http) => {
                        let http = http.clone();
                        tokio::spawn(async move {
                            let about = About { id, method: "subscriptions/listen", name: None };
                            let nobody = Arc::new(CallOrigin::nobody());
                            let ended = shared.ended.clone();
                            let mut delivery = Delivery::for_method(about.method);
                            let listening = http.exchange(&shared, about, line, &mut delivery, &nobody);
                            ended.run_until_cancelled(listening).await;
                        });
                    }
                }
            }
            _ => {}
        }
    }

    /// Whether requests can be made.
    pub(crate) fn is_alive(&self) -> bool {
        !self.shared.ended.is_cancelled()
    }

    /// Whether what is served is what was listed last, and the server has not announced other tools since.
    pub(crate) fn is_fresh(&self) -> bool {
        *self.shared.tools_changed.borrow() == self.taken_over.load(Ordering::Acquire)
    }

    /// A list has arrived that is not served yet. Calls wait: the tools may no longer be those that callers know.
    pub(crate) fn mark_stale(&self) {
        self.taken_over.store(NEVER, Ordering::Release);
    }

    /// What was listed after so many announcements is served.
    pub(crate) fn mark_fresh(&self, changes: u64) {
        self.taken_over.store(changes, Ordering::Release);
    }

    /// What a request of this mode must say beside its parameters.
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

    /// Asks and waits for the answer. Whether the request may be sent again follows from its method.
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

    /// Asks and waits for the answer. `params` gets the request's id. When this is dropped, the upstream is told that nobody
    /// waits any more.
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
            .map_err(|cause| UpstreamError::Unsent(Gone::new("the request cannot be written", cause)))?;
        match self.shared.out.get() {
            Some(Out::Pipe(pipe)) => {
                delivery.begin()?;
                let (sender, mut answer) = oneshot::channel();
                let begun = self.shared.calls.begin(id, call_origin.clone(), Some(sender));
                begun.map_err(unsent).inspect_err(|_| delivery.never_left())?;
                let mut unanswered = Unanswered { shared: &self.shared, id, waits: true };
                if let Err(gone) = pipe.send(message) {
                    delivery.never_left();
                    unanswered.waits = false;
                    let gone = if pipe.is_broken() { self.why_broken(gone, answer).await } else { gone };
                    self.shared.close(&gone);
                    return Err(UpstreamError::Unsent(gone));
                }
                loop {
                    let deadline = call_origin.deadline(timeout).ok_or(UpstreamError::TimedOut)?;
                    if let Ok(answer) = timeout_at(deadline, &mut answer).await {
                        unanswered.waits = false;
                        return answer
                            .unwrap_or_else(|_| Err(UpstreamError::gone("its process ended", "nobody answers")));
                    }
                }
            }
            Some(Out::Http(http)) => {
                self.shared.calls.begin(id, call_origin.clone(), None).map_err(unsent)?;
                let mut unanswered = Unanswered { shared: &self.shared, id, waits: true };
                let about = About { id, method, name };
                let answer = {
                    let mut exchange =
                        std::pin::pin!(http.exchange(&self.shared, about, message, delivery, &call_origin));
                    loop {
                        let deadline = call_origin.deadline(timeout).ok_or(UpstreamError::TimedOut)?;
                        if let Ok(answer) = timeout_at(deadline, &mut exchange).await {
                            break answer;
                        }
                    }
                };
                unanswered.waits = false;
                self.shared.calls.end(id);
                match answer {
                    Ok(answer) => Ok(answer),
                    Err(error) => Err(self.after_trouble(http, method, delivery, error).await),
                }
            }
            None => Err(UpstreamError::gone("it is not connected", "no transport")),
        }
    }

    /// Why a child reads nothing any more: its own last words, if they come soon.
    async fn why_broken(&self, gone: Gone, closed: oneshot::Receiver<Result<Json, UpstreamError>>) -> Gone {
        match tokio::time::timeout(stdio::ENDING_TIMEOUT, closed).await {
            Ok(Ok(Err(UpstreamError::Gone(told)))) => told,
            _ => gone,
        }
    }

    /// Closes the connection, or finds out whether it still works, after a request over HTTP failed.
    async fn after_trouble(
        &self,
        http: &Arc<Http>,
        method: &str,
        delivery: &Delivery,
        error: UpstreamError,
    ) -> UpstreamError {
        match &error {
            UpstreamError::Gone(gone) | UpstreamError::Unsent(gone) => self.shared.close(gone),
            UpstreamError::SessionLost => self.shared.close(&Gone::new("it lost our session", "a request")),
            // Before the greeting is over nothing else can be asked.
            doubtful if http.is_doubtful(doubtful) && !matches!(method, "initialize" | "server/discover" | "ping") => {
                let waits = delivery.is_repeatable();
                let probe = tokio::spawn(http.clone().probe(self.shared.clone(), self.meta(None), waits));
                // Only what may be asked again waits for the result, to be asked where it will be answered.
                let works = !waits || probe.await.unwrap_or(true);
                if !works && matches!(error, UpstreamError::Refused(_)) {
                    return UpstreamError::SessionLost;
                }
            }
            _ => {}
        }
        error
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.shared.close(&Gone::new("it was stopped", "the connection was dropped"));
    }
}

/// Ends the session when the guard is dropped, and not before: a stream that ends, a call that fails or a connection that
/// is closed while others still use it say nothing about the session.
fn end_session_after(http: Arc<Http>) -> DropGuard {
    let dropped = CancellationToken::new();
    let guard = dropped.clone().drop_guard();
    tokio::spawn(async move {
        dropped.cancelled().await;
        http.leave().await;
    });
    guard
}

/// A request whose answer has not come. Dropped like this, the upstream is told.
struct Unanswered<'a> {
    shared: &'a Arc<Shared>,
    id: u64,
    waits: bool,
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if self.waits && self.shared.calls.end(self.id) && !self.shared.ended.is_cancelled() {
            let params = json!({ "requestId": self.id, "reason": "nobody waits for the answer any more" });
            self.shared.send(message::notification("notifications/cancelled", Some(params)));
        }
    }
}

fn unsent(error: UpstreamError) -> UpstreamError {
    match error {
        UpstreamError::Gone(gone) => UpstreamError::Unsent(gone),
        other => other,
    }
}

fn ourselves() -> Value {
    json!({ "name": "aquifer", "version": env!("CARGO_PKG_VERSION") })
}

/// One connection serves clients of all kinds: it offers what the best of them can and the operator allows, and what the
/// client behind a call cannot do is declined when it is asked for.
pub(crate) fn capabilities(allowed: Allowed) -> Value {
    let mut capabilities = json!({ "roots": { "listChanged": true } });
    for (name, is_allowed) in [("elicitation", allowed.elicitation), ("sampling", allowed.sampling)] {
        if let (true, Some(fields)) = (is_allowed, capabilities.as_object_mut()) {
            fields.insert(name.to_owned(), json!({}));
        }
    }
    capabilities
}

fn read_greeting(result: &Json, identity: &str, sanitizer: &Sanitizer) -> Result<Greeting, UpstreamError> {
    let value: Value = serde_json::from_str(result.text())
        .map_err(|cause| UpstreamError::Unintelligible(format!("its greeting: {cause}")))?;
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    let server = value.get(identity).or_else(|| value.get("_meta")?.get("io.modelcontextprotocol/serverInfo"));
    Ok(Greeting {
        server: server.map(|server| ServerIdentity::read(&sanitizer.clean_json(server.clone()))).unwrap_or_default(),
        protocol: text("protocolVersion").unwrap_or_default().chars().take(32).collect(),
        instructions: text("instructions").map(|said| sanitizer.presentable(said)),
        capabilities: value.get("capabilities").cloned().unwrap_or_default(),
    })
}
