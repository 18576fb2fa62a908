//! The context of checks: the connection, the description of the server, requests that are known to work, and the rows
//! that the run created.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::answer_monitor::AnswerMonitor;
use super::introspect;
use super::sandbox::Sandbox;
use super::values::ValueGenerator;
use super::walk::Collection;
use super::writes::Recipe;
use crate::description::resources::{self, Resource};
use crate::description::{Operation, Parameter, ServerDescription};
use crate::mcp::rows::{Row, rows, without_volatile};
use crate::mcp::{Client, Reply, ReplyKind};
use crate::options::Options;
use crate::record::{Mode, Purpose, Record, RecordedExchange, Surface};
use crate::transport::{Connector, TransportError};

/// Maximum number of exchanges recorded as evidence. More would only repeat the same kinds.
const MAX_EXCHANGES: usize = 20_000;

/// Larger exchanges are not recorded, because truncated ones would be wrong evidence.
const MAX_EXCHANGE_BYTES: usize = 256 * 1024;

/// The other mode of the server.
pub(crate) enum SecondSurface {
    /// Not available, with the reason.
    Unavailable(String),
    /// Available on the first connection, which has both modes.
    Same,
    /// Available on a connection of its own.
    Own(Box<Client>),
}

/// The context of checks.
pub(crate) struct CheckContext<'a> {
    pub(crate) connector: &'a dyn Connector,
    pub(crate) options: &'a Options,
    pub(crate) client: Client,
    pub(crate) description: Arc<ServerDescription>,
    pub(crate) resources: Arc<Vec<Resource>>,
    pub(crate) monitor: AnswerMonitor,
    pub(crate) record: Record,
    pub(crate) mode: Mode,
    pub(crate) second: SecondSurface,
    /// The tool of the single mode, on the first or second connection.
    pub(crate) single_tool: Option<String>,
    /// Parameters with which READ operations succeeded.
    pub(crate) valid_requests: BTreeMap<String, Map<String, Value>>,
    /// The last answer to a valid request of each READ operation.
    pub(crate) last_replies: BTreeMap<String, Reply>,
    pub(crate) collections: Arc<Vec<Arc<Collection>>>,
    /// Rows of lists, by [`list_id`](resources::list_id).
    pub(crate) known_rows: BTreeMap<String, Vec<Row>>,
    /// Whether [`CheckContext::bind_kinds`] has run.
    pub(crate) kinds_bound: bool,
    /// The recipe that worked for creating a resource, by noun.
    pub(crate) recipes: BTreeMap<String, Recipe>,
    pub(crate) sandbox: Sandbox,
    /// The replies to creations, by noun.
    pub(crate) creations: Vec<(String, Reply)>,
    /// Operations that got no answer, with the reason. They are not called again.
    pub(crate) unanswered: Vec<(String, String)>,
    /// Whether dry runs of created rows were checked, and changed nothing.
    pub(crate) dry_runs_change_nothing: bool,
    pub(crate) calls_before: usize,
    reconnects: usize,
}

impl<'a> CheckContext<'a> {
    /// Connects and reads the server's description.
    pub(crate) async fn open(connector: &'a dyn Connector, options: &'a Options) -> Result<Self, TransportError> {
        let connection =
            connector.open(None).await?.ok_or_else(|| TransportError("there is nothing to connect to".into()))?;
        let mut client = Client::open(connection, options.deadline).await?;
        let mut monitor = AnswerMonitor { schemas: options.spec.clone(), ..AnswerMonitor::default() };
        let description = introspect::read_description(&mut client, &mut monitor, options.max_operations).await;
        if let Some(reason) = &client.lost {
            return Err(TransportError(reason.clone()));
        }
        let mode = detect_mode(&description, &client);
        let mut context = Self {
            connector,
            options,
            resources: Arc::new(resources::find_resources(&description)),
            description: Arc::new(description),
            monitor,
            record: Record::default(),
            mode,
            second: SecondSurface::Unavailable("it was not requested".into()),
            single_tool: None,
            valid_requests: BTreeMap::new(),
            last_replies: BTreeMap::new(),
            collections: Arc::default(),
            known_rows: BTreeMap::new(),
            kinds_bound: false,
            recipes: BTreeMap::new(),
            sandbox: Sandbox::new(),
            creations: Vec::new(),
            unanswered: Vec::new(),
            dry_runs_change_nothing: false,
            calls_before: 0,
            reconnects: 0,
            client,
        };
        context.start_record();
        Ok(context)
    }

