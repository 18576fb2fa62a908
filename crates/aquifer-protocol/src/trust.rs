//! How far a source may be trusted (R-SAF-2).

use serde::{Deserialize, Serialize};

/// How far a source may be trusted, least first (R-SAF-2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// Nobody tried it.
    Untested,
    /// Made by a program.
    Generated,
    /// Passed tests.
    Validated,
    /// Reviewed by others.
    CommunityReviewed,
    /// Vouched for.
    Certified,
}

impl Trust {
    /// Every level, least first.
    pub const ALL: [Trust; 5] =
        [Trust::Untested, Trust::Generated, Trust::Validated, Trust::CommunityReviewed, Trust::Certified];

    /// The level as it stands on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Trust::Untested => "untested",
            Trust::Generated => "generated",
            Trust::Validated => "validated",
            Trust::CommunityReviewed => "community_reviewed",
            Trust::Certified => "certified",
        }
    }

    /// The level of this name, in either vocabulary.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "untested" | "untrusted" => Trust::Untested,
            "generated" | "low" => Trust::Generated,
            "validated" | "medium" => Trust::Validated,
            "community_reviewed" | "high" => Trust::CommunityReviewed,
            "certified" | "verified" => Trust::Certified,
            _ => return None,
        })
    }

    /// What remains of it when a file says it of itself.
    #[must_use]
    pub fn cap_self_declared(self) -> Self {
        self.min(Trust::Generated)
    }
}

impl std::fmt::Display for Trust {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
