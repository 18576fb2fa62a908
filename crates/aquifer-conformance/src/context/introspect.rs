//! Reads the description of a server through introspection.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::context::AnswerMonitor;
use crate::description::{Operation, ServerDescription, Type};
use crate::mcp::{Client, Reply};

/// A list with more pages than this is considered endless.
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
    let all = names.len();
    let sampled = sample_operations(names, max);
    description.left_out = all - sampled.len();
    for name in sampled {
        let reply = introspect(client, monitor, &description.tool, json!({"query": "operations", "name": name})).await;
        description.operations.extend(reply.data().get("operation").and_then(Operation::parse));
        description.operation_replies.push((name, reply));
    }
    let tools = client.aql_tools();
    let placed = |operation: &Operation| tools.contains(&operation.tool);
    (description.operations, description.without_tool) = description.operations.into_iter().partition(placed);
    let listed = names_of_types(&description);
    let mut waiting = types_to_read(&description, max);
    waiting.reverse();
    while let Some(name) = waiting.pop() {
        if description.types.contains_key(&name) {
            continue;
        }
        let reply = introspect(client, monitor, &description.tool, json!({"query": "types", "name": name})).await;
        if let Some(details) = reply.data().get("type").filter(|details| details.is_object()) {
            let parsed = Type::parse(details);
            // The alternatives of a union are as good as the types of the parameter.
            waiting.extend(parsed.members.iter().filter(|member| listed.contains(*member)).cloned());
            description.types.insert(name.clone(), parsed);
        }
        description.type_replies.push((name, reply));
    }
    description.expand_named_types();
    description
}

fn names_of_types(description: &ServerDescription) -> BTreeSet<String> {
    names(&description.types_list).into_iter().collect()
}

/// The names of the parameters' types, which are needed to build requests, and of up to `max` others.
fn types_to_read(description: &ServerDescription, max: usize) -> Vec<String> {
    let all = names(&description.types_list);
    let parameters = description.operations.iter().flat_map(|operation| &operation.parameters);
    let of_parameters: BTreeSet<&str> = parameters.flat_map(|parameter| parameter.named_types()).collect();
    let (first, others): (Vec<String>, Vec<String>) =
        all.into_iter().partition(|name| of_parameters.contains(name.as_str()));
    let mut read = first;
    match max.checked_sub(read.len()) {
        // 0 means no limit.
        _ if max == 0 => read.extend(others),
        Some(room) if room > 0 => read.extend(sample(others, room)),
        _ => {}
    }
    read
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

/// At most `max` names, evenly spaced.
fn sample(names: Vec<String>, max: usize) -> Vec<String> {
    if names.len() <= max || max == 0 {
        return names;
    }
    let all = names.len();
    let is_chosen = |index: usize| (index * max) / all != ((index + 1) * max) / all;
    names.into_iter().enumerate().filter(|(index, _)| is_chosen(*index)).map(|(_, name)| name).collect()
}

/// About `max` operations, in their order. Operations on the same noun stay together, because checks need both the
/// operation that creates a row and the one that reads it. Every verb occurs, because some operations exist only once.
fn sample_operations(names: Vec<String>, max: usize) -> Vec<String> {
    if names.len() <= max || max == 0 {
        return names;
    }
    let nouns: BTreeSet<String> = names.iter().map(|name| noun(name)).collect();
    // The number of nouns whose operations add up to about `max`.
    let room = (max * nouns.len() / names.len()).max(1);
    // One of each kind, then others: `ledger_1` and `ledger_2` are of the same kind.
    let mut kinds = BTreeSet::new();
    let kind = |noun: &String| noun.split('_').next().unwrap_or_default().to_owned();
    let (first, others): (Vec<String>, Vec<String>) = nouns.into_iter().partition(|noun| kinds.insert(kind(noun)));
    let mut chosen: BTreeSet<String> = sample(first, room).into_iter().collect();
    match room - chosen.len() {
        0 => {}
        left => chosen.extend(sample(others, left)),
    }
    let mut verbs: BTreeSet<String> =
        names.iter().filter(|name| chosen.contains(&noun(name))).map(|name| verb(name)).collect();
    let is_chosen = |name: &String| chosen.contains(&noun(name)) || verbs.insert(verb(name));
    names.into_iter().filter(is_chosen).collect()
}

/// The verb of an operation: the first word of its name.
fn verb(name: &str) -> String {
    words(name).into_iter().next().unwrap_or_default()
}

/// The noun of an operation: the other words of its name, each in the singular.
fn noun(name: &str) -> String {
    words(name).iter().skip(1).map(|word| singular(word)).collect::<Vec<_>>().join("_")
}

fn singular(word: &str) -> String {
    if let Some(stem) = word.strip_suffix("ies") {
        return format!("{stem}y");
    }
    let hisses = ["sses", "xes", "zes", "ches", "shes"].iter().any(|ending| word.ends_with(ending));
    let stem = match word {
        word if hisses => word.strip_suffix("es"),
        word if word.ends_with("ss") => None,
        word => word.strip_suffix('s'),
    };
    stem.unwrap_or(word).to_owned()
}

/// The words of `list_orders`, `list-orders` or `listOrders`, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for character in name.chars() {
        if character.is_uppercase() || !character.is_alphanumeric() {
            words.push(String::new());
        }
        if character.is_alphanumeric()
            && let Some(last) = words.last_mut()
        {
            last.extend(character.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::{noun, sample_operations};

    #[test]
    fn operations_on_the_same_noun_are_sampled_together() {
        let tables = ["order", "entry", "box", "house", "address", "person"];
        for name in tables {
            let plural = match name {
                "entry" => "entries".to_owned(),
                "box" | "address" => format!("{name}es"),
                name => format!("{name}s"),
            };
            assert_eq!(noun(&format!("create_{name}")), noun(&format!("list_{plural}")));
        }
        assert_eq!(noun("createOrderLine"), noun("list-order-lines"));
        let mut names = vec!["introspect".to_owned(), "query_relationships".to_owned()];
        for number in 0..100 {
            let of = |verb: &str, plural: &str| format!("{verb}_ledger{plural}_{number}");
            names.extend([of("create", ""), of("get", ""), of("list", "s"), of("update", ""), of("delete", "")]);
        }
        let sampled = sample_operations(names.clone(), 100);
        assert!((90..=110).contains(&sampled.len()), "{}", sampled.len());
        assert!(sampled.contains(&"introspect".to_owned()) && sampled.contains(&"query_relationships".to_owned()));
        let created: Vec<&String> = sampled.iter().filter(|name| name.starts_with("create_")).collect();
        assert!(created.len() >= 15, "{}", created.len());
        for name in created {
            assert!(sampled.contains(&name.replace("create", "get")), "{name} without what reads it");
        }
        assert_eq!(sample_operations(names.clone(), 0), names, "0 is no limit");
        assert_eq!(sample_operations(names.clone(), 1000), names);
    }
}
