//! Describes the lists of adapters as collections, from the types of their items.
//!
//! An adapter returns the whole list. The engine applies filters, order, fields, aggregates and pages, so that every list
//! has the same query language and no adapter has to implement it.

use std::collections::BTreeMap;
use std::sync::Arc;

use aquifer_protocol::schema::{Format, Kind, Rest, Schema, Shape, Types};
use aquifer_query::{Collection, Field, FieldType};
use serde_json::Value;

/// Fields that identify items, the most likely first.
const KEYS: &[&str] = &["id", "key", "uuid", "execution_id", "number", "slug", "path", "name"];

/// Fields that describe an item to people.
const TITLES: &[&str] = &["title", "name", "summary", "subject", "label", "message", "operation"];

/// The schema of the items of a list: of an array, or of an object with only the field `items`. Only lists of objects can
/// be queried.
pub(crate) fn items_of<'a>(answer: &'a Schema, types: &'a Types) -> Option<&'a Schema> {
    let list = match &answer.resolve(types).kind {
        Kind::Object(Shape { fields, rest: Rest::Refused }) => match fields.as_slice() {
            [only] if &*only.name == "items" => only.schema.resolve(types),
            _ => return None,
        },
        Kind::Array(_) => answer.resolve(types),
        _ => return None,
    };
    match &list.kind {
        Kind::Array(Some(item)) if is_object(item, types) => Some(item),
        _ => None,
    }
}

fn is_object(schema: &Schema, types: &Types) -> bool {
    match &schema.resolve(types).kind {
        Kind::Object(_) => !schema.nullable,
        // A tagged enum is a union of objects.
        Kind::Union(members) => {
            !members.is_empty() && members.iter().all(|member| matches!(&member.resolve(types).kind, Kind::Object(_)))
        }
        _ => false,
    }
}

/// The collection of items with this schema.
pub(crate) fn describe(item: &Schema, types: &Types) -> Collection {
    let shape = match &item.resolve(types).kind {
        Kind::Object(shape) => Some(shape),
        _ => None,
    };
    let fields: Vec<Field> = shape
        .into_iter()
        .flat_map(|shape| &shape.fields)
        .map(|field| Field {
            name: field.name.clone(),
            field_type: field_type(&field.schema, types),
            nullable: field.schema.nullable || !field.required,
            description: field.schema.description.clone(),
        })
        .collect();
    let first = |names: &[&str], fits: fn(&FieldType) -> bool| -> Vec<Arc<str>> {
        let found =
            names.iter().find_map(|name| fields.iter().find(|field| &*field.name == *name && fits(&field.field_type)));
        found.map(|field| field.name.clone()).into_iter().collect()
    };
    let (key, text) = (first(KEYS, FieldType::is_ordered), first(TITLES, |field_type| *field_type == FieldType::Text));
    // The author of the list chose the fields of its items, so none of them is too bulky.
    let all = fields.iter().map(|field| field.name.clone()).collect();
    let presets = BTreeMap::from([("standard".into(), all)]);
    let open = shape.is_none_or(|shape| !matches!(shape.rest, Rest::Refused));
    Collection { name: "items".into(), fields, key, text, presets, open, ..Collection::default() }
}

fn field_type(schema: &Schema, types: &Types) -> FieldType {
    let schema = schema.resolve(types);
    let words = || -> Option<Arc<[Arc<str>]>> {
        let allowed = schema.allowed.as_ref()?;
        allowed.iter().filter(|value| !value.is_null()).map(|value| value.as_str().map(Arc::from)).collect()
    };
    match &schema.kind {
        Kind::String => match (words(), &schema.format) {
            (Some(words), _) if schema.allowed.is_some() => FieldType::Enum(words),
            (_, Some(Format::DateTime)) => FieldType::Time,
            (_, Some(Format::Date)) => FieldType::Date,
            (_, Some(Format::Uuid)) => FieldType::Uuid,
            _ => FieldType::Text,
        },
        Kind::Any if schema.allowed.as_ref().is_some_and(|all| all.iter().all(Value::is_string)) => {
            words().map_or(FieldType::Json, FieldType::Enum)
        }
        Kind::Integer => FieldType::Integer,
        Kind::Number => FieldType::Number,
        Kind::Boolean => FieldType::Boolean,
        Kind::Array(Some(item)) => match field_type(item, types) {
            // Lists of objects and of lists: paths refer to values inside.
            FieldType::Json | FieldType::List(_) => FieldType::Json,
            scalar => FieldType::List(Some(Box::new(scalar))),
        },
        _ => FieldType::Json,
    }
}
