//! Verdicts, and the published categories of checks.

use serde::{Deserialize, Serialize};

/// The verdict of a check or a category.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// The server meets the requirement.
    Pass,
    /// The server partially meets it. This does not affect the level.
    Warn,
    /// The server does not meet it.
    Fail,
    /// There was nothing to check, or checking was not allowed. This blocks the level, unless the check does not apply to
    /// the server.
    Skip,
}

impl Verdict {
    /// The name in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Warn => "WARN",
            Self::Fail => "FAIL",
            Self::Skip => "SKIP",
        }
    }

    /// Whether it blocks a level.
    #[must_use]
    pub const fn blocks(self) -> bool {
        matches!(self, Self::Fail | Self::Skip)
    }
}

/// The published categories of checks.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub enum Category {
    /// Introspection describes exactly what is accepted.
    #[serde(rename = "Introspection Fidelity")]
    IntrospectionFidelity,
    /// Required, unknown and defaulted parameters.
    #[serde(rename = "Parameter Handling")]
    ParameterHandling,
    /// Failures are actionable and leak nothing.
    #[serde(rename = "Error Quality")]
    ErrorQuality,
    /// Written data can be read back.
    #[serde(rename = "Round-Trip Integrity")]
    RoundTripIntegrity,
    /// Both modes, field selection, batches, collection queries.
    #[serde(rename = "Level 2 Features")]
    LevelTwoFeatures,
    /// Constraints are enforced and documented.
    #[serde(rename = "Constraint Documentation")]
    ConstraintDocumentation,
    /// Whether a model understands the server. Omitted in runs without a model.
    #[serde(rename = "Semantic Evaluation")]
    SemanticEvaluation,
}

impl Category {
    /// All categories, in report order.
    pub const ALL: [Self; 7] = [
        Self::IntrospectionFidelity,
        Self::ParameterHandling,
        Self::ErrorQuality,
        Self::RoundTripIntegrity,
        Self::LevelTwoFeatures,
        Self::ConstraintDocumentation,
        Self::SemanticEvaluation,
    ];

    /// The published name.
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

    /// Whether level 1 requires it.
    #[must_use]
    pub const fn is_required(self) -> bool {
        self.level() == 1
    }

    /// The level it belongs to.
    #[must_use]
    pub const fn level(self) -> u8 {
        match self {
            Self::IntrospectionFidelity | Self::ParameterHandling | Self::ErrorQuality | Self::RoundTripIntegrity => 1,
            Self::LevelTwoFeatures | Self::ConstraintDocumentation | Self::SemanticEvaluation => 2,
        }
    }

    /// Whether it can block its level. Semantic Evaluation cannot, because only a run with a model could pass it.
    #[must_use]
    pub const fn blocks(self) -> bool {
        !matches!(self, Self::SemanticEvaluation)
    }
}
