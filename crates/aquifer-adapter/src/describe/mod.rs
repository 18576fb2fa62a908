//! Turns Rust types into definitions, through their JSON Schema.

pub(crate) mod collection;

use std::sync::Arc;

use aquifer_protocol::case::snake_case;
use aquifer_protocol::category::Category;
use aquifer_protocol::operation::{Operation, Returns, Shaping};
use aquifer_protocol::protocol_types::is_taken;
use aquifer_protocol::schema::{Kind, Parameter, Rest, Schema, SchemaReader, Types, type_words};
use aquifer_query::parameters::{aggregation_support, parameters as query_parameters};
use aquifer_query::shape::add_collection_controls;
use aquifer_query::{Collection, QueryKind};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::error::AdapterError;

/// An operation while it is being described.
pub struct OperationDraft {
    pub(crate) operation: Operation,
    pub(crate) types: Types,
    pub(crate) problems: Vec<AdapterError>,
    pub(crate) is_long_running: bool,
    /// The collection that the operation queries itself, if it does.
    pub(crate) queried: Option<Collection>,
    /// The collection that the engine queries in the list that the operation returns.
    pub(crate) returned: Option<Collection>,
    generator: SchemaGenerator,
    properties: Map<String, Value>,
    required: Vec<Value>,
}

impl OperationDraft {
    /// An operation without parameters.
    pub fn new(name: &str, category: Category, description: &str) -> Self {
        Self {
            operation: Operation::new(name, category, &one_line(description)),
            types: Types::new(),
            problems: Vec::new(),
            is_long_running: false,
            queried: None,
            returned: None,
            generator: SchemaSettings::draft2020_12().into_generator(),
            properties: Map::new(),
            required: Vec::new(),
        }
    }

    /// Makes the operation run in the background.
    pub fn long_running(&mut self) {
        self.is_long_running = true;
    }

    /// The operation that a parameter type defines: its name in snake_case, its doc comment, its fields.
    pub(crate) fn from_type<P: JsonSchema>(category: Category) -> Self {
        let name = P::schema_name().into_owned();
        let mut draft = Self::new(&snake_case(&name), category, "");
        match draft.fields_of::<P>() {
            Some(description) => draft.operation.description = one_line(&description).into(),
            None => draft.problems.push(AdapterError::NoDescription(name)),
        }
        draft
    }

    /// Adds a parameter. It is required unless its type is an `Option` or has a default.
    pub fn parameter<T: JsonSchema>(&mut self, name: &str, description: Option<&str>) {
        #[derive(JsonSchema)]
        #[allow(dead_code, reason = "only its schema is used")]
        struct One<T> {
            value: T,
        }
        let schema = One::<T>::json_schema(&mut self.generator).to_value();
        let Some(mut property) = schema.pointer("/properties/value").cloned() else { return };
        let has_default = property.get("default").is_some();
        if let (Some(property), Some(description)) = (property.as_object_mut(), description) {
            property.insert("description".to_owned(), description.into());
        }
        if schema.get("required").is_some() && !has_default {
            self.required.push(name.into());
        }
        self.add_property(name, property);
    }

