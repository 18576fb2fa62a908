//! Parts of nested values: several paths into one value, applied together.
//!
//! What is selected keeps the shape it had. An object stays an object, and a list stays a list: a step that is a number
//! picks one element, and the list that is shown has the picked elements in their order.

use std::sync::Arc;

use serde_json::{Map, Value};

/// Which parts of a value are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// All of it.
    whole: bool,
    /// The parts, in the order they were asked for.
    parts: Vec<(Arc<str>, Selection)>,
}

/// What a name means for a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lists {
    /// Nothing: only numbers lead into lists.
    ByNumber,
    /// That part of every element that is an object.
    ByName,
}

impl Selection {
    /// The selection of these paths.
    pub fn of<'a>(paths: impl IntoIterator<Item = &'a [Arc<str>]>) -> Self {
        let mut selection = Self::default();
        paths.into_iter().for_each(|path| selection.add(path));
        selection
    }

    fn add(&mut self, path: &[Arc<str>]) {
        match path.split_first() {
            None => self.whole = true,
            Some((first, rest)) => self.change(first, |inner| inner.add(rest)),
        }
    }

    fn change(&mut self, step: &Arc<str>, change: impl FnOnce(&mut Selection)) {
        match self.parts.iter_mut().find(|(name, _)| name == step) {
            Some((_, inner)) => change(inner),
            None => {
                let mut inner = Selection::default();
                change(&mut inner);
                self.parts.push((step.clone(), inner));
            }
        }
    }

    fn join(&mut self, other: &Selection) {
        self.whole |= other.whole;
        for (step, inner) in &other.parts {
            self.change(step, |known| known.join(inner));
        }
    }

    /// The selected parts of a value. Null inside is as good as missing; none if nothing is there.
    pub fn apply(&self, value: &Value, lists: Lists) -> Option<Value> {
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

    fn apply_to_list(&self, elements: &[Value], lists: Lists) -> Option<Value> {
        let mut picked: Vec<(usize, &Selection)> = self
            .parts
            .iter()
            .filter_map(|(step, inner)| Some((position(elements.len(), index(step)?)?, inner)))
            .collect();
        let is_name = |(step, _): &&(Arc<str>, Selection)| lists == Lists::ByName && index(step).is_none();
        let named = Selection { whole: false, parts: self.parts.iter().filter(is_name).cloned().collect() };
        picked.sort_by_key(|(position, _)| *position);
        let wanted = |number: usize, element: &Value| {
            let mut wanted = if element.is_object() { named.clone() } else { Selection::default() };
            picked.iter().filter(|(position, _)| *position == number).for_each(|(_, inner)| wanted.join(inner));
            wanted
        };
        let shown: Vec<Value> = if named.parts.is_empty() {
            let mut numbers: Vec<usize> = picked.iter().map(|(number, _)| *number).collect();
            numbers.dedup();
            let one = |number: usize| {
                let element = elements.get(number)?;
                wanted(number, element).apply(element, lists)
            };
            numbers.into_iter().filter_map(one).collect()
        } else {
            let part = |(number, element): (usize, &Value)| match picked.is_empty() {
                // A name leads through one list, not through a list of lists.
                true => element.is_object().then(|| named.apply(element, lists)).flatten(),
                false => wanted(number, element).apply(element, lists),
            };
            let parts: Vec<Option<Value>> = elements.iter().enumerate().map(part).collect();
            if parts.iter().all(Option::is_none) {
                return None;
            }
            // Elements keep their places, so that several lists of one row fit together.
            parts.into_iter().map(|part| part.unwrap_or_else(|| Value::Object(Map::new()))).collect()
        };
        (!shown.is_empty()).then_some(Value::Array(shown))
    }

    /// Whether any step may be the number of an element.
    pub fn has_numbers(&self) -> bool {
        self.parts.iter().any(|(step, inner)| index(step).is_some() || inner.has_numbers())
    }
}

/// The number that a step is, if it is one.
pub(crate) fn index(step: &str) -> Option<isize> {
    step.parse().ok()
}

/// Where an element stands; counted from the end where the number is negative.
pub(crate) fn position(length: usize, index: isize) -> Option<usize> {
    let position = if index < 0 { length.checked_add_signed(index)? } else { index.unsigned_abs() };
    (position < length).then_some(position)
}
