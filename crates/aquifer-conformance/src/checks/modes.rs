//! Both endpoint modes, and that they tell the same.

use serde_json::{Value, json};

use crate::checks::Check;
use crate::checks::feature::{ALL, Feature};
use crate::context::{CheckContext, Second};
use crate::mcp::rows::settled;
use crate::record::{Mode, Purpose};
use crate::report::Category::LevelTwoFeatures;
use crate::report::Tally;

pub(crate) const CHECKS: &[Check] = &[
    Check::new("modes.both", "Both endpoint modes are supported", LevelTwoFeatures, "modes", "", |context, tally| {
        Box::pin(both(context, tally))
    }),
    Check::new(
        "modes.same",
        "Both modes give the same answers",
        LevelTwoFeatures,
        "requests",
        "there is no second mode to compare with",
        |context, tally| Box::pin(same(context, tally)),
    )
    .needs(&["modes.both"]),
    Check::new(
        "features.capabilities",
        "Capabilities agree with what operations document",
        LevelTwoFeatures,
        "capabilities",
        "no capabilities are told in '_protocol'",
        |context, tally| Box::pin(capabilities(context, tally)),
    )
    .needs(&["introspection.protocol"]),
];

async fn both(context: &mut CheckContext<'_>, tally: &mut Tally) {
    if context.client.aql_tools().is_empty() {
        return tally.note("no tool takes operations, in whatever mode");
    }
    context.open_second().await;
    let single_tool = context.single_tool.clone().unwrap_or_default();
    match &context.second {
        Second::None(reason) => return tally.note(reason.clone()),
        Second::Same => {}
        Second::Own(client) => {
            let tools = client.aql_tools();
            let same = tools == context.client.aql_tools();
            if same {
                tally.look();
                let asked = if context.mode == Mode::Single { "semantic" } else { "single" };
                let problem = format!(
                    "only one mode: asked for '{asked}' (through MCP_AQL_ENDPOINT_MODE, or at the second address) \
                     the server shows the same tools again"
                );
                tally.fail("modes", problem, None);
                context.second = Second::None("there is only one mode".into());
                // What was asked for and not given is no surface.
                context.record.surfaces.pop();
                return;
            }
            let one_tool = context.mode == Mode::Single || tools.len() == 1;
            tally.holds(one_tool, "single", "in single mode there is more than one tool for operations", None);
        }
    }
    let asked = json!({"operation": "introspect", "params": {"query": "operations"}});
    let reply = context.call_second(asked).await;
    tally.holds(reply.ok(), &single_tool, "introspection is not answered in the other mode", Some(&reply));
    tally.look();
    if reply.ok() {
        let names =
            |list: &[Value]| -> Vec<Value> { list.iter().filter_map(|item| item.get("name").cloned()).collect() };
        let other = reply.data().get("operations").and_then(Value::as_array).cloned().unwrap_or_default();
        let first = context
            .described
            .operations_reply
            .as_ref()
            .and_then(|reply| reply.data().get("operations")?.as_array().cloned());
        if names(&other) != names(&first.unwrap_or_default()) {
            tally.fail("modes", "the modes list different operations", Some(&reply));
        }
    }
}

async fn same(context: &mut CheckContext<'_>, tally: &mut Tally) {
    if matches!(context.second, Second::None(_)) {
        return;
    }
    if context.working.is_empty() {
        return tally.note("no READ operation works that could be asked in both");
    }
    let described = context.described.clone();
    for (name, params) in context.working.clone().into_iter().take(12) {
        let Some(operation) = described.operation(&name) else { continue };
        let first = context.call(operation, params.clone()).await;
        let second = context.call_second(json!({"operation": name, "params": params})).await;
        let same = settled(first.data()) == settled(second.data()) && first.ok() == second.ok();
        if !same && context.restless(operation, &params, &first).await {
            tally.note(format!("{name} was left out: it answers differently each time"));
            continue;
        }
        tally.holds(same, &name, "the other mode gives another answer", Some(&second));
        context.keep(Purpose::Valid { operation: name }, &second);
    }
}

async fn capabilities(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let protocol = context.described.protocol().clone();
    let capability = |name: &str| protocol.pointer(&format!("/capabilities/{name}")).and_then(Value::as_bool);
    // What introspection takes for itself says nothing of the operations.
    let any =
        |names: [&str; 2]| context.described.reads().any(|operation| names.iter().all(|name| operation.has(name)));
    let reads_fields = any(["fields", "fields"]);
    let pages = any(["first", "after"]) || any(["limit", "offset"]) || any(["page", "page_size"]);
    let relationships = context.described.reads().any(|operation| {
        operation.name == "query_relationships" || operation.raw.get("relationship_capabilities").is_some()
    });
    let facts = [
        ("field_selection", reads_fields),
        ("aggregations", Feature::Aggregates.offered(context)),
        ("computed_fields", Feature::Computed.offered(context)),
        ("pagination", pages),
        ("relationship_queries", relationships),
    ];
    for (name, documented) in facts {
        let Some(said) = capability(name) else { continue };
        tally.look();
        match (said, documented) {
            (true, false) => tally.fail(name, "it is said to be there, but no operation documents it", None),
            (false, true) => tally.fail(name, "operations document it, but it is said not to be there", None),
            _ => {}
        }
    }
    if protocol.get("capabilities").is_none() {
        tally.look();
        tally.warn("_protocol.capabilities", "the capabilities are not told", None);
    }
    let absent: Vec<&str> =
        ALL.iter().filter(|(feature, _)| !feature.offered(context)).map(|(_, name)| *name).collect();
    if !absent.is_empty() {
        tally.note(format!("not offered, and therefore not checked: {}", absent.join(", ")));
    }
}
