//! Failures for statements that PostgreSQL does not run.

use tokio_postgres::error::{DbError, ErrorPosition, SqlState};

use super::super::error::from_driver;
use crate::query_sql::{self, SqlAccess, SqlRequest};
use crate::work::session::WorkError;

/// The failure for an error. Its position refers to the caller's text, or else to a text of our own.
pub(super) fn explain(
    error: &tokio_postgres::Error,
    access: &SqlAccess,
    request: &SqlRequest,
    is_about_statement: bool,
) -> WorkError {
    let Some(db) = error.as_db_error() else { return from_driver(error).into() };
    let sql = &request.sql;
    let byte = position(db)
        .filter(|_| is_about_statement)
        .and_then(|number| sql.text().char_indices().nth(number).map(|(byte, _)| byte));
    let near = byte.map(|byte| request.sql.token_at(byte)).unwrap_or_default();
    let code = db.code();
    let class = code.code().get(..2).unwrap_or_default();
    if *code == SqlState::SYNTAX_ERROR {
        query_sql::syntax_error(sql, byte, near).into()
    } else if *code == SqlState::UNDEFINED_TABLE && is_about_statement {
        query_sql::no_such_table(near.trim_matches('"'), access.shown_tables()).into()
    } else if *code == SqlState::UNDEFINED_COLUMN && is_about_statement {
        let name = db.message().split('"').nth(1).unwrap_or(near);
        query_sql::no_such_column(name, access.shown_columns()).into()
    } else if *code == SqlState::INSUFFICIENT_PRIVILEGE {
        let reason = "the database does not permit it. Instead of *, name only columns of the schema overview";
        query_sql::refused(reason).because(error.to_string()).into()
    } else if class == "42" && is_about_statement {
        query_sql::invalid_near(sql, byte, db.message(), error).into()
    } else if class == "42" {
        // Names of configurations, for one, are looked up in values of rows that a view leaves out.
        query_sql::invalid("is not valid", error).into()
    } else if class == "22" || class == "21" {
        // The message may contain values of rows that a view leaves out.
        query_sql::invalid(format_args!("fails on a value: {}", describe(code)), error).into()
    } else if class == "54" {
        query_sql::invalid("makes too large a value", error).into()
    } else if ["0A", "25"].contains(&class) {
        query_sql::refused("the statement does more than read").because(error.to_string()).into()
    } else {
        from_driver(error).into()
    }
}

/// The character index in the caller's text, from 0.
fn position(db: &DbError) -> Option<usize> {
    match db.position() {
        Some(ErrorPosition::Original(number)) => usize::try_from(*number).ok()?.checked_sub(1),
        _ => None,
    }
}

fn describe(code: &SqlState) -> &'static str {
    if *code == SqlState::DIVISION_BY_ZERO {
        "division by zero"
    } else if *code == SqlState::NUMERIC_VALUE_OUT_OF_RANGE {
        "a number is out of range"
    } else if *code == SqlState::INVALID_TEXT_REPRESENTATION {
        "a text is not a value of the type it is converted to"
    } else if code.code().starts_with("22007") || code.code().starts_with("22008") {
        "a text is not a valid date or time"
    } else if *code == SqlState::CARDINALITY_VIOLATION {
        "a subquery gives more than one row"
    } else {
        "it is not valid for the operation"
    }
}
