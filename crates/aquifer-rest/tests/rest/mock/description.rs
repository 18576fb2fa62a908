//! The description for the mock.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

/// Which part of a description the mock gets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// The unchanged file.
    Everything,
    /// A copy without responses and what only they refer to. Prism needs minutes to read large response types, and does
    /// not need them to validate a request.
    Requests,
}

/// The file for the mock.
pub(super) fn file(original: &Path, parsed: &Value, content: Content) -> PathBuf {
    if content == Content::Everything {
        return original.to_owned();
    }
    let name = original.file_stem().unwrap().to_string_lossy();
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mock-{name}.json"));
    std::fs::write(&copy, requests(parsed).to_string()).unwrap();
    copy
}

fn requests(description: &Value) -> Value {
    let mut reduced = description.clone();
    for item in reduced["paths"].as_object_mut().unwrap().values_mut().filter_map(Value::as_object_mut) {
        for operation in
            item.values_mut().filter_map(Value::as_object_mut).filter(|operation| operation.contains_key("responses"))
        {
            operation.insert("responses".to_owned(), json!({"200": {"description": "Done"}}));
            operation.remove("callbacks");
        }
    }
    let mut used = BTreeMap::new();
    collect(&reduced["paths"], description, &mut used);
    let mut components = Map::new();
    for ((section, name), component) in used {
        components.entry(section).or_insert_with(|| json!({}))[name] = component.clone();
    }
    if let Some(schemes) = description.pointer("/components/securitySchemes") {
        components.insert("securitySchemes".to_owned(), schemes.clone());
    }
    reduced["components"] = Value::Object(components);
    for webhooks in ["webhooks", "x-webhooks"] {
        reduced.as_object_mut().unwrap().remove(webhooks);
    }
    reduced
}

/// The components that are used, by section and name.
type Used<'a> = BTreeMap<(String, String), &'a Value>;

/// Collects the components that a part refers to, directly or indirectly.
fn collect<'a>(part: &Value, description: &'a Value, used: &mut Used<'a>) {
    match part {
        Value::Object(members) => {
            if let Some(name) = members.get("$ref").and_then(Value::as_str).and_then(component_name)
                && let Some(component) = description["components"][&name.0].get(&name.1)
                && used.insert(name, component).is_none()
            {
                collect(component, description, used);
            }
            members.values().for_each(|member| collect(member, description, used));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, description, used)),
        _ => {}
    }
}

fn component_name(reference: &str) -> Option<(String, String)> {
    let (section, name) = reference.strip_prefix("#/components/")?.split_once('/')?;
    let name = name.split('/').next()?.replace("~1", "/").replace("~0", "~");
    Some((section.to_owned(), name))
}
