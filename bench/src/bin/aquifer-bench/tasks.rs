//! The cost for a model, in tokens of `o200k_base`, to connect and to do a task: from a description to the call, as
//! each gateway's tool texts instruct. No gateway uses a name that it was not shown.

use anyhow::{Context, ensure};
use aquifer_bench::session::Session;
use aquifer_bench::statistics::median;
use aquifer_report::root;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::count_tokens;

/// A task: its description, and the upstream call that does it.
#[derive(Deserialize)]
pub(crate) struct Task {
    capture: String,
    tool: String,
    words: String,
    arguments: Value,
    /// The fields of a request's body, where they may have to be kept apart from the other arguments.
    #[serde(default)]
    body: Map<String, Value>,
}

impl Task {
    /// The arguments with the fields of the body among them.
    fn all_arguments(&self) -> Value {
        let mut all = self.arguments.clone();
        if let Value::Object(members) = &mut all {
            members.extend(self.body.clone());
        }
        all
    }

    /// The name of its operation with us.
    fn operation(&self) -> String {
        self.tool.replace(['-', '/'], "_").to_lowercase()
    }

    /// Whether a tool has its name: some replace or remove other characters than letters and digits.
    fn is_named(&self, name: &str) -> bool {
        let alphanumerics = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
        name == self.tool || alphanumerics(name).eq_ignore_ascii_case(&alphanumerics(&self.tool))
    }
}

/// A conversation and its cost so far.
pub(crate) struct Conversation<'a> {
    session: &'a mut Session,
    tools: &'a [Value],
    tokens: usize,
}

/// Performs a task the way a gateway requires. Returns whether the tool was found by the task's words, and thus called.
pub(crate) type Strategy = fn(&mut Conversation<'_>, &Task) -> anyhow::Result<bool>;

/// The cost of all tasks of a capture.
pub(crate) struct Cost {
    pub(crate) connect: usize,
    /// The median of the tasks that were found, including connect.
    pub(crate) total: f64,
    found: usize,
    tasks: usize,
}

impl Cost {
    pub(crate) fn found(&self) -> String {
        format!("{} of {} found", self.found, self.tasks)
    }
}

impl Conversation<'_> {
    /// Calls a tool. Counts both what the model writes and what it reads.
    fn call(&mut self, tool: &str, arguments: &Value) -> anyhow::Result<String> {
        let written = json!({ "name": tool, "arguments": arguments }).to_string();
        let read = self.session.call(tool, arguments)?;
        self.tokens += count_tokens(&written)? + count_tokens(&read)?;
        Ok(read)
    }

    /// Calls an operation. If it asks for confirmation, the question and the call with the token count, too.
    fn call_confirmed(&mut self, tool: &str, operation: &str, params: &Value) -> anyhow::Result<()> {
        const TOKEN: &str = "confirmation_token";
        let mut params = params.clone();
        let mut answer = self.call(tool, &json!({ "operation": operation, "params": params }))?;
        let asked: Value = serde_json::from_str(&answer).unwrap_or_default();
        let token = asked.pointer("/error/details").and_then(|details| details.get(TOKEN));
        if let (Some(token), Some(params)) = (token, params.as_object_mut()) {
            params.insert(TOKEN.to_owned(), token.clone());
            answer = self.call(tool, &json!({ "operation": operation, "params": params }))?;
        }
        let answered: Value = serde_json::from_str(&answer).unwrap_or_default();
        ensure!(answered.get("success") == Some(&Value::Bool(true)), "{operation} was not done: {answer}");
        Ok(())
    }

    /// The tool whose name ends like this. Some gateways add a prefix.
    fn tool(&self, end: &str) -> anyhow::Result<String> {
        let mut names = self.tools.iter().filter_map(|tool| tool.get("name")?.as_str());
        names.find(|name| name.ends_with(end)).map(str::to_owned).with_context(|| format!("no tool …{end}"))
    }
}

/// Performs every task of a capture.
pub(crate) fn run_all(capture: &str, strategy: Strategy, command: &[String]) -> anyhow::Result<Cost> {
    let text = std::fs::read_to_string(root().join("bench/peers/tasks.json"))?;
    let tasks: Vec<Task> = serde_json::from_str(&text).context("bench/peers/tasks.json")?;
    let tasks: Vec<Task> = tasks.into_iter().filter(|task| task.capture == capture).collect();
    let mut session = Session::open(command)?;
    let (tools, connect) = connect(&mut session)?;
    let mut totals = Vec::new();
    for task in &tasks {
        let mut conversation = Conversation { session: &mut session, tools: &tools, tokens: connect };
        if strategy(&mut conversation, task).with_context(|| task.words.clone())? {
            totals.push(conversation.tokens as f64);
        }
    }
    Ok(Cost { connect, total: median(&totals), found: totals.len(), tasks: tasks.len() })
}

