//! Checks of the lists and names of introspection.

use serde_json::{Value, json};

use crate::checks::Check;
use crate::context::CheckContext;
use crate::mcp::Reply;
use crate::mcp::rows::without_volatile;
use crate::published::introspection::{OPERATION, PROTOCOL, TYPE, TYPE_DETAILS};
use crate::published::{SNAKE_CASE, Shape, differences};
use crate::report::Category::IntrospectionFidelity;
use crate::report::Tally;

pub(crate) const CHECKS: &[Check] = &[
    Check::new(
        "introspection.operations",
        "Operations query is implemented",
        IntrospectionFidelity,
        "operations listed",
        "no tool answers introspection",
        |context, tally| Box::pin(operations(context, tally)),
    ),
    Check::new(
        "introspection.protocol",
        "The list states version and conformance level",
        IntrospectionFidelity,
        "facts",
        "no tool answers introspection",
        |context, tally| Box::pin(protocol(context, tally)),
    ),
    Check::new(
        "introspection.itself",
        "Introspection describes itself",
        IntrospectionFidelity,
        "facts",
        "no tool answers introspection",
        |context, tally| Box::pin(describes_itself(context, tally)),
    ),
    Check::new(
        "introspection.types",
        "Types query is implemented",
        IntrospectionFidelity,
        "types listed",
        "no tool answers introspection",
        |context, tally| Box::pin(types(context, tally)),
    ),
    Check::new(
        "introspection.type_details",
        "Type details are well-formed and agree with the list",
        IntrospectionFidelity,
        "types",
        "no type in the list has a name",
        |context, tally| Box::pin(type_details(context, tally)),
    )
    .depends_on(&["introspection.types"]),
    Check::new(
        "introspection.type_references",
        "Every type named by a parameter is described",
        IntrospectionFidelity,
        "types named",
        "there are no parameters",
        |context, tally| Box::pin(type_references(context, tally)),
    )
    .depends_on(&["introspection.types", "introspection.type_details"]),
    Check::new(
        "introspection.unknown_names",
        "Unknown names are answered with null",
        IntrospectionFidelity,
        "unknown names",
        "no tool answers introspection",
        |context, tally| Box::pin(unknown_names(context, tally)),
    ),
    Check::new(
        "introspection.bad_query",
        "An unknown kind of query is refused",
        IntrospectionFidelity,
        "queries",
        "no tool answers introspection",
        |context, tally| Box::pin(bad_query(context, tally)),
    ),
    Check::new(
        "introspection.stable",
        "Repeated introspection gives the same answer",
        IntrospectionFidelity,
        "answers",
        "no tool answers introspection",
        |context, tally| Box::pin(stable(context, tally)),
    ),
];

async fn introspect(context: &mut CheckContext<'_>, params: Value) -> Reply {
    let tool = context.description.tool.clone();
    context.send(&tool, json!({"operation": "introspect", "params": params})).await
}

/// Reports a member of the data that is not allowed.
fn unexpected_member(reply: &Reply, allowed: &[&str]) -> Option<String> {
    let data = reply.data().as_object()?;
    data.keys()
        .find(|key| !allowed.contains(&key.as_str()))
        .map(|key| format!("'data.{key}' is not a published member"))
}

async fn operations(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let description = context.description.clone();
    let Some(reply) = &description.operations_reply else {
        let listed = context.client.tools.len();
        let problem = format!(
            "this is not an MCP-AQL server: none of its {listed} tools has 'operation' in its input schema, so there is \
             nothing to ask for introspection"
        );
        tally.count();
        return tally.fail("tools/list", problem, None);
    };
    if !reply.is_success() {
        tally.count();
        tally.fail("introspect", "no tool answers the operations query with success", Some(reply));
        let bare = context.send(&description.tool, json!({"operation": "introspect"})).await;
        if bare.is_success() {
            tally.note("it answers without 'query', but the published parameters are 'query' and 'name'");
        }
        return;
    }
    if description.operations_list.is_empty() {
        tally.count();
        return tally.fail("introspect", "'data.operations' is not a list of operations", Some(reply));
    }
    if let Some(problem) = unexpected_member(reply, &["_protocol", "operations"]) {
        tally.fail("introspect", problem, Some(reply));
    }
    let mut names = Vec::new();
    for item in &description.operations_list {
        tally.count();
        let listed_name = item.get("name").and_then(Value::as_str);
        let name = listed_name.unwrap_or("an operation without name");
        for problem in differences(item, &Shape::Object(&OPERATION)) {
            tally.fail(name, problem, None);
        }
        if listed_name.is_none() {
            continue;
        }
        if !(SNAKE_CASE.matches)(name) {
            tally.fail(name, "the name is not snake_case", None);
        }
        if names.contains(&name) {
            tally.fail(name, "the name is listed twice", None);
        }
        names.push(name);
    }
}

