//! Turns Rust types into definitions, through their JSON Schema.

use std::sync::Arc;

use aquifer_protocol::case::snake_case;
use aquifer_protocol::category::Category;
use aquifer_protocol::operation::{Operation, Returns};
use aquifer_protocol::protocol_types::is_taken;
use aquifer_protocol::schema::{Kind, Parameter, Rest, Schema, SchemaReader, Types, type_words};
use aquifer_query::Collection;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::{AdapterError, collection};

/// The operation that a parameter type defines.
pub(super) fn describe_operation<P: JsonSchema>(
    category: Category,
    types: &mut Types,
) -> Result<Operation, AdapterError> {
    let name = P::schema_name().into_owned();
    let json = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<P>().to_value();
    let schema = parse_schema(&json, types)?;
    let Some(description) = schema.description.clone() else { return Err(AdapterError::NoDescription(name)) };
    let Kind::Object(shape) = schema.kind else { return Err(AdapterError::NotAStruct(name)) };
    let mut operation = Operation::new(&snake_case(&name), category, &one_line(&description));
    operation.parameters = shape.fields.into_iter().map(make_non_null_if_optional).collect();
    if category == Category::Update {
        keep_identifiers_out_of_input(&mut operation.parameters);
    }
    Ok(operation)
}

/// The type of the answer, and the collection if it is a list.
pub(super) struct AnswerDescription {
    pub(super) returns: Returns,
    pub(super) collection: Option<Collection>,
}

/// Registers and returns the type of an answer.
pub(super) fn describe_returns<R: JsonSchema>(types: &mut Types) -> Result<Returns, AdapterError> {
    describe_answer::<R>(types, false).map(|answer| answer.returns)
}

/// Describes an answer. With `is_queried`, a list becomes a collection.
pub(super) fn describe_answer<R: JsonSchema>(
    types: &mut Types,
    is_queried: bool,
) -> Result<AnswerDescription, AdapterError> {
    // The same settings as for parameters: a type that is used for both has one schema.
    let json = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<R>().to_value();
    let schema = parse_schema(&json, types)?;
    if is_queried && let Some(item) = collection::items_of(&schema, types) {
        let returns = Returns::page(&type_words(item));
        return Ok(AnswerDescription { returns, collection: Some(collection::describe(item, types)) });
    }
    let described = schema.description.as_deref().map(one_line);
    let description = described.clone().unwrap_or_else(|| "The result.".to_owned());
    let scalar = |name: &str| Returns { type_name: name.into(), description: description.as_str().into() };
    let returns = match &schema.kind {
        Kind::Object(shape) if !shape.fields.is_empty() => {
            let name: Arc<str> = R::schema_name().into_owned().into();
            register_type(&name, schema.clone(), types)?;
            scalar(&name)
        }
        Kind::Named(name) => scalar(name),
        Kind::Boolean => scalar("boolean"),
        Kind::Integer => scalar("integer"),
        Kind::Number => scalar("number"),
        Kind::String => scalar("string"),
        Kind::Null => scalar("null"),
        Kind::Object(_) => Returns::object(&description),
        Kind::Array(Some(item)) => {
            let words = type_words(item);
            Returns::undeclared(&described.unwrap_or_else(|| format!("A list of values of type {words}.")))
        }
        _ => Returns::undeclared(&description),
    };
    Ok(AnswerDescription { returns, collection: None })
}

/// Registers the types of the query parameters.
pub(super) fn register_query_types(types: &mut Types) -> Result<(), AdapterError> {
    let query_types = aquifer_query::parameters::types();
    query_types.iter().try_for_each(|(name, schema)| register_type(name, Schema::clone(schema), types))
}

fn parse_schema(json: &Value, types: &mut Types) -> Result<Schema, AdapterError> {
    let mut reader = SchemaReader::new(json);
    let schema = reader.read(json);
    for (name, named) in reader.into_types() {
        register_type(&name, close_objects(Schema::clone(&named)), types)?;
    }
    Ok(close_objects(schema))
}

/// Registers a type. Two types with the same name and different schemas are an error.
fn register_type(name: &Arc<str>, schema: Schema, types: &mut Types) -> Result<(), AdapterError> {
    if is_taken(name) || types.get(name).is_some_and(|known| !known.is_same(&schema)) {
        return Err(AdapterError::DuplicateType(name.to_string()));
    }
    types.insert(name.clone(), Arc::new(schema));
    Ok(())
}

/// Refuses unknown fields, which Rust structs would silently drop.
fn close_objects(mut schema: Schema) -> Schema {
    let close = |inner: &mut Schema| *inner = close_objects(std::mem::take(inner));
    match &mut schema.kind {
        Kind::Object(shape) => {
            if !shape.fields.is_empty() && matches!(shape.rest, Rest::Free) {
                shape.rest = Rest::Refused;
            }
            shape.fields.iter_mut().for_each(|field| close(&mut field.schema));
            if let Rest::Of(rest) = &mut shape.rest {
                close(rest);
            }
        }
        Kind::Array(Some(items)) => close(items),
        Kind::Union(members) => members.iter_mut().for_each(close),
        _ => {}
    }
    schema
}

/// `Option` means that a parameter can be omitted. `null` would be a second way to express that.
fn make_non_null_if_optional(mut parameter: Parameter) -> Parameter {
    if !parameter.required {
        parameter.schema.nullable = false;
    }
    parameter
}

/// Identifiers of the resource are parameters next to `input`, never inside it (R-REQ-6).
fn keep_identifiers_out_of_input(parameters: &mut [Parameter]) {
    let outer_names: Vec<Arc<str>> = parameters.iter().map(|parameter| parameter.name.clone()).collect();
    for parameter in parameters.iter_mut().filter(|parameter| &*parameter.name == "input") {
        if let Kind::Object(shape) = &mut parameter.schema.kind {
            shape.fields.retain(|field| !outer_names.contains(&field.name));
        }
    }
}

/// The first paragraph of a doc comment on one line.
fn one_line(text: &str) -> String {
    text.split("\n\n").next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}
