//! Runs a caller's SELECT on PostgreSQL.
//!
//! The permissions of the database user limit what a statement reads, so `query_sql` is offered only if the user cannot
//! read anything that is not served ([`readable`]). A read-only transaction does not prevent functions from connecting
//! elsewhere, locking, or ending other sessions, so everything that a statement calls must be known to be harmless. The
//! server decides what that is, not the text: the statement becomes a temporary view, whose tree is judged ([`resolved`])
//! before it is executed. Code that no tree shows is judged before anything is parsed ([`callable`]). All of this is
//! checked in the transaction of every statement.
//!
//! The statement is a subquery of the view, the transaction is made read-only before the view is executed, and it is
//! rolled back. Only a SELECT can be a subquery, and the outer query limits the number and size of rows, which the driver
//! would hold in memory. Values of parameters are constants of the view, because a view has no parameters.

mod callable;
mod failure;
mod functions;
mod readable;
mod resolved;

use std::fmt::Write as _;

use aquifer_protocol::error::Failure;
use aquifer_protocol::hex::hex;
use futures::TryStreamExt as _;
use tokio_postgres::Client;
use tokio_postgres::types::{Kind, Type};

use super::backend::{Postgres, retry_transient};
use super::rows;
use super::session::PostgresSession;
use crate::error::SqlError;
use crate::query_sql::{self, QuerySqlProblems, SqlAccess, SqlRequest, TableResult};
use crate::rows::time_digits::{MICROSECONDS, TimeDigits};
use crate::rows::{CellType, ResultRow as _};
use crate::statement::{Bind, Dialect, Statement};
use crate::work::OperationOutput;
use crate::work::fair_permits::Holder;
use crate::work::session::{Session as _, WorkError};
use callable::CallableCode;
use readable::Readable;

/// Disables escapes in strings, as the lexer assumes. Each query sees what was committed before it, like the server when
/// it looks up names.
const BEGIN: &str =
    "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL standard_conforming_strings = on; SET LOCAL jit = off";

/// The name of the view of a statement.
const VIEW: &str = "aquifer_statement";

impl Postgres {
    /// Why `query_sql` cannot be offered, for the operator.
    pub(crate) async fn query_sql_problems(&self, access: &SqlAccess) -> Result<QuerySqlProblems, WorkError> {
        retry_transient(|| async {
            let mut connection = self.readers.acquire(Holder::Internal).await?;
            let mut session = PostgresSession::new(&mut connection, self.timeout);
            session.batch(BEGIN).await?;
            let problems = self.find_problems(&mut session, access).await;
            if !session.connection.is_busy {
                let _ = session.batch("ROLLBACK").await;
            }
            problems.map(|(problems, _)| problems)
        })
        .await
    }

    async fn find_problems(
        &self,
        session: &mut PostgresSession<'_>,
        access: &SqlAccess,
    ) -> Result<(QuerySqlProblems, CallableCode), WorkError> {
        let mut search_path = Statement::new(Dialect::Postgres);
        search_path.push("SELECT pg_catalog.set_config('search_path', ");
        search_path.bind(Bind::Text(self.search_path.clone())).push(", true)");
        session.execute(&search_path).await?;
        let readable = Readable::read(session).await?;
        let code = CallableCode::read(session).await?;
        let mut unjudged = code.problems();
        unjudged.extend(readable.view_problem().map(str::to_owned));
        Ok((QuerySqlProblems { readable: readable.problems(access), unjudged }, code))
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
        let (problems, mut code) = self.find_problems(session, access).await?;
        for (problems, reason) in [
            (problems.readable, "the database user may read more than is served. The operator's log says which"),
            (problems.unjudged, "the database has code not known to be harmless. The operator's log says which"),
        ] {
            if !problems.is_empty() {
                tracing::error!("query_sql is refused: {}", problems.join("; "));
                return Err(query_sql::refused(reason).because(problems.join("; ")).into());
            }
        }
        let late = || SqlError::Unresponsive { cause: "the server did not end the statement in time".to_owned() };
        session.connection.is_busy = true;
        let resolving = resolve(&session.connection.client, request);
        let resolved = tokio::time::timeout(session.timeout, resolving).await.map_err(|_| late())?;
        session.connection.is_busy = false;
        let resolved = resolved.map_err(|error| error.into_work_error(access, request))?;
        resolved::check(session, &mut code.safe_code, VIEW).await?;
        session.connection.is_busy = true;
        let executing = execute(&session.connection.client, resolved, request);
        let result = tokio::time::timeout(session.timeout, executing).await.map_err(|_| late())?;
        session.connection.is_busy = false;
        result.map_err(|error| error.into_work_error(access, request))?.finish()
    }
}

/// Why a statement could not be executed.
enum ExecuteError {
    Failure(Box<Failure>),
    /// An error about the caller's own text.
    Statement(tokio_postgres::Error),
    Driver(tokio_postgres::Error),
}

impl From<tokio_postgres::Error> for ExecuteError {
    fn from(error: tokio_postgres::Error) -> Self {
        ExecuteError::Driver(error)
    }
}

impl ExecuteError {
    fn into_work_error(self, access: &SqlAccess, request: &SqlRequest) -> WorkError {
        match self {
            ExecuteError::Failure(failure) => (*failure).into(),
            ExecuteError::Statement(error) => failure::explain(&error, access, request, true),
            ExecuteError::Driver(error) => failure::explain(&error, access, request, false),
        }
    }
}

/// A statement that the server has resolved.
struct ResolvedStatement {
    prepared: tokio_postgres::Statement,
    columns: Vec<String>,
    cell_types: Vec<CellType>,
}

