//! A table as a collection of the query language.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use aquifer_protocol::case::snake_identifier;
use aquifer_query::collection::{ComputedValue, Field};
use aquifer_query::{Collection, FieldType};

use crate::rows::SelectionCache;
use crate::rows::time_digits::{MICROSECONDS, TimeDigits};
use crate::schema::exposed_table::{ChildCount, ComputedSource, ExposedTable, Formula};
use crate::schema::model::{Key, PostgresRead, Store, Table, TextIndex};
use crate::schema::names::Words;
use crate::schema::relationship::Relationship;
use crate::schema::table_sample::SampleCache;
use crate::settings::Settings;
use crate::statement::{Fragment, Name};

/// Maximum number of child counts.
const MAX_CHILDREN: usize = 16;

/// Columns that identify a row to people.
const DESCRIPTIVE_COLUMNS: &[&str] =
    &["name", "title", "subject", "label", "full_name", "display_name", "email", "username"];

/// Columns that hold the creation time of a row.
const CREATION_COLUMNS: &[&str] =
    &["created_at", "created", "created_on", "creation_date", "date_created", "inserted_at", "placed_at", "opened_at"];

/// A reference to the table from another one.
pub(super) struct IncomingReference<'a> {
    pub(super) relationship: &'a Relationship,
    /// The names of the other table's rows.
    pub(super) words: &'a Words,
    pub(super) table: Name,
    /// The referring columns, quoted.
    pub(super) columns: Vec<Name>,
}

