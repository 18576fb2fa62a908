//! The answers of `introspect`, restated from what the specification publishes about them.

use serde_json::Value;

use super::shape::{ObjectShape, SNAKE_CASE, Shape, VERSION, closed, open, optional, required};

/// The semantic categories.
const CATEGORIES: &[&str] = &["CREATE", "READ", "UPDATE", "DELETE", "EXECUTE"];

/// The kinds of types.
const KINDS: &[&str] = &["enum", "object", "scalar", "union"];

/// A parameter, or a field of a type.
static PARAMETER: ObjectShape = closed(&[
    required("name", Shape::Word),
    required("type", Shape::Word),
    required("required", Shape::Flag),
    optional("description", Shape::Text),
    optional("default", Shape::Any),
    optional("enum", Shape::AnyList),
    optional("minimum", Shape::Number(None)),
    optional("maximum", Shape::Number(None)),
    optional("minLength", Shape::Integer(0)),
    optional("maxLength", Shape::Integer(0)),
    optional("pattern", Shape::Text),
    optional("format", Shape::Text),
    optional("items", Shape::AnyObject),
    optional("sensitive", Shape::Flag),
]);

/// An operation in a list.
pub(crate) static OPERATION: ObjectShape = closed(&[
    required("name", Shape::Word),
    required("semantic_category", Shape::OneOf(CATEGORIES)),
    required("endpoint", Shape::Word),
    required("description", Shape::Word),
]);

/// A type in a list, or the result of an operation.
pub(crate) static TYPE: ObjectShape = closed(&[
    required("name", Shape::Word),
    required("kind", Shape::OneOf(KINDS)),
    optional("description", Shape::Text),
]);

static PERMISSIONS: ObjectShape = closed(&[required("readOnly", Shape::Flag), required("destructive", Shape::Flag)]);

static EXAMPLE: ObjectShape = closed(&[optional("description", Shape::Text), required("request", Shape::AnyObject)]);

static COMPUTED_FIELD: ObjectShape = closed(&[
    required("name", Shape::Pattern(&SNAKE_CASE)),
    required("type", Shape::Word),
    optional("description", Shape::Text),
    optional("filterable", Shape::Flag),
    optional("sortable", Shape::Flag),
]);

static AGGREGATION_SUPPORT: ObjectShape = closed(&[
    required("supported", Shape::Flag),
    optional("default_mode", Shape::OneOf(&["summary_only", "include_items"])),
    optional("functions", Shape::List(&Shape::OneOf(&["count", "group_by", "sum", "avg", "min", "max"]))),
    optional("groupable_fields", Shape::List(&Shape::Text)),
    optional("numeric_fields", Shape::List(&Shape::Text)),
]);

static RELATIONSHIP_CAPABILITIES: ObjectShape = closed(&[
    required("supported", Shape::Flag),
    optional("directions", Shape::List(&Shape::OneOf(&["incoming", "outgoing", "both"]))),
    optional("relationship_types", Shape::List(&Shape::Text)),
    optional("max_depth", Shape::Integer(1)),
]);

static LIFECYCLE: ObjectShape = closed(&[
    required("states", Shape::List(&Shape::Text)),
    optional("supports_cancel", Shape::Flag),
    optional("supports_retry", Shape::Flag),
    optional("progress_reporting", Shape::Flag),
]);

/// The details of an operation.
pub(crate) static OPERATION_DETAILS: ObjectShape = closed(&[
    required("name", Shape::Word),
    required("semantic_category", Shape::OneOf(CATEGORIES)),
    required("endpoint", Shape::Word),
    required("mcpTool", Shape::Word),
    required("description", Shape::Word),
    required("permissions", Shape::Object(&PERMISSIONS)),
    required("parameters", Shape::List(&Shape::Object(&PARAMETER))),
    required("returns", Shape::Object(&TYPE)),
    optional("examples", Shape::List(&Shape::Object(&EXAMPLE))),
    optional("computed_fields", Shape::List(&Shape::Object(&COMPUTED_FIELD))),
    optional("aggregation_support", Shape::Object(&AGGREGATION_SUPPORT)),
    optional("relationship_capabilities", Shape::Object(&RELATIONSHIP_CAPABILITIES)),
    optional("lifecycle", Shape::Object(&LIFECYCLE)),
]);

