//! Queries of PostgreSQL's catalog. Each row of a result is one JSON object.

use serde_json::Value;

use super::session::PostgresSession;
use crate::error::SqlError;
use crate::rows::CellType;
use crate::statement::{Bind, Dialect, Statement};
use crate::work::session::Session as _;

/// Runs a query of the folder `catalog`, in which `$1` stands for a list of names or numbers.
pub(super) async fn query_catalog(
    session: &mut PostgresSession<'_>,
    query: &'static str,
    list: &[String],
) -> Result<Vec<Value>, SqlError> {
    let list = crate::sql::json::array_literal(list.iter().map(|item| Some(item.as_str())));
    let mut statement = Statement::new(Dialect::Postgres);
    let (before, after) =
        query.split_once("$1").ok_or_else(|| SqlError::Internal { cause: "a query has no list".to_owned() })?;
    statement.push(before).bind(Bind::Text(list)).push(after);
    let rows = session.rows(&statement, &[CellType::Json]).await?;
    Ok(rows.into_iter().flatten().collect())
}

pub(super) fn text<'a>(row: &'a Value, name: &str) -> &'a str {
    row[name].as_str().unwrap_or_default()
}

pub(super) fn flag(row: &Value, name: &str) -> bool {
    row[name].as_bool().unwrap_or(false)
}

pub(super) fn contains_word(list: &str, word: &str) -> bool {
    list.split(' ').any(|known| known == word)
}

pub(super) fn number(row: &Value, name: &str) -> i64 {
    row[name].as_i64().unwrap_or(0)
}

pub(super) fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
