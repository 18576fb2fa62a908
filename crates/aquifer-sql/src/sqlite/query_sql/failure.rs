//! Failures for statements that SQLite does not run.

use rusqlite::{Error, ErrorCode};

use super::super::error::from_rusqlite;
use super::MAX_VALUE_BYTES;
use super::authorizer::{Authorizer, Refusal};
use crate::query_sql::{self, SqlAccess, SqlRequest};
use crate::work::session::WorkError;

pub(super) fn explain(error: &Error, access: &SqlAccess, request: &SqlRequest, authorizer: &Authorizer) -> WorkError {
    let (code, message, byte) = match error {
        Error::SqliteFailure(code, message) => (code.code, message.as_deref().unwrap_or_default(), None),
        Error::SqlInputError { error, msg, offset, .. } => (error.code, msg.as_str(), usize::try_from(*offset).ok()),
        _ => return from_rusqlite(error).into(),
    };
    let sql = &request.sql;
    match code {
        ErrorCode::AuthorizationForStatementDenied => refusal(authorizer),
        ErrorCode::TooBig => {
            query_sql::invalid(format_args!("makes or reads a value of more than {MAX_VALUE_BYTES} bytes"), error)
                .into()
        }
        // The message is that of the function, but the function was refused.
        _ if authorizer.refusal().is_some() => refusal(authorizer),
        ErrorCode::Unknown => {
            let after = |words: &str| message.strip_prefix(words);
            if let Some(name) = after("no such table: ") {
                query_sql::no_such_table(name, access.shown_tables()).into()
            } else if let Some(name) = after("no such column: ") {
                // SQLite appends a hint about double quotes.
                let name = name.split(" - should").next().unwrap_or(name);
                let name = name.rsplit('.').next().unwrap_or(name).trim_matches('"');
                query_sql::no_such_column(name, access.shown_columns()).into()
            } else if let Some(near) = after("near \"").and_then(|rest| rest.strip_suffix("\": syntax error")) {
                query_sql::syntax_error(sql, byte, near).into()
            } else if message == "incomplete input" {
                query_sql::syntax_error(sql, None, "").into()
            } else {
                query_sql::invalid_near(sql, byte, message, error).into()
            }
        }
        _ => from_rusqlite(error).into(),
    }
}

fn refusal(authorizer: &Authorizer) -> WorkError {
    match authorizer.refusal() {
        Some(Refusal::Function(name)) => {
            query_sql::refused(format_args!("the function '{name}' cannot be called here")).into()
        }
        Some(Refusal::TooManyCalls(reason)) => query_sql::refused(reason).into(),
        other => query_sql::refused("the statement does more than read the served tables")
            .because(format!("{other:?}"))
            .into(),
    }
}
