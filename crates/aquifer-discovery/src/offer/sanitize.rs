//! Cleans all text in an offer that an upstream wrote and a caller sees (R-DIS-7a).
//!
//! Descriptions and defaults are only shown, so they are replaced. Values that a caller chooses from have to reach the
//! upstream exactly: those of a parameter or of its elements are shown clean and mapped back before the call
//! ([`Replacements`]). Deeper inside nothing is mapped, so what is not clean there is not shown; the upstream's own schema,
//! which is enforced whole, still knows it.

use std::collections::HashSet;
use std::sync::Arc;

use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::{Kind, Rest, Schema, Shape};
use aquifer_protocol::text::clean_json;
use serde_json::Value;

/// Values of one operation that are mapped back. What is not clean beyond that many is not shown.
const MAX_REPLACEMENTS: usize = 1_000;

/// Makes a text presentable.
pub(super) type Clean<'a> = dyn Fn(&str) -> String + 'a;

/// Values that are shown otherwise than the upstream writes them.
#[derive(Debug, Clone, Default)]
pub(super) struct Replacements(Vec<Replacement>);

#[derive(Debug, Clone)]
struct Replacement {
    parameter: Arc<str>,
    /// Whether it replaces elements of the parameter's list rather than the parameter itself.
    is_element: bool,
    shown: Value,
    exact: Value,
}

impl Replacements {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value that the upstream knows for one that a caller chose.
    pub(super) fn exact(&self, parameter: &str, value: Value) -> Value {
        self.replace(parameter, value, |replacement| (&replacement.shown, &replacement.exact))
    }

    /// The value that callers know for one of the upstream's.
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

    /// Enters a value. What was shown before under another replacement is replaced in turn.
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

/// Where a schema stands.
enum Place<'a> {
    /// It is a parameter's own.
    Parameter(&'a Arc<str>, &'a mut Replacements),
    /// It is that of the elements of a parameter's list.
    Element(&'a Arc<str>, &'a mut Replacements),
    /// Deeper inside.
    Nested,
}

impl Place<'_> {
    fn again(&mut self) -> Place<'_> {
        match self {
            Place::Parameter(name, replacements) => Place::Parameter(name, replacements),
            Place::Element(name, replacements) => Place::Element(name, replacements),
            Place::Nested => Place::Nested,
        }
    }

    fn of_elements(&mut self) -> Place<'_> {
        match self {
            Place::Parameter(name, replacements) => Place::Element(name, replacements),
            Place::Element(..) | Place::Nested => Place::Nested,
        }
    }
}

/// Makes an operation presentable.
pub(super) fn operation(operation: &mut Operation, replacements: &mut Replacements, clean: &Clean<'_>) {
    text(&mut operation.description, clean);
    text(&mut operation.returns.description, clean);
    operation.safeguards.reasons.iter_mut().for_each(|reason| text(reason, clean));
    operation.safeguards.message.iter_mut().for_each(|message| text(message, clean));
    for parameter in &mut operation.parameters {
        schema(&mut parameter.schema, &mut Place::Parameter(&parameter.name, replacements), clean);
    }
}

/// Makes a named type presentable.
pub(super) fn named_type(named: &mut Arc<Schema>, clean: &Clean<'_>) {
    schema(Arc::make_mut(named), &mut Place::Nested, clean);
}

fn text(text: &mut Arc<str>, clean: &Clean<'_>) {
    let cleaned = clean(text);
    if *cleaned != **text {
        *text = cleaned.into();
    }
}

fn schema(schema_: &mut Schema, place: &mut Place<'_>, clean: &Clean<'_>) {
    let is_clean = |text: &str| clean(text) == text;
    schema_.description.iter_mut().for_each(|description| text(description, clean));
    schema_.default = schema_.default.take().map(|default| clean_json(default, clean));
    schema_.pattern = schema_.pattern.take().filter(|pattern| is_clean(pattern.source()));
    schema_.format = schema_.format.take().filter(|format| is_clean(format.as_str()));
    if let Some(values) = schema_.allowed.take() {
        schema_.allowed = allowed(values, place, clean);
    }
    match &mut schema_.kind {
        Kind::Array(Some(items)) => schema(items, &mut place.of_elements(), clean),
        Kind::Union(members) => members.iter_mut().for_each(|member| schema(member, &mut place.again(), clean)),
        Kind::Object(shape) => fields(shape, clean),
        _ => {}
    }
}

/// The fields of a nested object. Their names go to the upstream as they are, so one that is not clean is not shown. The
/// object then takes what it does not name: it must not refuse what the upstream accepts.
fn fields(shape: &mut Shape, clean: &Clean<'_>) {
    let before = shape.fields.len();
    shape.fields.retain(|field| clean(&field.name) == *field.name);
    if shape.fields.len() < before && matches!(shape.rest, Rest::Refused) {
        shape.rest = Rest::Free;
    }
    shape.fields.iter_mut().for_each(|field| schema(&mut field.schema, &mut Place::Nested, clean));
    if let Rest::Of(rest) = &mut shape.rest {
        schema(rest, &mut Place::Nested, clean);
    }
}

/// The values to choose from. Of two that look alike the clean one stays, because it can be told from others.
fn allowed(values: Arc<[Value]>, place: &mut Place<'_>, clean: &Clean<'_>) -> Option<Arc<[Value]>> {
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
    let mut kept = Vec::new();
    for (value, cleaned) in values.iter().zip(cleaned) {
        if *value == cleaned {
            kept.push(cleaned);
            continue;
        }
        let (name, is_element, replacements) = match place {
            Place::Parameter(name, replacements) => (name, false, replacements),
            Place::Element(name, replacements) => (name, true, replacements),
            Place::Nested => continue,
        };
        if replacements.0.len() < MAX_REPLACEMENTS && taken.insert(cleaned.to_string()) {
            replacements.enter(name, is_element, value, cleaned.clone());
            kept.push(cleaned);
        }
    }
    // A list of nothing would refuse everything; the upstream's own schema refuses the rest.
    (!kept.is_empty()).then(|| kept.into())
}
