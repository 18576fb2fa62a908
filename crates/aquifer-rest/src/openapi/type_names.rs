//! Resolves references to schemas, and names their types in a single namespace for the whole description.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use aquifer_discovery::name;
use aquifer_protocol::case::pascal_case;
use aquifer_protocol::schema::{Definition, Definitions};
use serde_json::Value;

use super::document::Document;

/// The location of the schemas in a description.
const SCHEMAS: &str = "#/components/schemas/";

/// The maximum length of a type name that is kept.
const MAX_TYPE_NAME: usize = 80;

/// The maximum number of missing references that are remembered.
const MAX_MISSING: usize = 1_000;

/// Parts of a pointer that carry no meaning.
const STRUCTURE: &[&str] = &[
    "components",
    "schemas",
    "definitions",
    "$defs",
    "properties",
    "items",
    "schema",
    "content",
    "allOf",
    "anyOf",
    "oneOf",
    "additionalProperties",
    "paths",
    "responses",
    "requestBody",
    "requestBodies",
    "parameters",
    "headers",
    "application",
    "json",
];

/// The type names in use, each with the next number to try.
#[derive(Debug, Clone, Default)]
pub(super) struct TakenNames(Rc<RefCell<HashMap<Arc<str>, u64>>>);

impl TakenNames {
    /// The preferred name, or that name with the next free number.
    pub(super) fn claim(&self, wanted: &str) -> Arc<str> {
        let mut taken = self.0.borrow_mut();
        let mut number = taken.get(wanted).copied().unwrap_or_default();
        let mut name: Arc<str> = wanted.into();
        while taken.contains_key(&name) {
            number += 1;
            name = format!("{wanted}{number}").into();
        }
        taken.insert(wanted.into(), number.max(1));
        taken.entry(name.clone()).or_insert(1);
        name
    }
}

/// References that cannot be resolved, and the reasons.
pub(super) type MissingReferences = Rc<RefCell<BTreeMap<String, String>>>;

/// The schemas of a description by reference.
pub(super) struct TypeNames<'d> {
    document: &'d Document<'d>,
    /// The type names of the schemas in `components`, by original name.
    components: HashMap<&'d str, Arc<str>>,
    taken: TakenNames,
    /// The type names of other schemas, by reference.
    others: HashMap<String, Arc<str>>,
    missing: MissingReferences,
}

impl<'d> TypeNames<'d> {
    pub(super) fn new(document: &'d Document<'d>, taken: TakenNames, missing: MissingReferences) -> Self {
        let schemas = document.root().pointer("/components/schemas").and_then(Value::as_object);
        let mut keys: Vec<&str> = schemas.into_iter().flatten().map(|(key, _)| key.as_str()).collect();
        // Names that can be kept are assigned first, so that no derived name takes one of them.
        keys.sort_by_key(|key| (type_name(key) != **key, *key));
        let components = keys.into_iter().map(|key| (key, taken.claim(&type_name(key)))).collect();
        Self { document, components, taken, others: HashMap::new(), missing }
    }

    fn name(&mut self, reference: &str) -> Arc<str> {
        let key = reference.strip_prefix(SCHEMAS).filter(|key| !key.contains('/'));
        if let Some(known) = key.and_then(|key| self.components.get(&*unescape(key))) {
            return known.clone();
        }
        if let Some(known) = self.others.get(reference) {
            return known.clone();
        }
        let name = self.taken.claim(&name_of_place(reference));
        self.others.insert(reference.to_owned(), name.clone());
        name
    }
}

impl<'d> Definitions<'d> for TypeNames<'d> {
    fn find(&mut self, reference: &str) -> Option<Definition<'d>> {
        match self.document.find(reference) {
            Ok(schema) => Some(Definition { name: self.name(reference), schema }),
            Err(reason) => {
                let mut missing = self.missing.borrow_mut();
                if missing.len() < MAX_MISSING {
                    missing.insert(reference.to_owned(), reason);
                }
                None
            }
        }
    }
}

/// Converts a name into a type name: `simple-user` becomes `SimpleUser`.
pub(super) fn type_name(key: &str) -> String {
    let is_name = |key: &str| {
        key.starts_with(|c: char| c.is_ascii_alphabetic()) && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let name: String = match is_name(key) {
        true if key.starts_with(|c: char| c.is_ascii_uppercase()) => key.to_owned(),
        _ => pascal_case(key).chars().filter(char::is_ascii_alphanumeric).collect(),
    };
    let name = if is_name(&name) { name } else { format!("Type{name}") };
    name::fit(&name, MAX_TYPE_NAME)
}

/// A name for a type outside the schemas section: the last two meaningful parts of the pointer.
fn name_of_place(reference: &str) -> String {
    let (document, pointer) = reference.split_once('#').unwrap_or((reference, ""));
    let file = document.rsplit('/').next().and_then(|file| file.split('.').next()).unwrap_or_default();
    let parts = pointer.split('/').flat_map(|part| {
        let part = unescape(part);
        part.split(['/', '{', '}']).map(str::to_owned).collect::<Vec<_>>()
    });
    let is_telling = |part: &String| {
        !part.is_empty() && !STRUCTURE.contains(&part.as_str()) && !part.chars().all(|c| c.is_ascii_digit())
    };
    let telling: Vec<String> = std::iter::once(file.to_owned()).chain(parts).filter(is_telling).collect();
    let last_two = telling.iter().skip(telling.len().saturating_sub(2)).map(String::as_str);
    type_name(&last_two.collect::<Vec<_>>().join("-"))
}

fn unescape(part: &str) -> std::borrow::Cow<'_, str> {
    if part.contains('~') { part.replace("~1", "/").replace("~0", "~").into() } else { part.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_names_of_types() {
        for (key, expected) in [
            ("Issue", "Issue"),
            ("simple-user", "SimpleUser"),
            ("io.k8s.api.core.v1.Pod", "IoK8sApiCoreV1Pod"),
            ("API_Key", "API_Key"),
            ("200", "Type200"),
            ("", "Type"),
            ("日本", "Type"),
        ] {
            assert_eq!(type_name(key), expected);
        }
        assert!(type_name(&"Long".repeat(100)).len() <= MAX_TYPE_NAME);
    }

    #[test]
    fn taken_names_are_numbered() {
        let taken = TakenNames::default();
        let claimed = ["A2", "A", "A", "A", "B"].map(|name| taken.claim(name).to_string());
        assert_eq!(claimed, ["A2", "A", "A3", "A4", "B"]);
    }

    #[test]
    fn types_elsewhere_are_named_after_their_place() {
        for (reference, expected) in [
            ("#/components/schemas/Pet/properties/owner", "PetOwner"),
            ("#/paths/~1pets~1{id}/get/responses/200/content/application~1json/schema", "IdGet"),
            ("schemas/pet.yaml#/Dog", "PetDog"),
            ("pet.json", "Pet"),
        ] {
            assert_eq!(name_of_place(reference), expected);
        }
    }
}
