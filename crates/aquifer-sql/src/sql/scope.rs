//! Resolves paths to columns and expressions, and writes them as SQL.

use std::sync::Arc;

use aquifer_query::FieldType;
use aquifer_query::plan::Path;
use jiff::Timestamp;

use super::joins::{Alias, Joins};
use super::json;
use crate::rows::CellType;
use crate::rows::time_digits::TimeDigits;
use crate::schema::exposed_table::{ComputedSource, ExposedTable, Formula};
use crate::schema::model::{Column, PostgresRead, SqliteStore, Store, TextIndex};
use crate::schema::time_style::TimeStyle;
use crate::statement::{Bind, Dialect, Fragment, Name, Statement};

/// The context of an expression: a table in a statement, and the current time.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) exposed: &'a ExposedTable,
    pub(crate) dialect: Dialect,
    pub(crate) now: Timestamp,
    pub(crate) times: TimeStyles<'a>,
    /// The alias of the table in the statement.
    pub(super) alias: Alias,
    /// The tables that references lead to.
    pub(super) tables: &'a [Arc<ExposedTable>],
    /// The tables joined with the first table of this `SELECT`.
    pub(super) joins: &'a Joins,
}

/// How times of SQLite columns are compared.
#[derive(Clone, Copy)]
pub(crate) enum TimeStyles<'a> {
    /// In the style sampled during reflection.
    Sampled,
    /// In these styles, which are verified after the query; other columns are parsed value by value.
    Checked(&'a [ColumnStyle]),
}

/// The style of a column, by name.
pub(crate) type ColumnStyle = (Arc<str>, TimeStyle);

