//! The parts of examples: queries that always succeed, and values for changes, which are tried before they are shown
//! (`database/examples.rs`).

use std::collections::HashMap;
use std::sync::Arc;

use aquifer_protocol::operation::Example;
use aquifer_protocol::schema::{Kind, Parameter, Schema, Types, sample};
use aquifer_query::FieldType;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::{Offer, Verb, operations};
use crate::schema::exposed_table::ExposedTable;

/// An example that uses several parameters at once.
pub(super) fn list(verb: Verb, exposed: &ExposedTable) -> Map<String, Value> {
    let mut params = Map::new();
    let collection = &exposed.collection;
    if verb == Verb::Search {
        params.insert("query".to_owned(), "two words \"an exact phrase\"".into());
    }
    let word = collection.fields.iter().find_map(|field| match &field.field_type {
        FieldType::Enum(words) => words.first().map(|word| (field, word)),
        _ => None,
    });
    if let Some((field, word)) = word {
        params.insert("filter".to_owned(), json!({ &*field.name: &**word }));
    }
    let sorted = collection.fields.iter().find(|field| matches!(field.field_type, FieldType::Time | FieldType::Date));
    if let Some(field) = sorted.or_else(|| collection.fields.iter().find(|field| field.field_type.is_ordered())) {
        params.insert("sort".to_owned(), format!("-{}", field.name).into());
    }
    if let Some(fields) = collection.preset("minimal").filter(|fields| !fields.is_empty()) {
        params.insert("fields".to_owned(), fields.iter().map(|name| Value::from(&**name)).collect());
    }
    params.insert("first".to_owned(), 10.into());
    params
}

/// An example of a generic list or search, for the first suitable table.
pub(super) fn generic(offer: &Offer, verb: Verb) -> Option<Example> {
    let shown = |index: &usize| offer.concealed.is_shown(*index) && offer.concealed.is_readable(*index);
    let mut tables = (0..offer.tables.len()).filter(shown).filter_map(|index| offer.table(index));
    let exposed = match verb {
        Verb::List => tables.next(),
        Verb::Search => tables.find(|exposed| !exposed.collection.text.is_empty()),
        Verb::Get | Verb::Create | Verb::Update | Verb::Delete => None,
    }?;
    let mut params = Map::from_iter([("table_name".to_owned(), exposed.words.plural.as_str().into())]);
    params.extend(list(verb, exposed));
    Some(Example { description: None, params })
}

/// The examples that were made from rows, by operation. They stay the same as long as the offer.
#[derive(Debug, Default)]
pub(crate) struct ExampleCache(Mutex<HashMap<String, Vec<Map<String, Value>>>>);

impl ExampleCache {
    pub(crate) fn get(&self, operation: &str) -> Option<Vec<Map<String, Value>>> {
        self.0.lock().get(operation).cloned()
    }

    /// Keeps examples, unless there are some already. Returns those that are kept.
    pub(crate) fn insert(&self, operation: &str, examples: Vec<Map<String, Value>>) -> Vec<Map<String, Value>> {
        let mut all = self.0.lock();
        all.entry(operation.to_owned()).or_insert(examples).clone()
    }
}

/// Values that the columns of a reference can have, from rows of the other table.
pub(crate) struct ForeignValues {
    pub(crate) columns: Vec<Arc<str>>,
    pub(crate) rows: Vec<Vec<Value>>,
}

/// The key of a row.
pub(crate) fn key(exposed: &ExposedTable, row: &[Value]) -> Map<String, Value> {
    let names = exposed.table.key_columns().map(|column| column.name.to_string());
    names.zip(row.iter().cloned()).collect()
}

/// Whether a new row needs values in these columns.
pub(crate) fn is_needed(exposed: &ExposedTable, columns: &[Arc<str>]) -> bool {
    columns.iter().any(|name| exposed.table.column(name).is_some_and(|column| column.is_required()))
}

