//! Renders and parses the published JSON format.

use std::fmt;

use serde_json::Value;

use crate::report::Report;

/// Renders a report as JSON.
#[must_use]
pub fn render(report: &Report) -> String {
    // All map keys are strings, so serialization cannot fail.
    let text = serde_json::to_string_pretty(report).unwrap_or_default();
    format!("{text}\n")
}

/// Why text is not a report.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ReportError {
    /// It is not JSON.
    Syntax(String),
    /// It is an evidence bundle.
    Evidence,
    /// A required member is missing or invalid.
    Shape(String),
}

impl fmt::Display for ReportError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(problem) => write!(formatter, "not JSON: {problem}"),
            Self::Evidence => formatter.write_str(
                "an evidence bundle, not a report. The specification's runner makes a report of it; a run with \
                 --format json writes one directly",
            ),
            Self::Shape(problem) => write!(formatter, "not a conformance report: {problem}"),
        }
    }
}

impl std::error::Error for ReportError {}

/// Parses a report from Aquifer or from the specification's runner, which contains less.
///
/// # Errors
/// The text is not a report.
pub fn parse(text: &str) -> Result<Report, ReportError> {
    let value: Value = serde_json::from_str(text).map_err(|error| ReportError::Syntax(error.to_string()))?;
    let Value::Object(members) = &value else {
        return Err(ReportError::Shape("it is not a JSON object".to_owned()));
    };
    if !members.contains_key("categories") && members.contains_key("introspection") {
        return Err(ReportError::Evidence);
    }
    let required = ["requestedLevel", "conformanceLevel", "summary", "categories"];
    let missing: Vec<&str> = required.into_iter().filter(|name| !members.contains_key(*name)).collect();
    if !missing.is_empty() {
        return Err(ReportError::Shape(format!("it has no {}", missing.join(", no "))));
    }
    serde_json::from_value(value).map_err(|error| ReportError::Shape(error.to_string()))
}
