//! Runs a caller's SELECT on PostgreSQL.
//!
//! The permissions of the database user limit what a statement reads, so `query_sql` is offered only if the user cannot
//! read anything that is not served ([`readable`]). This is checked again in the transaction of every statement. An
//! allowlist limits the functions that a statement calls ([`statement_check`]), because a read-only transaction does not prevent
//! functions from connecting elsewhere, locking, or ending other sessions.
//!
//! The statement runs as a subquery, in a read-only transaction that is rolled back. Only a SELECT can be a subquery,
//! and the outer query limits the number and size of rows, which the driver would hold in memory.

mod failure;
mod functions;
mod readable;
mod statement_check;

use std::fmt::Write as _;

use futures::TryStreamExt as _;
use tokio_postgres::types::{Kind, ToSql, Type};

use super::backend::{Postgres, retry_transient};
use super::rows;
use super::session::PostgresSession;
use crate::error::SqlError;
use crate::fair_permits::Holder;
use crate::query_sql::{self, SqlAccess, SqlRequest, TableResult};
use crate::rows::{CellType, ResultRow as _};
use crate::schema::time_digits::{MICROSECONDS, TimeDigits};
use crate::statement::Bind;
use crate::work::OperationOutput;
use crate::work::session::WorkError;
use readable::Readable;

/// Disables escapes in strings, as the lexer assumes.
const BEGIN: &str =
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL standard_conforming_strings = on; SET LOCAL jit = off";

impl Postgres {
    /// Why `query_sql` cannot be offered, for the operator.
    pub(crate) async fn query_sql_problems(&self, access: &SqlAccess) -> Result<Vec<String>, WorkError> {
        retry_transient(|| async {
            let mut connection = self.readers.acquire(Holder::Internal).await?;
            let mut session = PostgresSession::new(&mut connection, self.timeout);
            Ok(Readable::read(&mut session).await?.problems(access))
        })
        .await
    }

    /// Runs one SELECT.
    pub(crate) async fn query_sql(
        &self,
        access: &SqlAccess,
        request: &SqlRequest,
        holder: &Holder,
    ) -> Result<OperationOutput, WorkError> {
        retry_transient(|| async {
            let mut connection = self.readers.acquire(holder.clone()).await?;
            let mut session = PostgresSession::new(&mut connection, self.timeout);
            session.batch(BEGIN).await?;
            let answer = self.run_statement(&mut session, access, request).await;
            if !session.connection.is_busy {
                // Nothing was changed, so errors of the rollback do not matter.
                let _ = session.batch("ROLLBACK").await;
            }
            answer
        })
        .await
    }

    async fn run_statement(
        &self,
        session: &mut PostgresSession<'_>,
        access: &SqlAccess,
        request: &SqlRequest,
    ) -> Result<OperationOutput, WorkError> {
        let readable = Readable::read(session).await?;
        let problems = readable.problems(access);
        if !problems.is_empty() {
            tracing::error!("query_sql is refused: {}", problems.join("; "));
            let reason = "the database user may read more than is served. The operator's log says which";
            return Err(query_sql::refused(reason).because(problems.join("; ")).into());
        }
        statement_check::check(&request.sql, &readable)?;
        session.connection.is_busy = true;
        let timeout = session.timeout;
        let running = execute(session, &self.search_path, request);
        let Ok(outcome) = tokio::time::timeout(timeout, running).await else {
            return Err(
                SqlError::Unresponsive { cause: "the server did not end the statement in time".to_owned() }.into()
            );
        };
        session.connection.is_busy = false;
        match outcome {
            Ok(result) => result.finish(),
            Err(ExecuteError::Failure(failure)) => Err((*failure).into()),
            Err(ExecuteError::Driver(error)) => Err(failure::explain(&error, access, request)),
        }
    }
}

/// Why a statement could not be executed.
enum ExecuteError {
    Failure(Box<aquifer_protocol::error::Failure>),
    Driver(tokio_postgres::Error),
}

impl From<tokio_postgres::Error> for ExecuteError {
    fn from(error: tokio_postgres::Error) -> Self {
        ExecuteError::Driver(error)
    }
}