/// The values of a new row: references lead to existing rows, keys get unusual values, and from the second attempt on
/// other unique columns, too. `None` if no value is known for a required column.
pub(crate) fn create(exposed: &ExposedTable, foreign: &[ForeignValues], attempt: usize) -> Option<Map<String, Value>> {
    let all: Vec<Parameter> = operations::settable(exposed, &[], operations::is_set).collect();
    let mut values = Map::new();
    for parameter in chosen(exposed, &all) {
        // The next row may get a key such as 1, so an example that names it would not work for long.
        let in_key = exposed.table.key_columns().any(|column| *column.name == *parameter.name);
        let must_differ = in_key || attempt > 0 && is_unique(exposed, &parameter.name);
        let unusual = must_differ.then(|| unusual(&parameter.schema, attempt + 1));
        values.insert(parameter.name.to_string(), unusual.flatten().or_else(|| value(&parameter.schema))?);
    }
    for reference in foreign {
        let row = reference.rows.get(attempt % reference.rows.len().max(1))?;
        values.extend(reference.columns.iter().map(|name| name.to_string()).zip(row.iter().cloned()));
    }
    Some(values)
}

/// Changes of one column each. Columns that other rules depend on come last.
pub(crate) fn updates(exposed: &ExposedTable) -> impl Iterator<Item = Map<String, Value>> {
    let is_changed = |column: &crate::schema::model::Column| operations::can_change(exposed, column);
    let mut all: Vec<Parameter> = operations::settable(exposed, &[], is_changed).collect();
    let is_reference =
        |name: &str| exposed.table.foreign.iter().any(|one| one.columns.iter().any(|own| **own == *name));
    let is_checked = |name: &str| exposed.table.checks.iter().any(|one| one.columns.iter().any(|own| **own == *name));
    all.sort_by_key(|field| {
        let name = &*field.name;
        let is_plain = matches!(field.schema.kind, Kind::String) && field.schema.format.is_none();
        (is_reference(name), is_unique(exposed, name), is_checked(name), !is_plain)
    });
    all.into_iter().filter_map(|field| Some(Map::from_iter([(field.name.to_string(), value(&field.schema)?)])))
}

/// The required fields, or the first field that the database does not fill if none is required. A key that the database
/// generates is left to it: the next row may get the one that an example names.
fn chosen<'a>(exposed: &ExposedTable, all: &'a [Parameter]) -> Vec<&'a Parameter> {
    let required: Vec<&Parameter> = all.iter().filter(|field| field.required).collect();
    if required.is_empty() {
        let is_key = |field: &&Parameter| exposed.table.key_columns().any(|column| *column.name == *field.name);
        let nullable = all.iter().find(|field| field.schema.nullable);
        return nullable.or_else(|| all.iter().find(|field| !is_key(field))).into_iter().collect();
    }
    required
}

/// Whether no two rows have the same value there, perhaps together with other columns.
fn is_unique(exposed: &ExposedTable, name: &str) -> bool {
    let in_key = exposed.table.key_columns().any(|column| *column.name == *name);
    in_key || exposed.table.unique.iter().any(|unique| unique.columns.iter().any(|own| **own == *name))
}

/// A value that hardly any row has.
fn unusual(schema: &Schema, attempt: usize) -> Option<Value> {
    let number = 1_000_003 * attempt as u64;
    match &schema.kind {
        Kind::String if schema.allowed.is_some() || schema.format.is_some() || schema.pattern.is_some() => None,
        Kind::String => {
            let text = format!("example-{number}");
            let digits = number.to_string();
            let fits = |text: &String| schema.length.max.is_none_or(|max| text.len() as u64 <= max);
            [text, digits].into_iter().find(fits).map(Value::from)
        }
        #[expect(clippy::cast_precision_loss, reason = "the number is small")]
        Kind::Integer | Kind::Number => {
            let is_allowed = schema.allowed.is_none() && schema.range.maximum.is_none_or(|max| number as f64 <= max);
            is_allowed.then(|| number.into())
        }
        _ => None,
    }
}

fn value(schema: &Schema) -> Option<Value> {
    sample(schema, &Types::new()).or_else(|| schema.pattern.is_some().then(|| "AA==".into()))
}
