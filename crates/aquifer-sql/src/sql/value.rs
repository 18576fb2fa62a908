//! The expression a path stands for.

use std::sync::Arc;

use aquifer_query::FieldType;
use aquifer_query::plan::Path;
use jiff::Timestamp;

use super::json;
use crate::exposed_table::{ComputedSource, ExposedTable};
use crate::model::{Column, PostgresRead, SqliteStore, Store};
use crate::rows::Reader;
use crate::statement::{Bind, Dialect, Statement};
use crate::time_style::TimeStyle;

/// What a statement is about: a table, and the time it is asked.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) served: &'a ExposedTable,
    pub(crate) dialect: Dialect,
    pub(crate) now: Timestamp,
    pub(crate) times: Times<'a>,
}

/// How the times of SQLite columns are compared.
#[derive(Clone, Copy)]
pub(crate) enum Times<'a> {
    /// In the style that was found when the table was looked into.
    Sampled,
    /// In these styles, which the answer is checked against; columns that are not listed are read value by value.
    Checked(&'a [ColumnStyle]),
}

/// The style of a column, by its name.
pub(crate) type ColumnStyle = (Arc<str>, TimeStyle);

/// What a path leads to.
#[derive(Clone, Copy)]
pub(crate) enum Thing<'a> {
    Column(&'a Column),
    Inside(&'a Column, &'a [Arc<str>]),
    Computed(&'a ComputedSource),
    Version,
    /// The hidden key, or nothing at all.
    Hidden,
}

impl<'a> Scope<'a> {
    pub(crate) fn new(served: &'a ExposedTable, dialect: Dialect, now: Timestamp) -> Self {
        Self { served, dialect, now, times: Times::Sampled }
    }

    /// The style in which times are compared, if that is a matter of style: only SQLite has no type for them.
    pub(crate) fn time_style(&self, thing: Thing<'_>) -> Option<TimeStyle> {
        match thing {
            Thing::Column(Column { name, store: Store::Sqlite(SqliteStore::Time(sampled)), .. }) => {
                Some(match self.times {
                    Times::Sampled => *sampled,
                    Times::Checked(styles) => {
                        styles.iter().find(|(known, _)| known == name).map_or(TimeStyle::Mixed, |(_, style)| *style)
                    }
                })
            }
            Thing::Computed(computed) if computed.of == FieldType::Time && self.dialect == Dialect::Sqlite => {
                Some(TimeStyle::Mixed)
            }
            _ => None,
        }
    }

    pub(crate) fn thing(&self, path: &'a Path) -> Thing<'a> {
        if path.computed {
            return match self.served.computed.iter().find(|computed| *computed.name == *path.name) {
                Some(computed) => Thing::Computed(computed),
                None => Thing::Hidden,
            };
        }
        if &*path.name == "_etag" && path.inside.is_empty() {
            return Thing::Version;
        }
        match self.served.table.column(&path.name) {
            Some(column) if path.inside.is_empty() => Thing::Column(column),
            Some(column) => Thing::Inside(column, &path.inside),
            None => Thing::Hidden,
        }
    }

    pub(crate) fn column(&self, statement: &mut Statement, column: &Column) {
        statement.push("t.").name(&column.quoted);
    }

    /// The value itself, to be compared, sorted and grouped by. Not for what stands inside JSON.
    pub(crate) fn comparable(&self, statement: &mut Statement, thing: Thing<'_>) {
        match thing {
            Thing::Column(column) => match &column.store {
                Store::Sqlite(SqliteStore::Time(_)) if self.time_style(thing) == Some(TimeStyle::Mixed) => {
                    statement.push("aquifer_time(");
                    self.column(statement, column);
                    statement.push(")");
                }
                Store::Postgres(store) if store.read == PostgresRead::AsText => {
                    self.column(statement, column);
                    statement.push("::text");
                }
                // A domain over an enumeration has none of its operators.
                Store::Postgres(store) if store.read == PostgresRead::Word => {
                    self.column(statement, column);
                    statement.push("::").fragment(&store.cast);
                }
                _ => self.column(statement, column),
            },
            Thing::Inside(column, inside) => json::base(self, statement, column, inside),
            Thing::Computed(computed) if computed.of == FieldType::Time && self.dialect == Dialect::Sqlite => {
                statement.push("aquifer_time(");
                self.computed(statement, computed);
                statement.push(")");
            }
            Thing::Computed(computed) => self.computed(statement, computed),
            Thing::Version => self.version(statement),
            Thing::Hidden => match &self.served.table.key {
                crate::model::Key::Hidden(fragment) => {
                    statement.push("t.").fragment(fragment);
                }
                _ => {
                    statement.push("NULL");
                }
            },
        }
    }

    /// Whether the value is read by a function of ours before it is compared. What that cannot read is missing.
    pub(crate) fn is_read(&self, thing: Thing<'_>) -> bool {
        self.time_style(thing) == Some(TimeStyle::Mixed)
    }

    /// The value as it is asked for, and how what comes is to be read.
    pub(crate) fn output(&self, statement: &mut Statement, thing: Thing<'_>) -> Reader {
        match thing {
            Thing::Column(column) => self.output_column(statement, column),
            Thing::Inside(column, inside) => json::output(self, statement, column, inside),
            Thing::Computed(computed) => {
                self.computed(statement, computed);
                reader_of(&computed.of, self.dialect)
            }
            Thing::Version => {
                self.version(statement);
                Reader::Text
            }
            Thing::Hidden => {
                self.comparable(statement, thing);
                if self.dialect == Dialect::Postgres {
                    statement.push("::text");
                }
                Reader::Text
            }
        }
    }

    fn output_column(&self, statement: &mut Statement, column: &Column) -> Reader {
        match &column.store {
            Store::Sqlite(SqliteStore::Json) => {
                self.json_text(statement, column);
                Reader::Json
            }
            Store::Sqlite(store) => {
                self.column(statement, column);
                match (store, &column.of) {
                    (SqliteStore::Boolean, _) => Reader::Boolean,
                    (SqliteStore::Time(_), _) => Reader::Time,
                    (_, FieldType::Bytes) => Reader::Bytes,
                    _ => Reader::Plain,
                }
            }
            Store::Postgres(store) => {
                let (before, after, reader) = match store.read {
                    PostgresRead::Integer => ("", "", Reader::Integer),
                    PostgresRead::Float => ("", "", Reader::Float),
                    PostgresRead::Boolean => ("", "", Reader::Boolean),
                    PostgresRead::Text => ("", "", Reader::Text),
                    PostgresRead::Time => ("", "", Reader::Time),
                    PostgresRead::Date => ("", "", Reader::Date),
                    PostgresRead::Uuid => ("", "", Reader::Uuid),
                    PostgresRead::Bytes => ("", "", Reader::Bytes),
                    PostgresRead::Json => ("", "", Reader::Json),
                    PostgresRead::Jsonb => ("", "::text", Reader::Json),
                    PostgresRead::Decimal => ("", "::text", Reader::Decimal),
                    PostgresRead::AsText | PostgresRead::Word | PostgresRead::Native => ("", "::text", Reader::Text),
                    PostgresRead::MadeJson => {
                        let whole = matches!(&column.of, FieldType::List(Some(of)) if **of == FieldType::Integer);
                        ("to_json(", ")::text", if whole { Reader::Integers } else { Reader::Json })
                    }
                };
                statement.push(before);
                self.column(statement, column);
                statement.push(after);
                reader
            }
        }
    }

    /// SQLite's JSON as text: its binary form is nothing to show.
    pub(super) fn json_text(&self, statement: &mut Statement, column: &Column) {
        statement.push("CASE WHEN typeof(");
        self.column(statement, column);
        statement.push(") = 'blob' THEN CASE WHEN json_valid(");
        self.column(statement, column);
        statement.push(", 8) THEN json(");
        self.column(statement, column);
        statement.push(") END ELSE ");
        self.column(statement, column);
        statement.push(" END");
    }

    fn computed(&self, statement: &mut Statement, computed: &ComputedSource) {
        use crate::exposed_table::Formula;
        match &computed.formula {
            Formula::Operator(fragment) => {
                statement.push("(").fragment(fragment).push(")");
                if self.dialect == Dialect::Postgres {
                    statement.push(cast_of(&computed.of));
                }
            }
            Formula::AgeDays(position) => {
                let Some(column) = self.served.table.columns.get(*position) else {
                    statement.push("NULL");
                    return;
                };
                match self.dialect {
                    Dialect::Postgres => {
                        statement.push("floor(extract(epoch from (");
                        statement.bind(Bind::Text(self.now.to_string())).push("::timestamptz - ");
                        self.column(statement, column);
                        // A date, or a time without a zone, is one in UTC: sessions are in UTC.
                        statement.push("::timestamptz)) / 86400)::int8");
                    }
                    Dialect::Sqlite => {
                        statement.push("aquifer_age(").bind(Bind::Text(self.now.to_string())).push(", ");
                        self.column(statement, column);
                        statement.push(")");
                    }
                }
            }
            Formula::Children(child) => {
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

    /// A mark of the whole row that changes whenever the row does.
    pub(crate) fn version(&self, statement: &mut Statement) {
        // SQLite takes no more arguments than this.
        const MAX_COUNT: usize = 100;
        match self.dialect {
            Dialect::Postgres => {
                let hashes = self.served.table.hashes;
                statement.push(if hashes { "to_hex(hash_record_extended(row(" } else { "substr(md5(row(" });
                for (index, column) in self.served.table.columns.iter().enumerate() {
                    if index > 0 {
                        statement.push(", ");
                    }
                    self.column(statement, column);
                    // Values may be equal and yet differ, as far as a type or a collation goes.
                    if hashes && !is_equal_only_to_itself(column) {
                        statement.push("::text COLLATE \"C\"");
                    }
                }
                statement.push(if hashes { "), 0))" } else { ")::text), 1, 16)" });
            }
            Dialect::Sqlite => {
                let chunks: Vec<&[Column]> = self.served.table.columns.chunks(MAX_COUNT).collect();
                for _ in &chunks {
                    statement.push("aquifer_version(");
                }
                for (index, chunk) in chunks.iter().enumerate() {
                    for (position, column) in chunk.iter().enumerate() {
                        if index > 0 || position > 0 {
                            statement.push(", ");
                        }
                        self.column(statement, column);
                    }
                    statement.push(")");
                }
            }
        }
    }
}

/// Whether values of the column that PostgreSQL calls equal are shown alike.
fn is_equal_only_to_itself(column: &Column) -> bool {
    use PostgresRead::{Boolean, Bytes, Date, Decimal, Integer, Time, Uuid};
    let Store::Postgres(store) = &column.store else { return false };
    matches!(store.read, Boolean | Bytes | Date | Decimal | Integer | Time | Uuid)
}

/// How a value of the type is read that no column stands behind.
pub(crate) fn reader_of(of: &FieldType, dialect: Dialect) -> Reader {
    match (of, dialect) {
        (FieldType::Boolean, _) => Reader::Boolean,
        (FieldType::Time, Dialect::Sqlite) => Reader::Time,
        (FieldType::Json, _) => Reader::Json,
        (FieldType::Bytes, _) => Reader::Bytes,
        (_, Dialect::Sqlite) => Reader::Plain,
        (FieldType::Integer, _) => Reader::Integer,
        (FieldType::Number, _) => Reader::Float,
        (FieldType::Time, _) => Reader::Time,
        (FieldType::Date, _) => Reader::Date,
        (FieldType::Uuid, _) => Reader::Uuid,
        _ => Reader::Text,
    }
}

/// The PostgreSQL type of values that no column stands behind.
pub(crate) fn cast_of(of: &FieldType) -> &'static str {
    match of {
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
