//! Rehearsals: dry runs of single changes that are limited in time and describe the effects of the change.

use aquifer_engine::rehearsal::{AffectedRows, ChangeKind, FieldChange, Preview, RowFate};
use serde_json::{Map, Value};

use super::cascade::{DeletionEffects, MAX_COUNTED_ROWS, MAX_LISTED, row_count};
use super::change::{ChangeContext, Create, Delete, Update};
use super::labels::labels;
use crate::error::{Constraint, SqlError, Violation};
use crate::schema::model::OnDelete;
use crate::work::session::{Session, TransactionEnd, Work, WorkError};

/// A change that can be rehearsed.
pub(crate) trait Rehearsable: Work {
    /// Tries the change in a transaction that is rolled back, and describes its effects.
    fn preview<S: Session>(&self, session: &mut S) -> impl Future<Output = Result<Preview, WorkError>> + Send;
}

/// A rehearsal of a change. The change is a dry run.
pub(crate) struct Rehearsal<W>(pub(crate) W);

impl<W: Rehearsable> Work for Rehearsal<W> {
    type Output = Preview;

    fn needs_snapshot(&self) -> bool {
        self.0.needs_snapshot()
    }

    fn is_dry_run(&self) -> bool {
        true
    }

    fn is_rehearsal(&self) -> bool {
        true
    }

    async fn run<S: Session>(&self, session: &mut S) -> Result<(Preview, TransactionEnd), WorkError> {
        Ok((self.0.preview(session).await?, TransactionEnd::Rollback))
    }

    async fn explain<S: Session>(&self, session: &mut S, error: SqlError) -> SqlError {
        self.0.explain(session, error).await
    }
}

impl Rehearsable for Create {
    async fn preview<S: Session>(&self, session: &mut S) -> Result<Preview, WorkError> {
        let (row, _) = self.try_out(session).await.map_err(|error| match error {
            WorkError::Sql(SqlError::Violation(violation)) if self.is_about_prediction(&violation) => {
                SqlError::Busy { reason: "another session has taken the predicted key" }.into()
            }
            error => error,
        })?;
        let mut preview = self.context.preview(ChangeKind::Create, &[], &row);
        preview.after = self.context.readable(row);
        Ok(preview)
    }
}

impl Rehearsable for Update {
    async fn preview<S: Session>(&self, session: &mut S) -> Result<Preview, WorkError> {
        let Update { context, key, .. } = self;
        let (before, after) = self.try_out(session).await?;
        let mut preview = context.preview(ChangeKind::Update, key, &before);
        if context.is_own_table_readable() {
            let changed = super::change::changed_fields(&before, &after);
            let change = |(field, from, to): (&String, &Value, &Value)| FieldChange {
                field: field.clone(),
                from: from.clone(),
                to: to.clone(),
            };
            preview.fields = Some(changed.map(change).collect());
        }
        (preview.before, preview.after) = (context.readable(before), context.readable(after));
        Ok(preview)
    }
}

impl Rehearsable for Delete {
    async fn preview<S: Session>(&self, session: &mut S) -> Result<Preview, WorkError> {
        let Delete { context, key, .. } = self;
        let (_, row) = self.read(session).await?;
        let effects = DeletionEffects::find(context, session, &row, MAX_COUNTED_ROWS).await?;
        // Deleting and restoring that many rows would take long, and lock all of them in the meantime.
        if !effects.is_cut {
            self.remove(session).await?;
            context.check_no_referring_rows(session, &effects).await?;
        }
        let mut preview = context.preview(ChangeKind::Delete, key, &row);
        context.add_effects(&mut preview, &effects);
        preview.before = context.readable(row);
        Ok(preview)
    }
}

impl Create {
    /// Whether a violated constraint concerns a predicted value. Another session may have used the predicted value, so
    /// that the change itself would get another one.
    fn is_about_prediction(&self, violation: &Violation) -> bool {
        let table = &self.context.exposed.table;
        let named = violation.constraint.as_deref().and_then(|name| table.constraint_columns(name));
        let is_violated = |name: &str| {
            violation.columns.iter().any(|column| column == name)
                || named.is_some_and(|columns| columns.iter().any(|column| **column == *name))
        };
        let untestable = table.dry_run.untestable.iter().filter(|column| !self.values.contains_key(&*column.name));
        violation.kind == Constraint::Unique && untestable.into_iter().any(|column| is_violated(&column.name))
    }
}

impl ChangeContext {
    /// The preview of a change, based on the row only.
    fn preview(&self, change: ChangeKind, key: &[Value], row: &Map<String, Value>) -> Preview {
        let names = self.exposed.table.key_columns().map(|column| column.name.to_string());
        Preview {
            change,
            noun: self.exposed.words.singular.clone(),
            key: names.zip(key.iter().cloned()).collect(),
            labels: if self.is_own_table_readable() { labels(&self.exposed, row) } else { Vec::new() },
            ..Preview::default()
        }
    }

    /// The fields of a row, without its version. Empty if the caller may not read it.
    fn readable(&self, mut row: Map<String, Value>) -> Map<String, Value> {
        row.retain(|field, _| self.is_own_table_readable() && !field.starts_with('_'));
        row
    }

    fn add_effects(&self, preview: &mut Preview, effects: &DeletionEffects<'_>) {
        for group in &effects.groups {
            let reference = group.reference;
            match self.tables.get(reference.from).filter(|_| self.is_readable(reference)) {
                None => preview.affects_unreadable = true,
                Some(_) if preview.affected.len() >= MAX_LISTED => preview.more_affected += 1,
                Some(from) => preview.affected.push(AffectedRows {
                    singular: from.words.singular.clone(),
                    plural: from.words.plural.clone(),
                    fields: reference.columns.iter().map(|column| column.to_string()).collect(),
                    count: row_count(group.count, group.is_cut, MAX_COUNTED_ROWS),
                    fate: match reference.on_delete {
                        OnDelete::Cascade => RowFate::Deleted,
                        OnDelete::Clear | OnDelete::Refuse | OnDelete::Nothing => RowFate::Cleared,
                    },
                }),
            }
        }
    }
}
