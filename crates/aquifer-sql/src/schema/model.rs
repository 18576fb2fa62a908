//! What reflection found: tables as the database has them, nothing yet of how they are offered.

use std::sync::Arc;

use aquifer_protocol::schema::Comparison;
use aquifer_query::FieldType;

use crate::schema::column_defaults::ColumnDefault;
use crate::schema::column_rules::ColumnRules;
use crate::schema::time_style::TimeStyle;
use crate::statement::{Fragment, Name};

/// Everything found in a database.
#[derive(Debug, Clone, Default)]
pub(crate) struct Model {
    pub(crate) tables: Vec<Table>,
    /// Where values of one column can be seen in another one.
    pub(crate) flows: Vec<Flow>,
    /// Tables that exist but that the configuration leaves out.
    pub(crate) excluded: Vec<ExcludedTable>,
}

/// A table that exists but that the configuration leaves out.
#[derive(Debug, Clone)]
pub(crate) struct ExcludedTable {
    pub(crate) schema: Option<Arc<str>>,
    pub(crate) name: Arc<str>,
    pub(crate) columns: Vec<Arc<str>>,
}

impl ExcludedTable {
    /// A column of it among those of all tables.
    pub(crate) fn column_id(&self, column: &str) -> ColumnId {
        ColumnId::new(self.schema.as_deref(), &self.name, column)
    }

    /// Whether it has columns of all these names.
    pub(crate) fn has_columns(&self, columns: &[String]) -> bool {
        columns.iter().all(|column| self.columns.iter().any(|known| **known == **column))
    }
}

/// Values of one column can be seen in another: a generated column, a column of a view, a reference.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Flow {
    pub(crate) from: ColumnId,
    pub(crate) to: ColumnId,
}

/// A column of any table, whether that is offered or not.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ColumnId {
    table: Arc<str>,
    column: Arc<str>,
}

impl ColumnId {
    /// A column of a table, with the schema where the database has them.
    pub(crate) fn new(schema: Option<&str>, table: &str, column: &str) -> Self {
        match schema {
            Some(schema) => Self::for_postgres(schema, table, column),
            None => Self::for_sqlite(table, column),
        }
    }

    /// A column of SQLite, where case does not matter.
    pub(crate) fn for_sqlite(table: &str, column: &str) -> Self {
        Self { table: table.to_ascii_lowercase().into(), column: column.to_ascii_lowercase().into() }
    }

    /// A column of PostgreSQL.
    pub(crate) fn for_postgres(schema: &str, table: &str, column: &str) -> Self {
        Self { table: format!("{schema}.{table}").into(), column: column.into() }
    }

    /// Whatever a view reads, as one: what its columns may show that are no columns of tables.
    pub(crate) fn whole_table(&self) -> Self {
        Self { table: self.table.clone(), column: "".into() }
    }

    pub(crate) fn column(&self) -> &str {
        &self.column
    }

    /// The table's name with its schema, where there is one.
    pub(crate) fn full_table(&self) -> &str {
        &self.table
    }

    /// The table's name without its schema.
    pub(crate) fn table(&self) -> &str {
        self.table.rsplit_once('.').map_or(&*self.table, |(_, table)| table)
    }

    /// Whether it stands for everything that a view reads.
    pub(crate) fn is_whole_table(&self) -> bool {
        self.column.is_empty()
    }

    /// Whether it is a column of the same table.
    pub(crate) fn is_same_table(&self, other: &Self) -> bool {
        self.table == other.table
    }
}

