//! Parameters of operations: where each is sent, and distinct names for them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use aquifer_discovery::name;
use aquifer_protocol::schema::{Deprecation, Parameter, Schema};
use serde_json::{Map, Value};

use super::document::Document;
use super::media;
use super::query_string::{self, QueryString};
use super::sanitize;
use super::schemas::Schemas;
use super::text::quote;
use crate::route::{Notation, Place, RouteParameter, Style, is_override};

/// Headers that other parts of a description define. The specification says to ignore parameters of these names.
const IGNORED_HEADERS: &[&str] = &["accept", "content-type", "authorization"];

/// The maximum number of parameters of an operation.
const MAX_PARAMETERS: usize = 1_000;

/// A parameter under its original name, with its place.
#[derive(Debug, Clone)]
pub(super) struct PlacedParameter {
    pub(super) place: Place,
    /// The parameter. Its name is the original one.
    pub(super) parameter: Parameter,
}

/// Caches parameters that several operations refer to.
#[derive(Default)]
pub(super) struct ParameterCache(HashMap<usize, Option<PlacedParameter>>);

/// Reads the parameters of an operation: those of its path, and its own, which take precedence.
pub(super) fn read<'d>(
    document: &'d Document<'_>,
    schemas: &mut Schemas<'_>,
    cache: &mut ParameterCache,
    lists: [Option<&'d Value>; 2],
) -> Result<Vec<PlacedParameter>, String> {
    let mut found: Vec<PlacedParameter> = Vec::new();
    let mut places: HashMap<(Arc<str>, u8), usize> = HashMap::new();
    let mut query_string = QueryString::default();
    let written = lists.into_iter().flatten().filter_map(Value::as_array).flatten().take(MAX_PARAMETERS);
    for json in written {
        let resolved = document.resolve(json)?;
        let text = |key: &str| resolved.get(key).and_then(Value::as_str);
        if let (Some("querystring"), Some(name)) = (text("in"), text("name")) {
            query_string.set(name, query_string::read(document, schemas, resolved, name)?)?;
            continue;
        }
        let shared = std::ptr::from_ref(resolved).addr();
        let read = match cache.0.get(&shared) {
            Some(known) => known.clone(),
            None => {
                let read = read_one(document, schemas, resolved)?;
                if json.get("$ref").is_some() {
                    cache.0.insert(shared, read.clone());
                }
                read
            }
        };
        let Some(read) = read else { continue };
        let key = (read.parameter.name.clone(), order(read.place));
        match places.get(&key).and_then(|place| found.get_mut(*place)) {
            Some(known) => *known = read,
            None => {
                places.insert(key, found.len());
                found.push(read);
            }
        }
    }
    query_string.add_to(&mut found)?;
    Ok(found)
}

/// Reads a parameter. `None` if it is ignored.
fn read_one(
    document: &Document<'_>,
    schemas: &mut Schemas<'_>,
    json: &Value,
) -> Result<Option<PlacedParameter>, String> {
    let text = |key: &str| json.get(key).and_then(Value::as_str);
    // A parameter without a name cannot be sent.
    let Some(original) = text("name").filter(|name| !name.is_empty()) else { return Ok(None) };
    // An override parameter would choose a method that was not classified.
    if is_override(original) && text("in") != Some("path") {
        return Ok(None);
    }
    if !schemas.cleaner.is_clean(original) {
        return Err(format!("the name of its parameter {} has characters that cannot be shown", quote(original)));
    }
    let content = json.get("content").and_then(Value::as_object).and_then(|content| content.iter().next());
    let is_json = content.is_some_and(|(media_type, _)| media::is_json(media_type));
    let notation = if is_json { Notation::Json } else { style(json) };
    let flag = |key: &str| json.get(key).and_then(Value::as_bool) == Some(true);
    let place = match text("in") {
        Some("path") => Place::Path(notation),
        Some("query") => Place::Query { notation, allow_reserved: flag("allowReserved") },
        Some("header") if IGNORED_HEADERS.contains(&original.to_ascii_lowercase().as_str()) => return Ok(None),
        Some("header") => Place::Header(notation),
        Some("cookie") => Place::Cookie(notation),
        Some(other) => {
            return Err(format!("its parameter {} is in an unknown place, {}", quote(original), quote(other)));
        }
        None => return Err(format!("its parameter {} does not say where it goes", quote(original))),
    };
    let schema = json.get("schema").or_else(|| content.and_then(|(_, content)| content.get("schema")));
    let mut parameter = Parameter {
        name: original.into(),
        required: flag("required") || matches!(place, Place::Path(_)),
        schema: schemas.read(&described(schema, json, document)),
        deprecated: flag("deprecated").then(Deprecation::default),
        ..Parameter::default()
    };
    parameter.sensitive = sanitize::is_password(&parameter.schema);
    Ok(Some(PlacedParameter { place, parameter }))
}

