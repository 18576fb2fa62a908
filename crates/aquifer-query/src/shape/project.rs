//! Selects fields of rows. In addition to the collection language, names apply to lists: `labels.name` is the name of
//! every label.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::plan::Path;
use crate::value::selection::{Selection, element_position, parse_index};
use crate::work::Work;

/// What values show about a path.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    is_found: bool,
    /// The farthest step at which a value lacked what the path needs.
    missing_at: Option<usize>,
    /// The farthest step at which a list had no elements, which could have had it.
    unknown_from: Option<usize>,
}

impl Evidence {
    /// What one value shows.
    pub(super) fn of(value: &Value, path: &Path, work: &Work<'_>) -> Self {
        let mut evidence = Self::default();
        evidence.add(value, path, work);
        evidence
    }

    fn add(&mut self, row: &Value, path: &Path, work: &Work<'_>) {
        work.spend(1);
        match row.get(&*path.name) {
            Some(value) => self.follow(value, &path.inside, 1, work),
            None => self.missing_at = self.missing_at.max(Some(0)),
        }
    }

    /// Follows the steps into a value, with the value null at the end as well. A list accepts an index, or a name that any
    /// of its elements may have. The recursion is no deeper than the path and its lists.
    fn follow(&mut self, value: &Value, steps: &[Arc<str>], depth: usize, work: &Work<'_>) {
        work.spend(1);
        if self.is_found || work.is_stopped() {
            return;
        }
        let Some((first, rest)) = steps.split_first() else {
            self.is_found = true;
            return;
        };
        let inner = match value {
            Value::Array(elements) => match parse_index(first) {
                Some(index) => element_position(elements.len(), index).and_then(|position| elements.get(position)),
                None if elements.is_empty() => {
                    self.unknown_from = self.unknown_from.max(Some(depth));
                    return;
                }
                None => {
                    let objects = elements.iter().filter(|element| element.is_object());
                    objects.for_each(|element| self.follow(element, steps, depth, work));
                    None
                }
            },
            Value::Object(object) => object.get(&**first),
            _ => None,
        };
        match inner {
            Some(inner) => self.follow(inner, rest, depth + 1, work),
            None => self.missing_at = self.missing_at.max(Some(depth)),
        }
    }

    /// Whether nothing had the path, and that is not only because lists were empty.
    pub(super) fn is_lacking(&self) -> bool {
        !self.is_found && self.missing_at.is_some() && self.missing_at >= self.unknown_from
    }
}

/// Whether a path exists in none of the rows, and some of them show that.
pub(super) fn is_lacking(rows: &[Value], path: &Path, work: &Work<'_>) -> bool {
    let mut evidence = Evidence::default();
    for row in rows {
        evidence.add(row, path, work);
        if evidence.is_found || work.is_stopped() {
            return false;
        }
    }
    evidence.is_lacking()
}

/// Whether any value at the path passes. A path through a list leads to a value of each element.
pub(super) fn any_value(
    value: &Value,
    steps: &[Arc<str>],
    work: &Work<'_>,
    passes: &mut dyn FnMut(&Value) -> bool,
) -> bool {
    work.spend(1);
    if work.is_stopped() {
        return false;
    }
    let Some((first, rest)) = steps.split_first() else { return passes(value) };
    let inner = match value {
        Value::Array(elements) => match parse_index(first) {
            Some(index) => element_position(elements.len(), index).and_then(|position| elements.get(position)),
            // Every element. The recursion is no deeper than the path.
            None => {
                return elements.iter().any(|element| element.is_object() && any_value(element, steps, work, passes));
            }
        },
        Value::Object(object) => object.get(&**first),
        _ => None,
    };
    inner.is_some_and(|inner| any_value(inner, rest, work, passes))
}

/// The selected fields of rows, prepared once for all rows.
pub(super) struct Projection<'a> {
    select: &'a [Path],
    selection: Selection,
}

impl<'a> Projection<'a> {
    pub(super) fn new(select: &'a [Path]) -> Self {
        let steps = |path: &Path| std::iter::once(&path.name).chain(&path.inside).cloned().collect();
        let paths: Vec<Vec<Arc<str>>> = select.iter().map(steps).collect();
        Self { select, selection: Selection::from_paths(paths.iter().map(Vec::as_slice)) }
    }

    /// Copies the selected fields of a row. Missing fields are omitted.
    pub(super) fn copy(&self, row: &Value) -> Value {
        self.selection.prune(row).unwrap_or_else(|| Value::Object(Map::new()))
    }

    /// Moves the selected fields out of a row.
    pub(super) fn take(&self, row: &mut Value) -> Value {
        let plain = |path: &Path| path.inside.is_empty();
        match row {
            Value::Object(fields) if self.select.iter().all(plain) => {
                let part = |path: &Path| Some((path.name.to_string(), fields.get_mut(&*path.name)?.take()));
                Value::Object(self.select.iter().filter_map(part).collect())
            }
            row => self.copy(row),
        }
    }
}

/// The approximate size of the selected fields as text. It looks at the same values as a projection, at the expense of the
/// work, so a projection that would take too long is never begun.
pub(super) fn estimated_size(row: &Value, select: Option<&[Path]>, work: &Work<'_>) -> usize {
    let Some(select) = select else { return estimated_value_size(row) };
    let field_size = |path: &Path| {
        let mut bytes = 0;
        if let Some(value) = row.get(&*path.name) {
            // The closure returns false, so that all values are visited and counted.
            any_value(value, &path.inside, work, &mut |value| {
                bytes += estimated_value_size(value) + path.inside.iter().map(|step| step.len() + 6).sum::<usize>();
                false
            });
        }
        bytes + path.name.len() + 4
    };
    2 + select.iter().map(field_size).sum::<usize>()
}

/// The approximate size of a value as text.
pub(super) fn estimated_value_size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(elements) => 2 + elements.iter().map(|element| estimated_value_size(element) + 1).sum::<usize>(),
        Value::Object(fields) => {
            2 + fields.iter().map(|(name, field)| name.len() + 4 + estimated_value_size(field)).sum::<usize>()
        }
    }
}
