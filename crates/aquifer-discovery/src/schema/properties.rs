//! Finds all top-level parameters of a schema, wherever they are declared.
//!
//! References allow a short schema to repeat a long list of parameters many times, so the search has a budget. A schema
//! that exceeds it is reported, and its tool needs review.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::definition;

/// Maximum depth. Schemas may refer to each other in a cycle.
const MAX_DEPTH: usize = 16;

/// Maximum number of schemas and parameters examined, because nested alternatives multiply.
const MAX_STEPS: usize = 20_000;

/// Maximum size in bytes of alternative schemas that are compared with each other.
const MAX_COMPARED_BYTES: usize = 4 * 1_024 * 1_024;

/// One top-level parameter.
#[derive(Debug, Clone)]
pub(super) struct Property<'a> {
    pub(super) name: &'a str,
    pub(super) path: String,
    pub(super) schema: Cow<'a, Value>,
    pub(super) required: bool,
}

/// The parameters in the order they were found, and whether the search was complete.
pub(super) fn top_level(root: &Value) -> (Vec<Property<'_>>, bool) {
    let mut found = Properties::default();
    let mut search = Search { root, steps_left: MAX_STEPS, bytes_left: MAX_COMPARED_BYTES, is_complete: true };
    search.gather(root, "inputSchema", 0, &mut found);
    (found.all, search.is_complete)
}

/// One step of a path. Names that are not valid in a path are written as JSON strings in brackets.
pub(super) fn segment(name: &str) -> String {
    let is_plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-$".contains(c));
    if is_plain { format!(".{name}") } else { format!("[{}]", Value::from(name)) }
}

/// Parameters in their order, found by name.
#[derive(Default)]
struct Properties<'a> {
    all: Vec<Property<'a>>,
    places: HashMap<&'a str, usize>,
}

impl<'a> Properties<'a> {
    fn get_mut(&mut self, name: &str) -> Option<&mut Property<'a>> {
        self.places.get(name).and_then(|place| self.all.get_mut(*place))
    }

    /// Adds a parameter. If it is declared several times, the first description is used, and it is required if any
    /// declaration requires it. If it was only listed as required before, it gets its schema now.
    fn insert(&mut self, property: Property<'a>) {
        match self.get_mut(property.name) {
            Some(known) => {
                known.required |= property.required;
                if known.path.ends_with(".required") && !property.path.ends_with(".required") {
                    *known = Property { required: true, ..property };
                }
            }
            None => {
                self.places.insert(property.name, self.all.len());
                self.all.push(property);
            }
        }
    }
}

struct Search<'a> {
    root: &'a Value,
    steps_left: usize,
    bytes_left: usize,
    is_complete: bool,
}

impl<'a> Search<'a> {
    /// Whether there is budget for another step.
    fn step(&mut self) -> bool {
        match self.steps_left.checked_sub(1) {
            Some(left) => self.steps_left = left,
            None => self.is_complete = false,
        }
        self.is_complete
    }

    fn gather(&mut self, node: &'a Value, path: &str, depth: usize, found: &mut Properties<'a>) {
        let Some(object) = node.as_object().filter(|_| depth < MAX_DEPTH) else { return };
        if !self.step() {
            return;
        }
        if let Some((target, place)) =
            object.get("$ref").and_then(Value::as_str).and_then(|name| definition(self.root, name))
        {
            self.gather(target, &format!("inputSchema.{place}"), depth + 1, found);
        }
        for (name, schema) in object.get("properties").and_then(Value::as_object).into_iter().flatten() {
            if !self.step() {
                return;
            }
            let path = format!("{path}.properties{}", segment(name));
            found.insert(Property { name, path, schema: Cow::Borrowed(schema), required: false });
        }
        for (index, part) in list(object, "allOf").iter().enumerate() {
            self.gather(part, &format!("{path}.allOf.{index}"), depth + 1, found);
        }
        for key in ["anyOf", "oneOf"] {
            let members: Vec<Vec<Property<'a>>> = list(object, key)
                .iter()
                .enumerate()
                .map(|(index, member)| {
                    let mut own = Properties::default();
                    self.gather(member, &format!("{path}.{key}.{index}"), depth + 1, &mut own);
                    own.all
                })
                .collect();
            self.merge(members, found);
        }
        for key in ["then", "else"] {
            let mut own = Properties::default();
            if let Some(part) = object.get(key) {
                self.gather(part, &format!("{path}.{key}"), depth + 1, &mut own);
            }
            own.all.into_iter().for_each(|property| found.insert(Property { required: false, ..property }));
        }
        for name in list(object, "required").iter().filter_map(Value::as_str) {
            if !self.step() {
                return;
            }
            match found.get_mut(name) {
                Some(known) => known.required = true,
                // A schema may require a parameter without describing it.
                None => found.insert(Property {
                    name,
                    path: format!("{path}.required"),
                    schema: Cow::Owned(Value::Object(Map::new())),
                    required: true,
                }),
            }
        }
    }

    /// Merges the parameters of a union's alternatives. A parameter is required only if every alternative requires it,
    /// and may have the schema of any of them.
    fn merge(&mut self, members: Vec<Vec<Property<'a>>>, found: &mut Properties<'a>) {
        let count = members.len();
        let mut merged: Vec<MergedProperty<'a>> = Vec::new();
        let mut places: HashMap<&'a str, usize> = HashMap::new();
        for property in members.into_iter().flatten() {
            match places.get(property.name).and_then(|place| merged.get_mut(*place)) {
                Some(known) => {
                    known.required_count += usize::from(property.required);
                    self.add_shape(known, property.schema);
                }
                None => {
                    places.insert(property.name, merged.len());
                    let required_count = usize::from(property.required);
                    merged.push(MergedProperty {
                        shapes: vec![property.schema.clone()],
                        texts: None,
                        property,
                        required_count,
                    });
                }
            }
        }
        for MergedProperty { property, shapes, required_count, .. } in merged {
            let schema = match shapes.as_slice() {
                [only] => only.clone(),
                _ => Cow::Owned(json!({ "anyOf": shapes })),
            };
            found.insert(Property { required: required_count == count, schema, ..property });
        }
    }

    fn add_shape(&mut self, known: &mut MergedProperty<'a>, shape: Cow<'a, Value>) {
        // Alternatives that refer to the same definition have the same schema.
        let is_same = |other: &Cow<'a, Value>| match (other, &shape) {
            (Cow::Borrowed(one), Cow::Borrowed(other)) => std::ptr::eq(*one, *other),
            _ => false,
        };
        if known.shapes.last().is_some_and(is_same) {
            return;
        }
        let text = shape.to_string();
        match self.bytes_left.checked_sub(text.len()) {
            Some(left) => self.bytes_left = left,
            None => {
                self.is_complete = false;
                return;
            }
        }
        let shapes = &known.shapes;
        let texts = known.texts.get_or_insert_with(|| shapes.iter().map(|shape| shape.to_string()).collect());
        if texts.insert(text) {
            known.shapes.push(shape);
        }
    }
}

/// A parameter of several alternatives.
struct MergedProperty<'a> {
    property: Property<'a>,
    shapes: Vec<Cow<'a, Value>>,
    /// The schemas as text. `None` while there is only one.
    texts: Option<HashSet<String>>,
    required_count: usize,
}

fn list<'a>(object: &'a Map<String, Value>, key: &str) -> &'a [Value] {
    object.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
