//! Dry runs of creations that must not advance sequences, because sequences do not roll back.

use serde_json::{Map, Value};

use aquifer_protocol::warning::Warning;

use super::change::ChangeContext;
use super::explain::read_count;
use crate::error::{Constraint, SqlError, Violation};
use crate::schema::model::{Column, DefaultPrediction, UntestableDefault};
use crate::sql::write;
use crate::statement::{Fragment, Name, Statement};
use crate::work::session::{Session, WorkError};

impl ChangeContext {
    /// The columns for which a dry run has to supply values, because their defaults must not be tried. `None` if a
    /// value cannot be predicted.
    pub(super) fn predicted_defaults(
        &self,
        values: &Map<String, Value>,
    ) -> Result<Option<Vec<(&UntestableDefault, &Fragment)>>, WorkError> {
        let mut predicted = Vec::new();
        let untestable = if self.dry_run { self.exposed.table.dry_run.untestable.as_slice() } else { &[] };
        for column in untestable.iter().filter(|column| !values.contains_key(&*column.name)) {
            match &column.prediction {
                DefaultPrediction::Predicted(value) => predicted.push((column, value)),
                DefaultPrediction::Unknown => return Ok(None),
                DefaultPrediction::Refused => {
                    let reason = "the database does not permit this for its user";
                    let cause = format!("no permission to use the sequence of '{}'", column.name);
                    return Err(SqlError::PermissionDenied { reason, cause }.into());
                }
            }
        }
        Ok(Some(predicted))
    }

    /// A dry run that only validates: whether the database accepts the values, and whether its rules hold. Returns the
    /// warning about that.
    pub(super) async fn check_only<S: Session>(
        &self,
        session: &mut S,
        row_values: &Map<String, Value>,
    ) -> Result<Warning, WorkError> {
        let table = &self.exposed.table;
        let columns = || row_values.iter().filter_map(|(name, value)| Some((table.column(name)?, value)));
        session.rows(&write::read_values(&self.scope(), columns().collect()), &[]).await?;
        let whole = |names: &[std::sync::Arc<str>]| -> Option<Vec<(&Column, &Value)>> {
            let value = |name: &std::sync::Arc<str>| Some((table.column(name)?, row_values.get(&**name)?));
            names.iter().map(value).collect::<Option<Vec<_>>>().filter(|values| !values.is_empty())
        };
        for unique in &table.unique {
            let Some(values) = whole(&unique.columns) else { continue };
            if values.iter().any(|(_, value)| value.is_null()) {
                continue;
            }
            let on: Vec<(Name, &Column, &Value)> =
                values.into_iter().map(|(column, value)| (column.quoted.clone(), column, value)).collect();
            if self.count_rows(session, write::count_matches(&self.scope(), &table.quoted, &on)).await? > 0 {
                return Err(violation(Constraint::Unique, &unique.name, &unique.columns, None));
            }
        }
        if let Some(foreign) = self.find_missing_parent(session, row_values).await {
            let name = foreign.name.clone().unwrap_or_default();
            return Err(violation(Constraint::MissingParent, &name, &foreign.columns, self.parent_name(foreign)));
        }
        for check in &table.checks {
            let Some((rule, values)) = check.expression.as_ref().zip(whole(&check.columns)) else { continue };
            if self.count_rows(session, write::check_rule(&self.scope(), rule, values)).await? == 0 {
                return Err(violation(Constraint::Check, &check.name, &check.columns, None));
            }
        }
        let words = "The row was validated but not inserted: one of its defaults cannot be rolled back. Values from defaults and triggers are not shown";
        Ok(Warning::new("DRY_RUN_NOT_TRIED", words))
    }

    async fn count_rows<S: Session>(&self, session: &mut S, statement: Statement) -> Result<i64, WorkError> {
        let failed = || SqlError::Rejected { message: None, cause: "a rule could not be checked".to_owned() };
        Ok(read_count(session, &statement).await.ok_or_else(failed)?)
    }
}

fn violation(kind: Constraint, name: &str, columns: &[std::sync::Arc<str>], other: Option<String>) -> WorkError {
    let constraint = Some(name.to_owned()).filter(|name| !name.is_empty());
    let columns = columns.iter().map(|column| column.to_string()).collect();
    let cause = "a rule would not hold".to_owned();
    SqlError::Violation(Violation { kind, constraint, columns, other, blocking: None, cause }).into()
}
