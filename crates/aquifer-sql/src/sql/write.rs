//! Statements that change rows.

use aquifer_query::FieldType;
use aquifer_query::plan::Path;
use serde_json::Value;

use super::operand;
use super::scope::Scope;
use super::select::write_key_condition;
use super::selection::OutputColumns;
use crate::rows::{CellType, CursorSource, RowShape};
use crate::schema::model::{Column, Key, SqliteStore, Store, UntestableDefault};
use crate::schema::time_style::TimeStyle;
use crate::statement::{Bind, Dialect, Fragment, Statement};

/// A statement and how to read its result.
pub(crate) struct ChangeStatement {
    pub(crate) statement: Statement,
    pub(crate) returns: ReturnedColumns,
}

/// The result of a statement.
pub(crate) enum ReturnedColumns {
    /// The row itself.
    Row(RowShape),
    /// The key, by which the row is read: SQLite's `RETURNING` cannot return more.
    Key(Vec<CellType>),
}

/// A value to store.
pub(crate) enum NewValue<'a> {
    Value(&'a Value),
    /// Text that is already JSON.
    Json(String),
}

/// Overrides the table's `ON CONFLICT` clauses: `REPLACE` would delete other rows, and `IGNORE` would report success.
/// Only used if there are such clauses, because it also overrides those in triggers (`INSERT OR IGNORE INTO
/// statistics`).
fn conflict_clause(scope: &Scope<'_>) -> &'static str {
    if scope.exposed.table.resolves_conflicts { " OR ABORT" } else { "" }
}

/// Inserts a row. The columns in `predicted` get the values that their defaults would give.
pub(crate) fn insert(
    scope: &Scope<'_>,
    values: Vec<(&Column, NewValue<'_>)>,
    predicted: &[(&UntestableDefault, &Fragment)],
    select: &[Path],
) -> ChangeStatement {
    let mut statement = Statement::new(scope.dialect);
    statement.push("INSERT").push(conflict_clause(scope)).push(" INTO ").name(&scope.exposed.table.quoted);
    if scope.dialect == Dialect::Postgres {
        statement.push(" AS t");
    }
    if values.is_empty() && predicted.is_empty() {
        statement.push(" DEFAULT VALUES");
    } else {
        let names = values
            .iter()
            .map(|(column, _)| &column.quoted)
            .chain(predicted.iter().map(|(untestable, _)| &untestable.quoted));
        for (index, name) in names.enumerate() {
            statement.push(if index == 0 { " (" } else { ", " }).name(name);
        }
        statement.push(")");
        if predicted.iter().any(|(untestable, _)| untestable.is_identity) {
            statement.push(" OVERRIDING SYSTEM VALUE");
        }
        let count = values.len();
        for (index, (column, value)) in values.into_iter().enumerate() {
            statement.push(if index == 0 { " VALUES (" } else { ", " });
            write_assigned(&mut statement, column, value);
        }
        for (index, (_, value)) in predicted.iter().enumerate() {
            statement.push(if index + count == 0 { " VALUES (" } else { ", " }).fragment(value);
        }
        statement.push(")");
    }
    let returns = write_returning(scope, &mut statement, select);
    ChangeStatement { statement, returns }
}

/// Updates the row with a key.
pub(crate) fn update(
    scope: &Scope<'_>,
    values: Vec<(&Column, NewValue<'_>)>,
    key: &[Value],
    select: &[Path],
) -> ChangeStatement {
    let mut statement = Statement::new(scope.dialect);
    statement.push("UPDATE").push(conflict_clause(scope)).push(" ").name(&scope.exposed.table.quoted).push(" AS t");
    for (index, (column, value)) in values.into_iter().enumerate() {
        statement.push(if index == 0 { " SET " } else { ", " }).name(&column.quoted).push(" = ");
        write_assigned(&mut statement, column, value);
    }
    write_key_condition(scope, &mut statement, key);
    let returns = write_returning(scope, &mut statement, select);
    ChangeStatement { statement, returns }
}

/// Deletes the row with a key.
pub(crate) fn delete(scope: &Scope<'_>, key: &[Value]) -> Statement {
    let mut statement = Statement::new(scope.dialect);
    statement.push("DELETE FROM ").name(&scope.exposed.table.quoted).push(" AS t");
    write_key_condition(scope, &mut statement, key);
    statement
}

fn write_returning(scope: &Scope<'_>, statement: &mut Statement, select: &[Path]) -> ReturnedColumns {
    statement.push(" RETURNING ");
    match scope.dialect {
        Dialect::Postgres => {
            let fields = OutputColumns::default().select_fields(scope, statement, select);
            ReturnedColumns::Row(RowShape { fields, table: false, cursor_source: CursorSource::None })
        }
        Dialect::Sqlite => {
            let mut cell_types = Vec::new();
            for column in scope.exposed.table.key_columns() {
                statement.push(if cell_types.is_empty() { "" } else { ", " }).name(&column.quoted);
                cell_types.push(match &column.store {
                    Store::Sqlite(SqliteStore::Time(_)) => CellType::Time(column.digits.clone()),
                    Store::Sqlite(SqliteStore::Boolean) => CellType::Boolean,
                    _ => CellType::Plain,
                });
            }
            if cell_types.is_empty() {
                statement.push("1");
            }
            ReturnedColumns::Key(cell_types)
        }
    }
}

/// Checks a rule for these values, which include all that it refers to.
pub(crate) fn check_rule(scope: &Scope<'_>, rule: &Fragment, values: Vec<(&Column, &Value)>) -> Statement {
    let mut statement = Statement::new(scope.dialect);
    statement.push("SELECT count(*) FROM (SELECT ");
    for (index, (column, value)) in values.into_iter().enumerate() {
        statement.push(if index == 0 { "" } else { ", " });
        write_assigned(&mut statement, column, NewValue::Value(value));
        statement.push(" AS ").name(&column.quoted);
    }
    // A check that is NULL is not violated.
    statement.push(") AS t WHERE (").fragment(rule).push(") IS NOT FALSE");
    statement
}

/// Makes the database parse these values, without any effect.
pub(crate) fn read_values(scope: &Scope<'_>, values: Vec<(&Column, &Value)>) -> Statement {
    let mut statement = Statement::new(scope.dialect);
    statement.push("SELECT count(*) FROM (SELECT 1 AS one");
    for (column, value) in values {
        statement.push(", ");
        write_assigned(&mut statement, column, NewValue::Value(value));
        if let Store::Postgres(store) = &column.store {
            statement.push("::").fragment(&store.whole);
        }
        statement.push(" AS ").name(&column.quoted);
    }
    // `OFFSET 0` keeps the values from being optimized away.
    statement.push(" OFFSET 0) AS t");
    statement
}

/// Writes a value to store.
fn write_assigned(statement: &mut Statement, column: &Column, new_value: NewValue<'_>) {
    let value = match new_value {
        NewValue::Value(value) => value,
        NewValue::Json(text) => {
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
            statement.bind(match (&column.field_type, value) {
                (FieldType::Json, value) if !value.is_null() => Bind::Text(value.to_string()),
                // A column in mixed formats gets SQLite's own format.
                (FieldType::Time, value) if style == TimeStyle::Mixed => {
                    operand::to_sqlite(&column.field_type, TimeStyle::SQLITE, value)
                }
                (field_type, value) => operand::to_sqlite(field_type, style, value),
            });
        }
        Store::Postgres(store) => {
            statement.bind(operand::to_postgres(&column.field_type, value)).push("::").fragment(&store.cast);
        }
    }
}

/// Counts the rows of another table with these values.
pub(crate) fn count_matches(
    scope: &Scope<'_>,
    table: &crate::statement::Name,
    on: &[(crate::statement::Name, &Column, &Value)],
) -> Statement {
    let mut statement = Statement::new(scope.dialect);
    statement.push("SELECT count(*) FROM ").name(table).push(" AS o");
    for (index, (theirs, ours, value)) in on.iter().enumerate() {
        statement.push(if index == 0 { " WHERE o." } else { " AND o." }).name(theirs).push(" = ");
        operand::write_equal_operand(&mut statement, ours, value);
    }
    statement
}

/// Whether rows can be addressed by a key.
pub(crate) fn has_key(key: &Key) -> bool {
    matches!(key, Key::Columns(_))
}
