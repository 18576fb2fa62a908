//! Presents an engine as an MCP server: tools, calls, progress, cancellation and change notifications.

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use aquifer_engine::clients::{ClientConnection, ClientTransport};
use aquifer_engine::source::FetchRequest;
use aquifer_engine::trace::Trace;
use aquifer_engine::{Caller, Context, Engine, Interaction, Progress, ProgressUpdate, Reply};
use aquifer_protocol::error::Failure;
use aquifer_protocol::response::Response;
use aquifer_protocol::surface::{Receiver, Tool as AqlTool};
use futures::FutureExt;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest, CustomResult,
    ErrorCode, GetPromptRequestParams, GetPromptResponse, GetPromptResult, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ProgressToken, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, ServerCapabilities, ServerConfig, SubscriptionFilter, Tool, ToolAnnotations,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::answer::payload::Payload;
use crate::client::call_context::CallContext;
use crate::client::client_name;
use crate::client::question;
use crate::client::session_client::{SessionClient, run_answering_questions};
use crate::log_forwarder::LogForwarder;
use crate::progress;
use crate::resources;

/// How the client is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Connection {
    /// One client on stdio. The connection is a session in every revision of MCP.
    Stdio,
    /// Requests over HTTP. Only clients that open a session have one.
    Http,
}

/// One client's view of the engine. The SDK creates one for each session, and for each request without a session. Direct
/// calls without a session share one.
pub(crate) struct McpHandler {
    engine: Arc<Engine>,
    connection: Connection,
    session: OnceLock<Arc<str>>,
    /// What the client of this session calls itself.
    client_name: OnceLock<Option<Arc<str>>>,
    /// Whether a task is notifying the client of changes.
    watches_changes: AtomicBool,
    log_forwarder: Arc<LogForwarder>,
    /// The client, once the SDK has provided it.
    peer: OnceLock<Peer<RoleServer>>,
    /// Keeps the client in the list of those that are connected.
    listed: OnceLock<ClientConnection>,
    alive: CancellationToken,
    _ends_watchers: DropGuard,
}

impl McpHandler {
    pub(crate) fn new(engine: Arc<Engine>, connection: Connection) -> Self {
        let alive = CancellationToken::new();
        let _ends_watchers = alive.clone().drop_guard();
        let watches_changes = AtomicBool::new(false);
        let (session, log_forwarder) = (OnceLock::new(), Arc::default());
        let (client_name, peer) = (OnceLock::new(), OnceLock::new());
        Self {
            engine,
            connection,
            session,
            client_name,
            watches_changes,
            log_forwarder,
            peer,
            listed: OnceLock::new(),
            alive,
            _ends_watchers,
        }
    }

    /// The client, once the SDK has provided it.
    pub(crate) fn peer(&self) -> Option<&Peer<RoleServer>> {
        self.peer.get()
    }

    /// The caller of a request. Nothing in a client's message establishes an identity (R-END-6).
    fn caller(&self, context: &CallContext) -> Caller {
        if !self.has_session(context) {
            return Caller::anonymous();
        }
        Caller::session(self.session.get_or_init(|| self.engine.next_session_id()).clone())
    }

    /// Whether all requests of this handler come from one client.
    fn has_session(&self, context: &CallContext) -> bool {
        self.connection == Connection::Stdio || !context.is_newest()
    }

    fn client_name(&self, context: &CallContext) -> Option<Arc<str>> {
        match self.has_session(context) {
            true => self.client_name.get_or_init(|| client_name::find(context)).clone(),
            false => client_name::find(context),
        }
    }

    /// Lists a client that has connected, under the name that it gave itself.
    fn list_client(&self, info: &Implementation) {
        let transport = match self.connection {
            Connection::Stdio => ClientTransport::Stdio,
            Connection::Http => ClientTransport::HttpSession,
        };
        let now = self.engine.clock().now();
        self.listed.get_or_init(|| self.engine.clients().connect(&info.name, &info.version, transport, now));
    }