/// What a path refers to.
#[derive(Clone, Copy)]
pub(crate) enum PathTarget<'a> {
    Column(&'a Column),
    Inside(&'a Column, &'a [Arc<str>]),
    Computed(&'a ComputedSource),
    Version,
    /// The hidden key, or nothing.
    Hidden,
    /// A path that does not resolve.
    Nothing,
}

impl<'a> Scope<'a> {
    pub(crate) fn new(exposed: &'a ExposedTable, dialect: Dialect, now: Timestamp) -> Self {
        Self::across(exposed, dialect, now, &[], Joins::NONE)
    }

    /// The scope of a statement that reads other tables as well.
    pub(crate) fn across(
        exposed: &'a ExposedTable,
        dialect: Dialect,
        now: Timestamp,
        tables: &'a [Arc<ExposedTable>],
        joins: &'a Joins,
    ) -> Self {
        Self { exposed, dialect, now, times: TimeStyles::Sampled, alias: Alias::FIRST, tables, joins }
    }

    /// The same scope with verified styles of times.
    pub(crate) fn with_times(self, styles: &'a [ColumnStyle]) -> Self {
        Self { times: TimeStyles::Checked(styles), ..self }
    }

    /// The scope of a statement that reads this table only.
    pub(super) fn alone(&self) -> Self {
        Self { joins: Joins::NONE, ..*self }
    }

    /// The scope of another table in the same statement. Its times are parsed value by value.
    pub(super) fn of_table(&self, exposed: &'a ExposedTable, alias: Alias) -> Self {
        Self { exposed, alias, times: TimeStyles::Checked(&[]), ..*self }
    }

    /// The style in which times are compared. Only SQLite needs one, because it has no type for times.
    pub(crate) fn time_style(&self, target: PathTarget<'_>) -> Option<TimeStyle> {
        match target {
            PathTarget::Column(Column { name, store: Store::Sqlite(SqliteStore::Time(sampled)), .. }) => {
                Some(match self.times {
                    TimeStyles::Sampled => *sampled,
                    TimeStyles::Checked(styles) => {
                        styles.iter().find(|(known, _)| known == name).map_or(TimeStyle::Mixed, |(_, style)| *style)
                    }
                })
            }
            PathTarget::Computed(computed)
                if computed.field_type == FieldType::Time && self.dialect == Dialect::Sqlite =>
            {
                Some(TimeStyle::Mixed)
            }
            _ => None,
        }
    }

    /// The scope of a `SELECT` inside this one.
    pub(super) fn nested<'s>(&self, exposed: &'s ExposedTable, joins: &'s Joins) -> Scope<'s>
    where
        'a: 's,
    {
        Scope { joins, alias: self.alias.nested(), ..self.of_table(exposed, self.alias) }
    }

    /// Resolves a path: the scope of its table, and the value in that table.
    pub(crate) fn resolve(&self, path: &'a Path) -> (Self, PathTarget<'a>) {
        let scope = match path.through.as_slice() {
            [] => Some(*self),
            through => self
                .joins
                .find(through)
                .and_then(|(alias, table)| Some(self.of_table(self.tables.get(table)?, self.alias.joined(alias)))),
        };
        match scope {
            Some(scope) => (scope, scope.resolve_own(path)),
            None => (*self, PathTarget::Nothing),
        }
    }

    fn resolve_own(&self, path: &'a Path) -> PathTarget<'a> {
        if path.computed {
            return match self.exposed.computed.iter().find(|computed| *computed.name == *path.name) {
                Some(computed) => PathTarget::Computed(computed),
                None => PathTarget::Hidden,
            };
        }
        if &*path.name == "_etag" && path.inside.is_empty() {
            return PathTarget::Version;
        }
        match self.exposed.table.column(&path.name) {
            Some(column) if path.inside.is_empty() => PathTarget::Column(column),
            Some(column) => PathTarget::Inside(column, &path.inside),
            None => PathTarget::Hidden,
        }
    }

    pub(crate) fn write_column(&self, statement: &mut Statement, column: &Column) {
        self.alias.write(statement);
        statement.name(&column.quoted);
    }

    /// Writes the value for comparing, sorting and grouping. Not for values inside JSON.
    pub(crate) fn write_comparable(&self, statement: &mut Statement, target: PathTarget<'_>) {
        match target {
            PathTarget::Column(column) => match &column.store {
                Store::Sqlite(SqliteStore::Time(_)) if self.time_style(target) == Some(TimeStyle::Mixed) => {
                    statement.push("aquifer_time(");
                    self.write_column(statement, column);
                    statement.push(")");
                }
                Store::Postgres(store) if store.read == PostgresRead::AsText => {
                    self.write_column(statement, column);
                    statement.push("::text");
                }
                // A domain over an enumeration does not have its operators.
                Store::Postgres(store) if store.read == PostgresRead::Word => {
                    self.write_column(statement, column);
                    statement.push("::").fragment(&store.cast);
                }
                _ => self.write_column(statement, column),
            },
            PathTarget::Inside(column, inside) => json::write_value(self, statement, column, inside),
            PathTarget::Computed(computed)
                if computed.field_type == FieldType::Time && self.dialect == Dialect::Sqlite =>
            {
                statement.push("aquifer_time(");
                self.write_computed(statement, computed);
                statement.push(")");
            }
            PathTarget::Computed(computed) => self.write_computed(statement, computed),
            PathTarget::Version => self.write_version(statement),
            PathTarget::Nothing => {
                statement.push("NULL");
            }
            PathTarget::Hidden => match &self.exposed.table.key {
                crate::schema::model::Key::Hidden(_) if self.is_wrapped() => {
                    statement.push(HIDDEN_KEY);
                }
                crate::schema::model::Key::Hidden(fragment) => {
                    self.alias.write(statement);
                    statement.fragment(fragment);
                }
                _ => {
                    statement.push("NULL");
                }
            },
        }
    }

    /// Whether the value can be missing because a reference leads to no row.
    pub(super) fn is_optional(&self) -> bool {
        self.alias.is_joined() && !self.joins.is_required(self.alias)
    }

    /// Writes the value as it is stored.
    pub(super) fn write_stored(&self, statement: &mut Statement, target: PathTarget<'_>) {
        match target {
            PathTarget::Column(column) => self.write_column(statement, column),
            target => self.write_comparable(statement, target),
        }
    }

    /// Whether the value is converted by a function of ours before it is compared. Values that cannot be converted are
    /// missing.
    pub(crate) fn is_converted(&self, target: PathTarget<'_>) -> bool {
        self.time_style(target) == Some(TimeStyle::Mixed)
    }

    /// Writes the value for output, and returns its cell type.
    pub(crate) fn write_output(&self, statement: &mut Statement, target: PathTarget<'_>) -> CellType {
        match target {
            PathTarget::Column(column) => self.write_column_output(statement, column),
            PathTarget::Inside(column, inside) => json::write_json(self, statement, column, inside),
            PathTarget::Computed(computed) => {
                self.write_computed(statement, computed);
                cell_type_for(&computed.field_type, self.dialect, &computed.digits)
            }
            PathTarget::Version => {
                self.write_version(statement);
                CellType::Text
            }
            PathTarget::Hidden | PathTarget::Nothing => {
                self.write_comparable(statement, target);
                if self.dialect == Dialect::Postgres {
                    statement.push("::text");
                }
                CellType::Text
            }
        }
    }

    fn write_column_output(&self, statement: &mut Statement, column: &Column) -> CellType {
        match &column.store {
            Store::Sqlite(SqliteStore::Json) => {
                self.write_json_text(statement, column);
                CellType::Json
            }
            Store::Sqlite(store) => {
                self.write_column(statement, column);
                match (store, &column.field_type) {
                    (SqliteStore::Boolean, _) => CellType::Boolean,
                    (SqliteStore::Time(_), _) => CellType::Time(column.digits.clone()),
                    (_, FieldType::Bytes) => CellType::Bytes,
                    _ => CellType::Plain,
                }
            }
            Store::Postgres(store) => {
                let (before, after, cell_type) = match store.read {
                    PostgresRead::Integer => ("", "", CellType::Integer),
                    PostgresRead::Float => ("", "", CellType::Float),
                    PostgresRead::Boolean => ("", "", CellType::Boolean),
                    PostgresRead::Text => ("", "", CellType::Text),
                    PostgresRead::Time => ("", "", CellType::Time(column.digits.clone())),
                    PostgresRead::Date => ("", "", CellType::Date),
                    PostgresRead::Uuid => ("", "", CellType::Uuid),
                    PostgresRead::Bytes => ("", "", CellType::Bytes),
                    PostgresRead::Json => ("", "", CellType::Json),
                    PostgresRead::Jsonb => ("", "::text", CellType::Json),
                    PostgresRead::Decimal => ("", "::text", CellType::Decimal),
                    PostgresRead::AsText | PostgresRead::Word | PostgresRead::Native => ("", "::text", CellType::Text),
                    PostgresRead::MadeJson => {
                        let whole = matches!(&column.field_type, FieldType::List(Some(element)) if **element == FieldType::Integer);
                        ("to_json(", ")::text", if whole { CellType::Integers } else { CellType::Json })
                    }
                };
                statement.push(before);
                self.write_column(statement, column);
                statement.push(after);
                cell_type
            }
        }
    }

    /// Writes SQLite's JSON as text, converting its binary form.
    pub(super) fn write_json_text(&self, statement: &mut Statement, column: &Column) {
        statement.push("CASE WHEN typeof(");
        self.write_column(statement, column);
        statement.push(") = 'blob' THEN CASE WHEN json_valid(");
        self.write_column(statement, column);
        statement.push(", 8) THEN json(");
        self.write_column(statement, column);
        statement.push(") END ELSE ");
        self.write_column(statement, column);
        statement.push(" END");
    }

    fn write_computed(&self, statement: &mut Statement, computed: &ComputedSource) {
        match &computed.formula {
            Formula::Operator(fragment) => {
                self.write_operator_formula(statement, computed, fragment);
                if self.dialect == Dialect::Postgres {
                    statement.push(cast_for(&computed.field_type));
                }
            }
            Formula::AgeDays(position) => {
                let Some(column) = self.exposed.table.columns.get(*position) else {
                    statement.push("NULL");
                    return;
                };
                match self.dialect {
                    Dialect::Postgres => {
                        statement.push("floor(extract(epoch from (");
                        statement.bind(Bind::Text(self.now.to_string())).push("::timestamptz - ");
                        self.write_column(statement, column);
                        // Dates and times without a zone are in UTC, the time zone of the session.
                        statement.push("::timestamptz)) / 86400)::int8");
                    }
                    Dialect::Sqlite => {
                        statement.push("aquifer_age(").bind(Bind::Text(self.now.to_string())).push(", ");
                        self.write_column(statement, column);
                        statement.push(")");
                    }
                }
            }
            Formula::ChildCount(child) => {
                // A row that does not exist has no count.
                let presence = self.joins.presence(self.alias);
                if let Some(column) = presence {
                    statement.push("CASE WHEN ");
                    self.alias.write(statement);
                    statement.name(column).push(" IS NOT NULL THEN ");
                }
                statement.push("(SELECT count(*) FROM ").name(&child.table).push(" AS c WHERE ");
                for (index, (theirs, ours)) in child.on.iter().enumerate() {
                    if index > 0 {
                        statement.push(" AND ");
                    }
                    statement.push("c.").name(theirs).push(" = ");
                    self.alias.write(statement);
                    statement.name(ours);
                }
                statement.push(if presence.is_some() { ") END" } else { ")" });
            }
        }
    }

    /// Writes an expression of the operator. It names columns without their table, or with `t`, so next to other tables
    /// it needs a `SELECT` of its own.
    fn write_operator_formula(&self, statement: &mut Statement, computed: &ComputedSource, fragment: &Fragment) {
        if self.alias == Alias::FIRST {
            if let Some(position) = self.wrapped_formulas().position(|(known, _)| known.name == computed.name) {
                statement.push("t.aquifer_computed_").count(position);
                return;
            }
            statement.push("(").fragment(fragment).push(")");
            return;
        }
        statement.push("(SELECT (").fragment(fragment).push(") FROM ").name(&self.exposed.table.quoted).push(" AS t");
        let mut keys = 0;
        for column in self.exposed.table.key_columns() {
            statement.push(if keys == 0 { " WHERE t." } else { " AND t." }).name(&column.quoted).push(" = ");
            self.write_column(statement, column);
            keys += 1;
        }
        // Without a key, the row cannot be found again.
        statement.push(if keys == 0 { " WHERE FALSE)" } else { ")" });
    }

    /// Whether the first table is wrapped in a `SELECT` of its own.
    fn is_wrapped(&self) -> bool {
        self.alias == Alias::FIRST && self.wraps_first()
    }

    fn wraps_first(&self) -> bool {
        !self.joins.is_empty()
            && (self.exposed.computed.iter().any(|computed| operator_formula(computed).is_some())
                || self.vector().is_some())
    }

    /// The expressions of the operator that the wrapping `SELECT` evaluates.
    fn wrapped_formulas(&self) -> impl Iterator<Item = (&'a ComputedSource, &'a Fragment)> {
        let computed = if self.joins.is_empty() { &[] } else { self.exposed.computed.as_slice() };
        computed.iter().filter_map(|computed| Some((computed, operator_formula(computed)?)))
    }

    fn vector(&self) -> Option<&'a Fragment> {
        match &self.exposed.table.index {
            Some(TextIndex::Vector { vector, .. }) => Some(vector),
            _ => None,
        }
    }

    /// Writes the words of a full-text index.
    pub(super) fn write_vector(&self, statement: &mut Statement, vector: &Fragment) {
        if self.is_wrapped() {
            statement.push("t.aquifer_vector");
        } else {
            statement.push("(").fragment(vector).push(")");
        }
    }

    /// Writes the row number that a full-text index refers to.
    pub(super) fn write_rowid(&self, statement: &mut Statement, rowid: &Name) {
        if self.is_wrapped() {
            statement.push("t.aquifer_number");
        } else {
            statement.push("t.").name(rowid);
        }
    }

    /// Whether this is the first table of its statement, whose rows are returned.
    pub(super) fn is_first(&self) -> bool {
        self.alias == Alias::FIRST
    }

    /// Whether the statement reads this table only.
    pub(super) fn is_alone(&self) -> bool {
        self.joins.is_empty() && self.is_first()
    }

    /// Writes the first table of a `FROM`. Next to joined tables, expressions that name columns without their table are
    /// evaluated in a `SELECT` of their own, where only this table is in scope. Databases merge it into the query.
    pub(super) fn write_first_table(&self, statement: &mut Statement) {
        if !self.wraps_first() {
            statement.name(&self.exposed.table.quoted).push(" AS t");
            return;
        }
        statement.push("(SELECT t.*");
        if let crate::schema::model::Key::Hidden(fragment) = &self.exposed.table.key {
            statement.push(", t.").fragment(fragment).push(" AS aquifer_key");
        }
        if let Some(vector) = self.vector() {
            statement.push(", (").fragment(vector).push(") AS aquifer_vector");
        }
        if let Some(TextIndex::Fts5 { rowid, .. }) = &self.exposed.table.index {
            statement.push(", t.").name(rowid).push(" AS aquifer_number");
        }
        for (position, (_, fragment)) in self.wrapped_formulas().enumerate() {
            statement.push(", (").fragment(fragment).push(") AS aquifer_computed_").count(position);
        }
        statement.push(" FROM ").name(&self.exposed.table.quoted).push(" AS t) AS t");
    }

    /// Writes the tables of a `SELECT` inside another.
    pub(super) fn write_nested_from(&self, statement: &mut Statement) {
        statement.push(" FROM ").name(&self.exposed.table.quoted).push(" AS ");
        self.alias.write_name(statement);
        self.write_joins(statement);
    }

    /// Writes the joins of this `SELECT`. Each leads to at most one row, so the number of rows stays the same, apart from
    /// rows that a condition leaves out anyway.
    pub(super) fn write_joins(&self, statement: &mut Statement) {
        for (number, join) in self.joins.iter().enumerate() {
            let Some(exposed) = self.tables.get(join.table) else { continue };
            let alias = self.alias.joined(number + 1);
            let parent = self.alias.joined(join.parent);
            statement
                .push(if join.is_required { " JOIN " } else { " LEFT JOIN " })
                .name(&exposed.table.quoted)
                .push(" AS ");
            alias.write_name(statement);
            write_pairs(statement, " ON ", alias, parent, &join.on);
        }
    }

    /// Writes the version of the row: a hash that changes whenever the row does.
    pub(crate) fn write_version(&self, statement: &mut Statement) {
        // The maximum number of arguments in SQLite.
        const MAX_ARGUMENTS: usize = 100;
        match self.dialect {
            Dialect::Postgres => {
                let hashes = self.exposed.table.hashes;
                statement.push(if hashes { "to_hex(hash_record_extended(row(" } else { "substr(md5(row(" });
                for (index, column) in self.exposed.table.columns.iter().enumerate() {
                    if index > 0 {
                        statement.push(", ");
                    }
                    self.write_column(statement, column);
                    // Values may be equal to a type or collation and still differ.
                    if hashes && !is_equal_only_to_itself(column) {
                        statement.push("::text COLLATE \"C\"");
                    }
                }
                statement.push(if hashes { "), 0))" } else { ")::text), 1, 16)" });
            }
            Dialect::Sqlite => {
                let chunks: Vec<&[Column]> = self.exposed.table.columns.chunks(MAX_ARGUMENTS).collect();
                for _ in &chunks {
                    statement.push("aquifer_version(");
                }
                for (index, chunk) in chunks.iter().enumerate() {
                    for (position, column) in chunk.iter().enumerate() {
                        if index > 0 || position > 0 {
                            statement.push(", ");
                        }
                        self.write_column(statement, column);
                    }
                    statement.push(")");
                }
            }
        }
    }
}

/// The hidden key of a wrapped table.
const HIDDEN_KEY: &str = "t.aquifer_key";

fn operator_formula(computed: &ComputedSource) -> Option<&Fragment> {
    match &computed.formula {
        Formula::Operator(fragment) => Some(fragment),
        Formula::AgeDays(_) | Formula::ChildCount(_) => None,
    }
}

/// Writes the join condition of a reference.
pub(super) fn write_pairs(
    statement: &mut Statement,
    before: &'static str,
    theirs: Alias,
    ours: Alias,
    pairs: &[(Name, Name)],
) {
    if pairs.is_empty() {
        statement.push(before).push("FALSE");
    }
    for (index, (our_column, their_column)) in pairs.iter().enumerate() {
        statement.push(if index == 0 { before } else { " AND " });
        theirs.write(statement);
        statement.name(their_column).push(" = ");
        ours.write(statement);
        statement.name(our_column);
    }
}

/// Whether equal values of the column always look the same.
fn is_equal_only_to_itself(column: &Column) -> bool {
    use PostgresRead::{Boolean, Bytes, Date, Decimal, Integer, Time, Uuid};
    let Store::Postgres(store) = &column.store else { return false };
    matches!(store.read, Boolean | Bytes | Date | Decimal | Integer | Time | Uuid)
}

/// The cell type of a value by its type only. Times are written with these digits.
pub(crate) fn cell_type_for(field_type: &FieldType, dialect: Dialect, digits: &TimeDigits) -> CellType {
    match (field_type, dialect) {
        (FieldType::Boolean, _) => CellType::Boolean,
        (FieldType::Time, _) => CellType::Time(digits.clone()),
        (FieldType::Json, _) => CellType::Json,
        (FieldType::Bytes, _) => CellType::Bytes,
        (_, Dialect::Sqlite) => CellType::Plain,
        (FieldType::Integer, _) => CellType::Integer,
        (FieldType::Number, _) => CellType::Float,
        (FieldType::Date, _) => CellType::Date,
        (FieldType::Uuid, _) => CellType::Uuid,
        _ => CellType::Text,
    }
}

/// The PostgreSQL type of values without a column.
pub(crate) fn cast_for(field_type: &FieldType) -> &'static str {
    match field_type {
        FieldType::Integer => "::int8",
        FieldType::Number => "::float8",
        FieldType::Boolean => "::bool",
        FieldType::Time => "::timestamptz",
        FieldType::Date => "::date",
        FieldType::Uuid => "::uuid",
        FieldType::Bytes => "::bytea",
        FieldType::Json => "::json",
        FieldType::Text | FieldType::Enum(_) | FieldType::List(_) => "::text",
    }
}
