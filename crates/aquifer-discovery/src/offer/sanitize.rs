//! Cleans all text in an offer that an upstream wrote and a caller sees (R-DIS-7a).
//!
//! Descriptions and defaults are only shown, so they are replaced. Values that a caller chooses from have to reach the
//! upstream exactly: those of a parameter or of its elements are shown cleaned and translated back before the call
//! ([`Replacements`]). Nested values are not translated, so unclean ones are not shown. The upstream's own schema,
//! which is enforced completely, still accepts them.

use std::collections::HashSet;
use std::sync::Arc;

use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::{Kind, Rest, Schema, Shape};
use aquifer_protocol::text::clean_json;
use serde_json::Value;

/// Maximum number of values of one operation that are translated back. Further unclean values are not shown.
const MAX_REPLACEMENTS: usize = 1_000;

/// Cleans a text.
pub(super) type Clean<'a> = dyn Fn(&str) -> String + 'a;

/// Values that are shown differently from the upstream's spelling.
#[derive(Debug, Clone, Default)]
pub(super) struct Replacements(Vec<Replacement>);

#[derive(Debug, Clone)]
struct Replacement {
    parameter: Arc<str>,
    /// Whether it applies to elements of the parameter's list instead of the parameter itself.
    is_element: bool,
    shown: Value,
    exact: Value,
}

impl Replacements {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The upstream's value for the value that a caller chose.
    pub(super) fn exact(&self, parameter: &str, value: Value) -> Value {
        self.replace(parameter, value, |replacement| (&replacement.shown, &replacement.exact))
    }

    /// The value that callers see for a value of the upstream.
    pub(super) fn shown(&self, parameter: &str, value: Value) -> Value {
        self.replace(parameter, value, |replacement| (&replacement.exact, &replacement.shown))
    }

    fn replace(&self, parameter: &str, value: Value, pair: impl Fn(&Replacement) -> (&Value, &Value)) -> Value {
        let find = |wanted: &Value, is_element: bool| {
            let own = self.0.iter().filter(|one| *one.parameter == *parameter && one.is_element == is_element);
            own.map(&pair).find(|(from, _)| *from == wanted).map(|(_, to)| to.clone())
        };
        if let Some(replaced) = find(&value, false) {
            return replaced;
        }
        match value {
            Value::Array(items) => items.into_iter().map(|item| find(&item, true).unwrap_or(item)).collect(),
            other => other,
        }
    }

    /// Adds a replacement. A value that was already replaced keeps its original spelling.
    fn enter(&mut self, parameter: &Arc<str>, is_element: bool, before: &Value, shown: Value) {
        let known = self
            .0
            .iter_mut()
            .find(|one| one.parameter == *parameter && one.is_element == is_element && one.shown == *before);
        match known {
            Some(known) => known.shown = shown,
            None => {
                let exact = before.clone();
                self.0.push(Replacement { parameter: parameter.clone(), is_element, shown, exact });
            }
        }
    }
}

/// The position of a schema in an operation.
enum SchemaPosition<'a> {
    /// The schema of a parameter.
    Parameter(&'a Arc<str>, &'a mut Replacements),
    /// The schema of the elements of a parameter's list.
    Element(&'a Arc<str>, &'a mut Replacements),
    /// Any nested schema.
    Nested,
}

impl SchemaPosition<'_> {
    fn again(&mut self) -> SchemaPosition<'_> {
        match self {
            SchemaPosition::Parameter(name, replacements) => SchemaPosition::Parameter(name, replacements),
            SchemaPosition::Element(name, replacements) => SchemaPosition::Element(name, replacements),
            SchemaPosition::Nested => SchemaPosition::Nested,
        }
    }

    fn of_elements(&mut self) -> SchemaPosition<'_> {
        match self {
            SchemaPosition::Parameter(name, replacements) => SchemaPosition::Element(name, replacements),
            SchemaPosition::Element(..) | SchemaPosition::Nested => SchemaPosition::Nested,
        }
    }
}

