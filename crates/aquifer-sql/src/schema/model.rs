//! The reflected schema: tables as the database has them, independent of how they are offered.

use std::sync::Arc;

use aquifer_protocol::schema::Comparison;
use aquifer_query::FieldType;
use aquifer_system::FileId;

use crate::rows::time_digits::TimeDigits;
use crate::schema::column_defaults::ColumnDefault;
use crate::schema::column_rules::ColumnRules;
use crate::schema::time_style::TimeStyle;
use crate::statement::{Fragment, Name};

/// Everything found in a database.
#[derive(Debug, Clone, Default)]
pub(crate) struct Model {
    pub(crate) tables: Vec<Table>,
    /// Columns that show values of other columns.
    pub(crate) derivations: Vec<ColumnDerivation>,
    /// Existing tables that the configuration excludes.
    pub(crate) excluded: Vec<ExcludedTable>,
    /// Tables of sessions and tokens that are not served, because the operator does not name them.
    pub(crate) credential_tables: Vec<String>,
    /// The schema version that was read, if it can change without notice (SQLite).
    pub(crate) stamp: Option<SchemaStamp>,
    /// Why only reading is possible, if the tables could not be written to at the time (SQLite).
    pub(crate) unwritable_reason: Option<String>,
}

/// Identifies a schema: a file, and the number of changes of its schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SchemaStamp {
    pub(crate) file: Option<FileId>,
    pub(crate) version: u32,
}

/// An existing table that the configuration excludes.
#[derive(Debug, Clone)]
pub(crate) struct ExcludedTable {
    pub(crate) schema: Option<Arc<str>>,
    pub(crate) name: Arc<str>,
    pub(crate) columns: Vec<Arc<str>>,
}

impl ExcludedTable {
    /// The identity of one of its columns.
    pub(crate) fn column_id(&self, column: &str) -> ColumnId {
        ColumnId::new(self.schema.as_deref(), &self.name, column)
    }

    /// Whether it has all of these columns.
    pub(crate) fn has_columns(&self, columns: &[String]) -> bool {
        columns.iter().all(|column| self.columns.iter().any(|known| **known == **column))
    }
}

/// A column shows values of another: a generated column, a view column, a reference.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ColumnDerivation {
    pub(crate) from: ColumnId,
    pub(crate) to: ColumnId,
}

/// A column of any table, offered or not.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ColumnId {
    table: Arc<str>,
    column: Arc<str>,
}

impl ColumnId {
    /// A column of a table; the schema is given if the database has schemas.
    pub(crate) fn new(schema: Option<&str>, table: &str, column: &str) -> Self {
        match schema {
            Some(schema) => Self::for_postgres(schema, table, column),
            None => Self::for_sqlite(table, column),
        }
    }

    /// A column in SQLite, which ignores case.
    pub(crate) fn for_sqlite(table: &str, column: &str) -> Self {
        Self { table: table.to_ascii_lowercase().into(), column: column.to_ascii_lowercase().into() }
    }

    /// A column in PostgreSQL.
    pub(crate) fn for_postgres(schema: &str, table: &str, column: &str) -> Self {
        Self { table: format!("{schema}.{table}").into(), column: column.into() }
    }

    /// Represents everything that a view reads, because view columns that are expressions may show any of it.
    pub(crate) fn whole_table(&self) -> Self {
        Self { table: self.table.clone(), column: "".into() }
    }

    pub(crate) fn column(&self) -> &str {
        &self.column
    }

    /// The qualified name of the table.
    pub(crate) fn full_table(&self) -> &str {
        &self.table
    }

    /// The name of the table without its schema.
    pub(crate) fn table(&self) -> &str {
        self.table.rsplit_once('.').map_or(&*self.table, |(_, table)| table)
    }

    /// Whether it represents everything that a view reads.
    pub(crate) fn is_whole_table(&self) -> bool {
        self.column.is_empty()
    }

    /// Whether both are columns of the same table.
    pub(crate) fn is_same_table(&self, other: &Self) -> bool {
        self.table == other.table
    }
}

