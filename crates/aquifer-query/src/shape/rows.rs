//! Where the rows are inside a result.
//!
//! The same result always gives the same place. A list is the rows itself. In an object lists are looked for level by
//! level, the shallowest first: on each level one under a name for lists (`items`, `results`, …, in that order), else
//! the only list of objects. Several that could be meant are none. Then empty lists, then lists of plain values are
//! taken in the same way.

use std::sync::Arc;

use serde_json::{Map, Value, json};

/// Names that lists of rows have, the likeliest first.
const NAMES: &[&str] = &[
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

/// Lists that accompany rows and are never the rows as long as there are others.
const ASIDE: &[&str] = &["errors", "warnings", "messages", "links", "facets", "included"];

/// Levels of objects that are looked through.
const MAX_DEPTH: usize = 4;

/// Objects that are looked through.
const MAX_COUNT: usize = 1_000;

/// Where rows are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// The way to the list.
    pub to: Vec<Arc<str>>,
    /// The way to the row inside each element, as in `edges[].node`.
    pub inside: Vec<Arc<str>>,
    /// Whether the list has a name for lists.
    pub known: bool,
    /// Whether somebody said that they are there.
    pub said: bool,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.to.join("."))?;
        if !self.inside.is_empty() {
            write!(f, "[].{}", self.inside.join("."))?;
        }
        Ok(())
    }
}

impl Place {
    /// The place a path names: `items`, `data.items`, `edges[].node`; the result itself is `$`.
    pub fn read(path: &str) -> Self {
        let (to, inside) = path.split_once("[]").unwrap_or((path, ""));
        let steps =
            |text: &str| text.split('.').filter(|step| !step.is_empty() && *step != "$").map(Into::into).collect();
        Self { to: steps(to), inside: steps(inside), known: true, said: true }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Objects,
    Nothing,
    Values,
}

/// A list that may be the rows.
struct Candidate<'a> {
    /// The object it stands in, by its number.
    parent: usize,
    name: &'a str,
    of: Of,
    depth: usize,
    rank: Option<usize>,
}

struct Level<'a> {
    object: &'a Map<String, Value>,
    parent: Option<(usize, &'a str)>,
    depth: usize,
}

/// Where the rows are, if there are any. A path that leads to no list is not believed.
pub(super) fn find(result: &Value, path: Option<&str>) -> Option<Place> {
    if let Some(place) = path.map(Place::read)
        && list(result, &place).is_some()
    {
        return Some(place);
    }
    let root = match result {
        Value::Array(_) => return Some(Place { known: true, ..Place::default() }),
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
                    let rank = NAMES.iter().position(|known| known == name);
                    let of = if is_table(object, elements) { Of::Objects } else { kind(elements) };
                    candidates.push(Candidate { parent: next, name, of, depth, rank });
                }
                Value::Object(inner) if depth + 1 < MAX_DEPTH && levels.len() < MAX_COUNT => {
                    levels.push(Level { object: inner, parent: Some((next, name)), depth: depth + 1 });
                }
                _ => {}
            }
        }
        next += 1;
    }
    let chosen = choose(&candidates)?;
    let mut to: Vec<Arc<str>> = vec![chosen.name.into()];
    let mut at = chosen.parent;
    while let Some((parent, name)) = levels.get(at).and_then(|level| level.parent) {
        to.push(name.into());
        at = parent;
    }
    to.reverse();
    let list = levels.get(chosen.parent)?.object.get(chosen.name)?.as_array()?;
    let has_node = |edge: &Value| edge.get("node").is_some_and(Value::is_object);
    let inside = if chosen.name == "edges" && !list.is_empty() && list.iter().all(has_node) {
        vec!["node".into()]
    } else {
        Vec::new()
    };
    Some(Place { to, inside, known: chosen.rank.is_some(), said: false })
}

/// Names that lists of column names have.
const COLUMNS: &[&str] = &["columns", "column_names", "columnNames", "headers", "header", "fields"];

/// The names of the columns beside a list of lists: texts, or objects with a `name`.
fn columns(beside: &Map<String, Value>) -> Option<Vec<&str>> {
    let names = COLUMNS.iter().find_map(|name| beside.get(*name)?.as_array())?;
    names.iter().map(text_of).collect()
}

fn text_of(column: &Value) -> Option<&str> {
    column.as_str().or_else(|| column.get("name")?.as_str())
}

/// Whether the elements are lists of as many values as there are columns.
fn is_table(beside: &Map<String, Value>, elements: &[Value]) -> bool {
    let Some(Value::Array(first)) = elements.first() else { return false };
    columns(beside).is_some_and(|columns| {
        let fits = |row: &Value| row.as_array().is_some_and(|row| row.len() == columns.len());
        columns.len() == first.len() && elements.iter().all(fits)
    })
}

