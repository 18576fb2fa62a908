//! References between tables, from the foreign keys that reflection found.

use std::sync::Arc;

use super::collection::IncomingReference;
use crate::schema::model::{Column, Model, Table};
use crate::schema::names;
use crate::schema::relationship::Relationship;
use crate::statement::Name;

/// The references to a table.
pub(super) fn incoming_references<'a>(
    index: usize,
    relationships: &'a [Relationship],
    tables: &[Table],
    words: &'a [names::Words],
) -> Vec<IncomingReference<'a>> {
    let to_table = relationships.iter().filter(|relationship| relationship.to == index);
    let incoming = to_table.filter_map(|relationship| {
        let from = tables.get(relationship.from)?;
        let column = |name: &Arc<str>| from.column(name).map(|column| column.quoted.clone());
        let columns = relationship.columns.iter().map(column).collect::<Option<Vec<Name>>>()?;
        Some(IncomingReference {
            relationship,
            words: words.get(relationship.from)?,
            table: from.quoted.clone(),
            columns,
        })
    });
    incoming.collect()
}

/// Completes references that name no columns: they refer to the primary key.
pub(super) fn complete_references(model: &mut Model) {
    struct Target {
        name: Arc<str>,
        key: Vec<Arc<str>>,
        columns: Vec<Arc<str>>,
    }
    let names = |columns: &mut dyn Iterator<Item = &Column>| columns.map(|column| column.name.clone()).collect();
    let of_sqlite = model.tables.iter().filter(|table| table.schema.is_none());
    let targets: Vec<Target> = of_sqlite
        .map(|table| Target {
            name: table.name.clone(),
            key: table.primary_key.clone(),
            columns: names(&mut table.columns.iter()),
        })
        .collect();
    for foreign in model.tables.iter_mut().flat_map(|table| &mut table.foreign) {
        let Some(target) = targets.iter().find(|target| target.name.eq_ignore_ascii_case(&foreign.to_table)) else {
            continue;
        };
        if foreign.to_columns.len() < foreign.columns.len() {
            foreign.to_columns = target.key.clone();
        }
        // SQLite reports names as they were written in the reference, in any case.
        for column in &mut foreign.to_columns {
            if let Some(name) = target.columns.iter().find(|name| name.eq_ignore_ascii_case(column)) {
                *column = name.clone();
            }
        }
    }
}

pub(super) fn find_references(tables: &[Table], words: &[names::Words]) -> Vec<Relationship> {
    let mut relationships: Vec<Relationship> = Vec::new();
    for (from, table) in tables.iter().enumerate() {
        for foreign in &table.foreign {
            let to = tables.iter().position(|other| foreign.references_table(other));
            let (Some(to), Some(own)) = (to, words.get(from)) else { continue };
            let Some(target) = tables.get(to) else { continue };
            let named = |name: &Arc<str>| target.columns.iter().find(|column| column.sql_name == *name);
            let to_columns = foreign.to_columns.iter().map(|name| named(name).map(|column| column.name.clone()));
            let Some(to_columns) = to_columns.collect::<Option<Vec<Arc<str>>>>() else { continue };
            let usable = !foreign.columns.is_empty()
                && foreign.columns.len() == to_columns.len()
                && foreign.columns.iter().all(|name| table.column(name).is_some());
            let twin = |other: &Relationship| {
                other.from == from
                    && other.to == to
                    && other.columns == foreign.columns
                    && other.to_columns == to_columns
            };
            if usable && !relationships.iter().any(twin) {
                let mut name = format!("{}.{}", own.plural, foreign.columns.join("+"));
                // The same columns may refer to two tables.
                if let Some(other) = words.get(to).filter(|_| relationships.iter().any(|taken| *taken.name == *name)) {
                    name = format!("{name}>{}", other.plural);
                }
                relationships.push(Relationship {
                    name: name.into(),
                    from,
                    to,
                    columns: foreign.columns.clone(),
                    to_columns,
                    on_delete: foreign.on_delete,
                    conceals_from: false,
                    conceals_to: false,
                });
            }
        }
    }
    relationships
}
