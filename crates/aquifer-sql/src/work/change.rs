//! Creates, updates and deletes single rows. A dry run performs the change and rolls it back, so that it fails where
//! the change would; what cannot be rolled back is not performed.

use std::sync::Arc;

use aquifer_protocol::error::{Code, Failure};
use aquifer_query::FieldType;
use aquifer_query::plan::Path;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::merge::{Members, merge};
use super::read::{not_found, read_row};
use super::{OperationOutput, cascade};
use crate::error::SqlError;
use crate::rows::RowCollector;
use crate::schema::exposed_table::ExposedTable;
use crate::schema::relationship::Relationship;
use crate::sql::scope::Scope;
use crate::sql::write::{self, ChangeStatement, NewValue, ReturnedColumns};
use crate::statement::Dialect;
use crate::work::session::{Session, Work, WorkError};

/// The reason if a trigger or a policy prevented a change.
const NOTHING_CHANGED: &str = "a trigger or a policy of the database prevented the change";

/// What every change needs.
pub(crate) struct ChangeContext {
    pub(crate) exposed: Arc<ExposedTable>,
    /// The index of the table.
    pub(crate) index: usize,
    pub(crate) tables: Vec<Arc<ExposedTable>>,
    pub(crate) references: Arc<[Relationship]>,
    pub(crate) dialect: Dialect,
    pub(crate) now: Timestamp,
    pub(crate) dry_run: bool,
}

