//! Runs a caller's SELECT on SQLite.
//!
//! A statement never reads a table of the file itself. For each table that it names, the connection has a temporary view
//! of the same name with the served columns: SQLite looks for names in the temporary schema first, so hidden columns do
//! not exist for the statement, however it refers to them (`*`, `NATURAL JOIN`, `USING`, `rowid`). Three checks make sure
//! that nothing else is reached, in one transaction with the statement:
//!
//! - the schema is the one that the views were made for;
//! - no name in the statement is that of another table, of a virtual table or of a schema;
//! - SQLite's authorizer allows only what the views themselves read, and functions that only compute. It does not decide
//!   by the view that SQLite reports as accessor: a common table expression can take the name of any view. It also does
//!   not see columns that `USING` and `NATURAL JOIN` compare, so it could not replace the views.

mod authorizer;
mod bounded_functions;
mod failure;
mod functions;
mod views;

use std::sync::Arc;

use rusqlite::Statement as Prepared;
use rusqlite::limits::Limit;

pub(super) use views::ServedViews;

use super::pool::PooledConnection;
use super::{Sqlite, error, rows};
use crate::error::SqlError;
use crate::query_sql::{self, MAX_BINDS, SqlAccess, SqlRequest, TableResult};
use crate::rows::CellType;
use crate::schema::model::SchemaStamp;
use crate::work::OperationOutput;
use crate::work::fair_permits::Holder;
use crate::work::session::WorkError;
use authorizer::Authorizer;

/// Maximum size of a text or bytes that a statement can read or produce. A function cannot be interrupted, and takes
/// time proportional to the size of its arguments.
const MAX_VALUE_BYTES: i32 = 1_000_000;
/// Maximum size of a pattern of LIKE and GLOB, which take time proportional to the product of two lengths.
const MAX_PATTERN_BYTES: i32 = 100;
/// How many steps of SQLite's virtual machine run between two checks: fewer than elsewhere, because callers choose the
/// steps.
const STEPS_PER_CHECK: i32 = 25;

impl Sqlite {
    /// Runs one SELECT.
    pub(crate) async fn query_sql(
        &self,
        access: Arc<SqlAccess>,
        request: SqlRequest,
        holder: Holder,
    ) -> Result<OperationOutput, WorkError> {
        let lease = self.statements.acquire(holder).await?;
        let last_seen = self.last_seen.clone();
        let running = lease.run_blocking(move |pooled| {
            let answer = run(pooled, &access, &request);
            super::backend::record_schema(&last_seen, pooled);
            answer
        });
        self.within_grace_period(running).await
    }
}