    /// Reads the description again: a server may have learned from the first results of its operations what it offers
    /// (R-INT-7).
    pub(crate) async fn describe_again(&mut self) {
        let max_operations = self.options.max_operations;
        let mut description = introspect::read_description(&mut self.client, &mut self.monitor, max_operations).await;
        if self.client.lost.is_some() {
            return;
        }
        description.operations.retain(|own| !self.unanswered.iter().any(|(name, _)| *name == own.name));
        self.resources = Arc::new(resources::find_resources(&description));
        self.kinds_bound = false;
        self.description = Arc::new(description);
        let (surfaces, exchanges) =
            (std::mem::take(&mut self.record.surfaces), std::mem::take(&mut self.record.exchanges));
        self.start_record();
        self.record.surfaces = surfaces;
        self.record.exchanges = exchanges;
    }

    fn start_record(&mut self) {
        let description = self.description.clone();
        let answer = |reply: &Option<Reply>| reply.as_ref().map(|reply| reply.exchange.answer.clone());
        let mut operations = answer(&description.operations_reply).unwrap_or_default();
        if let Some(list) = operations.pointer_mut("/data/operations") {
            *list = json!(description.operations_list);
        }
        let details = |replies: &[(String, Reply)], key: &str| {
            let details = replies.iter().filter_map(|(_, reply)| reply.data().get(key));
            details.filter(|details| details.is_object()).cloned().collect()
        };
        self.record = Record {
            implementation: self.client.name.clone(),
            version: self.client.version.clone(),
            protocol: description.protocol().clone(),
            surfaces: vec![self.surface(self.mode, &self.client)],
            operations_list: operations,
            types_list: answer(&description.types_reply).unwrap_or_default(),
            operation_details: details(&description.operation_replies, "operation"),
            type_details: details(&description.type_replies, "type"),
            not_applicable: Vec::new(),
            exchanges: Vec::new(),
        };
    }

    fn surface(&self, mode: Mode, client: &Client) -> Surface {
        Surface { mode, transport: self.connector.transport().to_owned(), tools: client.tools.clone() }
    }

    /// Calls an operation on its own tool.
    pub(crate) async fn call(&mut self, operation: &Operation, params: Map<String, Value>) -> Reply {
        let arguments = operation.request(params);
        let tool = operation.tool.clone();
        let reply = self.send(&tool, arguments).await;
        // Exchanges of READ operations are recorded once, when a working request is found.
        if reply.is_success() && !operation.is_read() {
            self.record_exchange(Purpose::Valid { operation: operation.name.clone() }, &reply);
        }
        reply
    }

    /// Calls an operation on a row that this run created and, if necessary, confirms it: as the user whom the server
    /// asks, or with the returned token.
    pub(crate) async fn call_confirmed(&mut self, operation: &Operation, params: Map<String, Value>) -> Reply {
        self.client.set_user_accepts(true);
        let reply = self.call_with_token(operation, params).await;
        self.client.set_user_accepts(false);
        reply
    }

    /// Calls an operation that nobody confirms. Also returns whether the server asked its user, who closed the question.
    pub(crate) async fn call_unconfirmed(
        &mut self,
        operation: &Operation,
        params: Map<String, Value>,
    ) -> (Reply, bool) {
        let asked_before = self.client.questions();
        let reply = self.call(operation, params).await;
        (reply, self.client.questions() > asked_before)
    }

    async fn call_with_token(&mut self, operation: &Operation, params: Map<String, Value>) -> Reply {
        let reply = self.call(operation, params.clone()).await;
        let Some(token) = reply.confirmation_token().map(str::to_owned) else { return reply };
        let mut params = params;
        params.insert("confirmation_token".into(), json!(token));
        self.call(operation, params).await
    }

