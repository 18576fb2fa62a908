//! Values that match a description.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::{Map, Value, json};

use super::pattern;
use crate::description::{Parameter, Type, ValueKind};

/// The maximum nesting of named types.
const MAX_DEPTH: usize = 6;

/// Texts that are tried against a pattern.
pub(super) const TEXTS: [&str; 18] = [
    "text",
    "a",
    "A",
    "1",
    "abc",
    "ABC",
    "Abc",
    "a1",
    "abc-123",
    "abc_123",
    "12345",
    "AB-123",
    "2024-05-06",
    "12:30",
    "user@example.com",
    "https://example.com/a",
    "+4930123456",
    "de-DE",
];

/// Generates values that match a description.
pub(crate) struct ValueGenerator<'a> {
    pub(crate) types: &'a BTreeMap<String, Type>,
    /// Included in generated text, so that values differ.
    pub(crate) salt: &'a str,
    /// Selects one of the possible values: 0 is the simplest, others differ as much as possible.
    pub(crate) variant: usize,
}

impl ValueGenerator<'_> {
    /// A value that a description allows; `None` if none can be generated.
    pub(crate) fn generate(&self, parameter: &Parameter) -> Option<Value> {
        self.generate_at(parameter, 0)
    }

    fn generate_at(&self, parameter: &Parameter, depth: usize) -> Option<Value> {
        let allowed: Vec<&Value> = parameter.allowed.iter().filter(|value| !value.is_null()).collect();
        if !allowed.is_empty() {
            return allowed.get(self.variant % allowed.len()).map(|value| (*value).clone());
        }
        let kind = parameter.kinds.iter().find(|kind| **kind != ValueKind::Null)?;
        self.generate_kind(kind, parameter, depth)
    }

    fn generate_kind(&self, kind: &ValueKind, parameter: &Parameter, depth: usize) -> Option<Value> {
        match kind {
            ValueKind::String => self.text(parameter).map(Value::from),
            ValueKind::Integer => Some(json!(integer(parameter, 1 + self.offset()))),
            ValueKind::Number => Some(json!(number(parameter, 1.5 + self.variant as f64))),
            ValueKind::Boolean => Some(json!(self.variant % 2 == 1)),
            ValueKind::Object | ValueKind::Any => Some(json!({"note": format!("text {}", self.salt)})),
            ValueKind::Null => Some(Value::Null),
            ValueKind::Array(element) => {
                let item = match (&parameter.items, element) {
                    (Some(items), _) => self.generate_at(items, depth + 1)?,
                    (None, Some(element)) => self.generate_kind(element, &Parameter::default(), depth + 1)?,
                    (None, None) => return Some(json!([])),
                };
                Some(json!([item]))
            }
            ValueKind::Named(name) => self.named(name, depth),
        }
    }

    /// The salt as a number.
    fn salted(&self) -> u32 {
        u32::from_str_radix(self.salt, 16).unwrap_or_default() % 20_000
    }

    /// The offset of an integer. Small numbers are often taken, so variants use large ones.
    fn offset(&self) -> i64 {
        if self.variant == 0 { 0 } else { i64::from(self.salted()) + 1_000 + self.variant as i64 }
    }

    /// The salt in hexadecimal digits.
    fn hex(&self) -> String {
        self.salt.chars().filter(char::is_ascii_hexdigit).collect()
    }

    fn named(&self, name: &str, depth: usize) -> Option<Value> {
        let known = self.types.get(name).filter(|_| depth < MAX_DEPTH)?;
        match known.kind.as_str() {
            "enum" => known.values.first().cloned(),
            "object" => {
                let required = known.fields.iter().filter(|field| field.required);
                let fields: Option<Map<String, Value>> =
                    required.map(|field| Some((field.name.clone(), self.generate_at(field, depth + 1)?))).collect();
                fields.map(Value::Object)
            }
            "union" => known.members.iter().find_map(|member| {
                let parameter = Parameter { kinds: vec![ValueKind::parse(member)], ..Parameter::default() };
                self.generate_at(&parameter, depth + 1)
            }),
            _ => Some(json!("text")),
        }
    }

    fn text(&self, parameter: &Parameter) -> Option<String> {
        if let Some(pattern) = &parameter.pattern {
            // A text that people recognize, or else one that is made from the pattern.
            let compiled = Regex::new(pattern).ok()?;
            let fits = |text: &&&str| compiled.is_match(text) && length_fits(parameter, text);
            let fitting: Vec<&str> = TEXTS.iter().filter(fits).copied().collect();
            let seed = self.salted() as usize + self.variant;
            if self.variant < fitting.len() {
                return fitting.get(seed % fitting.len()).map(|text| (*text).to_owned());
            }
            return pattern::matching(pattern, |text| length_fits(parameter, text), seed);
        }
        let day = 6 + self.variant % 20;
        let text = match parameter.format.as_deref() {
            Some("date") => format!("2024-05-{day:02}"),
            Some("date-time") => format!("2024-05-{day:02}T07:08:09Z"),
            Some("time") => "07:08:09".to_owned(),
            Some("uri" | "url") => format!("https://example.com/{}", self.salt),
            Some("email") => format!("conformance-{}@example.com", self.salt),
            Some("uuid") => format!("7d444840-9dc0-41d1-b245-5ffdce{:0>6.6}", self.hex()),
            _ if parameter.name.contains("email") => format!("conformance-{}@example.com", self.salt),
            _ => format!("conformance {}", self.salt),
        };
        let longest = parameter.max_length.unwrap_or(usize::MAX);
        let mut text: String =
            if text.len() > longest { self.salt.chars().rev().take(longest).collect() } else { text };
        while text.chars().count() < parameter.min_length.unwrap_or_default() {
            text.push('x');
        }
        Some(text)
    }
}

fn length_fits(parameter: &Parameter, text: &str) -> bool {
    let length = text.chars().count();
    length >= parameter.min_length.unwrap_or_default() && length <= parameter.max_length.unwrap_or(usize::MAX)
}

/// A whole number within the bounds: `wanted`, or wrapped into a small range, so that variants stay different.
fn integer(parameter: &Parameter, wanted: i64) -> i64 {
    let low = parameter.minimum.map_or(i64::MIN, |minimum| minimum.ceil() as i64);
    let high = parameter.maximum.map_or(i64::MAX, |maximum| maximum.floor() as i64);
    match high.checked_sub(low) {
        Some(span @ 0..=1_000_000) if !(low..=high).contains(&wanted) && parameter.minimum.is_some() => {
            low + wanted.rem_euclid(span + 1)
        }
        _ => wanted.max(low).min(high),
    }
}

/// The number within the bounds that is closest to `wanted`.
fn number(parameter: &Parameter, wanted: f64) -> f64 {
    wanted.max(parameter.minimum.unwrap_or(f64::MIN)).min(parameter.maximum.unwrap_or(f64::MAX))
}
