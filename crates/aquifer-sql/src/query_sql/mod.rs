//! `query_sql`: one SELECT that a caller wrote (R-EXT-5).
//!
//! This is the only place where a caller's text becomes SQL. The text is split into tokens first ([`SqlText`]), and
//! exactly the tokenized text is sent: comments become spaces, and everything that a database could interpret
//! differently from the lexer (escape strings, dollar quotes, `U&`) is refused. The databases then enforce what a
//! statement may read: `sqlite/query_sql/` and `postgres/query_sql/`.

mod access;
mod binds;
mod error;
mod lexer;
mod sql_text;
mod table_result;

pub(crate) use access::{SqlAccess, SqlTable};
pub(crate) use binds::{check_count, parse_binds};
pub(crate) use error::{invalid, invalid_near, no_such_column, no_such_table, refused, syntax_error};
pub(crate) use lexer::Token;
pub(crate) use sql_text::{ParameterStyle, SqlText};
pub(crate) use table_result::TableResult;

use aquifer_query::collection::PageLimits;

use crate::statement::Bind;

/// Maximum length of a statement.
pub(crate) const MAX_SQL_BYTES: usize = 20_000;
/// Maximum number of bound values.
pub(crate) const MAX_BINDS: usize = 500;

/// Why `query_sql` cannot be offered, for the operator.
#[derive(Debug, Default)]
pub(crate) struct QuerySqlProblems {
    /// The user may read what is not served. The configuration contradicts itself.
    pub(crate) readable: Vec<String>,
    /// Statements cannot be judged. The source works without `query_sql`.
    pub(crate) unjudged: Vec<String>,
}

/// A checked request for a database.
pub(crate) struct SqlRequest {
    pub(crate) sql: SqlText,
    pub(crate) binds: Vec<Bind>,
    pub(crate) limits: PageLimits,
}
