//! What a run found: the checks by category, the level that is granted, and why it is not.

use serde::{Deserialize, Serialize};

use crate::exchange::Exchange;

/// How a check, or a category of them, came out.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// The server does what is asked.
    Pass,
    /// It does so in part, and no level is lost by that.
    Warn,
    /// It does not.
    Fail,
    /// There was nothing to check, or it was not allowed to check it. No level is granted over it.
    Skip,
}

/// The published categories of checks.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub enum Category {
    /// What introspection says is what is accepted.
    #[serde(rename = "Introspection Fidelity")]
    IntrospectionFidelity,
    /// Required, unknown and defaulted parameters.
    #[serde(rename = "Parameter Handling")]
    ParameterHandling,
    /// Failures that can be acted upon and leak nothing.
    #[serde(rename = "Error Quality")]
    ErrorQuality,
    /// What was written is read back.
    #[serde(rename = "Round-Trip Integrity")]
    RoundTripIntegrity,
    /// Both modes, field selection, batches, collection queries.
    #[serde(rename = "Level 2 Features")]
    LevelTwoFeatures,
    /// Constraints are enforced and told.
    #[serde(rename = "Constraint Documentation")]
    ConstraintDocumentation,
    /// Whether a model understands; a run without a model leaves it out.
    #[serde(rename = "Semantic Evaluation")]
    SemanticEvaluation,
}

impl Category {
    /// Whether a level 1 server must pass it.
    #[must_use]
    pub const fn required(self) -> bool {
        matches!(
            self,
            Self::IntrospectionFidelity | Self::ParameterHandling | Self::ErrorQuality | Self::RoundTripIntegrity
        )
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Finding {
    /// The operation, `operation.parameter` or type it is about.
    pub subject: String,
    /// What is wrong and what was expected instead.
    pub problem: String,
    /// Where it was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Exchange>,
}

/// How one check came out.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Outcome {
    /// The check's stable name for scripts: `parameters.missing`.
    pub id: String,
    /// What it holds, for people.
    pub name: String,
    /// How it came out.
    pub result: Verdict,
    /// One sentence: what was looked at, what was wrong, or why nothing could be.
    pub detail: String,
    /// On how many things the verdict rests.
    pub looked_at: usize,
    /// What is wrong, one by one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

/// The checks of one category.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Section {
    /// Which category.
    pub name: Category,
    /// Whether level 1 must pass it.
    pub required: bool,
    /// The worst of its checks; a failure in a category that is not required is a warning, as published.
    pub result: Verdict,
    /// The checks.
    pub tests: Vec<Outcome>,
}

/// How many checks came out how.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Summary {
    /// All of them.
    pub total: usize,
    /// Passed.
    pub passed: usize,
    /// Warned.
    pub warned: usize,
    /// Failed.
    pub failed: usize,
    /// Skipped.
    pub skipped: usize,
}

/// A whole run.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The server's name, as it says it.
    pub implementation: String,
    /// The server's version, as it says it.
    pub version: String,
    /// The revision of the specification that the server says it speaks.
    pub spec_version: String,
    /// The level that was asked for.
    pub requested_level: u8,
    /// The level that is granted.
    pub conformance_level: u8,
    /// The surfaces that were driven: `semantic over stdio`, `single over stdio`.
    pub surfaces: Vec<String>,
    /// How many calls were made.
    pub calls: usize,
    /// How many checks came out how.
    pub summary: Summary,
    /// The checks, by category.
    pub categories: Vec<Section>,
}
