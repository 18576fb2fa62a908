//! The way from words to a call, as each gateway's own tool texts teach it. Nobody uses a name it was not shown.

use serde_json::{Value, json};

use crate::tasks::{Talk, Task};

/// Whether the tool was found by its words; then it was called, too.
pub(crate) type Walk = fn(&mut Talk, &Task) -> anyhow::Result<bool>;

/// Search, look at the one that fits, call.
pub(crate) fn aquifer(talk: &mut Talk, task: &Task) -> anyhow::Result<bool> {
    let tool = talk.tool("mcp_aql")?;
    let ask = |params: Value| json!({ "operation": "introspect", "params": params });
    let found = talk.call(&tool, &ask(json!({ "query": "operations", "search": task.words })))?;
    let name = snake_case(&task.tool);
    if !names(&found, "/data/operations").contains(&name) {
        return Ok(false);
    }
    talk.call(&tool, &ask(json!({ "query": "operations", "name": name })))?;
    talk.call(&tool, &json!({ "operation": name, "params": task.arguments }))?;
    Ok(true)
}

/// All names are shown at connect, so that nothing is searched for: look at the one that fits, call. It is taken for
/// granted that a model picks the right one of hundreds.
pub(crate) fn compressor(talk: &mut Talk, task: &Task) -> anyhow::Result<bool> {
    let (schema, invoke) = (talk.tool("get_tool_schema")?, talk.tool("invoke_tool")?);
    talk.call(&schema, &json!({ "tool_name": task.tool }))?;
    talk.call(&invoke, &json!({ "tool_name": task.tool, "tool_input": task.arguments }))?;
    Ok(true)
}

/// Search, which shows whole definitions, call.
pub(crate) fn fastmcp(talk: &mut Talk, task: &Task) -> anyhow::Result<bool> {
    let (search, call) = (talk.tool("search_tools")?, talk.tool("call_tool")?);
    let found = talk.call(&search, &json!({ "query": task.words }))?;
    if !names(&found, "").contains(&task.tool) {
        return Ok(false);
    }
    talk.call(&call, &json!({ "name": task.tool, "arguments": task.arguments }))?;
    Ok(true)
}

/// The names of what is listed at a place of an answer.
fn names(answer: &str, place: &str) -> Vec<String> {
    let answer: Value = serde_json::from_str(answer).unwrap_or_default();
    let listed = answer.pointer(place).and_then(Value::as_array).cloned().unwrap_or_default();
    listed.iter().filter_map(|item| Some(item.get("name")?.as_str()?.to_owned())).collect()
}

/// The name an operation of ours has; these tools need no more than this.
fn snake_case(tool: &str) -> String {
    tool.replace('-', "_").to_lowercase()
}
