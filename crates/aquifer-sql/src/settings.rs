//! What an operator says about a database.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use aquifer_protocol::case::snake_identifier;
use aquifer_query::FieldType;
use aquifer_query::collection::Pages;

use crate::percent;
use crate::table_filter::TableFilter;

/// Everything an operator can say about a database.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The source's name.
    pub name: String,
    /// Where it is.
    pub target: Target,
    /// The PostgreSQL schemas to offer, the first without a prefix. Empty is `public`.
    pub schemas: Vec<String>,
    /// Only these tables: patterns of [`aquifer_protocol::glob`]. Empty is all.
    pub include: Vec<String>,
    /// Not these tables.
    pub exclude: Vec<String>,
    /// Offer nothing that changes anything.
    pub read_only: bool,
    /// Operations for each table, or one set for all.
    pub style: Style,
    /// What to say of single tables.
    pub tables: BTreeMap<String, TableSettings>,
    /// How long one statement may take.
    pub timeout: Duration,
    /// The most connections at once.
    pub connections: usize,
    /// How pages are cut.
    pub pages: Pages,
}

/// Where a database is.
#[derive(Clone)]
pub enum Target {
    /// A SQLite file.
    Sqlite(PathBuf),
    /// A SQLite database in the memory of this process, made by [`memory_name`] and alive as long as a connection is.
    Memory(String),
    /// A PostgreSQL server, as a URL.
    Postgres(String),
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Target::Sqlite(path) => write!(f, "Sqlite({})", path.display()),
            Target::Memory(name) => write!(f, "Memory({name})"),
            // It may hold a password.
            Target::Postgres(_) => f.write_str("Postgres(…)"),
        }
    }
}

/// What SQLite calls a database in memory that all connections of this process share.
pub fn memory_name(name: &str) -> String {
    format!("file:/{name}?vfs=memdb")
}

/// How tables become operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// By table, unless there are very many.
    #[default]
    Auto,
    /// `list_orders`, `get_order`, …
    Tables,
    /// `list_records` with `table_name`, …
    Generic,
}

/// With more tables than this, [`Style::Auto`] is generic.
pub const MAX_TABLES: usize = 50;

/// What an operator says about a table.
#[derive(Debug, Clone, Default)]
pub struct TableSettings {
    /// What one of its rows is called.
    pub singular: Option<String>,
    /// What several of them are called.
    pub plural: Option<String>,
    /// What it is about, instead of its comment.
    pub description: Option<String>,
    /// Named selections of fields.
    pub presets: BTreeMap<String, Vec<String>>,
    /// The columns that tell rows apart, where the database does not say: for views.
    pub key: Vec<String>,
    /// Columns that nobody is to see or change.
    pub hide: Vec<String>,
    /// Columns that are served although their names look like secrets.
    pub show: Vec<String>,
    /// Values derived from each row.
    pub computed: Vec<ComputedSettings>,
}

/// A value derived from each row.
#[derive(Debug, Clone)]
pub struct ComputedSettings {
    /// Its name under `_computed`.
    pub name: String,
    /// The expression, over the table's columns.
    pub sql: String,
    /// What kind of value it is.
    pub of: FieldType,
    /// What it means.
    pub description: Option<String>,
    /// Whether filters may use it.
    pub filterable: bool,
    /// Whether sorting may use it.
    pub sortable: bool,
}

/// Why a target is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a database: use sqlite:PATH, a path that ends in .db or .sqlite, or postgres://USER@HOST/DATABASE"
)]
pub struct NotADatabase(String);

impl Settings {
    /// The database that a person means, with everything at its default.
    pub fn new(name: &str, target: &str) -> Result<Self, NotADatabase> {
        let target = Target::parse(target).ok_or_else(|| NotADatabase(Target::without_secrets(target)))?;
        Ok(Self::of(name, target))
    }

    /// A database with everything at its default.
    pub fn of(name: &str, target: Target) -> Self {
        Self {
            name: name.to_owned(),
            target,
            schemas: Vec::new(),
            include: Vec::new(),
            exclude: Vec::new(),
            read_only: false,
            style: Style::Auto,
            tables: BTreeMap::new(),
            timeout: Duration::from_secs(30),
            connections: 8,
            pages: Pages::default(),
        }
    }

