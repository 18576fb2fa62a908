//! What an operator says about a database.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use aquifer_query::FieldType;
use aquifer_query::collection::Pages;

use super::{Target, TargetError};

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
pub const AUTO_STYLE_MAX_TABLES: usize = 50;

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

impl Settings {
    /// The database that a person means, with everything at its default.
    pub fn new(name: &str, target: &str) -> Result<Self, TargetError> {
        let target = Target::parse(target).ok_or_else(|| TargetError(Target::without_secrets(target)))?;
        Ok(Self::with_target(name, target))
    }

    /// A database with everything at its default.
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
            pages: Pages::default(),
        }
    }

    /// Whether so many tables are served by one set of operations.
    pub(crate) fn is_generic(&self, tables: usize) -> bool {
        match self.style {
            Style::Tables => false,
            Style::Generic => true,
            Style::Auto => tables > AUTO_STYLE_MAX_TABLES,
        }
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
        self.entry(schema, table).map(|(_, table_settings)| table_settings)
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
