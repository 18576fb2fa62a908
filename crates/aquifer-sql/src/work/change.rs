//! Creates, updates and deletes single rows. A dry run performs the change and rolls it back, so that it fails if the
//! change would; effects that cannot be rolled back are not performed.

use std::collections::HashSet;
use std::sync::Arc;

use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::warning::Warning;
use aquifer_query::FieldType;
use aquifer_query::plan::Path;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::explain::RowVersions;
use super::merge::{Members, merge};
use super::read::{not_found, read_row};
use super::{OperationOutput, cascade};
use crate::error::SqlError;
use crate::rows::RowCollector;
use crate::schema::exposed_table::{ExposedTable, ExposedTables};
use crate::schema::model::UntestableDefault;
use crate::schema::relationship::Relationship;
use crate::sql::scope::Scope;
use crate::sql::write::{self, ChangeStatement, NewValue, ReturnedColumns};
use crate::statement::{Dialect, Fragment};
use crate::work::session::{Session, TransactionEnd, Work, WorkError};

/// The reason if a trigger or a policy prevented a change.
const NOTHING_CHANGED: &str = "a trigger or a policy of the database prevented the change";

/// The context of a change.
pub(crate) struct ChangeContext {
    pub(crate) exposed: Arc<ExposedTable>,
    /// The index of the table.
    pub(crate) index: usize,
    pub(crate) tables: ExposedTables,
    pub(crate) references: Arc<[Relationship]>,
    /// Tables whose rows must not be mentioned, because policy restricts reading them.
    pub(crate) unreadable: HashSet<usize>,
    pub(crate) dialect: Dialect,
    pub(crate) now: Timestamp,
    pub(crate) dry_run: bool,
}