pub(super) fn expose_table(
    mut table: Table,
    words: Words,
    settings: &Settings,
    incoming: &[IncomingReference<'_>],
) -> ExposedTable {
    let table_settings = settings.table(table.schema.as_deref(), &table.name);
    if let Some(description) = table_settings.and_then(|table_settings| table_settings.description.as_deref()) {
        table.comment = Some(description.into());
    }
    let fields: Vec<Field> = table
        .columns
        .iter()
        .map(|column| Field {
            name: column.name.clone(),
            field_type: column.field_type.clone(),
            nullable: column.nullable,
            description: column.comment.clone(),
        })
        .collect();
    let key = match &table.key {
        Key::Columns(_) => table.key_columns().map(|column| column.name.clone()).collect(),
        // The hidden key is not a field, but is part of every order.
        Key::Hidden(_) | Key::None => vec![Arc::from("(row)")],
    };
    let sources = computed(&table, settings, incoming);
    let presets: BTreeMap<Arc<str>, Vec<Arc<str>>> = table_settings
        .map(|table_settings| {
            let field_names = |names: &[String]| -> Vec<Arc<str>> {
                names.iter().filter_map(|name| table.column(name)).map(|column| column.name.clone()).collect()
            };
            table_settings.presets.iter().map(|(name, fields)| (name.as_str().into(), field_names(fields))).collect()
        })
        .unwrap_or_default();
    let mut presets = presets;
    presets.entry("minimal".into()).or_insert_with(|| minimal(&table));
    let collection = Collection {
        name: format!("{}/{}", settings.name, words.plural).into(),
        fields,
        computed: sources
            .iter()
            .map(|(source, described)| ComputedValue {
                name: source.name.clone(),
                field_type: source.field_type.clone(),
                description: Some(described.words.as_str().into()),
                filterable: described.filterable,
                sortable: described.sortable,
            })
            .collect(),
        key,
        text: text(&table),
        presets,
        pages: settings.pages,
        open: false,
        versions: true,
        references: Vec::new(),
    };
    let computed = sources.into_iter().map(|(source, _)| source).collect();
    let label = match table.schema.as_deref() {
        Some(schema) if schema != settings.first_schema() => table.full_name().into(),
        _ => table.name.clone(),
    };
    ExposedTable {
        table,
        words,
        label,
        collection,
        computed,
        references: Vec::new(),
        selections: SelectionCache::default(),
        whole: OnceLock::new(),
        generic_shapes: OnceLock::new(),
        sample: SampleCache::default(),
    }
}

/// The fields that identify a row to the database and to people: the key and a name or title; otherwise the first text
/// that is never NULL; otherwise an enumeration such as a status.
fn minimal(table: &Table) -> Vec<Arc<str>> {
    let named = DESCRIPTIVE_COLUMNS.iter().find_map(|name| table.column(name));
    let text = || table.columns.iter().find(|column| column.field_type == FieldType::Text && !column.nullable);
    let word = || table.columns.iter().find(|column| matches!(column.field_type, FieldType::Enum(_)));
    let any = || table.columns.iter().find(|column| column.field_type == FieldType::Text);
    let telling = named.or_else(text).or_else(word).or_else(any).map(|column| &column.name);
    let is_key = |name: &Arc<str>| table.key_columns().any(|column| column.name == *name);
    let names = table.columns.iter().map(|column| &column.name);
    let chosen: Vec<Arc<str>> = names.filter(|name| is_key(name) || telling == Some(name)).cloned().collect();
    // If nothing identifies a row, all fields do.
    if chosen.is_empty() { table.columns.iter().map(|column| column.name.clone()).collect() } else { chosen }
}

/// The columns searched as free text, the most descriptive first.
fn text(table: &Table) -> Vec<Arc<str>> {
    let of_index = match &table.index {
        Some(TextIndex::Fts5 { columns, .. } | TextIndex::Vector { columns, .. }) => columns.as_slice(),
        _ => &[],
    };
    let mut text: Vec<Arc<str>> = table
        .columns
        .iter()
        .filter(|column| {
            let readable = match &column.store {
                Store::Sqlite(_) => true,
                Store::Postgres(store) => store.read == PostgresRead::Text,
            };
            column.field_type == FieldType::Text
                && readable
                && (of_index.is_empty() || of_index.contains(&column.sql_name))
        })
        .map(|column| column.name.clone())
        .collect();
    text.sort_by_key(|name| {
        DESCRIPTIVE_COLUMNS.iter().position(|telling| **telling == **name).unwrap_or(DESCRIPTIVE_COLUMNS.len())
    });
    text
}

struct ComputedDescription {
    words: String,
    filterable: bool,
    sortable: bool,
}

fn computed(
    table: &Table,
    settings: &Settings,
    incoming: &[IncomingReference<'_>],
) -> Vec<(ComputedSource, ComputedDescription)> {
    let mut all = Vec::new();
    let table_settings = settings.table(table.schema.as_deref(), &table.name);
    for own in table_settings.map(|table_settings| table_settings.computed.as_slice()).unwrap_or_default() {
        all.push((
            ComputedSource {
                name: own.name.as_str().into(),
                field_type: own.field_type.clone(),
                nullable: true,
                digits: TimeDigits::new(if table.schema.is_some() { MICROSECONDS } else { 0 }),
                formula: Formula::Operator(Fragment::trusted(&own.sql)),
            },
            ComputedDescription {
                words: own.description.clone().unwrap_or_else(|| "Derived from the row".to_owned()),
                filterable: own.filterable,
                sortable: own.sortable,
            },
        ));
    }
    let usable = ComputedDescription { words: String::new(), filterable: true, sortable: true };
    let described = |words: String| ComputedDescription { words, ..usable };
    let birth = CREATION_COLUMNS.iter().find_map(|name| {
        let position = table.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name))?;
        let column = table.columns.get(position)?;
        matches!(column.field_type, FieldType::Time | FieldType::Date).then_some((position, column))
    });
    if let Some((position, column)) = birth {
        all.push((
            ComputedSource {
                name: "age_days".into(),
                field_type: FieldType::Integer,
                nullable: column.nullable,
                digits: TimeDigits::default(),
                formula: Formula::AgeDays(position),
            },
            described(format!("Whole days since '{}'", column.name)),
        ));
    }
    for IncomingReference { relationship, words, table: child, columns } in incoming.iter().take(MAX_CHILDREN) {
        let several = incoming.iter().filter(|other| other.relationship.from == relationship.from).count() > 1;
        let own = relationship.from == relationship.to;
        let name = if several || own {
            format!("{}_by_{}_count", words.plural, snake_identifier(&relationship.columns.join("_")))
        } else {
            format!("{}_count", words.plural)
        };
        all.push((
            ComputedSource {
                name: name.as_str().into(),
                field_type: FieldType::Integer,
                nullable: false,
                digits: TimeDigits::default(),
                formula: Formula::ChildCount(ChildCount {
                    table: child.clone(),
                    index: relationship.from,
                    on: columns
                        .iter()
                        .zip(&relationship.to_columns)
                        .filter_map(|(theirs, ours)| Some((theirs.clone(), table.column(ours)?.quoted.clone())))
                        .collect(),
                }),
            },
            described(format!(
                "Number of {} ({})",
                words.plural,
                relationship.name.rsplit('.').next().unwrap_or_default()
            )),
        ));
    }
    // Configured fields come first, and each name is used once.
    let mut seen: Vec<Arc<str>> = Vec::new();
    all.retain(|(source, _)| {
        let new = !seen.contains(&source.name);
        seen.push(source.name.clone());
        new
    });
    all
}
