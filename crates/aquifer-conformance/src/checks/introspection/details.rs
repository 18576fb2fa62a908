//! Checks of the details of operations, and of their tools.

use serde_json::{Map, Value};

use crate::checks::Check;
use crate::checks::feature::Feature;
use crate::context::{CheckContext, example_params};
use crate::description::Operation;
use crate::published::introspection::OPERATION_DETAILS;
use crate::published::{Shape, differences};
use crate::report::Category::IntrospectionFidelity;
use crate::report::Tally;

pub(crate) const CHECKS: &[Check] = &[
    Check::new(
        "details.shape",
        "Operation details have the published members",
        IntrospectionFidelity,
        "operations",
        "no operation in the list has a name",
        |context, tally| Box::pin(shape(context, tally)),
    ),
    Check::new(
        "details.agreement",
        "Details agree with the list",
        IntrospectionFidelity,
        "operations",
        "no operation has details",
        |context, tally| Box::pin(agreement(context, tally)),
    )
    .depends_on(&["introspection.operations"]),
    Check::new(
        "details.permissions",
        "Permissions agree with the category",
        IntrospectionFidelity,
        "operations",
        "no operation has details",
        |context, tally| Box::pin(permissions(context, tally)),
    )
    .depends_on(&["details.shape"]),
    Check::new(
        "details.tools",
        "Every operation's tool exists",
        IntrospectionFidelity,
        "operations",
        "no operation has details",
        |context, tally| Box::pin(tools(context, tally)),
    ),
    Check::new(
        "details.tool_schemas",
        "Tool schemas accept operations and parameters",
        IntrospectionFidelity,
        "tools",
        "no tool takes operations",
        |context, tally| Box::pin(tool_schemas(context, tally)),
    ),
    Check::new(
        "details.examples",
        "Documented examples work",
        IntrospectionFidelity,
        "examples",
        "there are no examples",
        |context, tally| Box::pin(examples(context, tally)),
    )
    .for_feature(Feature::Examples)
    .depends_on(&["details.shape"]),
];

/// Runs after the checks of dry runs.
pub(crate) const EXAMPLE_CHECKS: &[Check] = &[Check::new(
    "examples.dry_run",
    "Documented examples of writes work as dry runs",
    IntrospectionFidelity,
    "examples",
    "no operation with a dry run has examples",
    |context, tally| Box::pin(write_examples(context, tally)),
)
.for_feature(Feature::RehearsedExamples)
.depends_on(&["details.examples", "details.shape"])
.writes()];

async fn shape(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let description = context.description.clone();
    if description.left_out > 0 {
        tally.note(format!("{} operations beyond the limit of a run were left out", description.left_out));
    }
    for (name, reply) in &description.operation_replies {
        tally.count();
        let Some(details) = reply.data().get("operation").filter(|details| details.is_object()) else {
            tally.fail(name, "it is listed, but has no details", Some(reply));
            continue;
        };
        let mut problems = differences(details, &Shape::Object(&OPERATION_DETAILS));
        if let Some(beside) = reply.data().as_object().and_then(|data| data.keys().find(|key| *key != "operation")) {
            problems.push(format!("'data.{beside}' is not a published member"));
        }
        for problem in problems {
            tally.fail(name, problem, Some(reply));
        }
    }
}

async fn agreement(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let description = context.description.clone();
    for (name, reply) in &description.operation_replies {
        let listed =
            description.operations_list.iter().find(|item| item.get("name").is_some_and(|own| own == name.as_str()));
        let (Some(listed), Some(details)) =
            (listed, reply.data().get("operation").filter(|details| details.is_object()))
        else {
            continue;
        };
        tally.count();
        for key in ["name", "semantic_category", "endpoint"] {
            if listed.get(key) != details.get(key) {
                tally.fail(
                    name,
                    format!(
                        "'{key}' is {} in the list and {} in the details",
                        shown(listed.get(key)),
                        shown(details.get(key))
                    ),
                    Some(reply),
                );
            }
        }
    }
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "missing".to_owned(), Value::to_string)
}

