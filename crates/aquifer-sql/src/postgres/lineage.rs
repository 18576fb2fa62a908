//! Traces which columns show values of other columns, according to PostgreSQL's catalog: generated columns, references,
//! columns of row types, inheritance, partitions, and views.
//!
//! All schemas are traced, offered or not, because a view may read a schema that callers never see. The catalog lists
//! the columns that a view reads, and the column behind each output if it is a plain column; any other output may show
//! everything the view reads. Only views that read hidden columns are analyzed in such detail.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use super::catalog::{query_catalog, text};
use super::session::PostgresSession;
use crate::error::SqlError;
use crate::schema::exposure::{self, Baseline};
use crate::schema::model::{ColumnDerivation, ColumnId, Model, Table};
use crate::schema::view_references::add_view_references;
use crate::settings::Settings;

/// Generated columns and their sources. Newer servers record the dependency on the expression, older ones on the
/// column.
const GENERATED: &str = include_str!("catalog/generated_columns.sql");

/// Inherited columns. Rows of a child are rows of its parent, so each shows values of the other.
const INHERITED: &str = include_str!("catalog/inherited_columns.sql");

/// Columns of row types, also within arrays, domains and ranges: they show every column of that table. Older servers
/// have no multiranges.
const ROWS: &str = include_str!("catalog/row_readers.sql");

/// References, which contain the value they refer to.
const REFERENCES: &str = include_str!("catalog/references.sql");

/// Schemas of PostgreSQL itself.
const SYSTEM_SCHEMAS: [&str; 3] = ["pg_catalog", "information_schema", "pg_toast"];

/// The parsed queries of views.
const QUERIES: &str = include_str!("catalog/view_queries.sql");

/// Views and the columns they read. A view that mentions a whole row or a table as a value (`'users'::regclass`, whose
/// type has the number 2205) reads all columns of its tables. So does one that calls a function whose body the server
/// has parsed.
const VIEWS: &str = include_str!("catalog/views.sql");

/// The relevant members of an output in a parsed query. The name is included because it could look like any other
/// member.
const OUTPUT_MEMBERS: [&str; 5] = [":resno", ":resorigtbl", ":resorigcol", ":resjunk", ":resname"];

/// A view with its columns and sources.
struct View {
    id: i64,
    schema: String,
    name: String,
    columns: Vec<String>,
    reads: BTreeSet<ColumnId>,
    /// The columns it reads, by the numbers of table and column.
    numbers: HashMap<(i64, i64), ColumnId>,
}

