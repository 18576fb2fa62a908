//! Warnings about a normalized capture, with stable codes.

use serde::{Deserialize, Serialize};

/// A warning of a bundle, with exactly the published fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundleWarning {
    /// One of the codes below.
    pub code: String,
    /// Its severity.
    pub severity: Severity,
    /// The message.
    pub message: String,
    /// The affected tool.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tool: Option<String>,
    /// The affected field or parameter.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub field: Option<String>,
    /// The rule that raised it, if the rule is a heuristic.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub heuristic: Option<String>,
}

/// The severity of a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// For information.
    Info,
    /// Should be checked.
    Warning,
    /// Something cannot be used.
    Error,
}

/// The codes of bundle warnings, with their severity and meaning.
pub const CODES: &[(&str, Severity, &str)] = &[
    (UNREADABLE_TOOL, Severity::Error, "An entry of the tool list cannot be used and was skipped"),
    (DUPLICATE_TOOL, Severity::Error, "A second tool with the same name cannot be called and was skipped"),
    (TOOLS_LEFT_OUT, Severity::Error, "Tools exceed a limit and were skipped"),
    (INVALID_SCHEMA, Severity::Error, "A tool's schema is invalid and was read as far as possible"),
    (NO_INPUT_SCHEMA, Severity::Warning, "A tool has no input schema and is offered without parameters"),
    (OPEN_INPUT, Severity::Info, "A tool accepts undeclared parameters; they are passed on unchanged"),
    (SHAPE_NARROWED, Severity::Info, "A parameter has keywords for which the published schema has no field"),
    (SCHEMA_NOT_READ, Severity::Warning, "A part of a schema is not checked before the call"),
    (HIDDEN_TEXT, Severity::Warning, "Terminal escapes, hidden characters or credentials were removed from a text"),
    (RENAMED, Severity::Info, "A name was changed to snake_case or shortened"),
    (RESERVED_NAME, Severity::Warning, "A name is reserved by the protocol and was changed"),
    (NAME_COLLISION, Severity::Warning, "Two names would have been equal and were made distinct"),
    (NEEDS_REVIEW, Severity::Warning, "The evidence for a category is contradictory or missing"),
    (OVERRIDE_UNUSED, Severity::Warning, "An override names a tool or a parameter that does not exist"),
    (OVERRIDE_OUTDATED, Severity::Warning, "An override was written for another definition of its tool"),
];

/// An entry of the tool list is not a usable tool.
pub const UNREADABLE_TOOL: &str = "UNREADABLE_TOOL";
/// A second tool with the same name.
pub const DUPLICATE_TOOL: &str = "DUPLICATE_TOOL";
/// Tools that exceed a limit.
pub const TOOLS_LEFT_OUT: &str = "TOOLS_LEFT_OUT";
/// An invalid schema.
pub const INVALID_SCHEMA: &str = "INVALID_SCHEMA";
/// A missing input schema.
pub const NO_INPUT_SCHEMA: &str = "NO_INPUT_SCHEMA";
/// A schema that accepts undeclared parameters.
pub const OPEN_INPUT: &str = "OPEN_INPUT";
/// A parameter with keywords for which the published form has no field.
pub const SHAPE_NARROWED: &str = "SHAPE_NARROWED";
/// Keywords that our own validation does not support.
pub const SCHEMA_NOT_READ: &str = "SCHEMA_NOT_READ";
/// Text with invisible characters, which were removed.
pub const HIDDEN_TEXT: &str = "HIDDEN_TEXT";
/// A name that was changed to snake_case or shortened.
pub const RENAMED: &str = "RENAMED";
/// A name that the protocol reserves.
pub const RESERVED_NAME: &str = "RESERVED_NAME";
/// Two equal names.
pub const NAME_COLLISION: &str = "NAME_COLLISION";
/// Insufficient evidence for a classification.
pub const NEEDS_REVIEW: &str = "NEEDS_REVIEW";
/// An override for a tool that does not exist.
pub const OVERRIDE_UNUSED: &str = "OVERRIDE_UNUSED";
/// An override for an earlier definition.
pub const OVERRIDE_OUTDATED: &str = "OVERRIDE_OUTDATED";

impl BundleWarning {
    /// A warning with the severity of its code.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        let severity =
            CODES.iter().find(|(known, ..)| *known == code).map_or(Severity::Warning, |(_, severity, _)| *severity);
        Self { code: code.to_owned(), severity, message: message.into(), tool: None, field: None, heuristic: None }
    }

    /// Sets the affected tool.
    #[must_use]
    pub fn tool(mut self, tool: &str) -> Self {
        self.tool = Some(tool.to_owned());
        self
    }

    /// Sets the affected field.
    #[must_use]
    pub fn field(mut self, field: &str) -> Self {
        self.field = Some(field.to_owned());
        self
    }

    /// Sets the rule that raised it.
    #[must_use]
    pub fn heuristic(mut self, rule: &str) -> Self {
        self.heuristic = Some(rule.to_owned());
        self
    }
}