    /// Sends a well-formed request to a tool.
    pub(crate) async fn send(&mut self, tool: &str, arguments: Value) -> Reply {
        let reply = self.client.call(tool, arguments).await;
        self.monitor.observe(&reply, true);
        self.sandbox.record_effects(&reply, &self.resources);
        reply
    }

    /// Sends arguments that may be malformed.
    pub(crate) async fn send_malformed(&mut self, tool: &str, arguments: Value) -> Reply {
        let reply = self.client.call(tool, arguments).await;
        self.monitor.observe(&reply, false);
        reply
    }

    /// Calls an operation on the second surface.
    pub(crate) async fn call_second(&mut self, arguments: Value) -> Reply {
        let tool = self.single_tool.clone().unwrap_or_default();
        let reply = match &mut self.second {
            SecondSurface::Own(client) => {
                let operation = arguments.get("operation").and_then(Value::as_str).unwrap_or_default();
                let tool = if self.mode == Mode::Single {
                    // On a semantic surface, the tool of the operation has to be found first.
                    let own = find_tool(client, operation).await;
                    own.unwrap_or(tool)
                } else {
                    tool
                };
                client.call(&tool, arguments).await
            }
            SecondSurface::Same => self.client.call(&tool, arguments).await,
            SecondSurface::Unavailable(_) => Reply::unanswered(&tool, arguments),
        };
        self.monitor.observe(&reply, true);
        reply
    }

    /// Whether repeating a request gives a different answer, for example because it contains the time or a counter.
    pub(crate) async fn answers_vary(
        &mut self,
        operation: &Operation,
        params: &Map<String, Value>,
        before: &Reply,
    ) -> bool {
        let again = self.call(operation, params.clone()).await;
        without_volatile(again.data()) != without_volatile(before.data()) || again.is_success() != before.is_success()
    }

    /// Records an exchange as evidence.
    pub(crate) fn record_exchange(&mut self, purpose: Purpose, reply: &Reply) {
        let exchange = &reply.exchange;
        let size = exchange.arguments.to_string().len() + exchange.answer.to_string().len();
        if reply.kind != ReplyKind::Lost && self.record.exchanges.len() < MAX_EXCHANGES && size <= MAX_EXCHANGE_BYTES {
            self.record.exchanges.push(RecordedExchange { purpose, exchange: exchange.clone() });
        }
    }

    pub(crate) fn calls(&self) -> usize {
        let second = if let SecondSurface::Own(client) = &self.second { client.calls } else { 0 };
        self.calls_before + self.client.calls + second
    }

    /// Reconnects after the server was lost, at most three times per run.
    pub(crate) async fn reconnect(&mut self) -> bool {
        const MAX_RECONNECTS: usize = 3;
        self.reconnects += 1;
        if self.reconnects > MAX_RECONNECTS {
            return false;
        }
        let Ok(Some(connection)) = self.connector.open(None).await else { return false };
        let Ok(client) = Client::open(connection, self.options.deadline).await else { return false };
        self.calls_before += self.client.calls;
        self.client = client;
        self.recreate_lost_rows().await;
        true
    }

    /// If a call of an operation lost the server, reconnects and excludes the operation from the rest of the run.
    pub(crate) async fn exclude_if_lost(&mut self, operation: &Operation) -> bool {
        let Some(reason) = self.client.lost.clone() else { return false };
        if Box::pin(self.reconnect()).await {
            let mut description = ServerDescription::clone(&self.description);
            description.operations.retain(|own| own.name != operation.name);
            self.resources = Arc::new(resources::find_resources(&description));
            self.kinds_bound = false;
            self.description = Arc::new(description);
            self.unanswered.push((operation.name.clone(), reason));
        }
        true
    }

    /// Recreates rows that were lost with the server.
    async fn recreate_lost_rows(&mut self) {
        let resources = self.resources.clone();
        let mut missing = false;
        for created in self.sandbox.remaining() {
            let Some(resource) = resources.iter().find(|resource| resource.noun == created.noun) else { continue };
            if self.read_back(resource, &created.key).await.is_some_and(|(read, _)| read.is_gone()) {
                self.sandbox.forget(&created);
                missing = true;
            }
        }
        if missing {
            self.create_rows().await;
        }
    }

