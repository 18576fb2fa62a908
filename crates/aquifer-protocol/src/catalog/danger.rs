//! Danger levels of operations, and the name patterns that imply them (R-SAF-1).
//!
//! The patterns are data because classification and policy read the same table.

use serde::{Deserialize, Serialize};

use crate::category::Category;

/// How much harm an operation can do, least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Danger {
    /// Changes nothing.
    Safe,
    /// What it changes can be changed back.
    Reversible,
    /// What it removes or overwrites is gone.
    Destructive,
    /// Touches much, or skips a safety.
    Dangerous,
    /// Should not be done by an agent.
    Forbidden,
}

/// Where in a name the words of a pattern occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The name begins with them.
    Start,
    /// The name ends with them.
    End,
    /// Anywhere in the name, as whole words.
    Anywhere,
}

/// Names that reveal danger, whatever the category.
pub const PATTERNS: &[(Danger, Place, &str)] = &[
    (Danger::Dangerous, Place::Start, "force"),
    (Danger::Dangerous, Place::Start, "override"),
    (Danger::Dangerous, Place::Start, "bypass"),
    (Danger::Dangerous, Place::Start, "purge"),
    (Danger::Dangerous, Place::Anywhere, "bulk_delete"),
    (Danger::Dangerous, Place::End, "permanently"),
    (Danger::Dangerous, Place::End, "without_backup"),
    (Danger::Forbidden, Place::Start, "drop"),
    (Danger::Forbidden, Place::Start, "truncate"),
    (Danger::Forbidden, Place::Start, "reset"),
    (Danger::Forbidden, Place::Start, "destroy"),
    (Danger::Forbidden, Place::Start, "wipe"),
    (Danger::Forbidden, Place::Anywhere, "delete_all"),
    (Danger::Forbidden, Place::End, "production"),
];

impl Danger {
    /// Every level, least first.
    pub const ALL: [Danger; 5] =
        [Danger::Safe, Danger::Reversible, Danger::Destructive, Danger::Dangerous, Danger::Forbidden];

    /// The level of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|danger| danger.as_str() == name)
    }

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Danger::Safe => "safe",
            Danger::Reversible => "reversible",
            Danger::Destructive => "destructive",
            Danger::Dangerous => "dangerous",
            Danger::Forbidden => "forbidden",
        }
    }

    /// The level of an operation that declares none: the highest matching pattern, else the category's own.
    ///
    /// A READ stays safe whatever it is called: `get_reset_status` resets nothing.
    pub fn infer(name: &str, category: Category) -> Danger {
        let by_category = match category {
            Category::Read => return Danger::Safe,
            Category::Create | Category::Update | Category::Execute => Danger::Reversible,
            Category::Delete => Danger::Destructive,
        };
        PATTERNS
            .iter()
            .filter(|(_, place, words)| stands(name, *place, words))
            .map(|(danger, _, _)| *danger)
            .fold(by_category, Ord::max)
    }
}

fn stands(name: &str, place: Place, words: &str) -> bool {
    let bounded = |rest: Option<&str>| rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'));
    match place {
        Place::Start => bounded(name.strip_prefix(words)),
        Place::End => name.strip_suffix(words).is_some_and(|rest| rest.is_empty() || rest.ends_with('_')),
        Place::Anywhere => name.match_indices(words).any(|(index, _)| {
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
