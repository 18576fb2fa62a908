//! Converts a schema to JSON Schema, for `fields: "full"`.

use serde_json::{Map, Value, json};

use super::info::number;
use super::{Kind, Rest, Schema, Shape, Types};

/// Maximum depth. Named types do not count, because each is written once under `$defs`.
const MAX_DEPTH: usize = 32;

/// The JSON Schema of an object of this shape.
pub(crate) fn json_schema(shape: &Shape, types: &Types) -> Value {
    let mut writer = Writer { types, definitions: Map::new() };
    let mut object = writer.object(shape, 0);
    if !writer.definitions.is_empty() {
        object.insert("$defs".to_owned(), Value::Object(writer.definitions));
    }
    Value::Object(object)
}

struct Writer<'a> {
    types: &'a Types,
    definitions: Map<String, Value>,
}

impl Writer<'_> {
    fn schema(&mut self, schema: &Schema, depth: usize) -> Value {
        let mut object = match &schema.kind {
            _ if depth > MAX_DEPTH => Map::new(),
            Kind::Any => Map::new(),
            Kind::Null => typed("null"),
            Kind::Boolean => typed("boolean"),
            Kind::Integer => typed("integer"),
            Kind::Number => typed("number"),
            Kind::String => typed("string"),
            Kind::Array(items) => {
                let mut object = typed("array");
                if let Some(items) = items {
                    object.insert("items".to_owned(), self.schema(items, depth + 1));
                }
                object
            }
            Kind::Object(shape) => self.object(shape, depth),
            Kind::Named(name) => self.named(name, depth),
            Kind::Union(members) => {
                let members: Vec<Value> = members.iter().map(|member| self.schema(member, depth + 1)).collect();
                Map::from_iter([("anyOf".to_owned(), Value::Array(members))])
            }
        };
        constraints(&mut object, schema);
        if schema.nullable {
            return json!({ "anyOf": [object, { "type": "null" }] });
        }
        Value::Object(object)
    }

    fn named(&mut self, name: &str, depth: usize) -> Map<String, Value> {
        if !self.definitions.contains_key(name)
            && let Some(target) = self.types.get(name).cloned()
        {
            self.definitions.insert(name.to_owned(), Value::Null);
            let written = self.schema(&target, depth + 1);
            self.definitions.insert(name.to_owned(), written);
        }
        Map::from_iter([("$ref".to_owned(), Value::from(format!("#/$defs/{name}")))])
    }

    fn object(&mut self, shape: &Shape, depth: usize) -> Map<String, Value> {
        let mut object = typed("object");
        let properties: Map<String, Value> =
            shape.fields.iter().map(|field| (field.name.to_string(), self.schema(&field.schema, depth + 1))).collect();
        if !properties.is_empty() {
            object.insert("properties".to_owned(), Value::Object(properties));
        }
        let required: Vec<&str> =
            shape.fields.iter().filter(|field| field.required).map(|field| &*field.name).collect();
        if !required.is_empty() {
            object.insert("required".to_owned(), json!(required));
        }
        match &shape.rest {
            Rest::Refused => {
                object.insert("additionalProperties".to_owned(), Value::Bool(false));
            }
            Rest::Free | Rest::Documented => {}
            Rest::Of(schema) => {
                let rest = self.schema(schema, depth + 1);
                object.insert("additionalProperties".to_owned(), rest);
            }
        }
        object
    }
}

fn typed(name: &str) -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), Value::from(name))])
}

fn constraints(object: &mut Map<String, Value>, schema: &Schema) {
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            object.insert(key.to_owned(), value);
        }
    };
    put("description", schema.description.as_deref().map(Value::from));
    put("default", schema.default.clone());
    put("enum", schema.allowed.as_ref().map(|allowed| Value::Array(allowed.to_vec())));
    put("minimum", schema.range.minimum.map(number));
    put("maximum", schema.range.maximum.map(number));
    put("exclusiveMinimum", schema.range.above.map(number));
    put("exclusiveMaximum", schema.range.below.map(number));
    put("multipleOf", schema.range.multiple_of.map(number));
    put("minLength", schema.length.min.map(Value::from));
    put("maxLength", schema.length.max.map(Value::from));
    put("minItems", schema.items.min.map(Value::from));
    put("maxItems", schema.items.max.map(Value::from));
    put("uniqueItems", schema.unique_items.then_some(Value::Bool(true)));
    put("pattern", schema.pattern.as_ref().map(|pattern| Value::from(pattern.source())));
    put("format", schema.format.as_ref().map(|format| Value::from(format.as_str())));
    put("readOnly", schema.read_only.then_some(Value::Bool(true)));
}
