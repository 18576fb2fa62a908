//! Making, changing and removing one row. A rehearsal does all of it and then undoes it, so that it fails where the real
//! thing would.

use std::sync::Arc;

use aquifer_protocol::error::{Code, Failure};
use aquifer_query::FieldType;
use aquifer_query::plan::Path;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::Done;
use super::read::{not_found, one};
use crate::model::{Column, OnDelete};
use crate::offer::Incoming;
use crate::rows::{Collector, Reader};
use crate::served::Served;
use crate::session::{Fault, Session, Work};
use crate::sql::value::Scope;
use crate::sql::write::{self, Change, Returns};
use crate::statement::{Dialect, Name};
use crate::trouble::{Constraint, Trouble};

/// What every change has.
#[derive(Clone)]
pub(crate) struct Common {
    pub(crate) served: Arc<Served>,
    pub(crate) dialect: Dialect,
    pub(crate) now: Timestamp,
    pub(crate) dry_run: bool,
}

impl Common {
    fn scope(&self) -> Scope<'_> {
        Scope { served: &self.served, dialect: self.dialect, now: self.now }
    }

    /// The whole row with its version.
    fn whole(&self) -> Vec<Path> {
        let fields = self.served.collection.fields.iter().map(|field| Path::field(&field.name));
        fields.chain([Path::field("_etag")]).collect()
    }

    fn columns<'a>(&'a self, values: &'a Map<String, Value>) -> Vec<(&'a Column, &'a Value)> {
        values.iter().filter_map(|(name, value)| Some((self.served.table.column(name)?, value))).collect()
    }

    /// Runs a change and reads the row it leaves.
    async fn changed<S: Session>(&self, session: &mut S, change: Change) -> Result<Option<Vec<u8>>, Fault> {
        match change.returns {
            Returns::Row(shape) => {
                let mut collector = Collector::one(shape);
                session.fetch(&change.statement, &mut collector).await?;
                Ok(collector.into_one())
            }
            Returns::Key(readers) => {
                let rows = session.rows(&change.statement, &readers).await?;
                let Some(key) = rows.into_iter().next() else { return Ok(None) };
                if !write::has_key(&self.served.table.key) {
                    return Ok(Some(b"{}".to_vec()));
                }
                one(session, &self.scope(), &self.whole(), &key, false).await
            }
        }
    }

    /// The row of a key, held so that nobody changes it meanwhile, if it is still the version that was seen.
    async fn held<S: Session>(
        &self,
        session: &mut S,
        key: &[Value],
        if_match: Option<&str>,
    ) -> Result<(Vec<u8>, Map<String, Value>), Fault> {
        let row = one(session, &self.scope(), &self.whole(), key, true).await?;
        let text = row.ok_or_else(|| not_found(&self.served, key))?;
        let row: Map<String, Value> = serde_json::from_slice(&text)
            .map_err(|error| Trouble::Refused { words: None, cause: error.to_string() })?;
        let version = row.get("_etag").and_then(Value::as_str);
        if if_match.is_some_and(|wanted| Some(wanted) != version) {
            let resource = self.served.words.singular.as_str();
            return Err(Failure::new(
                Code::ConflictVersionMismatch,
                format!("Resource '{resource}' has changed since it was read. Read it again and repeat with its '_etag'"),
            )
            .detail("resource_type", resource)
            .detail("current_etag", version.unwrap_or_default())
            .into());
        }
        Ok((text, row))
    }

    /// Names what a broken constraint is about, where the database does not.
    async fn explained<S: Session>(&self, session: &mut S, fault: Fault, values: &Map<String, Value>) -> Fault {
        let Fault::Trouble(Trouble::Violation(mut violation)) = fault else { return fault };
        let table = &self.served.table;
        if let Some(name) = violation.constraint.as_deref().filter(|_| violation.columns.is_empty()) {
            let unique = table.unique.iter().find(|known| &*known.name == name).map(|known| &known.columns);
            let check = table.checks.iter().find(|known| &*known.name == name).map(|known| &known.columns);
            let foreign = table.foreign.iter().find(|known| known.name.as_deref() == Some(name));
            let columns = unique.or(check).or(foreign.map(|known| &known.columns));
            violation.columns = columns.into_iter().flatten().map(|column| column.to_string()).collect();
            violation.other = violation.other.or_else(|| foreign.map(|known| known.to_table.to_string()));
        }
        if violation.kind == Constraint::MissingParent && violation.columns.is_empty() {
            for foreign in &table.foreign {
                let Some(columns) = foreign.columns.iter().map(|name| table.column(name)).collect::<Option<Vec<_>>>()
                else {
                    continue;
                };
                let given: Option<Vec<&Value>> =
                    foreign.columns.iter().map(|name| values.get(&**name).filter(|value| !value.is_null())).collect();
                let Some(given) = given else { continue };
                let on: Vec<(Name, &Column, &Value)> = foreign
                    .to_columns
                    .iter()
                    .zip(columns)
                    .zip(given)
                    .map(|((to, column), value)| (Name::reflected(to), column, value))
                    .collect();
                let parent = Name::reflected(&foreign.to_table);
                if count(session, &write::exists(&self.scope(), &parent, &on)).await == Some(0) {
                    violation.columns = foreign.columns.iter().map(|column| column.to_string()).collect();
                    violation.other = Some(foreign.to_table.to_string());
                    break;
                }
            }
        }
        Fault::Trouble(Trouble::Violation(violation))
    }
}

