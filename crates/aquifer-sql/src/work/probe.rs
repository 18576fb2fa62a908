//! Checks whether the database accepts a configured expression.

use crate::settings::ComputedSettings;
use crate::sql::scope::cast_for;
use crate::statement::{Dialect, Fragment, Name, Statement};
use crate::work::session::{Session, TransactionEnd, Work, WorkError};

/// Evaluates an expression for no rows.
pub(crate) struct Probe {
    pub(crate) dialect: Dialect,
    pub(crate) table: Name,
    pub(crate) computed: ComputedSettings,
}

impl Work for Probe {
    type Output = ();

    fn needs_snapshot(&self) -> bool {
        false
    }

    async fn run<S: Session>(&self, session: &mut S) -> Result<((), TransactionEnd), WorkError> {
        let mut statement = Statement::new(self.dialect);
        statement.push("SELECT (").fragment(&Fragment::trusted(&self.computed.sql)).push(")");
        if self.dialect == Dialect::Postgres {
            statement.push(cast_for(&self.computed.field_type));
        }
        statement.push(" FROM ").name(&self.table).push(" AS t LIMIT 0");
        session.rows(&statement, &[]).await?;
        Ok(((), TransactionEnd::Rollback))
    }
}
