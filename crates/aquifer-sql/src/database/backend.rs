//! The database behind a source: SQLite or PostgreSQL.

use std::sync::Arc;

use aquifer_engine::Validity;

use crate::postgres::Postgres;
use crate::query_sql::{SqlAccess, SqlRequest};
use crate::sqlite::Sqlite;
use crate::statement::Dialect;
use crate::work::OperationOutput;
use crate::work::fair_permits::Holder;
use crate::work::session::{GuardedWork, Work, WorkError};

pub(crate) enum Backend {
    Sqlite(Sqlite),
    Postgres(Box<Postgres>),
}

impl Backend {
    pub(crate) fn dialect(&self) -> Dialect {
        match self {
            Backend::Sqlite(_) => Dialect::Sqlite,
            Backend::Postgres(_) => Dialect::Postgres,
        }
    }

    pub(crate) async fn read<W: Work>(&self, work: Arc<W>) -> Result<W::Output, WorkError> {
        match self {
            Backend::Sqlite(sqlite) => sqlite.read(work).await,
            Backend::Postgres(postgres) => postgres.read(&*work).await,
        }
    }

    /// Runs one SELECT that a caller wrote.
    pub(super) async fn query_sql(
        &self,
        access: Arc<SqlAccess>,
        request: SqlRequest,
        holder: Holder,
    ) -> Result<OperationOutput, WorkError> {
        match self {
            Backend::Sqlite(sqlite) => sqlite.query_sql(access, request, holder).await,
            Backend::Postgres(postgres) => postgres.query_sql(&access, &request, &holder).await,
        }
    }

    pub(super) async fn write<W: Work>(&self, work: W, validity: &Validity) -> Result<W::Output, WorkError> {
        let work = GuardedWork { work, validity: validity.clone() };
        match self {
            Backend::Sqlite(sqlite) => sqlite.write(work).await,
            Backend::Postgres(postgres) => postgres.write(work).await,
        }
    }
}
