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

    /// The selected parts of a value, or `None` if there are none. Nested nulls count as missing, as in a database. Only an
    /// index selects from a list.
    pub fn apply(&self, value: &Value) -> Option<Value> {
        if self.whole {
            return (!value.is_null()).then(|| value.clone());
        }
        match value {
            Value::Object(object) => {
                let part = |(step, inner): &(Arc<str>, Selection)| {
                    Some((step.to_string(), inner.apply(object.get(&**step)?)?))
                };
                let parts: Map<String, Value> = self.parts.iter().filter_map(part).collect();
                (!parts.is_empty()).then_some(Value::Object(parts))
            }
            Value::Array(elements) => {
                let chosen = self.by_position(elements.len());
                let part = |(position, inner): &(usize, Selection)| inner.apply(elements.get(*position)?);
                let parts: Vec<Value> = chosen.iter().filter_map(part).collect();
                (!parts.is_empty()).then_some(Value::Array(parts))
            }
            _ => None,
        }
    }

    /// The value without what is not selected. What is there stays there: objects without selected parts, lists without
    /// elements, and nulls. A name selects that part of every element of a list. `None` if the value cannot have parts.
    pub fn prune(&self, value: &Value) -> Option<Value> {
        if self.whole || value.is_null() {
            return Some(value.clone());
        }
        match value {
            Value::Object(object) => {
                let part = |(step, inner): &(Arc<str>, Selection)| {
                    Some((step.to_string(), inner.prune(object.get(&**step)?)?))
                };
                Some(Value::Object(self.parts.iter().filter_map(part).collect()))
            }
            Value::Array(elements) => Some(self.prune_list(elements)),
            _ => None,
        }
    }

    fn prune_list(&self, elements: &[Value]) -> Value {
        let (chosen, named) = (self.by_position(elements.len()), self.named());
        if named.parts.is_empty() {
            return chosen.iter().filter_map(|(position, inner)| inner.prune(elements.get(*position)?)).collect();
        }
        let part = |(position, element): (usize, &Value)| {
            let own = chosen.binary_search_by_key(&position, |(chosen, _)| *chosen).ok();
            let pruned = match (own.and_then(|index| chosen.get(index)), element) {
                (Some((_, inner)), Value::Object(_)) => {
                    let mut both = named.clone();
                    both.merge(inner);
                    both.prune(element)
                }
                (Some((_, inner)), element) => inner.prune(element),
                // A name applies to one list, not to a list of lists.
                (None, Value::Array(_)) => None,
                (None, element) => named.prune(element),
            };
            // Elements keep their positions, so that several lists of one row stay aligned.
            pruned.unwrap_or_else(|| Value::Object(Map::new()))
        };
        elements.iter().enumerate().map(part).collect()
    }

    /// The parts that are names.
    fn named(&self) -> Self {
        let is_name = |(step, _): &&(Arc<str>, Selection)| parse_index(step).is_none();
        Self { whole: false, parts: self.parts.iter().filter(is_name).cloned().collect() }
    }

    /// The parts that are indexes of a list of this length, in its order.
    fn by_position(&self, length: usize) -> Vec<(usize, Selection)> {
        let mut chosen: Vec<(usize, Selection)> = Vec::new();
        for (step, inner) in &self.parts {
            let Some(position) = parse_index(step).and_then(|index| element_position(length, index)) else { continue };
            match chosen.iter_mut().find(|(other, _)| *other == position) {
                Some((_, both)) => both.merge(inner),
                None => chosen.push((position, inner.clone())),
            }
        }
        chosen.sort_unstable_by_key(|(position, _)| *position);
        chosen
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
