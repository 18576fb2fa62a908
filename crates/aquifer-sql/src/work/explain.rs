//! What a broken rule is about, where the database does not say: found out by asking it, after everything was undone.
//! The same questions show a rehearsal on SQLite what only keeping the change would show.

use serde_json::{Map, Value};

use super::change::Common;
use super::read::one;
use crate::error::{ANOTHER_TABLE, Constraint, SqlError, Violation};
use crate::model::{Column, ForeignKey, OnDelete, Store};
use crate::rows::Reader;
use crate::session::{Fault, Session};
use crate::sql::{operand, write};
use crate::statement::{Dialect, Name, Statement};

impl Common {
    /// The row of a key as it is now.
    pub(super) async fn row<S: Session>(&self, session: &mut S, key: &[Value]) -> Option<Map<String, Value>> {
        let text = one(session, &self.scope(), &self.whole(), key, false).await.ok()??;
        serde_json::from_slice(&text).ok()
    }

    /// SqlError with what was given, told with the names it is about. `row` is what the row would have been.
    pub(super) async fn explained<S: Session>(
        &self,
        session: &mut S,
        error: SqlError,
        given: &Map<String, Value>,
        row: &Map<String, Value>,
        removed: bool,
    ) -> SqlError {
        match error {
            SqlError::Violation(mut violation) if violation.kind.is_reference() => {
                self.referring(session, &mut violation, row, removed).await;
                SqlError::Violation(violation)
            }
            SqlError::Invalid { problem, column: None, cause } => {
                let column = self.refused_value(session, given).await;
                SqlError::Invalid { problem, column, cause }
            }
            error => error,
        }
    }

    /// Both ways round a broken reference looks much the same.
    async fn referring<S: Session>(
        &self,
        session: &mut S,
        violation: &mut Violation,
        row: &Map<String, Value>,
        removed: bool,
    ) {
        let table = &self.served.table;
        let missing = match violation.constraint.as_deref() {
            _ if removed => None,
            Some(name) => table.foreign.iter().find(|known| known.name.as_deref() == Some(name)),
            None => self.missing(session, row).await,
        };
        match missing {
            Some(foreign) => {
                violation.kind = Constraint::MissingParent;
                violation.columns = foreign.columns.iter().map(|column| column.to_string()).collect();
                violation.other = self.parent(foreign);
            }
            None => {
                violation.kind = Constraint::HasChildren;
                violation.columns = Vec::new();
                violation.other = self.child(session, row).await;
            }
        }
    }

    /// A rehearsal does not keep anything, so SQLite never looks whether deferred references hold.
    pub(super) async fn must_refer<S: Session>(&self, session: &mut S, row: &Map<String, Value>) -> Result<(), Fault> {
        if self.dialect == Dialect::Postgres {
            return Ok(());
        }
        match self.missing(session, row).await {
            None => Ok(()),
            Some(foreign) => Err(broken(
                Constraint::MissingParent,
                foreign.columns.iter().map(|column| column.to_string()).collect(),
                self.parent(foreign),
            )),
        }
    }

    /// The same for a row that goes.
    pub(super) async fn must_not_be_referred_to<S: Session>(
        &self,
        session: &mut S,
        row: &Map<String, Value>,
    ) -> Result<(), Fault> {
        if self.dialect == Dialect::Postgres {
            return Ok(());
        }
        match self.child(session, row).await {
            None => Ok(()),
            other => Err(broken(Constraint::HasChildren, Vec::new(), other)),
        }
    }

    /// The reference of the row that leads nowhere.
    pub(super) async fn missing<S: Session>(&self, session: &mut S, row: &Map<String, Value>) -> Option<&ForeignKey> {
        let table = &self.served.table;
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
            if count(session, &write::exists(&self.scope(), &parent, &on)).await == Some(0) {
                return Some(foreign);
            }
        }
        None
    }

    /// What callers call the table that a reference leads to, if it is offered.
    pub(super) fn parent(&self, foreign: &ForeignKey) -> Option<String> {
        let own = self.references.iter().filter(|known| known.from == self.index && known.columns == foreign.columns);
        let targets = own.filter_map(|known| Some((known, self.tables.get(known.to)?)));
        let mut targets = targets.filter(|(_, served)| foreign.leads_to(&served.table));
        let (_, target) = targets.next().filter(|(known, _)| !known.conceals_to)?;
        Some(target.words.plural.clone())
    }

    /// A table whose rows refer to this one and forbid that it goes.
    async fn child<S: Session>(&self, session: &mut S, row: &Map<String, Value>) -> Option<String> {
        let table = &self.served.table;
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
            let rows = count(session, &write::exists(&self.scope(), &from.table.quoted, &on)).await;
            if rows.is_some_and(|rows| rows > 0) {
                let name = (!reference.conceals_from).then(|| from.words.plural.clone());
                return Some(name.unwrap_or_else(|| ANOTHER_TABLE.to_owned()));
            }
        }
        None
    }

    /// The column whose value PostgreSQL cannot take, found by offering it one value after the other.
    async fn refused_value<S: Session>(&self, session: &mut S, given: &Map<String, Value>) -> Option<String> {
        if let (1, Some(only)) = (given.len(), given.keys().next()) {
            return Some(only.clone());
        }
        let mut bounded = Vec::new();
        for (name, value) in given {
            let column = self.served.table.column(name)?;
            let Store::Postgres(store) = &column.store else { return None };
            let mut statement = Statement::new(Dialect::Postgres);
            statement.push("SELECT ").bind(operand::postgres(&column.of, value)).push("::").fragment(&store.whole);
            if matches!(session.rows(&statement, &[]).await, Err(SqlError::Invalid { .. })) {
                return Some(name.clone());
            }
            if column.is_shown_as_text() && store.whole != store.cast {
                bounded.push(name.clone());
            }
        }
        // Some types cut off what is too long where one is made of the other, but not where it is kept.
        bounded.pop().filter(|_| bounded.is_empty())
    }
}

fn broken(kind: Constraint, columns: Vec<String>, other: Option<String>) -> Fault {
    let cause = "a deferred reference would not hold".to_owned();
    SqlError::Violation(Violation { kind, constraint: None, columns, other, cause }).into()
}

pub(super) async fn count<S: Session>(session: &mut S, statement: &Statement) -> Option<i64> {
    let reader = match statement.dialect() {
        Dialect::Sqlite => Reader::Plain,
        Dialect::Postgres => Reader::Integer,
    };
    let rows = session.rows(statement, &[reader]).await.ok()?;
    rows.first()?.first()?.as_i64()
}
