//! Writes the specification's evidence bundle from the recorded exchanges.
//!
//! The specification's runner reads a file instead of calling a server, and treats a missing section as one without
//! problems. So a bundle with an empty section is not written: it would pass unchecked. The exception are sections about
//! operations that the server does not have. Anything that the runner itself
//! reports as missing (a mode, a capability, a batch) is omitted if it was not observed.

mod capabilities;
mod cases;
pub mod record;

use std::fmt;

use serde_json::{Map, Value, json};

use crate::record::Record;

/// The bundle has sections without any exchange.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EmptySectionsError {
    /// Their names, as in the bundle.
    pub sections: Vec<&'static str>,
}

impl fmt::Display for EmptySectionsError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "nothing was recorded for {}; a bundle without it would pass unchecked",
            self.sections.join(", ")
        )
    }
}

impl std::error::Error for EmptySectionsError {}

/// Builds the bundle for a level.
///
/// # Errors
/// The run recorded nothing for a section of that level.
pub fn bundle(record: &Record, level: u8) -> Result<Value, EmptySectionsError> {
    let sections = sections(record);
    let empty: Vec<&'static str> = sections
        .iter()
        .filter(|section| section.level <= level && section.is_empty() && section.name != OPTIONAL_DEFAULTS)
        .filter(|section| record.not_applicable.iter().all(|name| name != section.name))
        .map(|section| section.name)
        .collect();
    if !empty.is_empty() {
        return Err(EmptySectionsError { sections: empty });
    }
    let mut bundle = Map::new();
    bundle.insert("implementation".to_owned(), Value::from(record.implementation.as_str()));
    bundle.insert("version".to_owned(), Value::from(record.version.as_str()));
    bundle.insert("spec_version".to_owned(), record.protocol.get("version").cloned().unwrap_or_default());
    bundle.insert("endpoint_modes".to_owned(), json!(capabilities::endpoint_modes(record)));
    let batch = capabilities::batch_example(record);
    let selects = capabilities::selects_fields(record);
    bundle
        .insert("capabilities".to_owned(), json!({ "field_selection": selects, "batch_operations": batch.is_some() }));
    for section in sections.into_iter().filter(|section| !section.is_empty()) {
        insert_section(&mut bundle, section.name, section.content);
    }
    if let Some(batch) = batch {
        bundle.insert("batch_example".to_owned(), batch.clone());
    }
    Ok(Value::Object(bundle))
}

/// Shows defaults that appear in an answer. The run itself compares answers with and without a parameter, which the
/// specification's runner cannot do, so a server whose defaults never appear in answers has no case here.
const OPTIONAL_DEFAULTS: &str = "parameter_tests.optional_defaults";

/// Why the bundle has no cases of defaults, if so.
pub fn missing_defaults(record: &Record) -> Option<&'static str> {
    let is_empty = cases::optional_defaults(record).as_array().is_none_or(Vec::is_empty);
    is_empty
        .then_some("no default appears in an answer, so the evidence has no case of parameter_tests.optional_defaults")
}

/// A part of the bundle whose absence the runner does not report.
struct Section {
    /// Its path: `parameter_tests.missing_required`.
    name: &'static str,
    /// The level that requires it.
    level: u8,
    content: Value,
}

impl Section {
    fn is_empty(&self) -> bool {
        match &self.content {
            Value::Array(items) => items.is_empty(),
            Value::Object(members) => members.is_empty(),
            Value::Null => true,
            _ => false,
        }
    }
}

fn sections(record: &Record) -> Vec<Section> {
    let section = |name, level, content| Section { name, level, content };
    vec![
        section("introspection.operations_list", 1, listed(&record.operations_list, "operations")),
        section("introspection.types_list", 1, listed(&record.types_list, "types")),
        section("introspection.operation_details", 1, json!(record.operation_details)),
        section("accepted_parameters", 1, cases::accepted_parameters(record)),
        section("parameter_tests.missing_required", 1, cases::missing_required(record)),
        section("parameter_tests.unknown_parameter", 1, cases::unknown_parameter(record)),
        section(OPTIONAL_DEFAULTS, 1, cases::optional_defaults(record)),
        section("error_tests", 1, cases::errors(record)),
        section("round_trip_tests", 1, cases::round_trips(record)),
        section("update_preservation_tests", 1, cases::update_preservations(record)),
        section("constraint_tests", 2, cases::constraints(record)),
    ]
}

/// The envelope of a list; null if the list is empty. A refusal is kept, so that the runner sees it.
fn listed(envelope: &Value, name: &str) -> Value {
    let lists_nothing = envelope.pointer(&format!("/data/{name}")).and_then(Value::as_array).is_some_and(Vec::is_empty);
    if lists_nothing { Value::Null } else { envelope.clone() }
}

/// Inserts a section at its path, which has at most two parts.
fn insert_section(bundle: &mut Map<String, Value>, name: &str, content: Value) {
    let Some((outer, inner)) = name.split_once('.') else {
        bundle.insert(name.to_owned(), content);
        return;
    };
    let group = bundle.entry(outer).or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(group) = group {
        group.insert(inner.to_owned(), content);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
mod tests;
