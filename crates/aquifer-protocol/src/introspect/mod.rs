//! Introspection: the operation that every MCP-AQL server has. It is defined like any other, so that the same code
//! validates and describes it (R-INT-1, R-INT-5).

mod answer;
mod extensions;
mod page;
pub mod signature;

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::category::Category;
use crate::error::Failure;
use crate::operation::{Example, Operation, Returns};
use crate::protocol_types::INTROSPECTION_RESULT;
use crate::schema::{Kind, Parameter, Schema, Span};
use crate::surface::Surface;

pub use crate::catalog::class::NAME;
pub use crate::catalog::class::OperationClass;
pub use answer::Answers;
pub use answer::Facts;
pub(crate) use answer::operation_details;
pub use answer::type_details;
pub use page::Cursor;
pub use page::Page;

/// Maximum number of operations on a page.
pub const MAX_PAGE_SIZE: usize = 500;

/// Maximum number of names in one request.
const MAX_NAMES: u64 = 100;

/// A parsed introspection query.
#[derive(Debug, Clone, PartialEq)]
pub enum Query {
    /// The operations that match a filter.
    Operations(Narrowing),
    /// One operation.
    Operation(String, Detail),
    /// The named types.
    Types,
    /// One type.
    Type(String),
    /// The summary.
    Summary,
    /// The limits in force.
    Limits,
    /// Quotas and their usage, of all sources or of one.
    Quota(Option<String>),
    /// Name, version and trust level of all sources or of one.
    AdapterInfo(Option<String>),
    /// The decisions of policy.
    Policy,
    /// The signatures of operations.
    Signatures(SignatureSelection),
    /// The tables of databases.
    Schema(SchemaSelection),
}

/// Selects tables.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SchemaSelection {
    /// Exactly these tables, without abbreviation.
    pub names: Vec<String>,
    /// Tables ranked by these words.
    pub search: Option<String>,
    /// Tables of this source.
    pub source: Option<String>,
}

/// Selects signatures.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SignatureSelection {
    /// Exactly these operations, with all parameters.
    pub names: Vec<String>,
    /// Operations of this endpoint family or category.
    pub family: Option<String>,
    /// Further filters.
    pub narrowing: Narrowing,
}

/// Filters and pages a list of operations.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct Narrowing {
    /// Operations ranked by these words.
    pub search: Option<String>,
    /// Operations of this category.
    pub category: Option<String>,
    /// Operations of this endpoint family.
    pub endpoint: Option<String>,
    /// Operations of this source.
    pub source: Option<String>,
    /// The level of detail.
    pub detail: Detail,
    /// The maximum number of operations.
    pub first: Option<usize>,
    /// The cursor after which the list continues.
    pub after: Option<String>,
}

/// The level of detail at which an operation is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Detail {
    /// Name and description and, for a single operation, parameters.
    Minimal,
    /// The fields that the specification publishes.
    #[default]
    Standard,
    /// All fields.
    Full,
}