/// The schema with the description and an example of the parameter added.
fn described(schema: Option<&Value>, json: &Value, document: &Document<'_>) -> Value {
    let mut described = schema.and_then(Value::as_object).cloned().unwrap_or_else(Map::new);
    if let Some(description) = json.get("description") {
        described.insert("description".to_owned(), description.clone());
    }
    let examples = json.get("examples").and_then(Value::as_object);
    let first = || document.resolve(examples?.values().next()?).ok()?.get("value");
    if let Some(example) = json.get("example").or_else(first) {
        described.insert("example".to_owned(), example.clone());
    }
    Value::Object(described)
}

/// The style of a parameter, or the default of its place.
fn style(json: &Value) -> Notation {
    let written = json.get("style").and_then(Value::as_str);
    let style = match (json.get("in").and_then(Value::as_str), written) {
        (Some("path"), Some("label")) => Style::Label,
        (Some("path"), Some("matrix")) => Style::Matrix,
        (Some("query"), Some("spaceDelimited")) => Style::SpaceDelimited,
        (Some("query"), Some("pipeDelimited")) => Style::PipeDelimited,
        (Some("query"), Some("deepObject")) => Style::DeepObject,
        (Some("query" | "cookie"), _) => Style::Form,
        _ => Style::Simple,
    };
    let explode = json.get("explode").and_then(Value::as_bool).unwrap_or(style == Style::Form);
    Notation::Style { style, explode }
}

/// Adds placeholders of a path that are missing from its parameters.
pub(super) fn complete(path: &str, found: &mut Vec<PlacedParameter>) {
    let notation = Notation::Style { style: Style::Simple, explode: false };
    for original in placeholders(path) {
        let is_declared =
            |one: &PlacedParameter| &*one.parameter.name == original && matches!(one.place, Place::Path(_));
        if !found.iter().any(is_declared) {
            let parameter = Parameter::required(original, Schema::string());
            found.push(PlacedParameter { place: Place::Path(notation), parameter });
        }
    }
    // A path parameter without a placeholder is never sent.
    let names: HashSet<&str> = placeholders(path).collect();
    found.retain(|one| !matches!(one.place, Place::Path(_)) || names.contains(&*one.parameter.name));
}

/// Turns the part of a path after a question mark into query parameters: `page={page}`.
pub(super) fn move_to_query(query: &str, found: &mut Vec<PlacedParameter>) -> Result<(), String> {
    let notation = Notation::Style { style: Style::Form, explode: true };
    let place = Place::Query { notation, allow_reserved: false };
    for part in query.split('&').filter(|part| !part.is_empty()) {
        let placeholder = part.split_once('=').and_then(|(key, value)| {
            let name = value.strip_prefix('{')?.strip_suffix('}')?;
            Some((key, name))
        });
        let Some((key, name)) = placeholder.filter(|(key, _)| !key.is_empty() && !is_override(key)) else {
            return Err(format!("its path has the fixed query {}, which is not supported", quote(part)));
        };
        let is_known = |one: &PlacedParameter| matches!(one.place, Place::Query { .. }) && &*one.parameter.name == key;
        if found.iter().any(is_known) {
            continue;
        }
        let is_meant = |one: &&mut PlacedParameter| matches!(one.place, Place::Path(_)) && &*one.parameter.name == name;
        match found.iter_mut().find(is_meant) {
            Some(one) => {
                one.place = place;
                one.parameter.name = key.into();
            }
            None => found.push(PlacedParameter { place, parameter: Parameter::required(key, Schema::string()) }),
        }
    }
    Ok(())
}

