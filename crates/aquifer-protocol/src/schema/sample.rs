//! Generates valid values for a schema: for examples, and for tests that what introspection shows is accepted.

use serde_json::{Map, Value, json};

use crate::text::secrets::names_secret;

use super::{Format, Kind, Parameter, Range, Rest, Schema, Shape, Types, info, pattern_sample};

/// Maximum depth. Deeper objects are left out, because an example only shows how to begin.
const MAX_DEPTH: usize = 6;

/// Maximum number of values in an example. Larger ones are not helpful.
const MAX_VALUES: usize = 200;

/// Maximum number of values in complete arguments.
const MAX_ARGUMENT_VALUES: usize = 5_000;

/// Arrays that require more elements than this have no example.
const MAX_ELEMENTS: usize = 50;

/// Which parameters and fields are included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// The required ones.
    Required,
    /// All that callers may set, if a value can be found.
    All,
}

/// A valid value, if one can be found without guessing. There is none for a pattern with lookaround, for example.
pub fn sample(schema: &Schema, types: &Types) -> Option<Value> {
    Sampler { types, extent: Extent::Required, examples: Examples::Used, room: MAX_VALUES }.value(schema, 0)
}

/// Arguments for these parameters, ignoring their author's examples and defaults, which may be invalid.
pub fn sample_arguments(parameters: &[Parameter], types: &Types, extent: Extent) -> Option<Map<String, Value>> {
    let room = MAX_ARGUMENT_VALUES;
    Sampler { types, extent, examples: Examples::Ignored, room }.fields(parameters, 0)
}

/// The smallest request that an operation with these parameters accepts, using their author's examples.
pub(crate) fn sample_params(parameters: &[Parameter], types: &Types) -> Option<Map<String, Value>> {
    Sampler { types, extent: Extent::Required, examples: Examples::Used, room: MAX_VALUES }.fields(parameters, 0)
}

/// Like [`sample_params`], but only with values that work whatever is stored: constants, words of an enum, flags and
/// defaults. An invented identifier would name nothing, and one from a description may be gone.
pub(crate) fn certain_params(parameters: &[Parameter], types: &Types) -> Option<Map<String, Value>> {
    Sampler { types, extent: Extent::Required, examples: Examples::Certain, room: MAX_VALUES }.fields(parameters, 0)
}

/// The parameters without their author's examples, which may be invalid.
pub(crate) fn without_examples(parameters: &[Parameter]) -> Vec<Parameter> {
    let plain = |parameter: &Parameter| {
        let schema = Schema { example: None, ..parameter.schema.clone() };
        Parameter { schema, ..parameter.clone() }
    };
    parameters.iter().map(plain).collect()
}

/// Which values are used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Examples {
    /// The author's examples and defaults, and invented values.
    Used,
    /// Invented values only: examples and defaults may be invalid.
    Ignored,
    /// Only values that do not depend on what is stored.
    Certain,
}

struct Sampler<'a> {
    types: &'a Types,
    extent: Extent,
    examples: Examples,
    /// The number of values that may still be generated.
    room: usize,
}

impl Sampler<'_> {
    fn fields(&mut self, parameters: &[Parameter], depth: usize) -> Option<Map<String, Value>> {
        let mut fields = Map::new();
        for parameter in parameters {
            if !parameter.required && (self.extent == Extent::Required || self.is_read_only(&parameter.schema)) {
                continue;
            }
            match self.field(parameter, depth) {
                Some(value) => fields.insert(parameter.name.to_string(), value),
                None if parameter.required => return None,
                None => continue,
            };
        }
        Some(fields)
    }

    fn field(&mut self, parameter: &Parameter, depth: usize) -> Option<Value> {
        let may_show = self.examples == Examples::Used && !parameter.sensitive && !names_secret(&parameter.name);
        match parameter.schema.example.as_ref().filter(|_| may_show) {
            Some(example) => Some(example.clone()),
            None => self.value(&parameter.schema, depth),
        }
    }

    fn is_read_only(&self, schema: &Schema) -> bool {
        schema.read_only || schema.resolve(self.types).read_only
    }

    fn value(&mut self, schema: &Schema, depth: usize) -> Option<Value> {
        self.room = self.room.checked_sub(1)?;
        if depth > MAX_DEPTH {
            return None;
        }
        if let Some(default) = schema.default.as_ref().filter(|_| self.examples != Examples::Ignored) {
            return Some(default.clone());
        }
        let schema = schema.resolve(self.types);
        if let Some(allowed) = &schema.allowed {
            return allowed.first().cloned();
        }
        match &schema.kind {
            Kind::Any | Kind::Integer | Kind::Number | Kind::String if self.examples == Examples::Certain => None,
            Kind::Any => Some(json!("text")),
            Kind::Null => Some(Value::Null),
            Kind::Boolean => Some(Value::Bool(true)),
            Kind::Integer | Kind::Number => Some(info::number(within(schema.range))),
            Kind::String => text(schema),
            Kind::Array(items) => self.array(schema, items.as_deref(), depth),
            // The names that callers choose are not known here.
            Kind::Object(Shape { rest: Rest::Documented, .. }) => Some(json!({})),
            Kind::Object(shape) => {
                let mut object = self.fields(&shape.fields, depth + 1)?;
                // One optional field is more informative than an empty object.
                if object.is_empty()
                    && let Some(first) = shape.fields.iter().find(|field| !self.is_read_only(&field.schema))
                {
                    object.insert(first.name.to_string(), self.value(&first.schema, depth + 1)?);
                }
                Some(Value::Object(object))
            }
            Kind::Named(_) => None,
            // The bounds of a union apply to each alternative that is a number.
            Kind::Union(members) => members.iter().find_map(|member| {
                let bounded = Schema { range: schema.range, ..member.clone() };
                let is_number = matches!(member.kind, Kind::Integer | Kind::Number) && member.range == Range::default();
                self.value(if is_number { &bounded } else { member }, depth + 1)
            }),
        }
    }

    fn array(&mut self, schema: &Schema, items: Option<&Schema>, depth: usize) -> Option<Value> {
        let Some(items) = items.filter(|_| schema.items.max != Some(0)) else { return Some(json!([])) };
        let min = usize::try_from(schema.items.min.unwrap_or(0)).ok().filter(|min| *min <= MAX_ELEMENTS)?;
        let usual = if self.extent == Extent::All { 2 } else { 1 };
        let max = schema.items.max.and_then(|max| usize::try_from(max).ok()).unwrap_or(usize::MAX);
        let first = self.value(items, depth + 1)?;
        let mut elements = vec![first.clone()];
        for number in 1..min.max(usual).min(max) {
            let other = another(items.resolve(self.types), &first, number).unwrap_or_else(|| first.clone());
            if !schema.unique_items || !elements.contains(&other) {
                elements.push(other);
            }
        }
        (elements.len() >= min).then_some(Value::Array(elements))
    }
}