impl View {
    fn from_row(row: &Value) -> Self {
        let mut view = Self {
            id: row["id"].as_i64().unwrap_or(0),
            schema: text(row, "schema").to_owned(),
            name: text(row, "name").to_owned(),
            columns: row["columns"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
            reads: BTreeSet::new(),
            numbers: HashMap::new(),
        };
        for read in row["reads"].as_array().into_iter().flatten() {
            let column = ColumnId::for_postgres(text(read, "schema"), text(read, "table"), text(read, "column"));
            if let Some(number) = read["id"].as_i64().zip(read["number"].as_i64()) {
                view.numbers.insert(number, column.clone());
            }
            view.reads.insert(column);
        }
        view
    }

    fn column(&self, name: &str) -> ColumnId {
        ColumnId::for_postgres(&self.schema, &self.name, name)
    }

    /// The derivations of this view's columns. Without origins, every output may show everything the view reads.
    fn derivations(&self, origins: &[(i64, i64)]) -> Vec<ColumnDerivation> {
        let everything = self.column("").whole_table();
        let mut derivations: Vec<ColumnDerivation> =
            self.reads.iter().map(|from| ColumnDerivation { from: from.clone(), to: everything.clone() }).collect();
        for (index, name) in self.columns.iter().enumerate() {
            let origin = origins.get(index).and_then(|origin| self.numbers.get(origin));
            derivations.push(ColumnDerivation { from: origin.unwrap_or(&everything).clone(), to: self.column(name) });
        }
        derivations
    }

    /// The outputs that are plain columns, each with that column.
    fn plain_derivations(&self, origins: &[(i64, i64)]) -> Vec<ColumnDerivation> {
        let outputs = self.columns.iter().zip(origins);
        let plain = outputs.filter_map(|(name, origin)| Some((name, self.numbers.get(origin)?)));
        plain.map(|(name, from)| ColumnDerivation { from: from.clone(), to: self.column(name) }).collect()
    }

    /// Whether the view is offered to callers.
    fn is_in(&self, model: &Model) -> bool {
        model.tables.iter().any(|table| table.matches_name(Some(&self.schema), &self.name))
    }

    /// Whether it reads another view.
    fn reads_view(&self, views: &[View]) -> bool {
        views.iter().any(|other| self.reads.iter().any(|read| read.is_same_table(&other.column(""))))
    }
}

/// Traces which columns show values of others.
pub(super) async fn trace(
    session: &mut PostgresSession<'_>,
    model: &mut Model,
    settings: &Settings,
    baseline: &Baseline,
) -> Result<(), SqlError> {
    let system = SYSTEM_SCHEMAS.map(str::to_owned);
    for row in query_catalog(session, GENERATED, &system).await? {
        let column = |name: &str| ColumnId::for_postgres(text(&row, "schema"), text(&row, "table"), text(&row, name));
        model.derivations.push(ColumnDerivation { from: column("from"), to: column("to") });
    }
    for row in query_catalog(session, INHERITED, &system).await? {
        let child = ColumnId::for_postgres(text(&row, "schema"), text(&row, "table"), text(&row, "column"));
        let parent = ColumnId::for_postgres(text(&row, "to_schema"), text(&row, "to_table"), text(&row, "column"));
        model.derivations.push(ColumnDerivation { from: child.clone(), to: parent.clone() });
        model.derivations.push(ColumnDerivation { from: parent, to: child });
    }
    for query in [ROWS, REFERENCES] {
        for row in query_catalog(session, query, &system).await? {
            let from = ColumnId::for_postgres(text(&row, "from_schema"), text(&row, "from_table"), text(&row, "from"));
            let to = ColumnId::for_postgres(text(&row, "schema"), text(&row, "table"), text(&row, "to"));
            model.derivations.push(ColumnDerivation { from, to });
        }
    }
    let views: Vec<View> = query_catalog(session, VIEWS, &system).await?.iter().map(View::from_row).collect();
    let coarse: Vec<ColumnDerivation> = views.iter().flat_map(|view| view.derivations(&[])).collect();
    let worth_hiding = exposure::possibly_hidden_columns(model, settings, baseline, &coarse);
    let referring = referring_columns(model);
    let may_refer = |view: &View| view.is_in(model) && (view.reads_view(&views) || !view.reads.is_disjoint(&referring));
    let shows_hidden = |view: &View| !view.reads.is_disjoint(&worth_hiding);
    let of_interest: Vec<&View> = views.iter().filter(|view| shows_hidden(view) || may_refer(view)).collect();
    if of_interest.is_empty() {
        return Ok(());
    }
    let ids: Vec<String> = of_interest.iter().map(|view| view.id.to_string()).collect();
    let queries = query_catalog(session, QUERIES, &ids).await?;
    let mut plain = Vec::new();
    for view in of_interest {
        let query = queries.iter().find(|row| row["id"].as_i64() == Some(view.id));
        let origins = query.and_then(|row| origins(text(row, "query"), view.columns.len())).unwrap_or_default();
        plain.extend(view.plain_derivations(&origins));
        if shows_hidden(view) {
            model.derivations.extend(view.derivations(&origins));
        }
    }
    add_view_references(model, &plain);
    Ok(())
}

/// The columns by which tables refer to others.
fn referring_columns(model: &Model) -> BTreeSet<ColumnId> {
    let columns = |table: &'_ Table| -> Vec<ColumnId> {
        let names = table.foreign.iter().flat_map(|foreign| &foreign.columns);
        names.map(|name| table.column_id(name)).collect()
    };
    model.tables.iter().flat_map(columns).collect()
}

/// The table and column of each output of a parsed query, by number; zeros for any other expression. `None` if the
/// query is not understood.
///
/// Outputs of the query itself are two levels deep; those of nested queries are deeper.
fn origins(query: &str, columns: usize) -> Option<Vec<(i64, i64)>> {
    let mut origins = Vec::new();
    let mut depth = 0_usize;
    let mut is_escaped = false;
    // The last member name at that depth, and the current output.
    let (mut output, mut member, mut word): (Option<[i64; 5]>, usize, String) = (None, 0, String::new());
    for character in query.chars() {
        if is_escaped {
            is_escaped = false;
            word.push(character);
            continue;
        }
        match character {
            '\\' => {
                is_escaped = true;
                word.push(character);
            }
            '{' | '}' | '(' | ')' | ' ' => {
                if depth == 2 && word == "{TARGETENTRY" {
                    output = Some([0; 5]);
                } else if let (2, Some(output)) = (depth, &mut output) {
                    match output.get_mut(member.wrapping_sub(1)) {
                        _ if word.is_empty() => {}
                        Some(value) => {
                            *value = if word == "true" { 1 } else { word.parse().unwrap_or(0) };
                            member = 0;
                        }
                        None => {
                            let position = OUTPUT_MEMBERS.iter().position(|member| *member == word);
                            member = position.map_or(0, |position| position + 1);
                        }
                    }
                }
                word.clear();
                match character {
                    '{' => {
                        depth += 1;
                        word.push('{');
                    }
                    '}' => {
                        if let (2, Some([number, table, column, is_junk, _])) = (depth, output)
                            && is_junk == 0
                        {
                            origins.push((number, table, column));
                        }
                        if depth == 2 {
                            (output, member) = (None, 0);
                        }
                        depth = depth.checked_sub(1)?;
                    }
                    _ => {}
                }
            }
            character => word.push(character),
        }
    }
    origins.sort_unstable();
    // One output for each column, in order; otherwise the tree is not as expected.
    let is_complete = origins.len() == columns
        && origins.iter().zip(1..).all(|((number, _, _), expected): (&(i64, i64, i64), i64)| *number == expected);
    is_complete.then(|| origins.into_iter().map(|(_, table, column)| (table, column)).collect())
}
