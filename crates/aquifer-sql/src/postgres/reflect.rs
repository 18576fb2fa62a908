//! Reads the schema of a PostgreSQL database, as visible to the role. The number of catalog queries does not depend on
//! the number of tables.

use std::collections::HashMap;
use std::sync::Arc;

use aquifer_protocol::schema::Comparison;
use aquifer_query::FieldType;
use serde_json::Value;

use super::catalog::{flag, query_catalog, text, texts};
use super::effects::Effects;
use super::lineage;
use super::session::PostgresSession;
use crate::error::SqlError;
use crate::schema::column_defaults::ColumnDefault;
use crate::schema::column_rules::ColumnRules;
use crate::schema::exposure::{self, Baseline};
use crate::schema::model::{
    ChangeRule, CheckConstraint, Column, ColumnId, DryRunSupport, ExcludedTable, ForeignKey, Key, Model, OnDelete,
    OpaqueKey, PostgresRead, PostgresStore, Store, Table, TablePermissions, TextIndex, UniqueConstraint,
    WithheldColumns,
};
use crate::schema::sql_definitions;
use crate::schema::time_digits::{MICROSECONDS, TimeDigits};
use crate::settings::{Settings, TableFilter};
use crate::statement::{Dialect, Fragment, Name, Statement};

/// Readable tables and views. Partitions are accessed through their parent; objects of extensions are skipped.
const RELATIONS: &str = "
    SELECT json_build_object('id', c.oid::int8, 'schema', n.nspname, 'name', c.relname, 'kind', c.relkind,
        'comment', obj_description(c.oid, 'pg_class'), 'select', has_table_privilege(c.oid, 'SELECT'),
        'opaque_keys', (SELECT json_agg(json_build_object('name', x.relname, 'columns', (
                SELECT json_agg(DISTINCT a.attname) FROM pg_depend d JOIN pg_attribute a ON a.attrelid = c.oid
                    AND a.attnum > 0 AND (a.attnum = d.refobjsubid OR d.refobjsubid = 0 AND d.deptype = 'n')
                WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = c.oid
                    AND (d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
                         OR d.classid = 'pg_constraint'::regclass AND d.objid IN (
                             SELECT k.oid FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.conrelid = c.oid)))))
            FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid WHERE i.indrelid = c.oid AND (i.indisexclusion
                OR i.indisunique AND (i.indpred IS NOT NULL OR i.indexprs IS NOT NULL))),
        'change_rules', (SELECT json_agg(json_build_object('name', x.name, 'text', x.text)) FROM (
            SELECT t.tgname, concat_ws(' ', pg_get_triggerdef(t.oid), p.prosrc)
            FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
            WHERE t.tgrelid = c.oid AND NOT t.tgisinternal AND t.tgenabled <> 'D'
            UNION ALL
            SELECT p.polname, concat_ws(' ', pg_get_expr(p.polqual, c.oid), pg_get_expr(p.polwithcheck, c.oid))
            FROM pg_policy p WHERE p.polrelid = c.oid AND c.relrowsecurity AND p.polcmd <> 'r') x (name, text)),
        'hashes', current_setting('server_version_num')::int >= 140000,
        'insert', has_table_privilege(c.oid, 'INSERT') OR has_any_column_privilege(c.oid, 'INSERT'),
        'update', has_table_privilege(c.oid, 'UPDATE') OR has_any_column_privilege(c.oid, 'UPDATE'),
        'delete', has_table_privilege(c.oid, 'DELETE'),
        'inherits', (WITH RECURSIVE above AS (
                SELECT i.inhparent FROM pg_inherits i WHERE i.inhrelid = c.oid
                UNION SELECT i.inhparent FROM above a JOIN pg_inherits i ON i.inhrelid = a.inhparent)
            SELECT json_agg(json_build_object('schema', pn.nspname, 'name', p.relname))
            FROM above a JOIN pg_class p ON p.oid = a.inhparent JOIN pg_namespace pn ON pn.oid = p.relnamespace))::text
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = ANY(";
const RELATIONS_END: &str = "::text[]) AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
        AND has_schema_privilege(n.oid, 'USAGE')
        AND (has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'SELECT'))
        AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
    ORDER BY n.nspname, c.relname";

