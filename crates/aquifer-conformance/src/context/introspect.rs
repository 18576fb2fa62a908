//! Reads the description of a server through introspection.

use serde_json::{Value, json};

use crate::context::AnswerMonitor;
use crate::description::{Operation, ServerDescription, Type};
use crate::mcp::{Client, Reply};

/// A list with more pages is considered endless.
const MAX_PAGES: usize = 100;

/// Reads the lists, then the details of up to `max` operations and `max` types.
pub(super) async fn read_description(
    client: &mut Client,
    monitor: &mut AnswerMonitor,
    max: usize,
) -> ServerDescription {
    let mut description = ServerDescription::default();
    find_tool(client, monitor, &mut description).await;
    if description.operations_reply.is_none() {
        return description;
    }
    read_pages(client, monitor, &mut description).await;
    let types = introspect(client, monitor, &description.tool, json!({"query": "types"})).await;
    description.types_list = list(&types, "types");
    description.types_reply = Some(types);

    let names = names(&description.operations_list);
    description.left_out = names.len().saturating_sub(max);
    for name in sample(names, max) {
        let reply = introspect(client, monitor, &description.tool, json!({"query": "operations", "name": name})).await;
        description.operations.extend(reply.data().get("operation").and_then(Operation::parse));
        description.operation_replies.push((name, reply));
    }
    let tools = client.aql_tools();
    let placed = |operation: &Operation| tools.contains(&operation.tool);
    (description.operations, description.unplaced) = description.operations.into_iter().partition(placed);
    for name in sample(self::names(&description.types_list), max) {
        let reply = introspect(client, monitor, &description.tool, json!({"query": "types", "name": name})).await;
        if let Some(details) = reply.data().get("type").filter(|details| details.is_object()) {
            description.types.insert(name.clone(), Type::parse(details));
        }
        description.type_replies.push((name, reply));
    }
    description
}

/// Finds the tool that answers introspection. Tools whose names suggest reading are tried first.
async fn find_tool(client: &mut Client, monitor: &mut AnswerMonitor, description: &mut ServerDescription) {
    let mut tools = client.aql_tools();
    let sounds = |tool: &String| ["read", "discover", "inspect", "query"].iter().position(|word| tool.contains(word));
    tools.sort_by_key(|tool| (sounds(tool).unwrap_or(usize::MAX), tool.len()));
    for tool in tools {
        let reply = introspect(client, monitor, &tool, json!({"query": "operations"})).await;
        let answered = reply.is_success();
        if answered || description.operations_reply.is_none() {
            description.operations_list = list(&reply, "operations");
            description.tool = tool;
            description.operations_reply = Some(reply);
        }
        if answered {
            return;
        }
    }
}

async fn read_pages(client: &mut Client, monitor: &mut AnswerMonitor, description: &mut ServerDescription) {
    let mut page = description.protocol().get("page").cloned().unwrap_or_default();
    for _ in 0..MAX_PAGES {
        let more = page.get("hasNextPage").and_then(Value::as_bool).unwrap_or_default();
        let Some(cursor) = page.get("endCursor").filter(|cursor| more && cursor.is_string()) else { return };
        let reply =
            introspect(client, monitor, &description.tool, json!({"query": "operations", "after": cursor})).await;
        let next = list(&reply, "operations");
        if next.is_empty() {
            return;
        }
        description.operations_list.extend(next);
        page = reply.data().pointer("/_protocol/page").cloned().unwrap_or_default();
    }
}

async fn introspect(client: &mut Client, monitor: &mut AnswerMonitor, tool: &str, params: Value) -> Reply {
    let reply = client.call(tool, json!({"operation": "introspect", "params": params})).await;
    monitor.observe(&reply, true);
    reply
}

fn list(reply: &Reply, key: &str) -> Vec<Value> {
    reply.data().get(key).and_then(Value::as_array).cloned().unwrap_or_default()
}

fn names(items: &[Value]) -> Vec<String> {
    items.iter().filter_map(|item| item.get("name")?.as_str().map(str::to_owned)).collect()
}

/// At most `max` names, evenly spaced, and always `introspect`.
fn sample(names: Vec<String>, max: usize) -> Vec<String> {
    if names.len() <= max || max == 0 {
        return names;
    }
    let all = names.len();
    let chosen = |index: usize, name: &str| name == "introspect" || (index * max) / all != ((index + 1) * max) / all;
    names.into_iter().enumerate().filter(|(index, name)| chosen(*index, name)).map(|(_, name)| name).collect()
}
