//! Converts a Swagger 2.0 description into the structure of OpenAPI 3.

use serde_json::{Map, Value, json};

use super::media;

/// The maximum depth at which references are rewritten.
const MAX_DEPTH: usize = 256;

/// The keywords of a parameter that become part of its schema.
const SCHEMA_KEYWORDS: &[&str] = &[
    "type",
    "format",
    "items",
    "default",
    "enum",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "multipleOf",
];

/// Where definitions are moved.
const MOVED: &[(&str, &str)] = &[
    ("#/definitions/", "#/components/schemas/"),
    ("#/parameters/", "#/components/parameters/"),
    ("#/responses/", "#/components/responses/"),
    ("#/securityDefinitions/", "#/components/securitySchemes/"),
];

const METHODS: &[&str] = &["get", "put", "post", "delete", "options", "head", "patch"];

/// Converts a description into the structure of OpenAPI 3.
pub(super) fn convert(description: &Value) -> Value {
    let mut description = description.clone();
    rewrite(&mut description, 0);
    let converter = Converter { root: &description };
    let mut components = Map::new();
    let parameters = converter.map("parameters", |one| converter.parameter(one));
    // Shared body parameters are removed; operations that refer to them have already read them.
    components.insert("parameters".to_owned(), parameters);
    components.insert("schemas".to_owned(), description.get("definitions").cloned().unwrap_or_else(|| json!({})));
    components.insert("responses".to_owned(), converter.map("responses", |one| converter.response(one, &Value::Null)));
    components.insert("securitySchemes".to_owned(), converter.map("securityDefinitions", security_scheme));
    let mut converted = json!({ "openapi": "3.0.3", "components": components, "servers": converter.servers() });
    for key in ["info", "security", "tags"] {
        if let Some(value) = description.get(key) {
            put(&mut converted, key, value.clone());
        }
    }
    if let Some(paths) = description.get("paths").and_then(Value::as_object) {
        let paths = paths.iter().map(|(path, item)| (path.clone(), converter.path_item(item)));
        put(&mut converted, "paths", Value::Object(paths.collect()));
    }
    converted
}

fn put(object: &mut Value, key: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(key.to_owned(), value);
    }
}

/// Rewrites references, and schema keywords that have changed.
fn rewrite(value: &mut Value, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| rewrite(item, depth + 1)),
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get_mut("$ref") {
                let moved = MOVED.iter().find_map(|(from, to)| Some((to, reference.strip_prefix(from)?)));
                if let Some((to, rest)) = moved {
                    *reference = format!("{to}{rest}");
                }
            }
            if members.get("type").is_some_and(|name| name == "file") {
                members.insert("type".to_owned(), "string".into());
                members.insert("format".to_owned(), "binary".into());
            }
            if members.get("x-nullable") == Some(&Value::Bool(true)) {
                members.insert("nullable".to_owned(), true.into());
            }
            members.values_mut().for_each(|member| rewrite(member, depth + 1));
        }
        _ => {}
    }
}

struct Converter<'a> {
    root: &'a Value,
}