impl Narrowing {
    /// Whether nothing is filtered out.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The values of the parameter `query`. [`SCHEMA`] is one of them only if there are tables.
const QUERIES: [&str; 10] = [
    "operations",
    "signatures",
    SCHEMA,
    "types",
    "summary",
    "limits",
    "quota",
    "quota_status",
    "adapter_info",
    "policy",
];

/// The value that asks for the tables of databases.
const SCHEMA: &str = "schema";

/// The definition of `introspect` in a catalog with these operations and sources.
pub(crate) fn definition(operations: &[Arc<Operation>], sources: &[Arc<str>], surface: &Surface) -> Operation {
    let mut endpoints: Vec<&str> = operations.iter().map(|op| surface.family_of(op)).collect();
    let mut operation = Operation::new(NAME, Category::Read, "Discover operations, their parameters and types.");
    endpoints.push(surface.family_of(&operation));
    endpoints.sort_unstable();
    endpoints.dedup();
    let has_tables = operations.iter().any(|operation| operation.has_tables());
    let queries = QUERIES.into_iter().filter(|query| *query != SCHEMA || has_tables);
    operation.parameters = vec![
        Parameter::required("query", Schema::one_of(queries).describe("The subject of the query.")),
        Parameter::optional("name", Schema::string().describe("One operation or type, with all its details.")),
        Parameter::optional(
            "search",
            Schema::string().describe("The task in plain words; operations are ranked by it."),
        ),
        Parameter::optional(
            "category",
            Schema::one_of(Category::ALL.map(Category::as_str)).describe("Only operations of this category."),
        ),
    ];
    let families = endpoints.iter().copied().chain(Category::ALL.map(Category::as_str));
    let families = Schema::one_of(families).describe("Only signatures of this endpoint family or category.");
    let names = Schema {
        items: Span { min: Some(1), max: Some(MAX_NAMES) },
        ..Schema::new(Kind::Array(Some(Box::new(Schema::string()))))
    };
    operation.parameters.extend([
        Parameter::optional("endpoint", Schema::one_of(endpoints).describe("Only operations of this endpoint family.")),
        Parameter::optional("family", families),
        Parameter::optional("names", names.describe("Exactly these operations or tables, in full.")),
    ]);
    if sources.len() > 1 {
        let sources = Schema::one_of(sources.iter().map(|source| &**source));
        operation.parameters.push(Parameter::optional("source", sources.describe("Only operations of this source.")));
    }
    #[expect(clippy::cast_precision_loss, reason = "a small constant")]
    let first = Schema::integer(1.0, MAX_PAGE_SIZE as f64);
    operation.parameters.extend([
        Parameter::optional(
            "fields",
            Schema::one_of(["minimal", "standard", "full"]).describe(
                "The level of detail: minimal costs fewest tokens, full adds danger, source and a JSON Schema.",
            ),
        ),
        Parameter::optional("first", first.describe("How many operations to list.")),
        Parameter::optional("after", Schema::string().describe("Continue after this cursor, from '_protocol.page'.")),
    ]);
    operation.returns =
        Returns { type_name: INTROSPECTION_RESULT.into(), description: "Operations, types or one of them.".into() };
    operation.examples = [
        (
            "Find operations for a task, ready to be called",
            json!({ "query": "signatures", "search": "words of the task" }),
        ),
        ("The parameters of one operation", json!({ "query": "operations", "name": "introspect" })),
        ("List the types", json!({ "query": "types" })),
    ]
    .into_iter()
    .map(|(description, params)| Example {
        description: Some(description.into()),
        params: params.as_object().cloned().unwrap_or_default(),
    })
    .collect();
    operation
}

impl Query {
    /// Parses validated parameters. Fails only for invalid combinations.
    pub fn from_params(params: &Map<String, Value>) -> Result<Self, Failure> {
        let text = |name: &str| params.get(name).and_then(Value::as_str).map(str::to_owned);
        let detail = match params.get("fields").and_then(Value::as_str) {
            Some("minimal") => Detail::Minimal,
            Some("full") => Detail::Full,
            _ => Detail::Standard,
        };
        let narrowing = Narrowing {
            // An empty search does not filter.
            search: text("search").filter(|words| !words.trim().is_empty()),
            category: text("category"),
            endpoint: text("endpoint"),
            source: text("source"),
            detail,
            first: params.get("first").and_then(Value::as_u64).and_then(|first| usize::try_from(first).ok()),
            after: text("after"),
        };
        let query = text("query").unwrap_or_default();
        let accepted: &[&str] = match query.as_str() {
            "quota" | "quota_status" | "adapter_info" => &["query", "name", "source"],
            "signatures" => &["query", "name", "names", "search", "source", "family", "first", "after"],
            "schema" => &["query", "name", "names", "search", "source"],
            _ => &["query", "name"],
        };
        let owner = |name: &str| if matches!(name, "names" | "family") { "signatures" } else { "operations" };
        if query == "operations"
            && let Some(name) = params.keys().find(|name| owner(name) != query)
        {
            return Err(Failure::invalid_value(name, "belongs to query 'signatures', not to 'operations'"));
        }
        if query != "operations"
            && let Some(name) = extra(params, accepted)
        {
            return Err(Failure::invalid_value(name, format!("belongs to query '{}', not to '{query}'", owner(name))));
        }
        if matches!(query.as_str(), "signatures" | "schema") {
            let selection = SignatureSelection::from_params(params, narrowing)?;
            if query == "signatures" {
                return Ok(Query::Signatures(selection));
            }
            let SignatureSelection { names, narrowing: Narrowing { search, source, .. }, .. } = selection;
            return Ok(Query::Schema(SchemaSelection { names, search, source }));
        }
        match (query.as_str(), text("name")) {
            ("operations", Some(_)) if let Some(other) = extra(params, &["query", "name", "fields"]) => {
                Err(Failure::invalid_value(other, "narrows a list and cannot be combined with 'name'"))
            }
            ("operations", Some(name)) => Ok(Query::Operation(name, detail)),
            ("operations", None) => Ok(Query::Operations(narrowing)),
            ("types", Some(name)) => Ok(Query::Type(name)),
            ("types", None) => Ok(Query::Types),
            (_, Some(_)) => Err(Failure::invalid_value(
                "name",
                format!("belongs to query 'operations' or 'types', not to '{query}'"),
            )),
            ("summary", None) => Ok(Query::Summary),
            ("quota" | "quota_status", None) => Ok(Query::Quota(narrowing.source)),
            ("adapter_info", None) => Ok(Query::AdapterInfo(narrowing.source)),
            ("policy", None) => Ok(Query::Policy),
            (_, None) => Ok(Query::Limits),
        }
    }
}

impl SignatureSelection {
    fn from_params(params: &Map<String, Value>, narrowing: Narrowing) -> Result<Self, Failure> {
        let listed = params.get("names").and_then(Value::as_array).into_iter().flatten();
        let names = listed.chain(params.get("name")).filter_map(Value::as_str).map(str::to_owned);
        let mut selection = Self {
            family: params.get("family").and_then(Value::as_str).map(str::to_owned),
            narrowing,
            ..Self::default()
        };
        for name in names {
            if !selection.names.contains(&name) {
                selection.names.push(name);
            }
        }
        match extra(params, &["query", "name", "names", "first", "after"]) {
            Some(other) if !selection.names.is_empty() => {
                Err(Failure::invalid_value(other, "narrows a list and cannot stand beside 'names'"))
            }
            _ => Ok(selection),
        }
    }
}

/// The first parameter that is not among the accepted ones.
fn extra<'a>(params: &'a Map<String, Value>, accepted: &[&str]) -> Option<&'a str> {
    params.keys().map(String::as_str).find(|name| !accepted.contains(name))
}
