//! Determines what the database user may read at the moment.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::catalog::{flag, text, texts};
use super::super::session::PostgresSession;
use crate::error::SqlError;
use crate::query_sql::SqlAccess;
use crate::rows::CellType;
use crate::statement::{Dialect, Statement};
use crate::work::session::Session as _;

/// Maximum number of columns named in a message.
const MAX_NAMED: usize = 5;

/// Every column that the user may read, by table. A partition counts as its parent table. Names that begin with `pg_`
/// cannot be used in a statement.
const READABLE: &str = "
    SELECT json_build_object('schema', n.nspname, 'table', r.relname,
        'columns', json_agg(DISTINCT a.attname))::text
    FROM pg_class c
    JOIN pg_class r ON r.oid = CASE WHEN c.relispartition THEN pg_partition_root(c.oid) ELSE c.oid END
    JOIN pg_namespace n ON n.oid = r.relnamespace
    JOIN pg_namespace o ON o.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND o.nspname <> 'information_schema' AND left(o.nspname, 3) <> 'pg_'
        AND left(c.relname, 3) <> 'pg_'
        AND has_schema_privilege(o.oid, 'USAGE') AND has_column_privilege(c.oid, a.attnum, 'SELECT')
    GROUP BY r.oid, n.nspname, r.relname";
/// The user, and whether the server lets it create a temporary view.
const FACTS: &str = "
    SELECT json_build_object(
        'superuser', (SELECT u.rolsuper FROM pg_roles u WHERE u.rolname = current_user),
        'powers', (SELECT json_agg(g.rolname) FROM pg_roles g
            WHERE g.rolname IN ('pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program')
            AND pg_has_role(current_user, g.oid, 'MEMBER')),
        'database', quote_ident(current_database()), 'role', quote_ident(current_user),
        'temporary', has_database_privilege(current_database(), 'TEMPORARY'),
        'standby', pg_is_in_recovery())::text";

/// The strings of a list in a row. Empty if it is missing.
fn list(row: &Value, name: &str) -> Vec<String> {
    row.get(name).map(texts).unwrap_or_default()
}

/// What the user may read.
pub(super) struct Readable {
    is_superuser: bool,
    /// Predefined roles that can access files and programs of the server.
    privileged_roles: Vec<String>,
    tables: Vec<(String, String, Vec<String>)>,
    /// Why no temporary view can be created.
    view_problem: Option<String>,
}

impl Readable {
    pub(super) async fn read(session: &mut PostgresSession<'_>) -> Result<Self, SqlError> {
        let mut readable = Statement::new(Dialect::Postgres);
        readable.push(READABLE);
        let tables = session.rows(&readable, &[CellType::Json]).await?;
        let mut facts = Statement::new(Dialect::Postgres);
        facts.push(FACTS);
        let facts = session.rows(&facts, &[CellType::Json]).await?;
        let facts = facts.into_iter().flatten().next().unwrap_or(Value::Null);
        let view_problem = if flag(&facts, "standby") {
            Some(
                "query_sql is on, but the server is a standby, which cannot resolve statements: connect to the primary"
                    .to_owned(),
            )
        } else if !flag(&facts, "temporary") {
            let (database, role) = (text(&facts, "database"), text(&facts, "role"));
            Some(format!(
                "query_sql is on, but resolving a statement needs a temporary view: GRANT TEMPORARY ON DATABASE {database} TO {role}"
            ))
        } else {
            None
        };
        let entry =
            |row: Value| (text(&row, "schema").to_owned(), text(&row, "table").to_owned(), list(&row, "columns"));
        Ok(Self {
            // An unreadable value counts as the worst case.
            is_superuser: facts.get("superuser") != Some(&Value::Bool(false)),
            privileged_roles: list(&facts, "powers"),
            tables: tables.into_iter().flatten().map(entry).collect(),
            view_problem,
        })
    }

    /// Why the server cannot resolve statements of this user.
    pub(super) fn view_problem(&self) -> Option<&str> {
        self.view_problem.as_deref()
    }

    /// Why `query_sql` cannot be offered with this user.
    pub(super) fn problems(&self, access: &SqlAccess) -> Vec<String> {
        let mut problems = Vec::new();
        if self.is_superuser {
            problems.push(
                "query_sql is on, but the database user is a superuser, whom no permission restricts: connect with a \
                 role that may read only what is served"
                    .to_owned(),
            );
        } else if !self.privileged_roles.is_empty() {
            let privileged_roles = self.privileged_roles.join(", ");
            problems.push(format!(
                "query_sql is on, but the database user is a member of {privileged_roles}: connect with another role"
            ));
        }
        let unserved = self.unserved(access);
        if !unserved.is_empty() && !self.is_superuser {
            let names: Vec<&str> = unserved.iter().take(MAX_NAMED).map(String::as_str).collect();
            let more = match unserved.len() - names.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            problems.push(format!(
                "query_sql is on, and its statements can read whatever the database user may read, but {}{more} would not be \
                 served: revoke SELECT on them, connect with another role, or serve them ('show', 'include', 'schemas')",
                names.join(", ")
            ));
        }
        problems
    }

    /// Columns and tables that the user may read and that are not served.
    fn unserved(&self, access: &SqlAccess) -> BTreeSet<String> {
        let mut unserved = BTreeSet::new();
        for (schema, table, columns) in &self.tables {
            let is_meant = |known: &&crate::query_sql::SqlTable| {
                known.schema.as_deref() == Some(&**schema) && *known.name == **table
            };
            let Some(served) = access.tables.iter().find(is_meant) else {
                unserved.insert(format!("table '{schema}.{table}'"));
                continue;
            };
            let is_served = |column: &str| {
                let own = served.columns.iter().map(|known| &known.name);
                own.chain(&served.index_columns).any(|known| **known == *column)
            };
            let missing = columns.iter().filter(|column| !is_served(column));
            unserved.extend(missing.map(|column| format!("column '{schema}.{table}.{column}'")));
        }
        unserved
    }
}
