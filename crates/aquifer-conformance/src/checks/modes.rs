//! Checks of the endpoint modes: both exist, and give the same answers.

use serde_json::{Value, json};

use crate::checks::Check;
use crate::checks::feature::{ALL, Feature};
use crate::context::{CheckContext, SecondSurface};
use crate::mcp::rows::without_volatile;
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
        |context, tally| Box::pin(values_equal(context, tally)),
    )
    .depends_on(&["modes.both"]),
    Check::new(
        "features.capabilities",
        "Capabilities agree with what operations document",
        LevelTwoFeatures,
        "capabilities",
        "'_protocol' states no capabilities",
        |context, tally| Box::pin(capabilities(context, tally)),
    )
    .depends_on(&["introspection.protocol"]),
];

async fn both(context: &mut CheckContext<'_>, tally: &mut Tally) {
    if context.client.aql_tools().is_empty() {
        return tally.note("no tool takes operations in any mode");
    }
    context.open_second().await;
    let single_tool = context.single_tool.clone().unwrap_or_default();
    match &context.second {
        SecondSurface::Unavailable(reason) => return tally.note(reason.clone()),
        SecondSurface::Same => {}
        SecondSurface::Own(client) => {
            let tools = client.aql_tools();
            let same = tools == context.client.aql_tools();
            if same {
                tally.count();
                let requested = if context.mode == Mode::Single { "semantic" } else { "single" };
                let problem = format!(
                    "the server has only one mode: '{requested}' was requested (with MCP_AQL_ENDPOINT_MODE, or at the \
                     second address), and the tools are the same"
                );
                tally.fail("modes", problem, None);
                context.second = SecondSurface::Unavailable("there is only one mode".into());
                // The server did not switch modes, so this is not a second surface.
                context.record.surfaces.pop();
                return;
            }
            let one_tool = context.mode == Mode::Single || tools.len() == 1;
            tally.expect(one_tool, "single", "in single mode there is more than one tool for operations", None);
        }
    }
    let asked = json!({"operation": "introspect", "params": {"query": "operations"}});
    let reply = context.call_second(asked).await;
    tally.expect(reply.is_success(), &single_tool, "introspection is not answered in the other mode", Some(&reply));
    tally.count();
    if reply.is_success() {
        let names =
            |list: &[Value]| -> Vec<Value> { list.iter().filter_map(|item| item.get("name").cloned()).collect() };
        let other = reply.data().get("operations").and_then(Value::as_array).cloned().unwrap_or_default();
        let first = context
            .description
            .operations_reply
            .as_ref()
            .and_then(|reply| reply.data().get("operations")?.as_array().cloned());
        if names(&other) != names(&first.unwrap_or_default()) {
            tally.fail("modes", "the modes list different operations", Some(&reply));
        }
    }
}

async fn values_equal(context: &mut CheckContext<'_>, tally: &mut Tally) {
    if matches!(context.second, SecondSurface::Unavailable(_)) {
        return;
    }
    if context.valid_requests.is_empty() {
        return tally.note("no working READ operation can be compared");
    }
    let description = context.description.clone();
    for (name, params) in context.valid_requests.clone().into_iter().take(12) {
        let Some(operation) = description.operation(&name) else { continue };
        let first = context.call(operation, params.clone()).await;
        let second = context.call_second(json!({"operation": name, "params": params})).await;
        let same = without_volatile(first.data()) == without_volatile(second.data())
            && first.is_success() == second.is_success();
        if !same && context.answers_vary(operation, &params, &first).await {
            tally.note(format!("{name} was left out because its answers vary"));
            continue;
        }
        tally.expect(same, &name, "the other mode gives a different answer", Some(&second));
        context.record_exchange(Purpose::Valid { operation: name }, &second);
    }
}

async fn capabilities(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let protocol = context.description.protocol().clone();
    let capability = |name: &str| protocol.pointer(&format!("/capabilities/{name}")).and_then(Value::as_bool);
    // The parameters of `introspect` itself are not counted.
    let any = |names: [&str; 2]| {
        context.description.read_operations().any(|operation| names.iter().all(|name| operation.has_parameter(name)))
    };
    let reads_fields = any(["fields", "fields"]);
    let pages = any(["first", "after"]) || any(["limit", "offset"]) || any(["page", "page_size"]);
    let relationships = context.description.read_operations().any(|operation| {
        operation.name == "query_relationships" || operation.raw.get("relationship_capabilities").is_some()
    });
    let facts = [
        ("field_selection", reads_fields),
        ("aggregations", Feature::Aggregates.is_offered(context)),
        ("computed_fields", Feature::Computed.is_offered(context)),
        ("pagination", pages),
        ("relationship_queries", relationships),
    ];
    for (name, documented) in facts {
        let Some(claimed) = capability(name) else { continue };
        tally.count();
        match (claimed, documented) {
            // It may be documented by an operation that the run omitted.
            (true, false) if context.description.left_out > 0 => {
                tally.note(format!("{name} is declared, and no operation that was read documents it"));
            }
            (true, false) => tally.fail(name, "it is declared, but no operation documents it", None),
            (false, true) => tally.fail(name, "operations document it, but it is declared absent", None),
            _ => {}
        }
    }
    if protocol.get("capabilities").is_none() {
        tally.count();
        tally.warn("_protocol.capabilities", "the capabilities are not stated", None);
    }
    let absent: Vec<&str> =
        ALL.iter().filter(|(feature, _)| !feature.is_offered(context)).map(|(_, name)| *name).collect();
    if !absent.is_empty() {
        tally.note(format!("not offered, and therefore not checked: {}", absent.join(", ")));
    }
}
