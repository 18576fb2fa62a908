//! Selects parts of a nested value by several paths at once.
//!
//! The result keeps the shape of the value. Objects stay objects and lists stay lists. A numeric step selects one element;
//! the resulting list has the selected elements in their original order.

use std::sync::Arc;

use serde_json::{Map, Value};

/// The selected parts of a value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// All of it.
    whole: bool,
    /// The parts, in the order requested.
    parts: Vec<(Arc<str>, Selection)>,
}

/// How steps are applied to lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListSteps {
    /// Only an index selects from a list.
    ByIndex,
    /// A name selects that part of every element that is an object.
    ByName,
}

impl Selection {
    /// Combines paths into a selection.
    pub fn from_paths<'a>(paths: impl IntoIterator<Item = &'a [Arc<str>]>) -> Self {
        let mut selection = Self::default();
        paths.into_iter().for_each(|path| selection.add(path));
        selection
    }

    fn add(&mut self, path: &[Arc<str>]) {
        match path.split_first() {
            None => self.whole = true,
            Some((first, rest)) => self.update_part(first, |inner| inner.add(rest)),
        }
    }

    fn update_part(&mut self, step: &Arc<str>, change: impl FnOnce(&mut Selection)) {
        match self.parts.iter_mut().find(|(name, _)| name == step) {
            Some((_, inner)) => change(inner),
            None => {
                let mut inner = Selection::default();
                change(&mut inner);
                self.parts.push((step.clone(), inner));
            }
        }
    }

    fn merge(&mut self, other: &Selection) {
        self.whole |= other.whole;
        for (step, inner) in &other.parts {
            self.update_part(step, |part| part.merge(inner));
        }
    }

    /// The selected parts of a value, or `None` if there are none. Nested nulls count as missing.
    pub fn apply(&self, value: &Value, lists: ListSteps) -> Option<Value> {
        if self.whole {
            return (!value.is_null()).then(|| value.clone());
        }
        match value {
            Value::Object(object) => {
                let part = |(step, inner): &(Arc<str>, Selection)| {
                    Some((step.to_string(), inner.apply(object.get(&**step)?, lists)?))
                };
                let parts: Map<String, Value> = self.parts.iter().filter_map(part).collect();
                (!parts.is_empty()).then_some(Value::Object(parts))
            }
            Value::Array(elements) => self.apply_to_list(elements, lists),
            _ => None,
        }
    }

    fn apply_to_list(&self, elements: &[Value], lists: ListSteps) -> Option<Value> {
        let mut picked: Vec<(usize, &Selection)> = self
            .parts
            .iter()
            .filter_map(|(step, inner)| Some((element_position(elements.len(), parse_index(step)?)?, inner)))
            .collect();
        let is_name = |(step, _): &&(Arc<str>, Selection)| lists == ListSteps::ByName && parse_index(step).is_none();
        let named = Selection { whole: false, parts: self.parts.iter().filter(is_name).cloned().collect() };
        picked.sort_by_key(|(position, _)| *position);
        let wanted = |number: usize, element: &Value| {
            let mut wanted = if element.is_object() { named.clone() } else { Selection::default() };
            picked.iter().filter(|(position, _)| *position == number).for_each(|(_, inner)| wanted.merge(inner));
            wanted
        };
        let shown: Vec<Value> = if named.parts.is_empty() {
            let mut numbers: Vec<usize> = picked.iter().map(|(number, _)| *number).collect();
            numbers.dedup();
            let select_element = |number: usize| {
                let element = elements.get(number)?;
                wanted(number, element).apply(element, lists)
            };
            numbers.into_iter().filter_map(select_element).collect()
        } else {
            let part = |(number, element): (usize, &Value)| match picked.is_empty() {
                // A name applies to one list, not to a list of lists.
                true => element.is_object().then(|| named.apply(element, lists)).flatten(),
                false => wanted(number, element).apply(element, lists),
            };
            let parts: Vec<Option<Value>> = elements.iter().enumerate().map(part).collect();
            if parts.iter().all(Option::is_none) {
                return None;
            }
            // Elements keep their positions, so that several lists of one row stay aligned.
            parts.into_iter().map(|part| part.unwrap_or_else(|| Value::Object(Map::new()))).collect()
        };
        (!shown.is_empty()).then_some(Value::Array(shown))
    }

    /// Whether any step may be the index of an element.
    pub fn has_indexes(&self) -> bool {
        self.parts.iter().any(|(step, inner)| parse_index(step).is_some() || inner.has_indexes())
    }
}

/// The step as an index, if it is one.
pub(crate) fn parse_index(step: &str) -> Option<isize> {
    step.parse().ok()
}

/// The position of an element. Negative indexes count from the end.
pub(crate) fn element_position(length: usize, index: isize) -> Option<usize> {
    let position = if index < 0 { length.checked_add_signed(index)? } else { index.unsigned_abs() };
    (position < length).then_some(position)
}
