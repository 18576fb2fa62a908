//! Explains constraint violations that the database does not explain itself, by querying it after the rollback. On
//! SQLite, dry runs use the same queries to check what only a commit would check.

use serde_json::{Map, Value};

use super::cascade::{DeletionEffects, MAX_COUNTED_ROWS};
use super::change::ChangeContext;
use super::read::read_row;
use crate::error::{BlockingRows, Constraint, SqlError, Violation};
use crate::rows::CellType;
use crate::schema::model::{Column, ForeignKey, OnDelete, Store};
use crate::sql::{operand, write};
use crate::statement::{Dialect, Name, Statement};
use crate::work::session::{Session, WorkError};

/// A row before and after a change that failed.
pub(super) struct RowVersions {
    /// The current row. Empty if there is none.
    pub(super) current: Map<String, Value>,
    /// The row after the change.
    pub(super) intended: Map<String, Value>,
    /// Whether the change deletes the row.
    pub(super) is_removed: bool,
}

impl ChangeContext {
    /// The current row with a key.
    pub(super) async fn row<S: Session>(&self, session: &mut S, key: &[Value]) -> Option<Map<String, Value>> {
        let text = read_row(session, &self.scope(), &self.all_fields(), key, false).await.ok()??;
        serde_json::from_slice(&text).ok()
    }

    /// The error, completed with the columns and tables it is about.
    pub(super) async fn explain_error<S: Session>(
        &self,
        session: &mut S,
        error: SqlError,
        values: &Map<String, Value>,
        versions: &RowVersions,
    ) -> SqlError {
        match error {
            SqlError::Violation(mut violation) if violation.kind.is_reference() => {
                self.explain_reference(session, &mut violation, versions).await;
                SqlError::Violation(violation)
            }
            SqlError::InvalidValue { problem, column: None, cause } => {
                let column = self.find_rejected_column(session, values).await;
                SqlError::InvalidValue { problem, column, cause }
            }
            error => error,
        }
    }

    /// Determines the direction of a broken reference, because both directions have the same error.
    async fn explain_reference<S: Session>(&self, session: &mut S, violation: &mut Violation, versions: &RowVersions) {
        let table = &self.exposed.table;
        let missing = match violation.constraint.as_deref() {
            _ if versions.is_removed => None,
            Some(name) => table.foreign.iter().find(|known| known.name.as_deref() == Some(name)),
            None => self.find_missing_parent(session, &versions.intended).await,
        };
        match missing {
            Some(foreign) => {
                violation.kind = Constraint::MissingParent;
                violation.columns = foreign.columns.iter().map(|column| column.to_string()).collect();
                violation.other = self.parent_name(foreign);
            }
            None => {
                violation.kind = Constraint::HasChildren;
                violation.columns = Vec::new();
                let blocking = self.find_obstacles(session, versions).await;
                violation.blocking = Some(Box::new(blocking));
            }
        }
    }

    /// Checks deferred references, which SQLite checks only at a commit, for a dry run.
    pub(super) async fn check_references<S: Session>(
        &self,
        session: &mut S,
        row: &Map<String, Value>,
    ) -> Result<(), WorkError> {
        if self.dialect == Dialect::Postgres {
            return Ok(());
        }
        match self.find_missing_parent(session, row).await {
            None => Ok(()),
            Some(foreign) => Err(deferred_violation(
                Constraint::MissingParent,
                foreign.columns.iter().map(|column| column.to_string()).collect(),
                self.parent_name(foreign),
                None,
            )),
        }
    }

    /// The rows that prevent a change, because they refer to the current row or to rows that are deleted with it.
    async fn find_obstacles<S: Session>(&self, session: &mut S, versions: &RowVersions) -> BlockingRows {
        let RowVersions { current, is_removed, .. } = versions;
        let effects = match is_removed {
            true => DeletionEffects::find(self, session, current, MAX_COUNTED_ROWS).await.ok(),
            false => None,
        };
        let effects = effects.unwrap_or_else(|| DeletionEffects::of_row(self, current));
        effects.find_obstacles(self, session, *is_removed).await
    }

