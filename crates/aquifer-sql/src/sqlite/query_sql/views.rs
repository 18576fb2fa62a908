//! The temporary views that shadow the tables of the file, and the check that a statement names nothing else.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use aquifer_protocol::error::Failure;
use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::super::error;
use super::authorizer::{Authorizer, Reads, record};
use super::functions;
use crate::query_sql::{SqlAccess, SqlTable, SqlText, Token, no_such_table, refused};
use crate::statement::{Dialect, Name, Statement};
use crate::work::session::WorkError;

/// Prefixes of SQLite's own tables and of pragmas that can be read like tables.
const INTERNAL_PREFIXES: [&str; 2] = ["sqlite_", "pragma_"];

/// The views of one connection.
#[derive(Default)]
pub(in crate::sqlite) struct ServedViews {
    /// The access that the views were created for.
    access: Option<Arc<SqlAccess>>,
    /// What each view reads, by the index of its table.
    reads: HashMap<usize, Reads>,
}

impl ServedViews {
    /// Creates the views of these tables, and returns what a statement over them may read.
    pub(super) fn prepare(
        &mut self,
        connection: &mut Connection,
        access: &Arc<SqlAccess>,
        named: &[usize],
    ) -> rusqlite::Result<Authorizer> {
        if !self.access.as_ref().is_some_and(|known| Arc::ptr_eq(known, access)) {
            // Text in double quotes is always a name, never a string.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DDL, false)?;
            self.drop_all(connection)?;
            self.access = Some(access.clone());
        }
        let mut allowed = Reads::default();
        for index in named {
            let Some(table) = access.tables.get(*index) else { continue };
            if !self.reads.contains_key(index) {
                let reads = create(connection, table)?;
                self.reads.insert(*index, reads);
            }
            self.reads.get(index).into_iter().for_each(|reads| allowed.extend(reads));
        }
        Ok(Authorizer::new(allowed))
    }

    fn drop_all(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let Some(access) = self.access.take() else { return Ok(()) };
        for index in std::mem::take(&mut self.reads).into_keys() {
            let Some(table) = access.tables.get(index) else { continue };
            let mut statement = Statement::new(Dialect::Sqlite);
            statement.push("DROP VIEW IF EXISTS temp.").name(&Name::reflected(&table.name));
            change_temporary_schema(connection, &statement)?;
        }
        Ok(())
    }
}

/// Creates the view of a table, and returns what it reads.
fn create(connection: &mut Connection, table: &SqlTable) -> rusqlite::Result<Reads> {
    let name = Name::reflected(&table.name);
    let mut statement = Statement::new(Dialect::Sqlite);
    statement.push("CREATE TEMP VIEW IF NOT EXISTS ").name(&name).push(" AS SELECT ");
    for (position, column) in table.columns.iter().enumerate() {
        if position > 0 {
            statement.push(", ");
        }
        statement.name(&column.quoted).push(" AS ").name(&Name::reflected(&column.name));
    }
    statement.push(" FROM main.").name(&name);
    change_temporary_schema(connection, &statement)?;
    let mut select = Statement::new(Dialect::Sqlite);
    select.push("SELECT * FROM temp.").name(&name);
    record(connection, |connection| connection.prepare(select.text()).map(|_| ()))
}

/// Makes the temporary schema writable for this statement only.
fn change_temporary_schema(connection: &Connection, statement: &Statement) -> rusqlite::Result<()> {
    connection.pragma_update(None, "query_only", false)?;
    let outcome = connection.execute_batch(statement.text());
    connection.pragma_update(None, "query_only", true)?;
    outcome
}

/// The served tables that a statement names. It can read no others.
pub(super) fn named_tables(access: &SqlAccess, sql: &SqlText) -> Vec<usize> {
    let mut named: Vec<usize> = sql.names().filter_map(|name| access.sqlite_table(name)).collect();
    named.sort_unstable();
    named.dedup();
    named
}

/// Checks that a statement names no schema and no table without a view. Returns the names in the file that are not
/// served, in lower case.
pub(super) fn check_names(
    connection: &Connection,
    access: &SqlAccess,
    sql: &SqlText,
) -> Result<HashSet<String>, WorkError> {
    let mut existing = existing_names(connection).map_err(|error| error::from_rusqlite(&error))?;
    existing.retain(|name| access.sqlite_table(name).is_none());
    let lexemes = sql.lexemes();
    for (index, lexeme) in lexemes.iter().enumerate() {
        let Some(name) = lexeme.token.name() else { continue };
        let lower = name.to_ascii_lowercase();
        if INTERNAL_PREFIXES.iter().any(|prefix| lower.starts_with(prefix)) {
            return Err(refused("tables and pragmas of SQLite itself cannot be read").into());
        }
        let is_qualifier = lexemes.get(index + 1).is_some_and(|next| next.token.is_mark('.'));
        if is_qualifier && ["main", "temp"].contains(&lower.as_str()) {
            return Err(refused("tables are named without a schema").into());
        }
        if existing.contains(&lower) {
            return Err(not_a_table(&lexeme.token, name, access).into());
        }
    }
    Ok(existing)
}

fn not_a_table(token: &Token, name: &str, access: &SqlAccess) -> Failure {
    match token {
        Token::Text(_) => {
            refused("a text in the statement is a name of the database's own. Pass the text in 'params' and write $1")
        }
        _ => no_such_table(name, access.shown_tables()),
    }
}

/// All names that can follow FROM, in lower case, except functions that only compute. A table that has the name of such
/// a function is excluded.
fn existing_names(connection: &Connection) -> rusqlite::Result<HashSet<String>> {
    let mut names = HashSet::new();
    let mut statement = connection.prepare(
        "SELECT name, 0 FROM pragma_module_list UNION ALL SELECT name, 1 FROM pragma_table_list WHERE schema <> 'temp'",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (name, is_table): (String, bool) = (row.get(0)?, row.get(1)?);
        if is_table || !functions::is_harmless_table(&name) {
            names.insert(name.to_ascii_lowercase());
        }
    }
    Ok(names)
}
