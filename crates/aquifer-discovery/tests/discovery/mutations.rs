//! Invalid arguments, made from valid ones by breaking one rule of a tool's schema at a time, at any depth.

use serde_json::{Map, Value, json};

use crate::generated::objects;

/// Schemas may be recursive.
const MAX_DEPTH: usize = 8;

/// Values of every JSON type.
fn strangers() -> [(&'static str, Value); 9] {
    [
        ("null", Value::Null),
        ("type", json!(true)),
        ("type", json!(7)),
        ("type", json!(7.5)),
        ("type", json!("words of no meaning")),
        ("type", json!([])),
        ("type", json!([[]])),
        ("type", json!({})),
        ("type", json!({ "no_such": [1] })),
    ]
}

/// Texts that some format or pattern refuses.
const TEXTS: [&str; 8] = ["", " ", "no such thing!", "2026-13-40", "http//x", "a@", "12", "ÄÖ-ü"];

/// One valid value for a schema, with every property. `pick` selects among alternatives and examples.
pub(crate) fn valid(schema: &Value, root: &Value, pick: usize, depth: usize) -> Option<Value> {
    let schema = resolved(schema, root);
    if let Some(word) = schema.get("const") {
        return Some(word.clone());
    }
    if let Some(words) = schema["enum"].as_array() {
        return words.get(pick % words.len().max(1)).cloned();
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(members) = schema[key].as_array()
            && let Some(chosen) = members.get(pick % members.len().max(1))
        {
            let chosen = valid(chosen, root, pick, depth + 1)?;
            return Some(match (object(schema, root, pick, depth), chosen) {
                (Value::Object(own), Value::Object(chosen)) => Value::Object(own.into_iter().chain(chosen).collect()),
                (_, chosen) => chosen,
            });
        }
    }
    let parts = schema["allOf"].as_array().into_iter().flatten();
    let parts: Vec<Value> = parts.filter_map(|part| valid(part, root, pick, depth + 1)).collect();
    let count = |key: &str| schema[key].as_u64().map(|count| count as usize);
    let number = |key: &str| schema[key].as_f64();
    let name = schema["type"].as_array().map_or(&schema["type"], |all| &all[pick % all.len()]);
    Some(match name.as_str() {
        Some("string") => text(schema, pick).into(),
        Some("boolean") => json!(true),
        Some(kind @ ("integer" | "number")) => {
            let above = number("exclusiveMinimum").map(|bound| bound + 1.0);
            let below = number("exclusiveMaximum").map(|bound| bound - 1.0);
            let step = number("multipleOf").unwrap_or(1.0);
            let bound = number("minimum").or(above).or(number("maximum")).or(below).unwrap_or(1.0);
            let value = (bound / step).ceil() * step;
            if kind == "integer" || value.fract() == 0.0 { json!(value as i64) } else { json!(value) }
        }
        Some("array") if depth < MAX_DEPTH => {
            let prefix = schema["prefixItems"].as_array().into_iter().flatten();
            let mut made: Vec<Value> = prefix.filter_map(|item| valid(item, root, pick, depth + 1)).collect();
            let none = json!({});
            let item = schema.get("items").unwrap_or(&none);
            let wanted = count("minItems").unwrap_or(1).max(1).min(count("maxItems").unwrap_or(usize::MAX));
            for place in made.len()..wanted {
                made.extend(valid(item, root, pick + place, depth + 1));
            }
            Value::Array(made)
        }
        Some("array") => json!([]),
        Some("null") => Value::Null,
        Some(_) => object(schema, root, pick, depth),
        None if !parts.is_empty() && !parts.iter().all(Value::is_object) => parts[0].clone(),
        None if !parts.is_empty() || schema["properties"].is_object() => {
            let own = object(schema, root, pick, depth);
            let fields = |part: Value| part.as_object().cloned().unwrap_or_default();
            Value::Object(parts.into_iter().chain([own]).flat_map(fields).collect())
        }
        None => json!("anything"),
    })
}

fn object(schema: &Value, root: &Value, pick: usize, depth: usize) -> Value {
    let required: Vec<&str> = names(&schema["required"]).collect();
    let mut made = Map::new();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if (depth < MAX_DEPTH || required.contains(&name.as_str()))
            && depth < 2 * MAX_DEPTH
            && let Some(value) = valid(property, root, pick, depth + 1)
        {
            made.insert(name.clone(), value);
        }
    }
    let rest = schema.get("additionalProperties").filter(|rest| rest.is_object() && depth < MAX_DEPTH);
    if let Some(value) = rest.and_then(|rest| valid(rest, root, pick, depth + 1)) {
        made.insert("extra".to_owned(), value);
    }
    Value::Object(made)
}

/// Texts of which one matches most patterns.
const EXAMPLES: [&str; 17] = [
    "abc",
    "1",
    "2026-11-15",
    "a/b",
    "#aabbcc",
    "https://example.com/a",
    "1:2",
    "1d",
    "1-2",
    "12345",
    "a=b",
    "12:34",
    "a.png",
    "example.com",
    "AB-12",
    "AB",
    "8c3e1a7c-6d2b-4f0e-9d57-0a4d0f5f3b21",
];