async fn execute(
    session: &PostgresSession<'_>,
    search_path: &str,
    request: &SqlRequest,
) -> Result<TableResult, ExecuteError> {
    let client = &session.connection.client;
    client.execute("SELECT set_config('search_path', $1, true)", &[&search_path]).await?;
    // Prepared on its own first, so that error positions refer to the caller's text.
    let own = client.prepare(request.sql.text()).await?;
    let failed = |failure| ExecuteError::Failure(Box::new(failure));
    query_sql::check_count(own.params().len(), request.sql.parameters(), request.binds.len()).map_err(failed)?;
    if own.columns().is_empty() {
        return Err(failed(query_sql::refused("a statement without columns cannot be run")));
    }
    let columns: Vec<String> = own.columns().iter().map(|column| column.name().to_owned()).collect();
    let types: Vec<&Type> = own.columns().iter().map(|column| column.type_()).collect();
    let (outer, cell_types) = outer_query(request, &types);
    let prepared = client.prepare(&outer).await?;
    let binds: Vec<Bind> = request.binds.iter().zip(prepared.params()).map(|(bind, of)| array_bind(bind, of)).collect();
    let binds = binds.iter().map(|bind| bind as &(dyn ToSql + Sync));
    let mut result = TableResult::new(columns, cell_types, request.limits);
    let mut stream = std::pin::pin!(client.query_raw(&prepared, binds).await?);
    let mut is_wanted = true;
    while let Some(row) = stream.try_next().await? {
        let row = rows::Row(&row);
        let is_large = row.value(0, &CellType::Boolean) == serde_json::Value::Bool(true);
        is_wanted =
            is_wanted && if is_large { result.end_before_large_row() } else { result.push(&row, 1) }.is_continue();
    }
    Ok(result)
}

/// The statement as a subquery. The first column is true if the row is too large; the other columns are then missing.
fn outer_query(request: &SqlRequest, types: &[&Type]) -> (String, Vec<CellType>) {
    let limits = request.limits;
    let mut names = String::new();
    let mut shown = String::new();
    let mut cell_types = Vec::with_capacity(types.len());
    for (index, of) in types.iter().enumerate() {
        let (before, after, cell_type) = read_expression(of);
        let _ = write!(names, "{}c{index}", if index > 0 { ", " } else { "" });
        let _ = write!(shown, ", CASE WHEN NOT z.is_large THEN {before}z.c{index}{after} END");
        cell_types.push(cell_type);
    }
    let (bytes, count, sql) = (limits.max_bytes, limits.max_size.saturating_add(1), request.sql.text());
    let outer = format!(
        "SELECT z.is_large{shown} FROM (SELECT q.*, octet_length(q::text) > {bytes} AS is_large FROM ({sql}) AS q({names})) AS z LIMIT {count}"
    );
    (outer, cell_types)
}

/// The expression that reads a value of a type: in binary form, or converted to text or JSON by the database.
fn read_expression(of: &Type) -> (&'static str, &'static str, CellType) {
    if matches!(of.kind(), Kind::Array(_)) {
        let is_whole = [Type::INT2_ARRAY, Type::INT4_ARRAY, Type::INT8_ARRAY].contains(of);
        return ("to_json(", ")::text", if is_whole { CellType::Integers } else { CellType::Json });
    }
    match *of {
        Type::INT2 | Type::INT4 | Type::INT8 => ("", "", CellType::Integer),
        Type::FLOAT4 | Type::FLOAT8 => ("", "", CellType::Float),
        Type::BOOL => ("", "", CellType::Boolean),
        Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME => ("", "", CellType::Text),
        Type::TIMESTAMP | Type::TIMESTAMPTZ => ("", "", CellType::Time(TimeDigits::new(MICROSECONDS))),
        Type::DATE => ("", "", CellType::Date),
        Type::UUID => ("", "", CellType::Uuid),
        Type::BYTEA => ("", "", CellType::Bytes),
        Type::JSON => ("", "", CellType::Json),
        Type::JSONB => ("", "::text", CellType::Json),
        Type::NUMERIC => ("", "::text", CellType::Decimal),
        _ => ("", "::text", CellType::Text),
    }
}

/// Converts a list to PostgreSQL's notation if the parameter is an array.
fn array_bind(bind: &Bind, of: &Type) -> Bind {
    let (Bind::Text(text), Kind::Array(_)) = (bind, of.kind()) else { return bind.clone() };
    let Ok(serde_json::Value::Array(items)) = serde_json::from_str(text) else { return bind.clone() };
    let items: Vec<Option<String>> = items
        .into_iter()
        .map(|item| match item {
            serde_json::Value::Null => None,
            serde_json::Value::String(text) => Some(text),
            other => Some(other.to_string()),
        })
        .collect();
    Bind::Text(crate::sql::json::array_literal(items.iter().map(Option::as_deref)))
}
