//! Paths: `name`, `name.inside.it`, `_computed.name`.

use std::sync::Arc;

use crate::collection::{Collection, Computed, FieldType};
use crate::plan::Path;

/// What a path may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Filter,
    Sort,
    Select,
    Aggregate,
}

/// The path and the type of what it leads to; or the names that would have been valid.
pub(super) fn find(collection: &Collection, text: &str, usage: Use) -> Result<(Path, FieldType), Vec<String>> {
    // A field whose own name holds a dot goes first.
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
        return Err(valid(collection, usage));
    }
    if text == "_etag" && collection.versions && usage == Use::Select {
        return Ok((Path::field("_etag"), FieldType::Text));
    }
    let empty_step = inside.iter().any(|step| step.is_empty());
    match collection.field(first) {
        Some(field) if field.of.has_paths() && !empty_step => {
            Ok((Path { name: field.name.clone(), computed: false, inside }, FieldType::Json))
        }
        // Where the shape is not known for sure, what is text in the items seen may be an object in others.
        _ if collection.open && !first.is_empty() && !empty_step => {
            Ok((Path { name: first.into(), computed: false, inside }, FieldType::Json))
        }
        _ => Err(valid(collection, usage)),
    }
}

fn is_usable(computed: &Computed, usage: Use) -> bool {
    match usage {
        Use::Select => true,
        Use::Filter | Use::Aggregate => computed.filterable,
        Use::Sort => computed.sortable,
    }
}

/// Every name that can be used so. Where only a path into a field will do, `field.*` stands for all of them.
pub(super) fn valid(collection: &Collection, usage: Use) -> Vec<String> {
    valid_where(collection, usage, |_| true)
}

/// The same of types that fit.
pub(super) fn valid_where(collection: &Collection, usage: Use, fits: impl Fn(&FieldType) -> bool) -> Vec<String> {
    let fields = collection.fields.iter().filter(|field| fits(&field.of)).filter_map(|field| match usage {
        Use::Sort if field.of.has_paths() => Some(format!("{}.*", field.name)),
        Use::Sort if !field.of.is_ordered() => None,
        _ => Some(field.name.to_string()),
    });
    let computed = collection.computed.iter().filter(|computed| is_usable(computed, usage) && fits(&computed.of));
    let version = (collection.versions && usage == Use::Select).then(|| "_etag".to_owned());
    fields.chain(computed.map(|computed| format!("_computed.{}", computed.name))).chain(version).collect()
}
