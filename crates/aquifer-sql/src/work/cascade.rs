//! Counts what deleting a row would affect: rows that refer to it, rows that refer to those, and so on.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::change::ChangeContext;
use super::relationships::{distinct, select_by_values, values_at};
use crate::error::ANOTHER_TABLE;
use crate::schema::model::OnDelete;
use crate::schema::relationship::Relationship;
use crate::sql::scope::Scope;
use crate::work::session::{Session, WorkError};

/// Counting stops at this number of rows.
const MAX_CASCADED_ROWS: usize = 5_000;
/// How many values are looked up in one statement.
const VALUES_PER_STATEMENT: usize = 500;

/// For each relationship, how many rows would be deleted or lose their reference.
pub(super) async fn count_cascaded<S: Session>(
    context: &ChangeContext,
    session: &mut S,
    row: &Map<String, Value>,
) -> Result<Map<String, Value>, WorkError> {
    let mut touched = Map::new();
    let mut deleted: HashSet<String> = identity(context, context.index, row).into_iter().collect();
    let mut total = 0;
    let mut frontier = vec![(context.index, row.clone())];
    while !frontier.is_empty() {
        let mut next = Vec::new();
        for reference in context.references.iter().filter(|known| known.on_delete != OnDelete::Refuse) {
            let parents = frontier.iter().filter(|(table, _)| *table == reference.to);
            let values = distinct(parents.filter_map(|(_, row)| values_at(row, &reference.to_columns)));
            let mut found = Vec::new();
            for chunk in values.chunks(VALUES_PER_STATEMENT) {
                found.extend(referring(context, session, reference, chunk, MAX_CASCADED_ROWS - total).await?);
            }
            let cascades = reference.on_delete == OnDelete::Cascade;
            if cascades {
                // A row is deleted only once, however it was reached.
                found.retain(|row| identity(context, reference.from, row).is_none_or(|row| deleted.insert(row)));
            }
            let count = found.len();
            if count > 0 {
                let fate = if cascades { "deleted" } else { "cleared" };
                let name = if reference.conceals_from { ANOTHER_TABLE } else { &*reference.name };
                let entry = touched.entry(name).or_insert_with(|| json!({}));
                let known = entry[fate].as_u64().unwrap_or(0);
                entry[fate] = (known + count as u64).into();
                total = (total + count).min(MAX_CASCADED_ROWS);
            }
            if cascades {
                next.extend(found.into_iter().map(|row| (reference.from, row)));
            }
        }
        if total >= MAX_CASCADED_ROWS {
            touched.insert("more".to_owned(), true.into());
            break;
        }
        frontier = next;
    }
    Ok(touched)
}

/// The identity of a row, if it has one.
fn identity(context: &ChangeContext, table: usize, row: &Map<String, Value>) -> Option<String> {
    let key: Vec<Arc<str>> = context.tables.get(table)?.table.key_columns().map(|column| column.name.clone()).collect();
    let values = values_at(row, &key).filter(|values| !values.is_empty())?;
    Some(format!("{table} {}", Value::from(values)))
}

/// Rows that refer to any of these values: their keys, and the values that others refer to.
async fn referring<S: Session>(
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
