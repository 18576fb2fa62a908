//! The types that every MCP-AQL server has (R-INT-3).

use std::sync::Arc;

use crate::category::Category;
use crate::schema::{Kind, Parameter, Range, Schema, Shape, Types};

/// The protocol's own types.
pub(crate) fn all() -> Types {
    let boolean = || Schema::new(Kind::Boolean);
    let types = [
        (
            "SemanticCategory",
            Schema::one_of(Category::ALL.map(Category::as_str)).describe("What an operation does to data."),
        ),
        (
            "OperationInput",
            Schema::object(vec![
                Parameter::required("operation", Schema::string().describe("The operation to perform.")),
                Parameter::optional(
                    "params",
                    anything().describe(
                        "The operation's parameters. In a batch, {\"$from\": \"0.data.items.*.id\"} takes values from the \
                         first answer.",
                    ),
                ),
            ])
            .describe("A request. A batch is {operations: [request, …]}."),
        ),
        (
            "OperationResult",
            Schema::new(Kind::Union(vec![Schema::named("OperationSuccess"), Schema::named("OperationFailure")]))
                .describe("The answer to a request."),
        ),
        (
            "OperationSuccess",
            Schema::object(vec![
                Parameter::required("success", boolean().describe("Always true.")),
                Parameter::required("data", Schema::new(Kind::Any).describe("The operation's result.")),
                Parameter::optional("warnings", list(anything()).describe("Warnings, most urgent first.")),
                Parameter::optional("_meta", anything().describe("Request id and duration, where configured.")),
            ])
            .describe("A request was answered."),
        ),
        (
            "OperationFailure",
            Schema::object(vec![
                Parameter::required("success", boolean().describe("Always false.")),
                Parameter::required(
                    "error",
                    anything().describe("The error: code, message and, if available, details."),
                ),
            ])
            .describe("A request was refused or failed."),
        ),
        (
            "EndpointPermissions",
            Schema::object(vec![
                Parameter::required("readOnly", boolean().describe("Changes nothing.")),
                Parameter::required("destructive", boolean().describe("Can overwrite, remove or trigger something.")),
            ])
            .describe("What an operation may do."),
        ),
        (
            "FieldSelection",
            Schema::new(Kind::Union(vec![Schema::named(FIELD_PRESET), list(Schema::string())]))
                .describe("A preset, or a list of field paths."),
        ),
        (
            FIELD_PRESET,
            Schema::one_of(FIELD_PRESETS).describe("The key and a title, what is usually needed, or everything."),
        ),
        (
            "PageInfo",
            Schema::object(vec![
                Parameter::required("hasNextPage", boolean().describe("More items follow.")),
                Parameter::required("hasPreviousPage", boolean().describe("There are items before.")),
                Parameter::optional("startCursor", Schema::string().describe("Of the first item, for 'before'.")),
                Parameter::optional("endCursor", Schema::string().describe("Of the last item, for 'after'.")),
                Parameter::optional(
                    "totalCount",
                    Schema { range: Range { minimum: Some(0.0), ..Range::default() }, ..Schema::new(Kind::Integer) }
                        .describe("All matching items, with 'total'."),
                ),
            ])
            .describe("The position of a page in its collection."),
        ),
    ];
    types.into_iter().chain(results()).map(|(name, schema)| (name.into(), Arc::new(schema))).collect()
}

