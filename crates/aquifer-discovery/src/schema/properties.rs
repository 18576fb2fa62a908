//! The top-level parameters of a schema, wherever in it they stand: none may be lost.

use serde_json::{Map, Value, json};

use super::definition;

/// Schemas that refer to each other in a circle end here.
const DEEPEST: usize = 16;

/// More places are not looked at: alternatives that refer to alternatives would multiply without end.
const MOST_PLACES: usize = 10_000;

/// One top-level parameter.
#[derive(Debug, Clone)]
pub(super) struct Property {
    pub(super) name: String,
    pub(super) path: String,
    pub(super) schema: Value,
    pub(super) required: bool,
}

/// The parameters in the order they are met.
pub(super) fn top_level(root: &Value) -> Vec<Property> {
    let mut found = Vec::new();
    Search { root, places: 0 }.gather(root, "inputSchema", 0, &mut found);
    found
}

/// One step of a dot-path. Names that a dot-path cannot hold stand in brackets, as JSON strings.
pub(super) fn segment(name: &str) -> String {
    let is_plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-$".contains(c));
    if is_plain { format!(".{name}") } else { format!("[{}]", Value::from(name)) }
}

struct Search<'a> {
    root: &'a Value,
    places: usize,
}

impl Search<'_> {
    fn gather(&mut self, node: &Value, path: &str, depth: usize, found: &mut Vec<Property>) {
        self.places += 1;
        let Some(object) = node.as_object().filter(|_| depth < DEEPEST && self.places < MOST_PLACES) else { return };
        if let Some((target, place)) =
            object.get("$ref").and_then(Value::as_str).and_then(|name| definition(self.root, name))
        {
            self.gather(target, &format!("inputSchema.{place}"), depth + 1, found);
        }
        for (name, schema) in object.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let path = format!("{path}.properties{}", segment(name));
            enter(found, Property { name: name.clone(), path, schema: schema.clone(), required: false });
        }
        for (index, part) in list(object, "allOf").iter().enumerate() {
            self.gather(part, &format!("{path}.allOf.{index}"), depth + 1, found);
        }
        for key in ["anyOf", "oneOf"] {
            let members: Vec<Vec<Property>> = list(object, key)
                .iter()
                .enumerate()
                .map(|(index, member)| {
                    let mut own = Vec::new();
                    self.gather(member, &format!("{path}.{key}.{index}"), depth + 1, &mut own);
                    own
                })
                .collect();
            join(members, found);
        }
        for key in ["then", "else"] {
            let mut own = Vec::new();
            if let Some(part) = object.get(key) {
                self.gather(part, &format!("{path}.{key}"), depth + 1, &mut own);
            }
            own.into_iter().for_each(|property| enter(found, Property { required: false, ..property }));
        }
        for name in list(object, "required").iter().filter_map(Value::as_str) {
            match found.iter_mut().find(|known| known.name == name) {
                Some(known) => known.required = true,
                // A schema may demand what it does not describe.
                None => found.push(Property {
                    name: name.to_owned(),
                    path: format!("{path}.required"),
                    schema: Value::Object(Map::new()),
                    required: true,
                }),
            }
        }
    }
}

/// What the alternatives of a union have: demanded only where every one demands it, shaped as any one shapes it.
fn join(members: Vec<Vec<Property>>, found: &mut Vec<Property>) {
    let count = members.len();
    let mut joined: Vec<(Property, Vec<Value>, usize)> = Vec::new();
    for property in members.into_iter().flatten() {
        match joined.iter_mut().find(|(known, ..)| known.name == property.name) {
            Some((_, shapes, demands)) => {
                *demands += usize::from(property.required);
                if !shapes.contains(&property.schema) {
                    shapes.push(property.schema);
                }
            }
            None => {
                let (shape, demands) = (property.schema.clone(), usize::from(property.required));
                joined.push((property, vec![shape], demands));
            }
        }
    }
    for (property, shapes, demands) in joined {
        let schema = match shapes.as_slice() {
            [only] => only.clone(),
            _ => json!({ "anyOf": shapes }),
        };
        enter(found, Property { required: demands == count, schema, ..property });
    }
}

/// The first description of a parameter stands; whoever demands it, it is demanded. One that was only demanded before
/// gets its shape now.
fn enter(found: &mut Vec<Property>, property: Property) {
    match found.iter_mut().find(|known| known.name == property.name) {
        Some(known) => {
            known.required |= property.required;
            if known.path.ends_with(".required") && !property.path.ends_with(".required") {
                *known = Property { required: true, ..property };
            }
        }
        None => found.push(property),
    }
}

fn list<'a>(object: &'a Map<String, Value>, key: &str) -> &'a [Value] {
    object.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
