//! Replaces PostgreSQL in builds without the feature `postgres`: the same type, without values.

use crate::error::SqlError;
use crate::query_sql::{QuerySqlProblems, SqlAccess, SqlRequest};
use crate::schema::exposure::Baseline;
use crate::schema::model::Model;
use crate::settings::Settings;
use crate::work::OperationOutput;
use crate::work::fair_permits::Holder;
use crate::work::session::{Work, WorkError};

pub(crate) enum Postgres {}

impl Postgres {
    pub(crate) fn new(_url: &str, settings: &Settings) -> Result<Self, SqlError> {
        let reason = settings.target.unsupported().unwrap_or_default().to_owned();
        Err(SqlError::Unavailable { cause: reason.clone(), reason })
    }

    pub(crate) fn location(&self) -> &str {
        match *self {}
    }

    pub(crate) async fn reflect(&self, _settings: &Settings, _baseline: &Baseline) -> Result<Model, SqlError> {
        match *self {}
    }

    pub(crate) async fn detect_schema_change(&self, _settings: &Settings) -> bool {
        match *self {}
    }

    pub(crate) async fn fingerprint(&self) -> Result<String, WorkError> {
        match *self {}
    }

    pub(crate) async fn read<W: Work>(&self, _work: &W) -> Result<W::Output, WorkError> {
        match *self {}
    }

    pub(crate) async fn query_sql(
        &self,
        _access: &SqlAccess,
        _request: &SqlRequest,
        _holder: &Holder,
    ) -> Result<OperationOutput, WorkError> {
        match *self {}
    }

    pub(crate) async fn query_sql_problems(&self, _access: &SqlAccess) -> Result<QuerySqlProblems, WorkError> {
        match *self {}
    }

    pub(crate) async fn write<W: Work>(&self, _work: W) -> Result<W::Output, WorkError> {
        match *self {}
    }
}
