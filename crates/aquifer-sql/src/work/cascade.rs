//! Finds the rows that deleting a row would affect: rows that refer to it, rows that refer to those, and so on; and the
//! rows that prevent the deletion.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aquifer_engine::rehearsal::RowCount;
use serde_json::{Map, Value, json};

use super::change::ChangeContext;
use super::relationships::{distinct, select_by_values, values_at};
use crate::error::{ANOTHER_TABLE, BlockingRows, ReferringRows};
use crate::schema::model::OnDelete;
use crate::schema::relationship::Relationship;
use crate::sql::scope::Scope;
use crate::work::session::{Session, WorkError};

/// Maximum number of rows that a dry run counts.
const MAX_CASCADED_ROWS: usize = 5_000;
/// Maximum number of rows counted for each reference that prevents a deletion.
pub(super) const MAX_COUNTED_ROWS: usize = 10_000;
/// Maximum number of references that are listed.
pub(super) const MAX_LISTED: usize = 8;
/// Maximum number of values looked up in one statement.
const VALUES_PER_STATEMENT: usize = 500;
/// No further table is counted after this time.
const COUNTING_TIMEOUT: Duration = Duration::from_secs(2);

/// The effects of deleting a row.
pub(super) struct DeletionEffects<'c> {
    pub(super) groups: Vec<AffectedGroup<'c>>,
    /// Whether there are more rows than were counted.
    pub(super) is_cut: bool,
    /// The row and the rows that are deleted with it, with their table and the values that others refer to.
    rows: Vec<(usize, Map<String, Value>)>,
    /// The identities of these rows.
    deleted: HashSet<String>,
}

/// Rows that a reference leads to.
pub(super) struct AffectedGroup<'c> {
    pub(super) reference: &'c Relationship,
    pub(super) count: usize,
    /// Whether there are more.
    pub(super) is_cut: bool,
}

impl<'c> DeletionEffects<'c> {
    /// The effects on the row itself only.
    pub(super) fn of_row(context: &ChangeContext, row: &Map<String, Value>) -> Self {
        let deleted = identity(context, context.index, row).into_iter().collect();
        Self { groups: Vec::new(), is_cut: false, rows: vec![(context.index, row.clone())], deleted }
    }

    /// Follows all references that delete rows or clear their values, up to `max_rows` rows.
    pub(super) async fn find<S: Session>(
        context: &'c ChangeContext,
        session: &mut S,
        row: &Map<String, Value>,
        max_rows: usize,
    ) -> Result<Self, WorkError> {
        let mut effects = Self::of_row(context, row);
        let (mut total, mut level) = (0, 0..effects.rows.len());
        while !level.is_empty() && !effects.is_cut {
            let parents = effects.rows.get(level.clone()).unwrap_or_default().to_vec();
            for reference in context.references.iter().filter(|known| known.on_delete.changes_rows()) {
                let mut referring = referring_rows(context, session, reference, &parents, max_rows - total + 1).await?;
                let cascades = reference.on_delete == OnDelete::Cascade;
                if cascades {
                    // A row is deleted only once, however it was reached.
                    let deleted = &mut effects.deleted;
                    referring
                        .retain(|row| identity(context, reference.from, row).is_none_or(|row| deleted.insert(row)));
                }
                let is_cut = total + referring.len() > max_rows;
                referring.truncate(max_rows - total);
                total += referring.len();
                if !referring.is_empty() || is_cut {
                    effects.add(reference, referring.len(), is_cut);
                }
                if cascades {
                    effects.rows.extend(referring.into_iter().map(|row| (reference.from, row)));
                }
                if is_cut {
                    break;
                }
            }
            level = level.end..effects.rows.len();
        }
        Ok(effects)
    }

    fn add(&mut self, reference: &'c Relationship, count: usize, is_cut: bool) {
        self.is_cut |= is_cut;
        match self.groups.iter_mut().find(|group| std::ptr::eq(group.reference, reference)) {
            Some(group) => {
                group.count += count;
                group.is_cut |= is_cut;
            }
            None => self.groups.push(AffectedGroup { reference, count, is_cut }),
        }
    }