/// The names in braces.
pub(super) fn placeholders(path: &str) -> impl Iterator<Item = &str> {
    path.split('{')
        .skip(1)
        .filter_map(|rest| rest.split_once('}').map(|(name, _)| name))
        .filter(|name| !name.is_empty())
}

/// The order in which places are assigned names, and the prefix that distinguishes parameters of that place.
const fn order(place: Place) -> u8 {
    match place {
        Place::Path(_) => 0,
        Place::Query { .. } => 1,
        Place::BodyField | Place::Body => 2,
        Place::Header(_) => 3,
        Place::Cookie(_) => 4,
    }
}

const PLACE_WORDS: [&str; 5] = ["path", "query", "body", "header", "cookie"];

/// Assigns every parameter its canonical name. Among parameters that would have the same name, those of the path come
/// first, then those of the query; the others are prefixed with their place: `body_id`, `header_version`.
pub(super) fn assign_names(placed: Vec<PlacedParameter>) -> (Vec<Parameter>, Vec<RouteParameter>) {
    let mut canonical: Vec<Option<String>> = vec![None; placed.len()];
    let mut taken: HashSet<String> = HashSet::new();
    for (place, word) in (0_u8..).zip(PLACE_WORDS) {
        let own: Vec<usize> =
            placed.iter().enumerate().filter(|(_, one)| order(one.place) == place).map(|(index, _)| index).collect();
        let originals = own.iter().filter_map(|index| placed.get(*index)).map(|one| &*one.parameter.name);
        for (index, assigned) in own.iter().zip(name::parameters(originals)) {
            let mut name = assigned.name;
            if taken.contains(&name) {
                name = format!("{word}_{name}");
            }
            let base = name.clone();
            let mut number = 2_u64;
            while !taken.insert(name.clone()) {
                name = format!("{base}_{number}");
                number += 1;
            }
            if let Some(slot) = canonical.get_mut(*index) {
                *slot = Some(name);
            }
        }
    }
    let originals: HashMap<Arc<str>, usize> = placed.iter().fold(HashMap::new(), |mut counts, one| {
        *counts.entry(one.parameter.name.clone()).or_default() += 1;
        counts
    });
    placed
        .into_iter()
        .zip(canonical)
        .filter_map(|(one, name)| {
            let name: Arc<str> = name?.into();
            let original_name = one.parameter.name.clone();
            // An ambiguous original name refers to no parameter.
            let is_accepted = name != original_name && originals.get(&original_name) == Some(&1);
            let parameter = Parameter {
                name: name.clone(),
                original_name: is_accepted.then(|| original_name.clone()),
                ..one.parameter
            };
            Some((parameter, RouteParameter { name, original_name, place: one.place }))
        })
        .unzip()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use serde_json::json;

    use super::super::options::ReadOptions;
    use super::*;

    fn read_all(root: &Value) -> Result<Vec<PlacedParameter>, String> {
        let options = ReadOptions::default();
        let document = Document::load(root, &options);
        let mut schemas = Schemas::new(&document);
        read(&document, &mut schemas, &mut ParameterCache::default(), [root.get("path"), root.get("own")])
    }

    #[test]
    fn own_parameters_replace_those_of_the_path() {
        let found = read_all(&json!({
            "path": [{ "name": "a", "in": "query", "schema": { "type": "string" } }, { "$ref": "#/shared" }],
            "own": [{ "name": "a", "in": "query", "required": true }, { "name": "", "in": "query" }, { "name": "Accept", "in": "header" }],
            "shared": { "name": "b", "in": "cookie", "description": "B.", "example": 5, "schema": { "type": "integer" } }
        }))
        .unwrap();
        assert_eq!(found.len(), 2);
        assert!(found[0].parameter.required);
        assert_eq!(found[1].parameter.schema.description.as_deref(), Some("B."));
        assert_eq!(found[1].parameter.schema.example, Some(json!(5)));
    }

    #[test]
    fn styles_have_the_defaults_of_their_place() {
        for (json, expected) in [
            (json!({ "in": "path" }), (Style::Simple, false)),
            (json!({ "in": "path", "style": "matrix", "explode": true }), (Style::Matrix, true)),
            (json!({ "in": "query" }), (Style::Form, true)),
            (json!({ "in": "query", "style": "deepObject" }), (Style::DeepObject, false)),
            (json!({ "in": "query", "style": "nonsense" }), (Style::Form, true)),
            (json!({ "in": "header", "style": "form" }), (Style::Simple, false)),
            (json!({ "in": "cookie", "explode": false }), (Style::Form, false)),
        ] {
            let Notation::Style { style, explode } = style(&json) else { panic!("no style") };
            assert_eq!((style, explode), expected, "{json}");
        }
        let found = read_all(
            &json!({ "own": [{ "name": "f", "in": "query", "content": { "application/json": { "schema": {} } } }] }),
        );
        assert!(matches!(found.unwrap()[0].place, Place::Query { notation: Notation::Json, .. }));
    }

    #[test]
    fn broken_parameters_have_a_reason() {
        for (parameter, reason) in [
            (json!({ "$ref": "#/nowhere" }), "leads nowhere"),
            (json!({ "name": "q", "in": "querystring" }), "whole query string"),
            (json!({ "name": "q" }), "where it goes"),
            (json!({ "name": "q\u{200b}", "in": "query" }), "cannot be shown"),
        ] {
            let message = read_all(&json!({ "own": [parameter] })).unwrap_err();
            assert!(message.contains(reason), "{message}");
        }
    }

    #[test]
    fn parameters_of_different_places_are_told_apart() {
        let notation = Notation::Json;
        let query = Place::Query { notation, allow_reserved: false };
        let placed = |name: &str, place: Place| PlacedParameter {
            place,
            parameter: Parameter::optional(name, Schema::string()),
        };
        let (parameters, routes) = assign_names(vec![
            placed("id", Place::BodyField),
            placed("id", Place::Path(notation)),
            placed("X-Version", Place::Header(notation)),
            placed("xVersion", query),
            placed("confirmation_token", query),
        ]);
        let names: Vec<&str> = parameters.iter().map(|one| &*one.name).collect();
        assert_eq!(names, ["body_id", "id", "header_x_version", "x_version", "confirmation_token_parameter"]);
        assert_eq!(&*routes[0].original_name, "id");
        assert_eq!(parameters[0].original_name, None);
        assert_eq!(parameters[3].original_name.as_deref(), Some("xVersion"));
    }

    #[test]
    fn a_query_in_a_path_becomes_parameters() {
        let mut found = read_all(&json!({ "own": [
            { "name": "number", "in": "path", "schema": { "type": "integer" } }, { "name": "size", "in": "query" }
        ] }))
        .unwrap();
        move_to_query("page={number}&size={size}&sort={sort}", &mut found).unwrap();
        let names: Vec<&str> = found.iter().map(|one| &*one.parameter.name).collect();
        assert_eq!(names, ["page", "size", "sort"]);
        assert!(found.iter().all(|one| matches!(one.place, Place::Query { .. })));
        assert!(move_to_query("action=list", &mut found).unwrap_err().contains("fixed query 'action=list'"));
    }

    #[test]
    fn forgotten_parameters_of_a_path_are_added() {
        let mut found = Vec::new();
        complete("/a/{b}/c-{d}.json/{}", &mut found);
        let names: Vec<&str> = found.iter().map(|one| &*one.parameter.name).collect();
        assert_eq!(names, ["b", "d"]);
    }
}