impl ChangeContext {
    pub(super) fn scope(&self) -> Scope<'_> {
        Scope::new(&self.exposed, self.dialect, self.now)
    }

    /// All fields and the version.
    pub(super) fn all_fields(&self) -> Vec<Path> {
        let fields = self.exposed.collection.fields.iter().map(|field| Path::field(&field.name));
        fields.chain([Path::field("_etag")]).collect()
    }

    /// Runs a change and reads the resulting row.
    async fn apply<S: Session>(&self, session: &mut S, change: ChangeStatement) -> Result<Option<Vec<u8>>, WorkError> {
        match change.returns {
            ReturnedColumns::Row(shape) => {
                let mut collector = RowCollector::for_single_row(shape);
                session.fetch(&change.statement, &mut collector).await?;
                Ok(collector.into_single_row())
            }
            ReturnedColumns::Key(cell_types) => {
                let rows = session.rows(&change.statement, &cell_types).await?;
                let Some(key) = rows.into_iter().next() else { return Ok(None) };
                if !write::has_key(&self.exposed.table.key) {
                    return Ok(Some(b"{}".to_vec()));
                }
                read_row(session, &self.scope(), &self.all_fields(), &key, false).await
            }
        }
    }

    /// Reads the row with a key, if its version matches. A lock prevents concurrent changes.
    async fn read_current<S: Session>(
        &self,
        session: &mut S,
        key: &[Value],
        if_match: Option<&str>,
        lock: bool,
    ) -> Result<(Vec<u8>, Map<String, Value>), WorkError> {
        let text = match read_row(session, &self.scope(), &self.all_fields(), key, lock).await? {
            Some(text) => text,
            // A row that may be read but not updated is invisible to a locking query.
            None if lock && read_row(session, &self.scope(), &self.all_fields(), key, false).await?.is_some() => {
                let cause = "an existing row could not be locked".to_owned();
                return Err(SqlError::PermissionDenied { reason: NOTHING_CHANGED, cause }.into());
            }
            None => return Err(not_found(&self.exposed, key).into()),
        };
        let row: Map<String, Value> = serde_json::from_slice(&text)
            .map_err(|error| SqlError::Rejected { message: None, cause: error.to_string() })?;
        let version = row.get("_etag").and_then(Value::as_str);
        if if_match.is_some_and(|wanted| Some(wanted) != version) {
            let resource = self.exposed.words.singular.as_str();
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

/// Creates a row.
pub(crate) struct Create {
    pub(crate) context: ChangeContext,
    /// By column.
    pub(crate) values: Map<String, Value>,
}

impl Work for Create {
    type Output = OperationOutput;

    fn needs_snapshot(&self) -> bool {
        false
    }

    fn is_dry_run(&self) -> bool {
        self.context.dry_run
    }

    async fn run<S: Session>(&self, session: &mut S) -> Result<(OperationOutput, bool), WorkError> {
        let Create { context, values } = self;
        let given = values
            .iter()
            .filter_map(|(name, value)| Some((context.exposed.table.column(name)?, NewValue::Value(value))));
        let predicted = match context.predicted_defaults(values)? {
            Some(predicted) => predicted,
            None => return Ok((context.check_only(session, values).await?, false)),
        };
        let change = write::insert(&context.scope(), given.collect(), &predicted, &context.all_fields());
        let made = context.apply(session, change).await?;
        let row = made.unwrap_or_else(|| b"{}".to_vec());
        if context.dry_run {
            let row: Map<String, Value> = serde_json::from_slice(&row).unwrap_or_default();
            context.check_references(session, &row).await?;
            let data = json!({ "dry_run": true, "would": "create", "after": row });
            return Ok((OperationOutput { data: data.into(), warnings: Vec::new() }, false));
        }
        Ok((OperationOutput::from_json_text(row, Vec::new())?, true))
    }

    async fn explain<S: Session>(&self, session: &mut S, error: SqlError) -> SqlError {
        self.context.explain_error(session, error, &self.values, &self.values, false).await
    }
}

/// Updates a row.
pub(crate) struct Update {
    pub(crate) context: ChangeContext,
    pub(crate) key: Vec<Value>,
    /// By column.
    pub(crate) input: Map<String, Value>,
    pub(crate) if_match: Option<String>,
}

impl Work for Update {
    type Output = OperationOutput;

    fn needs_snapshot(&self) -> bool {
        false
    }

    fn is_dry_run(&self) -> bool {
        self.context.dry_run
    }

    async fn run<S: Session>(&self, session: &mut S) -> Result<(OperationOutput, bool), WorkError> {
        let Update { context, key, input, if_match } = self;
        let (text, before) = context.read_current(session, key, if_match.as_deref(), true).await?;
        let after = if input.is_empty() {
            text
        } else {
            let stored = Members::parse(&text);
            let given = input.iter().filter_map(|(name, change)| {
                let column = context.exposed.table.column(name)?;
                let is_merged = column.of == FieldType::Json && !change.is_null();
                let stored = || stored.as_ref().and_then(|stored| stored.get(name));
                Some((
                    column,
                    if is_merged { NewValue::Json(merge(stored(), change)) } else { NewValue::Value(change) },
                ))
            });
            let change = write::update(&context.scope(), given.collect(), key, &context.all_fields());
            // A trigger or a policy may have prevented it.
            let nothing =
                || SqlError::PermissionDenied { reason: NOTHING_CHANGED, cause: "an update touched no row".to_owned() };
            context.apply(session, change).await?.ok_or_else(nothing)?
        };
        if !context.dry_run {
            return Ok((OperationOutput::from_json_text(after, Vec::new())?, true));
        }
        let after: Map<String, Value> = serde_json::from_slice(&after).unwrap_or_default();
        context.check_references(session, &after).await?;
        let changes: Map<String, Value> = after
            .iter()
            // Names that begin with an underscore are not columns.
            .filter(|(name, value)| !name.starts_with('_') && before.get(*name) != Some(value))
            .map(|(name, value)| (name.clone(), json!({ "from": before.get(name), "to": value })))
            .collect();
        let data = json!({ "dry_run": true, "would": "update", "changes": changes });
        Ok((OperationOutput { data: data.into(), warnings: Vec::new() }, false))
    }

    async fn explain<S: Session>(&self, session: &mut S, error: SqlError) -> SqlError {
        let mut row = self.context.row(session, &self.key).await.unwrap_or_default();
        row.extend(self.input.clone());
        self.context.explain_error(session, error, &self.input, &row, false).await
    }
}

/// Deletes a row.
pub(crate) struct Delete {
    pub(crate) context: ChangeContext,
    pub(crate) key: Vec<Value>,
    pub(crate) if_match: Option<String>,
}

impl Work for Delete {
    type Output = OperationOutput;

    /// A role may be allowed to delete but not to update, and locking requires the permission to update. A snapshot
    /// needs no lock: if the row is changed concurrently, the transaction is rolled back and retried.
    fn needs_snapshot(&self) -> bool {
        true
    }

    fn is_dry_run(&self) -> bool {
        self.context.dry_run
    }

    async fn run<S: Session>(&self, session: &mut S) -> Result<(OperationOutput, bool), WorkError> {
        let Delete { context, key, if_match } = self;
        let (text, row) = context.read_current(session, key, if_match.as_deref(), false).await?;
        let also = if context.dry_run { cascade::count_cascaded(context, session, &row).await? } else { Map::new() };
        if session.execute(&write::delete(&context.scope(), key)).await? == 0 {
            let cause = "a delete touched no row".to_owned();
            return Err(SqlError::PermissionDenied {
                reason: "a trigger or a policy of the database prevented the deletion",
                cause,
            }
            .into());
        }
        if context.dry_run {
            context.check_no_referring_rows(session, &row).await?;
            let mut data = json!({ "dry_run": true, "would": "delete", "before": row });
            if let (Some(data), false) = (data.as_object_mut(), also.is_empty()) {
                data.insert("also".to_owned(), Value::Object(also));
            }
            return Ok((OperationOutput { data: data.into(), warnings: Vec::new() }, false));
        }
        Ok((OperationOutput::from_json_text(text, Vec::new())?, true))
    }

    async fn explain<S: Session>(&self, session: &mut S, error: SqlError) -> SqlError {
        let row = self.context.row(session, &self.key).await.unwrap_or_default();
        self.context.explain_error(session, error, &Map::new(), &row, true).await
    }
}
