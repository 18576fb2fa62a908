//! The definition of an operation: the single source for dispatch, validation, introspection and tool descriptions.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};

use super::class::{self, OperationClass};
use crate::category::Category;
use crate::danger::Danger;
use crate::protocol_types::{JSON_OBJECT, JSON_VALUE, RESULT_PAGE};
use crate::published::{AggregateFunction, AggregationMode, Direction};
use crate::requirement::Requirement;
use crate::schema::{Deprecation, Parameter, Rest, Schema, Shape, Types, json_schema};
use crate::trust::Trust;

/// Names that only the protocol may use (R-END-5a).
pub const RESERVED: &[&str] = &[
    class::NAME,
    "execute_agent",
    "record_execution_step",
    "complete_execution",
    "abort_execution",
    "confirm_operation",
    "verify_challenge",
];

/// The parameter that carries a confirmation token.
pub const TOKEN: &str = "confirmation_token";

/// Maximum length of generated names of tools, tables and prefixes, because every mention costs tokens.
pub const MAX_NAME_LEN: usize = 48;

/// Maximum length of a name that an operator chooses. The specification sets no limit.
pub const MAX_CHOSEN_NAME: usize = 256;

/// The complete definition of an operation.
#[derive(Debug, Clone)]
pub struct Operation {
    /// Its name, unique in a catalog.
    pub name: Arc<str>,
    /// What it does to data.
    pub category: Category,
    /// Its purpose beyond its category.
    pub role: Role,
    /// What it does.
    pub description: Arc<str>,
    /// The parameters it accepts.
    pub parameters: Vec<Parameter>,
    /// What a request must contain beyond the required parameters: one of several, for example.
    pub requirements: Vec<Requirement>,
    /// What it returns.
    pub returns: Returns,
    /// Example requests.
    pub examples: Vec<Example>,
    /// How much harm it can do.
    pub danger: Danger,
    /// The evidence for its danger level, in a few words for operators: "the server declares it destructive". `None` if
    /// the level follows from the category.
    pub danger_evidence: Option<Arc<str>>,
    /// How its source wants it to be confirmed.
    pub safeguards: Safeguards,
    /// Whether its source declares that repeating a call has no further effect.
    pub is_idempotent: bool,
    /// Whether `confirmation_token` is the protocol's parameter, which is never passed to the source.
    pub takes_token: bool,
    /// The source that executes it.
    pub source: Arc<str>,
    /// Its name within the source, without the prefix that distinguishes several sources.
    pub own_name: Arc<str>,
    /// The source's generic operation that can be requested instead: `update_record` for `update_order`.
    pub generic_name: Option<Arc<str>>,
    /// The tool or table behind it, as the source spells it.
    pub backing: Backing,
    /// The database or server that executes it, without secrets. Shown to operators, not to callers.
    pub place: Arc<str>,
    /// The trust level of its source.
    pub trust: Trust,
    /// Whether its parameters follow our conventions instead of an upstream's.
    pub native: bool,
    /// Whether its source accepts undeclared parameters.
    pub open: bool,
    /// The states of the execution that it starts, if it starts one.
    pub lifecycle: Option<Lifecycle>,
    /// Values that can be computed for each row on request.
    pub computed_fields: Vec<ComputedField>,
    /// The aggregates it can compute.
    pub aggregation_support: Option<AggregationSupport>,
    /// Relationships it can follow.
    pub relationship_capabilities: Option<RelationshipCapabilities>,
    /// How we shape its results, if its source does not (R-DIS-8).
    pub shaping: Option<Shaping>,
    /// Whether its source has to resolve a request before policy can decide: the parameters name the table, possibly by
    /// an alias.
    pub is_indirect: bool,
    /// Operations of its source, by their own names, that a request may need in addition, because it reads or changes
    /// the same data. If policy restricts one of them, the source determines which of them a request needs.
    pub may_need: Vec<Arc<str>>,
    /// The operation of its source, by its own name, whose request its source sends before its own: it reads what is
    /// replaced. That request counts against limits as well.
    pub reads_first: Option<Arc<str>>,
    /// Further operations that a request may need, shared by many operations: those that read what its reference paths
    /// lead to.
    pub may_reach: Arc<[Arc<str>]>,
    /// Whether its source guarantees that `dry_run: true` changes nothing.
    pub has_safe_dry_run: bool,
    /// Whether its success or failure says something about values that callers cannot see, so that tries are recorded
    /// and limited: a constraint compares them with values that callers choose.
    pub tests_hidden: bool,
    /// Why it is listed but cannot be called: its definition has changed, and no operator has accepted the change
    /// (R-DIS-7a).
    pub quarantine: Option<Arc<str>>,
    /// Set if it should no longer be used. Calls of it succeed with a warning.
    pub deprecated: Option<Deprecation>,
    /// Whether it existed before the newest definitions arrived. New operations never take its name.
    pub is_established: bool,
    /// When it was first seen, in milliseconds since the epoch, if that is recorded. If two operations have the same
    /// name, the older one keeps it, in whatever order sources start.
    pub established_at: Option<u64>,
}

