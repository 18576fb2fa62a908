//! Which columns of tables the columns of views show. SQLite says which column an output of a view is, where it is one and
//! nothing else, and which columns the whole view reads; an output that is anything else may show all of these.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use aquifer_protocol::schema::Comparison;
use aquifer_query::FieldType;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::{Connection, Result};

use super::super::checks::Mentions;
use super::collation;
use crate::model::{ColumnId, Flow, Model};
use crate::statement::{Dialect, Name, Statement};

/// What statements read while they are prepared: tables, and columns of them.
type Reads = Arc<Mutex<BTreeSet<(String, String)>>>;

/// Words that make several queries one, of which SQLite knows the first one's columns only.
const COMPOUND: [&str; 3] = ["union", "intersect", "except"];

/// Finds out what views show.
pub(super) fn trace(connection: &mut Connection, model: &mut Model) -> Result<()> {
    let definitions = definitions(connection)?;
    if definitions.is_empty() {
        return Ok(());
    }
    let reads = Reads::default();
    let noted = reads.clone();
    let note = move |context: AuthContext<'_>| {
        if let AuthAction::Read { table_name, column_name } = context.action {
            let read = (table_name.to_owned(), column_name.to_owned());
            noted.lock().unwrap_or_else(PoisonError::into_inner).insert(read);
        }
        Authorization::Allow
    };
    connection.authorizer(Some(note))?;
    let traced = trace_all(connection, model, &definitions, &reads);
    connection.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)?;
    traced
}

fn definitions(connection: &Connection) -> Result<Vec<(String, Mentions)>> {
    let mut statement = connection.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'view'")?;
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, Mentions::of(&row.get::<_, String>(1)?)));
    statement.query_map([], read)?.collect()
}

fn trace_all(
    connection: &Connection,
    model: &mut Model,
    definitions: &[(String, Mentions)],
    reads: &Reads,
) -> Result<()> {
    let is_view = |name: &str| definitions.iter().any(|(view, _)| view.eq_ignore_ascii_case(name));
    for table in model.tables.iter_mut().filter(|table| is_view(&table.name)) {
        reads.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let mut select = Statement::new(Dialect::Sqlite);
        select.push("SELECT * FROM ").name(&Name::reflected(&table.name));
        let prepared = connection.prepare(select.text())?;
        let read = std::mem::take(&mut *reads.lock().unwrap_or_else(PoisonError::into_inner));
        // Its own columns and those of other views are read on the way to the tables.
        let is_used = |view: &str| {
            view.eq_ignore_ascii_case(&table.name) || read.iter().any(|(name, _)| name.eq_ignore_ascii_case(view))
        };
        let is_compound = definitions
            .iter()
            .filter(|(view, _)| is_used(view))
            .any(|(_, mentions)| COMPOUND.iter().any(|word| mentions.has(word)));
        let all: Vec<ColumnId> = read
            .iter()
            .filter(|(name, column)| !is_view(name) && !column.is_empty())
            .map(|(name, column)| ColumnId::of_sqlite(name, column))
            .collect();
        for index in 0..prepared.column_count() {
            let name = prepared.column_name(index)?;
            let Some(column) = table.columns.iter_mut().find(|known| *known.name == *name) else { continue };
            let origin = match prepared.column_metadata(index)? {
                Some((_, table, origin, declared, collation, ..)) if !is_compound => {
                    let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
                    Some((text(table), text(origin), declared.map(text), collation.map(text)))
                }
                _ => None,
            };
            let to = ColumnId::of_sqlite(&table.name, name);
            match origin {
                Some((from_table, from_column, declared, collation)) => {
                    let declared = declared.unwrap_or_default();
                    column.comparison = collation::comparison(&column.of, &declared, collation.as_deref());
                    model.flows.push(Flow { from: ColumnId::of_sqlite(&from_table, &from_column), to });
                }
                None => {
                    // An expression may have any collation.
                    if matches!(column.of, FieldType::Text | FieldType::Word(_)) {
                        column.comparison = Comparison::Unknown;
                    }
                    model.flows.extend(all.iter().map(|from| Flow { from: from.clone(), to: to.clone() }));
                }
            }
        }
    }
    Ok(())
}