static ENUM_TYPE: ObjectShape = closed(&[
    required("name", Shape::Word),
    required("kind", Shape::Word),
    optional("description", Shape::Text),
    required("values", Shape::List(&Shape::Text)),
]);

static OBJECT_TYPE: ObjectShape = closed(&[
    required("name", Shape::Word),
    required("kind", Shape::Word),
    optional("description", Shape::Text),
    required("fields", Shape::List(&Shape::Object(&PARAMETER))),
]);

static UNION_TYPE: ObjectShape = closed(&[
    required("name", Shape::Word),
    required("kind", Shape::Word),
    optional("description", Shape::Text),
    required("members", Shape::List(&Shape::Text)),
]);

static SCALAR_TYPE: ObjectShape =
    closed(&[required("name", Shape::Word), required("kind", Shape::Word), optional("description", Shape::Text)]);

/// The details of a type.
pub(crate) static TYPE_DETAILS: Shape = Shape::Tagged {
    tag: "kind",
    variants: &[("enum", &ENUM_TYPE), ("object", &OBJECT_TYPE), ("union", &UNION_TYPE), ("scalar", &SCALAR_TYPE)],
};

static CAPABILITIES: ObjectShape = open(&[
    optional("batch", Shape::Flag),
    optional("field_selection", Shape::Flag),
    optional("aggregations", Shape::Flag),
    optional("computed_fields", Shape::Flag),
    optional("pagination", Shape::Flag),
    optional("relationship_queries", Shape::Flag),
    optional("warnings", Shape::Flag),
    optional("confirmation", Shape::Flag),
    optional("dangerous_operations", Shape::Flag),
]);

/// `_protocol`.
pub(crate) static PROTOCOL: ObjectShape = open(&[
    required("version", Shape::Pattern(&VERSION)),
    optional("conformance", Shape::OneOf(&["level-1", "level-2"])),
    optional("mode", Shape::OneOf(&["semantic", "single", "all"])),
    optional("capabilities", Shape::Object(&CAPABILITIES)),
]);

/// The data of a list of operations.
pub(super) static OPERATIONS_DATA: ObjectShape = closed(&[
    optional("_protocol", Shape::Object(&PROTOCOL)),
    required("operations", Shape::List(&Shape::Object(&OPERATION))),
]);

/// The data of the details of an operation.
pub(super) static OPERATION_DATA: ObjectShape =
    closed(&[required("operation", Shape::Nullable(&Shape::Object(&OPERATION_DETAILS)))]);

/// The data of a list of types.
pub(super) static TYPES_DATA: ObjectShape = closed(&[required("types", Shape::List(&Shape::Object(&TYPE)))]);

/// The data of the details of a type.
pub(super) static TYPE_DATA: ObjectShape = closed(&[required("type", Shape::Nullable(&TYPE_DETAILS))]);

static OPERATIONS_LIST: Shape = Shape::Object(&closed(&[
    required("success", Shape::Constant(true)),
    required("data", Shape::Object(&OPERATIONS_DATA)),
]));
static OPERATION_ANSWER: Shape = Shape::Object(&closed(&[
    required("success", Shape::Constant(true)),
    required("data", Shape::Object(&OPERATION_DATA)),
]));
static TYPES_LIST: Shape =
    Shape::Object(&closed(&[required("success", Shape::Constant(true)), required("data", Shape::Object(&TYPES_DATA))]));
static TYPE_ANSWER: Shape =
    Shape::Object(&closed(&[required("success", Shape::Constant(true)), required("data", Shape::Object(&TYPE_DATA))]));

/// What a failed introspection says.
pub(super) static ERROR: ObjectShape = closed(&[required("code", Shape::Text), required("message", Shape::Text)]);

/// A failed introspection.
pub(super) static FAILURE: Shape =
    Shape::Object(&closed(&[required("success", Shape::Constant(false)), required("error", Shape::Object(&ERROR))]));

/// The shape of a success, chosen by the member of `data` that says what was asked for.
pub(super) fn success_for(answer: &Value) -> &'static Shape {
    let has = |name: &str| answer.get("data").is_some_and(|data| data.get(name).is_some());
    if has("operation") {
        &OPERATION_ANSWER
    } else if has("types") {
        &TYPES_LIST
    } else if has("type") {
        &TYPE_ANSWER
    } else {
        &OPERATIONS_LIST
    }
}
