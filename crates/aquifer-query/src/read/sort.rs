//! `sort`: one criterion, several, or a name with `order` beside it (R-COL-4).

use serde_json::{Map, Value};

use super::path::{self, Use};
use super::problems::{self, Problems};
use crate::collection::Collection;
use crate::plan::SortKey;

/// More criteria than this help nobody.
const MAX_COUNT: usize = 8;

/// The members of a criterion.
const MEMBERS: [&str; 3] = ["field", "order", "nulls"];

pub(super) fn read(collection: &Collection, params: &Map<String, Value>, problems: &mut Problems) -> Vec<SortKey> {
    let beside = params.get("order");
    match params.get("sort") {
        None => {
            if beside.is_some() {
                problems.invalid("order", "needs 'sort' beside it");
            }
            Vec::new()
        }
        Some(Value::String(name)) => key(collection, "sort", name, beside, None, problems).into_iter().collect(),
        Some(one @ Value::Object(_)) => criterion(collection, "sort", one, problems).into_iter().collect(),
        Some(Value::Array(several)) if several.len() <= MAX_COUNT => several
            .iter()
            .enumerate()
            .filter_map(|(index, one)| criterion(collection, &format!("sort[{index}]"), one, problems))
            .collect(),
        Some(Value::Array(_)) => {
            problems.invalid("sort", format!("must have no more than {MAX_COUNT} criteria"));
            Vec::new()
        }
        Some(_) => {
            problems.wrong_type("sort", "{field, order} or a list of them");
            Vec::new()
        }
    }
}

fn criterion(collection: &Collection, at: &str, value: &Value, problems: &mut Problems) -> Option<SortKey> {
    let object = match value {
        Value::Object(object) => object,
        Value::String(name) => return key(collection, at, name, None, None, problems),
        _ => {
            problems.wrong_type(at, "{field, order}");
            return None;
        }
    };
    if let Some(other) = object.keys().find(|name| !MEMBERS.contains(&name.as_str())) {
        problems.unknown_field_meaning(at, other, &MEMBERS, meant(other));
        return None;
    }
    match object.get("field").and_then(Value::as_str) {
        Some(name) => key(collection, at, name, object.get("order"), object.get("nulls"), problems),
        None => {
            problems.invalid(at, "needs 'field', a name to sort by");
            None
        }
    }
}

fn key(
    collection: &Collection,
    at: &str,
    name: &str,
    order: Option<&Value>,
    nulls: Option<&Value>,
    problems: &mut Problems,
) -> Option<SortKey> {
    // Where any name may be a field's, one that says a direction is no field unless it is known to be.
    let known = if collection.open {
        collection.field(name).is_some()
    } else {
        path::find(collection, name, Use::Sort).is_ok()
    };
    let (name, order) = match turned(name) {
        // Other languages say the direction in the name.
        Some((bare, direction)) if order.is_none() && !known => (bare, Some(direction)),
        _ => (name, order.cloned()),
    };
    let descending = match order.as_ref().map(Value::as_str) {
        None | Some(Some("asc")) => false,
        Some(Some("desc")) => true,
        Some(_) => {
            problems.invalid(at, "must have the order 'asc' or 'desc'");
            return None;
        }
    };
    let nulls_first = match nulls.map(Value::as_str) {
        None | Some(Some("last")) => false,
        Some(Some("first")) => true,
        Some(_) => {
            problems.invalid(at, "must have 'nulls' as 'first' or 'last'");
            return None;
        }
    };
    match path::find(collection, name, Use::Sort) {
        Ok((path, of)) if of.is_ordered() || !path.inside.is_empty() || collection.open => {
            Some(SortKey { path, of, descending, nulls_first })
        }
        Ok((path, of)) => {
            let name = problems::shown(&path.to_string());
            let why = match of.has_paths() {
                true => format!("cannot sort by '{name}' as a whole. Name a path inside it, such as '{name}.x'"),
                false => format!("cannot sort by '{name}': values of type {} have no order", of.words()),
            };
            problems.unsuitable(at, why, &path::valid(collection, Use::Sort));
            None
        }
        Err(valid) => {
            problems.unknown_field("sort", name, &valid);
            None
        }
    }
}

/// What is meant by a word of other languages.
fn meant(word: &str) -> Option<&'static str> {
    const ORDER: &[&str] = &["direction", "dir", "desc", "asc", "descending", "ascending", "reverse", "sort_order"];
    const FIELD: &[&str] = &["by", "name", "column", "key", "property", "path", "sort_by", "order_by"];
    let is_in = |words: &[&str]| words.iter().any(|known| known.eq_ignore_ascii_case(word));
    if is_in(ORDER) {
        Some("order")
    } else if is_in(FIELD) {
        Some("field")
    } else {
        aquifer_protocol::suggest::nearest(word, MEMBERS)
    }
}

/// `-name`, `name desc` and the like: the name, and which way.
fn turned(name: &str) -> Option<(&str, Value)> {
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