impl Converter<'_> {
    /// All members of an object of the description, converted.
    fn map(&self, key: &str, convert: impl Fn(&Value) -> Value) -> Value {
        let members = self.root.get(key).and_then(Value::as_object).into_iter().flatten();
        Value::Object(members.map(|(name, value)| (name.clone(), convert(value))).collect())
    }

    fn servers(&self) -> Value {
        let text = |key: &str| self.root.get(key).and_then(Value::as_str);
        let base = text("basePath").unwrap_or("/");
        let base = if base.starts_with('/') { base.to_owned() } else { format!("/{base}") };
        let Some(host) = text("host").filter(|host| !host.is_empty()) else { return json!([{ "url": base }]) };
        let schemes: Vec<&str> = self
            .root
            .get("schemes")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let scheme = match schemes.as_slice() {
            all if all.is_empty() || all.contains(&"https") => "https",
            _ => "http",
        };
        json!([{ "url": format!("{scheme}://{host}{base}") }])
    }

    fn path_item(&self, item: &Value) -> Value {
        let Some(members) = item.as_object().filter(|members| !members.contains_key("$ref")) else {
            return item.clone();
        };
        let shared = list(item, "parameters");
        let mut converted = Map::new();
        let plain: Vec<Value> = shared.iter().filter(|one| !self.is_body(one)).map(|one| self.parameter(one)).collect();
        converted.insert("parameters".to_owned(), plain.into());
        for (key, value) in members {
            if METHODS.contains(&key.as_str()) {
                converted.insert(key.clone(), self.operation(value, shared));
            }
        }
        Value::Object(converted)
    }

    fn operation(&self, json: &Value, shared: &[Value]) -> Value {
        let Some(members) = json.as_object() else { return json.clone() };
        let mut converted: Map<String, Value> = members
            .iter()
            .filter(|(key, _)| {
                !matches!(key.as_str(), "parameters" | "responses" | "consumes" | "produces" | "schemes")
            })
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let own = list(json, "parameters");
        let plain: Vec<Value> = own.iter().filter(|one| !self.is_body(one)).map(|one| self.parameter(one)).collect();
        converted.insert("parameters".to_owned(), plain.into());
        let mut parts: Vec<&Value> = own.iter().filter(|one| self.is_body(one)).map(|one| self.resolved(one)).collect();
        if parts.is_empty() {
            parts = shared.iter().filter(|one| self.is_body(one)).map(|one| self.resolved(one)).collect();
        }
        if let Some(body) = self.body(&parts, json) {
            converted.insert("requestBody".to_owned(), body);
        }
        let responses = json.get("responses").and_then(Value::as_object).into_iter().flatten();
        let responses = responses.map(|(status, response)| (status.clone(), self.response(response, json)));
        converted.insert("responses".to_owned(), Value::Object(responses.collect()));
        Value::Object(converted)
    }

    /// The parameter that a reference points to. References have been rewritten, but parameters have not been moved.
    fn resolved<'v>(&'v self, parameter: &'v Value) -> &'v Value {
        let key =
            parameter.get("$ref").and_then(Value::as_str).and_then(|one| one.strip_prefix("#/components/parameters/"));
        let found = key.and_then(|key| self.root.get("parameters")?.get(key.replace("~1", "/").replace("~0", "~")));
        found.unwrap_or(parameter)
    }

    fn is_body(&self, parameter: &Value) -> bool {
        matches!(self.resolved(parameter).get("in").and_then(Value::as_str), Some("body" | "formData"))
    }

    /// Converts a parameter that is not part of the body.
    fn parameter(&self, json: &Value) -> Value {
        let Some(members) = json.as_object().filter(|members| !members.contains_key("$ref")) else {
            return json.clone();
        };
        let mut converted: Map<String, Value> = members
            .iter()
            .filter(|(key, _)| matches!(key.as_str(), "name" | "in" | "description" | "required" | "deprecated"))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        if let Some(example) = members.get("x-example") {
            converted.insert("example".to_owned(), example.clone());
        }
        converted.insert("schema".to_owned(), schema(members));
        if let Some((style, explode)) = list_style(members) {
            let is_query = members.get("in").is_some_and(|place| place == "query");
            if let Some(style) = style.filter(|_| is_query) {
                converted.insert("style".to_owned(), style.into());
            }
            converted.insert("explode".to_owned(), explode.into());
        }
        Value::Object(converted)
    }

    fn body(&self, parts: &[&Value], operation: &Value) -> Option<Value> {
        let whole = parts.iter().find(|part| part.get("in").is_some_and(|place| place == "body"));
        if let Some(whole) = whole {
            let media_types = self.media_types(operation, "consumes");
            let schema = whole.get("schema").cloned().unwrap_or_else(|| json!({}));
            let mut body = json!({ "content": content(media_types, &schema) });
            for key in ["description", "required"] {
                if let Some(value) = whole.get(key) {
                    put(&mut body, key, value.clone());
                }
            }
            return Some(body);
        }
        let fields: Vec<&Map<String, Value>> = parts.iter().filter_map(|part| part.as_object()).collect();
        (!fields.is_empty()).then(|| self.form(&fields, operation))
    }

    fn form(&self, fields: &[&Map<String, Value>], operation: &Value) -> Value {
        let mut properties = Map::new();
        let mut required: Vec<Value> = Vec::new();
        let mut encoding = Map::new();
        let mut has_file = false;
        for field in fields {
            let Some(name) = field.get("name").and_then(Value::as_str) else { continue };
            let mut schema = schema(field);
            has_file |= schema.get("format").is_some_and(|format| format == "binary");
            if let Some(description) = field.get("description") {
                put(&mut schema, "description", description.clone());
            }
            if field.get("required") == Some(&Value::Bool(true)) {
                required.push(name.into());
            }
            if let Some((style, explode)) = list_style(field) {
                encoding.insert(name.to_owned(), json!({ "style": style.unwrap_or("form"), "explode": explode }));
            }
            properties.insert(name.to_owned(), schema);
        }
        let multipart = "multipart/form-data".to_owned();
        let urlencoded = "application/x-www-form-urlencoded".to_owned();
        let consumes = self.media_types(operation, "consumes");
        let is_multipart = has_file || (consumes.contains(&multipart) && !consumes.contains(&urlencoded));
        let media_type = if is_multipart { multipart } else { urlencoded };
        let is_required = !required.is_empty();
        let schema = json!({ "type": "object", "properties": properties, "required": required });
        json!({ "required": is_required, "content": { media_type: { "schema": schema, "encoding": encoding } } })
    }

    fn response(&self, json: &Value, operation: &Value) -> Value {
        let Some(members) = json.as_object().filter(|members| !members.contains_key("$ref")) else {
            return json.clone();
        };
        let mut converted = Map::new();
        for key in ["description", "headers"] {
            if let Some(value) = members.get(key) {
                converted.insert(key.to_owned(), value.clone());
            }
        }
        if let Some(schema) = members.get("schema") {
            let media_types = self.media_types(operation, "produces");
            converted.insert("content".to_owned(), content(media_types, schema));
        }
        Value::Object(converted)
    }

    /// The media types of an operation, or of the whole description, or JSON.
    fn media_types(&self, operation: &Value, key: &str) -> Vec<String> {
        let lists = [operation.get(key), self.root.get(key)].into_iter().flatten();
        let words = |list: &Value| -> Vec<String> {
            list.as_array().into_iter().flatten().filter_map(Value::as_str).take(16).map(str::to_owned).collect()
        };
        let found = lists.map(words).find(|words| !words.is_empty());
        found.unwrap_or_else(|| vec!["application/json".to_owned()])
    }
}