/// Two elements tell what a list is of; the rest may be mixed.
fn kind(elements: &[Value]) -> Of {
    match elements {
        [] => Of::Nothing,
        elements if elements.iter().take(2).any(Value::is_object) => Of::Objects,
        _ => Of::Values,
    }
}

fn choose<'a, 'b>(candidates: &'b [Candidate<'a>]) -> Option<&'b Candidate<'a>> {
    let others = candidates.iter().any(|one| !ASIDE.contains(&one.name));
    let considered = || candidates.iter().filter(|one| !others || !ASIDE.contains(&one.name));
    for depth in 0..MAX_DEPTH {
        let here = || considered().filter(|one| one.depth == depth);
        for of in [Of::Objects, Of::Nothing] {
            let mut named: Vec<_> = here().filter(|one| one.of == of && one.rank.is_some()).collect();
            named.sort_by_key(|one| one.rank);
            if let Some(first) = named.first() {
                // Two of a kind in different objects: neither is more the rows than the other.
                return named.iter().all(|one| one.parent == first.parent).then_some(first);
            }
        }
        let mut lists = here().filter(|one| one.of == Of::Objects);
        if let Some(only) = lists.next() {
            return lists.next().is_none().then_some(only);
        }
    }
    let only = |of: Of| {
        let mut lists = considered().filter(|one| one.of == of);
        lists.next().filter(|_| lists.next().is_none())
    };
    let of_values = considered()
        .filter(|one| one.of == Of::Values && one.depth == 0)
        .min_by_key(|one| one.rank.unwrap_or(usize::MAX));
    only(Of::Nothing).or_else(|| of_values.filter(|one| one.rank.is_some())).or_else(|| only(Of::Values))
}

fn list<'a>(result: &'a Value, place: &Place) -> Option<&'a Vec<Value>> {
    place.to.iter().try_fold(result, |value, step| value.get(&**step))?.as_array()
}

/// The first rows of a result, where they stand.
pub(super) fn sample<'a>(result: &'a Value, place: &Place) -> Vec<&'a Value> {
    const FEW: usize = 20;
    let inner = |element: &'a Value| place.inside.iter().try_fold(element, |value, step| value.get(&**step));
    list(result, place).into_iter().flatten().take(FEW).map(|element| inner(element).unwrap_or(element)).collect()
}

/// Takes the rows out of a result. What is left is what stood around them, without the list; nothing around a list
/// that was the whole result.
pub(super) fn take(mut result: Value, place: &Place) -> (Vec<Value>, Value) {
    let taken = match place.to.split_last() {
        None => std::mem::take(&mut result),
        Some((last, before)) => {
            let taken = inner(&mut result, before)
                .and_then(|parent| {
                    let mut list = parent.shift_remove(&**last)?;
                    name_columns(parent, &mut list);
                    Some(list)
                })
                .unwrap_or_default();
            // Objects that held nothing else tell nothing any more.
            for (length, name) in before.iter().enumerate().rev() {
                if let Some(parent) = inner(&mut result, before.get(..length).unwrap_or_default())
                    && parent.get(&**name).and_then(Value::as_object).is_some_and(Map::is_empty)
                {
                    parent.shift_remove(&**name);
                }
            }
            taken
        }
    };
    let Value::Array(mut rows) = taken else { return (Vec::new(), result) };
    for row in &mut rows {
        for step in &place.inside {
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

/// Makes objects of a table's rows.
fn name_columns(beside: &Map<String, Value>, list: &mut Value) {
    let Value::Array(rows) = list else { return };
    let Some(columns) = columns(beside).filter(|_| is_table(beside, rows)) else { return };
    for row in rows {
        if let Value::Array(values) = row.take() {
            *row = columns.iter().map(ToString::to_string).zip(values).collect();
        }
    }
}

fn inner<'a>(value: &'a mut Value, steps: &[Arc<str>]) -> Option<&'a mut Map<String, Value>> {
    steps.iter().try_fold(value, |value, step| value.get_mut(&**step))?.as_object_mut()
}

/// Whether a path leads anywhere in a value, if only to null.
pub(super) fn leads_somewhere(value: &Value, path: &str) -> bool {
    let Some(object) = value.as_object() else { return false };
    if object.contains_key(path) {
        return true;
    }
    let mut steps = path.split('.');
    let first = steps.next().and_then(|first| object.get(first));
    steps.try_fold(first, |value, step| super::project::step(value?, step).map(Some)).flatten().is_some()
}