/// Types of results that sources do not describe in more detail.
fn results() -> [(&'static str, Schema); 4] {
    let object = |words: &str| anything().describe(words);
    let any_kind =
        [Kind::Object(Shape::default()), Kind::Array(None), Kind::String, Kind::Number, Kind::Boolean, Kind::Null];
    [
        (
            JSON_VALUE,
            Schema::new(Kind::Union(any_kind.map(Schema::new).into()))
                .describe("Any JSON value: its shape is not declared."),
        ),
        (JSON_OBJECT, object("An object whose fields are not declared.")),
        (
            RESULT_PAGE,
            Schema::object(vec![
                Parameter::optional("items", list(anything()).describe("The items; omitted with 'aggregate' alone.")),
                Parameter::optional(
                    "edges",
                    list(anything()).describe("{node, cursor} instead of items, with 'edges'."),
                ),
                Parameter::optional(
                    "columns",
                    list(Schema::string()).describe("The names of the cells, with 'shape': 'table'."),
                ),
                Parameter::optional("rows", list(list(Schema::new(Kind::Any))).describe("The items, with 'columns'.")),
                Parameter::optional("pageInfo", Schema::named("PageInfo").describe("Where the page is.")),
                Parameter::optional("pagination", object("Instead of 'pageInfo' if pages are counted.")),
                Parameter::optional("groups", object("How many groups are shown, if not all.")),
                Parameter::optional("aggregations", object("The aggregates, by their names in 'aggregate'.")),
            ])
            .describe("A page of a collection, aggregates, or both."),
        ),
        (
            INTROSPECTION_RESULT,
            Schema::object(vec![
                Parameter::optional("_protocol", object("Version, conformance, capabilities and limits.")),
                Parameter::optional("operations", list(anything()).describe("The matching operations.")),
                Parameter::optional("operation", object("One operation; null if the name is unknown.")),
                Parameter::optional(
                    "signatures",
                    list(Schema::string()).describe("One line for each operation, as a typed function."),
                ),
                Parameter::optional("schema", list(Schema::string()).describe("One line for each table.")),
                Parameter::optional("other_tables", list(Schema::string()).describe("Tables without a line.")),
                Parameter::optional("grammar", list(Schema::string()).describe("The query language.")),
                Parameter::optional("hints", list(Schema::string()).describe("Notes for all lines.")),
                Parameter::optional(
                    "more",
                    Schema::new(Kind::Integer).describe("How many lines are left out; 'after' continues."),
                ),
                Parameter::optional("after", Schema::string().describe("The cursor to continue with.")),
                Parameter::optional("types", list(anything()).describe("The types.")),
                Parameter::optional("type", object("One type; null if the name is unknown.")),
                Parameter::optional("summary", object("The overview.")),
                Parameter::optional("limits", object("The limits in force.")),
                Parameter::optional("adapter", Schema::string().describe("The adapter of these limits and quotas.")),
                Parameter::optional("api_limits", object("Rate limits by name, with the remaining calls.")),
                Parameter::optional("quotas", list(anything()).describe("Quotas and their usage.")),
                Parameter::optional("next_reset", anything().describe("When the oldest usage expires.")),
                Parameter::optional("name", Schema::string().describe("The adapter, with 'adapter_info'.")),
                Parameter::optional("version", Schema::string().describe("Its version.")),
                Parameter::optional("trust", object("Its trust level.")),
                Parameter::optional("adapters", list(anything()).describe("Each of several adapters.")),
                Parameter::optional("policy", object("The operations by policy decision.")),
            ])
            .describe("The answer to the query, under its own name."),
        ),
    ]
}

/// The type of the presets that every collection has.
pub const FIELD_PRESET: &str = "FieldPreset";

/// The presets that every collection has.
pub const FIELD_PRESETS: [&str; 3] = ["minimal", "standard", "full"];

/// The type of results whose type is undeclared.
pub const JSON_VALUE: &str = "JsonValue";

/// The type of objects whose fields are undeclared.
pub const JSON_OBJECT: &str = "JsonObject";

/// The type of pages.
pub const RESULT_PAGE: &str = "ResultPage";

/// The type of the answers of `introspect`.
pub(crate) const INTROSPECTION_RESULT: &str = "IntrospectionResult";

const NAMES: &[&str] = &[
    "SemanticCategory",
    "OperationInput",
    "OperationResult",
    "OperationSuccess",
    "OperationFailure",
    "EndpointPermissions",
    "FieldSelection",
    FIELD_PRESET,
    "PageInfo",
    JSON_VALUE,
    JSON_OBJECT,
    RESULT_PAGE,
    INTROSPECTION_RESULT,
];

/// Whether the protocol has a type with this name, so that sources cannot use it.
pub fn is_taken(name: &str) -> bool {
    NAMES.contains(&name)
}

fn anything() -> Schema {
    Schema::new(Kind::Object(Shape::default()))
}

fn list(items: Schema) -> Schema {
    Schema::new(Kind::Array(Some(Box::new(items))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_int_3_every_type_of_the_protocol_is_known_by_its_name() {
        let types = all();
        let names: std::collections::BTreeSet<&str> = types.keys().map(|name| &**name).collect();
        assert_eq!(names, NAMES.iter().copied().collect());
    }
}
