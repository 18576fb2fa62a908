//! The settings of a database source.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use aquifer_query::FieldType;
use aquifer_query::collection::PageLimits;

use super::{Target, TargetError};

/// Everything that can be configured for a database.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The source's name.
    pub name: String,
    /// The database.
    pub target: Target,
    /// The PostgreSQL schemas to offer. Tables of the first have no prefix. Empty means `public`.
    pub schemas: Vec<String>,
    /// Only these tables: patterns of [`aquifer_protocol::glob`]. Empty means all.
    pub include: Vec<String>,
    /// Tables to exclude, as patterns.
    pub exclude: Vec<String>,
    /// Whether only reading operations are offered.
    pub read_only: bool,
    /// Whether each table gets its own operations.
    pub style: Style,
    /// Settings of single tables.
    pub tables: BTreeMap<String, TableSettings>,
    /// The timeout of a statement.
    pub timeout: Duration,
    /// The maximum number of connections.
    pub connections: usize,
    /// Page sizes.
    pub pages: PageLimits,
    /// Whether callers may run SELECT statements of their own (`query_sql`).
    pub query_sql: bool,
}

/// How tables become operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// One set of operations for each table, unless there are very many tables.
    #[default]
    Auto,
    /// `list_orders`, `get_order`, …
    Tables,
    /// `list_records` with `table_name`, …
    Generic,
}

/// With more tables than this, [`Style::Auto`] is generic. Callers do not read a whole catalog, so many operations cost
/// them nothing, and a catalog of six thousand operations is still fast to build and search.
pub const AUTO_STYLE_MAX_TABLES: usize = 1_000;

/// The settings of a table.
#[derive(Debug, Clone, Default)]
pub struct TableSettings {
    /// The word for one of its rows.
    pub singular: Option<String>,
    /// The word for several of its rows.
    pub plural: Option<String>,
    /// A description that replaces the table's comment.
    pub description: Option<String>,
    /// Named selections of fields.
    pub presets: BTreeMap<String, Vec<String>>,
    /// The key columns, if the database does not declare them, as for views.
    pub key: Vec<String>,
    /// Columns that callers can neither see nor change.
    pub hide: Vec<String>,
    /// Columns that are offered although their names look like secrets.
    pub show: Vec<String>,
    /// Computed fields.
    pub computed: Vec<ComputedSettings>,
}

/// A computed field.
#[derive(Debug, Clone)]
pub struct ComputedSettings {
    /// Its name under `_computed`.
    pub name: String,
    /// The SQL expression over the table's columns.
    pub sql: String,
    /// The type of its values.
    pub field_type: FieldType,
    /// A description.
    pub description: Option<String>,
    /// Whether filters may use it.
    pub filterable: bool,
    /// Whether sorting may use it.
    pub sortable: bool,
}

impl Settings {
    /// Parses a target, with defaults for everything else.
    pub fn new(name: &str, target: &str) -> Result<Self, TargetError> {
        let target = Target::parse(target).ok_or_else(|| TargetError(Target::without_secrets(target)))?;
        Ok(Self::with_target(name, target))
    }

    /// Settings for a target, with defaults for everything else.
    pub fn with_target(name: &str, target: Target) -> Self {
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
            pages: PageLimits::default(),
            query_sql: false,
        }
    }

    /// Whether this many tables share one set of operations.
    pub(crate) fn is_generic(&self, tables: usize) -> bool {
        match self.style {
            Style::Tables => false,
            Style::Generic => true,
            Style::Auto => tables > AUTO_STYLE_MAX_TABLES,
        }
    }

    /// The schema whose tables have no prefix.
    pub(crate) fn first_schema(&self) -> &str {
        self.schemas.first().map_or("public", String::as_str)
    }

    /// The offered PostgreSQL schemas.
    pub(crate) fn offered_schemas(&self) -> Vec<String> {
        if self.schemas.is_empty() { vec!["public".to_owned()] } else { self.schemas.clone() }
    }

    /// The settings of a table, by name or qualified name.
    pub(crate) fn table(&self, schema: Option<&str>, table: &str) -> Option<&TableSettings> {
        self.entry(schema, table).map(|(_, table_settings)| table_settings)
    }

    /// The settings of a table with the name of their entry.
    pub(crate) fn entry(&self, schema: Option<&str>, table: &str) -> Option<(&String, &TableSettings)> {
        let full = schema.and_then(|schema| self.tables.get_key_value(&format!("{schema}.{table}")));
        // A table in a schema that is not offered has to be qualified.
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

    /// The form of a table name for comparisons. SQLite ignores the case of ASCII letters.
    pub(crate) fn fold<'a>(&self, name: &'a str) -> Cow<'a, str> {
        if self.ignores_case() && name.contains(|character: char| character.is_ascii_uppercase()) {
            Cow::Owned(name.to_ascii_lowercase())
        } else {
            Cow::Borrowed(name)
        }
    }

    /// Whether table names are compared without case.
    pub(crate) fn ignores_case(&self) -> bool {
        matches!(self.target, Target::Sqlite(_) | Target::Memory(_))
    }
}
