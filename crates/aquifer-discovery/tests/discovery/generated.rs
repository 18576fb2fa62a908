//! Arguments made from a tool's own schema, right ones and wrong ones. Used by the tests of the binary, too.

use serde_json::{Map, Value, json};

/// Deeper than this only what must be there is made: schemas may be recursive.
const MAX_DEPTH: usize = 4;

/// A few values for a schema, right ones and wrong ones. Whether one is valid is for somebody else to say.
fn values(schema: &Value, root: &Value, depth: usize) -> Vec<Value> {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = root.pointer(reference.trim_start_matches('#')).unwrap_or(&Value::Null);
        return if depth > MAX_DEPTH { Vec::new() } else { values(target, root, depth + 1) };
    }
    if let Some(words) = schema["enum"].as_array() {
        return [words.as_slice(), &[json!("no such word")]].concat();
    }
    if let Some(word) = schema.get("const") {
        return vec![word.clone(), json!("no such word")];
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        if let Some(members) = schema[key].as_array() {
            return members.iter().flat_map(|member| values(member, root, depth + 1)).collect();
        }
    }
    let mut made = Vec::new();
    let types = match &schema["type"] {
        Value::Array(types) => types.clone(),
        Value::Null => vec![json!("string"), json!("object")],
        one => vec![one.clone()],
    };
    for of in &types {
        made.extend(typed(of.as_str().unwrap(), schema, root, depth));
    }
    made.extend([json!(null), json!([[]]), json!(true), json!(7.5)]);
    made
}

fn typed(of: &str, schema: &Value, root: &Value, depth: usize) -> Vec<Value> {
    let number = |key: &str| schema[key].as_f64();
    match of {
        "string" => {
            let formatted = match schema["format"].as_str() {
                Some("date-time") => "2026-11-15T07:00:00Z",
                Some("uri") => "https://example.com/a",
                Some("email") => "a@example.com",
                Some("date") => "2026-11-15",
                Some("uuid") => "8c3e1a7c-6d2b-4f0e-9d57-0a4d0f5f3b21",
                _ => "words of no meaning",
            };
            let longest = schema["maxLength"].as_u64().map(|most| "x".repeat(most as usize + 1));
            [formatted.to_owned(), String::new()].into_iter().chain(longest).map(Value::from).collect()
        }
        "integer" | "number" => {
            let mut numbers = vec![json!(1), json!(-1), json!(0), json!(1e6), json!(50)];
            for bound in ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"].into_iter().filter_map(number) {
                numbers.extend([bound - 1.0, bound, bound + 1.0].map(|near| match near.fract() == 0.0 {
                    true => json!(near as i64),
                    false => json!(near),
                }));
            }
            numbers
        }
        "boolean" => vec![json!(true), json!(false), json!("true")],
        "array" => {
            let items = if depth > MAX_DEPTH { Vec::new() } else { values(&schema["items"], root, depth + 1) };
            let each = items.iter().take(12).map(|item| json!([item]));
            each.chain([json!([]), Value::Array(items.iter().take(2).cloned().collect())]).collect()
        }
        "object" => objects(schema, root, depth),
        _ => vec![Value::Null],
    }
}

/// Objects with everything and with only what must be there, then each property with each of its values.
pub(crate) fn objects(schema: &Value, root: &Value, depth: usize) -> Vec<Value> {
    let none = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&none);
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let choices: Vec<(&String, Vec<Value>)> = properties
        .iter()
        .filter(|(name, _)| depth <= MAX_DEPTH || required.contains(&name.as_str()))
        .map(|(name, schema)| (name, values(schema, root, depth + 1)))
        .collect();
    let first = |wanted: &dyn Fn(&str) -> bool| -> Map<String, Value> {
        let chosen = choices.iter().filter(|(name, _)| wanted(name));
        chosen.filter_map(|(name, values)| Some(((*name).clone(), values.first()?.clone()))).collect()
    };
    let least = first(&|name| required.contains(&name));
    let mut made = vec![least.clone(), first(&|_| true), Map::new()];
    for (name, values) in &choices {
        for value in values {
            let mut one = least.clone();
            one.insert((*name).clone(), value.clone());
            made.push(one);
        }
    }
    for (name, value) in unnamed(schema, root, depth) {
        let mut one = least.clone();
        one.insert(name.to_owned(), value);
        made.push(one);
    }
    made.into_iter().map(Value::Object).collect()
}

/// Properties that an open schema does not name: those that its rule for the rest is about, and those of its patterns.
fn unnamed(schema: &Value, root: &Value, depth: usize) -> Vec<(&'static str, Value)> {
    const NAMES: [&str; 5] = ["extraOne", "extra_two", "_three", "x-four", "five six/~"];
    // Free inside of free is free without end.
    if depth > 1 {
        return Vec::new();
    }
    let any = json!({});
    let rest = match &schema["additionalProperties"] {
        Value::Bool(true) => Some(&any),
        Value::Null
            if ["properties", "required", "anyOf", "oneOf", "allOf"].iter().all(|key| schema[key].is_null()) =>
        {
            Some(&any)
        }
        rest @ Value::Object(_) => Some(rest),
        _ => None,
    };
    let patterns = schema["patternProperties"].as_object().into_iter().flat_map(|all| all.values());
    let shapes = patterns.chain(rest);
    let values: Vec<Value> = shapes.flat_map(|shape| values(shape, root, depth + 1)).collect();
    NAMES.iter().flat_map(|name| values.iter().map(|value| (*name, value.clone()))).collect()
}
