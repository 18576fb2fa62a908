//! A table as a collection of the query language.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use aquifer_protocol::case::snake_identifier;
use aquifer_query::collection::{Computed, Field};
use aquifer_query::{Collection, FieldType};

use super::Relationship;
use crate::exposed_table::{Children, ComputedSource, ExposedTable, Formula};
use crate::model::{Key, PostgresRead, Store, Table, TextIndex};
use crate::names::Words;
use crate::settings::Settings;
use crate::sql::selection::Selections;
use crate::statement::{Fragment, Name};

/// More counts of children than this are noise.
const MAX_CHILDREN: usize = 16;

/// Columns that tell people which row it is.
const TELLING: &[&str] = &["name", "title", "subject", "label", "full_name", "display_name", "email", "username"];

/// Columns that say when a row came into being.
const BIRTH: &[&str] =
    &["created_at", "created", "created_on", "creation_date", "date_created", "inserted_at", "placed_at", "opened_at"];

/// A reference to the table from another one.
pub(super) struct Incoming<'a> {
    pub(super) relationship: &'a Relationship,
    /// What rows of the other table are called.
    pub(super) words: &'a Words,
    pub(super) table: Name,
    /// The columns that refer, in SQL.
    pub(super) columns: Vec<Name>,
}

pub(super) fn served(mut table: Table, words: Words, settings: &Settings, incoming: &[Incoming<'_>]) -> ExposedTable {
    let said = settings.table(table.schema.as_deref(), &table.name);
    if let Some(description) = said.and_then(|said| said.description.as_deref()) {
        table.comment = Some(description.into());
    }
    let fields: Vec<Field> = table
        .columns
        .iter()
        .map(|column| Field {
            name: column.name.clone(),
            of: column.of.clone(),
            nullable: column.nullable,
            description: column.comment.clone(),
        })
        .collect();
    let key = match &table.key {
        Key::Columns(_) => table.key_columns().map(|column| column.name.clone()).collect(),
        // It is no field, but has a place in every order.
        Key::Hidden(_) | Key::None => vec![Arc::from("(row)")],
    };
    let sources = computed(&table, settings, incoming);
    let presets: BTreeMap<Arc<str>, Vec<Arc<str>>> = said
        .map(|said| {
            let known = |names: &[String]| -> Vec<Arc<str>> {
                names.iter().filter_map(|name| table.column(name)).map(|column| column.name.clone()).collect()
            };
            said.presets.iter().map(|(name, fields)| (name.as_str().into(), known(fields))).collect()
        })
        .unwrap_or_default();
    let mut presets = presets;
    presets.entry("minimal".into()).or_insert_with(|| minimal(&table));
    let collection = Collection {
        name: format!("{}/{}", settings.name, words.plural).into(),
        fields,
        computed: sources
            .iter()
            .map(|(source, described)| Computed {
                name: source.name.clone(),
                of: source.of.clone(),
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
        selections: Selections::default(),
        whole: OnceLock::new(),
        generic_shapes: OnceLock::new(),
    }
}

/// What tells rows apart, for the database and for people: the key, and a name, a title or the like; else the first text
/// that is always there; else a word such as a status.
fn minimal(table: &Table) -> Vec<Arc<str>> {
    let named = TELLING.iter().find_map(|name| table.column(name));
    let text = || table.columns.iter().find(|column| column.of == FieldType::Text && !column.nullable);
    let word = || table.columns.iter().find(|column| matches!(column.of, FieldType::Word(_)));
    let any = || table.columns.iter().find(|column| column.of == FieldType::Text);
    let telling = named.or_else(text).or_else(word).or_else(any).map(|column| &column.name);
    let is_key = |name: &Arc<str>| table.key_columns().any(|column| column.name == *name);
    let names = table.columns.iter().map(|column| &column.name);
    let chosen: Vec<Arc<str>> = names.filter(|name| is_key(name) || telling == Some(name)).cloned().collect();
    // A table of numbers without a key has nothing that tells; then everything does.
    if chosen.is_empty() { table.columns.iter().map(|column| column.name.clone()).collect() } else { chosen }
}

/// The columns that free text is looked for in, the most telling first.
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
            column.of == FieldType::Text && readable && (of_index.is_empty() || of_index.contains(&column.sql_name))
        })
        .map(|column| column.name.clone())
        .collect();
    text.sort_by_key(|name| TELLING.iter().position(|telling| **telling == **name).unwrap_or(TELLING.len()));
    text
}

struct Described {
    words: String,
    filterable: bool,
    sortable: bool,
}

fn computed(table: &Table, settings: &Settings, incoming: &[Incoming<'_>]) -> Vec<(ComputedSource, Described)> {
    let mut all = Vec::new();
    let said = settings.table(table.schema.as_deref(), &table.name);
    for own in said.map(|said| said.computed.as_slice()).unwrap_or_default() {
        all.push((
            ComputedSource {
                name: own.name.as_str().into(),
                of: own.of.clone(),
                nullable: true,
                formula: Formula::Operator(Fragment::trusted(&own.sql)),
            },
            Described {
                words: own.description.clone().unwrap_or_else(|| "Derived from the row".to_owned()),
                filterable: own.filterable,
                sortable: own.sortable,
            },
        ));
    }
    let usable = Described { words: String::new(), filterable: true, sortable: true };
    let described = |words: String| Described { words, ..usable };
    let birth = BIRTH.iter().find_map(|name| {
        let position = table.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name))?;
        let column = table.columns.get(position)?;
        matches!(column.of, FieldType::Time | FieldType::Date).then_some((position, column))
    });
    if let Some((position, column)) = birth {
        all.push((
            ComputedSource {
                name: "age_days".into(),
                of: FieldType::Integer,
                nullable: column.nullable,
                formula: Formula::AgeDays(position),
            },
            described(format!("Whole days since '{}'", column.name)),
        ));
    }
    for Incoming { relationship, words, table: child, columns } in incoming.iter().take(MAX_CHILDREN) {
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
                of: FieldType::Integer,
                nullable: false,
                formula: Formula::Children(Children {
                    table: child.clone(),
                    index: relationship.from,
                    on: columns
                        .iter()
                        .zip(&relationship.to_columns)
                        .filter_map(|(theirs, ours)| Some((theirs.clone(), table.column(ours)?.quoted.clone())))
                        .collect(),
                }),
            },
            described(format!("How many {} refer to it by '{}'", words.plural, relationship.name)),
        ));
    }
    // The operator's own come first, and names stand once.
    let mut seen: Vec<Arc<str>> = Vec::new();
    all.retain(|(source, _)| {
        let new = !seen.contains(&source.name);
        seen.push(source.name.clone());
        new
    });
    all
}