async fn permissions(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let description = context.description.clone();
    for operation in description.operations.iter().chain(&description.without_tool) {
        let permissions = operation.raw.get("permissions");
        let flag = |name: &str| permissions.and_then(|permissions| permissions.get(name)).and_then(Value::as_bool);
        let (Some(read_only), Some(destructive)) = (flag("readOnly"), flag("destructive")) else { continue };
        tally.count();
        let problem = match (operation.category.as_str(), read_only, destructive) {
            ("READ", false, _) => "a READ operation is not readOnly",
            ("READ" | "CREATE", _, true) => "an operation that only reads or adds is destructive",
            ("CREATE" | "UPDATE" | "DELETE" | "EXECUTE", true, _) => "an operation that changes something is readOnly",
            ("DELETE", _, false) => "a DELETE operation is not destructive",
            _ => continue,
        };
        tally.fail(&operation.name, problem, None);
    }
}

async fn tools(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let description = context.description.clone();
    tally.examined = description.operations.len() + description.without_tool.len();
    for operation in &description.without_tool {
        let problem = format!("its tool '{}' is not among the tools that take operations", operation.tool);
        tally.fail(&operation.name, problem, None);
    }
}

async fn tool_schemas(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let names = context.client.aql_tools();
    let tools = context.client.tools.clone();
    for tool in &tools {
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        if !names.iter().any(|own| own == name) {
            continue;
        }
        tally.count();
        let schema = tool.get("inputSchema").cloned().unwrap_or_default();
        let property = |key: &str| schema.pointer(&format!("/properties/{key}"));
        if property("operation").and_then(|operation| operation.get("type")).is_some_and(|kind| kind != "string") {
            tally.fail(name, "'operation' is not declared as a string", None);
        }
        if property("params").is_none() && schema.get("additionalProperties") == Some(&Value::Bool(false)) {
            tally.fail(name, "a strict client cannot send 'params'", None);
        }
        let closed = |schema: &Value| schema.get("additionalProperties") == Some(&Value::Bool(false));
        if property("params").is_some_and(|params| closed(params) && params.get("properties").is_none()) {
            tally.fail(name, "a strict client cannot send any parameter", None);
        }
        let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        if let Some(other) = required.iter().find(|required| *required != "operation") {
            tally.fail(name, format!("{other} is required in every request"), None);
        }
    }
}

/// Sends the examples that read, and compares those that write with the description.
async fn examples(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let description = context.description.clone();
    for operation in &description.operations {
        for example in operation.examples() {
            tally.count();
            let params = match described_params(operation, example) {
                Ok(params) => params,
                Err(problem) => {
                    tally.fail(&operation.name, problem, None);
                    continue;
                }
            };
            if operation.is_read() {
                let reply = context.call(operation, params).await;
                if !reply.is_success() {
                    tally.fail(&operation.name, "its own example fails", Some(&reply));
                }
            }
        }
    }
}

/// Sends the examples that write as dry runs, if dry runs were seen to change nothing.
async fn write_examples(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let description = context.description.clone();
    for operation in description.write_operations().filter(|operation| operation.has_parameter("dry_run")) {
        for example in operation.examples() {
            let Ok(mut params) = described_params(operation, example) else { continue };
            tally.count();
            if !context.dry_runs_change_nothing {
                tally.note("examples were not sent, because dry runs were not seen to change nothing");
                continue;
            }
            params.insert("dry_run".to_owned(), Value::Bool(true));
            let (reply, is_asked) = context.call_unconfirmed(operation, params).await;
            // What has to be confirmed was understood. The row may be one that this run did not create.
            if !reply.is_success() && !is_asked && reply.code() != "CONFIRMATION_REQUIRED" {
                tally.fail(&operation.name, "a dry run of its own example fails", Some(&reply));
            }
        }
    }
}

/// The parameters of an example, or how it contradicts the description.
fn described_params(operation: &Operation, example: &Value) -> Result<Map<String, Value>, String> {
    let request = example.get("request").unwrap_or(example);
    if !request.is_object() {
        return Err("an example is not an object with a 'request'".to_owned());
    }
    let named = request.get("operation").and_then(Value::as_str);
    if named.is_some_and(|named| named != operation.name) {
        return Err("an example calls another operation".to_owned());
    }
    let params = example_params(example).cloned().unwrap_or_default();
    if let Some(missing) = operation.required_parameters().find(|parameter| !params.contains_key(&parameter.name)) {
        return Err(format!("an example lacks the required '{}'", missing.name));
    }
    match params.keys().find(|name| !operation.has_parameter(name)) {
        Some(unknown) => Err(format!("an example has '{unknown}', which is not described")),
        None => Ok(params),
    }
}