/// The tools, and the tokens of the parts that clients show to a model: names, descriptions and input schemas.
pub(crate) fn connect(session: &mut Session) -> anyhow::Result<(Vec<Value>, usize)> {
    let tools = session.tools()?;
    let shown = |tool: &Value| {
        let members = ["name", "description", "inputSchema"];
        members.iter().filter_map(|name| Some(((*name).to_owned(), tool.get(name)?.clone()))).collect::<Value>()
    };
    let shown: Vec<Value> = tools.iter().map(shown).collect();
    let tokens = count_tokens(&Value::from(shown).to_string())?;
    Ok((tools, tokens))
}

/// Search, which returns signatures; call.
pub(crate) fn aquifer(conversation: &mut Conversation<'_>, task: &Task) -> anyhow::Result<bool> {
    let tool = conversation.tool("mcp_aql")?;
    let ask = |params: Value| json!({ "operation": "introspect", "params": params });
    let found = conversation.call(&tool, &ask(json!({ "query": "signatures", "search": task.words })))?;
    let found: Value = serde_json::from_str(&found).unwrap_or_default();
    let name = task.operation();
    let lines = found.pointer("/data/signatures").and_then(Value::as_array).cloned().unwrap_or_default();
    let is_found = |line: &Value| {
        line.as_str().and_then(|line| line.strip_prefix(&name)).is_some_and(|rest| rest.starts_with('('))
    };
    if !lines.iter().any(is_found) {
        return Ok(false);
    }
    conversation.call_confirmed(&tool, &name, &task.all_arguments())?;
    Ok(true)
}

/// The same with published introspection: search, fetch the details of the match, call.
pub(crate) fn published(conversation: &mut Conversation<'_>, task: &Task) -> anyhow::Result<bool> {
    let tool = conversation.tool("mcp_aql")?;
    let ask = |params: Value| json!({ "operation": "introspect", "params": params });
    let found = conversation.call(&tool, &ask(json!({ "query": "operations", "search": task.words })))?;
    let name = task.operation();
    if !names(&found, "/data/operations").contains(&name) {
        return Ok(false);
    }
    conversation.call(&tool, &ask(json!({ "query": "operations", "name": name })))?;
    conversation.call_confirmed(&tool, &name, &task.all_arguments())?;
    Ok(true)
}

/// All names are shown at connect, so no search is needed: fetch the schema of the match, call. The model is assumed to
/// pick the right one among hundreds.
pub(crate) fn compressor(conversation: &mut Conversation<'_>, task: &Task) -> anyhow::Result<bool> {
    let (schema, invoke) = (conversation.tool("get_tool_schema")?, conversation.tool("invoke_tool")?);
    conversation.call(&schema, &json!({ "tool_name": task.tool }))?;
    conversation.call(&invoke, &json!({ "tool_name": task.tool, "tool_input": task.arguments }))?;
    Ok(true)
}

/// Search, which returns full definitions; call.
pub(crate) fn fastmcp(conversation: &mut Conversation<'_>, task: &Task) -> anyhow::Result<bool> {
    let (search, call) = (conversation.tool("search_tools")?, conversation.tool("call_tool")?);
    let found = conversation.call(&search, &json!({ "query": task.words }))?;
    let Some(name) = names(&found, "").into_iter().find(|name| task.is_named(name)) else { return Ok(false) };
    conversation.call(&call, &json!({ "name": name, "arguments": task.all_arguments() }))?;
    Ok(true)
}

/// All tools are shown at connect, as the generated servers of openapi-mcp-generator do: call. It is taken for granted that a
/// model picks the right one of a thousand.
pub(crate) fn generated(conversation: &mut Conversation<'_>, task: &Task) -> anyhow::Result<bool> {
    let mut names = conversation.tools.iter().filter_map(|tool| tool.get("name")?.as_str());
    let name = names.find(|name| task.is_named(name)).with_context(|| format!("no tool {}", task.tool))?.to_owned();
    let mut arguments = task.arguments.clone();
    if let Value::Object(members) = &mut arguments
        && !task.body.is_empty()
    {
        members.insert("requestBody".to_owned(), Value::Object(task.body.clone()));
    }
    conversation.call(&name, &arguments)?;
    Ok(true)
}

/// The names in the list at this JSON pointer of an answer.
fn names(answer: &str, place: &str) -> Vec<String> {
    let answer: Value = serde_json::from_str(answer).unwrap_or_default();
    let listed = answer.pointer(place).and_then(Value::as_array).cloned().unwrap_or_default();
    listed.iter().filter_map(|item| Some(item.get("name")?.as_str()?.to_owned())).collect()
}
