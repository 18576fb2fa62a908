//! Asks a server for everything that introspection tells.

use serde_json::{Value, json};

use crate::context::Watch;
use crate::description::{Described, Operation, Type};
use crate::mcp::{Client, Reply};

/// More pages than this are a server that turns in circles.
const MAX_PAGES: usize = 100;

/// Reads the lists, then the details of up to `most` operations and as many types.
pub(super) async fn read(client: &mut Client, watch: &mut Watch, most: usize) -> Described {
    let mut described = Described::default();
    find_tool(client, watch, &mut described).await;
    if described.operations_reply.is_none() {
        return described;
    }
    read_pages(client, watch, &mut described).await;
    let types = ask(client, watch, &described.tool, json!({"query": "types"})).await;
    described.types_list = list(&types, "types");
    described.types_reply = Some(types);

    let names = names(&described.operations_list);
    described.left_out = names.len().saturating_sub(most);
    for name in sample(names, most) {
        let reply = ask(client, watch, &described.tool, json!({"query": "operations", "name": name})).await;
        described.operations.extend(reply.data().get("operation").and_then(Operation::read));
        described.operation_replies.push((name, reply));
    }
    let tools = client.aql_tools();
    let placed = |operation: &Operation| tools.contains(&operation.tool);
    (described.operations, described.unplaced) = described.operations.into_iter().partition(placed);
    for name in sample(self::names(&described.types_list), most) {
        let reply = ask(client, watch, &described.tool, json!({"query": "types", "name": name})).await;
        if let Some(details) = reply.data().get("type").filter(|details| details.is_object()) {
            described.types.insert(name.clone(), Type::read(details));
        }
        described.type_replies.push((name, reply));
    }
    described
}

/// The tool that answers: those that sound like reading are asked first, and only tools that take operations at all.
async fn find_tool(client: &mut Client, watch: &mut Watch, described: &mut Described) {
    let mut tools = client.aql_tools();
    let sounds = |tool: &String| ["read", "discover", "inspect", "query"].iter().position(|word| tool.contains(word));
    tools.sort_by_key(|tool| (sounds(tool).unwrap_or(usize::MAX), tool.len()));
    for tool in tools {
        let reply = ask(client, watch, &tool, json!({"query": "operations"})).await;
        let answered = reply.ok();
        if answered || described.operations_reply.is_none() {
            described.operations_list = list(&reply, "operations");
            described.tool = tool;
            described.operations_reply = Some(reply);
        }
        if answered {
            return;
        }
    }
}

async fn read_pages(client: &mut Client, watch: &mut Watch, described: &mut Described) {
    let mut page = described.protocol().get("page").cloned().unwrap_or_default();
    for _ in 0..MAX_PAGES {
        let more = page.get("hasNextPage").and_then(Value::as_bool).unwrap_or_default();
        let Some(cursor) = page.get("endCursor").filter(|cursor| more && cursor.is_string()) else { return };
        let reply = ask(client, watch, &described.tool, json!({"query": "operations", "after": cursor})).await;
        let next = list(&reply, "operations");
        if next.is_empty() {
            return;
        }
        described.operations_list.extend(next);
        page = reply.data().pointer("/_protocol/page").cloned().unwrap_or_default();
    }
}

async fn ask(client: &mut Client, watch: &mut Watch, tool: &str, params: Value) -> Reply {
    let reply = client.call(tool, json!({"operation": "introspect", "params": params})).await;
    watch.observe(&reply, true);
    reply
}

fn list(reply: &Reply, key: &str) -> Vec<Value> {
    reply.data().get(key).and_then(Value::as_array).cloned().unwrap_or_default()
}

fn names(items: &[Value]) -> Vec<String> {
    items.iter().filter_map(|item| item.get("name")?.as_str().map(str::to_owned)).collect()
}

/// So many of them, evenly spread, `introspect` always among them.
fn sample(names: Vec<String>, most: usize) -> Vec<String> {
    if names.len() <= most || most == 0 {
        return names;
    }
    let all = names.len();
    let chosen = |index: usize, name: &str| name == "introspect" || (index * most) / all != ((index + 1) * most) / all;
    names.into_iter().enumerate().filter(|(index, name)| chosen(*index, name)).map(|(_, name)| name).collect()
}
