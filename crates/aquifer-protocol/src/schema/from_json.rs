//! Converts JSON Schema into a [`Schema`].
//!
//! Definitions become named types, so recursive definitions stay recursive. Keywords that the model cannot express
//! (`not`, `if`, conditional requirements) are dropped. The result then accepts more than the JSON Schema, and the owner
//! of the schema refuses the rest.

mod composition;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::text::is_clean;
use crate::text::secrets::looks_like_secret;

use super::definitions::{Definition, Definitions, LocalDefinitions, is_annotation, is_compound};
use super::size::constraint_bytes;
use super::{Deprecation, Format, Kind, Parameter, Pattern, PatternBudget, Range, Rest, Schema, Shape, Span, Types};

use composition::join;

/// Maximum depth. Deeper schemas are read as "anything", because they are untrusted and reading them must terminate.
const MAX_DEPTH: usize = 64;

/// Maximum number of type names in a schema. JSON Schema has seven types.
const MAX_TYPE_NAMES: usize = 16;

/// Maximum number of schemas read for one document, because references multiply them. Further ones are read as
/// "anything".
const MAX_STEPS: usize = 100_000;

/// Maximum bytes of constraints that are copied to inline references, for every [`MAX_STEPS`]. Further references stay
/// named types, so that a thousand references to a long list do not make a thousand copies of it.
const MAX_INLINED_BYTES: usize = 64 * 1024;

/// Maximum number of aliases that are followed in a part of an `allOf`.
const MAX_ALIASES: usize = 16;

/// Converts the schemas of one document, which share its definitions.
pub struct SchemaReader<'a> {
    definitions: Box<dyn Definitions<'a> + 'a>,
    types: Types,
    /// The types being read, outermost first.
    reading: Vec<Arc<str>>,
    /// The referenced types that are still to be read. They are read one after the other instead of recursively, so
    /// that a long chain of references cannot overflow the stack.
    pending: BTreeMap<Arc<str>, &'a Value>,
    steps_left: usize,
    inline_bytes_left: usize,
    patterns: Arc<PatternBudget>,
}

impl<'a> SchemaReader<'a> {
    /// A reader for schemas that refer to definitions in `document`.
    pub fn new(document: &'a Value) -> Self {
        Self::with_definitions(LocalDefinitions::new(document), MAX_STEPS)
    }

    /// A reader for schemas whose references point to these definitions. At most `max_steps` schemas are read; further
    /// ones are read as "anything".
    pub fn with_definitions(definitions: impl Definitions<'a> + 'a, max_steps: usize) -> Self {
        Self {
            definitions: Box::new(definitions),
            types: Types::new(),
            reading: Vec::new(),
            pending: BTreeMap::new(),
            steps_left: max_steps,
            inline_bytes_left: MAX_INLINED_BYTES.saturating_mul((max_steps / MAX_STEPS).max(1)),
            patterns: Arc::default(),
        }
    }

    /// Reads one schema, and the types it refers to.
    pub fn read(&mut self, json: &Value) -> Schema {
        let schema = self.schema(json, 0);
        while let Some((name, definition)) = self.pending.pop_first() {
            self.define(name, definition, 0);
        }
        schema
    }

    /// The named types read so far.
    pub fn types(&self) -> &Types {
        &self.types
    }

    /// The named types read so far.
    pub fn into_types(self) -> Types {
        self.types
    }

    /// Whether every schema was read, so that none was replaced by "anything".
    pub fn is_complete(&self) -> bool {
        self.steps_left > 0
    }

    fn schema(&mut self, json: &Value, depth: usize) -> Schema {
        let is_within = depth < MAX_DEPTH && self.steps_left > 0;
        let Some(object) = json.as_object().filter(|_| is_within) else { return Schema::default() };
        self.steps_left -= 1;
        let mut schema = match object.get("$ref").and_then(Value::as_str) {
            Some(reference) => self.reference(reference, depth),
            None => self.shape(object, depth),
        };
        self.annotate(&mut schema, object);
        schema
    }

    /// Resolves a reference. A list of words is inlined, so that the caller need not look up the type.
    fn reference(&mut self, reference: &str, depth: usize) -> Schema {
        let Some(Definition { name, schema: definition }) = self.definitions.find(reference) else {
            return Schema::default();
        };
        let reading = self.reading.contains(&name);
        let is_known = reading || self.types.contains_key(&name);
        if is_compound(definition) {
            if !is_known {
                self.pending.insert(name.clone(), definition);
            }
            return Schema::new(Kind::Named(name));
        }
        if !is_known {
            self.define(name.clone(), definition, depth);
        }
        match self.types.get(&name).filter(|_| !reading) {
            // A type without fields is inlined with its constraints. A union is not, because it may contain itself.
            Some(target) if !matches!(target.kind, Kind::Object(_) | Kind::Union(_) | Kind::Named(_)) => {
                match self.inline_bytes_left.checked_sub(constraint_bytes(target)) {
                    Some(left) => {
                        self.inline_bytes_left = left;
                        Schema { description: None, ..(**target).clone() }
                    }
                    None => Schema::new(Kind::Named(name)),
                }
            }
            _ => Schema::new(Kind::Named(name)),
        }
    }

