//! Answers `query_sql`: one SELECT that a caller wrote (R-EXT-5).

use aquifer_engine::Context;
use aquifer_engine::trace::{Channel, Step};
use aquifer_protocol::error::Failure;
use aquifer_protocol::operation::Operation;
use serde_json::{Map, Value};

use super::backend::Backend;
use super::source::Database;
use crate::error::SqlError;
use crate::offer::Offer;
use crate::query_sql::{QuerySqlProblems, SqlAccess, SqlRequest, SqlText, parse_binds};
use crate::schema::model::Model;
use crate::work::OperationOutput;
use crate::work::traced::record_statement;

impl Database {
    /// Runs a statement. Policy has already decided about listing the tables it reads.
    pub(super) async fn query_sql(
        &self,
        offer: &Offer,
        operation: &Operation,
        params: &Map<String, Value>,
        context: &Context,
    ) -> Result<OperationOutput, Failure> {
        let Some(access) = &offer.sql_access else {
            return Err(Failure::internal("a statement was sent to a source that runs none"));
        };
        let (dialect, trace) = (self.backend.dialect(), &context.trace);
        let sql = SqlText::parse(params.get("sql").and_then(Value::as_str).unwrap_or_default(), dialect)?;
        // The tables may have changed since policy decided.
        let needed = offer.lists_of(offer.tables_read_by(&sql));
        if !needed.iter().all(|name| operation.routing.may_reach.contains(name)) {
            let cause = "a table that policy has not seen".to_owned();
            return Err(self.failure_from(SqlError::SchemaChanged { message: None, cause }.into(), None));
        }
        let binds = parse_binds(params.get("params"), dialect)?;
        let request = SqlRequest { sql, binds, limits: self.settings.pages };
        record_statement(trace, request.sql.text(), &request.binds, dialect);
        let output = self.backend.query_sql(access.clone(), request, context.into()).await;
        trace.record(Step::Returned, Channel::Sql, || match &output {
            Ok(output) => (String::new(), output.data_text()),
            Err(error) => ("error".to_owned(), format!("{error:?}").into()),
        });
        output.map_err(|error| self.failure_from(error, None))
    }

    /// Why `query_sql` cannot be offered. In PostgreSQL only permissions limit what a statement reads, so the user must
    /// not be able to read anything that is not served.
    pub(super) async fn check_query_sql(&self, model: &Model) -> Result<QuerySqlProblems, Failure> {
        let Backend::Postgres(postgres) = &self.backend else { return Ok(QuerySqlProblems::default()) };
        if !self.settings.query_sql {
            return Ok(QuerySqlProblems::default());
        }
        let access = SqlAccess::new(model.tables.iter().map(|table| (table, true)), None);
        postgres.query_sql_problems(&access).await.map_err(|error| self.failure_from(error, None))
    }
}