/// The tool or table behind an operation. Together with the name of the source, it identifies the operation even after
/// it is renamed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Backing {
    /// Neither a tool nor a table.
    #[default]
    None,
    /// A tool of an upstream server, by the server's own name.
    Tool(Arc<str>),
    /// A table or view, by the database's own name.
    Table(Arc<str>),
    /// A table or view of a database that has schemas.
    TableInSchema {
        /// The schema's name.
        schema: Arc<str>,
        /// The table's name.
        table: Arc<str>,
    },
}

impl Backing {
    /// The tool's name.
    pub fn tool(&self) -> Option<&str> {
        match self {
            Backing::Tool(name) => Some(name),
            Backing::None | Backing::Table(_) | Backing::TableInSchema { .. } => None,
        }
    }

    /// The table's name.
    pub fn table(&self) -> Option<&str> {
        match self {
            Backing::Table(name) | Backing::TableInSchema { table: name, .. } => Some(name),
            Backing::None | Backing::Tool(_) => None,
        }
    }

    /// The table's name with its schema, `sales.orders`, where there is one.
    pub fn table_with_schema(&self) -> Option<String> {
        match self {
            Backing::TableInSchema { schema, table } => Some(format!("{schema}.{table}")),
            Backing::None | Backing::Tool(_) | Backing::Table(_) => None,
        }
    }
}

/// How a source wants an operation to be confirmed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Safeguards {
    /// Whether a person has to confirm every call, whatever the danger level.
    pub always_confirm: bool,
    /// Why it is dangerous, for the person who confirms it.
    pub reasons: Vec<Arc<str>>,
    /// The question to a person, with `{param}` in place of a parameter's value.
    pub message: Option<Arc<str>>,
    /// How long it takes until a given confirmation becomes valid.
    pub cooldown: Duration,
}

/// How results are shaped after a source returned them, by parameters that the source never sees.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shaping {
    /// The parameters that shape results. All others belong to the source.
    pub controls: Vec<Arc<str>>,
    /// Where the rows of a result are. Filters, order, aggregates and pages need them (R-DIS-8a).
    pub rows: RowPlace,
    /// Whether the source returns lists page by page, and is asked for the next page when more rows are needed.
    pub is_paged: bool,
    /// The maximum number of pages that one call fetches, if it is not that of all operations.
    pub max_pages: Option<usize>,
    /// The fields of a result that are returned if the caller asks for none.
    pub default_fields: Vec<Arc<str>>,
    /// Whether the source is told which fields are needed, and may leave out the others.
    pub sends_fields: bool,
}

/// Where the rows of an operation's results are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum RowPlace {
    /// Its results are not known to have rows.
    #[default]
    Unknown,
    /// Its results have rows, which are located in each result.
    Detected,
    /// In the list with this path, such as `data.items`, or `$` for the result itself.
    Path {
        /// The path.
        path: Arc<str>,
        /// Whether the operator configured it.
        is_configured: bool,
        /// Whether the list is a part of an object that has more than the list and what describes it. Without controls
        /// for rows, `fields` are those of that object.
        is_part: bool,
    },
}

impl RowPlace {
    /// A path that the operator configured.
    pub fn configured(path: &str) -> Self {
        RowPlace::Path { path: path.into(), is_configured: true, is_part: false }
    }