    /// Converts a definition into a type. A recursive type finds its own name in `reading`.
    fn define(&mut self, name: Arc<str>, definition: &Value, depth: usize) {
        self.pending.remove(&name);
        self.reading.push(name.clone());
        let schema = self.schema(definition, depth + 1);
        self.reading.pop();
        self.types.insert(name, Arc::new(schema));
    }

    /// Reads a part of an `allOf` and follows aliases, because its fields are needed immediately.
    fn part(&mut self, json: &Value, depth: usize) -> Schema {
        let schema = self.schema(json, depth);
        let mut kind = schema.kind.clone();
        for _ in 0..MAX_ALIASES {
            let Kind::Named(name) = kind else { break };
            if let Some(definition) = self.pending.remove(&name) {
                self.define(name.clone(), definition, depth);
            }
            let Some(target) = self.types.get(&name) else { break };
            match &target.kind {
                Kind::Named(next) => kind = Kind::Named(next.clone()),
                _ => break,
            }
        }
        schema
    }

    fn shape(&mut self, object: &Map<String, Value>, depth: usize) -> Schema {
        for key in ["oneOf", "anyOf"] {
            let members = object.get(key).and_then(Value::as_array);
            // Alternatives that only require different fields do not change the shape.
            if let Some(members) = members.filter(|members| !members.iter().all(is_annotation)) {
                return self.alternatives(members, object, key, depth);
            }
        }
        if let Some(parts) = object.get("allOf").and_then(Value::as_array) {
            return self.intersection(parts, object, depth);
        }
        match object.get("type") {
            Some(Value::String(name)) => self.typed(name, object, depth),
            Some(Value::Array(names)) => {
                // In the order of the document, without duplicates.
                let mut seen = HashSet::new();
                let words = names.iter().filter_map(Value::as_str).filter(|word| seen.insert(*word));
                let mut members: Vec<Schema> =
                    words.take(MAX_TYPE_NAMES).map(|name| self.typed(name, object, depth)).collect();
                join(&mut members)
            }
            _ if states_fields(object) => self.typed("object", object, depth),
            _ => Schema::default(),
        }
    }

    fn typed(&mut self, name: &str, object: &Map<String, Value>, depth: usize) -> Schema {
        Schema::new(match name {
            "null" => Kind::Null,
            "boolean" => Kind::Boolean,
            "integer" => Kind::Integer,
            "number" => Kind::Number,
            "string" => Kind::String,
            "array" => Kind::Array(object.get("items").map(|items| Box::new(self.schema(items, depth + 1)))),
            "object" => Kind::Object(self.fields(object, depth)),
            _ => Kind::Any,
        })
    }

    fn fields(&mut self, object: &Map<String, Value>, depth: usize) -> Shape {
        let required: HashSet<&str> = object
            .get("required")
            .and_then(Value::as_array)
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let properties = object.get("properties").and_then(Value::as_object);
        let mut fields: Vec<Parameter> = properties
            .into_iter()
            .flatten()
            .map(|(name, json)| self.parameter(name, json, required.contains(name.as_str()), depth + 1))
            .collect();
        // A field may be required without being described, or described in another part of an `allOf`.
        let is_undescribed = |name: &&&str| properties.is_none_or(|properties| !properties.contains_key(**name));
        let mut undescribed: Vec<&str> = required.iter().filter(is_undescribed).copied().collect();
        undescribed.sort_unstable();
        undescribed.truncate(self.steps_left);
        self.steps_left -= undescribed.len();
        fields.extend(undescribed.into_iter().map(|name| Parameter::required(name, Schema::default())));
        // Names that match a pattern are not "additional", and name patterns are not checked here.
        let by_pattern = object.get("patternProperties").and_then(Value::as_object).is_some_and(|all| !all.is_empty());
        let rest = match object.get("additionalProperties") {
            _ if by_pattern => Rest::Free,
            Some(Value::Bool(false)) => Rest::Refused,
            Some(json) if json.as_object().is_some_and(|json| !json.is_empty()) => {
                Rest::Of(Box::new(self.schema(json, depth + 1)))
            }
            _ => Rest::Free,
        };
        Shape { fields, rest }
    }

    fn parameter(&mut self, name: &str, json: &Value, required: bool, depth: usize) -> Parameter {
        let flag = |key: &str| json.get(key).and_then(Value::as_bool) == Some(true);
        let deprecated = flag("deprecated").then(Deprecation::default);
        Parameter {
            name: name.into(),
            original_name: None,
            required,
            schema: self.schema(json, depth),
            sensitive: flag("writeOnly") || flag("sensitive"),
            allow_nul: flag("allowNul"),
            deprecated,
            is_shared: false,
        }
    }

