//! An MCP-AQL server as a model uses it: only through its tools and `introspect`.

use serde_json::{Map, Value, json};

use crate::count::TokenCounts;
use crate::model_view::{self, ModelView};
use crate::report::{ListCost, Step, StepKind, SurfaceKind};
use crate::server::{Server, ServerError};

/// The parameter of operations that need confirmation.
pub(crate) const CONFIRMATION: &str = "confirmation_token";

/// A list with more pages than this is considered endless.
const MAX_PAGES: usize = 1_000;

/// A server that answers `introspect`.
pub(crate) struct AqlServer<'a, S> {
    server: &'a S,
    pub(crate) kind: SurfaceKind,
    /// The cost of the tool list at connect.
    pub(crate) connect: TokenCounts,
    tools: Vec<String>,
    /// The tool that answers `introspect`.
    introspect_tool: String,
    /// Whether it answers a search with signatures, so that the model can call without looking up details.
    has_signatures: bool,
}

/// The result of a search for an operation.
pub(crate) enum Found {
    /// The operation was not found.
    Nothing,
    /// The operation was found by name; its parameters have to be looked up.
    Name,
    /// The operation was found with its signature and endpoint.
    Signature(Value),
}

/// The answer to a request, and the token counts of both.
pub(crate) struct AqlReply {
    pub(crate) wrote: TokenCounts,
    pub(crate) read: TokenCounts,
    pub(crate) view: ModelView,
    /// The response envelope; null if the answer is not one.
    envelope: Value,
}

impl AqlReply {
    /// The data of a successful answer.
    pub(crate) fn data(&self) -> Option<&Value> {
        self.envelope.get("data").filter(|_| self.envelope.get("success") == Some(&Value::Bool(true)))
    }

    /// The error message of a refusal, at most 200 characters.
    pub(crate) fn refusal(&self) -> String {
        let error = self.envelope.get("error");
        let text = error.and_then(|error| error.get("message").or(Some(error))).and_then(Value::as_str);
        text.unwrap_or(&self.view.text).chars().take(200).collect()
    }

    /// The token that confirms the request, if it asks for confirmation.
    pub(crate) fn confirmation_token(&self) -> Option<&str> {
        self.envelope.pointer("/error/details")?.get(CONFIRMATION)?.as_str()
    }

    pub(crate) fn cost(&self) -> TokenCounts {
        self.wrote + self.read
    }

    pub(crate) fn step(&self, kind: StepKind) -> Step {
        Step { kind, wrote: self.wrote, read: self.read }
    }
}

