//! Creations that are rehearsed without drawing from sequences, because a value that was drawn is gone for good.

use serde_json::{Map, Value, json};

use aquifer_protocol::warning::Warning;

use super::Done;
use super::change::Common;
use super::explain::count;
use crate::error::{Constraint, SqlError, Violation};
use crate::model::{Column, Drawing, DrawnColumn};
use crate::session::{Fault, Session};
use crate::sql::write;
use crate::statement::{Fragment, Name, Statement};

impl Common {
    /// The columns that a rehearsal has to give values, since their defaults must not be tried; nothing if one's value
    /// cannot be known.
    pub(super) fn predicted(
        &self,
        given: &Map<String, Value>,
    ) -> Result<Option<Vec<(&DrawnColumn, &Fragment)>>, Fault> {
        let mut predicted = Vec::new();
        let drawn = if self.dry_run { self.served.table.rehearsal.drawn.as_slice() } else { &[] };
        for column in drawn.iter().filter(|column| !given.contains_key(&*column.name)) {
            match &column.drawing {
                Drawing::Predicted(value) => predicted.push((column, value)),
                Drawing::Unknown => return Ok(None),
                Drawing::Refused => {
                    let reason = "the database does not allow it to this user";
                    let cause = format!("no right to draw from the sequence of '{}'", column.name);
                    return Err(SqlError::Denied { reason, cause }.into());
                }
            }
        }
        Ok(Some(predicted))
    }

    /// A rehearsal that only asks: whether the values can be read, and whether rules about them hold.
    pub(super) async fn checked_only<S: Session>(
        &self,
        session: &mut S,
        given: &Map<String, Value>,
    ) -> Result<Done, Fault> {
        let table = &self.served.table;
        let columns = || given.iter().filter_map(|(name, value)| Some((table.column(name)?, value)));
        session.rows(&write::read_values(&self.scope(), columns().collect()), &[]).await?;
        let whole = |names: &[std::sync::Arc<str>]| -> Option<Vec<(&Column, &Value)>> {
            let value = |name: &std::sync::Arc<str>| Some((table.column(name)?, given.get(&**name)?));
            names.iter().map(value).collect::<Option<Vec<_>>>().filter(|values| !values.is_empty())
        };
        for unique in &table.unique {
            let Some(values) = whole(&unique.columns) else { continue };
            if values.iter().any(|(_, value)| value.is_null()) {
                continue;
            }
            let on: Vec<(Name, &Column, &Value)> =
                values.into_iter().map(|(column, value)| (column.quoted.clone(), column, value)).collect();
            if self.counted(session, write::exists(&self.scope(), &table.quoted, &on)).await? > 0 {
                return Err(violation(Constraint::Unique, &unique.name, &unique.columns, None));
            }
        }
        if let Some(foreign) = self.missing(session, given).await {
            let name = foreign.name.clone().unwrap_or_default();
            return Err(violation(Constraint::MissingParent, &name, &foreign.columns, self.parent(foreign)));
        }
        for check in &table.checks {
            let Some((rule, values)) = check.expression.as_ref().zip(whole(&check.columns)) else { continue };
            if self.counted(session, write::holds(&self.scope(), rule, values)).await? == 0 {
                return Err(violation(Constraint::Check, &check.name, &check.columns, None));
            }
        }
        let words = "The row was checked, not tried: one of its defaults cannot be undone. What defaults and triggers would add is not shown";
        let warnings = vec![Warning::new("DRY_RUN_NOT_TRIED", words)];
        Ok(Done { data: json!({ "dry_run": true, "would": "create", "after": given }).into(), warnings })
    }

    async fn counted<S: Session>(&self, session: &mut S, statement: Statement) -> Result<i64, Fault> {
        let failed = || SqlError::Refused { words: None, cause: "a rule could not be checked".to_owned() };
        Ok(count(session, &statement).await.ok_or_else(failed)?)
    }
}

fn violation(kind: Constraint, name: &str, columns: &[std::sync::Arc<str>], other: Option<String>) -> Fault {
    let constraint = Some(name.to_owned()).filter(|name| !name.is_empty());
    let columns = columns.iter().map(|column| column.to_string()).collect();
    let cause = "a rule would not hold".to_owned();
    SqlError::Violation(Violation { kind, constraint, columns, other, cause }).into()
}