    /// Whether so many tables are served by one set of operations.
    pub(crate) fn is_generic(&self, tables: usize) -> bool {
        match self.style {
            Style::Tables => false,
            Style::Generic => true,
            Style::Auto => tables > MAX_TABLES,
        }
    }

    /// Everything that is wrong with the patterns of `include` and `exclude`.
    pub fn pattern_problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        TableFilter::new(self, |problem| problems.push(problem));
        problems
    }

    /// The schema whose tables are called by their names alone.
    pub(crate) fn first_schema(&self) -> &str {
        self.schemas.first().map_or("public", String::as_str)
    }

    /// The PostgreSQL schemas that are offered.
    pub(crate) fn offered_schemas(&self) -> Vec<String> {
        if self.schemas.is_empty() { vec!["public".to_owned()] } else { self.schemas.clone() }
    }

    /// What was said of a table, by its name or by schema and name.
    pub(crate) fn table(&self, schema: Option<&str>, table: &str) -> Option<&TableSettings> {
        self.entry(schema, table).map(|(_, said)| said)
    }

    /// The same with the name it was said under.
    pub(crate) fn entry(&self, schema: Option<&str>, table: &str) -> Option<(&String, &TableSettings)> {
        let full = schema.and_then(|schema| self.tables.get_key_value(&format!("{schema}.{table}")));
        // A table of a schema that is not offered is meant only where the schema is named.
        let is_offered = |schema: &str| {
            if self.schemas.is_empty() { schema == "public" } else { self.schemas.iter().any(|known| known == schema) }
        };
        let bare = || self.tables.get_key_value(table).filter(|_| schema.is_none_or(is_offered));
        let folded = || {
            let table = self.ignores_case().then(|| self.fold(table))?;
            self.tables.iter().find(|(name, _)| self.fold(name) == table)
        };
        full.or_else(bare).or_else(folded)
    }

    /// The name of a table in the form in which it is compared. SQLite ignores the case of plain letters, so that another
    /// case is not another table.
    pub(crate) fn fold<'a>(&self, name: &'a str) -> Cow<'a, str> {
        if self.ignores_case() && name.contains(|letter: char| letter.is_ascii_uppercase()) {
            Cow::Owned(name.to_ascii_lowercase())
        } else {
            Cow::Borrowed(name)
        }
    }

    /// Whether case does not matter in the names of tables.
    pub(crate) fn ignores_case(&self) -> bool {
        matches!(self.target, Target::Sqlite(_) | Target::Memory(_))
    }
}

impl Target {
    /// The database that a person means.
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

    /// What a source of this target is called if nobody says: the file's or the database's name.
    pub fn name(&self) -> String {
        let name = match self {
            Target::Sqlite(path) => path.file_stem().map(|stem| stem.to_string_lossy().into_owned()),
            Target::Memory(name) => Some(name.clone()),
            Target::Postgres(url) => {
                // A password may have a slash in it.
                let place =
                    url.split_once("://").map(|(_, rest)| rest.rsplit_once('@').map_or(rest, |(_, place)| place));
                let path = place.and_then(|place| place.split_once('/')).map(|(_, path)| path);
                let name = path.and_then(|path| path.split(['?', '/']).next());
                name.map(|name| percent::decode(name).unwrap_or_else(|| name.to_owned()))
            }
        };
        let name = snake_identifier(&name.unwrap_or_default());
        if name.is_empty() { "database".to_owned() } else { name }
    }

    /// Which file it is, however it was written; nothing for what ends with the process.
    pub(crate) fn place(&self) -> Option<String> {
        match self {
            Target::Sqlite(path) => {
                let whole = std::fs::canonicalize(path).or_else(|_| std::path::absolute(path));
                Some(format!("sqlite {}", whole.unwrap_or_else(|_| path.clone()).display()))
            }
            Target::Memory(_) | Target::Postgres(_) => None,
        }
    }

    /// A target for messages: whatever may be a password is left out.
    pub fn without_secrets(text: &str) -> String {
        if matches!(Self::parse(text), Some(Target::Sqlite(path)) if !path.to_string_lossy().contains("://")) {
            return text.to_owned();
        }
        let shown = match text.rsplit_once('@') {
            Some((secret, place)) => {
                let scheme = secret.split_inclusive("://").next().filter(|scheme| scheme.len() < secret.len());
                format!("{}…@{place}", scheme.unwrap_or_default())
            }
            None => text.to_owned(),
        };
        // Among options anything may stand.
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
