//! Parts of rows. As the language has it, and besides through lists: `labels.name` is the name of every label.

use serde_json::{Map, Value};

use crate::plan::Path;

/// One step into a value. A list is stepped into by a number, or by a name where its elements are objects: then the
/// first that has it stands for all.
pub(super) fn step<'a>(value: &'a Value, step: &str) -> Option<&'a Value> {
    match value {
        Value::Array(elements) => match index(step) {
            Some(index) => element(elements, index),
            None => elements.iter().find_map(|element| element.get(step)),
        },
        Value::Object(object) => object.get(step),
        _ => None,
    }
}

fn index(step: &str) -> Option<isize> {
    step.parse().ok()
}

fn element(elements: &[Value], index: isize) -> Option<&Value> {
    elements.get(if index < 0 { elements.len().checked_add_signed(index)? } else { index.unsigned_abs() })
}

/// Whether a path leads anywhere in a row, if only to null.
pub(super) fn has(row: &Value, path: &Path) -> bool {
    let start = row.get(&*path.name);
    path.inside.iter().try_fold(start, |value, name| step(value?, name).map(Some)).flatten().is_some()
}

/// Whether any value that a path leads to passes. A path through a list leads to a value of each element.
pub(super) fn any(value: &Value, steps: &[std::sync::Arc<str>], passes: &mut dyn FnMut(&Value) -> bool) -> bool {
    let Some((first, rest)) = steps.split_first() else { return passes(value) };
    let inner = match value {
        Value::Array(elements) => match index(first) {
            Some(index) => element(elements, index),
            // Every element, and the list is walked no deeper than the path is long.
            None => return elements.iter().any(|element| element.is_object() && any(element, steps, passes)),
        },
        Value::Object(object) => object.get(&**first),
        _ => None,
    };
    inner.is_some_and(|inner| any(inner, rest, passes))
}

/// The parts of a row that were asked for. What it lacks is left out.
pub(super) fn copied(row: &Value, select: &[Path]) -> Value {
    let mut shown = Map::new();
    for path in select {
        let Some(value) = row.get(&*path.name) else { continue };
        if path.inside.is_empty() {
            shown.insert(path.name.to_string(), value.clone());
        } else if let Some(part) = part(value, &path.inside) {
            match shown.get_mut(&*path.name) {
                Some(known) => merge(known, part),
                None => drop(shown.insert(path.name.to_string(), part)),
            }
        }
    }
    Value::Object(shown)
}

/// The same of a row that nobody needs any more.
pub(super) fn moved(mut row: Value, select: &[Path]) -> Value {
    let plain = |path: &Path| path.inside.is_empty();
    let (true, Value::Object(fields)) = (select.iter().all(plain), &mut row) else { return copied(&row, select) };
    let parts = select.iter().filter_map(|path| Some((path.name.to_string(), fields.get_mut(&*path.name)?.take())));
    Value::Object(parts.collect())
}

/// What a path leads to inside a value, in the objects and lists around it. Null inside is as good as missing.
fn part(value: &Value, steps: &[std::sync::Arc<str>]) -> Option<Value> {
    let Some((first, rest)) = steps.split_first() else { return (!value.is_null()).then(|| value.clone()) };
    let wrapped = |inner: &Value| Some(Value::Object(Map::from_iter([(first.to_string(), part(inner, rest)?)])));
    match value {
        Value::Array(elements) => match index(first) {
            Some(index) => wrapped(element(elements, index)?),
            None => {
                let parts: Vec<Option<Value>> =
                    elements.iter().map(|one| if one.is_object() { part(one, steps) } else { None }).collect();
                // Elements keep their places, so that several paths through one list fit together.
                let empty = || Value::Object(Map::new());
                parts
                    .iter()
                    .any(Option::is_some)
                    .then(|| parts.into_iter().map(|one| one.unwrap_or_else(empty)).collect())
            }
        },
        Value::Object(object) => wrapped(object.get(&**first)?),
        _ => None,
    }
}

fn merge(known: &mut Value, part: Value) {
    match (known, part) {
        (Value::Object(known), Value::Object(part)) => {
            for (name, value) in part {
                match known.get_mut(&name) {
                    Some(inner) => merge(inner, value),
                    None => drop(known.insert(name, value)),
                }
            }
        }
        (Value::Array(known), Value::Array(part)) if known.len() == part.len() => {
            known.iter_mut().zip(part).for_each(|(known, part)| merge(known, part));
        }
        _ => {}
    }
}

/// About how many bytes the parts have as text.
pub(super) fn size(row: &Value, select: Option<&[Path]>) -> usize {
    let Some(select) = select else { return size_of(row) };
    let one = |path: &Path| {
        let mut bytes = 0;
        if let Some(value) = row.get(&*path.name) {
            // Every value is counted and none is the one looked for, so that all are visited.
            any(value, &path.inside, &mut |value| {
                bytes += size_of(value) + path.inside.iter().map(|step| step.len() + 6).sum::<usize>();
                false
            });
        }
        bytes + path.name.len() + 4
    };
    2 + select.iter().map(one).sum::<usize>()
}

/// About how many bytes a value has as text.
pub(super) fn size_of(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(elements) => 2 + elements.iter().map(|element| size_of(element) + 1).sum::<usize>(),
        Value::Object(fields) => 2 + fields.iter().map(|(name, field)| name.len() + 4 + size_of(field)).sum::<usize>(),
    }
}
