//! What several fields of a body have to meet together: the required fields of alternatives (`anyOf`, `oneOf`), and
//! `minProperties`.
//!
//! Alternatives that only require different fields do not change the shape of a body, so that its schema does not
//! express them. An alternative may say more than that; what it requires holds all the same. Everything that cannot be
//! expressed is left to the API.

use std::sync::Arc;

use aquifer_protocol::requirement::{Needs, Requirement};
use aquifer_protocol::schema::{Parameter, Rest, Shape, Types};
use serde_json::Value;

use super::document::Document;
use crate::route::{Place, RouteParameter};

/// The maximum number of requirements of a body.
const MAX_REQUIREMENTS: usize = 8;

/// The maximum number of alternatives. Requirements with more are left to the API.
const MAX_SETS: usize = 64;

/// The maximum number of fields that one alternative requires.
const MAX_NAMES: usize = 32;

/// How deeply the parts of an `allOf` are searched.
const MAX_DEPTH: usize = 8;

/// How many parts are looked at.
const MAX_PARTS: usize = 200;

/// The fields of a body, and which of them a caller gives.
pub(super) struct BodyFields<'a> {
    shape: &'a Shape,
    types: &'a Types,
    /// The parameter that contains them, or `None` if they are parameters themselves.
    within: Option<Arc<str>>,
}

impl<'a> BodyFields<'a> {
    pub(super) fn new(shape: &'a Shape, types: &'a Types, within: Option<&str>) -> Self {
        Self { shape, types, within: within.map(Into::into) }
    }

    /// Reads the requirements of a body with this schema.
    pub(super) fn requirements(&self, document: &Document<'_>, schema: &Value) -> Vec<Requirement> {
        let mut found = Vec::new();
        let mut parts_left = MAX_PARTS;
        self.collect(document, schema, 0, &mut parts_left, &mut found);
        let within = || self.within.clone();
        found.into_iter().take(MAX_REQUIREMENTS).map(|needs| Requirement { within: within(), needs }).collect()
    }

    fn collect(
        &self,
        document: &Document<'_>,
        schema: &Value,
        depth: usize,
        parts_left: &mut usize,
        found: &mut Vec<Needs>,
    ) {
        if depth > MAX_DEPTH || *parts_left == 0 || found.len() >= MAX_REQUIREMENTS {
            return;
        }
        *parts_left -= 1;
        let Ok(schema) = document.resolve(schema) else { return };
        for key in ["oneOf", "anyOf"] {
            let members = schema.get(key).and_then(Value::as_array).filter(|members| !members.is_empty());
            let needs = members.and_then(|members| self.one_of(document, members));
            found.extend(needs.filter(|needs| !found.contains(needs)));
        }
        found.extend(self.at_least(schema).filter(|needs| !found.contains(needs)));
        for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.collect(document, part, depth + 1, parts_left, found);
        }
    }

    /// What alternatives require. `None` if one of them requires nothing, so that the requirement is always met.
    fn one_of(&self, document: &Document<'_>, members: &[Value]) -> Option<Needs> {
        if members.len() > MAX_SETS {
            return None;
        }
        let mut sets: Vec<Vec<Arc<str>>> = Vec::new();
        for member in members {
            let member = document.resolve(member).ok()?;
            let names = member.get("required").and_then(Value::as_array)?;
            if names.len() > MAX_NAMES {
                return None;
            }
            match self.set(names) {
                Some(set) if set.is_empty() => return None,
                Some(set) if !sets.contains(&set) => sets.push(set),
                _ => {}
            }
        }
        (!sets.is_empty()).then_some(Needs::OneOf(sets))
    }

    /// The fields of an alternative that are not demanded anyway. `None` if a caller cannot give all of them.
    fn set(&self, names: &[Value]) -> Option<Vec<Arc<str>>> {
        let mut set: Vec<Arc<str>> = Vec::new();
        for name in names.iter().filter_map(Value::as_str) {
            match self.shape.fields.iter().find(|field| &*field.name == name) {
                // The API sets these itself, so that they are required in its answers only.
                Some(field) if self.is_read_only(field) => {}
                Some(field) if field.required || set.contains(&field.name) => {}
                Some(field) => set.push(field.name.clone()),
                None if self.is_open() => set.push(name.into()),
                None => return None,
            }
        }
        Some(set)
    }

    fn at_least(&self, schema: &Value) -> Option<Needs> {
        let count = usize::try_from(schema.get("minProperties")?.as_u64()?).ok()?;
        let fields = || self.shape.fields.iter().filter(|field| !self.is_read_only(field));
        if count <= fields().filter(|field| field.required).count() {
            return None;
        }
        let names: Vec<Arc<str>> = fields().map(|field| field.name.clone()).collect();
        (names.len() >= count || self.is_open()).then_some(Needs::AtLeast { count, names })
    }

    fn is_open(&self) -> bool {
        self.within.is_some() && !matches!(self.shape.rest, Rest::Refused)
    }

    fn is_read_only(&self, field: &Parameter) -> bool {
        field.schema.read_only || field.schema.resolve(self.types).read_only
    }
}