fn run(
    pooled: &mut PooledConnection,
    access: &Arc<SqlAccess>,
    request: &SqlRequest,
) -> Result<OperationOutput, WorkError> {
    if !pooled.is_bounded {
        bound(pooled).map_err(|error| error::from_rusqlite(&error))?;
    }
    let PooledConnection { connection, served_views, .. } = &mut *pooled;
    let named = views::named_tables(access, &request.sql);
    let authorizer = served_views.prepare(connection, access, &named).map_err(|error| error::from_rusqlite(&error))?;
    let begin = connection.execute_batch("BEGIN");
    begin.map_err(|error| error::from_rusqlite(&error))?;
    let answer = run_in_transaction(pooled, access, request, &named, authorizer);
    let clear = pooled.connection.authorizer(None::<fn(rusqlite::hooks::AuthContext<'_>) -> _>);
    let _ = pooled.connection.execute_batch("ROLLBACK");
    clear.map_err(|error| error::from_rusqlite(&error))?;
    answer
}

fn run_in_transaction(
    pooled: &mut PooledConnection,
    access: &SqlAccess,
    request: &SqlRequest,
    named: &[usize],
    authorizer: Authorizer,
) -> Result<OperationOutput, WorkError> {
    let version = super::backend::schema_version(&pooled.connection).map_err(|error| error::from_rusqlite(&error))?;
    if access.stamp != Some(SchemaStamp { file: pooled.file, version }) {
        let cause = "the schema has changed since the reflection".to_owned();
        return Err(SqlError::SchemaChanged { message: None, cause }.into());
    }
    let unserved = views::check_names(&pooled.connection, access, &request.sql)?;
    let authorizer = authorizer.with_unserved(unserved);
    authorizer.install(&mut pooled.connection).map_err(|error| error::from_rusqlite(&error))?;
    let explain = |error: rusqlite::Error| failure::explain(&error, access, request, &authorizer);
    let mut prepared = pooled.connection.prepare(request.sql.text()).map_err(explain)?;
    if !prepared.readonly() || prepared.column_count() == 0 {
        return Err(query_sql::refused("only reads can be run").into());
    }
    bind(&mut prepared, request).map_err(|error| match error {
        BindError::Count(failure) => failure.into(),
        BindError::Sqlite(error) => explain(error),
    })?;
    let cell_types = cell_types(&prepared, access, request, named);
    let columns = prepared.column_names().map(str::to_owned).collect();
    let mut result = TableResult::new(columns, cell_types, request.limits);
    let mut rows = prepared.raw_query();
    while let Some(row) = rows.next().map_err(explain)? {
        if result.push(&rows::Row(row), 0).is_break() {
            break;
        }
    }
    drop(rows);
    result.finish()
}

/// Bounds what a statement can do between two checks of its timeout.
fn bound(pooled: &mut PooledConnection) -> rusqlite::Result<()> {
    bounded_functions::register(&pooled.connection, pooled.stop_check())?;
    pooled.connection.progress_handler(STEPS_PER_CHECK, Some(pooled.stop_check()))?;
    let limits = [
        (Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES),
        (Limit::SQLITE_LIMIT_SQL_LENGTH, 1_000_000),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, 500),
        (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 100),
        (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, MAX_PATTERN_BYTES),
        (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, i32::try_from(MAX_BINDS).unwrap_or(i32::MAX)),
        (Limit::SQLITE_LIMIT_ATTACHED, 0),
        (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    ];
    limits.into_iter().try_for_each(|(limit, value)| pooled.connection.set_limit(limit, value).map(|_| ()))?;
    pooled.is_bounded = true;
    Ok(())
}

enum BindError {
    Count(aquifer_protocol::error::Failure),
    Sqlite(rusqlite::Error),
}

/// Binds the values. SQLite numbers `$1` in the order of appearance, so they are found by name.
fn bind(prepared: &mut Prepared<'_>, request: &SqlRequest) -> Result<(), BindError> {
    let style = request.sql.parameters();
    query_sql::check_count(style.count(), style, request.binds.len()).map_err(BindError::Count)?;
    for index in 1..=prepared.parameter_count() {
        let number = match prepared.parameter_name(index) {
            None => Some(index),
            Some(name) => name.get(1..).and_then(|number| number.parse().ok()),
        };
        let value = number.and_then(|number: usize| request.binds.get(number.checked_sub(1)?));
        let Some(value) = value else {
            return Err(BindError::Sqlite(rusqlite::Error::InvalidParameterCount(index, request.binds.len())));
        };
        prepared.raw_bind_parameter(index, value).map_err(BindError::Sqlite)?;
    }
    Ok(())
}

/// How the cells are written: a table column as in lists, anything else by the type of its value.
fn cell_types(prepared: &Prepared<'_>, access: &SqlAccess, request: &SqlRequest, named: &[usize]) -> Vec<CellType> {
    // SQLite reports the columns of the first query only.
    let is_compound = ["union", "intersect", "except"].iter().any(|word| request.sql.has_word(word));
    let cell_type = |index: usize| match prepared.column_metadata(index).ok().flatten() {
        Some((_, table, column, ..)) if !is_compound => {
            access.cell_type(named, &table.to_string_lossy(), &column.to_string_lossy())
        }
        _ => CellType::Plain,
    };
    (0..prepared.column_count()).map(cell_type).collect()
}
