//! The operation `query_sql`, and the operations that a request of it needs (R-EXT-5).

use std::sync::Arc;

use aquifer_engine::source::Resolution;
use aquifer_protocol::category::Category;
use aquifer_protocol::error::Failure;
use aquifer_protocol::operation::{Example, Operation, Returns};
use aquifer_protocol::schema::{Kind, Parameter, Schema, Span};
use serde_json::{Map, Value, json};

use super::{Action, Offer};
use crate::query_sql::{MAX_BINDS, MAX_SQL_BYTES, SqlAccess, SqlText};
use crate::schema::exposed_table::ExposedTable;
use crate::schema::model::SchemaStamp;
use crate::settings::Settings;
use crate::statement::{Bind, Dialect, Statement};

/// The name of the operation.
pub(crate) const QUERY_SQL: &str = "query_sql";

/// The hint about it in overviews of tables.
pub(crate) const QUERY_SQL_NOTE: &str = "{sql, params} runs one SELECT on these tables; =name: the name in SQL";

impl Offer {
    /// Offers `query_sql`. A request may need every operation that lists rows.
    pub(super) fn add_query_sql(&mut self, settings: &Settings, stamp: Option<SchemaStamp>) {
        let tables = self.tables.iter().enumerate();
        let tables = tables.map(|(index, exposed)| (&exposed.table, self.concealed.is_readable(index)));
        self.sql_access = Some(Arc::new(SqlAccess::new(tables, stamp)));
        let readable = self.tables.iter().enumerate().filter(|(index, _)| self.concealed.is_readable(*index));
        let example = readable.map(|(_, exposed)| &**exposed).next();
        let mut operation = query_sql(settings, example);
        operation.routing.may_reach = self.reading(0..self.tables.len()).into();
        self.actions.insert(operation.name.clone(), Action::QuerySql);
        self.offering.operations.push(operation);
    }

    /// The operations that list the tables that a statement reads. SQLite reads only tables that the statement names.
    /// PostgreSQL also reads through functions and inheritance, so all tables count as read.
    pub(super) fn resolve_query_sql(&self, params: Map<String, Value>) -> Result<Resolution, Failure> {
        let dialect = self.sql_dialect();
        let sql = SqlText::parse(params.get("sql").and_then(Value::as_str).unwrap_or_default(), dialect)?;
        let also_needs = self.reading(self.tables_read_by(&sql));
        Ok(Resolution { params, also_needs, ..Resolution::default() })
    }

    /// The tables that a statement may read.
    pub(crate) fn tables_read_by(&self, sql: &SqlText) -> Vec<usize> {
        let Some(access) = &self.sql_access else { return Vec::new() };
        if self.sql_dialect() == Dialect::Postgres {
            return (0..self.tables.len()).collect();
        }
        let mut read: Vec<usize> = sql.names().filter_map(|name| access.sqlite_table(name)).collect();
        read.sort_unstable();
        read.dedup();
        read
    }

    /// The operations that list these tables.
    pub(crate) fn lists_of(&self, tables: Vec<usize>) -> Vec<Arc<str>> {
        self.reading(tables)
    }

    /// Only PostgreSQL has schemas.
    fn sql_dialect(&self) -> Dialect {
        let has_schemas = self.tables.iter().any(|exposed| exposed.table.schema.is_some());
        if has_schemas { Dialect::Postgres } else { Dialect::Sqlite }
    }
}

fn query_sql(settings: &Settings, example: Option<&ExposedTable>) -> Operation {
    let is_sqlite = settings.ignores_case();
    let dialect = if is_sqlite { "SQLite" } else { "PostgreSQL" };
    let description = format!(
        "Run one SELECT of your own, for what lists cannot answer. Grammar: {dialect}'s SELECT, WITH … SELECT or VALUES over \
         the tables and columns by their names in the database; no other statement, catalog or side effect. At most {} rows \
         and {} KiB; 'truncated' says if there is more.",
        settings.pages.max_size,
        settings.pages.max_bytes / 1024
    );
    let mut operation = Operation::new(QUERY_SQL, Category::Read, &description);
    operation.routing.is_indirect = true;
    let marks = if is_sqlite { "?, or $1, $2" } else { "$1, $2" };
    let sql = Schema {
        length: Span { min: Some(1), max: Some(MAX_SQL_BYTES as u64) },
        ..Schema::string().describe(&format!("One SELECT, with {marks} for the values in 'params'."))
    };
    let values = Schema {
        items: Span { min: None, max: Some(MAX_BINDS as u64) },
        ..Schema::new(Kind::Array(Some(Box::new(Schema { nullable: true, ..Schema::new(Kind::Any) }))))
            .describe("The values to bind, in order.")
    };
    operation.parameters = vec![Parameter::required("sql", sql), Parameter::optional("params", values)];
    operation.returns =
        Returns { type_name: "JsonObject".into(), description: "{truncated?, columns[], rows[][]}".into() };
    operation.examples.extend(example.map(|exposed| Example { description: None, params: example_params(exposed) }));
    operation
}

/// A few rows, with one bound value.
fn example_params(exposed: &ExposedTable) -> Map<String, Value> {
    let mut statement = Statement::new(Dialect::Postgres);
    statement.push("SELECT ");
    for (position, column) in exposed.table.columns.iter().take(3).enumerate() {
        statement.push(if position > 0 { ", " } else { "" }).name(&column.quoted);
    }
    statement.push(" FROM ").name(&exposed.table.quoted).push(" LIMIT ").bind(Bind::Integer(5));
    Map::from_iter([("sql".to_owned(), statement.text().into()), ("params".to_owned(), json!([5]))])
}