/// The content of a body or a response. Only the media type that will be used gets the schema, which may be large.
fn content(media_types: Vec<String>, schema: &Value) -> Value {
    let best = media::best(&media_types).cloned();
    let media_types = media_types.into_iter().map(|one| {
        let described = if Some(&one) == best.as_ref() { json!({ "schema": schema }) } else { json!({}) };
        (one, described)
    });
    Value::Object(media_types.collect())
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The schema of a parameter.
fn schema(members: &Map<String, Value>) -> Value {
    let keywords = members.iter().filter(|(key, _)| SCHEMA_KEYWORDS.contains(&key.as_str()));
    Value::Object(keywords.map(|(key, value)| (key.clone(), value.clone())).collect())
}

/// How a list is written: the query style, and whether every element is written separately.
fn list_style(members: &Map<String, Value>) -> Option<(Option<&'static str>, bool)> {
    if members.get("type").is_none_or(|name| name != "array") {
        return None;
    }
    Some(match members.get("collectionFormat").and_then(Value::as_str) {
        Some("multi") => (None, true),
        Some("ssv") => (Some("spaceDelimited"), false),
        Some("pipes") => (Some("pipeDelimited"), false),
        _ => (None, false),
    })
}

fn security_scheme(json: &Value) -> Value {
    let text = |key: &str| json.get(key).and_then(Value::as_str).unwrap_or_default();
    match text("type") {
        "basic" => json!({ "type": "http", "scheme": "basic" }),
        "oauth2" => {
            let flow = match text("flow") {
                "application" => "clientCredentials",
                "accessCode" => "authorizationCode",
                other => other,
            };
            let urls = ["authorizationUrl", "tokenUrl", "scopes"].into_iter();
            let members: Map<String, Value> =
                urls.filter_map(|key| Some((key.to_owned(), json.get(key)?.clone()))).collect();
            json!({ "type": "oauth2", "flows": { flow: members } })
        }
        _ => json.clone(),
    }
}
