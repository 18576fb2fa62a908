//! The location of the database that a source serves.

use std::path::PathBuf;

/// The location of a database.
#[derive(Clone)]
pub enum Target {
    /// A SQLite file.
    Sqlite(PathBuf),
    /// An in-memory SQLite database of this process, see [`memory_name`]. It exists as long as a connection does.
    Memory(String),
    /// The URL of a PostgreSQL database.
    Postgres(String),
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Target::Sqlite(path) => write!(f, "Sqlite({})", path.display()),
            Target::Memory(name) => write!(f, "Memory({name})"),
            // The URL may contain a password.
            Target::Postgres(_) => f.write_str("Postgres(…)"),
        }
    }
}

/// The SQLite URI of an in-memory database that all connections of this process share.
pub fn memory_name(name: &str) -> String {
    format!("file:/{name}?vfs=memdb")
}

/// A target that is not a database.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a database: use sqlite:PATH, a path that ends in .db or .sqlite, or postgres://USER@HOST/DATABASE"
)]
pub struct TargetError(pub(super) String);

/// Why a build without the driver refuses a PostgreSQL target.
const NO_POSTGRES: &str = "this build has no PostgreSQL support: it was compiled without the feature 'postgres'";

impl Target {
    /// Why this build cannot serve the target, if it was compiled without support for it.
    pub fn unsupported(&self) -> Option<&'static str> {
        (matches!(self, Target::Postgres(_)) && !cfg!(feature = "postgres")).then_some(NO_POSTGRES)
    }

    /// Parses a target as a user writes it.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(path) = text.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return (!path.is_empty()).then(|| Target::Sqlite(path.into()));
        }
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Some(Target::Postgres(text.to_owned()));
        }
        let is_file = [".db", ".sqlite", ".sqlite3"].iter().any(|ending| text.ends_with(ending));
        is_file.then(|| Target::Sqlite(text.into()))
    }

    /// Identifies the file, however the path was written; `None` for in-memory databases.
    pub(crate) fn location(&self) -> Option<String> {
        match self {
            Target::Sqlite(path) => {
                let whole = std::fs::canonicalize(path).or_else(|_| std::path::absolute(path));
                Some(format!("sqlite {}", whole.unwrap_or_else(|_| path.clone()).display()))
            }
            Target::Memory(_) | Target::Postgres(_) => None,
        }
    }

    /// A target without possible passwords, for messages.
    pub fn without_secrets(text: &str) -> String {
        if matches!(Self::parse(text), Some(Target::Sqlite(path)) if !path.to_string_lossy().contains("://")) {
            return text.to_owned();
        }
        let shown = match text.rsplit_once('@') {
            Some((secret, location)) => {
                let scheme = secret.split_inclusive("://").next().filter(|scheme| scheme.len() < secret.len());
                format!("{}…@{location}", scheme.unwrap_or_default())
            }
            None => text.to_owned(),
        };
        // Any option may be a secret.
        match shown.split_inclusive(['?', '=']).next() {
            Some(before) if before.len() < shown.len() => format!("{before}…"),
            _ => shown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets() {
        for (text, name) in [
            ("sqlite:/a/My Shop.db", Some("my_shop")),
            ("x.sqlite", Some("x")),
            ("postgres://u:p@h:5432/shop?sslmode=require", Some("shop")),
            ("postgres://h/my%20shop%2D2", Some("my_shop_2")),
            ("postgres://h/50%", Some("n50")),
            ("postgresql://h", Some("database")),
            ("mysql://x", None),
            ("sqlite:", None),
        ] {
            assert_eq!(Target::parse(text).map(|target| target.name()).as_deref(), name, "{text}");
        }
    }

    #[test]
    fn secrets_are_left_out() {
        for (text, shown) in [
            ("postgres://u:secret@h/x", "postgres://…@h/x"),
            ("postgres://u:a/secret@h/x", "postgres://…@h/x"),
            ("postgres://u:a@secret@h/x?password=secret", "postgres://…@h/x?…"),
            ("postgres:u:secret@h/x", "…@h/x"),
            ("host=h password=secret", "host=…"),
            ("mysql://x", "mysql://x"),
            ("sqlite:/of/me@work/shop?a=1.db", "sqlite:/of/me@work/shop?a=1.db"),
        ] {
            assert_eq!(Target::without_secrets(text), shown);
            let name = Target::parse(text).map(|target| target.name());
            assert!(name.is_none_or(|name| !name.contains("secret")), "{text}");
        }
    }
}