/// Creates the view of the statement, and prepares reading it. This locks everything that the statement reads, so that
/// none of it is defined anew after it was judged. Nothing is planned yet.
async fn resolve(client: &Client, request: &SqlRequest) -> Result<ResolvedStatement, ExecuteError> {
    // Prepared on its own first, so that error positions refer to the caller's text.
    let own = client.prepare(request.sql.text()).await.map_err(ExecuteError::Statement)?;
    let failed = |failure| ExecuteError::Failure(Box::new(failure));
    query_sql::check_count(own.params().len(), request.sql.parameters(), request.binds.len()).map_err(failed)?;
    if own.columns().is_empty() {
        return Err(failed(query_sql::refused("a statement without columns cannot be run")));
    }
    let columns = own.columns().iter().map(|column| column.name().to_owned()).collect();
    let types: Vec<&Type> = own.columns().iter().map(|column| column.type_()).collect();
    let values = request.binds.iter().zip(own.params()).map(|(bind, value_type)| constant(bind, value_type));
    let values = values.collect::<Result<Vec<String>, Failure>>().map_err(failed)?;
    let (outer, cell_types) = outer_query(request, &values, &types);
    client.execute(&format!("CREATE TEMPORARY VIEW {VIEW} AS {outer}"), &[]).await?;
    let prepared = client.prepare(&format!("SELECT * FROM pg_temp.{VIEW}")).await?;
    Ok(ResolvedStatement { prepared, columns, cell_types })
}

/// Executes a statement that was judged.
async fn execute(
    client: &Client,
    resolved: ResolvedStatement,
    request: &SqlRequest,
) -> Result<TableResult, ExecuteError> {
    client.batch_execute("SET TRANSACTION READ ONLY").await?;
    let mut result = TableResult::new(resolved.columns, resolved.cell_types, request.limits);
    let mut stream = std::pin::pin!(client.query_raw(&resolved.prepared, Vec::<Bind>::new()).await?);
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
fn outer_query(request: &SqlRequest, values: &[String], types: &[&Type]) -> (String, Vec<CellType>) {
    let limits = request.limits;
    let mut names = String::new();
    let mut shown = String::new();
    let mut cell_types = Vec::with_capacity(types.len());
    for (index, value_type) in types.iter().enumerate() {
        let (before, after, cell_type) = read_expression(value_type);
        let _ = write!(names, "{}c{index}", if index > 0 { ", " } else { "" });
        let _ = write!(shown, ", CASE WHEN NOT z.is_large THEN {before}z.c{index}{after} END AS c{index}");
        cell_types.push(cell_type);
    }
    let sql = request.sql.with_constants(values);
    let (bytes, count) = (limits.max_bytes, limits.max_size.saturating_add(1));
    let outer = format!(
        "SELECT z.is_large{shown} FROM (SELECT q.*, octet_length(q::text) > {bytes} AS is_large FROM ({sql}) AS q({names})) AS z LIMIT {count}"
    );
    (outer, cell_types)
}

/// A bound value as a constant of its type.
fn constant(bind: &Bind, value_type: &Type) -> Result<String, Failure> {
    let text = match array_bind(bind, value_type) {
        Bind::Null => None,
        Bind::Text(text) => Some(text),
        Bind::Integer(number) => Some(number.to_string()),
        Bind::Real(number) => Some(number.to_string()),
        Bind::Bytes(bytes) => Some(format!("\\x{}", hex(&bytes))),
    };
    if text.as_ref().is_some_and(|text| text.contains('\0')) {
        return Err(Failure::invalid_value("params", "has a text with the character U+0000, which cannot be stored"));
    }
    // A quote is the only special character in a string.
    let text = text.map_or("NULL".to_owned(), |text| format!("'{}'", text.replace('\'', "''")));
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    Ok(format!("(CAST({text} AS {}.{}))", quoted(value_type.schema()), quoted(value_type.name())))
}

/// A column of a view needs a collation, even if those of the caller's columns are in conflict.
const COLLATED: &str = " COLLATE pg_catalog.\"default\"";
const AS_TEXT: &str = "::text COLLATE pg_catalog.\"default\"";

/// The expression that reads a value of a type: in binary form, or converted to text or JSON by the database.
fn read_expression(value_type: &Type) -> (&'static str, &'static str, CellType) {
    if matches!(value_type.kind(), Kind::Array(_)) {
        let is_whole = [Type::INT2_ARRAY, Type::INT4_ARRAY, Type::INT8_ARRAY].contains(value_type);
        return (
            "to_json(",
            ")::text COLLATE pg_catalog.\"default\"",
            if is_whole { CellType::Integers } else { CellType::Json },
        );
    }
    match *value_type {
        Type::INT2 | Type::INT4 | Type::INT8 => ("", "", CellType::Integer),
        Type::FLOAT4 | Type::FLOAT8 => ("", "", CellType::Float),
        Type::BOOL => ("", "", CellType::Boolean),
        Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME => ("", COLLATED, CellType::Text),
        Type::TIMESTAMP | Type::TIMESTAMPTZ => ("", "", CellType::Time(TimeDigits::new(MICROSECONDS))),
        Type::DATE => ("", "", CellType::Date),
        Type::UUID => ("", "", CellType::Uuid),
        Type::BYTEA => ("", "", CellType::Bytes),
        Type::JSON => ("", "", CellType::Json),
        Type::JSONB => ("", AS_TEXT, CellType::Json),
        Type::NUMERIC => ("", AS_TEXT, CellType::Decimal),
        _ => ("", AS_TEXT, CellType::Text),
    }
}

/// Converts a list to PostgreSQL's notation if the parameter is an array.
fn array_bind(bind: &Bind, value_type: &Type) -> Bind {
    let (Bind::Text(text), Kind::Array(_)) = (bind, value_type.kind()) else { return bind.clone() };
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
