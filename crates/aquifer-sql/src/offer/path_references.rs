//! The references that paths of the query language can follow: `site.title` from a visit to its site, and `visits` from a
//! site to the visits that refer to it.

use std::sync::Arc;

use aquifer_protocol::case::snake_identifier;
use aquifer_query::collection::{Cardinality, Reference};

use crate::schema::exposed_table::{ExposedTable, TableReference};
use crate::schema::model::{Column, Table};
use crate::schema::names::Words;
use crate::schema::relationship::Relationship;
use crate::statement::Name;

/// Endings of columns that hold the key of another row.
const KEY_ENDINGS: &[&str] = &["_id", "_uuid", "_guid", "_key", "_fk", "_ref", "_code", "_no", "_number", "Id", "ID"];

/// Words with a meaning of their own in filters.
const KEYWORDS: &[&str] = &["and", "or", "not", "_computed", "_etag"];

/// The references of one table.
#[derive(Debug, Default)]
pub(super) struct PathReferences {
    described: Vec<Reference>,
    sources: Vec<TableReference>,
}

impl PathReferences {
    pub(super) fn add_to(self, exposed: &mut ExposedTable) {
        exposed.collection.references = self.described;
        exposed.references = self.sources;
    }

    fn is_taken(&self, name: &str) -> bool {
        let is_known = |known: &Reference| *known.name == *name || known.aliases.iter().any(|alias| **alias == *name);
        self.described.iter().any(is_known)
    }

    fn add(&mut self, name: &str, aliases: Vec<Arc<str>>, cardinality: Cardinality, to: usize, on: Vec<(Name, Name)>) {
        let name: Arc<str> = name.into();
        self.described.push(Reference { name: name.clone(), aliases, to, cardinality });
        self.sources.push(TableReference { name, cardinality, to, on });
    }
}

/// The references of each table, without those from or to concealed tables.
pub(super) fn path_references(
    references: &[Relationship],
    tables: &[Table],
    words: &[Words],
    descendants: &[Vec<usize>],
) -> Vec<PathReferences> {
    let mut all: Vec<PathReferences> = tables.iter().map(|_| PathReferences::default()).collect();
    let shown = || references.iter().filter(|known| !known.conceals_from && !known.conceals_to);
    for reference in shown() {
        let (Some(from), Some(to)) = (tables.get(reference.from), tables.get(reference.to)) else { continue };
        let inherited = descendants.get(reference.to).is_some_and(|descendants| !descendants.is_empty());
        let (Some(pairs), Some(target), false) =
            (column_pairs(reference, from, to), words.get(reference.to), inherited)
        else {
            continue;
        };
        if !is_unique(to, &reference.to_columns) {
            continue;
        }
        let Some(own) = all.get_mut(reference.from) else { continue };
        let twins = shown().filter(|other| other.from == reference.from && other.to == reference.to).count();
        if let Some((name, aliases)) = name_to_one(own, from, reference, &target.singular, twins > 1) {
            let on = pairs.iter().map(|(ours, theirs)| (ours.quoted.clone(), theirs.quoted.clone())).collect();
            own.add(&name, aliases, Cardinality::One, reference.to, on);
        }
    }
    for reference in shown() {
        let (Some(from), Some(to)) = (tables.get(reference.from), tables.get(reference.to)) else { continue };
        let (Some(pairs), Some(referring)) = (column_pairs(reference, from, to), words.get(reference.from)) else {
            continue;
        };
        let Some(own) = all.get_mut(reference.to) else { continue };
        let several = shown().filter(|other| other.from == reference.from && other.to == reference.to).count() > 1;
        let by_columns = format!("{}_by_{}", referring.plural, snake_identifier(&reference.columns.join("_")));
        let plain = (!several && reference.from != reference.to).then(|| referring.plural.clone());
        let is_free = |name: &String| {
            !own.is_taken(name)
                && !KEYWORDS.contains(&name.as_str())
                && !to.columns.iter().any(|column| *column.name == **name)
        };
        if let Some(name) = plain.into_iter().chain([by_columns]).find(is_free) {
            let on = pairs.iter().map(|(theirs, ours)| (ours.quoted.clone(), theirs.quoted.clone())).collect();
            own.add(&name, Vec::new(), Cardinality::Many, reference.from, on);
        }
    }
    all
}

/// The referring columns, each with the column it refers to.
fn column_pairs<'a>(reference: &Relationship, from: &'a Table, to: &'a Table) -> Option<Vec<(&'a Column, &'a Column)>> {
    let pairs = reference.columns.iter().zip(&reference.to_columns);
    pairs.map(|(ours, theirs)| Some((from.column(ours)?, to.column(theirs)?))).collect()
}

/// Whether no two rows have equal values in these columns. PostgreSQL requires that of every reference; SQLite accepts any
/// columns.
fn is_unique(table: &Table, columns: &[Arc<str>]) -> bool {
    let are_same = |known: &[Arc<str>]| known.len() == columns.len() && known.iter().all(|name| columns.contains(name));
    let key: Vec<Arc<str>> = table.key_columns().map(|column| column.name.clone()).collect();
    table.schema.is_some()
        || table.has_rowid_key && are_same(&key)
        || table.unique.iter().any(|unique| unique.compares_alike && are_same(&unique.columns))
}

/// The name and aliases of a reference to one row: the referring column without its suffix (`site` for `site_id`), or
/// the name of the other table's rows.
fn name_to_one(
    own: &PathReferences,
    from: &Table,
    reference: &Relationship,
    target: &str,
    has_twin: bool,
) -> Option<(String, Vec<Arc<str>>)> {
    let column = match reference.columns.as_slice() {
        [only] => from.column(only),
        _ => None,
    };
    let stem = column.and_then(|column| {
        let ending = KEY_ENDINGS.iter().find_map(|ending| column.name.strip_suffix(ending));
        ending.filter(|stem| !stem.is_empty())
    });
    let is_other_field = |name: &str| {
        let mut others = from.columns.iter().filter(|other| column.is_none_or(|column| column.name != other.name));
        others.any(|other| *other.name == *name)
    };
    let is_json = |name: &str| from.columns.iter().any(|other| *other.name == *name && other.field_type.has_paths());
    let is_free = |name: &str| {
        !name.is_empty() && !own.is_taken(name) && !KEYWORDS.contains(&name) && !is_other_field(name) && !is_json(name)
    };
    let singular = (!has_twin).then(|| target.to_owned());
    let by_columns = format!("{target}_by_{}", snake_identifier(&reference.columns.join("_")));
    let whole = column.filter(|_| stem.is_none()).map(|column| column.name.to_string());
    let candidates = [stem.map(str::to_owned), whole, singular.clone(), Some(by_columns)];
    let name = candidates.into_iter().flatten().find(|name| is_free(name))?;
    let aliases = [column.map(|column| column.name.to_string()), singular];
    let aliases = aliases.into_iter().flatten().filter(|alias| *alias != name && is_free(alias));
    Some((name.clone(), aliases.map(Into::into).collect()))
}
