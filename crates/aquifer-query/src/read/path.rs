//! Paths: `name`, `name.inside.it`, `_computed.name`.

use std::sync::Arc;

use crate::collection::{Collection, FieldType};
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
pub(super) fn find<'a>(collection: &'a Collection, text: &str, usage: Use) -> Result<(Path, FieldType), Vec<&'a str>> {
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
            && match usage {
                Use::Filter => computed.filterable,
                Use::Sort => computed.sortable,
                Use::Select => true,
                Use::Aggregate => computed.filterable,
            }
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

fn valid(collection: &Collection, usage: Use) -> Vec<&str> {
    match usage {
        Use::Sort => collection.names(|field| field.of.is_ordered() || field.of.has_paths()),
        _ => collection.names(|_| true),
    }
}
