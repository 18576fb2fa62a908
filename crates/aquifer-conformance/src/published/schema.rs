//! Reads the published JSON Schemas from a checkout of the specification and validates answers against them.
//!
//! Only the keywords that these schemas use are known. A schema with another keyword is refused when it is read, so that
//! nothing passes because a keyword was ignored.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use regex::Regex;
use serde_json::Value;

/// Keywords that explain and do not validate.
const ANNOTATIONS: &[&str] =
    &["$schema", "$id", "$defs", "title", "description", "default", "examples", "deprecated", "format"];

/// Keywords that validate.
const ASSERTIONS: &[&str] = &[
    "$ref",
    "type",
    "enum",
    "const",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "oneOf",
    "pattern",
    "minimum",
    "minLength",
    "minItems",
];

/// Longer chains of references are cycles.
const MAX_DEPTH: usize = 64;

/// The schemas cannot be used.
#[derive(Debug)]
pub struct SchemaError(String);

impl fmt::Display for SchemaError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for SchemaError {}

/// The published schemas of answers.
#[derive(Clone, Debug)]
pub struct SpecSchemas {
    schemas: BTreeMap<&'static str, Value>,
    patterns: BTreeMap<String, Regex>,
}

impl SpecSchemas {
    /// The schemas that are read, as the files are named.
    const NAMES: [&'static str; 3] = ["introspection-response", "operation-result", "batch-operation"];

    /// Reads the schemas of a checkout: the folder that contains `schemas`.
    ///
    /// # Errors
    /// A schema is missing, is not JSON, or uses a keyword that is not known here.
    pub fn read(checkout: &Path) -> Result<Self, SchemaError> {
        let mut read = Self { schemas: BTreeMap::new(), patterns: BTreeMap::new() };
        for name in Self::NAMES {
            let path: PathBuf = checkout.join("schemas").join(format!("{name}.schema.json"));
            let problem = |reason: String| SchemaError(format!("{}: {reason}", path.display()));
            let text = std::fs::read_to_string(&path).map_err(|error| problem(error.to_string()))?;
            let schema: Value = serde_json::from_str(&text).map_err(|error| problem(error.to_string()))?;
            read.check_keywords(&schema).map_err(problem)?;
            read.schemas.insert(name, schema);
        }
        Ok(read)
    }

    /// The problems of an answer to `introspect`.
    #[must_use]
    pub fn introspection_problems(&self, answer: &Value) -> Vec<String> {
        self.problems("introspection-response", answer)
    }

    /// The problems of the answer to a batch or to a single request.
    #[must_use]
    pub fn result_problems(&self, answer: &Value) -> Vec<String> {
        let is_batch = answer.get("results").is_some();
        self.problems(if is_batch { "batch-operation" } else { "operation-result" }, answer)
    }

    /// A schema, or one of its definitions.
    pub(super) fn schema(&self, name: &str, definition: Option<&str>) -> Option<&Value> {
        let root = self.schemas.get(name)?;
        definition.map_or(Some(root), |definition| root.get("$defs")?.get(definition))
    }

    /// Follows the reference of a schema, if it is one.
    pub(super) fn resolve<'a>(&'a self, name: &str, schema: &'a Value) -> &'a Value {
        let reference = schema.get("$ref").and_then(Value::as_str);
        reference.and_then(|reference| self.target(name, reference)).unwrap_or(schema)
    }

    pub(super) fn pattern(&self, text: &str) -> Option<&Regex> {
        self.patterns.get(text)
    }

    fn target(&self, name: &str, reference: &str) -> Option<&Value> {
        match reference.strip_prefix("#/$defs/") {
            Some(definition) => self.schema(name, Some(definition)),
            None if reference == "#" => self.schema(name, None),
            None => None,
        }
    }

    fn problems(&self, name: &str, value: &Value) -> Vec<String> {
        let mut found = Vec::new();
        match self.schemas.get(name) {
            Some(schema) => self.validate(name, schema, value, "", 0, &mut found),
            None => found.push(format!("there is no schema '{name}'")),
        }
        found
    }

    fn validate(&self, name: &str, schema: &Value, value: &Value, path: &str, depth: usize, found: &mut Vec<String>) {
        let mut report = |problem: String| {
            let path = if path.is_empty() { "/" } else { path };
            found.push(format!("{path} {problem}"));
        };
        if depth > MAX_DEPTH {
            return report("is nested too deeply".to_owned());
        }
        let Some(keywords) = schema.as_object() else {
            if *schema == Value::Bool(false) {
                report("is not allowed".to_owned());
            }
            return;
        };
        for (keyword, wanted) in keywords {
            if let Some(problem) = self.plain_problem(keyword, wanted, value) {
                report(problem);
            }
        }
        if let Some(reference) = keywords.get("$ref").and_then(Value::as_str)
            && let Some(target) = self.target(name, reference)
        {
            self.validate(name, target, value, path, depth + 1, found);
        }
        if let Some(variants) = keywords.get("oneOf").and_then(Value::as_array) {
            self.validate_variants(name, variants, value, path, depth, found);
        }
        if let (Some(items), Value::Array(list)) = (keywords.get("items"), value) {
            for (index, item) in list.iter().enumerate() {
                self.validate(name, items, item, &format!("{path}/{index}"), depth + 1, found);
            }
        }
        if let Value::Object(members) = value {
            let properties = keywords.get("properties").and_then(Value::as_object);
            for (key, member) in members {
                let known = properties.and_then(|properties| properties.get(key));
                if let Some(schema) = known.or_else(|| keywords.get("additionalProperties")) {
                    self.validate(name, schema, member, &format!("{path}/{key}"), depth + 1, found);
                }
            }
        }
    }

    /// Reports the problems of the variant that comes closest.
    fn validate_variants(
        &self,
        name: &str,
        variants: &[Value],
        value: &Value,
        path: &str,
        depth: usize,
        found: &mut Vec<String>,
    ) {
        let tried: Vec<Vec<String>> = variants
            .iter()
            .map(|variant| {
                let mut problems = Vec::new();
                self.validate(name, variant, value, path, depth + 1, &mut problems);
                problems
            })
            .collect();
        match tried.iter().filter(|problems| problems.is_empty()).count() {
            1 => {}
            0 => found.extend(tried.into_iter().min_by_key(Vec::len).unwrap_or_default()),
            _ => found.push(format!("{} matches several variants", if path.is_empty() { "/" } else { path })),
        }
    }

    /// The problem of a value with a keyword that looks at nothing else.
    fn plain_problem(&self, keyword: &str, wanted: &Value, value: &Value) -> Option<String> {
        let fits = match (keyword, value) {
            ("type", _) => has_type(value, wanted.as_str().unwrap_or_default()),
            ("enum", _) => wanted.as_array().is_some_and(|allowed| allowed.contains(value)),
            ("const", _) => wanted == value,
            ("pattern", Value::String(text)) => {
                self.patterns.get(wanted.as_str().unwrap_or_default()).is_some_and(|pattern| pattern.is_match(text))
            }
            ("minimum", Value::Number(number)) => number.as_f64() >= wanted.as_f64(),
            ("minLength", Value::String(text)) => Some(text.chars().count() as u64) >= wanted.as_u64(),
            ("minItems", Value::Array(items)) => Some(items.len() as u64) >= wanted.as_u64(),
            ("required", Value::Object(members)) => {
                let mut names = wanted.as_array().into_iter().flatten().filter_map(Value::as_str);
                return names.find(|name| !members.contains_key(*name)).map(|name| format!("lacks '{name}'"));
            }
            _ => true,
        };
        (!fits).then(|| format!("does not fit {keyword} {wanted}"))
    }

    /// Fails if a schema, or one inside it, uses a keyword that is not known. Compiles its patterns.
    fn check_keywords(&mut self, schema: &Value) -> Result<(), String> {
        let Some(keywords) = schema.as_object() else { return Ok(()) };
        for (keyword, value) in keywords {
            let keyword = keyword.as_str();
            if !ANNOTATIONS.contains(&keyword) && !ASSERTIONS.contains(&keyword) && !keyword.starts_with("x-") {
                return Err(format!("the keyword '{keyword}' is not known to this runner"));
            }
            let inside: Vec<&Value> = match (keyword, value) {
                ("properties" | "$defs", Value::Object(schemas)) => schemas.values().collect(),
                ("items" | "additionalProperties", _) => vec![value],
                ("oneOf", Value::Array(variants)) => variants.iter().collect(),
                ("type", Value::String(_)) => Vec::new(),
                ("type", _) => return Err("a type that is not one word is not known to this runner".to_owned()),
                ("$ref", Value::String(reference)) if reference == "#" || reference.starts_with("#/$defs/") => {
                    Vec::new()
                }
                ("$ref", _) => return Err("references to other files are not known to this runner".to_owned()),
                ("pattern", Value::String(text)) => {
                    let pattern = Regex::new(text).map_err(|error| error.to_string())?;
                    self.patterns.insert(text.clone(), pattern);
                    Vec::new()
                }
                _ => Vec::new(),
            };
            for schema in inside {
                self.check_keywords(schema)?;
            }
        }
        Ok(())
    }
}

fn has_type(value: &Value, name: &str) -> bool {
    match name {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use serde_json::json;

    use super::*;

    fn schemas(schema: Value) -> Result<SpecSchemas, String> {
        let mut schemas = SpecSchemas { schemas: BTreeMap::new(), patterns: BTreeMap::new() };
        schemas.check_keywords(&schema)?;
        schemas.schemas.insert("introspection-response", schema);
        Ok(schemas)
    }

    #[test]
    fn known_keywords_validate() {
        let read = schemas(json!({
            "$defs": {"Word": {"type": "string", "minLength": 2, "pattern": "^[a-z]+$"}},
            "oneOf": [
                {"type": "object", "properties": {"ok": {"const": true}, "words": {"type": "array", "minItems": 1,
                    "items": {"$ref": "#/$defs/Word"}}}, "required": ["ok"], "additionalProperties": false},
                {"type": "object", "properties": {"ok": {"const": false}, "size": {"type": "integer", "minimum": 1}},
                    "required": ["ok", "size"], "additionalProperties": {"type": "number"}},
            ],
        }));
        let read = read.unwrap();
        for (value, is_valid) in [
            (json!({"ok": true}), true),
            (json!({"ok": true, "words": ["ab"]}), true),
            (json!({"ok": true, "words": []}), false),
            (json!({"ok": true, "words": ["a"]}), false),
            (json!({"ok": true, "words": ["AB"]}), false),
            (json!({"ok": true, "other": 1}), false),
            (json!({"ok": false, "size": 1, "other": 1.5}), true),
            (json!({"ok": false, "size": 1, "other": "x"}), false),
            (json!({"ok": false, "size": 0}), false),
            (json!({"ok": false, "size": 1.5}), false),
            (json!({"ok": false}), false),
            (json!([]), false),
        ] {
            assert_eq!(read.introspection_problems(&value).is_empty(), is_valid, "{value}");
        }
    }

    #[test]
    fn unknown_keywords_are_refused() {
        for schema in [
            json!({"anyOf": []}),
            json!({"properties": {"a": {"maximum": 3}}}),
            json!({"$ref": "other.json"}),
            json!({"type": ["string", "null"]}),
            json!({"oneOf": [{"items": {"uniqueItems": true}}]}),
        ] {
            assert!(schemas(schema.clone()).is_err(), "{schema}");
        }
    }
}
