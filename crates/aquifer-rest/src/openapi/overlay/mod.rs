//! Applies an OpenAPI Overlay: a document that adds to a description or removes parts of it.

mod path;

use serde_json::Value;

use super::DescriptionError;
use super::text::quote;
use path::{Location, Query, Step};

/// The maximum number of actions.
const MAX_ACTIONS: usize = 10_000;

/// The maximum depth of an update.
const MAX_DEPTH: usize = 128;

/// The maximum number of bytes that an overlay adds. An update is copied to every location that its target selects.
const MAX_ADDED_BYTES: usize = 64 * 1024 * 1024;

/// Applies an overlay to a description. Returns the targets that selected nothing. Nothing is changed if a target is
/// invalid.
pub fn apply(description: &mut Value, overlay: &Value) -> Result<Vec<String>, DescriptionError> {
    let version = overlay.get("overlay").and_then(Value::as_str).unwrap_or_default();
    if !version.starts_with("1.") {
        return Err(invalid("it has no 'overlay' with version 1.0".to_owned()));
    }
    let Some(actions) = overlay.get("actions").and_then(Value::as_array) else {
        return Err(invalid("it has no list of 'actions'".to_owned()));
    };
    if actions.len() > MAX_ACTIONS {
        return Err(invalid(format!("it has more than {MAX_ACTIONS} actions")));
    }
    let actions: Vec<Action<'_>> = actions.iter().enumerate().map(Action::read).collect::<Result<_, _>>()?;
    let mut unmatched = Vec::new();
    let mut bytes_left = MAX_ADDED_BYTES;
    for action in &actions {
        let found = action.query.find(description).map_err(|message| action.invalid(&message))?;
        if found.is_empty() {
            unmatched.push(action.target.to_owned());
        }
        match action.effect {
            Effect::Remove => remove_all(description, found),
            Effect::Update(update) => {
                let size = update.to_string().len().saturating_mul(found.len());
                let Some(left) = bytes_left.checked_sub(size) else {
                    return Err(action.invalid("its updates add too much"));
                };
                bytes_left = left;
                for location in &found {
                    if let Some(target) = path::get_mut(description, location) {
                        update_target(target, update);
                    }
                }
            }
            Effect::Nothing => {}
        }
    }
    Ok(unmatched)
}

fn invalid(message: String) -> DescriptionError {
    DescriptionError::Overlay(message)
}

struct Action<'a> {
    index: usize,
    target: &'a str,
    query: Query,
    effect: Effect<'a>,
}

enum Effect<'a> {
    Remove,
    Update(&'a Value),
    Nothing,
}