/// Requirements of a body under the canonical names of its parameters.
pub(super) fn renamed(requirements: Vec<Requirement>, routes: &[RouteParameter]) -> Vec<Requirement> {
    let named = |original: &str, place: Place| {
        let is_same = |one: &&RouteParameter| one.place == place && &*one.original_name == original;
        routes.iter().find(is_same).map(|one| one.name.clone())
    };
    let field = |name: Arc<str>| named(&name, Place::BodyField).unwrap_or(name);
    let renamed = requirements.into_iter().map(|Requirement { within, needs }| match (within, needs) {
        (Some(within), needs) => Requirement { within: Some(named(&within, Place::Body).unwrap_or(within)), needs },
        (None, Needs::OneOf(sets)) => {
            let sets = sets.into_iter().map(|set| set.into_iter().map(field).collect()).collect();
            Requirement { within: None, needs: Needs::OneOf(sets) }
        }
        (None, Needs::AtLeast { count, names }) => {
            let names = names.into_iter().map(field).collect();
            Requirement { within: None, needs: Needs::AtLeast { count, names } }
        }
    });
    // Some fields are not offered, such as those that would choose another method.
    let is_offered = |name: &str| routes.iter().any(|one| &*one.name == name);
    renamed.filter_map(|requirement| requirement.limited_to(is_offered)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use aquifer_protocol::schema::{Kind, Schema, SchemaReader};
    use serde_json::json;

    use super::super::options::ReadOptions;
    use super::*;

    /// The requirements of a body as sentences.
    fn sentences(schema: Value, within: Option<&str>) -> Vec<String> {
        let document_json = json!({});
        let options = ReadOptions::default();
        let document = Document::load(&document_json, &options);
        let read: Schema = SchemaReader::new(&schema).read(&schema);
        let Kind::Object(shape) = read.kind else { return vec!["no object".to_owned()] };
        let types = Types::new();
        let fields = BodyFields::new(&shape, &types, within);
        fields.requirements(&document, &schema).iter().map(Requirement::sentence).collect()
    }

    fn body(more: Value) -> Value {
        let mut body = json!({ "type": "object", "required": ["r"], "properties": {
            "a": { "type": "string" }, "b": { "type": "string" }, "c": { "type": "string" },
            "r": { "type": "string" }, "own": { "type": "string", "readOnly": true }
        } });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    }

    #[test]
    fn alternatives_that_require_different_fields_are_a_requirement() {
        for (more, expected) in [
            (json!({ "anyOf": [{ "required": ["a"] }, { "required": ["b"] }] }), Some("One of 'a' or 'b' is required")),
            (
                json!({ "oneOf": [{ "required": ["a"] }, { "required": ["b", "c"] }] }),
                Some("One of 'a' or ('b' and 'c') is required"),
            ),
            (
                json!({ "anyOf": [{ "required": ["a", "r", "own"] }, { "required": ["b"] }] }),
                Some("One of 'a' or 'b' is required"),
            ),
            (
                json!({ "allOf": [{ "anyOf": [{ "required": ["a"] }, { "required": ["b"] }] }] }),
                Some("One of 'a' or 'b' is required"),
            ),
            (json!({ "minProperties": 2 }), Some("At least 2 of 'a', 'b', 'c' and 'r' are required")),
            // These are always met.
            (json!({ "anyOf": [{ "required": ["a"] }, {}] }), None),
            (json!({ "anyOf": [{ "required": ["a"] }, { "required": ["r"] }] }), None),
            (json!({ "anyOf": [{ "required": ["a"] }, { "required": ["own"] }] }), None),
            (json!({ "anyOf": [{ "required": ["a"] }, { "not": { "required": ["b"] } }] }), None),
            (json!({ "minProperties": 1 }), None),
            // These cannot be met by a caller, or make no sense.
            (json!({ "anyOf": [{ "required": ["z"] }] }), None),
            (json!({ "minProperties": 9 }), None),
            (json!({ "minProperties": -1, "anyOf": 5, "oneOf": [5], "allOf": [null] }), None),
            (json!({ "anyOf": [{ "required": "a" }, { "required": [1] }] }), None),
        ] {
            let found = sentences(body(more.clone()), None);
            assert_eq!(found.first().map(String::as_str), expected, "{more}: {found:?}");
        }
    }

    #[test]
    fn fields_of_an_object_are_named_with_it() {
        let open = body(json!({ "anyOf": [{ "required": ["a"] }, { "required": ["z"] }] }));
        assert_eq!(sentences(open.clone(), Some("input")), ["One of 'input.a' or 'input.z' is required"]);
        let mut closed = open;
        closed["additionalProperties"] = json!(false);
        assert_eq!(sentences(closed, Some("input")), ["'input.a' is required"]);
    }

    #[test]
    fn the_size_of_requirements_is_limited() {
        let sets: Vec<Value> = (0..1_000).map(|_| json!({ "required": ["a"] })).collect();
        assert_eq!(sentences(body(json!({ "anyOf": sets })), None), [] as [&str; 0]);
        let names: Vec<&str> = vec!["a"; 1_000];
        assert_eq!(sentences(body(json!({ "anyOf": [{ "required": names }] })), None), [] as [&str; 0]);
        let mut nested = json!({ "anyOf": [{ "required": ["a"] }] });
        for _ in 0..50 {
            nested = json!({ "allOf": [nested] });
        }
        assert_eq!(sentences(body(nested), None), [] as [&str; 0]);
    }
}
