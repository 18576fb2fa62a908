//! Making, changing and removing one row. A rehearsal does all of it and then undoes it, so that it fails where the real
//! thing would; what cannot be undone it does not do.

use std::sync::Arc;

use aquifer_protocol::error::{Code, Failure};
use aquifer_query::FieldType;
use aquifer_query::plan::Path;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::merge::{Members, merged};
use super::read::{not_found, one};
use super::{Done, cascade};
use crate::error::SqlError;
use crate::exposed_table::ExposedTable;
use crate::offer::Relationship;
use crate::rows::Collector;
use crate::session::{Fault, Session, Work};
use crate::sql::value::Scope;
use crate::sql::write::{self, Change, Given, Returns};
use crate::statement::Dialect;

/// What is said where a trigger or a policy let nothing happen.
const NOTHING_CHANGED: &str = "the database let nothing be changed";

/// What every change has.
pub(crate) struct Common {
    pub(crate) served: Arc<ExposedTable>,
    /// Where the table stands among all.
    pub(crate) index: usize,
    pub(crate) tables: Vec<Arc<ExposedTable>>,
    pub(crate) references: Arc<[Relationship]>,
    pub(crate) dialect: Dialect,
    pub(crate) now: Timestamp,
    pub(crate) dry_run: bool,
}

impl Common {
    pub(super) fn scope(&self) -> Scope<'_> {
        Scope::new(&self.served, self.dialect, self.now)
    }

    /// The whole row with its version.
    pub(super) fn whole(&self) -> Vec<Path> {
        let fields = self.served.collection.fields.iter().map(|field| Path::field(&field.name));
        fields.chain([Path::field("_etag")]).collect()
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

    /// The row of a key, if it is still the version that was seen. Locked, nobody changes it meanwhile.
    async fn held<S: Session>(
        &self,
        session: &mut S,
        key: &[Value],
        if_match: Option<&str>,
        lock: bool,
    ) -> Result<(Vec<u8>, Map<String, Value>), Fault> {
        let text = match one(session, &self.scope(), &self.whole(), key, lock).await? {
            Some(text) => text,
            // What may be read but not changed is hidden from whoever would lock it.
            None if lock && one(session, &self.scope(), &self.whole(), key, false).await?.is_some() => {
                let cause = "a row that is there could not be locked".to_owned();
                return Err(SqlError::Denied { reason: NOTHING_CHANGED, cause }.into());
            }
            None => return Err(not_found(&self.served, key).into()),
        };
        let row: Map<String, Value> = serde_json::from_slice(&text)
            .map_err(|error| SqlError::Refused { words: None, cause: error.to_string() })?;
        let version = row.get("_etag").and_then(Value::as_str);
        if if_match.is_some_and(|wanted| Some(wanted) != version) {
            let resource = self.served.words.singular.as_str();
            return Err(Failure::new(
                Code::ConflictVersionMismatch,
                format!("Resource '{resource}' has changed since it was read. Read it again, and send its new '_etag'"),
            )
            .detail("resource_type", resource)
            .detail("current_etag", version.unwrap_or_default())
            .into());
        }
        Ok((text, row))
    }
}

/// Makes a row.
pub(crate) struct Create {
    pub(crate) common: Common,
    /// By column.
    pub(crate) values: Map<String, Value>,
}

impl Work for Create {
    type Output = Done;

    fn needs_snapshot(&self) -> bool {
        false
    }

    fn is_rehearsal(&self) -> bool {
        self.common.dry_run
    }

    async fn run<S: Session>(&self, session: &mut S) -> Result<(Done, bool), Fault> {
        let Create { common, values } = self;
        let given =
            values.iter().filter_map(|(name, value)| Some((common.served.table.column(name)?, Given::Value(value))));
        let predicted = match common.predicted(values)? {
            Some(predicted) => predicted,
            None => return Ok((common.checked_only(session, values).await?, false)),
        };
        let change = write::insert(&common.scope(), given.collect(), &predicted, &common.whole());
        let made = common.changed(session, change).await?;
        let row = made.unwrap_or_else(|| b"{}".to_vec());
        if common.dry_run {
            let row: Map<String, Value> = serde_json::from_slice(&row).unwrap_or_default();
            common.must_refer(session, &row).await?;
            let data = json!({ "dry_run": true, "would": "create", "after": row });
            return Ok((Done { data: data.into(), warnings: Vec::new() }, false));
        }
        Ok((Done::assembled(row, Vec::new())?, true))
    }

