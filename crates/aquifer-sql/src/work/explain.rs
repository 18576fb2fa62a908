//! Explains constraint violations that the database does not explain itself, by querying it after the rollback. On
//! SQLite, dry runs use the same queries to check what only a commit would.

use serde_json::{Map, Value};

use super::change::ChangeContext;
use super::read::read_row;
use crate::error::{ANOTHER_TABLE, Constraint, SqlError, Violation};
use crate::rows::CellType;
use crate::schema::model::{Column, ForeignKey, OnDelete, Store};
use crate::sql::{operand, write};
use crate::statement::{Dialect, Name, Statement};
use crate::work::session::{Session, WorkError};

impl ChangeContext {
    /// The current row with a key.
    pub(super) async fn row<S: Session>(&self, session: &mut S, key: &[Value]) -> Option<Map<String, Value>> {
        let text = read_row(session, &self.scope(), &self.all_fields(), key, false).await.ok()??;
        serde_json::from_slice(&text).ok()
    }

    /// The error, completed with the columns and tables it is about. `row` is the intended row.
    pub(super) async fn explain_error<S: Session>(
        &self,
        session: &mut S,
        error: SqlError,
        given: &Map<String, Value>,
        row: &Map<String, Value>,
        removed: bool,
    ) -> SqlError {
        match error {
            SqlError::Violation(mut violation) if violation.kind.is_reference() => {
                self.explain_reference(session, &mut violation, row, removed).await;
                SqlError::Violation(violation)
            }
            SqlError::InvalidValue { problem, column: None, cause } => {
                let column = self.find_rejected_column(session, given).await;
                SqlError::InvalidValue { problem, column, cause }
            }
            error => error,
        }
    }

    /// The errors for both directions of a broken reference look alike.
    async fn explain_reference<S: Session>(
        &self,
        session: &mut S,
        violation: &mut Violation,
        row: &Map<String, Value>,
        removed: bool,
    ) {
        let table = &self.exposed.table;
        let missing = match violation.constraint.as_deref() {
            _ if removed => None,
            Some(name) => table.foreign.iter().find(|known| known.name.as_deref() == Some(name)),
            None => self.find_missing_parent(session, row).await,
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
                violation.other = self.find_referring_table(session, row).await;
            }
        }
    }

    /// A dry run is not committed, so SQLite never checks its deferred references.
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
            )),
        }
    }

    /// The same for a row to be deleted.
    pub(super) async fn check_no_referring_rows<S: Session>(
        &self,
        session: &mut S,
        row: &Map<String, Value>,
    ) -> Result<(), WorkError> {
        if self.dialect == Dialect::Postgres {
            return Ok(());
        }
        match self.find_referring_table(session, row).await {
            None => Ok(()),
            other => Err(deferred_violation(Constraint::HasChildren, Vec::new(), other)),
        }
    }

    /// The foreign key of the row whose referenced row does not exist.
    pub(super) async fn find_missing_parent<S: Session>(
        &self,
        session: &mut S,
        row: &Map<String, Value>,
    ) -> Option<&ForeignKey> {
        let table = &self.exposed.table;
        for foreign in &table.foreign {
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

    /// A table whose rows refer to this one and prevent its deletion.
    async fn find_referring_table<S: Session>(&self, session: &mut S, row: &Map<String, Value>) -> Option<String> {
        let table = &self.exposed.table;
        let incoming = self.references.iter().filter(|known| known.to == self.index);
        for reference in incoming.filter(|known| known.on_delete == OnDelete::Refuse) {
            let from = self.tables.get(reference.from)?;
            let pairs = reference.columns.iter().zip(&reference.to_columns);
            let on: Option<Vec<(Name, &Column, &Value)>> = pairs
                .map(|(theirs, own)| {
                    let value = row.get(&**own).filter(|value| !value.is_null())?;
                    Some((from.table.column(theirs)?.quoted.clone(), table.column(own)?, value))
                })
                .collect();
            let Some(on) = on else { continue };
            let rows = read_count(session, &write::count_matches(&self.scope(), &from.table.quoted, &on)).await;
            if rows.is_some_and(|rows| rows > 0) {
                let name = (!reference.conceals_from).then(|| from.words.plural.clone());
                return Some(name.unwrap_or_else(|| ANOTHER_TABLE.to_owned()));
            }
        }
        None
    }

    /// The column whose value PostgreSQL rejects, found by trying the values one by one.
    async fn find_rejected_column<S: Session>(&self, session: &mut S, given: &Map<String, Value>) -> Option<String> {
        if let (1, Some(only)) = (given.len(), given.keys().next()) {
            return Some(only.clone());
        }
        let mut bounded = Vec::new();
        for (name, value) in given {
            let column = self.exposed.table.column(name)?;
            let Store::Postgres(store) = &column.store else { return None };
            let mut statement = Statement::new(Dialect::Postgres);
            statement.push("SELECT ").bind(operand::to_postgres(&column.of, value)).push("::").fragment(&store.whole);
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

fn deferred_violation(kind: Constraint, columns: Vec<String>, other: Option<String>) -> WorkError {
    let cause = "a deferred reference would not hold".to_owned();
    SqlError::Violation(Violation { kind, constraint: None, columns, other, cause }).into()
}

pub(super) async fn read_count<S: Session>(session: &mut S, statement: &Statement) -> Option<i64> {
    let cell_type = match statement.dialect() {
        Dialect::Sqlite => CellType::Plain,
        Dialect::Postgres => CellType::Integer,
    };
    let rows = session.rows(statement, &[cell_type]).await.ok()?;
    rows.first()?.first()?.as_i64()
}
