//! What a model pays, in tokens of `o200k_base`, to connect and to do a task: from words to the call, as each gateway's own
//! tool texts teach it. Nobody uses a name it was not shown.

use anyhow::Context;
use aquifer_bench::session::Session;
use aquifer_bench::statistics::median;
use aquifer_report::root;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::count_tokens;

/// Something to be done: in words, and which call of the server behind does it.
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

    /// Whether a tool has its name: some replace or remove what is no letter.
    fn is_named(&self, name: &str) -> bool {
        let letters = |text: &str| text.chars().filter(|one| one.is_alphanumeric()).collect::<String>();
        name == self.tool || letters(name).eq_ignore_ascii_case(&letters(&self.tool))
    }
}

/// A conversation, and what it has cost so far.
pub(crate) struct Conversation<'a> {
    session: &'a mut Session,
    tools: &'a [Value],
    tokens: usize,
}

/// Does a task. Whether the tool was found by its words; then it was called, too.
pub(crate) type Walk = fn(&mut Conversation<'_>, &Task) -> anyhow::Result<bool>;

/// What all tasks of a capture cost.
pub(crate) struct Cost {
    pub(crate) connect: usize,
    /// The median of the tasks that were found, connect included.
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
    /// Calls a tool. What the model writes and what it reads are both paid for.
    fn call(&mut self, tool: &str, arguments: &Value) -> anyhow::Result<String> {
        let written = json!({ "name": tool, "arguments": arguments }).to_string();
        let read = self.session.call(tool, arguments)?;
        self.tokens += count_tokens(&written)? + count_tokens(&read)?;
        Ok(read)
    }

    /// The tool whose name ends so: some put a prefix in front.
    fn tool(&self, end: &str) -> anyhow::Result<String> {
        let mut names = self.tools.iter().filter_map(|tool| tool.get("name")?.as_str());
        names.find(|name| name.ends_with(end)).map(str::to_owned).with_context(|| format!("no tool …{end}"))
    }
}

/// Does every task of a capture.
pub(crate) fn play(capture: &str, walk: Walk, command: &[String]) -> anyhow::Result<Cost> {
    let text = std::fs::read_to_string(root().join("bench/peers/tasks.json"))?;
    let tasks: Vec<Task> = serde_json::from_str(&text).context("bench/peers/tasks.json")?;
    let tasks: Vec<Task> = tasks.into_iter().filter(|task| task.capture == capture).collect();
    let mut session = Session::open(command)?;
    let (tools, connect) = connect(&mut session)?;
    let mut totals = Vec::new();
    for task in &tasks {
        let mut conversation = Conversation { session: &mut session, tools: &tools, tokens: connect };
        if walk(&mut conversation, task).with_context(|| task.words.clone())? {
            totals.push(conversation.tokens as f64);
        }
    }
    Ok(Cost { connect, total: median(&totals), found: totals.len(), tasks: tasks.len() })
}

/// The tools, and the tokens of what clients show a model of them: names, descriptions and input schemas.
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

/// Search, which shows signatures, call.
pub(crate) fn aquifer(conversation: &mut Conversation<'_>, task: &Task) -> anyhow::Result<bool> {
    let tool = conversation.tool("mcp_aql")?;
    let ask = |params: Value| json!({ "operation": "introspect", "params": params });
    let found = conversation.call(&tool, &ask(json!({ "query": "signatures", "search": task.words })))?;
    let found: Value = serde_json::from_str(&found).unwrap_or_default();
    // The name of the operation; these tools need no more than this.
    let name = task.operation();
    let lines = found.pointer("/data/signatures").and_then(Value::as_array).cloned().unwrap_or_default();
    let is_found = |line: &Value| {
        line.as_str().and_then(|line| line.strip_prefix(&name)).is_some_and(|rest| rest.starts_with('('))
    };
    if !lines.iter().any(is_found) {
        return Ok(false);
    }
    conversation.call(&tool, &json!({ "operation": name, "params": task.all_arguments() }))?;
    Ok(true)
}

/// The same with published introspection: search, look at the one that fits, call.
pub(crate) fn published(conversation: &mut Conversation<'_>, task: &Task) -> anyhow::Result<bool> {
    let tool = conversation.tool("mcp_aql")?;
    let ask = |params: Value| json!({ "operation": "introspect", "params": params });
    let found = conversation.call(&tool, &ask(json!({ "query": "operations", "search": task.words })))?;
    let name = task.operation();
    if !names(&found, "/data/operations").contains(&name) {
        return Ok(false);
    }
    conversation.call(&tool, &ask(json!({ "query": "operations", "name": name })))?;
    conversation.call(&tool, &json!({ "operation": name, "params": task.all_arguments() }))?;
    Ok(true)
}

/// All names are shown at connect, so that nothing is searched for: look at the one that fits, call. It is taken for granted
/// that a model picks the right one of hundreds.
pub(crate) fn compressor(conversation: &mut Conversation<'_>, task: &Task) -> anyhow::Result<bool> {
    let (schema, invoke) = (conversation.tool("get_tool_schema")?, conversation.tool("invoke_tool")?);
    conversation.call(&schema, &json!({ "tool_name": task.tool }))?;
    conversation.call(&invoke, &json!({ "tool_name": task.tool, "tool_input": task.arguments }))?;
    Ok(true)
}

/// Search, which shows whole definitions, call.
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

/// The names of what is listed at a place of an answer.
fn names(answer: &str, place: &str) -> Vec<String> {
    let answer: Value = serde_json::from_str(answer).unwrap_or_default();
    let listed = answer.pointer(place).and_then(Value::as_array).cloned().unwrap_or_default();
    listed.iter().filter_map(|item| Some(item.get("name")?.as_str()?.to_owned())).collect()
}