/// A table or a view.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    /// The schema, where the database has them.
    pub(crate) schema: Option<Arc<str>>,
    pub(crate) name: Arc<str>,
    /// The quoted name, with the schema.
    pub(crate) quoted: Name,
    pub(crate) comment: Option<Arc<str>>,
    pub(crate) columns: Vec<Column>,
    pub(crate) key: Key,
    /// Where the key is a unique one that was chosen: what takes its place if it shows what is hidden. Other keys stay.
    pub(crate) key_fallback: Option<KeyFallback>,
    pub(crate) unique: Vec<UniqueConstraint>,
    pub(crate) checks: Vec<CheckConstraint>,
    pub(crate) foreign: Vec<ForeignKey>,
    /// The tables that its rows are seen through, by schema and name: those it inherits from, by however many steps.
    pub(crate) inherits: Vec<(Arc<str>, Arc<str>)>,
    pub(crate) index: Option<TextIndex>,
    /// What may be done to its rows.
    pub(crate) may: TablePermissions,
    /// Whether the database has a function that hashes whole rows.
    pub(crate) hashes: bool,
    /// Whether it says what becomes of rows that conflict with others (SQLite's `ON CONFLICT`).
    pub(crate) resolves_conflicts: bool,
    /// Columns that exist but cannot be offered: this user may not read them, or they only serve an index.
    pub(crate) unlisted: Vec<Arc<str>>,
    /// Columns that are kept from callers.
    pub(crate) withheld: WithheldColumns,
    /// How changes can be rehearsed.
    pub(crate) dry_run: DryRunSupport,
}

/// How changes of a table can be rehearsed: done, and undone.
#[derive(Debug, Clone, Default)]
pub(crate) struct DryRunSupport {
    /// Whether creating a row leaves no trace once it is undone.
    pub(crate) create: bool,
    pub(crate) update: bool,
    pub(crate) delete: bool,
    /// Columns whose defaults cannot be tried: drawing from a sequence is never undone.
    pub(crate) untestable: Vec<UntestableDefault>,
    /// The state of the catalog that this was read from, where it can change unnoticed.
    pub(crate) fingerprint: Option<Arc<str>>,
}

impl DryRunSupport {
    /// Of a database that undoes everything.
    pub(crate) const COMPLETE: Self =
        Self { create: true, update: true, delete: true, untestable: Vec::new(), fingerprint: None };
}

/// A column whose default must not be tried.
#[derive(Debug, Clone)]
pub(crate) struct UntestableDefault {
    pub(crate) name: Arc<str>,
    pub(crate) quoted: Name,
    /// Whether it takes a value of ours only if that is insisted on.
    pub(crate) is_identity: bool,
    /// The sequences it draws from.
    pub(crate) draws_from: Vec<i64>,
    pub(crate) prediction: DefaultPrediction,
}

/// What can be known of a default without trying it.
#[derive(Debug, Clone)]
pub(crate) enum DefaultPrediction {
    /// The value it would have, as an expression that changes nothing.
    Predicted(Fragment),
    /// This user may not draw it: without a value for the column no row can be made.
    Refused,
    /// Nothing.
    Unknown,
}

/// Columns that are kept from callers, although the database would show them.
#[derive(Debug, Clone, Default)]
pub(crate) struct WithheldColumns {
    /// Every one of them. Their names must not appear in messages.
    pub(crate) columns: Vec<Arc<str>>,
    /// Those that callers are told of: their names look like secrets.
    pub(crate) secrets: Vec<Arc<str>>,
    /// Whether a row needs a value in one of them, so that nobody can create one.
    pub(crate) prevents_create: bool,
    /// References by columns among them. They cascade all the same.
    pub(crate) foreign: Vec<ForeignKey>,
}

/// What may be done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TablePermissions {
    pub(crate) insert: bool,
    pub(crate) update: bool,
    pub(crate) delete: bool,
}

impl TablePermissions {
    pub(crate) const NONE: Self = Self { insert: false, update: false, delete: false };
}

/// What tells one row from every other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Key {
    /// These columns, by position.
    Columns(Vec<usize>),
    /// Something the database keeps and callers do not see: it orders rows, but does not name them.
    Hidden(Fragment),
    /// Nothing: pages can only be counted.
    None,
}

/// What tells rows apart in place of a unique key that was chosen as the key.
#[derive(Debug, Clone)]
pub(crate) enum KeyFallback {
    /// This column, which the database has in any case.
    Column(Box<Column>),
    Nothing,
}