/// A valid value that differs from the first one, if it is easy to find.
fn another(schema: &Schema, first: &Value, number: usize) -> Option<Value> {
    if let Some(allowed) = &schema.allowed {
        return allowed.get(number).cloned();
    }
    match (&schema.kind, first) {
        (Kind::String, Value::String(text)) if schema.pattern.is_none() && schema.format.is_none() => {
            let text = format!("{text}{number}");
            let fits = schema.length.max.is_none_or(|max| u64::try_from(text.len()).is_ok_and(|length| length <= max));
            fits.then_some(text.into())
        }
        (Kind::Integer | Kind::Number, Value::Number(first)) => {
            let range = schema.range;
            let steps = u32::try_from(number).ok()?;
            let value = first.as_f64()? + f64::from(steps) * range.multiple_of.unwrap_or(1.0);
            let fits = range.maximum.is_none_or(|max| value <= max) && range.below.is_none_or(|below| value < below);
            fits.then(|| info::number(value))
        }
        _ => None,
    }
}

fn within(range: Range) -> f64 {
    let step = range.multiple_of.unwrap_or(1.0);
    let least = range
        .minimum
        .or(range.above.map(|above| above + step))
        .unwrap_or(1.0)
        .max(1.0_f64.min(range.maximum.unwrap_or(1.0)));
    let least = (least / step).ceil() * step;
    match range.maximum.or(range.below.map(|below| below - step)) {
        Some(most) if least > most => most,
        _ => least,
    }
}

fn text(schema: &Schema) -> Option<Value> {
    let plain = match schema.format.as_ref() {
        Some(Format::DateTime) => "2026-01-31T12:00:00Z",
        Some(Format::Date) => "2026-01-31",
        Some(Format::Time) => "12:00:00Z",
        Some(Format::Duration) => "PT1H",
        Some(Format::Email) => "someone@example.com",
        Some(Format::Uri) => "https://example.com/",
        Some(Format::Uuid) => "00000000-0000-4000-8000-000000000000",
        Some(Format::Ipv4) => "127.0.0.1",
        Some(Format::Ipv6) => "::1",
        Some(Format::Hint(name)) => match &**name {
            "url" | "iri" => "https://example.com/",
            "hostname" | "idn-hostname" => "example.com",
            "idn-email" => "someone@example.com",
            "json-pointer" => "/text",
            _ => "text",
        },
        None => "text",
    };
    let min_chars = usize::try_from(schema.length.min.unwrap_or(0)).ok().filter(|length| *length <= 1000)?;
    let max_chars = schema.length.max.and_then(|max| usize::try_from(max).ok()).unwrap_or(usize::MAX);
    let mut text = plain.to_owned();
    while text.chars().count() < min_chars {
        text.push('x');
    }
    let text: String = text.chars().take(max_chars).collect();
    let Some(pattern) = &schema.pattern else { return Some(text.into()) };
    if pattern.admits(&text) {
        return Some(text.into());
    }
    let text = pattern_sample::matching(pattern.source(), min_chars)?;
    (pattern.admits(&text) && text.chars().count() <= max_chars).then_some(text.into())
}
