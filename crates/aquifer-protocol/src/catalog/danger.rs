//! Danger levels of operations, and the name patterns that imply them (R-SAF-1).
//!
//! The patterns are a table because classification and policy both read it.

use serde::{Deserialize, Serialize};

use crate::category::Category;

/// How much harm an operation can do, lowest level first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Danger {
    /// Changes nothing.
    Safe,
    /// Changes that can be undone.
    Reversible,
    /// Removes or overwrites something for good.
    Destructive,
    /// Affects much at once, or bypasses a safety check.
    Dangerous,
    /// Must not be run by an agent.
    Forbidden,
}

/// The position of a pattern's words in a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamePosition {
    /// The name begins with them.
    Start,
    /// The name ends with them.
    End,
    /// Anywhere in the name, as whole words.
    Anywhere,
}

/// Name patterns that imply danger, whatever the category.
pub const PATTERNS: &[(Danger, NamePosition, &str)] = &[
    (Danger::Destructive, NamePosition::Start, "reset"),
    (Danger::Dangerous, NamePosition::Start, "force"),
    (Danger::Dangerous, NamePosition::Start, "override"),
    (Danger::Dangerous, NamePosition::Start, "bypass"),
    (Danger::Dangerous, NamePosition::Start, "purge"),
    (Danger::Dangerous, NamePosition::Anywhere, "bulk_delete"),
    (Danger::Dangerous, NamePosition::End, "permanently"),
    (Danger::Dangerous, NamePosition::End, "without_backup"),
    (Danger::Forbidden, NamePosition::Start, "drop"),
    (Danger::Forbidden, NamePosition::Start, "truncate"),
    (Danger::Forbidden, NamePosition::Start, "destroy"),
    (Danger::Forbidden, NamePosition::Start, "wipe"),
    (Danger::Forbidden, NamePosition::Anywhere, "delete_all"),
    (Danger::Forbidden, NamePosition::End, "production"),
];

impl Danger {
    /// Every level, lowest first.
    pub const ALL: [Danger; 5] =
        [Danger::Safe, Danger::Reversible, Danger::Destructive, Danger::Dangerous, Danger::Forbidden];

    /// The level of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|danger| danger.as_str() == name)
    }

    /// The name in the protocol.
    pub const fn as_str(self) -> &'static str {
        match self {
            Danger::Safe => "safe",
            Danger::Reversible => "reversible",
            Danger::Destructive => "destructive",
            Danger::Dangerous => "dangerous",
            Danger::Forbidden => "forbidden",
        }
    }

    /// The level of an operation that declares none: that of the most dangerous matching pattern, otherwise that of the
    /// category.
    ///
    /// A READ is always safe, whatever its name: `get_reset_status` resets nothing.
    pub fn infer(name: &str, category: Category) -> Danger {
        let by_category = match category {
            Category::Read => return Danger::Safe,
            Category::Create | Category::Update | Category::Execute => Danger::Reversible,
            Category::Delete => Danger::Destructive,
        };
        PATTERNS
            .iter()
            .filter(|(_, position, words)| name_contains_at(name, *position, words))
            .map(|(danger, _, _)| *danger)
            .fold(by_category, Ord::max)
    }
}

fn name_contains_at(name: &str, position: NamePosition, words: &str) -> bool {
    let bounded = |rest: Option<&str>| rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'));
    match position {
        NamePosition::Start => bounded(name.strip_prefix(words)),
        NamePosition::End => name.strip_suffix(words).is_some_and(|rest| rest.is_empty() || rest.ends_with('_')),
        NamePosition::Anywhere => name.match_indices(words).any(|(index, _)| {
            let before = name.get(..index).unwrap_or_default();
            (before.is_empty() || before.ends_with('_')) && bounded(name.get(index + words.len()..))
        }),
    }
}

impl std::fmt::Display for Danger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
