//! Parses `fields` and `preset`: the selected fields of each item (R-COL-5).

use serde_json::{Map, Value};

use super::QueryKind;
use super::path::{self, PathUse};
use super::problems::Problems;
use crate::collection::Collection;
use crate::plan::Path;

pub(super) fn parse(
    collection: &Collection,
    family: QueryKind,
    params: &Map<String, Value>,
    problems: &mut Problems,
) -> Vec<Path> {
    let preset = params.get("preset").and_then(Value::as_str);
    let mut paths = match (preset, params.get("fields")) {
        (Some(name), _) => preset_fields(collection, "preset", name, problems),
        (None, Some(Value::String(name))) => preset_fields(collection, "fields", name, problems),
        (None, Some(Value::Array(_))) => Vec::new(),
        _ => preset_fields(collection, "fields", family.preset(), problems),
    };
    match (preset, params.get("fields")) {
        (_, Some(Value::Array(names))) => {
            if names.is_empty() && preset.is_none() {
                problems.invalid("fields", "is empty. Name fields, or a preset");
            }
            for (index, name) in names.iter().enumerate() {
                let Some(name) = name.as_str() else {
                    problems.wrong_type(&format!("fields[{index}]"), "a field's name");
                    continue;
                };
                match path::resolve(collection, name, PathUse::Select) {
                    Ok((path, _)) if !paths.contains(&path) => paths.push(path),
                    Ok(_) => {}
                    Err(valid) => problems.unknown_field("fields", name, &valid),
                }
            }
        }
        (Some(_), Some(Value::String(name))) => {
            for path in preset_fields(collection, "fields", name, problems) {
                if !paths.contains(&path) {
                    paths.push(path);
                }
            }
        }
        _ => {}
    }
    paths
}

fn preset_fields(collection: &Collection, at: &str, name: &str, problems: &mut Problems) -> Vec<Path> {
    match collection.preset(name) {
        Some(names) => names.into_iter().map(Path::from_name).collect(),
        None => {
            problems.unsuitable(at, "is not a preset. Send one, or a list of field names", &collection.preset_names());
            Vec::new()
        }
    }
}