impl ChangeContext {
    pub(super) fn scope(&self) -> Scope<'_> {
        Scope::new(&self.exposed, self.dialect, self.now)
    }

    /// Whether rows of the referring table may be mentioned and counted.
    pub(super) fn is_readable(&self, reference: &Relationship) -> bool {
        !reference.conceals_from && !self.unreadable.contains(&reference.from)
    }

    /// Whether the answer may show the row. It may not if policy restricts listing the table.
    pub(super) fn is_own_table_readable(&self) -> bool {
        !self.unreadable.contains(&self.index)
    }

    /// What may be shown of a row that the caller may not read: its key, and what the caller sent. The database may have
    /// stored something else, such as a merged value.
    fn unread_row(&self, row: &Map<String, Value>, sent: &Map<String, Value>) -> Map<String, Value> {
        let key = self.exposed.table.key_columns().map(|column| &*column.name);
        let key = key.filter_map(|name| Some((name.to_owned(), row.get(name)?.clone())));
        let sent = sent.iter().filter_map(|(name, value)| Some((self.exposed.field_name(name)?, value)));
        key.chain(sent.map(|(name, value)| (name.to_owned(), value.clone()))).collect()
    }

    /// The answer with a row.
    fn row_output(&self, text: Vec<u8>, sent: &Map<String, Value>) -> Result<OperationOutput, SqlError> {
        if self.is_own_table_readable() {
            return OperationOutput::from_json_text(text, Vec::new());
        }
        let row: Map<String, Value> = serde_json::from_slice(&text).unwrap_or_default();
        Ok(OperationOutput::new(Value::Object(self.unread_row(&row, sent)), Vec::new()))
    }

    /// A row in the answer of a dry run.
    fn shown_row(&self, row: Map<String, Value>, sent: &Map<String, Value>) -> Map<String, Value> {
        if self.is_own_table_readable() { row } else { self.unread_row(&row, sent) }
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
            let failure = Failure::new(
                Code::ConflictVersionMismatch,
                format!("Resource '{resource}' has changed since it was read. Read it again, and send its new '_etag'"),
            )
            .detail("resource_type", resource);
            return Err(match self.is_own_table_readable() {
                true => failure.detail("current_etag", version.unwrap_or_default()),
                false => failure,
            }
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

    async fn run<S: Session>(&self, session: &mut S) -> Result<(OperationOutput, TransactionEnd), WorkError> {
        if self.context.dry_run {
            let (row, warnings) = self.try_out(session).await?;
            let row = self.context.shown_row(row, &self.values);
            let data = json!({ "dry_run": true, "would": "create", "after": row });
            return Ok((OperationOutput::new(data, warnings), TransactionEnd::Rollback));
        }
        let row = self.insert(session, &[]).await?;
        Ok((self.context.row_output(row, &self.values)?, TransactionEnd::Commit))
    }

    async fn explain<S: Session>(&self, session: &mut S, error: SqlError) -> SqlError {
        let versions = RowVersions { current: Map::new(), intended: self.values.clone(), is_removed: false };
        self.context.explain_error(session, error, &self.values, &versions).await
    }
}

impl Create {
    /// Inserts the row. The columns in `predicted` get these values.
    async fn insert<S: Session>(
        &self,
        session: &mut S,
        predicted: &[(&UntestableDefault, &Fragment)],
    ) -> Result<Vec<u8>, WorkError> {
        let Create { context, values } = self;
        let assigned = values
            .iter()
            .filter_map(|(name, value)| Some((context.exposed.table.column(name)?, NewValue::Value(value))));
        let change = write::insert(&context.scope(), assigned.collect(), predicted, &context.all_fields());
        Ok(context.apply(session, change).await?.unwrap_or_else(|| b"{}".to_vec()))
    }

    /// Creates the row as a dry run, and returns it.
    pub(super) async fn try_out<S: Session>(
        &self,
        session: &mut S,
    ) -> Result<(Map<String, Value>, Vec<Warning>), WorkError> {
        let Create { context, values } = self;
        let Some(predicted) = context.predicted_defaults(values)? else {
            let warning = context.check_only(session, values).await?;
            return Ok((values.clone(), vec![warning]));
        };
        let row = self.insert(session, &predicted).await?;
        let row: Map<String, Value> = serde_json::from_slice(&row).unwrap_or_default();
        context.check_references(session, &row).await?;
        Ok((row, Vec::new()))
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

    async fn run<S: Session>(&self, session: &mut S) -> Result<(OperationOutput, TransactionEnd), WorkError> {
        if !self.context.dry_run {
            let (_, after) = self.apply(session).await?;
            return Ok((self.context.row_output(after, &self.input)?, TransactionEnd::Commit));
        }
        let (before, after) = self.try_out(session).await?;
        let changes: Map<String, Value> = match self.context.is_own_table_readable() {
            true => changed_fields(&before, &after)
                .map(|(name, from, to)| (name.clone(), json!({ "from": from, "to": to })))
                .collect(),
            // All that were sent: a field that is left out would have had this value before.
            false => {
                let sent = self.context.unread_row(&Map::new(), &self.input);
                sent.into_iter().map(|(name, to)| (name, json!({ "to": to }))).collect()
            }
        };
        let data = json!({ "dry_run": true, "would": "update", "changes": changes });
        Ok((OperationOutput::new(data, Vec::new()), TransactionEnd::Rollback))
    }

    async fn explain<S: Session>(&self, session: &mut S, error: SqlError) -> SqlError {
        let current = self.context.row(session, &self.key).await.unwrap_or_default();
        let mut intended = current.clone();
        intended.extend(self.input.clone());
        let versions = RowVersions { current, intended, is_removed: false };
        self.context.explain_error(session, error, &self.input, &versions).await
    }
}

impl Update {
    /// Updates the row. Returns it before and after the change.
    async fn apply<S: Session>(&self, session: &mut S) -> Result<(Map<String, Value>, Vec<u8>), WorkError> {
        let Update { context, key, input, if_match } = self;
        let (text, before) = context.read_current(session, key, if_match.as_deref(), true).await?;
        if input.is_empty() {
            return Ok((before, text));
        }
        let stored = Members::parse(&text);
        let assigned = input.iter().filter_map(|(name, change)| {
            let column = context.exposed.table.column(name)?;
            let is_merged = column.field_type == FieldType::Json && !change.is_null();
            let stored = || stored.as_ref().and_then(|stored| stored.get(name));
            Some((column, if is_merged { NewValue::Json(merge(stored(), change)) } else { NewValue::Value(change) }))
        });
        let change = write::update(&context.scope(), assigned.collect(), key, &context.all_fields());
        // A trigger or a policy may have prevented it.
        let nothing =
            || SqlError::PermissionDenied { reason: NOTHING_CHANGED, cause: "an update touched no row".to_owned() };
        let after = context.apply(session, change).await?.ok_or_else(nothing)?;
        Ok((before, after))
    }

    /// Updates the row as a dry run. Returns it before and after the change.
    pub(super) async fn try_out<S: Session>(
        &self,
        session: &mut S,
    ) -> Result<(Map<String, Value>, Map<String, Value>), WorkError> {
        let (before, after) = self.apply(session).await?;
        let after: Map<String, Value> = serde_json::from_slice(&after).unwrap_or_default();
        self.context.check_references(session, &after).await?;
        Ok((before, after))
    }
}

/// The fields that differ, with their values before and after.
pub(super) fn changed_fields<'r>(
    before: &'r Map<String, Value>,
    after: &'r Map<String, Value>,
) -> impl Iterator<Item = (&'r String, &'r Value, &'r Value)> {
    // Names that begin with an underscore are not columns.
    let fields = after.iter().filter(|(name, _)| !name.starts_with('_'));
    let pairs = fields.map(|(name, value)| (name, before.get(name).unwrap_or(&Value::Null), value));
    pairs.filter(|(name, from, to)| from != to || !before.contains_key(*name))
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

    async fn run<S: Session>(&self, session: &mut S) -> Result<(OperationOutput, TransactionEnd), WorkError> {
        let (text, row) = self.read(session).await?;
        if !self.context.dry_run {
            self.remove(session).await?;
            return Ok((self.context.row_output(text, &Map::new())?, TransactionEnd::Commit));
        }
        let (also, effects) = cascade::count_cascaded(&self.context, session, &row).await?;
        self.remove(session).await?;
        self.context.check_no_referring_rows(session, &effects).await?;
        let row = self.context.shown_row(row, &Map::new());
        let mut data = json!({ "dry_run": true, "would": "delete", "before": row });
        if let (Some(data), false) = (data.as_object_mut(), also.is_empty()) {
            data.insert("also".to_owned(), Value::Object(also));
        }
        Ok((OperationOutput::new(data, Vec::new()), TransactionEnd::Rollback))
    }

    async fn explain<S: Session>(&self, session: &mut S, error: SqlError) -> SqlError {
        let row = self.context.row(session, &self.key).await.unwrap_or_default();
        let versions = RowVersions { current: row, intended: Map::new(), is_removed: true };
        self.context.explain_error(session, error, &Map::new(), &versions).await
    }
}

impl Delete {
    /// Reads the row that is deleted.
    pub(super) async fn read<S: Session>(&self, session: &mut S) -> Result<(Vec<u8>, Map<String, Value>), WorkError> {
        self.context.read_current(session, &self.key, self.if_match.as_deref(), false).await
    }

    /// Deletes the row.
    pub(super) async fn remove<S: Session>(&self, session: &mut S) -> Result<(), WorkError> {
        if session.execute(&write::delete(&self.context.scope(), &self.key)).await? == 0 {
            let cause = "a delete touched no row".to_owned();
            return Err(SqlError::PermissionDenied {
                reason: "a trigger or a policy of the database prevented the deletion",
                cause,
            }
            .into());
        }
        Ok(())
    }
}