    /// A path that a definition declares or an earlier result had.
    pub fn known(path: &str) -> Self {
        RowPlace::Path { path: path.into(), is_configured: false, is_part: false }
    }

    /// A path, declared or seen, to a list that is a part of an object.
    pub fn part(path: &str) -> Self {
        RowPlace::Path { path: path.into(), is_configured: false, is_part: true }
    }

    /// The same place, where the list is all that results consist of.
    #[must_use]
    pub fn as_list(self) -> Self {
        match self {
            RowPlace::Path { path, is_configured, .. } => RowPlace::Path { path, is_configured, is_part: false },
            other => other,
        }
    }

    /// Whether the list is a part of an object.
    pub fn is_part(&self) -> bool {
        matches!(self, RowPlace::Path { is_part: true, .. })
    }

    /// Whether results are known to have rows.
    pub fn is_known(&self) -> bool {
        *self != RowPlace::Unknown
    }
}

/// The purpose of an operation, for profiles that have a family for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// No purpose beyond its category.
    #[default]
    Plain,
    /// Describes what exists, like a schema.
    Discovery,
    /// Grants or refuses permission.
    Authorization,
}

/// What an operation returns.
#[derive(Debug, Clone)]
pub struct Returns {
    /// The type's name.
    pub type_name: Arc<str>,
    /// What the answer means.
    pub description: Arc<str>,
}

impl Returns {
    /// A result of undeclared type.
    pub fn undeclared(description: &str) -> Self {
        Self { type_name: JSON_VALUE.into(), description: description.into() }
    }

    /// An object with undeclared fields.
    pub fn object(description: &str) -> Self {
        Self { type_name: JSON_OBJECT.into(), description: description.into() }
    }

    /// A page of items of a type, as introspection describes it.
    pub fn page(item: &str) -> Self {
        let description = format!("{{items: {item}[], pageInfo}}, or {{aggregations}}");
        Self { type_name: RESULT_PAGE.into(), description: description.into() }
    }
}

/// An example request.
#[derive(Debug, Clone)]
pub struct Example {
    /// What it does.
    pub description: Option<Arc<str>>,
    /// Its parameters.
    pub params: Map<String, Value>,
}

/// The states of an execution.
#[derive(Debug, Clone, Serialize)]
pub struct Lifecycle {
    /// Every state it can be in.
    pub states: Vec<&'static str>,
    /// Whether it can be cancelled.
    pub supports_cancel: bool,
    /// Whether it can be started again after it failed.
    pub supports_retry: bool,
    /// Whether it reports progress.
    pub progress_reporting: bool,
}

impl Lifecycle {
    /// The five states of the specification, with cancellation and progress.
    pub fn standard() -> Self {
        Self {
            states: vec!["pending", "running", "completed", "failed", "cancelled"],
            supports_cancel: true,
            supports_retry: false,
            progress_reporting: true,
        }
    }
}

/// A value computed for each row.
#[derive(Debug, Clone, Serialize)]
pub struct ComputedField {
    /// Its name under `_computed`.
    pub name: Arc<str>,
    /// Its type.
    #[serde(rename = "type")]
    pub type_name: Arc<str>,
    /// What it means.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<Arc<str>>,
    /// Whether filters may use it.
    pub filterable: bool,
    /// Whether sorting may use it.
    pub sortable: bool,
}

/// The aggregates that an operation can compute.
#[derive(Debug, Clone, Serialize)]
pub struct AggregationSupport {
    /// Whether aggregation is supported.
    pub supported: bool,
    /// Whether items are returned together with aggregates by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_mode: Option<AggregationMode>,
    /// The supported functions that the specification knows.
    pub functions: Vec<AggregateFunction>,
    /// Fields to group by.
    pub groupable_fields: Vec<Arc<str>>,
    /// Fields to calculate with.
    pub numeric_fields: Vec<Arc<str>>,
}

/// Relationships an operation can follow.
#[derive(Debug, Clone, Serialize)]
pub struct RelationshipCapabilities {
    /// Whether relationships can be followed.
    pub supported: bool,
    /// The supported directions.
    pub directions: Vec<Direction>,
    /// The supported relationships.
    pub relationship_types: Vec<Arc<str>>,
    /// The maximum depth.
    pub max_depth: u32,
}