    /// The rows that refer to those that would be deleted, and prevent that. For a changed key, all references count.
    pub(super) async fn find_obstacles<S: Session>(
        &self,
        context: &ChangeContext,
        session: &mut S,
        is_deletion: bool,
    ) -> BlockingRows {
        let mut blocking = BlockingRows { is_deletion, ..BlockingRows::default() };
        let prevents = |known: &&Relationship| match known.on_delete {
            OnDelete::Refuse => true,
            OnDelete::Nothing => false,
            OnDelete::Cascade | OnDelete::Clear => !is_deletion,
        };
        let deadline = Instant::now() + COUNTING_TIMEOUT;
        for reference in context.references.iter().filter(prevents) {
            if Instant::now() > deadline {
                blocking.is_cut = true;
                break;
            }
            let referring = referring_rows(context, session, reference, &self.rows, MAX_COUNTED_ROWS + 1).await;
            // A table that takes too long is not mentioned.
            let Ok(mut referring) = referring else {
                blocking.is_cut = true;
                continue;
            };
            let is_kept = |row: &Map<String, Value>| {
                identity(context, reference.from, row).is_none_or(|row| !self.deleted.contains(&row))
            };
            referring.retain(is_kept);
            match context.tables.get(reference.from).filter(|_| context.is_readable(reference)) {
                _ if referring.is_empty() => {}
                None => blocking.has_unreadable = true,
                Some(_) if blocking.groups.len() >= MAX_LISTED => blocking.more_tables += 1,
                Some(from) => blocking.groups.push(ReferringRows {
                    table: from.words.plural.clone(),
                    fields: reference.columns.iter().map(|column| column.to_string()).collect(),
                    count: row_count(referring.len(), referring.len() > MAX_COUNTED_ROWS, MAX_COUNTED_ROWS),
                }),
            }
        }
        blocking.groups.sort_by_key(|group| std::cmp::Reverse(group.count.at_least()));
        blocking
    }
}

/// A number of rows, of which at most `max_count` were counted.
pub(super) fn row_count(count: usize, is_cut: bool, max_count: usize) -> RowCount {
    let as_u64 = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    if is_cut { RowCount::MoreThan(as_u64(count.min(max_count))) } else { RowCount::Exactly(as_u64(count)) }
}

/// For each relationship, how many rows would be deleted or lose their reference.
pub(super) async fn count_cascaded<'c, S: Session>(
    context: &'c ChangeContext,
    session: &mut S,
    row: &Map<String, Value>,
) -> Result<(Map<String, Value>, DeletionEffects<'c>), WorkError> {
    let effects = DeletionEffects::find(context, session, row, MAX_CASCADED_ROWS).await?;
    let mut touched = Map::new();
    for group in &effects.groups {
        let reference = group.reference;
        let fate = if reference.on_delete == OnDelete::Cascade { "deleted" } else { "cleared" };
        let name = if reference.conceals_from { ANOTHER_TABLE } else { &*reference.name };
        let entry = touched.entry(name).or_insert_with(|| json!({}));
        let counted = entry[fate].as_u64().unwrap_or(0);
        entry[fate] = (counted + group.count as u64).into();
    }
    if effects.is_cut {
        touched.insert("more".to_owned(), true.into());
    }
    Ok((touched, effects))
}

/// The identity of a row, if it has one.
fn identity(context: &ChangeContext, table: usize, row: &Map<String, Value>) -> Option<String> {
    let key: Vec<Arc<str>> = context.tables.get(table)?.table.key_columns().map(|column| column.name.clone()).collect();
    let values = values_at(row, &key).filter(|values| !values.is_empty())?;
    Some(format!("{table} {}", Value::from(values)))
}

/// Rows that refer to any of these rows, up to `max_rows`.
async fn referring_rows<S: Session>(
    context: &ChangeContext,
    session: &mut S,
    reference: &Relationship,
    rows: &[(usize, Map<String, Value>)],
    max_rows: usize,
) -> Result<Vec<Map<String, Value>>, WorkError> {
    let parents = rows.iter().filter(|(table, _)| *table == reference.to);
    let values = distinct(parents.filter_map(|(_, row)| values_at(row, &reference.to_columns)));
    let mut referring = Vec::new();
    for chunk in values.chunks(VALUES_PER_STATEMENT) {
        if referring.len() >= max_rows {
            break;
        }
        referring.extend(select_referring(context, session, reference, chunk, max_rows - referring.len()).await?);
    }
    Ok(referring)
}

/// Rows that refer to any of these values: their keys, and the values that others refer to.
async fn select_referring<S: Session>(
    context: &ChangeContext,
    session: &mut S,
    reference: &Relationship,
    values: &[Vec<Value>],
    max_rows: usize,
) -> Result<Vec<Map<String, Value>>, WorkError> {
    let Some(exposed) = context.tables.get(reference.from) else { return Ok(Vec::new()) };
    let mut columns: Vec<Arc<str>> = exposed.table.key_columns().map(|column| column.name.clone()).collect();
    let referred = context.references.iter().filter(|known| known.to == reference.from);
    for name in referred.flat_map(|known| &known.to_columns).chain(&reference.columns) {
        if !columns.contains(name) {
            columns.push(name.clone());
        }
    }
    let scope = Scope::new(exposed, context.dialect, context.now);
    let (statement, cell_types) = select_by_values(&scope, &columns, &reference.columns, values, max_rows);
    let rows = session.rows(&statement, &cell_types).await?;
    Ok(rows.into_iter().map(|row| columns.iter().map(|name| name.to_string()).zip(row).collect()).collect())
}