    /// Lists a client that asks for the tools and has not been listed: it paid for them.
    fn list_asking_client(&self, context: &CallContext) {
        let Some(info) = context.client_info().filter(|_| self.listed.get().is_none()) else { return };
        match self.caller(context).session {
            Some(_) => self.list_client(&info),
            None => self.engine.clients().note(&info.name, &info.version, self.engine.clock().now()),
        }
    }

    async fn answer(
        &self,
        receiver: &Receiver,
        request: CallToolRequestParams,
        context: &CallContext,
    ) -> Result<Payload, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let asks = question::ElicitationMode::from_context(context);
        let mut answers = question::read(request.input_responses);
        // Only a client that can be asked during the call needs the arguments a second time.
        let again = (asks == question::ElicitationMode::Directly).then(|| arguments.clone());
        let mut arguments = arguments;
        loop {
            let question = match self.handle(receiver, arguments, context, &asks, &answers).await {
                Reply::Response(response) => {
                    if let Some(page) = question::PageRequest::from_response(&response)
                        && question::can_open_pages(context)
                    {
                        Box::pin(page.ask(&context.peer)).await;
                    }
                    return Ok(self.payload(response));
                }
                Reply::NeedsInput(question) => question,
            };
            match (asks, &again) {
                (question::ElicitationMode::ByRetry, _) => {
                    return question::ask_by_retry(question).map(Payload::InputRequired);
                }
                (question::ElicitationMode::Directly, Some(same)) if !answers.contains_key(&question.key) => {
                    let (key, answer) = Box::pin(question::ask(&context.peer, question)).await;
                    answers.insert(key, answer);
                    arguments = same.clone();
                }
                // The client cannot be asked, or it has already answered this question and would be asked forever.
                _ => return Ok(self.payload(Response::Failure(question.into_failure()))),
            }
        }
    }

    async fn handle(
        &self,
        receiver: &Receiver,
        arguments: Map<String, Value>,
        context: &CallContext,
        asks: &question::ElicitationMode,
        answers: &Map<String, Value>,
    ) -> Reply {
        let token = context.progress_token().or_else(|| progress::token_in(&arguments));
        let (progress, updates) = match token {
            Some(_) => {
                let (progress, updates) = Progress::channel();
                (progress, Some(updates))
            }
            None => (Progress::silent(), None),
        };
        let (client, questions) = SessionClient::from_context(context, &self.log_forwarder).unzip();
        let inner = Context {
            caller: self.caller(context),
            client_name: self.client_name(context),
            request_id: self.engine.next_request_id(),
            cancelled: context.cancelled.clone(),
            progress,
            interaction: match asks {
                question::ElicitationMode::Never => Interaction::Unavailable,
                _ => Interaction::Available,
            },
            answers: if answers.is_empty() { Context::no_answers() } else { Arc::new(answers.clone()) },
            client,
            trace: Trace::default(),
        };
        // Boxed, because the task that awaits it is moved several times, and this is by far its largest part.
        let call = Box::pin(self.engine.handle(receiver, arguments, inner));
        let call = async {
            match questions {
                Some(questions) => Box::pin(run_answering_questions(call, questions, &context.peer)).await,
                None => call.await,
            }
        };
        match (token, updates) {
            (Some(token), Some(updates)) => Box::pin(with_progress(call, updates, token, &context.peer)).await,
            _ => call.await,
        }
    }

    fn payload(&self, response: Response) -> Payload {
        Payload::Response(response.render(&self.engine.settings().limits))
    }

    /// Handles a tool call, whether it came through the SDK or directly.
    pub(crate) async fn call(
        &self,
        request: CallToolRequestParams,
        context: &CallContext,
    ) -> Result<Payload, ErrorData> {
        match self.engine.snapshot().surface().receiver(&request.name) {
            // Panics of handlers are caught where the handlers run. This catches all others, because otherwise the SDK
            // would leave the client waiting. Boxed, because the SDK moves the future of every request several times,
            // and this one is large.
            Some(receiver) => {
                match AssertUnwindSafe(Box::pin(self.answer(&receiver, request, context))).catch_unwind().await {
                    Ok(answer) => answer,
                    Err(_) => Ok(self.payload(Response::Failure(Failure::internal("panic outside of a handler")))),
                }
            }
            None => Err(self.unknown_tool(&request.name)),
        }
    }

    /// The context of a request that is not a tool call.
    fn plain_context(&self, context: &CallContext) -> Context {
        let mut plain = Context::new(self.caller(context), self.engine.next_request_id());
        plain.client_name = self.client_name(context);
        plain.cancelled = context.cancelled.clone();
        plain
    }

    /// Fails unless some source can answer this: what is not declared as a capability is not answered either.
    fn require(&self, wanted: &FetchRequest, method: &str) -> Result<(), ErrorData> {
        if self.engine.capabilities().has(wanted) { Ok(()) } else { Err(unknown_method(method)) }
    }

    /// Whether there is a tool with this name.
    pub(crate) fn has_tool(&self, name: &str) -> bool {
        self.engine.snapshot().surface().receiver(name).is_some()
    }

    fn unknown_tool(&self, name: &str) -> ErrorData {
        let tools: Vec<String> = self.engine.snapshot().tools().iter().map(|tool| tool.name.clone()).collect();
        let name: String = name.chars().take(64).collect();
        ErrorData::invalid_params(format!("Unknown tool '{name}'. Tools: {}", tools.join(", ")), None)
    }
}

