//! Traces which table columns the columns of views show. SQLite reports the column behind an output if it is a plain
//! column, and all columns that the view reads; any other output may show all of them.

use std::collections::{BTreeSet, HashSet};
use std::ffi::CStr;
use std::sync::Arc;

use aquifer_protocol::schema::Comparison;
use aquifer_query::FieldType;
use parking_lot::Mutex;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::{Connection, Result};

use super::collation;
use super::full_text::{self, FullTextTable};
use crate::schema::model::{Column, ColumnDerivation, ColumnId, Model};
use crate::schema::sql_definitions::Mentions;
use crate::schema::view_references::add_view_references;
use crate::statement::{Dialect, Name, Statement};

/// The tables and columns that statements read, recorded while they are prepared.
type Reads = Arc<Mutex<BTreeSet<(String, String)>>>;

/// Keywords of compound queries, for which SQLite reports only the columns of the first query.
const COMPOUND: [&str; 3] = ["union", "intersect", "except"];

/// Traces what views show.
pub(super) fn trace(connection: &mut Connection, model: &mut Model) -> Result<()> {
    let definitions = Definitions::read(connection)?;
    if definitions.views.is_empty() {
        return Ok(());
    }
    let reads = Reads::default();
    let noted = reads.clone();
    let note = move |context: AuthContext<'_>| {
        if let AuthAction::Read { table_name, column_name } = context.action {
            let read = (table_name.to_owned(), column_name.to_owned());
            noted.lock().insert(read);
        }
        Authorization::Allow
    };
    connection.authorizer(Some(note))?;
    let traced = trace_all(connection, model, &definitions, &reads);
    connection.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)?;
    traced
}

/// The definitions that matter for views.
struct Definitions {
    views: Vec<(String, Mentions)>,
    /// Ordinary tables.
    tables: HashSet<String>,
    /// Columns of full-text tables. Anything derived from them may show all of them.
    full_text: Vec<ColumnId>,
}

impl Definitions {
    fn read(connection: &Connection) -> Result<Self> {
        let mut definitions = Self { views: Vec::new(), tables: HashSet::new(), full_text: Vec::new() };
        let sql = "SELECT s.name, s.type, coalesce(s.sql, ''), t.type FROM sqlite_schema s
                   JOIN pragma_table_list t ON t.schema = 'main' AND t.name = s.name WHERE s.type IN ('view', 'table')";
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (name, is_view, sql): (String, bool, String) =
                (row.get(0)?, row.get::<_, String>(1)? == "view", row.get(2)?);
            let is_plain = row.get::<_, String>(3)? != "shadow" && !full_text::is_internal(&sql);
            if is_view {
                definitions.views.push((name, Mentions::parse(&sql)));
                continue;
            }
            if let Some(full_text) = FullTextTable::read(connection, &name, &sql)? {
                definitions.full_text.extend(full_text.columns().map(|column| ColumnId::for_sqlite(&name, column)));
            }
            if is_plain {
                definitions.tables.insert(name.to_ascii_lowercase());
            }
        }
        Ok(definitions)
    }

    fn is_view(&self, name: &str) -> bool {
        self.views.iter().any(|(view, _)| view.eq_ignore_ascii_case(name))
    }

    /// Whether it is an ordinary table: not a function, an internal table or a view.
    fn is_table(&self, name: &str) -> bool {
        self.tables.contains(&name.to_ascii_lowercase())
    }
}

/// Traces every view, including excluded ones: a trigger may copy from them.
fn trace_all(connection: &Connection, model: &mut Model, definitions: &Definitions, reads: &Reads) -> Result<()> {
    let mut derivations = Vec::new();
    for table in model.tables.iter_mut().filter(|table| definitions.is_view(&table.name)) {
        derivations.extend(trace_view(connection, &table.name, &mut table.columns, definitions, reads)?);
    }
    for table in model.excluded.iter().filter(|table| definitions.is_view(&table.name)) {
        match trace_view(connection, &table.name, &mut [], definitions, reads) {
            Ok(traced) => derivations.extend(traced),
            // A view of a dropped table cannot be read by anything.
            Err(rusqlite::Error::SqliteFailure(code, _)) if code.extended_code == rusqlite::ffi::SQLITE_ERROR => {}
            Err(error) => return Err(error),
        }
    }
    let is_plain =
        |derivation: &&ColumnDerivation| !derivation.from.is_whole_table() && !derivation.to.is_whole_table();
    let origins: Vec<ColumnDerivation> = derivations.iter().filter(is_plain).cloned().collect();
    add_view_references(model, &origins);
    model.derivations.extend(derivations);
    Ok(())
}

/// Traces the sources of a view, and the comparison of its offered columns.
fn trace_view(
    connection: &Connection,
    view: &str,
    columns: &mut [Column],
    definitions: &Definitions,
    reads: &Reads,
) -> Result<Vec<ColumnDerivation>> {
    let mut derivations = Vec::new();
    reads.lock().clear();
    let mut select = Statement::new(Dialect::Sqlite);
    select.push("SELECT * FROM ").name(&Name::reflected(view));
    let prepared = connection.prepare(select.text())?;
    let read = std::mem::take(&mut *reads.lock());
    // Columns of the view itself and of other views are only intermediate.
    let is_used =
        |other: &str| other.eq_ignore_ascii_case(view) || read.iter().any(|(name, _)| name.eq_ignore_ascii_case(other));
    let is_compound = definitions
        .views
        .iter()
        .filter(|(view, _)| is_used(view))
        .any(|(_, mentions)| COMPOUND.iter().any(|word| mentions.contains(word)));
    let everything = ColumnId::for_sqlite(view, "").whole_table();
    let into = |from: ColumnId| ColumnDerivation { from, to: everything.clone() };
    for (name, column) in read.iter().filter(|(name, _)| !definitions.is_view(name)) {
        derivations.push(into(ColumnId::for_sqlite(name, column)));
        if !definitions.is_table(name) {
            derivations.extend(definitions.full_text.iter().cloned().map(into));
        }
    }
    for index in 0..prepared.column_count() {
        let name = prepared.column_name(index)?;
        let mut column = columns.iter_mut().find(|known| *known.name == *name);
        let text = |part: &CStr| part.to_string_lossy().into_owned();
        // A table-valued function has columns, but is not a table.
        let origin = match prepared.column_metadata(index).ok().flatten() {
            Some((_, table, origin, declared, collation, ..)) if !is_compound && definitions.is_table(&text(table)) => {
                Some((text(table), text(origin), declared.map(text), collation.map(text)))
            }
            _ => None,
        };
        let to = ColumnId::for_sqlite(view, name);
        match origin {
            Some((from_table, from_column, declared, collation)) => {
                let declared = declared.unwrap_or_default();
                if let Some(column) = &mut column {
                    column.comparison = collation::comparison(&column.field_type, &declared, collation.as_deref());
                }
                derivations.push(ColumnDerivation { from: ColumnId::for_sqlite(&from_table, &from_column), to });
            }
            None => {
                // An expression may have any collation.
                if let Some(column) =
                    column.filter(|column| matches!(column.field_type, FieldType::Text | FieldType::Enum(_)))
                {
                    column.comparison = Comparison::Unknown;
                }
                derivations.push(ColumnDerivation { from: everything.clone(), to });
            }
        }
    }
    Ok(derivations)
}
