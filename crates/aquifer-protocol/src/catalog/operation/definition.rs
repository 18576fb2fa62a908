//! The definition of an operation: the single source for dispatch, validation, introspection and tool descriptions.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::capabilities::Capabilities;
use super::origin::Origin;
use super::routing::Routing;
use super::safety::Safety;
use crate::catalog::class::{self, OperationClass};
use crate::category::Category;
use crate::danger::Danger;
use crate::protocol_types::{JSON_OBJECT, JSON_VALUE, RESULT_PAGE};
use crate::requirement::Requirement;
use crate::schema::{Deprecation, Parameter, Rest, Schema, Shape, Types, json_schema};

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
    /// Whether it accepts undeclared parameters.
    pub open: bool,
    /// What it returns.
    pub returns: Returns,
    /// Example requests.
    pub examples: Vec<Example>,
    /// Set if it should no longer be used. Calls of it succeed with a warning.
    pub deprecated: Option<Deprecation>,
    /// What it can do beyond returning a result.
    pub capabilities: Capabilities,
    /// What policy judges it by.
    pub safety: Safety,
    /// Which other operations its requests lead to.
    pub routing: Routing,
    /// Where it comes from.
    pub origin: Origin,
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

impl Operation {
    /// Whether it is `introspect` or an operation of a source.
    pub fn class(&self) -> OperationClass {
        OperationClass::from_name(&self.name)
    }

    /// Whether it is known to do nothing but read, so that a source that is read-only offers it.
    pub fn only_reads(&self) -> bool {
        self.category == Category::Read && self.safety.danger == Danger::Safe && self.safety.effects.only_read()
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
            open: false,
            returns: Returns::undeclared("The result"),
            examples: Vec::new(),
            deprecated: None,
            capabilities: Capabilities::default(),
            safety: Safety::new(Danger::infer(name, category), category),
            routing: Routing::default(),
            origin: Origin::new(name),
        }
    }

    /// Whether it belongs to a table of a database, or to whichever table its parameters name.
    pub fn has_tables(&self) -> bool {
        self.routing.is_indirect || self.origin.backing.table().is_some()
    }

    /// Whether it takes changes to a resource in `input` and merges them into the stored resource (R-REQ-6).
    pub fn takes_changes(&self) -> bool {
        self.origin.native && self.category == Category::Update
    }

    /// Adds the protocol's `confirmation_token` parameter (R-INT-2a). If the operation has a parameter of that name, it
    /// is kept, and the token is sent as `_confirmation`.
    pub fn accept_confirmation_token(&mut self) {
        if self.safety.takes_token || self.parameter(TOKEN).is_some() {
            return;
        }
        let description = "From a CONFIRMATION_REQUIRED answer to this very request, once a person has agreed.";
        let mut token = Parameter::optional(TOKEN, Schema::string().describe(description)).shared();
        token.sensitive = true;
        self.parameters.push(token);
        self.safety.takes_token = true;
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
        let danger = format!("Danger: {}.", self.safety.danger);
        if self.safety.danger >= Danger::Destructive && !self.description.ends_with(&danger) {
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
