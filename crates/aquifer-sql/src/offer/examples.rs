//! Examples shown by introspection. They use tables, columns and values that exist, so they can be sent unchanged.

use std::collections::HashMap;

use aquifer_protocol::operation::{Example, Operation};
use aquifer_protocol::schema::{Kind, Parameter, Schema, Types, sample};
use aquifer_query::FieldType;
use serde_json::{Map, Value, json};

use super::{Offer, Verb, column_schema};
use crate::schema::exposed_table::ExposedTable;

/// An example that uses several parameters at once.
pub(super) fn list(verb: Verb, exposed: &ExposedTable) -> Map<String, Value> {
    let mut params = Map::new();
    let collection = &exposed.collection;
    if verb == Verb::Search {
        params.insert("query".to_owned(), "two words \"an exact phrase\"".into());
    }
    let word = collection.fields.iter().find_map(|field| match &field.of {
        FieldType::Enum(words) => words.first().map(|word| (field, word)),
        _ => None,
    });
    if let Some((field, word)) = word {
        params.insert("filter".to_owned(), json!({ &*field.name: &**word }));
    }
    let sorted = collection.fields.iter().find(|field| matches!(field.of, FieldType::Time | FieldType::Date));
    if let Some(field) = sorted.or_else(|| collection.fields.iter().find(|field| field.of.is_ordered())) {
        params.insert("sort".to_owned(), json!({ "field": &*field.name, "order": "desc" }));
    }
    if let Some(fields) = collection.preset("minimal").filter(|fields| !fields.is_empty()) {
        params.insert("fields".to_owned(), fields.iter().map(|name| Value::from(&**name)).collect());
    }
    params.insert("first".to_owned(), 10.into());
    params
}

/// An example that follows relationships from a row of this table.
pub(super) fn follow(root: &ExposedTable) -> Option<Example> {
    let mut from = Map::new();
    from.insert("element_type".to_owned(), root.words.plural.as_str().into());
    from.extend(key(root)?);
    let params = json!({ "root": from, "direction": "both", "depth": 2, "first": 10 });
    Some(Example { description: None, params: params.as_object().cloned()? })
}

/// An example of a generic operation, for the first suitable table. `own` are the operations of the tables.
pub(super) fn generic(offer: &Offer, verb: Verb, own: &HashMap<&str, &Operation>) -> Option<Example> {
    let shown = |index: &usize| offer.concealed.is_shown(*index) && offer.concealed.is_readable(*index);
    let mut tables: Vec<&ExposedTable> = (0..offer.tables.len())
        .filter(shown)
        .filter_map(|index| offer.table(index))
        .map(|exposed| &**exposed)
        .collect();
    // A generated row would refer to rows that do not exist, or collide with an existing key.
    let collides = |exposed: &ExposedTable| {
        !exposed.table.foreign.is_empty() || exposed.table.key_columns().any(|column| column.is_required())
    };
    tables.sort_by_key(|exposed| verb == Verb::Create && collides(exposed));
    tables.into_iter().find_map(|exposed| {
        let operation = own.get(&*verb.operation_name(exposed))?;
        let mut params = Map::from_iter([("table_name".to_owned(), exposed.words.plural.as_str().into())]);
        match verb {
            Verb::List | Verb::Search => params.extend(list(verb, exposed)),
            Verb::Get | Verb::Delete => drop(params.insert("key".to_owned(), key(exposed)?.into())),
            Verb::Create => {
                let is_column = |parameter: &&Parameter| exposed.table.column(&parameter.name).is_some();
                let columns: Vec<&Parameter> = operation.parameters.iter().filter(is_column).collect();
                params.insert("values".to_owned(), fields(columns)?.into());
                params.insert("dry_run".to_owned(), true.into());
            }
            Verb::Update => {
                let Kind::Object(shape) = &operation.parameter("input")?.schema.kind else { return None };
                params.insert("key".to_owned(), key(exposed)?.into());
                params.insert("input".to_owned(), fields(shape.fields.iter().collect())?.into());
            }
        }
        Some(Example { description: None, params })
    })
}

/// The required fields, or the first field that the database does not fill if none is required.
fn fields(all: Vec<&Parameter>) -> Option<Map<String, Value>> {
    let mut chosen: Vec<&Parameter> = all.iter().copied().filter(|field| field.required).collect();
    if chosen.is_empty() {
        chosen.extend(all.iter().copied().find(|field| field.schema.nullable).or_else(|| all.first().copied()));
    }
    chosen.into_iter().map(|field| Some((field.name.to_string(), value(&field.schema)?))).collect()
}

/// A generated key.
fn key(exposed: &ExposedTable) -> Option<Map<String, Value>> {
    let columns = exposed.table.key_columns();
    columns.map(|column| Some((column.name.to_string(), value(&column_schema::schema(&column.of, column))?))).collect()
}

fn value(schema: &Schema) -> Option<Value> {
    sample(schema, &Types::new()).or_else(|| schema.pattern.is_some().then(|| "AA==".into()))
}