/// Cleans an operation.
pub(super) fn operation(operation: &mut Operation, replacements: &mut Replacements, clean: &Clean<'_>) {
    text(&mut operation.description, clean);
    text(&mut operation.returns.description, clean);
    operation.safety.safeguards.reasons.iter_mut().for_each(|reason| text(reason, clean));
    operation.safety.safeguards.message.iter_mut().for_each(|message| text(message, clean));
    for parameter in &mut operation.parameters {
        schema(&mut parameter.schema, &mut SchemaPosition::Parameter(&parameter.name, replacements), clean);
    }
}

/// Cleans a named type.
pub(super) fn named_type(named: &mut Arc<Schema>, clean: &Clean<'_>) {
    schema(Arc::make_mut(named), &mut SchemaPosition::Nested, clean);
}

fn text(text: &mut Arc<str>, clean: &Clean<'_>) {
    let cleaned = clean(text);
    if *cleaned != **text {
        *text = cleaned.into();
    }
}

fn schema(schema_: &mut Schema, position: &mut SchemaPosition<'_>, clean: &Clean<'_>) {
    let is_clean = |text: &str| clean(text) == text;
    schema_.description.iter_mut().for_each(|description| text(description, clean));
    schema_.default = schema_.default.take().map(|default| clean_json(default, clean));
    schema_.example = schema_.example.take().filter(|example| example.as_str().is_none_or(is_clean));
    schema_.pattern = schema_.pattern.take().filter(|pattern| is_clean(pattern.source()));
    schema_.format = schema_.format.take().filter(|format| is_clean(format.as_str()));
    if let Some(values) = schema_.allowed.take() {
        schema_.allowed = allowed(values, position, clean);
    }
    match &mut schema_.kind {
        Kind::Array(Some(items)) => schema(items, &mut position.of_elements(), clean),
        Kind::Union(members) => members.iter_mut().for_each(|member| schema(member, &mut position.again(), clean)),
        Kind::Object(shape) => fields(shape, clean),
        _ => {}
    }
}

/// Cleans the fields of a nested object. Field names are sent to the upstream unchanged, so a field with an unclean
/// name is not shown. The object then accepts undeclared fields, because it must not refuse what the upstream accepts.
fn fields(shape: &mut Shape, clean: &Clean<'_>) {
    let before = shape.fields.len();
    shape.fields.retain(|field| clean(&field.name) == *field.name);
    if shape.fields.len() < before && matches!(shape.rest, Rest::Refused) {
        shape.rest = Rest::Free;
    }
    shape.fields.iter_mut().for_each(|field| schema(&mut field.schema, &mut SchemaPosition::Nested, clean));
    if let Rest::Of(rest) = &mut shape.rest {
        schema(rest, &mut SchemaPosition::Nested, clean);
    }
}

/// The accepted values. If two are equal after cleaning, the one that was already clean is shown.
fn allowed(values: Arc<[Value]>, position: &mut SchemaPosition<'_>, clean: &Clean<'_>) -> Option<Arc<[Value]>> {
    let cleaned: Vec<Value> = values.iter().map(|value| clean_json(value.clone(), clean)).collect();
    if cleaned.iter().eq(values.iter()) {
        return Some(values);
    }
    let mut taken: HashSet<String> = values
        .iter()
        .zip(&cleaned)
        .filter(|(value, cleaned)| value == cleaned)
        .map(|(value, _)| value.to_string())
        .collect();
    let mut sanitized = Vec::new();
    for (value, cleaned) in values.iter().zip(cleaned) {
        if *value == cleaned {
            sanitized.push(cleaned);
            continue;
        }
        let (name, is_element, replacements) = match position {
            SchemaPosition::Parameter(name, replacements) => (name, false, replacements),
            SchemaPosition::Element(name, replacements) => (name, true, replacements),
            SchemaPosition::Nested => continue,
        };
        if replacements.0.len() < MAX_REPLACEMENTS && taken.insert(cleaned.to_string()) {
            replacements.enter(name, is_element, value, cleaned.clone());
            sanitized.push(cleaned);
        }
    }
    // An empty list would refuse everything. Without a list, the upstream's own schema still refuses invalid values.
    (!sanitized.is_empty()).then(|| sanitized.into())
}
