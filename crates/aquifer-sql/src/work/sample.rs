//! Samples a table for its overview: the approximate number of rows, the keys of its JSON values, and the definition of
//! a view. Every statement is limited, however large the table.

use std::sync::Arc;

use aquifer_query::FieldType;
use serde_json::Value;

use crate::rows::CellType;
use crate::schema::exposed_table::ExposedTable;
use crate::schema::model::Column;
use crate::schema::table_sample::{RowCount, TableSample};
use crate::statement::{Bind, Dialect, Name, Statement};
use crate::work::session::{Session, TransactionEnd, Work, WorkError};

/// Maximum number of rows that are counted. Beyond it, the database's estimate is used.
const MAX_COUNTED: usize = 10_000;

/// Maximum number of JSON values examined in a column.
const MAX_JSON_ROWS: usize = 20;
const MAX_JSON_COLUMNS: usize = 6;

/// Objects with more different keys than this use keys as data, not as fields.
const MAX_KEYS: usize = 12;

/// Samples one table.
pub(crate) struct Sample {
    pub(crate) dialect: Dialect,
    pub(crate) exposed: Arc<ExposedTable>,
}

impl Work for Sample {
    type Output = TableSample;

    fn needs_snapshot(&self) -> bool {
        false
    }

    async fn run<S: Session>(&self, session: &mut S) -> Result<(TableSample, TransactionEnd), WorkError> {
        let mut sample = match self.dialect {
            Dialect::Sqlite => self.sqlite(session).await?,
            Dialect::Postgres => self.postgres(session).await?,
        };
        let json = self.exposed.table.columns.iter().filter(|column| column.field_type == FieldType::Json);
        // Reading even one row of a view may be expensive.
        for column in json.take(if sample.definition.is_some() { 0 } else { MAX_JSON_COLUMNS }) {
            sample.keys.push((column.name.clone(), self.keys(session, column).await?));
        }
        Ok((sample, TransactionEnd::Rollback))
    }
}

impl Sample {
    async fn sqlite<S: Session>(&self, session: &mut S) -> Result<TableSample, WorkError> {
        let table = &self.exposed.table;
        let mut statement = Statement::new(self.dialect);
        statement.push("SELECT sql FROM sqlite_schema WHERE type = 'view' AND name = ");
        statement.bind(Bind::Text(table.name.to_string())).push(" COLLATE NOCASE");
        let definition = cell(session, &statement, CellType::Plain).await?;
        if let Some(Value::String(definition)) = definition {
            return Ok(TableSample { definition: Some(definition), ..TableSample::default() });
        }
        let mut rows = count_rows(session, self.dialect, &table.quoted).await?;
        let has_own_rowid = table.column("rowid").is_none() && !table.is_withheld("rowid");
        if matches!(rows, Some(RowCount::MoreThan(_))) && has_own_rowid {
            let mut statement = Statement::new(self.dialect);
            statement.push("SELECT max(rowid) FROM ").name(&table.quoted);
            // A table without row numbers has no such column.
            let last = cell(session, &statement, CellType::Plain).await.ok().flatten();
            let last = last.and_then(|last| last.as_u64()).filter(|last| *last > MAX_COUNTED as u64);
            rows = last.map(RowCount::About).or(rows);
        }
        Ok(TableSample { rows, ..TableSample::default() })
    }

    async fn postgres<S: Session>(&self, session: &mut S) -> Result<TableSample, WorkError> {
        let table = &self.exposed.table;
        let mut statement = Statement::new(self.dialect);
        statement.push(
            "SELECT json_build_object('rows', c.reltuples::int8, 'sql', CASE WHEN c.relkind IN ('v', 'm') THEN \
             pg_get_viewdef(c.oid, true) END)::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
             WHERE n.nspname = ",
        );
        statement.bind(Bind::Text(table.schema.as_deref().unwrap_or("public").to_owned()));
        statement.push("::text AND c.relname = ").bind(Bind::Text(table.name.to_string())).push("::text");
        let statistics = cell(session, &statement, CellType::Json).await?.unwrap_or_default();
        if let Some(definition) = statistics.get("sql").and_then(Value::as_str) {
            return Ok(TableSample { definition: Some(definition.to_owned()), ..TableSample::default() });
        }
        let estimate = statistics.get("rows").and_then(Value::as_u64).filter(|rows| *rows > 0);
        let rows = match estimate {
            Some(rows) => Some(RowCount::About(rows)),
            None => count_rows(session, self.dialect, &table.quoted).await?,
        };
        Ok(TableSample { rows, ..TableSample::default() })
    }

    async fn keys<S: Session>(&self, session: &mut S, column: &Column) -> Result<Vec<String>, WorkError> {
        let statement = keys_statement(self.dialect, &self.exposed.table.quoted, &column.quoted);
        let rows = session.rows(&statement, &[CellType::Text]).await?;
        let keys: Vec<String> = rows.into_iter().flatten().filter_map(|key| key.as_str().map(str::to_owned)).collect();
        Ok(if keys.len() > MAX_KEYS { Vec::new() } else { keys })
    }
}

/// Counts the rows of a table, up to [`MAX_COUNTED`].
pub(super) async fn count_rows<S: Session>(
    session: &mut S,
    dialect: Dialect,
    table: &Name,
) -> Result<Option<RowCount>, WorkError> {
    let mut statement = Statement::new(dialect);
    statement.push("SELECT count(*) FROM (SELECT 1 FROM ").name(table);
    statement.push(" LIMIT ").count(MAX_COUNTED + 1).push(") AS s");
    let cell_type = if dialect == Dialect::Sqlite { CellType::Plain } else { CellType::Integer };
    let counted = cell(session, &statement, cell_type).await?.and_then(|count| count.as_u64());
    let max_counted = MAX_COUNTED as u64;
    Ok(counted.map(|count| match count > max_counted {
        true => RowCount::MoreThan(max_counted),
        false => RowCount::About(count),
    }))
}

fn keys_statement(dialect: Dialect, table: &Name, column: &Name) -> Statement {
    let mut statement = Statement::new(dialect);
    statement.push("SELECT k.key FROM (SELECT ").name(column).push(" AS c FROM ").name(table);
    statement.push(" WHERE ").name(column).push(" IS NOT NULL LIMIT ").count(MAX_JSON_ROWS);
    statement.push(match dialect {
        Dialect::Sqlite => {
            ") AS s, json_each(CASE WHEN json_valid(s.c) THEN CASE WHEN json_type(s.c) = 'object' THEN s.c ELSE '{}' END \
             ELSE '{}' END) AS k GROUP BY k.key ORDER BY count(*) DESC, k.key LIMIT "
        }
        Dialect::Postgres => {
            ") AS s, LATERAL jsonb_object_keys(CASE WHEN jsonb_typeof(s.c::jsonb) = 'object' THEN s.c::jsonb ELSE '{}' \
             END) AS k(key) GROUP BY k.key ORDER BY count(*) DESC, k.key LIMIT "
        }
    });
    statement.count(MAX_KEYS + 1);
    statement
}

/// The only cell of a result; `None` if there is no row or it is NULL.
async fn cell<S: Session>(
    session: &mut S,
    statement: &Statement,
    cell_type: CellType,
) -> Result<Option<Value>, WorkError> {
    let rows = session.rows(statement, &[cell_type]).await?;
    Ok(rows.into_iter().flatten().next().filter(|value| !value.is_null()))
}