impl Drop for McpHandler {
    fn drop(&mut self) {
        if let Some(session) = self.session.get() {
            self.engine.session_ended(session);
        }
    }
}

/// Forwards progress while the call runs. Updates that are still queued at its end are sent before the answer.
async fn with_progress(
    call: impl Future<Output = Reply>,
    mut updates: mpsc::Receiver<ProgressUpdate>,
    token: ProgressToken,
    peer: &Peer<RoleServer>,
) -> Reply {
    let mut call = std::pin::pin!(call);
    let mut last_progress: f64 = f64::NEG_INFINITY;
    loop {
        let update = tokio::select! {
            biased;
            Some(update) = updates.recv() => update,
            reply = &mut call => {
                while let Ok(update) = updates.try_recv() {
                    notify_progress(update, &mut last_progress, &token, peer).await;
                }
                return reply;
            }
        };
        notify_progress(update, &mut last_progress, &token, peer).await;
    }
}

/// Sends a progress notification, unless progress has not increased, as MCP requires.
async fn notify_progress(
    update: ProgressUpdate,
    last_progress: &mut f64,
    token: &ProgressToken,
    peer: &Peer<RoleServer>,
) {
    if update.current <= *last_progress {
        return;
    }
    *last_progress = update.current;
    let mut params = ProgressNotificationParam::new(token.clone(), update.current);
    params.total = update.total;
    params.message = update.message;
    if let Err(cause) = peer.notify_progress(params).await {
        tracing::debug!(%cause, "could not send progress");
    }
}

fn unknown_method(method: &str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("Unknown method '{method}'"), None)
}

fn tool(tool: &AqlTool) -> Tool {
    let annotations =
        ToolAnnotations::new().read_only(tool.permissions.read_only).destructive(tool.permissions.destructive);
    Tool::new(tool.name.clone(), tool.description.clone(), Arc::new(tool.input_schema())).with_annotations(annotations)
}

