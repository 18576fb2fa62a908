//! Marks the parameters and fields that hold secrets, by their names (R-INT-2).
//!
//! It is done here, once for all sources: a database has no such mark, and most servers and API descriptions do not set
//! theirs. What a source marks itself stays marked.

use std::sync::Arc;

use crate::schema::{Kind, Parameter, Rest, Schema};
use crate::secrets::names_secret;

/// Marks parameters, and the fields inside them. Named types are marked separately.
pub(super) fn mark_fields(fields: &mut [Parameter]) {
    for field in fields {
        field.sensitive |= is_secret(field);
        mark_schema(&mut field.schema);
    }
}

/// Marks the fields of a type. Types without secrets are not copied.
pub(super) fn mark_type(schema: &mut Arc<Schema>) {
    if holds_unmarked(schema) {
        mark_schema(Arc::make_mut(schema));
    }
}

/// The answer to a question about a secret is none, so flags are never secret.
fn is_secret(field: &Parameter) -> bool {
    !matches!(field.schema.kind, Kind::Boolean | Kind::Null) && names_secret(&field.name)
}

fn mark_schema(schema: &mut Schema) {
    match &mut schema.kind {
        Kind::Object(shape) => {
            mark_fields(&mut shape.fields);
            if let Rest::Of(rest) = &mut shape.rest {
                mark_schema(rest);
            }
        }
        Kind::Array(Some(items)) => mark_schema(items),
        Kind::Union(members) => members.iter_mut().for_each(mark_schema),
        _ => {}
    }
}

fn holds_unmarked(schema: &Schema) -> bool {
    match &schema.kind {
        Kind::Object(shape) => {
            let is_unmarked =
                |field: &Parameter| (!field.sensitive && is_secret(field)) || holds_unmarked(&field.schema);
            shape.fields.iter().any(is_unmarked) || matches!(&shape.rest, Rest::Of(rest) if holds_unmarked(rest))
        }
        Kind::Array(Some(items)) => holds_unmarked(items),
        Kind::Union(members) => members.iter().any(holds_unmarked),
        _ => false,
    }
}
