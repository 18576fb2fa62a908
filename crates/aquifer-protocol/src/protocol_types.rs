//! The types every MCP-AQL server has (R-INT-3).

use std::sync::Arc;

use crate::category::Category;
use crate::schema::{Kind, Parameter, Range, Schema, Shape, Types};

/// The protocol's own types.
pub(crate) fn all() -> Types {
    let boolean = || Schema::of(Kind::Boolean);
    let types = [
        (
            "SemanticCategory",
            Schema::one_of(Category::ALL.map(Category::as_str)).describe("What an operation does to the world."),
        ),
        (
            "OperationInput",
            Schema::object(vec![
                Parameter::required("operation", Schema::string().describe("The operation to perform.")),
                Parameter::optional("params", anything().describe("The operation's parameters.")),
            ])
            .describe("A request."),
        ),
        (
            "OperationResult",
            Schema::of(Kind::Union(vec![Schema::named("OperationSuccess"), Schema::named("OperationFailure")]))
                .describe("The answer to a request."),
        ),
        (
            "OperationSuccess",
            Schema::object(vec![
                Parameter::required("success", boolean().describe("Always true.")),
                Parameter::required("data", Schema::of(Kind::Any).describe("The operation's result.")),
                Parameter::optional("warnings", list(anything()).describe("What went less well, most urgent first.")),
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
                    anything().describe("What went wrong: code, message and, where there is more to say, details."),
                ),
            ])
            .describe("A request was refused or failed."),
        ),
        (
            "EndpointPermissions",
            Schema::object(vec![
                Parameter::required("readOnly", boolean().describe("Changes nothing.")),
                Parameter::required("destructive", boolean().describe("Can overwrite, remove or set off something.")),
            ])
            .describe("What an operation may do."),
        ),
        (
            "FieldSelection",
            Schema::of(Kind::Union(vec![Schema::string(), list(Schema::string())]))
                .describe("A preset (minimal, standard, full) or a list of field paths."),
        ),
        (
            "PageInfo",
            Schema::object(vec![
                Parameter::required("hasNextPage", boolean()),
                Parameter::required("hasPreviousPage", boolean()),
                Parameter::optional("startCursor", Schema::string()),
                Parameter::optional("endCursor", Schema::string()),
                Parameter::optional(
                    "totalCount",
                    Schema { range: Range { minimum: Some(0.0), ..Range::default() }, ..Schema::of(Kind::Integer) },
                ),
            ])
            .describe("Where a page stands in its collection."),
        ),
    ];
    types.into_iter().map(|(name, schema)| (name.into(), Arc::new(schema))).collect()
}

fn anything() -> Schema {
    Schema::of(Kind::Object(Shape::default()))
}

fn list(items: Schema) -> Schema {
    Schema::of(Kind::Array(Some(Box::new(items))))
}