async fn count<S: Session>(session: &mut S, statement: &crate::statement::Statement) -> Option<i64> {
    let reader = match statement.dialect() {
        Dialect::Sqlite => Reader::Plain,
        Dialect::Postgres => Reader::Integer,
    };
    let rows = session.rows(statement, &[reader]).await.ok()?;
    rows.first()?.first()?.as_i64()
}

/// Makes a row.
#[derive(Clone)]
pub(crate) struct Create {
    pub(crate) common: Common,
    /// By column.
    pub(crate) values: Map<String, Value>,
}

impl Work for Create {
    type Output = Done;

    fn needs_snapshot(&self) -> bool {
        true
    }

    async fn run<S: Session>(self, session: &mut S) -> Result<(Done, bool), Fault> {
        let Create { common, values } = &self;
        let change = write::insert(&common.scope(), &common.columns(values), &common.whole());
        let made = match common.changed(session, change).await {
            Ok(made) => made,
            Err(fault) => return Err(common.explained(session, fault, values).await),
        };
        let row = made.unwrap_or_else(|| b"{}".to_vec());
        if common.dry_run {
            let row: Value = serde_json::from_slice(&row).unwrap_or_default();
            let data = json!({ "dry_run": true, "would": "create", "after": row });
            return Ok((Done { data: data.into(), warnings: Vec::new() }, false));
        }
        Ok((Done::assembled(row, Vec::new())?, true))
    }
}

/// Changes a row.
#[derive(Clone)]
pub(crate) struct Update {
    pub(crate) common: Common,
    pub(crate) key: Vec<Value>,
    /// By column.
    pub(crate) input: Map<String, Value>,
    pub(crate) if_match: Option<String>,
}

impl Work for Update {
    type Output = Done;

    fn needs_snapshot(&self) -> bool {
        true
    }

    async fn run<S: Session>(self, session: &mut S) -> Result<(Done, bool), Fault> {
        let Update { common, key, input, if_match } = &self;
        let (text, before) = common.held(session, key, if_match.as_deref()).await?;
        let mut values = Map::new();
        for (name, change) in input {
            let is_json = common.served.table.column(name).is_some_and(|column| column.of == FieldType::Json);
            let value = if is_json { merged(before.get(name), change) } else { change.clone() };
            values.insert(name.clone(), value);
        }
        let after = if values.is_empty() {
            text
        } else {
            let change = write::update(&common.scope(), &common.columns(&values), key, &common.whole());
            match common.changed(session, change).await {
                Ok(Some(row)) => row,
                // A trigger or a policy may have swallowed it.
                Ok(None) => {
                    return Err(Trouble::Denied {
                        reason: "the database let nothing be changed",
                        cause: "an update touched no row".to_owned(),
                    }
                    .into());
                }
                Err(fault) => return Err(common.explained(session, fault, &values).await),
            }
        };
        if !common.dry_run {
            return Ok((Done::assembled(after, Vec::new())?, true));
        }
        let after: Map<String, Value> = serde_json::from_slice(&after).unwrap_or_default();
        let changes: Map<String, Value> = after
            .iter()
            .filter(|(name, value)| *name != "_etag" && before.get(*name) != Some(value))
            .map(|(name, value)| (name.clone(), json!({ "from": before.get(name), "to": value })))
            .collect();
        let data = json!({ "dry_run": true, "would": "update", "changes": changes });
        Ok((Done { data: data.into(), warnings: Vec::new() }, false))
    }
}