    /// Adds the fields of a struct as parameters. Returns the description of the struct.
    pub(crate) fn fields_of<P: JsonSchema>(&mut self) -> Option<String> {
        let schema = P::json_schema(&mut self.generator).to_value();
        if schema.get("type").and_then(Value::as_str) != Some("object") {
            self.problems.push(AdapterError::NotAStruct(P::schema_name().into_owned()));
        }
        for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            self.add_property(name, property.clone());
        }
        self.required.extend(schema.get("required").and_then(Value::as_array).into_iter().flatten().cloned());
        schema.get("description").and_then(Value::as_str).map(str::to_owned)
    }

    fn add_property(&mut self, name: &str, property: Value) {
        if self.properties.insert(name.to_owned(), property).is_some() {
            self.duplicate(name);
        }
    }

    fn duplicate(&mut self, name: &str) {
        let operation = self.operation.name.to_string();
        self.problems.push(AdapterError::DuplicateParameter { operation, parameter: name.to_owned() });
    }

    /// Lets the operation query a collection of items of type `T` itself.
    pub(crate) fn query<T: JsonSchema>(&mut self, has_versions: bool) {
        let json = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().to_value();
        match parse_schema(&json, &mut self.types) {
            Ok(schema) => {
                let name: Arc<str> = T::schema_name().into_owned().into();
                self.operation.returns = Returns::page(&name);
                let collection = collection::describe(&schema, &self.types);
                self.queried = Some(Collection { versions: has_versions, ..collection });
                self.register(&name, schema);
            }
            Err(problem) => self.problems.push(problem),
        }
    }

    fn register(&mut self, name: &Arc<str>, schema: Schema) {
        if let Err(problem) = register_type(name, schema, &mut self.types) {
            self.problems.push(problem);
        }
    }

    /// Describes the type of the answer. A list in the answer of a READ becomes a collection.
    pub(crate) fn answer<R: JsonSchema>(&mut self, has_versions: bool) {
        let is_queried = self.operation.category == Category::Read && !self.is_long_running && self.queried.is_none();
        match describe_answer::<R>(&mut self.types, is_queried) {
            Ok(AnswerDescription { mut returns, collection }) => {
                if has_versions && collection.is_none() {
                    returns.description = format!("{} Its version is in '_etag'.", returns.description).into();
                }
                self.operation.returns = returns;
                self.returned = collection.map(|collection| Collection { versions: has_versions, ..collection });
            }
            Err(problem) => self.problems.push(problem),
        }
    }

    /// Completes the parameters.
    pub(crate) fn finish(&mut self) {
        let root = json!({
            "type": "object",
            "properties": std::mem::take(&mut self.properties),
            "required": std::mem::take(&mut self.required),
            "$defs": self.generator.take_definitions(true),
        });
        match parse_schema(&root, &mut self.types) {
            Ok(Schema { kind: Kind::Object(shape), .. }) => {
                self.operation.parameters = shape.fields.into_iter().map(make_non_null_if_optional).collect();
            }
            Ok(_) => self.problems.push(AdapterError::NotAStruct(self.operation.name.to_string())),
            Err(problem) => self.problems.push(problem),
        }
        if self.operation.category == Category::Update {
            keep_identifiers_out_of_input(&mut self.operation.parameters);
        }
        if let Some(collection) = self.queried.take() {
            for parameter in query_parameters(&collection, QueryKind::List) {
                if self.operation.parameter(&parameter.name).is_some() {
                    self.duplicate(&parameter.name.clone());
                } else {
                    self.operation.parameters.push(parameter);
                }
            }
            self.operation.capabilities.aggregation = Some(aggregation_support(&collection));
            self.queried = Some(collection);
            self.register_query_types();
        }
        if let Some(collection) = &self.returned {
            add_collection_controls(&mut self.operation, collection);
            let has_typed = |shaping: &Shaping| {
                let is_typed = |name: &Arc<str>| matches!(&**name, "sort" | "filter" | "aggregate");
                shaping.controls.iter().any(is_typed)
            };
            if self.operation.capabilities.shaping.as_ref().is_some_and(has_typed) {
                self.register_query_types();
            }
        }
    }

    pub(crate) fn register_query_types(&mut self) {
        for (name, schema) in aquifer_query::parameters::types() {
            self.register(&name, Schema::clone(&schema));
        }
    }
}

/// The type of the answer, and the collection if it is a list.
struct AnswerDescription {
    returns: Returns,
    collection: Option<Collection>,
}

/// Describes an answer. With `is_queried`, a list becomes a collection.
fn describe_answer<R: JsonSchema>(types: &mut Types, is_queried: bool) -> Result<AnswerDescription, AdapterError> {
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