#[derive(Debug, Clone)]
pub(crate) struct Column {
    /// Its name. In a table that is offered this is the one name that callers use for it (`field_names.rs`).
    pub(crate) name: Arc<str>,
    /// What the database calls it.
    pub(crate) sql_name: Arc<str>,
    pub(crate) quoted: Name,
    pub(crate) of: FieldType,
    /// Whether the type was guessed from some values.
    pub(crate) is_guessed: bool,
    pub(crate) store: Store,
    pub(crate) nullable: bool,
    /// Whether a row can be made without it.
    pub(crate) has_default: bool,
    /// Whether the database alone sets it.
    pub(crate) generated: bool,
    pub(crate) comment: Option<Arc<str>>,
    /// The most characters of text.
    pub(crate) length: Option<u64>,
    /// The least and the greatest of whole numbers; of others, what they must not reach.
    pub(crate) range: Option<(f64, f64)>,
    /// What constraints demand of its values.
    pub(crate) rules: ColumnRules,
    /// What a new row holds if nobody says otherwise, as far as callers can know.
    pub(crate) default: Option<ColumnDefault>,
    pub(crate) may_insert: bool,
    pub(crate) may_update: bool,
    /// How the database compares two values that are text to callers.
    pub(crate) comparison: Comparison,
    /// Whether an index may be on it. Of views nobody knows.
    pub(crate) may_have_index: bool,
}

impl Column {
    /// Whether no row can be made without a value for it.
    pub(crate) fn is_required(&self) -> bool {
        !self.nullable && !self.has_default && !self.generated
    }

    /// Whether PostgreSQL has a type for it that means nothing here.
    pub(crate) fn is_shown_as_text(&self) -> bool {
        matches!(&self.store, Store::Postgres(store) if store.read == PostgresRead::AsText)
    }
}

/// How a column's values are kept: what decides how they are read, compared and written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Store {
    Sqlite(SqliteStore),
    Postgres(PostgresStore),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SqliteStore {
    /// As SQLite keeps it.
    Plain,
    /// 0 or 1.
    Boolean,
    /// A time, written in this way as far as some values tell.
    Time(TimeStyle),
    /// JSON, as text or in SQLite's own binary form.
    Json,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PostgresStore {
    /// The type operands are cast to.
    pub(crate) cast: Fragment,
    /// The same with its length or its digits, which only what is kept must have.
    pub(crate) whole: Fragment,
    pub(crate) read: PostgresRead,
}

/// How PostgreSQL is asked for a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PostgresRead {
    /// In its own binary form.
    Integer,
    Float,
    Boolean,
    Text,
    Time,
    Date,
    Uuid,
    Bytes,
    Json,
    Jsonb,
    /// As text, which is a number.
    Decimal,
    /// As text, also for comparing: types without an order of use to anybody.
    AsText,
    /// As text; compared and sorted as what it is.
    Native,
    /// As text; compared as what it is.
    Word,
    /// As JSON that the database makes.
    MadeJson,
}

#[derive(Debug, Clone)]
pub(crate) struct UniqueConstraint {
    pub(crate) name: Arc<str>,
    pub(crate) columns: Vec<Arc<str>>,
}

#[derive(Debug, Clone)]
pub(crate) struct CheckConstraint {
    pub(crate) name: Arc<str>,
    pub(crate) columns: Vec<Arc<str>>,
    /// What must not be false, where the database tells it for a row.
    pub(crate) expression: Option<Fragment>,
}

/// Rows here refer to rows there.
#[derive(Debug, Clone)]
pub(crate) struct ForeignKey {
    /// The constraint's name, where it has one.
    pub(crate) name: Option<Arc<str>>,
    pub(crate) columns: Vec<Arc<str>>,
    pub(crate) to_schema: Option<Arc<str>>,
    pub(crate) to_table: Arc<str>,
    /// As the database calls them.
    pub(crate) to_columns: Vec<Arc<str>>,
    /// What becomes of rows here when the row there goes.
    pub(crate) on_delete: OnDelete,
}

