//! Free-text search: with an index if the database has one; otherwise every row is read, which a warning reports.

use aquifer_query::plan::TextQuery;

use super::scope::Scope;
use crate::schema::model::TextIndex;
use crate::statement::{Bind, Dialect, Statement};

/// How many columns are searched without an index, limited by SQLite's number of arguments.
const MAX_SEARCHED_COLUMNS: usize = 100;

/// A PostgreSQL pattern for the characters between words: neither letters nor digits, including digits that its own
/// class lacks.
const WORD_SEPARATOR: &str = "[^[:alnum:]²³¹¼½¾⁰⁴-⁹₀-₉⅐-⅟①-⒛⓪-⓿❶-➓]";

/// Writes the table, joined with the matches of an FTS5 index.
pub(super) fn write_from(scope: &Scope<'_>, statement: &mut Statement, text: Option<&TextQuery>) {
    statement.push(" FROM ");
    if let (Some(text), Some(TextIndex::Fts5 { quoted, rowid, .. })) = (text, &scope.exposed.table.index)
        && !text.terms.is_empty()
    {
        statement.push("(SELECT rowid AS aquifer_rowid, rank AS aquifer_rank FROM ").name(quoted);
        statement.push(" WHERE ").name(quoted).push(" MATCH ").bind(Bind::Text(fts5_query(text)));
        statement.push(") AS s JOIN ");
        scope.write_first_table(statement);
        statement.push(" ON ");
        scope.write_rowid(statement, rowid);
        statement.push(" = s.aquifer_rowid");
    } else {
        scope.write_first_table(statement);
    }
    scope.write_joins(statement);
}

/// Writes whether a row matches.
pub(super) fn write_match(scope: &Scope<'_>, statement: &mut Statement, text: &TextQuery) {
    if text.terms.is_empty() {
        statement.push("FALSE");
        return;
    }
    match &scope.exposed.table.index {
        Some(TextIndex::Fts5 { .. }) => {
            statement.push("TRUE");
        }
        Some(TextIndex::Vector { vector, .. }) => {
            scope.write_vector(statement, vector);
            statement.push(" @@ (");
            write_vector_query(scope, statement, text);
            statement.push(")");
        }
        None => {
            write_rank(scope, statement, text);
            statement.push(" > 0");
        }
    }
}

/// Writes the rank of a row.
pub(super) fn write_rank(scope: &Scope<'_>, statement: &mut Statement, text: &TextQuery) {
    match &scope.exposed.table.index {
        // FTS5 ranks the best match lowest; negated, higher is better everywhere.
        Some(TextIndex::Fts5 { .. }) => {
            statement.push("(-s.aquifer_rank)");
        }
        Some(TextIndex::Vector { vector, .. }) => {
            statement.push("ts_rank(");
            scope.write_vector(statement, vector);
            statement.push(", (");
            write_vector_query(scope, statement, text);
            statement.push("))::float8");
        }
        None => write_term_count(scope, statement, text),
    }
}

/// Writes how many of the words and phrases the row contains.
fn write_term_count(scope: &Scope<'_>, statement: &mut Statement, text: &TextQuery) {
    let columns: Vec<_> = scope
        .exposed
        .collection
        .text
        .iter()
        .filter_map(|name| scope.exposed.table.column(name))
        .take(MAX_SEARCHED_COLUMNS)
        .collect();
    match scope.dialect {
        Dialect::Sqlite => {
            let terms: Vec<&[String]> = text.terms.iter().map(|term| term.words.as_slice()).collect();
            statement.push("aquifer_rank(").bind(Bind::Text(serde_json::to_string(&terms).unwrap_or_default()));
            for column in columns {
                statement.push(", ");
                scope.write_column(statement, column);
            }
            statement.push(")");
        }
        Dialect::Postgres => {
            statement.push("(");
            for (index, term) in text.terms.iter().enumerate() {
                if index > 0 {
                    statement.push(" + ");
                }
                // Words consist of lower-case letters and digits, so they need no escaping in a pattern.
                let pattern = term.words.join(&format!("{WORD_SEPARATOR}+"));
                let pattern = format!("(^|{WORD_SEPARATOR}){pattern}($|{WORD_SEPARATOR})");
                statement.push("CASE WHEN ");
                for (position, column) in columns.iter().enumerate() {
                    if position > 0 {
                        statement.push(" OR ");
                    }
                    statement.push("lower(");
                    scope.write_column(statement, column);
                    statement.push("::text COLLATE \"default\") ~ ").bind(Bind::Text(pattern.clone())).push("::text");
                }
                statement.push(" THEN 1 ELSE 0 END");
            }
            statement.push(")");
        }
    }
}

/// The words in FTS5 syntax, each quoted.
fn fts5_query(text: &TextQuery) -> String {
    let terms: Vec<String> = text.terms.iter().map(|term| format!("\"{}\"", term.words.join(" "))).collect();
    terms.join(" OR ")
}

fn write_vector_query(scope: &Scope<'_>, statement: &mut Statement, text: &TextQuery) {
    let Some(TextIndex::Vector { configuration, .. }) = &scope.exposed.table.index else { return };
    for (index, term) in text.terms.iter().enumerate() {
        if index > 0 {
            statement.push(" || ");
        }
        statement.push(if term.words.len() > 1 { "phraseto_tsquery(" } else { "plainto_tsquery(" });
        statement.fragment(configuration).push(", ").bind(Bind::Text(term.words.join(" "))).push("::text)");
    }
}