    /// The name of a field in the answers of an operation.
    pub(crate) fn known_field(&self, operation: &Operation) -> Option<String> {
        let data = self.last_replies.get(&operation.name)?.data();
        let row = if data.get("items").is_some() { rows(data)?.into_iter().next()? } else { data.as_object()?.clone() };
        row.keys().find(|key| !key.starts_with('_')).cloned()
    }

    /// Generates a value from the description.
    pub(crate) fn generate_value(&self, parameter: &Parameter) -> Option<Value> {
        self.generate_variant(parameter, 0)
    }

    /// Generates a different value from the description.
    pub(crate) fn generate_variant(&self, parameter: &Parameter, variant: usize) -> Option<Value> {
        ValueGenerator { types: &self.description.types, salt: self.sandbox.salt(), variant }.generate(parameter)
    }

    /// Opens the other mode, or records why it is not available.
    pub(crate) async fn open_second(&mut self) {
        let wanted = match self.mode {
            Mode::All => {
                self.single_tool = shortest(&self.client.aql_tools());
                self.second = SecondSurface::Same;
                return;
            }
            Mode::Single => Mode::Semantic,
            Mode::Semantic => Mode::Single,
        };
        let connection = match self.connector.open(Some(wanted)).await {
            Ok(Some(connection)) => connection,
            Ok(None) => {
                return self.second = SecondSurface::Unavailable(self.connector.second_mode_unavailable().to_owned());
            }
            Err(TransportError(reason)) => {
                return self.second = SecondSurface::Unavailable(format!("in its other mode, {reason}"));
            }
        };
        match Client::open(connection, self.options.deadline).await {
            Ok(client) => {
                self.single_tool = shortest(&client.aql_tools());
                let surface = self.surface(wanted, &client);
                self.record.surfaces.push(surface);
                self.second = SecondSurface::Own(Box::new(client));
            }
            Err(TransportError(reason)) => {
                self.second = SecondSurface::Unavailable(format!("in its other mode, {reason}"))
            }
        }
    }
}

/// The parameters of an example.
pub(crate) fn example_params(example: &Value) -> Option<&Map<String, Value>> {
    let request = example.get("request").unwrap_or(example);
    request.get("params")?.as_object()
}

/// The value of a parameter in an example of the operation.
pub(crate) fn example_value(operation: &Operation, name: &str) -> Option<Value> {
    operation.examples().iter().find_map(|example| example_params(example)?.get(name).cloned())
}

/// The tool of an operation on a semantic surface.
async fn find_tool(client: &mut Client, operation: &str) -> Option<String> {
    for tool in client.aql_tools() {
        let request = json!({"operation": "introspect", "params": {"query": "operations", "name": operation}});
        let reply = client.call(&tool, request).await;
        if let Some(own) = reply.data().pointer("/operation/mcpTool").and_then(Value::as_str) {
            return Some(own.to_owned());
        }
    }
    None
}

fn shortest(tools: &[String]) -> Option<String> {
    tools.iter().min_by_key(|tool| tool.len()).cloned()
}

/// Detects the mode from `_protocol`, or else from the tools.
fn detect_mode(description: &ServerDescription, client: &Client) -> Mode {
    let tools = client.aql_tools();
    let used = description.tools();
    let all = tools
        .iter()
        .any(|tool| !used.contains(&tool.as_str()) && used.iter().all(|used| used.starts_with(tool.as_str())));
    match description.protocol().get("mode").and_then(Value::as_str) {
        _ if all && !used.is_empty() => Mode::All,
        Some("single") => Mode::Single,
        Some("semantic") => Mode::Semantic,
        _ => {
            let mut categories: Vec<&str> =
                description.operations.iter().map(|operation| operation.category.as_str()).collect();
            categories.sort_unstable();
            categories.dedup();
            if tools.len() == 1 && categories.len() > 1 { Mode::Single } else { Mode::Semantic }
        }
    }
}
