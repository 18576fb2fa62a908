//! Where values of one column can be seen in another, as far as PostgreSQL's catalog tells: generated columns, tables
//! that inherit from others, and views.
//!
//! What a view reads stands in the catalog. Which of it an output shows, the server says when the view's query is
//! prepared, where the output is a column and nothing else; any other output may show everything the view reads. Only
//! views that read something worth hiding are looked into so closely.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use super::Talk;
use super::reflect::{ask, text};
use crate::exposure;
use crate::model::{ColumnId, Flow, Model};
use crate::settings::Settings;
use crate::trouble::Trouble;

/// Generated columns and what they are made of. Newer servers tell it of the expression, older ones of the column.
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
    WHERE a.attgenerated <> '' AND n.nspname = ANY(";
const GENERATED_END: &str = "::text[])";

/// Columns that a table has from another. Rows of the one are seen through the other, so values flow both ways.
const INHERITED: &str = "
    SELECT json_build_object('schema', n.nspname, 'table', c.relname, 'column', a.attname,
        'to_schema', pn.nspname, 'to_table', pc.relname)::text
    FROM pg_inherits i
    JOIN pg_class c ON c.oid = i.inhrelid AND NOT c.relispartition
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_class pc ON pc.oid = i.inhparent
    JOIN pg_namespace pn ON pn.oid = pc.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND a.attinhcount > 0
    JOIN pg_attribute pa ON pa.attrelid = pc.oid AND pa.attname = a.attname AND NOT pa.attisdropped
    WHERE n.nspname = ANY(";
const INHERITED_END: &str = "::text[])";

/// Views, and the columns they read. One that mentions a whole row reads all columns of whatever it is from.
const VIEWS: &str = "
    SELECT json_build_object('id', c.oid::int8, 'schema', n.nspname, 'name', c.relname,
        'definition', pg_get_viewdef(c.oid),
        'columns', (SELECT json_agg(a.attname ORDER BY a.attnum) FROM pg_attribute a
                    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
        'reads', (SELECT json_agg(DISTINCT jsonb_build_object('id', o.oid::int8, 'schema', m.nspname, 'table', o.relname,
                      'column', a.attname, 'number', a.attnum))
                  FROM pg_depend d
                  JOIN pg_class o ON o.oid = d.refobjid AND o.oid <> c.oid
                  JOIN pg_namespace m ON m.oid = o.relnamespace
                  JOIN pg_attribute a ON a.attrelid = o.oid AND a.attnum > 0 AND NOT a.attisdropped
                      AND (a.attnum = d.refobjsubid OR w.has_rows)
                  WHERE d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_class'::regclass))::text
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_rewrite r ON r.ev_class = c.oid AND r.ev_type = '1'
    CROSS JOIN LATERAL (SELECT position(':varattno 0 ' IN r.ev_action::text) > 0 AS has_rows) w
    WHERE c.relkind IN ('v', 'm') AND n.nspname = ANY(";
const VIEWS_END: &str = "::text[])";

/// A view: its columns, what it reads, and the query it stands for.
struct View {
    schema: String,
    name: String,
    columns: Vec<String>,
    reads: BTreeSet<ColumnId>,
    /// What it reads, by the table's and the column's number.
    numbers: HashMap<(u32, i16), ColumnId>,
    definition: String,
}

impl View {
    fn of(row: &Value) -> Self {
        let mut view = Self {
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
            definition: text(row, "definition").to_owned(),
        };
        for read in row["reads"].as_array().into_iter().flatten() {
            let column = ColumnId::of_postgres(text(read, "schema"), text(read, "table"), text(read, "column"));
            let table = read["id"].as_u64().and_then(|id| u32::try_from(id).ok());
            let number = read["number"].as_i64().and_then(|number| i16::try_from(number).ok());
            if let Some(number) = table.zip(number) {
                view.numbers.insert(number, column.clone());
            }
            view.reads.insert(column);
        }
        view
    }

    fn column(&self, name: &str) -> ColumnId {
        ColumnId::of_postgres(&self.schema, &self.name, name)
    }

    /// The flows into this view. Without origins every output may show everything the view reads.
    fn flows(&self, origins: &[Option<(u32, i16)>]) -> Vec<Flow> {
        let everything = self.column("").everything_in();
        let mut flows: Vec<Flow> =
            self.reads.iter().map(|from| Flow { from: from.clone(), to: everything.clone() }).collect();
        for (index, name) in self.columns.iter().enumerate() {
            let origin = origins.get(index).and_then(|origin| self.numbers.get(origin.as_ref()?));
            flows.push(Flow { from: origin.unwrap_or(&everything).clone(), to: self.column(name) });
        }
        flows
    }
}

/// Finds out which columns show values of others.
pub(super) async fn trace(
    talk: &mut Talk<'_>,
    model: &mut Model,
    settings: &Settings,
    schemas: &[String],
) -> Result<(), Trouble> {
    for row in ask(talk, GENERATED, GENERATED_END, schemas).await? {
        let column = |name: &str| ColumnId::of_postgres(text(&row, "schema"), text(&row, "table"), text(&row, name));
        model.flows.push(Flow { from: column("from"), to: column("to") });
    }
    for row in ask(talk, INHERITED, INHERITED_END, schemas).await? {
        let child = ColumnId::of_postgres(text(&row, "schema"), text(&row, "table"), text(&row, "column"));
        let parent = ColumnId::of_postgres(text(&row, "to_schema"), text(&row, "to_table"), text(&row, "column"));
        model.flows.push(Flow { from: child.clone(), to: parent.clone() });
        model.flows.push(Flow { from: parent, to: child });
    }
    let views: Vec<View> = ask(talk, VIEWS, VIEWS_END, schemas).await?.iter().map(View::of).collect();
    let coarse: Vec<Flow> = views.iter().flat_map(|view| view.flows(&[])).collect();
    let worth_hiding = exposure::perhaps_withheld(model, settings, &coarse);
    for view in &views {
        if view.reads.is_disjoint(&worth_hiding) {
            continue;
        }
        // Whoever may read a view need not know the tables behind it. Then all is possible.
        let origins = talk.origins(&view.definition).await.unwrap_or_default();
        model.flows.extend(view.flows(&origins));
    }
    Ok(())
}
