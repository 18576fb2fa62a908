//! Warnings in successful answers (R-RES-2).

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::schema::Deprecation;

/// How urgent a warning is, most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Requires action now.
    High,
    /// Requires action at some point.
    Medium,
    /// For information.
    Low,
}

/// One warning.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Warning {
    code: Arc<str>,
    message: String,
    #[serde(skip_serializing_if = "Map::is_empty")]
    details: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    severity: Option<Severity>,
    #[serde(skip)]
    before_data: bool,
}

/// The maximum number of warnings in an answer.
const MAX_WARNINGS: usize = 10;

/// The code of the warning that values of an answer were shortened to stay within a budget.
pub const RESULT_SHORTENED: &str = "RESULT_SHORTENED";

impl Warning {
    /// A warning for the caller.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), details: Map::new(), severity: None, before_data: false }
    }

    /// A warning that a deprecated operation was called.
    pub fn deprecated_operation(name: &str, deprecation: &Deprecation) -> Self {
        Self::deprecated("Operation", "operation", name, deprecation)
    }

    /// A warning that a deprecated parameter was sent.
    pub fn deprecated_parameter(name: &str, deprecation: &Deprecation) -> Self {
        Self::deprecated("Parameter", "parameter", name, deprecation)
    }

    /// The severity is low, because no date of removal is known.
    fn deprecated(noun: &str, kind: &str, name: &str, Deprecation { advice }: &Deprecation) -> Self {
        let advice = advice.as_deref().map(|advice| format!(": {advice}")).unwrap_or_default();
        Self::new("DEPRECATION_WARNING", format!("{noun} '{name}' is deprecated{advice}"))
            .detail("type", kind)
            .detail("deprecated_item", name)
            .severity(Severity::Low)
    }

    /// Adds a machine-readable detail.
    #[must_use]
    pub fn detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    /// Sets the severity.
    #[must_use]
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = Some(severity);
        self
    }

    /// Places the warnings of the answer before its data, so that a reader learns first that the data is incomplete.
    #[must_use]
    pub fn before_data(mut self) -> Self {
        self.before_data = true;
        self
    }

    /// Whether it precedes the data.
    pub(crate) fn is_before_data(&self) -> bool {
        self.before_data
    }

    /// The code.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// Whether a session receives this warning only once.
    pub fn once_per_session(&self) -> bool {
        self.code.starts_with("DEPRECATION_") || self.code.starts_with("RATE_LIMIT_QUOTA_")
    }

    /// The key that identifies warnings that were already shown.
    pub fn identity(&self) -> String {
        format!("{}:{}", self.code, self.message)
    }
}

/// Sorts warnings by urgency, removes duplicates, and keeps at most ten.
pub fn arrange(warnings: Vec<Warning>) -> Vec<Warning> {
    let mut arranged: Vec<Warning> = Vec::with_capacity(warnings.len().min(MAX_WARNINGS));
    for warning in warnings {
        if !arranged.contains(&warning) {
            arranged.push(warning);
        }
    }
    arranged.sort_by_key(|warning| warning.severity.unwrap_or(Severity::Medium));
    arranged.truncate(MAX_WARNINGS);
    arranged
}