impl ServerHandler for McpHandler {
    fn get_info(&self) -> ServerConfig {
        #[expect(deprecated, reason = "deprecated in the newest revision, alive in the older ones that have sessions")]
        let mut capabilities =
            ServerCapabilities::builder().enable_tools().enable_tool_list_changed().enable_logging().build();
        let sources = self.engine.capabilities();
        capabilities.resources = sources.resources.then(Default::default);
        capabilities.prompts = sources.prompts.then(Default::default);
        capabilities.completions = sources.completions.then(Default::default);
        ServerConfig::new(capabilities).with_server_info(Implementation::new("aquifer", env!("CARGO_PKG_VERSION")))
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::KNOWN_VERSIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let context = CallContext::from(context);
        self.list_asking_client(&context);
        // In revisions without a handshake, the client becomes known with this request.
        let _ = self.peer.set(context.peer);
        let tools = self.engine.snapshot().tools().iter().map(tool).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let context = CallContext::from(context);
        Ok(self.call(request, &context).await?.into())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let context = CallContext::from(context);
        self.require(&FetchRequest::Resources, "resources/list")?;
        let resources = resources::list(&self.engine, FetchRequest::Resources, self.plain_context(&context)).await;
        Ok(ListResourcesResult::with_all_items(resources))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let context = CallContext::from(context);
        self.require(&FetchRequest::ResourceTemplates, "resources/templates/list")?;
        let templates =
            resources::list(&self.engine, FetchRequest::ResourceTemplates, self.plain_context(&context)).await;
        Ok(ListResourceTemplatesResult::with_all_items(templates))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let context = CallContext::from(context);
        let wanted = FetchRequest::Resource(request.uri.clone());
        let resource: Result<ReadResourceResult, _> =
            resources::fetch(&self.engine, wanted, self.plain_context(&context)).await;
        Ok(resource.map_err(|error| resources::with_uri(error, request.uri))?.into())
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let context = CallContext::from(context);
        self.require(&FetchRequest::Prompts, "prompts/list")?;
        let prompts = resources::list(&self.engine, FetchRequest::Prompts, self.plain_context(&context)).await;
        Ok(ListPromptsResult::with_all_items(prompts))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let context = CallContext::from(context);
        let wanted = FetchRequest::Prompt { name: request.name, arguments: request.arguments };
        let prompt: GetPromptResult = resources::fetch(&self.engine, wanted, self.plain_context(&context)).await?;
        Ok(prompt.into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let context = CallContext::from(context);
        resources::fetch(&self.engine, resources::completion(request), self.plain_context(&context)).await
    }

    /// Sets the minimum level of the log messages from sources that the client receives.
    #[expect(deprecated, reason = "deprecated in the newest revision, alive in the older ones that have sessions")]
    async fn set_level(
        &self,
        request: rmcp::model::SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.log_forwarder.set_level(request.level);
        Ok(())
    }

    /// Notifies older clients of changes to the tool list. They do not subscribe to them.
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let _ = self.peer.set(context.peer.clone());
        if let Some(info) = context.peer.peer_info() {
            self.list_client(&info.client_info);
        }
        // A client may send `initialized` more than once.
        if self.watches_changes.swap(true, Ordering::SeqCst) {
            return;
        }
        let (mut changes, alive, peer) = (self.engine.changes(), self.alive.clone(), context.peer);
        tokio::spawn(async move {
            changes.mark_unchanged();
            loop {
                tokio::select! {
                    () = alive.cancelled() => return,
                    changed = changes.changed() => {
                        if changed.is_err() || peer.notify_tool_list_changed().await.is_err() {
                            return;
                        }
                    }
                }
            }
        });
    }

    /// Newer clients subscribe to changes of the tool list.
    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let mut accepted = SubscriptionFilter::default();
        accepted.tools_list_changed = requested.tools_list_changed;
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.engine.changes();
        changes.mark_unchanged();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                changed = changes.changed() => {
                    if changed.is_err() || context.sink().notify_tool_list_changed().await.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Answers unknown methods and requests whose parameters the SDK could not parse.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method == "tools/call" {
            return Err(ErrorData::invalid_params("tools/call needs params {name: string, arguments: object}", None));
        }
        let method: String = request.method.chars().take(64).collect();
        Err(unknown_method(&method))
    }
}
