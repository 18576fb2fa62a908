//! Parses `sort`: one criterion, several, or a name together with `order` (R-COL-4).

use serde_json::{Map, Value};

use super::path::{self, PathUse};
use super::problems::{self, Problems};
use crate::collection::QueryRoot;
use crate::plan::SortKey;

const MAX_CRITERIA: usize = 8;

/// The members of a criterion.
const MEMBERS: [&str; 3] = ["field", "order", "nulls"];

pub(super) fn parse(collection: QueryRoot<'_>, params: &Map<String, Value>, problems: &mut Problems) -> Vec<SortKey> {
    let order = params.get("order");
    match params.get("sort") {
        None => {
            if order.is_some() {
                problems.invalid("order", "requires 'sort'");
            }
            Vec::new()
        }
        Some(Value::String(name)) => sort_key(collection, "sort", name, order, None, problems).into_iter().collect(),
        Some(object @ Value::Object(_)) => criterion(collection, "sort", object, problems).into_iter().collect(),
        Some(Value::Array(several)) if several.len() <= MAX_CRITERIA => several
            .iter()
            .enumerate()
            .filter_map(|(index, value)| criterion(collection, &format!("sort[{index}]"), value, problems))
            .collect(),
        Some(Value::Array(_)) => {
            problems.invalid("sort", format!("must have no more than {MAX_CRITERIA} criteria"));
            Vec::new()
        }
        Some(_) => {
            problems.wrong_type("sort", "{field, order} or a list of them");
            Vec::new()
        }
    }
}

fn criterion(collection: QueryRoot<'_>, at: &str, value: &Value, problems: &mut Problems) -> Option<SortKey> {
    let object = match value {
        Value::Object(object) => object,
        Value::String(name) => return sort_key(collection, at, name, None, None, problems),
        _ => {
            problems.wrong_type(at, "{field, order}");
            return None;
        }
    };
    if let Some(other) = object.keys().find(|name| !MEMBERS.contains(&name.as_str())) {
        problems.unknown_field_with_hint(at, other, &MEMBERS, member_alias(other));
        return None;
    }
    match object.get("field").and_then(Value::as_str) {
        Some(name) => sort_key(collection, at, name, object.get("order"), object.get("nulls"), problems),
        None => {
            let valid = path::valid_names(collection, PathUse::Sort);
            problems.unsuitable(at, "needs 'field', a name to sort by", &valid);
            None
        }
    }
}

fn sort_key(
    collection: QueryRoot<'_>,
    at: &str,
    name: &str,
    order: Option<&Value>,
    nulls: Option<&Value>,
    problems: &mut Problems,
) -> Option<SortKey> {
    // In an open collection, a name with a direction is a field only if the field is known.
    let is_field = if collection.open {
        collection.field(name).is_some()
    } else {
        path::resolve(collection, name, PathUse::Sort).is_ok()
    };
    let (name, order) = match split_direction(name) {
        // Other query languages put the direction into the name.
        Some((bare, direction)) if order.is_none() && !is_field => (bare, Some(direction)),
        _ => (name, order.cloned()),
    };
    let descending = match order.as_ref().map(Value::as_str) {
        None | Some(Some("asc")) => false,
        Some(Some("desc")) => true,
        Some(_) => {
            problems.unsuitable(at, "must have the order 'asc' or 'desc'", &["asc", "desc"]);
            return None;
        }
    };
    let nulls_first = match nulls.map(Value::as_str) {
        None | Some(Some("last")) => false,
        Some(Some("first")) => true,
        Some(_) => {
            problems.unsuitable(at, "must have 'nulls' as 'first' or 'last'", &["first", "last"]);
            return None;
        }
    };
    match path::resolve(collection, name, PathUse::Sort) {
        Ok((path, field_type)) if field_type.is_ordered() || !path.inside.is_empty() || collection.open => {
            Some(SortKey { path, field_type, descending, nulls_first })
        }
        Ok((path, field_type)) => {
            let name = problems::sanitize_path(&path.to_string());
            let why = match field_type.has_paths() {
                true => format!("cannot sort by '{name}' as a whole. Name a path inside it, such as '{name}.x'"),
                false => format!("cannot sort by '{name}': values of type {} have no order", field_type.type_name()),
            };
            problems.unsuitable(at, why, &path::valid_names(collection, PathUse::Sort));
            None
        }
        Err(valid) => {
            problems.unknown_field("sort", name, &valid);
            None
        }
    }
}

/// The member that a caller means by a name from another query language.
fn member_alias(word: &str) -> Option<&'static str> {
    const ORDER: &[&str] = &["direction", "dir", "desc", "asc", "descending", "ascending", "reverse", "sort_order"];
    const FIELD: &[&str] = &["by", "name", "column", "key", "property", "path", "sort_by", "order_by"];
    let is_in = |words: &[&str]| words.iter().any(|alias| alias.eq_ignore_ascii_case(word));
    if is_in(ORDER) {
        Some("order")
    } else if is_in(FIELD) {
        Some("field")
    } else {
        aquifer_protocol::suggest::nearest(word, MEMBERS)
    }
}

/// Splits `-name`, `name desc` and the like into name and direction.
pub(super) fn split_direction(name: &str) -> Option<(&str, Value)> {
    let (bare, direction) = match (name.strip_prefix('-'), name.strip_prefix('+'), name.trim().rsplit_once([' ', ':']))
    {
        (Some(bare), _, _) => (bare, "desc"),
        (_, Some(bare), _) => (bare, "asc"),
        (_, _, Some((bare, word))) if word.eq_ignore_ascii_case("desc") => (bare, "desc"),
        (_, _, Some((bare, word))) if word.eq_ignore_ascii_case("asc") => (bare, "asc"),
        _ => return None,
    };
    Some((bare.trim(), direction.into()))
}
