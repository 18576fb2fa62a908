//! Resolves paths: `name`, `name.inside.it`, `_computed.name`.

use std::sync::Arc;

use crate::collection::{Collection, ComputedValue, FieldType};
use crate::plan::Path;

/// The use of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathUse {
    Filter,
    Sort,
    Select,
    Aggregate,
}

/// The path and the type of its value, or the valid names as an error.
pub(super) fn resolve(collection: &Collection, text: &str, usage: PathUse) -> Result<(Path, FieldType), Vec<String>> {
    // A field whose name contains a dot takes precedence.
    if let Some(field) = collection.field(text) {
        return Ok((Path::field(&field.name), field.of.clone()));
    }
    let mut steps = text.split('.');
    let first = steps.next().unwrap_or_default();
    let inside: Vec<Arc<str>> = steps.map(Into::into).collect();
    if first == "_computed" {
        if let [name] = inside.as_slice()
            && let Some(computed) = collection.computed(name)
            && is_usable(computed, usage)
        {
            return Ok((Path { name: computed.name.clone(), computed: true, inside: Vec::new() }, computed.of.clone()));
        }
        return Err(valid_names(collection, usage));
    }
    if text == "_etag" && collection.versions && usage == PathUse::Select {
        return Ok((Path::field("_etag"), FieldType::Text));
    }
    let empty_step = inside.iter().any(|step| step.is_empty());
    match collection.field(first) {
        Some(field) if field.of.has_paths() && !empty_step => {
            Ok((Path { name: field.name.clone(), computed: false, inside }, FieldType::Json))
        }
        // In an open collection, a field with text in the known items may have an object in others.
        _ if collection.open && !first.is_empty() && !empty_step => {
            Ok((Path { name: first.into(), computed: false, inside }, FieldType::Json))
        }
        _ => Err(valid_names(collection, usage)),
    }
}

fn is_usable(computed: &ComputedValue, usage: PathUse) -> bool {
    match usage {
        PathUse::Select => true,
        PathUse::Filter | PathUse::Aggregate => computed.filterable,
        PathUse::Sort => computed.sortable,
    }
}

/// The names that are valid for this use. `field.*` stands for all paths into a field that cannot be used as a whole.
pub(super) fn valid_names(collection: &Collection, usage: PathUse) -> Vec<String> {
    valid_names_where(collection, usage, |_| true)
}

/// Like [`valid_names`], limited to types that fit.
pub(super) fn valid_names_where(
    collection: &Collection,
    usage: PathUse,
    fits: impl Fn(&FieldType) -> bool,
) -> Vec<String> {
    let fields = collection.fields.iter().filter(|field| fits(&field.of)).filter_map(|field| match usage {
        PathUse::Sort if field.of.has_paths() => Some(format!("{}.*", field.name)),
        PathUse::Sort if !field.of.is_ordered() => None,
        _ => Some(field.name.to_string()),
    });
    let computed = collection.computed.iter().filter(|computed| is_usable(computed, usage) && fits(&computed.of));
    let version = (collection.versions && usage == PathUse::Select).then(|| "_etag".to_owned());
    fields.chain(computed.map(|computed| format!("_computed.{}", computed.name))).chain(version).collect()
}
