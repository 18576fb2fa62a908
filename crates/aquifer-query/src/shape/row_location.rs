//! Locates the rows inside a result: at a known path, or by a search.
//!
//! The search is deterministic. If the result is a list, it is the rows. In an object, lists are searched level by level,
//! the shallowest first. Each level yields a list with a known list name (`items`, `results`, …, in that order), otherwise
//! the only list of objects. If several lists qualify, none is used. Empty lists and lists of scalars follow in the same
//! way.

use std::sync::Arc;

use aquifer_protocol::operation::RowPlace;
use serde_json::{Map, Value, json};

use super::announced::describes_list;

/// Common names of lists of rows, the most likely first.
const LIST_NAMES: &[&str] = &[
    "items",
    "results",
    "data",
    "nodes",
    "edges",
    "records",
    "entries",
    "rows",
    "list",
    "values",
    "content",
    "hits",
    "objects",
    "documents",
    "elements",
    "matches",
    "result",
];

/// Lists that accompany rows. They are used only if there are no other lists.
const SIDE_LIST_NAMES: &[&str] = &["errors", "warnings", "messages", "links", "facets", "included"];

/// How many levels of objects are searched.
const MAX_DEPTH: usize = 4;

/// How many objects are searched.
const MAX_OBJECTS: usize = 1_000;

/// The location of the rows inside a result.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RowLocation {
    /// The path to the list.
    pub list_path: Vec<Arc<str>>,
    /// The path to the row inside each element, as in `edges[].node`.
    pub row_path: Vec<Arc<str>>,
    /// Whether the list is the whole result, or contains objects. A search also yields other lists.
    pub has_objects: bool,
}

impl std::fmt::Display for RowLocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.list_path.join("."))?;
        if !self.row_path.is_empty() {
            write!(f, "[].{}", self.row_path.join("."))?;
        }
        Ok(())
    }
}

impl RowLocation {
    /// Locates the rows of a result, at a path or where they are found.
    pub fn find(result: &Value, path: Option<&str>) -> Option<Self> {
        path.and_then(|path| at_path(result, path)).or_else(|| search(result))
    }

    /// The path in the notation of [`parse`](Self::parse).
    pub fn path(&self) -> String {
        let path = self.to_string();
        if path.is_empty() || path.starts_with("[]") { format!("${path}") } else { path }
    }

    /// The number of rows at this place of a result.
    pub fn count(&self, result: &Value) -> usize {
        let list = self.list_path.iter().try_fold(result, |value, step| value.get(&**step));
        list.and_then(Value::as_array).map_or(0, Vec::len)
    }

    /// Parses a path: `items`, `data.items`, `edges[].node`, or `$` for the result itself.
    pub fn parse(path: &str) -> Self {
        let (list, row) = path.split_once("[]").unwrap_or((path, ""));
        let steps =
            |text: &str| text.split('.').filter(|step| !step.is_empty() && *step != "$").map(Into::into).collect();
        Self { list_path: steps(list), row_path: steps(row), has_objects: true }
    }

    /// This location as a place, in a result or in an example of its type.
    pub(super) fn place(&self, result: &Value) -> RowPlace {
        let path = self.path();
        if self.is_part(result) { RowPlace::part(&path) } else { RowPlace::known(&path) }
    }

    /// Whether the objects around the list have members that do not describe the list.
    fn is_part(&self, result: &Value) -> bool {
        let mut value = result;
        self.list_path.iter().any(|step| {
            let Value::Object(object) = value else { return false };
            value = object.get(&**step).unwrap_or(&Value::Null);
            object.keys().any(|name| **name != **step && !describes_list(name))
        })
    }

