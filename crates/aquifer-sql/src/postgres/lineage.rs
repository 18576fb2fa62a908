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
const GENERATED: &str = "
    SELECT json_build_object('schema', n.nspname, 'table', c.relname, 'from', s.attname, 'to', a.attname)::text
    FROM pg_attribute a
    JOIN pg_class c ON c.oid = a.attrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    JOIN pg_depend p ON p.refclassid = 'pg_class'::regclass AND p.refobjid = c.oid
        AND p.refobjsubid > 0 AND p.refobjsubid <> a.attnum
        AND (p.classid = 'pg_attrdef'::regclass AND p.objid = d.oid
             OR p.classid = 'pg_class'::regclass AND p.objid = c.oid AND p.objsubid = a.attnum)
    JOIN pg_attribute s ON s.attrelid = c.oid AND s.attnum = p.refobjsubid
    WHERE a.attgenerated <> '' AND n.nspname <> ALL(";

/// Inherited columns. Rows of a child are rows of its parent, so each shows values of the other.
const INHERITED: &str = "
    SELECT json_build_object('schema', n.nspname, 'table', c.relname, 'column', a.attname,
        'to_schema', pn.nspname, 'to_table', pc.relname)::text
    FROM pg_inherits i
    JOIN pg_class c ON c.oid = i.inhrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_class pc ON pc.oid = i.inhparent AND pc.relkind IN ('r', 'p', 'f')
    JOIN pg_namespace pn ON pn.oid = pc.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND a.attinhcount > 0
    JOIN pg_attribute pa ON pa.attrelid = pc.oid AND pa.attname = a.attname AND NOT pa.attisdropped
    WHERE n.nspname <> ALL(";

/// Columns of row types, also within arrays, domains and ranges: they show every column of that table. Older servers
/// have no multiranges.
const ROWS: &str = "
    WITH RECURSIVE held AS (
        SELECT a.attrelid AS relation, a.attname AS name, a.atttypid AS type
        FROM pg_attribute a WHERE a.attnum > 0 AND NOT a.attisdropped AND a.atttypid >= 16384
        UNION
        SELECT h.relation, h.name, x.type FROM held h JOIN pg_type t ON t.oid = h.type
        CROSS JOIN LATERAL (
            SELECT t.typbasetype UNION ALL SELECT t.typelem UNION ALL
            SELECT g.rngsubtype FROM pg_range g
            WHERE t.oid = g.rngtypid OR t.oid = (to_jsonb(g) ->> 'rngmultitypid')::oid) x (type)
        WHERE x.type >= 16384)
    SELECT json_build_object('schema', n.nspname, 'table', c.relname, 'to', h.name,
        'from_schema', m.nspname, 'from_table', o.relname, 'from', a.attname)::text
    FROM held h
    JOIN pg_type t ON t.oid = h.type AND t.typtype = 'c'
    JOIN pg_class o ON o.oid = t.typrelid
    JOIN pg_namespace m ON m.oid = o.relnamespace
    JOIN pg_attribute a ON a.attrelid = o.oid AND a.attnum > 0 AND NOT a.attisdropped
    JOIN pg_class c ON c.oid = h.relation
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname <> ALL(";

/// References, which contain the value they refer to.
const REFERENCES: &str = "
    SELECT json_build_object('schema', n.nspname, 'table', c.relname, 'to', a.attname,
        'from_schema', m.nspname, 'from_table', o.relname, 'from', b.attname)::text
    FROM pg_constraint k
    CROSS JOIN LATERAL unnest(k.conkey, k.confkey) x (own, other)
    JOIN pg_class c ON c.oid = k.conrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_class o ON o.oid = k.confrelid
    JOIN pg_namespace m ON m.oid = o.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = x.own
    JOIN pg_attribute b ON b.attrelid = o.oid AND b.attnum = x.other
    WHERE k.contype = 'f' AND n.nspname <> ALL(";

/// The end of each of these queries.
const END: &str = "::text[])";

/// Schemas of PostgreSQL itself.
const SYSTEM_SCHEMAS: [&str; 3] = ["pg_catalog", "information_schema", "pg_toast"];

/// The parsed queries of views.
const QUERIES: &str = "
    SELECT json_build_object('id', r.ev_class::int8, 'query', r.ev_action::text)::text
    FROM pg_rewrite r WHERE r.ev_type = '1' AND r.ev_class = ANY(";
const QUERIES_END: &str = "::text[]::oid[])";

/// Views and the columns they read. A view that mentions a whole row or a table as a value (`'users'::regclass`, whose
/// type has the number 2205) reads all columns of its tables. So does one that calls a function whose body the server
/// has parsed.
const VIEWS: &str = "
    SELECT json_build_object('id', c.oid::int8, 'schema', n.nspname, 'name', c.relname,
        'columns', (SELECT json_agg(a.attname ORDER BY a.attnum) FROM pg_attribute a
                    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
        'reads', (WITH RECURSIVE called AS (
                SELECT d.refobjid AS id FROM pg_depend d WHERE d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
                    AND d.refclassid = 'pg_proc'::regclass
                UNION
                SELECT d.refobjid FROM called f JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = f.id
                    AND d.refclassid = 'pg_proc'::regclass),
            named AS (
                SELECT d.refobjid AS relation, d.refobjsubid AS number, w.has_rows FROM pg_depend d
                WHERE d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_class'::regclass
                UNION ALL
                SELECT d.refobjid, d.refobjsubid, true FROM called f JOIN pg_depend d
                ON d.classid = 'pg_proc'::regclass AND d.objid = f.id AND d.refclassid = 'pg_class'::regclass)
            SELECT json_agg(DISTINCT jsonb_build_object('id', o.oid::int8, 'schema', m.nspname, 'table', o.relname,
                'column', a.attname, 'number', a.attnum))
            FROM named d
            JOIN pg_class o ON o.oid = d.relation AND o.oid <> c.oid
            JOIN pg_namespace m ON m.oid = o.relnamespace
            JOIN pg_attribute a ON a.attrelid = o.oid AND a.attnum > 0 AND NOT a.attisdropped
                AND (a.attnum = d.number OR d.has_rows)))::text
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_rewrite r ON r.ev_class = c.oid AND r.ev_type = '1'
    CROSS JOIN LATERAL (SELECT r.ev_action::text ~ ':(varattno 0|consttype 2205) ' AS has_rows) w
    WHERE c.relkind IN ('v', 'm') AND n.nspname <> ALL(";

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
    for row in query_catalog(session, GENERATED, END, &system).await? {
        let column = |name: &str| ColumnId::for_postgres(text(&row, "schema"), text(&row, "table"), text(&row, name));
        model.derivations.push(ColumnDerivation { from: column("from"), to: column("to") });
    }
    for row in query_catalog(session, INHERITED, END, &system).await? {
        let child = ColumnId::for_postgres(text(&row, "schema"), text(&row, "table"), text(&row, "column"));
        let parent = ColumnId::for_postgres(text(&row, "to_schema"), text(&row, "to_table"), text(&row, "column"));
        model.derivations.push(ColumnDerivation { from: child.clone(), to: parent.clone() });
        model.derivations.push(ColumnDerivation { from: parent, to: child });
    }
    for question in [ROWS, REFERENCES] {
        for row in query_catalog(session, question, END, &system).await? {
            let from = ColumnId::for_postgres(text(&row, "from_schema"), text(&row, "from_table"), text(&row, "from"));
            let to = ColumnId::for_postgres(text(&row, "schema"), text(&row, "table"), text(&row, "to"));
            model.derivations.push(ColumnDerivation { from, to });
        }
    }
    let views: Vec<View> = query_catalog(session, VIEWS, END, &system).await?.iter().map(View::from_row).collect();
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
    let queries = query_catalog(session, QUERIES, QUERIES_END, &ids).await?;
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