    fn annotate(&self, schema: &mut Schema, object: &Map<String, Value>) {
        let text = |key: &str| object.get(key).and_then(Value::as_str);
        let count = |key: &str| object.get(key).and_then(Value::as_u64);
        let number = |key: &str| object.get(key).and_then(Value::as_f64);
        if let Some(description) = text("description") {
            schema.description = Some(description.into());
        }
        if let Some(default) = object.get("default").filter(|default| !default.is_null()) {
            schema.default = Some(default.clone());
        }
        let examples = object.get("examples").and_then(Value::as_array).into_iter().flatten();
        if let Some(example) = examples.chain(object.get("example")).find(|example| is_good_example(example)) {
            schema.example = Some(example.clone());
        }
        if let Some(values) = object.get("enum").and_then(Value::as_array) {
            schema.nullable |= values.contains(&Value::Null);
            let allowed: Arc<[Value]> = values.iter().filter(|value| !value.is_null()).cloned().collect();
            // A list that contains only null would exclude every other value.
            schema.allowed = Some(allowed).filter(|allowed| !allowed.is_empty());
        }
        match object.get("const") {
            Some(Value::Null) => schema.kind = Kind::Null,
            Some(value) => schema.allowed = Some([value.clone()].into()),
            None => {}
        }
        // A reference has its own constraints. The keywords beside it are added to them.
        let range = schema.range;
        schema.range = Range {
            minimum: number("minimum").or(range.minimum),
            maximum: number("maximum").or(range.maximum),
            above: number("exclusiveMinimum").or(range.above),
            below: number("exclusiveMaximum").or(range.below),
            multiple_of: number("multipleOf").filter(|step| *step > 0.0).or(range.multiple_of),
        };
        exclude_bounds(&mut schema.range, object);
        let beside =
            |least: &str, most: &str, own: Span| Span { min: count(least).or(own.min), max: count(most).or(own.max) };
        schema.length = beside("minLength", "maxLength", schema.length);
        schema.items = beside("minItems", "maxItems", schema.items);
        schema.unique_items |= object.get("uniqueItems").and_then(Value::as_bool) == Some(true);
        if let Some(pattern) = text("pattern") {
            schema.pattern = Some(Pattern::within(pattern, &self.patterns));
        }
        if let (Some(format), Kind::Integer) = (text("format"), &schema.kind) {
            narrow(&mut schema.range, format);
        }
        if let (Some(format), Kind::String) = (text("format"), &schema.kind) {
            schema.format = Some(Format::from_name(format));
        }
        schema.read_only |= object.get("readOnly").and_then(Value::as_bool) == Some(true);
        if object.get("nullable").and_then(Value::as_bool) == Some(true) {
            schema.nullable = true;
        }
    }
}

/// Whether the schema describes fields of an object, possibly without stating the type.
fn states_fields(object: &Map<String, Value>) -> bool {
    let has_required = object.get("required").and_then(Value::as_array).is_some_and(|names| !names.is_empty());
    has_required || object.contains_key("properties")
}

/// Whether an example can be shown unchanged: a short plain value that is not a secret.
fn is_good_example(example: &Value) -> bool {
    const MAX_CHARS: usize = 80;
    match example {
        Value::String(text) => {
            !text.is_empty() && text.chars().count() <= MAX_CHARS && is_clean(text) && !looks_like_secret(text)
        }
        Value::Number(_) | Value::Bool(_) => true,
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

/// Handles older versions of JSON Schema, in which `exclusiveMinimum` and `exclusiveMaximum` are flags of the bounds.
fn exclude_bounds(range: &mut Range, object: &Map<String, Value>) {
    let is_set = |key: &str| object.get(key) == Some(&Value::Bool(true));
    if is_set("exclusiveMinimum") {
        range.above = range.minimum.take();
    }
    if is_set("exclusiveMaximum") {
        range.below = range.maximum.take();
    }
}

/// Applies the range of an integer format, unless the schema has a narrower one. Messages cannot contain more than 64
/// bits anyway.
fn narrow(range: &mut Range, format: &str) {
    let (least, most) = match format {
        "int8" => (f64::from(i8::MIN), f64::from(i8::MAX)),
        "int16" => (f64::from(i16::MIN), f64::from(i16::MAX)),
        "int32" | "int" => (f64::from(i32::MIN), f64::from(i32::MAX)),
        "uint8" => (0.0, f64::from(u8::MAX)),
        "uint16" => (0.0, f64::from(u16::MAX)),
        "uint32" | "uint" => (0.0, f64::from(u32::MAX)),
        _ => return,
    };
    range.minimum = range.minimum.or(Some(least));
    range.maximum = range.maximum.or(Some(most));
}