/// A table or a view.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    /// The schema, if the database has schemas.
    pub(crate) schema: Option<Arc<str>>,
    pub(crate) name: Arc<str>,
    /// The quoted, qualified name.
    pub(crate) quoted: Name,
    pub(crate) comment: Option<Arc<str>>,
    pub(crate) columns: Vec<Column>,
    pub(crate) key: Key,
    /// Whether the key is SQLite's row number. For other keys, `unique` shows whether they are unique: the
    /// configuration may name columns that the database does not keep unique.
    pub(crate) has_rowid_key: bool,
    /// The columns of the declared primary key in SQLite, which references without columns refer to.
    pub(crate) primary_key: Vec<Arc<str>>,
    /// For a substitute key: what replaces it if it shows hidden values. Other keys are not replaced.
    pub(crate) key_fallback: Option<KeyFallback>,
    pub(crate) unique: Vec<UniqueConstraint>,
    pub(crate) checks: Vec<CheckConstraint>,
    pub(crate) foreign: Vec<ForeignKey>,
    /// The tables that it inherits from, directly or not, by schema and name: its rows are also their rows.
    pub(crate) inherits: Vec<(Arc<str>, Arc<str>)>,
    pub(crate) index: Option<TextIndex>,
    /// The permitted changes of its rows.
    pub(crate) may: TablePermissions,
    /// Whether it is a view. Databases do not know which columns of a view may be NULL.
    pub(crate) is_view: bool,
    /// Whether the database can hash whole rows.
    pub(crate) hashes: bool,
    /// Whether its constraints have `ON CONFLICT` clauses (SQLite).
    pub(crate) resolves_conflicts: bool,
    /// Unique keys over expressions or over some rows only, and exclusion constraints.
    pub(crate) opaque_keys: Vec<OpaqueKey>,
    /// Triggers and policies, which may refuse changes.
    pub(crate) change_rules: Vec<ChangeRule>,
    /// Columns that are never offered: this user cannot read them, or they only serve an index.
    pub(crate) unlisted: Vec<Arc<str>>,
    /// Columns that are hidden from callers.
    pub(crate) withheld: WithheldColumns,
    /// How dry runs work for this table.
    pub(crate) dry_run: DryRunSupport,
}

/// How changes of a table can be tried and rolled back.
#[derive(Debug, Clone, Default)]
pub(crate) struct DryRunSupport {
    /// Whether creating a row leaves no trace after the rollback.
    pub(crate) create: bool,
    pub(crate) update: bool,
    pub(crate) delete: bool,
    /// Columns whose defaults cannot be tried, because sequences do not roll back.
    pub(crate) untestable: Vec<UntestableDefault>,
    /// The state of the catalog that this was read from, if it can change without notice.
    pub(crate) fingerprint: Option<Arc<str>>,
}

impl DryRunSupport {
    /// For a database that rolls back everything.
    pub(crate) const COMPLETE: Self =
        Self { create: true, update: true, delete: true, untestable: Vec::new(), fingerprint: None };
}

/// A column whose default must not be tried.
#[derive(Debug, Clone)]
pub(crate) struct UntestableDefault {
    pub(crate) name: Arc<str>,
    pub(crate) quoted: Name,
    /// Whether the column needs `OVERRIDING SYSTEM VALUE` (an identity column).
    pub(crate) is_identity: bool,
    /// The sequences that the default uses.
    pub(crate) draws_from: Vec<i64>,
    pub(crate) prediction: DefaultPrediction,
}

/// The prediction of a default that must not be evaluated.
#[derive(Debug, Clone)]
pub(crate) enum DefaultPrediction {
    /// The expected value, as an expression without side effects.
    Predicted(Fragment),
    /// This user has no permission on the sequence: without a value for the column no row can be created.
    Refused,
    /// The value cannot be predicted.
    Unknown,
}

/// Represents a hidden column of a constraint once fields have their names. No column has this name.
pub(crate) const HIDDEN_COLUMN: &str = "\0";

