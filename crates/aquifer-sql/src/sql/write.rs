//! Statements that change rows.

use aquifer_query::FieldType;
use aquifer_query::plan::Path;
use serde_json::Value;

use super::operand;
use super::select::by_key;
use super::selection::Outputs;
use super::value::Scope;
use crate::model::{Column, DrawnColumn, Key, SqliteStore, Store};
use crate::rows::{Places, Reader, Shape};
use crate::statement::{Bind, Dialect, Fragment, Statement};
use crate::time_style::TimeStyle;

/// A statement, and how what it returns is to be read.
pub(crate) struct Change {
    pub(crate) statement: Statement,
    pub(crate) returns: Returns,
}

/// What a statement returns.
pub(crate) enum Returns {
    /// The row itself.
    Row(Shape),
    /// Its key, to read it by: SQLite's `RETURNING` cannot say more.
    Key(Vec<Reader>),
}

/// A value to be kept.
pub(crate) enum Given<'a> {
    Value(&'a Value),
    /// Text that is JSON already.
    Json(String),
}

/// Overrides the table's `ON CONFLICT` clauses: `REPLACE` would delete other rows, `IGNORE` would report success. Only where
/// there are such clauses, because it overrides those in triggers as well (`INSERT OR IGNORE INTO statistics`).
fn on_conflict(scope: &Scope<'_>) -> &'static str {
    if scope.served.table.resolves_conflicts { " OR ABORT" } else { "" }
}

/// Makes a row of these values. The columns in `predicted` get the values they would have drawn by themselves.
pub(crate) fn insert(
    scope: &Scope<'_>,
    values: Vec<(&Column, Given<'_>)>,
    predicted: &[(&DrawnColumn, &Fragment)],
    select: &[Path],
) -> Change {
    let mut statement = Statement::new(scope.dialect);
    statement.push("INSERT").push(on_conflict(scope)).push(" INTO ").name(&scope.served.table.quoted);
    if scope.dialect == Dialect::Postgres {
        statement.push(" AS t");
    }
    if values.is_empty() && predicted.is_empty() {
        statement.push(" DEFAULT VALUES");
    } else {
        let names =
            values.iter().map(|(column, _)| &column.quoted).chain(predicted.iter().map(|(drawn, _)| &drawn.quoted));
        for (index, name) in names.enumerate() {
            statement.push(if index == 0 { " (" } else { ", " }).name(name);
        }
        statement.push(")");
        if predicted.iter().any(|(drawn, _)| drawn.is_identity) {
            statement.push(" OVERRIDING SYSTEM VALUE");
        }
        let count = values.len();
        for (index, (column, value)) in values.into_iter().enumerate() {
            statement.push(if index == 0 { " VALUES (" } else { ", " });
            assigned(&mut statement, column, value);
        }
        for (index, (_, value)) in predicted.iter().enumerate() {
            statement.push(if index + count == 0 { " VALUES (" } else { ", " }).fragment(value);
        }
        statement.push(")");
    }
    let returns = returning(scope, &mut statement, select);
    Change { statement, returns }
}

/// Changes the row of a key.
pub(crate) fn update(scope: &Scope<'_>, values: Vec<(&Column, Given<'_>)>, key: &[Value], select: &[Path]) -> Change {
    let mut statement = Statement::new(scope.dialect);
    statement.push("UPDATE").push(on_conflict(scope)).push(" ").name(&scope.served.table.quoted).push(" AS t");
    for (index, (column, value)) in values.into_iter().enumerate() {
        statement.push(if index == 0 { " SET " } else { ", " }).name(&column.quoted).push(" = ");
        assigned(&mut statement, column, value);
    }
    by_key(scope, &mut statement, key);
    let returns = returning(scope, &mut statement, select);
    Change { statement, returns }
}

/// Removes the row of a key.
pub(crate) fn delete(scope: &Scope<'_>, key: &[Value]) -> Statement {
    let mut statement = Statement::new(scope.dialect);
    statement.push("DELETE FROM ").name(&scope.served.table.quoted).push(" AS t");
    by_key(scope, &mut statement, key);
    statement
}

fn returning(scope: &Scope<'_>, statement: &mut Statement, select: &[Path]) -> Returns {
    statement.push(" RETURNING ");
    match scope.dialect {
        Dialect::Postgres => {
            let nodes = Outputs::default().nodes(scope, statement, select);
            Returns::Row(Shape { nodes, places: Places::None })
        }
        Dialect::Sqlite => {
            let mut readers = Vec::new();
            for column in scope.served.table.key_columns() {
                statement.push(if readers.is_empty() { "" } else { ", " }).name(&column.quoted);
                readers.push(match &column.store {
                    Store::Sqlite(SqliteStore::Time(_)) => Reader::Time,
                    Store::Sqlite(SqliteStore::Boolean) => Reader::Boolean,
                    _ => Reader::Plain,
                });
            }
            if readers.is_empty() {
                statement.push("1");
            }
            Returns::Key(readers)
        }
    }
}

/// Whether a rule holds for a row of these values, which are all it is about.
pub(crate) fn holds(scope: &Scope<'_>, rule: &Fragment, values: Vec<(&Column, &Value)>) -> Statement {
    let mut statement = Statement::new(scope.dialect);
    statement.push("SELECT count(*) FROM (SELECT ");
    for (index, (column, value)) in values.into_iter().enumerate() {
        statement.push(if index == 0 { "" } else { ", " });
        assigned(&mut statement, column, Given::Value(value));
        statement.push(" AS ").name(&column.quoted);
    }
    // What cannot be decided is no offence.
    statement.push(") AS t WHERE (").fragment(rule).push(") IS NOT FALSE");
    statement
}

/// Has the database read these values, and do nothing with them.
pub(crate) fn read_values(scope: &Scope<'_>, values: Vec<(&Column, &Value)>) -> Statement {
    let mut statement = Statement::new(scope.dialect);
    statement.push("SELECT count(*) FROM (SELECT 1 AS one");
    for (column, value) in values {
        statement.push(", ");
        assigned(&mut statement, column, Given::Value(value));
        if let Store::Postgres(store) = &column.store {
            statement.push("::").fragment(&store.whole);
        }
        statement.push(" AS ").name(&column.quoted);
    }
    // Where nobody asks for them, they would not be read.
    statement.push(" OFFSET 0) AS t");
    statement
}

/// A value to be kept.
fn assigned(statement: &mut Statement, column: &Column, given: Given<'_>) {
    let value = match given {
        Given::Value(value) => value,
        Given::Json(text) => {
            statement.bind(Bind::Text(text));
            if let Store::Postgres(store) = &column.store {
                statement.push("::").fragment(&store.cast);
            }
            return;
        }
    };
    match &column.store {
        Store::Sqlite(store) => {
            let style = match store {
                SqliteStore::Time(style) => *style,
                _ => TimeStyle::Mixed,
            };
            statement.bind(match (&column.of, value) {
                (FieldType::Json, value) if !value.is_null() => Bind::Text(value.to_string()),
                // A column that is written now this way, now that goes on in SQLite's own way.
                (FieldType::Time, value) if style == TimeStyle::Mixed => {
                    operand::sqlite(&column.of, TimeStyle::SQLITE, value)
                }
                (of, value) => operand::sqlite(of, style, value),
            });
        }
        Store::Postgres(store) => {
            statement.bind(operand::postgres(&column.of, value)).push("::").fragment(&store.cast);
        }
    }
}

/// Whether a row elsewhere has these values in these columns.
pub(crate) fn exists(
    scope: &Scope<'_>,
    table: &crate::statement::Name,
    on: &[(crate::statement::Name, &Column, &Value)],
) -> Statement {
    let mut statement = Statement::new(scope.dialect);
    statement.push("SELECT count(*) FROM ").name(table).push(" AS o");
    for (index, (theirs, ours, value)) in on.iter().enumerate() {
        statement.push(if index == 0 { " WHERE o." } else { " AND o." }).name(theirs).push(" = ");
        operand::equal(&mut statement, ours, value);
    }
    statement
}

/// Whether the table has a key that a row can be found by.
pub(crate) fn has_key(key: &Key) -> bool {
    matches!(key, Key::Columns(_))
}