impl<'a> Action<'a> {
    fn read((index, json): (usize, &'a Value)) -> Result<Self, DescriptionError> {
        let Some(target) = json.get("target").and_then(Value::as_str) else {
            return Err(invalid(format!("actions[{index}] has no 'target'")));
        };
        let query = Query::parse(target)
            .map_err(|message| invalid(format!("actions[{index}]: the target {} {message}", quote(target))))?;
        let effect = match (json.get("remove").and_then(Value::as_bool), json.get("update")) {
            (Some(true), _) => Effect::Remove,
            (_, Some(update)) => Effect::Update(update),
            _ => Effect::Nothing,
        };
        Ok(Self { index, target, query, effect })
    }

    fn invalid(&self, message: &str) -> DescriptionError {
        invalid(format!("actions[{}]: {message}", self.index))
    }
}

/// Removes the selected values. Elements of arrays are removed from the end, so that the remaining indexes stay valid.
fn remove_all(description: &mut Value, mut found: Vec<Location>) {
    found.sort();
    for location in found.iter().rev() {
        let Some((last, parent)) = location.split_last() else { continue };
        match (path::get_mut(description, parent), last) {
            (Some(Value::Object(members)), Step::Name(name)) => {
                members.shift_remove(name);
            }
            (Some(Value::Array(items)), Step::Index(index)) if *index < items.len() => {
                items.remove(*index);
            }
            _ => {}
        }
    }
}

/// Appends the update to an array, or merges it into any other value.
fn update_target(target: &mut Value, update: &Value) {
    match (target, update) {
        (Value::Array(items), update) if !update.is_array() => items.push(update.clone()),
        (target, update) => merge(target, update, 0),
    }
}

fn merge(target: &mut Value, update: &Value, depth: usize) {
    match (target, update) {
        (Value::Object(members), Value::Object(changes)) if depth < MAX_DEPTH => {
            for (name, change) in changes {
                match members.get_mut(name) {
                    Some(member) => merge(member, change, depth + 1),
                    None => {
                        members.insert(name.clone(), change.clone());
                    }
                }
            }
        }
        (Value::Array(items), Value::Array(more)) => items.extend(more.iter().cloned()),
        (target, update) => *target = update.clone(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use serde_json::json;

    use super::*;

    fn applied(mut description: Value, actions: Value) -> Value {
        apply(&mut description, &json!({ "overlay": "1.0.0", "actions": actions })).unwrap();
        description
    }

    #[test]
    fn updates_are_merged_and_places_removed() {
        let description = json!({
            "info": { "title": "Old", "x": 1 }, "tags": [{ "name": "a" }, { "name": "b" }, { "name": "c" }],
            "paths": { "/a": { "get": { "tags": ["x"] }, "delete": {} }, "/b": { "get": {} } }
        });
        for (actions, pointer, expected) in [
            (
                json!([{ "target": "$", "update": { "info": { "title": "New" } } }]),
                "/info",
                json!({ "title": "New", "x": 1 }),
            ),
            (json!([{ "target": "$.tags", "update": { "name": "d" } }]), "/tags/3/name", json!("d")),
            (json!([{ "target": "$.tags[?(@.name!='b')]", "remove": true }]), "/tags", json!([{ "name": "b" }])),
            (
                json!([{ "target": "$.paths.*.get", "update": { "tags": ["y"] } }]),
                "/paths/~1a/get/tags",
                json!(["x", "y"]),
            ),
            (
                json!([{ "target": "$.paths['/a'].delete", "remove": true }]),
                "/paths/~1a",
                json!({ "get": { "tags": ["x"] } }),
            ),
            (
                json!([{ "target": "$..get", "update": { "deprecated": true } }]),
                "/paths/~1b/get",
                json!({ "deprecated": true }),
            ),
            (json!([{ "target": "$.tags[0]", "update": { "name": "z" } }]), "/tags/0/name", json!("z")),
        ] {
            let changed = applied(description.clone(), actions.clone());
            assert_eq!(changed.pointer(pointer), Some(&expected), "{actions}");
        }
    }

    #[test]
    fn targets_that_select_nothing_are_returned() {
        let overlay = json!({ "overlay": "1.0.0", "actions": [{ "target": "$.nothing", "remove": true }] });
        assert_eq!(apply(&mut json!({}), &overlay).unwrap(), ["$.nothing"]);
    }

    #[test]
    fn invalid_overlays_change_nothing() {
        for (overlay, expected) in [
            (json!({}), "no 'overlay'"),
            (json!({ "overlay": "1.0.0" }), "no list"),
            (json!({ "overlay": "1.0.0", "actions": [{}] }), "actions[0] has no 'target'"),
            (
                json!({ "overlay": "1.0.0", "actions": [
                    { "target": "$", "update": { "changed": true } },
                    { "target": "$.a[?length(@.b) > 2]", "remove": true }
                ] }),
                "actions[1]",
            ),
        ] {
            let mut description = json!({ "a": [] });
            let message = apply(&mut description, &overlay).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
            assert_eq!(description, json!({ "a": [] }));
        }
    }

    #[test]
    fn an_update_cannot_grow_without_bound() {
        let mut description = json!({ "a": vec![json!({}); 50_000] });
        let overlay =
            json!({ "overlay": "1.0.0", "actions": [{ "target": "$.a[*]", "update": { "text": "x".repeat(2_000) } }] });
        assert!(apply(&mut description, &overlay).is_err());
    }
}