/// Columns hidden from callers, although the database would show them.
#[derive(Debug, Clone, Default)]
pub(crate) struct WithheldColumns {
    /// All hidden columns. Their names must not appear in messages.
    pub(crate) columns: Vec<Arc<str>>,
    /// The hidden columns that callers are told about, because their names look like secrets.
    pub(crate) secrets: Vec<Arc<str>>,
    /// Whether a row needs a value in one of them, so that callers cannot create rows.
    pub(crate) prevents_create: bool,
    /// References by hidden columns. They cascade all the same.
    pub(crate) foreign: Vec<ForeignKey>,
    /// The names of triggers and policies that read hidden columns, of this table or of another one.
    pub(crate) rules: Vec<Arc<str>>,
}

/// The permitted changes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TablePermissions {
    pub(crate) insert: bool,
    pub(crate) update: bool,
    pub(crate) delete: bool,
}

impl TablePermissions {
    pub(crate) const NONE: Self = Self { insert: false, update: false, delete: false };
}

/// What identifies a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Key {
    /// These columns, by index.
    Columns(Vec<usize>),
    /// An internal identifier of the database: it orders rows, but callers cannot address them by it.
    Hidden(Fragment),
    /// Nothing: pages can only be counted.
    None,
}

/// What identifies rows instead of a substitute key.
#[derive(Debug, Clone)]
pub(crate) enum KeyFallback {
    /// A column that the database always has.
    Column(Box<Column>),
    Nothing,
}

#[derive(Debug, Clone)]
pub(crate) struct Column {
    /// The field name once the table is offered (`field_names.rs`); before that the column name.
    pub(crate) name: Arc<str>,
    /// The name in the database.
    pub(crate) sql_name: Arc<str>,
    pub(crate) quoted: Name,
    pub(crate) field_type: FieldType,
    /// Whether the type was guessed from sample values.
    pub(crate) is_guessed: bool,
    pub(crate) store: Store,
    pub(crate) nullable: bool,
    /// Whether a row can be created without it.
    pub(crate) has_default: bool,
    /// Whether only the database sets it.
    pub(crate) generated: bool,
    pub(crate) comment: Option<Arc<str>>,
    /// The maximum number of characters.
    pub(crate) length: Option<u64>,
    /// Inclusive bounds for integers, exclusive bounds for other numbers.
    pub(crate) range: Option<(f64, f64)>,
    /// What constraints require of its values.
    pub(crate) rules: ColumnRules,
    /// The default for new rows, as far as it is known.
    pub(crate) default: Option<ColumnDefault>,
    pub(crate) may_insert: bool,
    pub(crate) may_update: bool,
    /// How the database compares values that callers see as text.
    pub(crate) comparison: Comparison,
    /// Whether it may be indexed. For views this is unknown.
    pub(crate) may_have_index: bool,
    /// Digits after the second with which its times are shown.
    pub(crate) digits: TimeDigits,
}

impl Column {
    /// Whether no row can be created without a value for it.
    pub(crate) fn is_required(&self) -> bool {
        !self.nullable && !self.has_default && !self.generated
    }

    /// Whether its PostgreSQL type is shown as plain text.
    pub(crate) fn is_shown_as_text(&self) -> bool {
        matches!(&self.store, Store::Postgres(store) if store.read == PostgresRead::AsText)
    }
}

/// How the values of a column are stored, which decides how they are read, compared and written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Store {
    Sqlite(SqliteStore),
    Postgres(PostgresStore),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SqliteStore {
    /// By SQLite's own types.
    Plain,
    /// 0 or 1.
    Boolean,
    /// A time, in the style of the sampled values.
    Time(TimeStyle),
    /// JSON, as text or in SQLite's own binary form.
    Json,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PostgresStore {
    /// The type that operands are cast to.
    pub(crate) cast: Fragment,
    /// The same type with its length or precision, which applies only to stored values.
    pub(crate) whole: Fragment,
    pub(crate) read: PostgresRead,
}

/// How a value is requested from PostgreSQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PostgresRead {
    /// In binary form.
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
    /// As text that contains a number.
    Decimal,
    /// As text, also for comparisons: the type has no useful order.
    AsText,
    /// As text; compared and sorted by its own type.
    Native,
    /// As text; compared by its own type.
    Word,
    /// As JSON built by the database.
    MadeJson,
}