    /// Whether a path of the caller begins with the path of the list.
    pub(super) fn contains(&self, path: &str) -> bool {
        let mut steps = path.split('.');
        !self.list_path.is_empty() && self.list_path.iter().all(|step| steps.next() == Some(&**step))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ElementKind {
    Objects,
    Empty,
    Values,
}

/// A list that may be the rows.
struct Candidate<'a> {
    /// The index of the object that contains it.
    parent: usize,
    name: &'a str,
    elements: ElementKind,
    depth: usize,
    rank: Option<usize>,
}

struct Level<'a> {
    object: &'a Map<String, Value>,
    parent: Option<(usize, &'a str)>,
    depth: usize,
}

/// Locates the rows. Where a path is known, no other list is taken for the rows.
pub(super) fn locate(result: &Value, place: &RowPlace) -> Option<RowLocation> {
    match place {
        RowPlace::Unknown => None,
        RowPlace::Detected => search(result),
        RowPlace::Path { path, .. } => at_path(result, path),
    }
}

/// The location with this path, if there is a list. Servers write `null` for a list without elements.
fn at_path(result: &Value, path: &str) -> Option<RowLocation> {
    let location = RowLocation::parse(path);
    let value = location.list_path.iter().try_fold(result, |value, step| value.get(&**step))?;
    (value.is_array() || value.is_null()).then_some(location)
}

/// Searches for the rows.
pub(super) fn search(result: &Value) -> Option<RowLocation> {
    let root = match result {
        Value::Array(_) => {
            return Some(RowLocation { has_objects: true, ..RowLocation::default() });
        }
        Value::Object(root) => root,
        _ => return None,
    };
    let mut levels = vec![Level { object: root, parent: None, depth: 0 }];
    let mut candidates: Vec<Candidate<'_>> = Vec::new();
    let mut next = 0;
    while let Some(&Level { object, depth, .. }) = levels.get(next) {
        for (name, value) in object {
            match value {
                Value::Array(elements) => {
                    let rank = LIST_NAMES.iter().position(|list_name| list_name == name);
                    let kind = if is_table(object, elements) { ElementKind::Objects } else { element_kind(elements) };
                    candidates.push(Candidate { parent: next, name, elements: kind, depth, rank });
                }
                Value::Object(inner) if depth + 1 < MAX_DEPTH && levels.len() < MAX_OBJECTS => {
                    levels.push(Level { object: inner, parent: Some((next, name)), depth: depth + 1 });
                }
                _ => {}
            }
        }
        next += 1;
    }
    let chosen = choose(&candidates)?;
    let mut list_path: Vec<Arc<str>> = vec![chosen.name.into()];
    let mut at = chosen.parent;
    while let Some((parent, name)) = levels.get(at).and_then(|level| level.parent) {
        list_path.push(name.into());
        at = parent;
    }
    list_path.reverse();
    let list = levels.get(chosen.parent)?.object.get(chosen.name)?.as_array()?;
    let has_node = |edge: &Value| edge.get("node").is_some_and(Value::is_object);
    let row_path = if chosen.name == "edges" && !list.is_empty() && list.iter().all(has_node) {
        vec!["node".into()]
    } else {
        Vec::new()
    };
    let has_objects = chosen.elements == ElementKind::Objects;
    Some(RowLocation { list_path, row_path, has_objects })
}

/// Common names of lists of column names.
const COLUMN_LIST_NAMES: &[&str] = &["columns", "column_names", "columnNames", "headers", "header", "fields"];

/// The column names next to a list of lists: strings, or objects with a `name`.
fn columns(envelope: &Map<String, Value>) -> Option<Vec<&str>> {
    let names = COLUMN_LIST_NAMES.iter().find_map(|name| envelope.get(*name)?.as_array())?;
    names.iter().map(column_name).collect()
}

fn column_name(column: &Value) -> Option<&str> {
    column.as_str().or_else(|| column.get("name")?.as_str())
}

/// Whether every element is a list with one value for each column.
fn is_table(envelope: &Map<String, Value>, elements: &[Value]) -> bool {
    let Some(Value::Array(first)) = elements.first() else { return false };
    columns(envelope).is_some_and(|columns| {
        let fits = |row: &Value| row.as_array().is_some_and(|row| row.len() == columns.len());
        columns.len() == first.len() && elements.iter().all(fits)
    })
}

/// The first two elements determine the kind; the rest may be mixed.
fn element_kind(elements: &[Value]) -> ElementKind {
    match elements {
        [] => ElementKind::Empty,
        elements if elements.iter().take(2).any(Value::is_object) => ElementKind::Objects,
        _ => ElementKind::Values,
    }
}

fn choose<'a, 'b>(candidates: &'b [Candidate<'a>]) -> Option<&'b Candidate<'a>> {
    let has_main_lists = candidates.iter().any(|candidate| !SIDE_LIST_NAMES.contains(&candidate.name));
    let considered =
        || candidates.iter().filter(|candidate| !has_main_lists || !SIDE_LIST_NAMES.contains(&candidate.name));
    for depth in 0..MAX_DEPTH {
        let at_depth = || considered().filter(|candidate| candidate.depth == depth);
        for kind in [ElementKind::Objects, ElementKind::Empty] {
            let mut named: Vec<_> =
                at_depth().filter(|candidate| candidate.elements == kind && candidate.rank.is_some()).collect();
            named.sort_by_key(|candidate| candidate.rank);
            if let Some(first) = named.first() {
                // Two candidates in different objects are ambiguous.
                return named.iter().all(|candidate| candidate.parent == first.parent).then_some(first);
            }
        }
        let mut lists = at_depth().filter(|candidate| candidate.elements == ElementKind::Objects);
        if let Some(only) = lists.next() {
            return lists.next().is_none().then_some(only);
        }
    }
    let only = |kind: ElementKind| {
        let mut lists = considered().filter(|candidate| candidate.elements == kind);
        lists.next().filter(|_| lists.next().is_none())
    };
    let of_values = considered()
        .filter(|candidate| candidate.elements == ElementKind::Values && candidate.depth == 0)
        .min_by_key(|candidate| candidate.rank.unwrap_or(usize::MAX));
    only(ElementKind::Empty)
        .or_else(|| of_values.filter(|candidate| candidate.rank.is_some()))
        .or_else(|| only(ElementKind::Values))
}

