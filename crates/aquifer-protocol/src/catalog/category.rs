//! The five semantic categories and what they permit (R-END-1).

use serde::{Deserialize, Serialize};

/// What an operation does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Category {
    /// Adds something new.
    Create,
    /// Looks and changes nothing.
    Read,
    /// Changes what exists.
    Update,
    /// Removes what exists.
    Delete,
    /// Makes something happen.
    Execute,
}

/// The two permission flags of a category.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Permissions {
    /// Changes nothing.
    pub read_only: bool,
    /// Can overwrite, remove or set off something.
    pub destructive: bool,
}

impl Category {
    /// All five, in the order the name CRUDE gives them.
    pub const ALL: [Category; 5] =
        [Category::Create, Category::Read, Category::Update, Category::Delete, Category::Execute];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Category::Create => "CREATE",
            Category::Read => "READ",
            Category::Update => "UPDATE",
            Category::Delete => "DELETE",
            Category::Execute => "EXECUTE",
        }
    }

    /// What the category permits.
    pub const fn permissions(self) -> Permissions {
        match self {
            Category::Read => Permissions { read_only: true, destructive: false },
            Category::Create => Permissions { read_only: false, destructive: false },
            Category::Update | Category::Delete | Category::Execute => {
                Permissions { read_only: false, destructive: true }
            }
        }
    }
}

impl std::fmt::Display for Category {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