fn text(schema: &Value, pick: usize) -> String {
    let formatted = match schema["format"].as_str() {
        Some("date-time") => Some("2026-11-15T07:00:00Z"),
        Some("date") => Some("2026-11-15"),
        Some("time") => Some("07:00:00Z"),
        Some("uri" | "url") => Some("https://example.com/a"),
        Some("email") => Some("a@example.com"),
        Some("uuid") => Some("8c3e1a7c-6d2b-4f0e-9d57-0a4d0f5f3b21"),
        _ => None,
    };
    let matching = schema.get("pattern").and_then(|pattern| {
        let validator = jsonschema::validator_for(&json!({ "pattern": pattern })).ok()?;
        EXAMPLES.into_iter().find(|text| validator.is_valid(&json!(text)))
    });
    let mut made = matching.or(formatted).map_or_else(|| format!("text {pick}"), str::to_owned);
    let least = schema["minLength"].as_u64().unwrap_or(0) as usize;
    while made.chars().count() < least {
        made.push('x');
    }
    made.chars().take(schema["maxLength"].as_u64().map_or(usize::MAX, |most| most as usize)).collect()
}

/// The arguments with one rule broken, with the keyword that is meant to refuse them.
pub(crate) fn mutants(schema: &Value, base: &Value) -> Vec<(String, Value)> {
    let mut walk = Walk { root: schema, found: Vec::new() };
    walk.visit(schema, base, "", "", 0);
    let replaced = |(kind, place, value): (String, String, Value)| {
        let mut whole = base.clone();
        *whole.pointer_mut(&place)? = value;
        Some((kind, whole))
    };
    walk.found.into_iter().filter_map(replaced).collect()
}

struct Walk<'a> {
    root: &'a Value,
    /// The keyword, the path of the value, and what to put there.
    found: Vec<(String, String, Value)>,
}

impl Walk<'_> {
    fn visit(&mut self, schema: &Value, value: &Value, place: &str, inside: &str, depth: usize) {
        let schema = resolved(schema, self.root);
        if depth > 2 * MAX_DEPTH {
            return;
        }
        let mut put = |kind: &str, value: Value| self.found.push((format!("{inside}{kind}"), place.to_owned(), value));
        if !place.is_empty() {
            strangers().into_iter().for_each(|(kind, value)| put(kind, value));
        }
        if schema.get("enum").or(schema.get("const")).is_some() {
            let kind = if schema.get("enum").is_some() { "enum" } else { "const" };
            put(kind, json!("no such word"));
            put(kind, json!(-12_345));
            if let Some(word) = value.as_str() {
                put(kind, json!(word.to_uppercase()));
                put(kind, json!(format!("{word} ")));
            }
        }
        match value {
            Value::Number(_) => number_mutants(schema, &mut put),
            Value::String(text) => text_mutants(schema, text, &mut put),
            Value::Array(elements) => array_mutants(schema, elements, &mut put),
            Value::Object(fields) => object_mutants(schema, fields, &mut put),
            _ => {}
        }
        for member in schema["allOf"].as_array().into_iter().flatten() {
            self.visit(member, value, place, "allOf ", depth + 1);
        }
        for key in ["anyOf", "oneOf"] {
            let members = schema[key].as_array().map(Vec::as_slice).unwrap_or_default();
            // Everything that any member accepts, at once.
            let all = members.iter().filter_map(|member| valid(member, self.root, 0, depth + 1));
            let all: Map<String, Value> = all.filter_map(|made| made.as_object().cloned()).flatten().collect();
            if !all.is_empty() {
                self.found.push((key.to_owned(), place.to_owned(), Value::Object(all)));
            }
            members.iter().for_each(|member| self.visit(member, value, place, &format!("{key} "), depth + 1));
        }
        match value {
            Value::Object(fields) => {
                for (name, field) in fields {
                    let declared = schema["properties"].get(name).or(schema.get("additionalProperties"));
                    let escaped = name.replace('~', "~0").replace('/', "~1");
                    if let Some(declared) = declared {
                        self.visit(declared, field, &format!("{place}/{escaped}"), inside, depth + 1);
                    }
                }
            }
            Value::Array(elements) => {
                for (index, element) in elements.iter().enumerate().take(3) {
                    let item = schema["prefixItems"].get(index).or(schema.get("items"));
                    let Some(item) = item else { continue };
                    self.visit(item, element, &format!("{place}/{index}"), inside, depth + 1);
                }
            }
            _ => {}
        }
    }
}

