//! What the specification publishes about answers: restated in our own words, so that a run needs nothing else
//! (`introspection`, `envelope`), and read from a checkout of the specification if there is one ([`SpecSchemas`]).
//! `comparison` holds the two against each other.

mod comparison;
pub(crate) mod envelope;
pub(crate) mod introspection;
mod schema;
mod shape;

pub use schema::{SchemaError, SpecSchemas};
pub(crate) use shape::{SNAKE_CASE, Shape, UPPER_SNAKE_CASE, differences};

use serde_json::Value;

/// The differences between the restated shapes and those of a checkout of the specification. Empty if they agree.
#[must_use]
pub fn compare(schemas: &SpecSchemas) -> Vec<String> {
    comparison::compare(schemas)
}

/// The problems of an answer to `introspect` with a published query, by the restated shapes. Empty if it is valid.
#[must_use]
pub fn introspection_problems(answer: &Value) -> Vec<String> {
    let envelope = if answer.get("success") == Some(&Value::Bool(true)) {
        introspection::success_for(answer)
    } else {
        &introspection::FAILURE
    };
    differences(answer, envelope)
}
