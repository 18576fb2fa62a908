//! Resolves paths to columns and expressions, and writes them as SQL.

use std::sync::Arc;

use aquifer_query::FieldType;
use aquifer_query::plan::Path;
use jiff::Timestamp;

use super::json;
use crate::rows::CellType;
use crate::schema::exposed_table::{ComputedSource, ExposedTable};
use crate::schema::model::{Column, PostgresRead, SqliteStore, Store};
use crate::schema::time_style::TimeStyle;
use crate::statement::{Bind, Dialect, Statement};

/// The context of a statement: a table, and the current time.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) exposed: &'a ExposedTable,
    pub(crate) dialect: Dialect,
    pub(crate) now: Timestamp,
    pub(crate) times: TimeStyles<'a>,
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
}

impl<'a> Scope<'a> {
    pub(crate) fn new(exposed: &'a ExposedTable, dialect: Dialect, now: Timestamp) -> Self {
        Self { exposed, dialect, now, times: TimeStyles::Sampled }
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
            PathTarget::Computed(computed) if computed.of == FieldType::Time && self.dialect == Dialect::Sqlite => {
                Some(TimeStyle::Mixed)
            }
            _ => None,
        }
    }

    pub(crate) fn resolve(&self, path: &'a Path) -> PathTarget<'a> {
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
        statement.push("t.").name(&column.quoted);
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
            PathTarget::Computed(computed) if computed.of == FieldType::Time && self.dialect == Dialect::Sqlite => {
                statement.push("aquifer_time(");
                self.write_computed(statement, computed);
                statement.push(")");
            }
            PathTarget::Computed(computed) => self.write_computed(statement, computed),
            PathTarget::Version => self.write_version(statement),
            PathTarget::Hidden => match &self.exposed.table.key {
                crate::schema::model::Key::Hidden(fragment) => {
                    statement.push("t.").fragment(fragment);
                }
                _ => {
                    statement.push("NULL");
                }
            },
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
                cell_type_for(&computed.of, self.dialect)
            }
            PathTarget::Version => {
                self.write_version(statement);
                CellType::Text
            }
            PathTarget::Hidden => {
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
                match (store, &column.of) {
                    (SqliteStore::Boolean, _) => CellType::Boolean,
                    (SqliteStore::Time(_), _) => CellType::Time,
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
                    PostgresRead::Time => ("", "", CellType::Time),
                    PostgresRead::Date => ("", "", CellType::Date),
                    PostgresRead::Uuid => ("", "", CellType::Uuid),
                    PostgresRead::Bytes => ("", "", CellType::Bytes),
                    PostgresRead::Json => ("", "", CellType::Json),
                    PostgresRead::Jsonb => ("", "::text", CellType::Json),
                    PostgresRead::Decimal => ("", "::text", CellType::Decimal),
                    PostgresRead::AsText | PostgresRead::Word | PostgresRead::Native => ("", "::text", CellType::Text),
                    PostgresRead::MadeJson => {
                        let whole =
                            matches!(&column.of, FieldType::List(Some(element)) if **element == FieldType::Integer);
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
        use crate::schema::exposed_table::Formula;
        match &computed.formula {
            Formula::Operator(fragment) => {
                statement.push("(").fragment(fragment).push(")");
                if self.dialect == Dialect::Postgres {
                    statement.push(cast_for(&computed.of));
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
                statement.push("(SELECT count(*) FROM ").name(&child.table).push(" AS c WHERE ");
                for (index, (theirs, ours)) in child.on.iter().enumerate() {
                    if index > 0 {
                        statement.push(" AND ");
                    }
                    statement.push("c.").name(theirs).push(" = t.").name(ours);
                }
                statement.push(")");
            }
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

/// Whether equal values of the column are always shown the same.
fn is_equal_only_to_itself(column: &Column) -> bool {
    use PostgresRead::{Boolean, Bytes, Date, Decimal, Integer, Time, Uuid};
    let Store::Postgres(store) = &column.store else { return false };
    matches!(store.read, Boolean | Bytes | Date | Decimal | Integer | Time | Uuid)
}

/// The cell type of a value without a column.
pub(crate) fn cell_type_for(field_type: &FieldType, dialect: Dialect) -> CellType {
    match (field_type, dialect) {
        (FieldType::Boolean, _) => CellType::Boolean,
        (FieldType::Time, Dialect::Sqlite) => CellType::Time,
        (FieldType::Json, _) => CellType::Json,
        (FieldType::Bytes, _) => CellType::Bytes,
        (_, Dialect::Sqlite) => CellType::Plain,
        (FieldType::Integer, _) => CellType::Integer,
        (FieldType::Number, _) => CellType::Float,
        (FieldType::Time, _) => CellType::Time,
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