    /// Like `find_obstacles`, for rows that were deleted.
    pub(super) async fn check_no_referring_rows<S: Session>(
        &self,
        session: &mut S,
        effects: &DeletionEffects<'_>,
    ) -> Result<(), WorkError> {
        if self.dialect == Dialect::Postgres {
            return Ok(());
        }
        let blocking = effects.find_obstacles(self, session, true).await;
        match blocking.is_empty() {
            true => Ok(()),
            false => Err(deferred_violation(Constraint::HasChildren, Vec::new(), None, Some(blocking))),
        }
    }

    /// The foreign key of the row whose referenced row does not exist.
    pub(super) async fn find_missing_parent<S: Session>(
        &self,
        session: &mut S,
        row: &Map<String, Value>,
    ) -> Option<&ForeignKey> {
        let table = &self.exposed.table;
        for foreign in table.foreign.iter().filter(|foreign| foreign.on_delete != OnDelete::Nothing) {
            let pairs = foreign.columns.iter().zip(&foreign.to_columns);
            let on: Option<Vec<(Name, &Column, &Value)>> = pairs
                .map(|(own, to)| {
                    let value = row.get(&**own).filter(|value| !value.is_null())?;
                    Some((Name::reflected(to), table.column(own)?, value))
                })
                .collect();
            let Some(on) = on.filter(|on| !on.is_empty()) else { continue };
            let parent = match &foreign.to_schema {
                Some(schema) => Name::qualified(schema, &foreign.to_table),
                None => Name::reflected(&foreign.to_table),
            };
            if read_count(session, &write::count_matches(&self.scope(), &parent, &on)).await == Some(0) {
                return Some(foreign);
            }
        }
        None
    }

    /// The name of the referenced table, if it is offered.
    pub(super) fn parent_name(&self, foreign: &ForeignKey) -> Option<String> {
        let own = self.references.iter().filter(|known| known.from == self.index && known.columns == foreign.columns);
        let targets = own.filter_map(|known| Some((known, self.tables.get(known.to)?)));
        let mut targets = targets.filter(|(_, exposed)| foreign.references_table(&exposed.table));
        let (_, target) = targets.next().filter(|(known, _)| !known.conceals_to)?;
        Some(target.words.plural.clone())
    }

    /// The column whose value PostgreSQL rejects, found by trying the values one by one.
    async fn find_rejected_column<S: Session>(&self, session: &mut S, values: &Map<String, Value>) -> Option<String> {
        if let (1, Some(only)) = (values.len(), values.keys().next()) {
            return Some(only.clone());
        }
        let mut bounded = Vec::new();
        for (name, value) in values {
            let column = self.exposed.table.column(name)?;
            let Store::Postgres(store) = &column.store else { return None };
            let mut statement = Statement::new(Dialect::Postgres);
            statement
                .push("SELECT ")
                .bind(operand::to_postgres(&column.field_type, value))
                .push("::")
                .fragment(&store.whole);
            if matches!(session.rows(&statement, &[]).await, Err(SqlError::InvalidValue { .. })) {
                return Some(name.clone());
            }
            if column.is_shown_as_text() && store.whole != store.cast {
                bounded.push(name.clone());
            }
        }
        // Some types truncate in a cast, but reject long values when storing.
        bounded.pop().filter(|_| bounded.is_empty())
    }
}

fn deferred_violation(
    kind: Constraint,
    columns: Vec<String>,
    other: Option<String>,
    blocking: Option<BlockingRows>,
) -> WorkError {
    let cause = "a deferred reference would not hold".to_owned();
    let blocking = blocking.map(Box::new);
    SqlError::Violation(Violation { kind, constraint: None, columns, other, blocking, cause }).into()
}

pub(super) async fn read_count<S: Session>(session: &mut S, statement: &Statement) -> Option<i64> {
    let cell_type = match statement.dialect() {
        Dialect::Sqlite => CellType::Plain,
        Dialect::Postgres => CellType::Integer,
    };
    let rows = session.rows(statement, &[cell_type]).await.ok()?;
    rows.first()?.first()?.as_i64()
}