/// A JSON value with a change merged into it: objects key by key, everything else replaced, null removes (R-REQ-6).
fn merged(stored: Option<&Value>, change: &Value) -> Value {
    match (stored, change) {
        (Some(Value::Object(stored)), Value::Object(changes)) => {
            let mut result = stored.clone();
            for (name, change) in changes {
                if change.is_null() {
                    result.shift_remove(name);
                } else {
                    let value = merged(stored.get(name), change);
                    result.insert(name.clone(), value);
                }
            }
            Value::Object(result)
        }
        (_, Value::Object(changes)) => {
            let kept = changes.iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(name, value)| (name.clone(), merged(None, value))).collect())
        }
        (_, other) => other.clone(),
    }
}

/// Removes a row.
#[derive(Clone)]
pub(crate) struct Delete {
    pub(crate) common: Common,
    pub(crate) key: Vec<Value>,
    pub(crate) if_match: Option<String>,
    /// Who refers to this table.
    pub(crate) incoming: Vec<Incoming>,
}

impl Work for Delete {
    type Output = Done;

    fn needs_snapshot(&self) -> bool {
        true
    }

    async fn run<S: Session>(self, session: &mut S) -> Result<(Done, bool), Fault> {
        let Delete { common, key, if_match, incoming } = &self;
        let (text, row) = common.held(session, key, if_match.as_deref()).await?;
        let mut touched = Map::new();
        if common.dry_run {
            for reference in incoming.iter().filter(|reference| reference.on_delete != OnDelete::Refuse) {
                if let Some(rows) = self.referring(session, reference, &row).await.filter(|rows| *rows > 0) {
                    let fate = if reference.on_delete == OnDelete::Cascade { "deleted" } else { "cleared" };
                    touched.insert(reference.relationship.to_string(), json!({ fate: rows }));
                }
            }
        }
        match session.execute(&write::delete(&common.scope(), key)).await {
            Ok(0) => {
                let cause = "a delete touched no row".to_owned();
                return Err(Trouble::Denied { reason: "the database let nothing be removed", cause }.into());
            }
            Ok(_) => {}
            Err(Trouble::Violation(mut violation)) if violation.kind == Constraint::MissingParent => {
                violation.kind = Constraint::HasChildren;
                for reference in incoming.iter().filter(|reference| reference.on_delete == OnDelete::Refuse) {
                    if self.referring(session, reference, &row).await.is_some_and(|rows| rows > 0) {
                        violation.other = Some(reference.from.to_string());
                        break;
                    }
                }
                return Err(Trouble::Violation(violation).into());
            }
            Err(trouble) => return Err(trouble.into()),
        }
        if common.dry_run {
            let mut data = json!({ "dry_run": true, "would": "delete", "before": row });
            if let (Some(data), false) = (data.as_object_mut(), touched.is_empty()) {
                data.insert("also".to_owned(), Value::Object(touched));
            }
            return Ok((Done { data: data.into(), warnings: Vec::new() }, false));
        }
        Ok((Done::assembled(text, Vec::new())?, true))
    }
}

impl Delete {
    /// How many rows refer to this one.
    async fn referring<S: Session>(
        &self,
        session: &mut S,
        reference: &Incoming,
        row: &Map<String, Value>,
    ) -> Option<i64> {
        let table = &self.common.served.table;
        let mut on = Vec::new();
        for (theirs, ours) in reference.columns.iter().zip(&reference.to_columns) {
            on.push((Name::reflected(theirs), table.column(ours)?, row.get(&**ours).filter(|value| !value.is_null())?));
        }
        count(session, &write::exists(&self.common.scope(), &reference.quoted, &on)).await
    }
}
