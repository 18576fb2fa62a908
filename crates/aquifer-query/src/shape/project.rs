//! Parts of rows. As the language has it, and besides through lists: `labels.name` is the name of every label.

use serde_json::{Map, Value};

use crate::evaluate::of_field;
use crate::plan::Path;
use crate::selection::{Lists, index, position};

/// One step into a value. A list is stepped into by a number, or by a name where its elements are objects: then the
/// first that has it stands for all.
pub(super) fn step<'a>(value: &'a Value, step: &str) -> Option<&'a Value> {
    match value {
        Value::Array(elements) => match index(step) {
            Some(index) => elements.get(position(elements.len(), index)?),
            None => elements.iter().find_map(|element| element.get(step)),
        },
        Value::Object(object) => object.get(step),
        _ => None,
    }
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
            Some(index) => position(elements.len(), index).and_then(|position| elements.get(position)),
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
    for (number, path) in select.iter().enumerate() {
        let Some(value) = row.get(&*path.name).filter(|_| !shown.contains_key(&*path.name)) else { continue };
        let rest = select.get(number..).unwrap_or_default();
        if let Some(part) = of_field(value, &path.name, rest, Lists::ByName) {
            shown.insert(path.name.to_string(), part);
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
