//! The definition of an operation: the single source that dispatch, validation, introspection and tool texts read.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};

use super::class::{self, OperationClass};
use crate::category::Category;
use crate::danger::Danger;
use crate::protocol_types::{JSON_OBJECT, JSON_VALUE, RESULT_PAGE};
use crate::schema::{Parameter, Rest, Schema, Shape, Types, json_schema};
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

/// The parameter that a confirmation token travels in.
pub const TOKEN: &str = "confirmation_token";

/// Names that are made here, of tools, tables and prefixes, are no longer than this: every mention costs tokens.
pub const MAX_NAME_LEN: usize = 48;

/// The longest name that an operator may choose. The specification sets no limit.
pub const MAX_CHOSEN_NAME: usize = 256;

/// Everything there is to know about an operation.
#[derive(Debug, Clone)]
pub struct Operation {
    /// Its name, unique in a catalog.
    pub name: Arc<str>,
    /// What it does to the world.
    pub category: Category,
    /// What it is for, beyond its category.
    pub role: Role,
    /// What it does.
    pub description: Arc<str>,
    /// Everything it accepts.
    pub parameters: Vec<Parameter>,
    /// What it answers with.
    pub returns: Returns,
    /// Requests worth imitating.
    pub examples: Vec<Example>,
    /// How much harm it can do.
    pub danger: Danger,
    /// What shows how much harm it can do, in a few words for operators: "the server declares it destructive". Where nothing
    /// is said, its category does.
    pub danger_evidence: Option<Arc<str>>,
    /// What has to be known before it is confirmed.
    pub safeguards: Safeguards,
    /// Whether its source declares that repeating a call changes nothing more.
    pub is_idempotent: bool,
    /// Whether its parameter `confirmation_token` is the protocol's, and never reaches the source.
    pub takes_token: bool,
    /// The source that answers it.
    pub source: Arc<str>,
    /// Its name within the source: without the prefix that distinguishes several sources.
    pub own_name: Arc<str>,
    /// The generic operation that requests of it may come by, as the source calls that one: `update_record` for
    /// `update_order`.
    pub generic_name: Option<Arc<str>>,
    /// The tool or table behind it, as the source spells it.
    pub backing: Backing,
    /// Which database or server that is, without secrets. For the operator, not for callers.
    pub place: Arc<str>,
    /// How far that source is trusted.
    pub trust: Trust,
    /// Whether its parameters are shaped by us, or are an upstream's own.
    pub native: bool,
    /// Whether its source takes parameters that it does not name.
    pub open: bool,
    /// The states of the execution it starts, if it starts one.
    pub lifecycle: Option<Lifecycle>,
    /// Values derived from each row, on request.
    pub computed_fields: Vec<ComputedField>,
    /// Sums and counts it can make.
    pub aggregation_support: Option<AggregationSupport>,
    /// Relationships it can follow.
    pub relationship_capabilities: Option<RelationshipCapabilities>,
    /// What is done to its results on our side, where its source does not do it (R-DIS-8).
    pub shaping: Option<Shaping>,
    /// Whether its source has to resolve a request before policy can judge it: the parameters name the table that is
    /// meant, possibly by an alias.
    pub is_indirect: bool,
    /// Operations of its source, by their own names, that a request of it may need as well, because it reads or changes
    /// what they do. Where policy restricts one of these, its source says which of them a request needs.
    pub may_need: Vec<Arc<str>>,
    /// Further operations of the same kind, shared by many operations: those that read what its paths can lead to.
    pub may_reach: Arc<[Arc<str>]>,
    /// Whether its source guarantees that `dry_run: true` changes nothing.
    pub has_safe_dry_run: bool,
    /// Why it is listed but cannot be called: its definition changed, and no operator has accepted the change
    /// (R-DIS-7a).
    pub quarantine: Option<Arc<str>>,
    /// Whether it was known before the newest definitions arrived. Newcomers never take its name.
    pub is_established: bool,
    /// Since when it is known, in milliseconds since the epoch, where that is remembered: of two operations that want one
    /// name, the older one gets it, in every order in which sources start.
    pub established_at: Option<u64>,
}

/// The tool or table behind an operation: with the source's name, the identity that outlives every renaming.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Backing {
    /// Neither a tool nor a table.
    #[default]
    None,
    /// A tool of an upstream server, by the name the server gave it.
    Tool(Arc<str>),
    /// A table or view, by the name the database gave it.
    Table(Arc<str>),
    /// The same in a database that has schemas.
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
    /// Whether a person is to be asked, whatever the danger.
    pub always_confirm: bool,
    /// Why it is dangerous, for the person who confirms it.
    pub reasons: Vec<Arc<str>>,
    /// What a person is asked, with `{param}` where a parameter's value goes.
    pub message: Option<Arc<str>>,
    /// How long a confirmation rests before it counts.
    pub cooldown: Duration,
}