impl ForeignKey {
    /// Whether this is the table that it refers to.
    pub(crate) fn references_table(&self, table: &Table) -> bool {
        table.matches_name(self.to_schema.as_deref(), &self.to_table)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnDelete {
    Refuse,
    Cascade,
    Clear,
}

/// A full-text index.
#[derive(Debug, Clone)]
pub(crate) enum TextIndex {
    /// An FTS5 table, and the column of this table that its row numbers are in.
    Fts5 { quoted: Name, columns: Vec<Arc<str>>, rowid: Name, sources: Vec<ColumnId> },
    /// A tsvector, kept or indexed, its configuration, and the columns its words are from, if that is known.
    Vector { vector: Fragment, configuration: Fragment, columns: Vec<Arc<str>>, sources: Vec<ColumnId> },
}

impl TextIndex {
    /// Every column whose words may be in the index. Whoever may search it learns what is in them.
    pub(crate) fn sources(&self) -> &[ColumnId] {
        match self {
            TextIndex::Fts5 { sources, .. } | TextIndex::Vector { sources, .. } => sources,
        }
    }
}

impl Table {
    /// Its name with the schema, where there is one: what tells it from every other table.
    pub(crate) fn full_name(&self) -> String {
        match &self.schema {
            Some(schema) => format!("{schema}.{}", self.name),
            None => self.name.to_string(),
        }
    }

    /// Whether a reference to this name means it.
    pub(crate) fn matches_name(&self, schema: Option<&str>, name: &str) -> bool {
        match &self.schema {
            Some(own) => Some(&**own) == schema && *self.name == *name,
            // SQLite reports the name as it was written in the reference.
            None => self.name.eq_ignore_ascii_case(name),
        }
    }

    /// Gives up a key that was chosen.
    pub(crate) fn replace_chosen_key(&mut self) {
        match self.key_fallback.take() {
            Some(KeyFallback::Column(column)) => {
                self.columns.insert(0, *column);
                self.key = Key::Columns(vec![0]);
            }
            Some(KeyFallback::Nothing) => self.key = Key::None,
            None => {}
        }
    }

    /// A column of this table among those of all tables.
    pub(crate) fn column_id(&self, column: &str) -> ColumnId {
        ColumnId::new(self.schema.as_deref(), &self.name, column)
    }

    /// Whether the column exists but callers are not to know of it.
    pub(crate) fn is_withheld(&self, column: &str) -> bool {
        let mut all = self.withheld.columns.iter().chain(&self.unlisted);
        all.any(|name| name.eq_ignore_ascii_case(column))
    }

    /// Whether somebody's words mention a column that callers are not to know of.
    pub(crate) fn mentions_withheld(&self, words: &str) -> bool {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let mut all = self.withheld.columns.iter().filter(|name| !name.is_empty());
        let (words, any) = (words.to_lowercase(), !self.withheld.columns.is_empty());
        any && all.any(|name| {
            let name = name.to_lowercase();
            words.match_indices(&name).any(|(start, found)| {
                let before = words.get(..start).and_then(|text| text.chars().next_back());
                let after = words.get(start + found.len()..).and_then(|text| text.chars().next());
                !before.is_some_and(is_part) && !after.is_some_and(is_part)
            })
        })
    }

    /// The column that callers or the database call so. No two columns can be meant: a column whose own name can be used
    /// by callers keeps it.
    pub(crate) fn column(&self, name: &str) -> Option<&Column> {
        let by_name = self.columns.iter().find(|column| &*column.name == name);
        by_name.or_else(|| self.columns.iter().find(|column| &*column.sql_name == name))
    }

    /// The columns that the constraint of this name is about.
    pub(crate) fn constraint_columns(&self, name: &str) -> Option<&[Arc<str>]> {
        let unique = self.unique.iter().find(|known| &*known.name == name).map(|known| &known.columns);
        let check = || self.checks.iter().find(|known| &*known.name == name).map(|known| &known.columns);
        let foreign =
            || self.foreign.iter().find(|known| known.name.as_deref() == Some(name)).map(|known| &known.columns);
        unique.or_else(check).or_else(foreign).map(Vec::as_slice)
    }

    /// The columns of the key, if it has any that callers see.
    pub(crate) fn key_columns(&self) -> impl Iterator<Item = &Column> {
        let positions = match &self.key {
            Key::Columns(positions) => positions.as_slice(),
            Key::Hidden(_) | Key::None => &[],
        };
        positions.iter().filter_map(|position| self.columns.get(*position))
    }
}