fn number_mutants(schema: &Value, put: &mut dyn FnMut(&str, Value)) {
    let number = |key: &str| schema[key].as_f64();
    let near = |value: f64| if value.fract() == 0.0 { json!(value as i64) } else { json!(value) };
    for (kind, beyond) in [
        ("minimum", number("minimum").map(|bound| bound - 1.0)),
        ("minimum", number("minimum").map(|_| -1e15)),
        ("maximum", number("maximum").map(|bound| bound + 1.0)),
        ("maximum", number("maximum").map(|_| 1e18)),
        ("exclusiveMinimum", number("exclusiveMinimum")),
        ("exclusiveMinimum", number("exclusiveMinimum").map(|bound| bound - 1.0)),
        ("exclusiveMaximum", number("exclusiveMaximum")),
        ("exclusiveMaximum", number("exclusiveMaximum").map(|bound| bound + 1.0)),
        ("multipleOf", number("multipleOf").map(|step| step * 1.5)),
    ] {
        if let Some(beyond) = beyond {
            put(kind, near(beyond));
        }
    }
}

fn text_mutants(schema: &Value, text: &str, put: &mut dyn FnMut(&str, Value)) {
    let count = |key: &str| schema[key].as_u64().map(|count| count as usize);
    if let Some(least) = count("minLength").filter(|least| *least > 0) {
        put("minLength", json!(text.chars().cycle().take(least - 1).collect::<String>()));
    }
    if let Some(most) = count("maxLength").filter(|most| *most < 1_000_000) {
        put("maxLength", json!(text.chars().cycle().take(most + 1).collect::<String>()));
    }
    for key in ["pattern", "format"].into_iter().filter(|key| schema.get(key).is_some()) {
        TEXTS.into_iter().for_each(|text| put(key, json!(text)));
        put(key, json!(format!("{text}!")));
        put(key, json!(format!("\n{text}")));
    }
}

fn array_mutants(schema: &Value, elements: &[Value], put: &mut dyn FnMut(&str, Value)) {
    let count = |key: &str| schema[key].as_u64().map(|count| count as usize);
    if let Some(least) = count("minItems").filter(|least| *least > 0) {
        put("minItems", elements.iter().take(least - 1).cloned().collect());
    }
    if let Some(most) = count("maxItems").filter(|most| *most < 10_000) {
        put("maxItems", elements.iter().cycle().take(most + 1).cloned().collect());
    }
    if schema.get("uniqueItems").is_some() {
        put("uniqueItems", elements.iter().chain(elements.first()).cloned().collect());
    }
    if schema.get("items").is_some() {
        let more = |value: Value| elements.iter().cloned().chain([value]).collect();
        strangers().into_iter().for_each(|(_, value)| put("items", more(value)));
    }
}

fn object_mutants(schema: &Value, fields: &Map<String, Value>, put: &mut dyn FnMut(&str, Value)) {
    let without = |removed: &[&str]| -> Value {
        let kept = fields.iter().filter(|(name, _)| !removed.contains(&name.as_str()));
        Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
    };
    let with = |name: &str, value: Value| {
        let mut more = fields.clone();
        more.insert(name.to_owned(), value);
        Value::Object(more)
    };
    names(&schema["required"]).for_each(|name| put("required", without(&[name])));
    match schema.get("additionalProperties") {
        Some(Value::Bool(false)) => {
            put("additionalProperties", with("no_such", json!(1)));
            put("additionalProperties", with("no such/~", Value::Null));
        }
        Some(Value::Object(_)) => {
            strangers().into_iter().for_each(|(_, value)| put("additionalProperties", with("no_such", value)));
        }
        _ => {}
    }
    for (name, dependent) in schema["dependentRequired"].as_object().into_iter().flatten() {
        let Some(value) = schema["properties"].get(name).and_then(|json| valid(json, schema, 0, 0)) else { continue };
        for dependent in names(dependent) {
            let Value::Object(mut less) = without(&[dependent]) else { continue };
            less.insert(name.clone(), value.clone());
            put("dependentRequired", Value::Object(less));
        }
    }
    if let Some(least) = schema["minProperties"].as_u64().filter(|least| *least > 0) {
        put("minProperties", fields.clone().into_iter().take(least as usize - 1).collect());
    }
    if let Some(most) = schema["maxProperties"].as_u64().filter(|most| *most < 1_000) {
        let more = (0..=most).map(|number| (format!("more_{number}"), json!("x")));
        put("maxProperties", fields.clone().into_iter().chain(more).collect());
    }
    if schema.get("propertyNames").is_some() || schema.get("patternProperties").is_some() {
        for name in ["", "No Such!", "ä", "x-"] {
            strangers().into_iter().for_each(|(_, value)| put("propertyNames", with(name, value)));
        }
    }
    for key in ["not", "if", "dependentSchemas"].into_iter().filter(|key| schema.get(key).is_some()) {
        fields.keys().for_each(|name| put(key, without(&[name])));
        objects(schema, schema, 0).into_iter().for_each(|made| put(key, made));
    }
}

fn names(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// The schema that references lead to.
fn resolved<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let mut schema = schema;
    for _ in 0..MAX_DEPTH {
        match schema["$ref"].as_str().and_then(|name| root.pointer(name.trim_start_matches('#'))) {
            Some(target) => schema = target,
            None => break,
        }
    }
    schema
}
