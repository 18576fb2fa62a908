//! `query_sql`: one SELECT that a caller wrote (R-EXT-5).
//!
//! This is the only place where text of a caller becomes SQL. The text is split into tokens first ([`SqlText`]), and what
//! is sent is exactly what was split: comments become blanks, and everything that the two databases could read in another
//! way than the lexer does (escape strings, dollar quotes, `U&`) is refused. What a statement may read is then enforced by
//! the databases: `sqlite/query_sql/` and `postgres/query_sql/`.

mod access;
mod binds;
mod error;
mod lexer;
mod sql_text;
mod table_result;

pub(crate) use access::{SqlAccess, SqlTable};
pub(crate) use binds::{check_count, parse_binds};
pub(crate) use error::{invalid, invalid_near, no_such_column, no_such_table, refused, syntax_error};
pub(crate) use lexer::{Lexeme, Token};
pub(crate) use sql_text::{ParameterStyle, SqlText};
pub(crate) use table_result::TableResult;

use aquifer_query::collection::PageLimits;

use crate::statement::Bind;

/// The longest statement.
pub(crate) const MAX_SQL_BYTES: usize = 20_000;
/// The most bound values.
pub(crate) const MAX_BINDS: usize = 500;

/// One call, ready for a database.
pub(crate) struct SqlRequest {
    pub(crate) sql: SqlText,
    pub(crate) binds: Vec<Bind>,
    pub(crate) limits: PageLimits,
}
