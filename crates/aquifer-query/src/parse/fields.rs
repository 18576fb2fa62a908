//! Parses `fields` and `preset`: the selected fields of each item (R-COL-5).

use std::sync::Arc;

use serde_json::{Map, Value};

use super::QueryKind;
use super::path::{self, PathUse};
use super::problems::Problems;
use crate::collection::QueryRoot;
use crate::plan::{Embed, FieldSelection, Path, complete_order};

pub(super) fn parse(
    collection: QueryRoot<'_>,
    family: QueryKind,
    params: &Map<String, Value>,
    problems: &mut Problems,
) -> FieldSelection {
    let mut embeds = Vec::new();
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
            if names.len() > MAX_FIELDS {
                problems
                    .invalid("fields", format!("has more than {MAX_FIELDS} names. Name those you need, or a preset"));
            }
            for (index, name) in names.iter().take(MAX_FIELDS).enumerate() {
                if let (Value::Object(related), false) = (name, collection.references.is_empty()) {
                    for (name, options) in related {
                        embeds.extend(embed(collection, &format!("fields[{index}].{name}"), name, options, problems));
                    }
                    continue;
                }
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
    reject_overlaps(collection, &paths, &embeds, problems);
    FieldSelection { paths, embeds }
}

const OPTIONS: &[&str] = &["fields", "sort", "first", "filter"];
const DEFAULT_EMBEDDED: usize = 5;
const MAX_EMBEDDED: usize = 100;

/// The maximum number of names in `fields`.
const MAX_FIELDS: usize = 1_000;
/// Databases limit the number of arguments of a function.
const MAX_EMBEDDED_FIELDS: usize = 90;

/// Parses `{"visits": {"first": 3, "sort": "-visited_at", "fields": ["state"]}}`: items that refer to this one.
fn embed(collection: QueryRoot<'_>, at: &str, name: &str, options: &Value, problems: &mut Problems) -> Option<Embed> {
    let Some((through, name, inner)) = path::related_items(collection, name) else {
        problems.unknown_field("fields", name, &path::explain_related(collection, name));
        return None;
    };
    let short;
    let options = match options {
        Value::Object(options) => options,
        Value::Array(_) => {
            short = Map::from_iter([("fields".to_owned(), options.clone())]);
            &short
        }
        _ => {
            problems.wrong_type(at, "options such as {\"first\": 3, \"sort\": \"-created_at\", \"fields\": [\"id\"]}");
            return None;
        }
    };
    if let Some(other) = options.keys().find(|option| !OPTIONS.contains(&option.as_str())) {
        let meant = match other.as_str() {
            "limit" | "page_size" | "top" | "take" => Some("first"),
            "order" | "order_by" | "sort_by" => Some("sort"),
            "where" => Some("filter"),
            "select" | "columns" => Some("fields"),
            _ => None,
        };
        problems.unknown_field_with_hint(at, other, OPTIONS, meant);
        return None;
    }
    let first = match options.get("first").map(Value::as_u64) {
        None => DEFAULT_EMBEDDED,
        Some(number) => match number.and_then(|number| usize::try_from(number).ok()) {
            Some(number) if (1..=MAX_EMBEDDED).contains(&number) => number,
            _ => {
                problems.invalid(&format!("{at}.first"), format!("must be a number from 1 to {MAX_EMBEDDED}"));
                return None;
            }
        },
    };
    let FieldSelection { paths: select, embeds } = parse(inner, QueryKind::List, options, problems);
    if !embeds.is_empty() {
        problems.invalid(at, "cannot contain related items of its own. Ask for them in a call of their own");
    }
    if select.len() > MAX_EMBEDDED_FIELDS {
        problems.invalid(
            &format!("{at}.fields"),
            format!("has more than {MAX_EMBEDDED_FIELDS} fields. Name those you need"),
        );
    }
    let sort = super::sort::parse(inner, options, problems);
    let filter = options.get("filter").and_then(|filter| super::filter::parse(inner, filter, problems));
    let order = complete_order(&sort, inner.collection());
    Some(Embed { through, name, select, filter, order, first })
}

/// A reference may have the same name as the field that holds it. In the answer, the related item would replace the
/// field.
fn reject_overlaps(collection: QueryRoot<'_>, paths: &[Path], embeds: &[Embed], problems: &mut Problems) {
    let nested = paths.iter().map(|path| (&path.through, path.to_string()));
    let nested: Vec<_> = nested.chain(embeds.iter().map(|embed| (&embed.through, embed.to_string()))).collect();
    for field in paths.iter().filter(|path| !path.computed && path.inside.is_empty()) {
        let steps: Vec<Arc<str>> = field.through.iter().chain([&field.name]).cloned().collect();
        let Some((_, nested)) = nested.iter().find(|(through, _)| through.starts_with(&steps)) else { continue };
        let (target, _, _) = path::follow(collection, &format!("{field}.x"));
        let key = target.collection().key.first().map_or("id", |key| &**key);
        let problem = format!(
            "names '{field}' and '{nested}', which would have the same place in the answer. Write '{field}.{key}' instead \
             of '{field}'; with a preset, list the fields by name"
        );
        problems.invalid("fields", problem);
        return;
    }
}

fn preset_fields(collection: QueryRoot<'_>, at: &str, name: &str, problems: &mut Problems) -> Vec<Path> {
    match collection.preset(name) {
        Some(names) => names.into_iter().map(Path::from_name).collect(),
        None => {
            problems.unsuitable(at, "is not a preset. Send one, or a list of field names", &collection.preset_names());
            Vec::new()
        }
    }
}