    async fn explain<S: Session>(&self, session: &mut S, error: SqlError) -> SqlError {
        self.common.explained(session, error, &self.values, &self.values, false).await
    }
}

/// Changes a row.
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
        false
    }

    fn is_rehearsal(&self) -> bool {
        self.common.dry_run
    }

    async fn run<S: Session>(&self, session: &mut S) -> Result<(Done, bool), Fault> {
        let Update { common, key, input, if_match } = self;
        let (text, before) = common.held(session, key, if_match.as_deref(), true).await?;
        let after = if input.is_empty() {
            text
        } else {
            let stored = Members::of(&text);
            let given = input.iter().filter_map(|(name, change)| {
                let column = common.served.table.column(name)?;
                let is_merged = column.of == FieldType::Json && !change.is_null();
                let stored = || stored.as_ref().and_then(|stored| stored.get(name));
                Some((column, if is_merged { Given::Json(merged(stored(), change)) } else { Given::Value(change) }))
            });
            let change = write::update(&common.scope(), given.collect(), key, &common.whole());
            // A trigger or a policy may have swallowed it.
            let nothing = || SqlError::Denied { reason: NOTHING_CHANGED, cause: "an update touched no row".to_owned() };
            common.changed(session, change).await?.ok_or_else(nothing)?
        };
        if !common.dry_run {
            return Ok((Done::assembled(after, Vec::new())?, true));
        }
        let after: Map<String, Value> = serde_json::from_slice(&after).unwrap_or_default();
        common.must_refer(session, &after).await?;
        let changes: Map<String, Value> = after
            .iter()
            // Names that begin so are no columns.
            .filter(|(name, value)| !name.starts_with('_') && before.get(*name) != Some(value))
            .map(|(name, value)| (name.clone(), json!({ "from": before.get(name), "to": value })))
            .collect();
        let data = json!({ "dry_run": true, "would": "update", "changes": changes });
        Ok((Done { data: data.into(), warnings: Vec::new() }, false))
    }

    async fn explain<S: Session>(&self, session: &mut S, error: SqlError) -> SqlError {
        let mut row = self.common.row(session, &self.key).await.unwrap_or_default();
        row.extend(self.input.clone());
        self.common.explained(session, error, &self.input, &row, false).await
    }
}

/// Removes a row.
pub(crate) struct Delete {
    pub(crate) common: Common,
    pub(crate) key: Vec<Value>,
    pub(crate) if_match: Option<String>,
}

impl Work for Delete {
    type Output = Done;

    /// Deleting may be allowed where changing is not, and only who may change can lock. In one state of the data nothing
    /// needs to be locked: if somebody else changes the row meanwhile, this is undone and begun again.
    fn needs_snapshot(&self) -> bool {
        true
    }

    fn is_rehearsal(&self) -> bool {
        self.common.dry_run
    }

    async fn run<S: Session>(&self, session: &mut S) -> Result<(Done, bool), Fault> {
        let Delete { common, key, if_match } = self;
        let (text, row) = common.held(session, key, if_match.as_deref(), false).await?;
        let also = if common.dry_run { cascade::of(common, session, &row).await? } else { Map::new() };
        if session.execute(&write::delete(&common.scope(), key)).await? == 0 {
            let cause = "a delete touched no row".to_owned();
            return Err(SqlError::Denied { reason: "the database let nothing be removed", cause }.into());
        }
        if common.dry_run {
            common.must_not_be_referred_to(session, &row).await?;
            let mut data = json!({ "dry_run": true, "would": "delete", "before": row });
            if let (Some(data), false) = (data.as_object_mut(), also.is_empty()) {
                data.insert("also".to_owned(), Value::Object(also));
            }
            return Ok((Done { data: data.into(), warnings: Vec::new() }, false));
        }
        Ok((Done::assembled(text, Vec::new())?, true))
    }

    async fn explain<S: Session>(&self, session: &mut S, error: SqlError) -> SqlError {
        let row = self.common.row(session, &self.key).await.unwrap_or_default();
        self.common.explained(session, error, &Map::new(), &row, true).await
    }
}