#[derive(Debug, Clone)]
pub(crate) struct UniqueConstraint {
    pub(crate) name: Arc<str>,
    pub(crate) columns: Vec<Arc<str>>,
    /// Whether it compares values as the columns do, so that no two rows have equal values. An index of SQLite may have
    /// other collations than its columns.
    pub(crate) compares_alike: bool,
}

/// A unique key of which only the columns are known that it uses in some way.
#[derive(Debug, Clone)]
pub(crate) struct OpaqueKey {
    pub(crate) name: Arc<str>,
    pub(crate) columns: Vec<Arc<str>>,
}

/// A trigger or a policy of a table.
#[derive(Debug, Clone)]
pub(crate) struct ChangeRule {
    pub(crate) name: Arc<str>,
    /// Its definition, with the code of its function.
    pub(crate) text: String,
}

#[derive(Debug, Clone)]
pub(crate) struct CheckConstraint {
    pub(crate) name: Arc<str>,
    pub(crate) columns: Vec<Arc<str>>,
    /// The expression, if it is evaluated for each row. It must not be false.
    pub(crate) expression: Option<Fragment>,
}

/// A foreign key: rows of this table refer to rows of another.
#[derive(Debug, Clone)]
pub(crate) struct ForeignKey {
    /// The name of the constraint, if it has one.
    pub(crate) name: Option<Arc<str>>,
    pub(crate) columns: Vec<Arc<str>>,
    pub(crate) to_schema: Option<Arc<str>>,
    pub(crate) to_table: Arc<str>,
    /// By their names in the database.
    pub(crate) to_columns: Vec<Arc<str>>,
    /// What happens to the referring rows when the referenced row is deleted.
    pub(crate) on_delete: OnDelete,
}

