//! The five semantic categories and their permissions (R-END-1).

use serde::{Deserialize, Serialize};

/// What an operation does to data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Category {
    /// Adds something new.
    Create,
    /// Reads and changes nothing.
    Read,
    /// Changes existing data.
    Update,
    /// Removes existing data.
    Delete,
    /// Runs or triggers something.
    Execute,
}

/// The two permission flags of a category.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Permissions {
    /// Changes nothing.
    pub read_only: bool,
    /// Can overwrite, remove or trigger something.
    pub destructive: bool,
}

impl Category {
    /// All categories, in the order of the name CRUDE.
    pub const ALL: [Category; 5] =
        [Category::Create, Category::Read, Category::Update, Category::Delete, Category::Execute];

    /// The name in the protocol.
    pub const fn as_str(self) -> &'static str {
        match self {
            Category::Create => "CREATE",
            Category::Read => "READ",
            Category::Update => "UPDATE",
            Category::Delete => "DELETE",
            Category::Execute => "EXECUTE",
        }
    }

    /// The permissions of the category.
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