impl Operation {
    /// Whether it is `introspect` or an operation of a source.
    pub fn class(&self) -> OperationClass {
        OperationClass::from_name(&self.name)
    }

    /// An operation with a name, a category and a description.
    pub fn new(name: &str, category: Category, description: &str) -> Self {
        Self {
            name: name.into(),
            category,
            role: Role::Plain,
            description: description.trim().into(),
            parameters: Vec::new(),
            requirements: Vec::new(),
            returns: Returns::undeclared("The result"),
            examples: Vec::new(),
            danger: Danger::infer(name, category),
            danger_evidence: None,
            safeguards: Safeguards::default(),
            is_idempotent: false,
            takes_token: false,
            source: "".into(),
            own_name: name.into(),
            generic_name: None,
            backing: Backing::None,
            place: "".into(),
            trust: Trust::Accepted,
            native: true,
            open: false,
            lifecycle: None,
            computed_fields: Vec::new(),
            aggregation_support: None,
            relationship_capabilities: None,
            shaping: None,
            is_indirect: false,
            may_need: Vec::new(),
            reads_first: None,
            may_reach: Arc::default(),
            has_safe_dry_run: false,
            tests_hidden: false,
            quarantine: None,
            deprecated: None,
            is_established: true,
            established_at: None,
        }
    }

    /// Whether it belongs to a table of a database, or to whichever table its parameters name.
    pub fn has_tables(&self) -> bool {
        self.is_indirect || self.backing.table().is_some()
    }

    /// Whether it takes changes to a resource in `input` and merges them into the stored resource (R-REQ-6).
    pub fn takes_changes(&self) -> bool {
        self.native && self.category == Category::Update
    }

    /// Adds the protocol's `confirmation_token` parameter (R-INT-2a). If the operation has a parameter of that name, it
    /// is kept, and the token is sent as `_confirmation`.
    pub fn accept_confirmation_token(&mut self) {
        if self.takes_token || self.parameter(TOKEN).is_some() {
            return;
        }
        let description = "From a CONFIRMATION_REQUIRED answer to this very request, once a person has agreed.";
        let mut token = Parameter::optional(TOKEN, Schema::string().describe(description)).shared();
        token.sensitive = true;
        self.parameters.push(token);
        self.takes_token = true;
    }

    /// The parameter with this canonical name.
    pub fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|parameter| &*parameter.name == name)
    }

    /// The JSON Schema of its parameters.
    pub fn input_schema(&self, types: &Types) -> Value {
        let rest = if self.open { Rest::Free } else { Rest::Refused };
        json_schema(&Shape { fields: self.parameters.clone(), rest }, types)
    }

    /// The description, additional constraints, and the danger at the end (R-INT-2).
    pub fn full_description(&self) -> String {
        let mut words = self.description.to_string();
        let mut add = |sentence: &str| {
            if !words.is_empty() && !words.ends_with(['.', '!', '?']) {
                words.push('.');
            }
            words.push(' ');
            words.push_str(sentence);
        };
        if self.open {
            add("Takes further parameters of any name.");
        }
        for requirement in &self.requirements {
            add(&format!("{}.", requirement.sentence()));
        }
        // A gateway passes on descriptions that end like this already.
        let danger = format!("Danger: {}.", self.danger);
        if self.danger >= Danger::Destructive && !self.description.ends_with(&danger) {
            add(&danger);
        }
        words
    }

    /// The first sentence of the description, for lists of operations.
    pub fn short_description(&self) -> &str {
        const MAX_SHORT_DESCRIPTION_CHARS: usize = 160;
        let line = self.description.lines().next().unwrap_or_default().trim();
        let sentence = match line.find(". ") {
            Some(index) => line.get(..=index).unwrap_or(line),
            None => line,
        };
        match sentence.char_indices().nth(MAX_SHORT_DESCRIPTION_CHARS) {
            Some((index, _)) => sentence.get(..index).unwrap_or(sentence).trim_end(),
            None => sentence,
        }
    }
}

/// Whether the name is `^[a-z][a-z0-9_]*$`.
pub fn is_snake_case(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}