impl ForeignKey {
    /// Whether it references this table.
    pub(crate) fn references_table(&self, table: &Table) -> bool {
        table.matches_name(self.to_schema.as_deref(), &self.to_table)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnDelete {
    Refuse,
    Cascade,
    Clear,
    /// Nothing is enforced: the referring rows are those of a view.
    Nothing,
}

impl OnDelete {
    /// Whether the referring rows are changed.
    pub(crate) fn changes_rows(self) -> bool {
        matches!(self, OnDelete::Cascade | OnDelete::Clear)
    }
}

/// A full-text index.
#[derive(Debug, Clone)]
pub(crate) enum TextIndex {
    /// An FTS5 table, and the column of this table that holds its row numbers.
    Fts5 { quoted: Name, columns: Vec<Arc<str>>, rowid: Name, sources: Vec<ColumnId> },
    /// A stored or indexed tsvector, its configuration, and the columns of its words, if known.
    Vector { vector: Fragment, configuration: Fragment, columns: Vec<Arc<str>>, sources: Vec<ColumnId> },
}

impl TextIndex {
    /// Every column whose words may be in the index. Searching the index reveals their content.
    pub(crate) fn sources(&self) -> &[ColumnId] {
        match self {
            TextIndex::Fts5 { sources, .. } | TextIndex::Vector { sources, .. } => sources,
        }
    }
}

/// Whether a text contains this name as a whole word, in upper or lower case.
fn contains_name(words: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let (words, name) = (words.to_lowercase(), name.to_lowercase());
    !name.is_empty()
        && words.match_indices(&name).any(|(start, found)| {
            let before = words.get(..start).and_then(|text| text.chars().next_back());
            let after = words.get(start + found.len()..).and_then(|text| text.chars().next());
            !before.is_some_and(is_part) && !after.is_some_and(is_part)
        })
}

impl Table {
    /// The qualified name, which identifies the table.
    pub(crate) fn full_name(&self) -> String {
        match &self.schema {
            Some(schema) => format!("{schema}.{}", self.name),
            None => self.name.to_string(),
        }
    }

    /// Whether a reference to this name means the table.
    pub(crate) fn matches_name(&self, schema: Option<&str>, name: &str) -> bool {
        match &self.schema {
            Some(own) => Some(&**own) == schema && *self.name == *name,
            // SQLite reports the name as it was written in the reference.
            None => self.name.eq_ignore_ascii_case(name),
        }
    }

    /// Replaces a substitute key.
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

    /// The identity of one of its columns.
    pub(crate) fn column_id(&self, column: &str) -> ColumnId {
        ColumnId::new(self.schema.as_deref(), &self.name, column)
    }

    /// Whether the column exists but is hidden from callers.
    pub(crate) fn is_withheld(&self, column: &str) -> bool {
        let mut all = self.withheld.columns.iter().chain(&self.unlisted);
        column == HIDDEN_COLUMN || all.any(|name| name.eq_ignore_ascii_case(column))
    }

    /// Whether a text mentions a hidden column.
    pub(crate) fn mentions_withheld(&self, words: &str) -> bool {
        self.withheld.columns.iter().any(|name| contains_name(words, name))
    }

    /// Whether a trigger or policy of this or another table names a hidden column of this table.
    pub(crate) fn is_read_by(&self, rule: &ChangeRule, is_own: bool) -> bool {
        let mut all = self.withheld.columns.iter().chain(&self.unlisted);
        all.any(|name| contains_name(&rule.text, name)) && (is_own || contains_name(&rule.text, &self.name))
    }

    /// The column with this field name or database name. This is unambiguous: a column keeps its database name if
    /// callers can use it.
    pub(crate) fn column(&self, name: &str) -> Option<&Column> {
        let by_name = self.columns.iter().find(|column| &*column.name == name);
        by_name.or_else(|| self.columns.iter().find(|column| &*column.sql_name == name))
    }

    /// The columns of the constraint with this name.
    pub(crate) fn constraint_columns(&self, name: &str) -> Option<&[Arc<str>]> {
        let unique = self.unique.iter().find(|known| &*known.name == name).map(|known| &known.columns);
        let check = || self.checks.iter().find(|known| &*known.name == name).map(|known| &known.columns);
        let foreign =
            || self.foreign.iter().find(|known| known.name.as_deref() == Some(name)).map(|known| &known.columns);
        unique.or_else(check).or_else(foreign).map(Vec::as_slice)
    }

    /// The constraints by which a change of visible columns says something about hidden ones: each has columns of both
    /// kinds, or its columns are not known. Triggers and policies that name hidden columns are among them.
    pub(crate) fn constraints_on_hidden(&self) -> impl Iterator<Item = &str> {
        let unique = self.unique.iter().map(|known| (&*known.name, &known.columns));
        let checks = self.checks.iter().map(|known| (&*known.name, &known.columns));
        let foreign = self.withheld.foreign.iter();
        let foreign = foreign.map(|known| (known.name.as_deref().unwrap_or_default(), &known.columns));
        let opaque = self.opaque_keys.iter().map(|known| (&*known.name, &known.columns));
        let all = unique.chain(checks).chain(foreign).chain(opaque);
        let on_hidden = all.filter(|(_, columns)| self.is_on_hidden(columns)).map(|(name, _)| name);
        on_hidden.chain(self.withheld.rules.iter().map(|name| &**name))
    }

    /// Whether a constraint on these columns depends on hidden ones, and on others as well.
    fn is_on_hidden(&self, columns: &[Arc<str>]) -> bool {
        match columns.iter().filter(|column| self.is_withheld(column)).count() {
            0 => columns.is_empty() && !self.withheld.columns.is_empty(),
            hidden => hidden < columns.len(),
        }
    }

    /// The key columns, if callers see any.
    pub(crate) fn key_columns(&self) -> impl Iterator<Item = &Column> {
        let positions = match &self.key {
            Key::Columns(positions) => positions.as_slice(),
            Key::Hidden(_) | Key::None => &[],
        };
        positions.iter().filter_map(|position| self.columns.get(*position))
    }

    /// Whether a row is found by its key without reading others.
    pub(crate) fn has_indexed_key(&self) -> bool {
        let is_key = |name: &Arc<str>| self.key_columns().any(|column| column.name == *name);
        let is_indexed = |unique: &UniqueConstraint| unique.compares_alike && unique.columns.iter().all(is_key);
        self.has_rowid_key || self.unique.iter().any(is_indexed)
    }
}