async fn protocol(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let description = context.description.clone();
    let Some(reply) = description.operations_reply.as_ref().filter(|reply| reply.is_success()) else { return };
    let protocol = description.protocol();
    if !tally.expect(protocol.is_object(), "_protocol", "the operations list has no '_protocol'", Some(reply)) {
        return;
    }
    tally.count();
    for problem in differences(protocol, &Shape::Object(&PROTOCOL)) {
        tally.fail("_protocol", problem, Some(reply));
    }
    if protocol.get("conformance").is_none() {
        tally.count();
        tally.warn("_protocol.conformance", "the conformance level is not stated", Some(reply));
    }
}

async fn describes_itself(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let description = context.description.clone();
    if description.operations_list.is_empty() {
        return;
    }
    if description.operations_list.iter().all(|item| item.get("name").is_none()) {
        return tally.note("no operation in the list has a 'name'");
    }
    let listed =
        description.operations_list.iter().any(|item| item.get("name").is_some_and(|name| name == "introspect"));
    tally.expect(listed, "introspect", "it is not in the list of operations", None);
    let Some(introspect) = description.operation("introspect") else { return };
    tally.expect(introspect.is_read(), "introspect", "its category is not READ", None);
    let query = introspect.parameter("query");
    tally.expect(query.is_some_and(|query| query.required), "introspect.query", "it is not a required parameter", None);
    tally.expect(introspect.has_parameter("name"), "introspect.name", "the parameter is not described", None);
}

async fn types(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let description = context.description.clone();
    let Some(reply) = &description.types_reply else { return };
    tally.count();
    if !reply.is_success() || !reply.data().get("types").is_some_and(Value::is_array) {
        return tally.fail("introspect", "the types query is not answered with a list of types", Some(reply));
    }
    if let Some(problem) = unexpected_member(reply, &["types"]) {
        tally.fail("introspect", problem, Some(reply));
    }
    let mut names = Vec::new();
    for item in &description.types_list {
        tally.count();
        let listed_name = item.get("name").and_then(Value::as_str);
        let name = listed_name.unwrap_or("a type without name");
        for problem in differences(item, &Shape::Object(&TYPE)) {
            tally.fail(name, problem, None);
        }
        if listed_name.is_none() {
            continue;
        }
        if names.contains(&name) {
            tally.fail(name, "the name is listed twice", None);
        }
        names.push(name);
    }
}

async fn type_details(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let description = context.description.clone();
    for (name, reply) in &description.type_replies {
        tally.count();
        let Some(details) = reply.data().get("type").filter(|details| details.is_object()) else {
            tally.fail(name, "it is listed, but has no details", Some(reply));
            continue;
        };
        let mut problems = differences(details, &TYPE_DETAILS);
        let listed =
            description.types_list.iter().find(|item| item.get("name").is_some_and(|own| own == name.as_str()));
        for key in ["name", "kind"] {
            if listed.and_then(|listed| listed.get(key)) != details.get(key) {
                problems.push(format!("'{key}' differs from the list"));
            }
        }
        for problem in problems {
            tally.fail(name, problem, Some(reply));
        }
    }
}

async fn type_references(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let description = context.description.clone();
    let mut reported = Vec::new();
    for operation in &description.operations {
        for parameter in &operation.parameters {
            tally.count();
            for name in parameter.named_types() {
                if !description.types.contains_key(name) && !reported.contains(&name) {
                    let subject = format!("{}.{}", operation.name, parameter.name);
                    tally.fail(subject, format!("its type '{name}' is not described"), None);
                    reported.push(name);
                }
            }
        }
    }
}

async fn unknown_names(context: &mut CheckContext<'_>, tally: &mut Tally) {
    if context.description.operations_list.is_empty() {
        return;
    }
    for (query, key) in [("operations", "operation"), ("types", "type")] {
        let reply = introspect(context, json!({"query": query, "name": "no_such_name_7f3a"})).await;
        let null = reply.is_success() && reply.data().get(key) == Some(&Value::Null);
        let problem = format!("an unknown name is not answered with success and '{key}: null'");
        tally.expect(null, query, &problem, Some(&reply));
    }
}

async fn bad_query(context: &mut CheckContext<'_>, tally: &mut Tally) {
    if context.description.operations_list.is_empty() {
        return;
    }
    let reply = introspect(context, json!({"query": "no_such_query_7f3a"})).await;
    tally.expect(reply.is_refused(), "introspect.query", "an unknown kind of query was answered", Some(&reply));
}

async fn stable(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let description = context.description.clone();
    let lists = description.operations_reply.iter().chain(&description.types_reply);
    let details = description.operation_replies.iter().chain(&description.type_replies).map(|(_, reply)| reply);
    for before in lists.chain(details).filter(|reply| reply.is_success()).take(40) {
        let now = context.send(&before.exchange.tool, before.exchange.arguments.clone()).await;
        let same = without_volatile(&before.exchange.answer) == without_volatile(&now.exchange.answer);
        let asked = before.exchange.arguments.get("params").map(Value::to_string).unwrap_or_default();
        tally.expect(same, &asked, "the same request was answered differently", Some(&now));
    }
}