impl<'a, S: Server> AqlServer<'a, S> {
    /// Returns the server if one of its tools answers `introspect`.
    pub(crate) async fn detect(server: &'a S, tools: &[Value]) -> Result<Option<Self>, ServerError> {
        let takes_operations = |tool: &&Value| tool.pointer("/inputSchema/properties/operation").is_some();
        let named = tools.iter().filter(takes_operations).filter_map(|tool| tool.get("name")?.as_str());
        let mut names: Vec<String> = named.map(str::to_owned).collect();
        // Try the likely candidates first.
        let likely =
            |name: &String| !["aql", "read", "query", "discover", "inspect"].iter().any(|end| name.ends_with(end));
        names.sort_by_key(likely);
        // If all operations belong to one family, the semantic mode also has a single tool.
        let kind = match names.as_slice() {
            [one] if one.contains("mcp_aql_") => SurfaceKind::Semantic,
            [_] => SurfaceKind::Single,
            many if many.iter().any(|name| name.ends_with("mcp_aql")) => SurfaceKind::All,
            _ => SurfaceKind::Semantic,
        };
        let connect = TokenCounts::count(&model_view::tools(tools));
        for name in &names {
            let (tools, introspect_tool) = (names.clone(), name.clone());
            let mut found = Self { server, kind, connect, tools, introspect_tool, has_signatures: false };
            let reply = found.introspect(json!({ "query": "operations" })).await?;
            if reply.data().is_some_and(|data| data.get("operations").is_some_and(Value::is_array)) {
                let reply = found.introspect(json!({ "query": "signatures", "search": "introspect" })).await?;
                found.has_signatures =
                    reply.data().is_some_and(|data| data.get("signatures").is_some_and(Value::is_array));
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Calls a tool and counts the tokens that the model writes and reads.
    async fn call_tool(&self, tool: &str, arguments: &Value) -> Result<AqlReply, ServerError> {
        let wrote = TokenCounts::count(&model_view::call(tool, arguments));
        let result = self.server.call(tool, arguments).await?;
        let view = model_view::result(&result);
        let structured = result.get("structuredContent").filter(|content| content.get("success").is_some());
        let envelope = match structured {
            Some(envelope) => envelope.clone(),
            None => serde_json::from_str(&view.text).unwrap_or_default(),
        };
        Ok(AqlReply { wrote, read: TokenCounts::count(&view.text), view, envelope })
    }

    async fn introspect(&self, params: Value) -> Result<AqlReply, ServerError> {
        self.call_tool(&self.introspect_tool, &json!({ "operation": "introspect", "params": params })).await
    }

    /// Lists every operation, and returns the cost of reading the list.
    pub(crate) async fn list_operations(&self) -> Result<(Vec<Value>, ListCost), ServerError> {
        let mut operations = Vec::new();
        let mut costs = Vec::new();
        let mut params = json!({ "query": "operations" });
        while costs.len() < MAX_PAGES {
            let reply = self.introspect(params).await?;
            costs.push(reply.cost());
            let data = reply.data().ok_or_else(|| ServerError(reply.refusal()))?;
            operations.extend(data.get("operations").and_then(Value::as_array).into_iter().flatten().cloned());
            let page = data.pointer("/_protocol/page");
            let more = page.and_then(|page| page.get("hasNextPage")) == Some(&Value::Bool(true));
            match page.and_then(|page| page.get("endCursor")).and_then(Value::as_str).filter(|_| more) {
                Some(cursor) => params = json!({ "query": "operations", "after": cursor }),
                None => break,
            }
        }
        let first_page = costs.first().copied().unwrap_or_default();
        Ok((operations, ListCost { pages: costs.len(), first_page, all_pages: costs.into_iter().sum() }))
    }

    /// Searches, and returns whether the operation is among the results.
    pub(crate) async fn search(&self, words: &str, operation: &str) -> Result<(AqlReply, bool), ServerError> {
        let reply = self.introspect(json!({ "query": "operations", "search": words })).await?;
        let listed = reply.data().and_then(|data| data.get("operations")).and_then(Value::as_array);
        let mut names = listed.into_iter().flatten().filter_map(|one| one.get("name")?.as_str());
        let found = names.any(|name| name == operation);
        Ok((reply, found))
    }

    /// Searches in the most informative way: by signatures, if the server supports them.
    pub(crate) async fn find(&self, words: &str, operation: &str) -> Result<(AqlReply, Found), ServerError> {
        if !self.has_signatures {
            let (reply, is_found) = self.search(words, operation).await?;
            return Ok((reply, if is_found { Found::Name } else { Found::Nothing }));
        }
        let reply = self.introspect(json!({ "query": "signatures", "search": words })).await?;
        let lines = reply.data().and_then(|data| data.get("signatures")).and_then(Value::as_array);
        let mut lines = lines.into_iter().flatten().filter_map(Value::as_str);
        let parameters = lines.find_map(|line| line.strip_prefix(operation)?.strip_prefix('('));
        let found = match parameters {
            // The endpoint follows the parameters.
            Some(rest) => {
                let end = rest.split(") ").skip(1).find_map(|rest| {
                    let word = rest.split([' ', ':']).next()?;
                    self.tools.iter().any(|tool| tool.ends_with(&format!("_{word}"))).then_some(word)
                });
                Found::Signature(json!({ "endpoint": end }))
            }
            None => Found::Nothing,
        };
        Ok((reply, found))
    }

    /// Fetches the details of one operation.
    pub(crate) async fn detail(&self, operation: &str) -> Result<AqlReply, ServerError> {
        self.introspect(json!({ "query": "operations", "name": operation })).await
    }

    /// Calls an operation through the tool named in its details, or else through the tool of its family.
    pub(crate) async fn call(
        &self,
        operation: &str,
        params: &Map<String, Value>,
        detail: Option<&Value>,
    ) -> Result<AqlReply, ServerError> {
        let word = |name: &str| detail.and_then(|detail| detail.get(name)).and_then(Value::as_str);
        let named = word("mcpTool").filter(|named| self.tools.iter().any(|tool| tool == named));
        let family = word("endpoint").map(|endpoint| format!("_{}", endpoint.to_lowercase()));
        let family = family.and_then(|end| self.tools.iter().find(|tool| tool.ends_with(&end)));
        let tool = named.or(family.map(String::as_str)).unwrap_or(&self.introspect_tool);
        self.call_tool(tool, &json!({ "operation": operation, "params": params })).await
    }
}
