//! An MCP-AQL server as a model meets it: through its tools and `introspect`, nothing else.

use serde_json::{Map, Value, json};

use crate::count::Counts;
use crate::report::{Doing, Kind, List, Step};
use crate::seen::{self, Seen};
use crate::server::{Server, Unanswered};

/// Pages of a list that are read before it is taken for endless.
const MAX_PAGES: usize = 1_000;

/// A server that answers `introspect`.
pub(crate) struct Aql<'a, S> {
    server: &'a S,
    pub(crate) kind: Kind,
    /// What it costs to be shown the tools.
    pub(crate) connect: Counts,
    tools: Vec<String>,
    /// The tool that takes `introspect`.
    reader: String,
}

/// A request and its answer.
pub(crate) struct Said {
    pub(crate) wrote: Counts,
    pub(crate) read: Counts,
    pub(crate) seen: Seen,
    /// The envelope; null where the answer is none.
    envelope: Value,
}

impl Said {
    /// What was answered, if it was a success.
    pub(crate) fn data(&self) -> Option<&Value> {
        self.envelope.get("data").filter(|_| self.envelope.get("success") == Some(&Value::Bool(true)))
    }

    /// What a person is told of a refusal.
    pub(crate) fn refusal(&self) -> String {
        let error = self.envelope.get("error");
        let told = error.and_then(|error| error.get("message").or(Some(error))).and_then(Value::as_str);
        told.unwrap_or(&self.seen.text).chars().take(200).collect()
    }

    pub(crate) fn cost(&self) -> Counts {
        self.wrote + self.read
    }

    pub(crate) fn step(&self, step: Doing) -> Step {
        Step { step, wrote: self.wrote, read: self.read }
    }
}

impl<'a, S: Server> Aql<'a, S> {
    /// The server, if one of its tools answers `introspect`.
    pub(crate) async fn find(server: &'a S, tools: &[Value]) -> Result<Option<Self>, Unanswered> {
        let takes_operations = |tool: &&Value| tool.pointer("/inputSchema/properties/operation").is_some();
        let named = tools.iter().filter(takes_operations).filter_map(|tool| tool.get("name")?.as_str());
        let mut names: Vec<String> = named.map(str::to_owned).collect();
        // Those that are likely to take it first.
        let likely =
            |name: &String| !["aql", "read", "query", "discover", "inspect"].iter().any(|end| name.ends_with(end));
        names.sort_by_key(likely);
        // Where every operation is of one family, that family's tool is alone, too.
        let kind = match names.as_slice() {
            [one] if one.contains("mcp_aql_") => Kind::Semantic,
            [_] => Kind::Single,
            many if many.iter().any(|name| name.ends_with("mcp_aql")) => Kind::All,
            _ => Kind::Semantic,
        };
        let connect = Counts::of(&seen::tools(tools));
        for name in &names {
            let found = Self { server, kind, connect, tools: names.clone(), reader: name.clone() };
            let said = found.introspect(json!({ "query": "operations" })).await?;
            if said.data().is_some_and(|data| data.get("operations").is_some_and(Value::is_array)) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Calls a tool. What the model writes and what it reads are both counted.
    async fn say(&self, tool: &str, arguments: &Value) -> Result<Said, Unanswered> {
        let wrote = Counts::of(&seen::call(tool, arguments));
        let result = self.server.call(tool, arguments).await?;
        let seen = seen::result(&result);
        let structured = result.get("structuredContent").filter(|content| content.get("success").is_some());
        let envelope = match structured {
            Some(envelope) => envelope.clone(),
            None => serde_json::from_str(&seen.text).unwrap_or_default(),
        };
        Ok(Said { wrote, read: Counts::of(&seen.text), seen, envelope })
    }

    async fn introspect(&self, params: Value) -> Result<Said, Unanswered> {
        self.say(&self.reader, &json!({ "operation": "introspect", "params": params })).await
    }

    /// Every operation, as it is listed, and what reading the list costs.
    pub(crate) async fn list(&self) -> Result<(Vec<Value>, List), Unanswered> {
        let mut operations = Vec::new();
        let mut costs = Vec::new();
        let mut params = json!({ "query": "operations" });
        while costs.len() < MAX_PAGES {
            let said = self.introspect(params).await?;
            costs.push(said.cost());
            let data = said.data().ok_or_else(|| Unanswered(said.refusal()))?;
            operations.extend(data.get("operations").and_then(Value::as_array).into_iter().flatten().cloned());
            let page = data.pointer("/_protocol/page");
            let more = page.and_then(|page| page.get("hasNextPage")) == Some(&Value::Bool(true));
            match page.and_then(|page| page.get("endCursor")).and_then(Value::as_str).filter(|_| more) {
                Some(cursor) => params = json!({ "query": "operations", "after": cursor }),
                None => break,
            }
        }
        let first_page = costs.first().copied().unwrap_or_default();
        Ok((operations, List { pages: costs.len(), first_page, all_pages: costs.into_iter().sum() }))
    }

    /// Searches with words; and whether the operation is among what was found.
    pub(crate) async fn search(&self, words: &str, operation: &str) -> Result<(Said, bool), Unanswered> {
        let said = self.introspect(json!({ "query": "operations", "search": words })).await?;
        let listed = said.data().and_then(|data| data.get("operations")).and_then(Value::as_array);
        let mut names = listed.into_iter().flatten().filter_map(|one| one.get("name")?.as_str());
        let found = names.any(|name| name == operation);
        Ok((said, found))
    }

    /// A look at one operation.
    pub(crate) async fn detail(&self, operation: &str) -> Result<Said, Unanswered> {
        self.introspect(json!({ "query": "operations", "name": operation })).await
    }

    /// Calls an operation through the tool that its detail names, else through that of its family.
    pub(crate) async fn call(
        &self,
        operation: &str,
        params: &Map<String, Value>,
        detail: Option<&Value>,
    ) -> Result<Said, Unanswered> {
        let word = |name: &str| detail.and_then(|detail| detail.get(name)).and_then(Value::as_str);
        let named = word("mcpTool").filter(|named| self.tools.iter().any(|tool| tool == named));
        let family = word("endpoint").map(|endpoint| format!("_{}", endpoint.to_lowercase()));
        let family = family.and_then(|end| self.tools.iter().find(|tool| tool.ends_with(&end)));
        let tool = named.or(family.map(String::as_str)).unwrap_or(&self.reader);
        self.say(tool, &json!({ "operation": operation, "params": params })).await
    }
}
