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
use crate::rows::time_digits::{MICROSECONDS, TimeDigits};
use crate::schema::column_defaults::ColumnDefault;
use crate::schema::column_rules::ColumnRules;
use crate::schema::exposure::{self, Baseline};
use crate::schema::model::{
    ChangeRule, CheckConstraint, Column, ColumnId, DryRunSupport, ExcludedTable, ForeignKey, Key, Model, OnDelete,
    OpaqueKey, PostgresRead, PostgresStore, Store, Table, TablePermissions, TextIndex, UniqueConstraint,
    WithheldColumns,
};
use crate::schema::sql_definitions;
use crate::settings::{Settings, TableFilter};
use crate::statement::{Dialect, Fragment, Name, Statement};

/// Readable tables and views. Partitions are accessed through their parent; objects of extensions are skipped.
const RELATIONS: &str = include_str!("catalog/relations.sql");

/// Columns of those with their types; domains count as their base type, at any depth.
const COLUMNS: &str = include_str!("catalog/columns.sql");

const CONSTRAINTS: &str = include_str!("catalog/constraints.sql");

/// Full-text indexes with the columns of their words, and unique indexes without a constraint.
const INDEXES: &str = include_str!("catalog/indexes.sql");

/// Tables by qualified name, in any schema. Partitions are accessed through their parent.
const NAMED_TABLES: &str = include_str!("catalog/named_tables.sql");

pub(super) async fn reflect_model(
    session: &mut PostgresSession<'_>,
    settings: &Settings,
    baseline: &Baseline,
) -> Result<Model, SqlError> {
    let schemas = settings.offered_schemas();
    let filter = TableFilter::new(settings, |_| {});
    let relations = query_catalog(session, RELATIONS, &schemas).await?;
    let columns = by_table(query_catalog(session, COLUMNS, &schemas).await?);
    let constraints = by_table(query_catalog(session, CONSTRAINTS, &schemas).await?);
    let indexes = by_table(query_catalog(session, INDEXES, &schemas).await?);
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
            let rows_of = |all: &HashMap<i64, Vec<Value>>| all.get(&id(row)).cloned().unwrap_or_default();
            let relation = RelationRows {
                row,
                columns: rows_of(&columns),
                constraints: rows_of(&constraints),
                indexes: rows_of(&indexes),
            };
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
    let mut rows = query_catalog(session, NAMED_TABLES, &names).await?;
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
        let named = |list: &Value, names: &HashMap<i64, &str>| -> Vec<Arc<str>> {
            let numbers = list.as_array().into_iter().flatten().filter_map(Value::as_i64);
            numbers.filter_map(|number| names.get(&number).map(|name| Arc::from(*name))).collect()
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
    let (mut field_type, read) = match (text(row, "kind"), text(row, "category")) {
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
    if field_type == FieldType::Text && read == PostgresRead::Text && !words.is_empty() {
        field_type = FieldType::Enum(words.iter().map(|word| word.as_str().into()).collect());
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
        field_type: field_type.clone(),
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
        default: row["default_expression"]
            .as_str()
            .and_then(|expression| ColumnDefault::parse(expression, &field_type)),
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
    let (type_name, read) = match text(row, "category") {
        "A" if text(row, "element_kind") == "e" => (text(row, "element"), PostgresRead::Word),
        "A" => (text(row, "element"), field_type_of(text(row, "element")).1),
        _ => (text(row, "type"), read),
    };
    match type_name {
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