/// Columns of those with their types; domains count as their base type, at any depth.
const COLUMNS: &str = "
    WITH RECURSIVE chain AS (
        SELECT t.oid AS outside, t.oid AS domain, t.typbasetype AS base, t.typtypmod AS modifier, t.typnotnull AS required,
            t.typdefault AS filled
        FROM pg_type t WHERE t.typtype = 'd'
        UNION ALL
        SELECT c.outside, t.oid, t.typbasetype, greatest(c.modifier, t.typtypmod), c.required OR t.typnotnull,
            coalesce(c.filled, t.typdefault)
        FROM chain c JOIN pg_type t ON t.oid = c.base AND t.typtype = 'd'),
    made AS (SELECT c.* FROM chain c JOIN pg_type t ON t.oid = c.base AND t.typtype <> 'd')
    SELECT json_build_object('id', a.attrelid::int8, 'number', a.attnum, 'name', a.attname,
        'type', coalesce(b.typname, t.typname), 'kind', coalesce(b.typtype, t.typtype),
        'category', coalesce(b.typcategory, t.typcategory),
        'cast', format_type(coalesce(b.oid, t.oid), -1), 'whole', format_type(a.atttypid, a.atttypmod),
        'element', e.typname, 'element_kind', e.typtype, 'modifier', coalesce(m.modifier, a.atttypmod),
        'required', a.attnotnull OR coalesce(m.required, false),
        'default', a.atthasdef OR a.attidentity <> '' OR m.filled IS NOT NULL,
        'default_expression', CASE WHEN a.attgenerated = '' THEN coalesce(
            (SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum),
            m.filled) END,
        'rules', (SELECT json_agg(json_build_object('name', k.conname, 'rule', pg_get_constraintdef(k.oid)))
                  FROM chain c JOIN pg_constraint k ON k.contypid = c.domain WHERE c.outside = t.oid),
        'generated', a.attgenerated <> '' OR a.attidentity = 'a',
        'deterministic', coalesce((SELECT l.collisdeterministic FROM pg_collation l WHERE l.oid = a.attcollation), true),
        'comment', col_description(a.attrelid, a.attnum),
        'select', has_column_privilege(a.attrelid, a.attnum, 'SELECT'),
        'insert', has_column_privilege(a.attrelid, a.attnum, 'INSERT'),
        'update', has_column_privilege(a.attrelid, a.attnum, 'UPDATE'),
        'words', (SELECT json_agg(l.enumlabel ORDER BY l.enumsortorder) FROM pg_enum l
                  WHERE l.enumtypid = coalesce(b.oid, t.oid)))::text
    FROM pg_attribute a
    JOIN pg_type t ON t.oid = a.atttypid
    LEFT JOIN made m ON m.outside = t.oid
    LEFT JOIN pg_type b ON b.oid = m.base
    LEFT JOIN pg_type e ON coalesce(b.typcategory, t.typcategory) = 'A' AND e.oid = coalesce(b.typelem, t.typelem)
    JOIN pg_class c ON c.oid = a.attrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = ANY(";
const COLUMNS_END: &str = "::text[]) AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
        AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY a.attrelid, a.attnum";

const CONSTRAINTS: &str = "
    SELECT json_build_object('id', k.conrelid::int8, 'name', k.conname, 'kind', k.contype, 'columns', k.conkey,
        'to', k.confrelid::int8, 'to_columns', k.confkey, 'on_delete', k.confdeltype,
        'rule', CASE WHEN k.contype = 'c' THEN pg_get_constraintdef(k.oid) END,
        'expression', CASE WHEN k.contype = 'c' THEN pg_get_expr(k.conbin, k.conrelid) END)::text
    FROM pg_constraint k
    JOIN pg_class c ON c.oid = k.conrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = ANY(";
const CONSTRAINTS_END: &str = "::text[]) AND NOT c.relispartition AND k.contype IN ('p', 'u', 'f', 'c', 'x')
    ORDER BY k.conrelid, k.contype, k.conname";

/// Full-text indexes with the columns of their words, and unique indexes without a constraint.
const INDEXES: &str = "
    SELECT json_build_object('id', i.indrelid::int8, 'name', x.relname, 'unique', i.indisunique,
        'columns', (i.indkey::int2[])[0:i.indnkeyatts - 1], 'has_expressions', i.indexprs IS NOT NULL,
        'text', m.amname IN ('gin', 'gist') AND o.opcintype = 'tsvector'::regtype,
        'expression', CASE WHEN i.indkey[0] = 0 THEN pg_get_indexdef(i.indexrelid, 1, true) END,
        'vector', (SELECT a.attname FROM pg_attribute a WHERE a.attrelid = i.indrelid AND a.attnum = i.indkey[0]),
        'made', (SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d
                 WHERE d.adrelid = i.indrelid AND d.adnum = i.indkey[0]),
        'is_made', (SELECT a.attgenerated <> '' FROM pg_attribute a
                    WHERE a.attrelid = i.indrelid AND a.attnum = i.indkey[0]),
        'whole', position(':varattno 0 ' IN coalesce(i.indexprs::text, '')) > 0,
        'over', (SELECT json_agg(DISTINCT a.attname) FROM pg_depend d
                 JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
                 WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = i.indrelid
                 AND (d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
                      OR d.classid = 'pg_attrdef'::regclass AND d.objid IN (SELECT f.oid FROM pg_attrdef f
                          WHERE f.adrelid = i.indrelid AND f.adnum = i.indkey[0]))),
        'select', NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
                 AND d.refclassid = 'pg_class'::regclass AND d.refobjid = i.indrelid AND d.refobjsubid > 0
                 AND NOT has_column_privilege(i.indrelid, d.refobjsubid::int2, 'SELECT')))::text
    FROM pg_index i
    JOIN pg_opclass o ON o.oid = i.indclass[0]
    JOIN pg_class x ON x.oid = i.indexrelid
    JOIN pg_am m ON m.oid = x.relam
    JOIN pg_class c ON c.oid = i.indrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = ANY(";
const INDEXES_END: &str = "::text[]) AND NOT c.relispartition AND i.indpred IS NULL AND i.indisvalid
        AND (m.amname IN ('gin', 'gist') OR i.indisunique)
    ORDER BY i.indrelid, x.relname";

/// Tables by qualified name, in any schema. Partitions are accessed through their parent.
const NAMED_TABLES: &str = "
    SELECT json_build_object('schema', n.nspname, 'name', c.relname,
        'columns', (SELECT json_agg(a.attname) FROM pg_attribute a
                    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped))::text
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND n.nspname || '.' || c.relname = ANY(";
const NAMED_TABLES_END: &str = "::text[])";

pub(super) async fn reflect_model(
    session: &mut PostgresSession<'_>,
    settings: &Settings,
    baseline: &Baseline,
) -> Result<Model, SqlError> {
    let schemas = settings.offered_schemas();
    let filter = TableFilter::new(settings, |_| {});
    let relations = query_catalog(session, RELATIONS, RELATIONS_END, &schemas).await?;
    let columns = by_table(query_catalog(session, COLUMNS, COLUMNS_END, &schemas).await?);
    let constraints = by_table(query_catalog(session, CONSTRAINTS, CONSTRAINTS_END, &schemas).await?);
    let indexes = by_table(query_catalog(session, INDEXES, INDEXES_END, &schemas).await?);
    let names: HashMap<i64, (&str, &str)> =
        relations.iter().map(|row| (id(row), (text(row, "schema"), text(row, "name")))).collect();
    let numbers = |table: i64| -> HashMap<i64, &str> {
        let all = columns.get(&table).map(Vec::as_slice).unwrap_or_default();
        all.iter().map(|row| (row["number"].as_i64().unwrap_or(0), text(row, "name"))).collect()
    };
    // A read-only source has no dry runs.
    let effects = match settings.read_only {
        true => Effects::default(),
        false => Effects::read(session, &schemas).await?,
    };
    let mut tables = Vec::new();
    // In the order of the schemas, so that tables of the first schema get the plain names.
    for schema in &schemas {
        for row in relations.iter().filter(|row| text(row, "schema") == schema) {
            if !filter.admits(Some(schema), text(row, "name")) {
                continue;
            }
            let of = |all: &HashMap<i64, Vec<Value>>| all.get(&id(row)).cloned().unwrap_or_default();
            let relation =
                RelationRows { row, columns: of(&columns), constraints: of(&constraints), indexes: of(&indexes) };
            let table = relation.table(settings, &names, &numbers);
            tables.extend(table.map(|table| Table { dry_run: effects.dry_run(id(row)), ..table }));
        }
    }
    let excluded = excluded(session, settings, &filter, &schemas).await?;
    let mut model = Model { tables, excluded, ..Model::default() };
    lineage::trace(session, &mut model, settings, baseline).await?;
    Ok(model)
}

/// Tables with hidden columns that are excluded or in schemas that are not offered: views may show them.
async fn excluded(
    session: &mut PostgresSession<'_>,
    settings: &Settings,
    filter: &TableFilter<'_>,
    schemas: &[String],
) -> Result<Vec<ExcludedTable>, SqlError> {
    let mut names: Vec<String> = Vec::new();
    for (name, _) in settings
        .tables
        .iter()
        .filter(|(_, table_settings)| !(table_settings.hide.is_empty() && table_settings.show.is_empty()))
    {
        names.push(name.clone());
        names.extend(schemas.iter().map(|schema| format!("{schema}.{name}")));
    }
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let mut rows = query_catalog(session, NAMED_TABLES, NAMED_TABLES_END, &names).await?;
    let is_offered = |row: &Value| {
        let (schema, name) = (text(row, "schema"), text(row, "name"));
        schemas.iter().any(|known| known == schema) && filter.admits(Some(schema), name)
    };
    rows.retain(|row| !is_offered(row));
    let table = |row: &Value| {
        let columns = row["columns"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let columns = columns.map(Arc::from).collect();
        ExcludedTable { schema: Some(text(row, "schema").into()), name: text(row, "name").into(), columns }
    };
    Ok(rows.iter().map(table).collect())
}

fn by_table(rows: Vec<Value>) -> HashMap<i64, Vec<Value>> {
    let mut by_table: HashMap<i64, Vec<Value>> = HashMap::new();
    for row in rows {
        by_table.entry(id(&row)).or_default().push(row);
    }
    by_table
}

fn id(row: &Value) -> i64 {
    row["id"].as_i64().unwrap_or(0)
}

/// The catalog rows of one table.
struct RelationRows<'a> {
    row: &'a Value,
    columns: Vec<Value>,
    constraints: Vec<Value>,
    indexes: Vec<Value>,
}

impl RelationRows<'_> {
    fn table<'n>(
        &self,
        settings: &Settings,
        names: &HashMap<i64, (&str, &str)>,
        numbers: &dyn Fn(i64) -> HashMap<i64, &'n str>,
    ) -> Option<Table> {
        let (schema, name) = (text(self.row, "schema"), text(self.row, "name"));
        let own = numbers(id(self.row));
        let named = |list: &Value, of: &HashMap<i64, &str>| -> Vec<Arc<str>> {
            let numbers = list.as_array().into_iter().flatten().filter_map(Value::as_i64);
            numbers.filter_map(|number| of.get(&number).map(|name| Arc::from(*name))).collect()
        };
        let of_kind = |kind: &'static str| self.constraints.iter().filter(move |row| text(row, "kind") == kind);
        let mut checks: Vec<CheckConstraint> = of_kind("c")
            .map(|row| CheckConstraint {
                name: text(row, "name").into(),
                columns: named(&row["columns"], &own),
                expression: row["expression"].as_str().map(Fragment::trusted),
            })
            .collect();
        // A rule of a domain applies to every column of the domain.
        for column in &self.columns {
            for rule in column["rules"].as_array().into_iter().flatten() {
                let (rule, name): (&str, Arc<str>) = (text(rule, "name"), text(column, "name").into());
                match checks.iter_mut().find(|check| &*check.name == rule) {
                    Some(check) => check.columns.push(name),
                    None => checks.push(CheckConstraint { name: rule.into(), columns: vec![name], expression: None }),
                }
            }
        }
        let words_of = |column: &Value| -> Vec<String> {
            let name = text(column, "name");
            let of_table = of_kind("c")
                .filter(|row| matches!(named(&row["columns"], &own).as_slice(), [only] if &**only == name))
                .map(|row| sql_definitions::quoted_texts(text(row, "rule")));
            let of_domain = column["rules"].as_array().into_iter().flatten();
            let of_domain = of_domain.map(|row| sql_definitions::quoted_texts(text(row, "rule")));
            of_table.chain(of_domain).find(|words| !words.is_empty()).unwrap_or_default()
        };
        let columns: Vec<Column> = self
            .columns
            .iter()
            // Columns that only serve an index are not shown.
            .filter(|row| is_shown(row))
            .map(|row| {
                let name = text(row, "name");
                let of_table = of_kind("c").filter_map(|row| checked_expression(text(row, "rule")));
                let of_domain = row["rules"].as_array().into_iter().flatten();
                let of_domain = of_domain.filter_map(|row| checked_expression(text(row, "rule")));
                let rules = ColumnRules::from_checks(of_table, |named| named == name);
                // Constraints of a domain call the value `VALUE`.
                let rules = rules.merge(ColumnRules::from_checks(of_domain, |named| named == "VALUE"));
                column(row, words_of(row), rules)
            })
            .collect();
        let position = |name: &str| columns.iter().position(|column| &*column.name == name);
        let visible = |names: &[Arc<str>]| names.iter().map(|name| position(name)).collect::<Option<Vec<usize>>>();
        let may_name_rows = |column: &Column| exposure::may_name_rows(settings, Some(schema), name, column);
        let required = |positions: &[usize]| {
            let mut all = positions.iter().filter_map(|position| columns.get(*position));
            all.all(|column| !column.nullable && may_name_rows(column))
        };
        let constraint = |row: &Value| UniqueConstraint {
            name: text(row, "name").into(),
            columns: named(&row["columns"], &own),
            compares_alike: true,
        };
        let mut unique: Vec<UniqueConstraint> =
            of_kind("p").chain(of_kind("u")).chain(of_kind("x")).map(constraint).collect();
        for row in self.indexes.iter().filter(|row| flag(row, "unique") && !flag(row, "has_expressions")) {
            if !unique.iter().any(|known| *known.name == *text(row, "name")) {
                unique.push(constraint(row));
            }
        }
        let table_settings: Vec<Arc<str>> = settings
            .table(Some(schema), name)
            .map(|table_settings| table_settings.key.iter().map(|name| name.as_str().into()).collect())
            .unwrap_or_default();
        let kind = text(self.row, "kind");
        let is_secret = |column: &Column| exposure::is_secret_key(settings, Some(schema), name, column);
        let primary = of_kind("p").next().map(|row| named(&row["columns"], &own)).and_then(|names| visible(&names));
        let primary = primary.filter(|positions| !positions.iter().filter_map(|at| columns.get(*at)).any(is_secret));
        let exclusion = |unique: &&UniqueConstraint| !of_kind("x").any(|row| *unique.name == *text(row, "name"));
        let other = || {
            let all = unique.iter().filter(exclusion).filter(|unique| !unique.columns.is_empty());
            let mut keys: Vec<Vec<usize>> = all.filter_map(|unique| visible(&unique.columns)).collect();
            keys.retain(|positions| required(positions));
            keys.sort_by_key(|positions| (positions.len(), positions.clone()));
            keys.into_iter().next()
        };
        let key = match primary
            .or_else(other)
            .or_else(|| visible(&table_settings).filter(|table_settings| !table_settings.is_empty()))
        {
            Some(positions) => Key::Columns(positions),
            // The physical position identifies a row as long as the row is not moved.
            None if (kind == "r" || kind == "m") && flag(self.row, "select") => Key::Hidden(Fragment::trusted("ctid")),
            None => Key::None,
        };
        let foreign = of_kind("f")
            .filter_map(|row| {
                let to = row["to"].as_i64()?;
                let (to_schema, to_table) = names.get(&to)?;
                Some(ForeignKey {
                    name: Some(text(row, "name").into()),
                    columns: named(&row["columns"], &own),
                    to_schema: Some((*to_schema).into()),
                    to_table: (*to_table).into(),
                    to_columns: named(&row["to_columns"], &numbers(to)),
                    on_delete: match text(row, "on_delete") {
                        "c" => OnDelete::Cascade,
                        "n" | "d" => OnDelete::Clear,
                        _ => OnDelete::Refuse,
                    },
                })
            })
            .collect();
        if columns.is_empty() {
            return None;
        }
        let writable = matches!(kind, "r" | "p" | "f") && !settings.read_only;
        let may = |what: &str| writable && flag(self.row, what);
        // Callers cannot set a column that they cannot see.
        let needs_hidden = self
            .columns
            .iter()
            .any(|row| !is_shown(row) && flag(row, "required") && !flag(row, "default") && !flag(row, "generated"));
        Some(Table {
            schema: Some(schema.into()),
            name: name.into(),
            quoted: Name::qualified(schema, name),
            comment: self.row["comment"].as_str().map(Arc::from),
            index: self.indexes.iter().find_map(|row| self.text_index(row)),
            columns,
            key,
            has_rowid_key: false,
            primary_key: Vec::new(),
            key_fallback: None,
            unique,
            checks,
            foreign,
            inherits: self.row["inherits"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|parent| (text(parent, "schema").into(), text(parent, "name").into()))
                .collect(),
            may: TablePermissions {
                insert: may("insert") && !needs_hidden,
                update: may("update"),
                delete: may("delete"),
            },
            is_view: matches!(text(self.row, "kind"), "v" | "m"),
            hashes: flag(self.row, "hashes"),
            resolves_conflicts: false,
            opaque_keys: self.row["opaque_keys"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|key| OpaqueKey {
                    name: text(key, "name").into(),
                    columns: texts(&key["columns"]).into_iter().map(Arc::from).collect(),
                })
                .collect(),
            change_rules: self.row["change_rules"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|rule| ChangeRule { name: text(rule, "name").into(), text: text(rule, "text").to_owned() })
                .collect(),
            unlisted: self.columns.iter().filter(|row| !is_shown(row)).map(|row| text(row, "name").into()).collect(),
            withheld: WithheldColumns::default(),
            dry_run: DryRunSupport::default(),
        })
    }

    /// A full-text index over a column or expression, and its text search configuration.
    fn text_index(&self, row: &Value) -> Option<TextIndex> {
        if !flag(row, "text") || !flag(row, "select") {
            return None;
        }
        let expression = row["expression"].as_str();
        let (vector, made) = match (row["vector"].as_str(), expression) {
            (Some(column), _) => {
                let mut statement = Statement::new(Dialect::Postgres);
                statement.push("t.").name(&Name::reflected(column));
                (Fragment::trusted(statement.text()), row["made"].as_str().unwrap_or_default())
            }
            (None, Some(expression)) => (Fragment::trusted(expression), expression),
            _ => return None,
        };
        // `to_tsvector('english'::regconfig, …)`; without a configuration it is the database's default.
        let named = made.split_once("to_tsvector('").and_then(|(_, rest)| rest.split_once("'::regconfig"));
        let configuration = match named {
            Some((name, _)) => format!("'{name}'::regconfig"),
            None => "get_current_ts_config()".to_owned(),
        };
        let over: Vec<&str> = row["over"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let columns = over.iter().filter(|name| Some(**name) != row["vector"].as_str()).map(|name| Arc::from(*name));
        let columns: Vec<Arc<str>> = columns.collect();
        // A column filled by a trigger, or a function of the whole row, may contain words of any column.
        let is_known = !flag(row, "whole") && (row["vector"].is_null() || flag(row, "is_made"));
        let (schema, table) = (text(self.row, "schema"), text(self.row, "name"));
        let sources: Vec<ColumnId> = if is_known {
            over.iter().map(|name| ColumnId::for_postgres(schema, table, name)).collect()
        } else {
            self.columns.iter().map(|column| ColumnId::for_postgres(schema, table, text(column, "name"))).collect()
        };
        let configuration = Fragment::trusted(&configuration);
        Some(TextIndex::Vector { vector, configuration, columns, sources })
    }
}

/// Whether callers see the column. Columns that only serve an index are not shown.
fn is_shown(row: &Value) -> bool {
    flag(row, "select") && text(row, "type") != "tsvector"
}

/// The expression of a check, from its definition `CHECK ((x > 0)) NOT VALID`. A constraint that is not valid for all
/// rows still applies to every change.
fn checked_expression(definition: &str) -> Option<&str> {
    let mut expression = definition.strip_prefix("CHECK ")?;
    while let Some(shorter) = [" NOT VALID", " NO INHERIT"].iter().find_map(|suffix| expression.strip_suffix(suffix)) {
        expression = shorter;
    }
    (!expression.ends_with(" NOT ENFORCED")).then_some(expression)
}

fn column(row: &Value, words: Vec<String>, rules: ColumnRules) -> Column {
    let labels: Vec<Arc<str>> =
        row["words"].as_array().into_iter().flatten().filter_map(Value::as_str).map(Arc::from).collect();
    let (mut of, read) = match (text(row, "kind"), text(row, "category")) {
        ("e", _) => (FieldType::Enum(labels.into()), PostgresRead::Word),
        (_, "A") => {
            let (element, read) = field_type_of(text(row, "element"));
            // Types compared as text have no known elements, and bytes in arrays are not shown in base64.
            let unknown = matches!(
                read,
                PostgresRead::AsText | PostgresRead::Native | PostgresRead::MadeJson | PostgresRead::Bytes
            );
            let element = (!unknown).then(|| Box::new(element));
            (FieldType::List(element), PostgresRead::MadeJson)
        }
        ("c" | "r" | "m", _) => (FieldType::Text, PostgresRead::AsText),
        _ => field_type_of(text(row, "type")),
    };
    let words = if words.is_empty() { rules.words.clone() } else { words };
    if of == FieldType::Text && read == PostgresRead::Text && !words.is_empty() {
        of = FieldType::Enum(words.iter().map(|word| word.as_str().into()).collect());
    }
    let range = match text(row, "type") {
        "int2" => Some((f64::from(i16::MIN), f64::from(i16::MAX))),
        "int4" => Some((f64::from(i32::MIN), f64::from(i32::MAX))),
        "numeric" => row["modifier"].as_i64().and_then(numeric_range),
        _ => None,
    };
    let limited = matches!(text(row, "type"), "varchar" | "bpchar");
    // The modifier is four more than the number of characters.
    let length = row["modifier"].as_i64().filter(|_| limited).and_then(|modifier| u64::try_from(modifier - 4).ok());
    let name = text(row, "name");
    Column {
        name: name.into(),
        sql_name: name.into(),
        quoted: Name::reflected(name),
        of: of.clone(),
        is_guessed: false,
        store: Store::Postgres(PostgresStore {
            cast: Fragment::trusted(text(row, "cast")),
            whole: Fragment::trusted(text(row, "whole")),
            read,
        }),
        nullable: !flag(row, "required"),
        has_default: flag(row, "default"),
        generated: flag(row, "generated"),
        comment: row["comment"].as_str().map(Arc::from),
        length,
        range,
        rules,
        default: row["default_expression"].as_str().and_then(|expression| ColumnDefault::parse(expression, &of)),
        may_insert: flag(row, "insert"),
        may_update: flag(row, "update"),
        comparison: comparison(row, read),
        may_have_index: true,
        digits: time_digits(row),
    }
}

/// The digits after the second that a time has: `timestamptz(3)` has three. Without a number there are six.
fn time_digits(row: &Value) -> TimeDigits {
    let declared = row["modifier"].as_i64().and_then(|modifier| u8::try_from(modifier).ok());
    let is_time = matches!(text(row, "type"), "timestamp" | "timestamptz");
    TimeDigits::new(declared.filter(|digits| is_time && *digits <= MICROSECONDS).unwrap_or(MICROSECONDS))
}

/// How values that callers see as text are compared. For a list, how its elements are.
fn comparison(row: &Value, read: PostgresRead) -> Comparison {
    let (of, read) = match text(row, "category") {
        "A" if text(row, "element_kind") == "e" => (text(row, "element"), PostgresRead::Word),
        "A" => (text(row, "element"), field_type_of(text(row, "element")).1),
        _ => (text(row, "type"), read),
    };
    match of {
        "citext" => Comparison::IgnoreCase,
        "bpchar" => Comparison::IgnoreTrailingBlanks,
        "uuid" => Comparison::Uuid,
        _ if !flag(row, "deterministic") => Comparison::Unknown,
        // The server silently truncates it to 63 bytes.
        "name" => Comparison::Opaque,
        // Bytes in an array are not written in base64, and the server accepts `a`, `\x61` and `\141` for the same byte.
        _ if text(row, "category") == "A" && read == PostgresRead::Bytes => Comparison::Opaque,
        // `10.0.0.1` and `10.0.0.1/32` are the same address: such types have their own equality.
        _ if matches!(read, PostgresRead::Native | PostgresRead::AsText) => Comparison::Opaque,
        _ => Comparison::Exact,
    }
}

/// The exclusive bounds of `numeric(8, 2)`. The modifier contains the precision and the scale, which may be negative.
fn numeric_range(modifier: i64) -> Option<(f64, f64)> {
    let modifier = modifier.checked_sub(4).filter(|modifier| *modifier >= 0)?;
    let (all, fraction) = ((modifier >> 16) & 0xffff, ((modifier & 0x7ff) ^ 1024) - 1024);
    let limit = 10_f64.powi(i32::try_from(all - fraction).ok()?);
    Some((-limit, limit))
}

fn field_type_of(name: &str) -> (FieldType, PostgresRead) {
    match name {
        "int2" | "int4" | "int8" => (FieldType::Integer, PostgresRead::Integer),
        "float4" | "float8" => (FieldType::Number, PostgresRead::Float),
        "numeric" => (FieldType::Number, PostgresRead::Decimal),
        "bool" => (FieldType::Boolean, PostgresRead::Boolean),
        "text" | "varchar" | "bpchar" | "name" | "citext" => (FieldType::Text, PostgresRead::Text),
        "timestamptz" | "timestamp" => (FieldType::Time, PostgresRead::Time),
        "date" => (FieldType::Date, PostgresRead::Date),
        "uuid" => (FieldType::Uuid, PostgresRead::Uuid),
        "bytea" => (FieldType::Bytes, PostgresRead::Bytes),
        "json" => (FieldType::Json, PostgresRead::Json),
        "jsonb" => (FieldType::Json, PostgresRead::Jsonb),
        // Written as text, but 9 hours are less than 10.
        "interval" | "money" | "inet" | "cidr" | "time" | "timetz" | "oid" | "pg_lsn" => {
            (FieldType::Text, PostgresRead::Native)
        }
        _ => (FieldType::Text, PostgresRead::AsText),
    }
}
