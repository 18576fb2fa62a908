//! Verdicts, and the published categories of checks.

use serde::{Deserialize, Serialize};

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

impl Verdict {
    /// The word in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Warn => "WARN",
            Self::Fail => "FAIL",
            Self::Skip => "SKIP",
        }
    }

    /// Whether a level is withheld over it.
    #[must_use]
    pub const fn blocks(self) -> bool {
        matches!(self, Self::Fail | Self::Skip)
    }
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
    /// All of them, in the order of a report.
    pub const ALL: [Self; 7] = [
        Self::IntrospectionFidelity,
        Self::ParameterHandling,
        Self::ErrorQuality,
        Self::RoundTripIntegrity,
        Self::LevelTwoFeatures,
        Self::ConstraintDocumentation,
        Self::SemanticEvaluation,
    ];

    /// Its published name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::IntrospectionFidelity => "Introspection Fidelity",
            Self::ParameterHandling => "Parameter Handling",
            Self::ErrorQuality => "Error Quality",
            Self::RoundTripIntegrity => "Round-Trip Integrity",
            Self::LevelTwoFeatures => "Level 2 Features",
            Self::ConstraintDocumentation => "Constraint Documentation",
            Self::SemanticEvaluation => "Semantic Evaluation",
        }
    }

    /// Whether a level 1 server must pass it.
    #[must_use]
    pub const fn is_required(self) -> bool {
        self.level() == 1
    }

    /// The level whose report shows it.
    #[must_use]
    pub const fn level(self) -> u8 {
        match self {
            Self::IntrospectionFidelity | Self::ParameterHandling | Self::ErrorQuality | Self::RoundTripIntegrity => 1,
            Self::LevelTwoFeatures | Self::ConstraintDocumentation | Self::SemanticEvaluation => 2,
        }
    }

    /// Whether its level is withheld over it. Only a run with a model could pass the one that blocks nothing.
    #[must_use]
    pub const fn blocks(self) -> bool {
        !matches!(self, Self::SemanticEvaluation)
    }
}