fn list<'a>(result: &'a Value, location: &RowLocation) -> Option<&'a Vec<Value>> {
    location.list_path.iter().try_fold(result, |value, step| value.get(&**step))?.as_array()
}

/// The first rows of a result, in place.
pub(super) fn sample<'a>(result: &'a Value, location: &RowLocation) -> Vec<&'a Value> {
    const MAX_SAMPLE_ROWS: usize = 20;
    let inner = |element: &'a Value| location.row_path.iter().try_fold(element, |value, step| value.get(&**step));
    list(result, location)
        .into_iter()
        .flatten()
        .take(MAX_SAMPLE_ROWS)
        .map(|element| inner(element).unwrap_or(element))
        .collect()
}

/// Takes the rows out of a result. The rest is the envelope: the result without the list, or null if the list was the
/// whole result.
pub(super) fn take(mut result: Value, location: &RowLocation) -> (Vec<Value>, Value) {
    let removed = match location.list_path.split_last() {
        None => std::mem::take(&mut result),
        Some((last, before)) => {
            let removed = object_at(&mut result, before)
                .and_then(|parent| {
                    let mut list = parent.shift_remove(&**last)?;
                    name_columns(parent, &mut list);
                    Some(list)
                })
                .unwrap_or_default();
            // Remove objects that contained nothing else.
            for (length, name) in before.iter().enumerate().rev() {
                if let Some(parent) = object_at(&mut result, before.get(..length).unwrap_or_default())
                    && parent.get(&**name).and_then(Value::as_object).is_some_and(Map::is_empty)
                {
                    parent.shift_remove(&**name);
                }
            }
            removed
        }
    };
    let Value::Array(mut rows) = removed else { return (Vec::new(), result) };
    for row in &mut rows {
        for step in &location.row_path {
            if let Some(inner) = row.get_mut(&**step) {
                *row = inner.take();
            }
        }
        if !row.is_object() {
            *row = json!({ "value": row.take() });
        }
    }
    (rows, result)
}

/// Turns the rows of a table into objects.
fn name_columns(envelope: &Map<String, Value>, list: &mut Value) {
    let Value::Array(rows) = list else { return };
    let Some(columns) = columns(envelope).filter(|_| is_table(envelope, rows)) else { return };
    for row in rows {
        if let Value::Array(values) = row.take() {
            *row = columns.iter().map(ToString::to_string).zip(values).collect();
        }
    }
}

fn object_at<'a>(value: &'a mut Value, steps: &[Arc<str>]) -> Option<&'a mut Map<String, Value>> {
    steps.iter().try_fold(value, |value, step| value.get_mut(&**step))?.as_object_mut()
}