/// How results are shaped after a source gave them: by parameters that the source never sees.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shaping {
    /// The parameters that are ours. Every other one is the source's own.
    pub controls: Vec<Arc<str>>,
    /// Where the rows are inside a result, as a path such as `data.items`. Looked for unless said.
    pub rows: Option<Arc<str>>,
    /// Whether the source returns lists page by page, and is asked for the next page when more rows are needed.
    pub is_paged: bool,
    /// The fields of a result that are returned if the caller asks for none.
    pub default_fields: Vec<Arc<str>>,
    /// Whether the source is told which fields are needed, and may leave out the others.
    pub sends_fields: bool,
}

/// What an operation is for, where profiles have a family for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// Nothing beyond its category.
    #[default]
    Plain,
    /// Describes what exists, like a schema.
    Discovery,
    /// Grants or refuses permission.
    Authorization,
}

/// What an operation answers with.
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

    /// A page of items of a type, in the words of introspection.
    pub fn page(item: &str) -> Self {
        let description = format!("{{items: {item}[], pageInfo}}, or {{aggregations}}");
        Self { type_name: RESULT_PAGE.into(), description: description.into() }
    }
}

/// A request worth imitating.
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
    /// The five states of the specification, cancellable, with progress.
    pub fn standard() -> Self {
        Self {
            states: vec!["pending", "running", "completed", "failed", "cancelled"],
            supports_cancel: true,
            supports_retry: false,
            progress_reporting: true,
        }
    }
}

/// A value derived from each row.
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

/// Sums and counts an operation can make.
#[derive(Debug, Clone, Serialize)]
pub struct AggregationSupport {
    /// Whether it can at all.
    pub supported: bool,
    /// Whether items come with the sums by themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_mode: Option<&'static str>,
    /// The functions it knows.
    pub functions: Vec<&'static str>,
    /// Fields to group by.
    pub groupable_fields: Vec<Arc<str>>,
    /// Fields to calculate with.
    pub numeric_fields: Vec<Arc<str>>,
}

/// Relationships an operation can follow.
#[derive(Debug, Clone, Serialize)]
pub struct RelationshipCapabilities {
    /// Whether it can at all.
    pub supported: bool,
    /// In which directions.
    pub directions: Vec<&'static str>,
    /// Which relationships.
    pub relationship_types: Vec<Arc<str>>,
    /// How far.
    pub max_depth: u32,
}

impl Operation {
    /// Whether it is `introspect` or an operation of a source.
    pub fn class(&self) -> OperationClass {
        OperationClass::from_name(&self.name)
    }

    /// An operation with a name, a category and words, and nothing else yet.
    pub fn new(name: &str, category: Category, description: &str) -> Self {
        Self {
            name: name.into(),
            category,
            role: Role::Plain,
            description: description.trim().into(),
            parameters: Vec::new(),
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
            trust: Trust::Validated,
            native: true,
            open: false,
            lifecycle: None,
            computed_fields: Vec::new(),
            aggregation_support: None,
            relationship_capabilities: None,
            shaping: None,
            is_indirect: false,
            may_need: Vec::new(),
            may_reach: Arc::default(),
            has_safe_dry_run: false,
            quarantine: None,
            is_established: true,
            established_at: None,
        }
    }

    /// Whether it takes changes to a resource in `input`, merged into what is stored (R-REQ-6).
    pub fn takes_changes(&self) -> bool {
        self.native && self.category == Category::Update
    }

    /// Has it take the protocol's `confirmation_token` (R-INT-2a). A parameter of that name which it has already stays its
    /// own; the token then comes as `_confirmation`.
    pub fn take_token(&mut self) {
        if self.takes_token || self.parameter(TOKEN).is_some() {
            return;
        }
        let description = "From a CONFIRMATION_REQUIRED answer to this very request, once a person has agreed.";
        let mut token = Parameter::optional(TOKEN, Schema::string().describe(description)).shared();
        token.sensitive = true;
        self.parameters.push(token);
        self.takes_token = true;
    }

    /// The parameter of this canonical name.
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
        if self.danger >= Danger::Destructive {
            add(&format!("Danger: {}.", self.danger));
        }
        words
    }

    /// The first sentence: what a list of operations has room for.
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
