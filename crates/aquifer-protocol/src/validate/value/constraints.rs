//! Checks a value of the correct type against the constraints of its schema: enumerations, ranges, lengths, patterns,
//! formats and text encoding.

use serde_json::Value;

use super::{Checker, Path, Stage};
use crate::error::{Code, Problem};
use crate::schema::{Schema, Span, number as whole};
use crate::suggest;

impl Checker<'_> {
    pub(super) fn constraints(&mut self, path: Path<'_>, schema: &Schema, value: &Value) {
        if let Some(allowed) = &schema.allowed
            && !allowed.contains(value)
        {
            if self.fails_quietly() {
                return;
            }
            let words: Vec<&str> = allowed.iter().filter_map(Value::as_str).collect();
            let meant = value
                .as_str()
                .and_then(|wrong| suggest::nearest(wrong, words.iter().copied()))
                .map(|name| format!(". Did you mean '{name}'?"))
                .unwrap_or_default();
            self.not_allowed(path, allowed, &meant);
            return;
        }
        match value {
            Value::Number(number) => self.number(path, schema, number),
            Value::String(text) => self.text(path, schema, text),
            Value::Array(elements) => {
                self.span(path, schema.items, elements.len(), "elements");
                if schema.unique_items && has_duplicates(elements) {
                    self.invalid(path, "must not hold equal elements", None);
                }
            }
            _ => {}
        }
    }

    fn number(&mut self, path: Path<'_>, schema: &Schema, number: &serde_json::Number) {
        let Some(value) = number.as_f64() else { return };
        let range = schema.range;
        if let Some(minimum) = range.minimum.filter(|minimum| value < *minimum) {
            self.invalid(path, &format!("must be {minimum} or more"), Some(("minimum", whole(minimum))));
        }
        if let Some(maximum) = range.maximum.filter(|maximum| value > *maximum) {
            self.invalid(path, &format!("must be no more than {maximum}"), Some(("maximum", whole(maximum))));
        }
        if let Some(above) = range.above.filter(|above| value <= *above) {
            self.invalid(path, &format!("must be greater than {above}"), None);
        }
        if let Some(below) = range.below.filter(|below| value >= *below) {
            self.invalid(path, &format!("must be less than {below}"), None);
        }
        if let Some(step) = range.multiple_of.filter(|step| !is_multiple(value, *step)) {
            self.invalid(path, &format!("must be a multiple of {step}"), None);
        }
    }

    fn text(&mut self, path: Path<'_>, schema: &Schema, text: &str) {
        self.no_nul(path, text);
        if schema.length != Span::default() {
            self.span(path, schema.length, text.chars().count(), "characters");
        }
        if let Some(pattern) = schema.pattern.as_ref().filter(|pattern| !pattern.admits(text)) {
            let constraint = Some(("pattern", pattern.source().into()));
            self.invalid(path, &format!("does not match its pattern '{}'", pattern.source()), constraint);
        }
        if let Some(format) = schema.format.as_ref().filter(|format| !format.admits(text)) {
            let example = format.example().map(|example| format!(", such as {example}")).unwrap_or_default();
            let constraint = Some(("format", format.as_str().into()));
            self.invalid(path, &format!("is not a valid {}{example}", format.as_str()), constraint);
        }
    }

    /// Checks a value without a schema. Only the rules for all text apply (R-REQ-8).
    pub(super) fn check_text(&mut self, path: Path<'_>, value: &Value) {
        match value {
            Value::String(text) => self.no_nul(path, text),
            Value::Array(elements) => elements.iter().for_each(|element| self.check_text(path, element)),
            Value::Object(fields) => {
                for (name, field) in fields {
                    self.no_nul(path, name);
                    self.check_text(path, field);
                }
            }
            _ => {}
        }
    }

    pub(super) fn no_nul(&mut self, path: Path<'_>, text: &str) {
        if !text.contains('\0') || self.allow_nul {
            return;
        }
        let message = format!("Invalid character encoding in request: parameter '{path}' holds NUL (U+0000)");
        let problem = Problem::new(Code::ValidationInvalidEncoding, path.to_string(), message)
            .detail("location", path.to_string());
        self.report(Stage::Constraint, problem);
    }

    fn span(&mut self, path: Path<'_>, span: Span, count: usize, unit: &str) {
        let count = count as u64;
        if let Some(min) = span.min.filter(|min| count < *min) {
            self.invalid(path, &format!("must have {min} {unit} or more, has {count}"), Some(("minimum", min.into())));
        }
        if let Some(max) = span.max.filter(|max| count > *max) {
            self.invalid(
                path,
                &format!("must have no more than {max} {unit}, has {count}"),
                Some(("maximum", max.into())),
            );
        }
    }
}

fn is_multiple(value: f64, step: f64) -> bool {
    let quotient = value / step;
    (quotient - quotient.round()).abs() < 1e-9 * quotient.abs().max(1.0)
}

/// Whether any two elements are equal. Does not compare all pairs.
fn has_duplicates(elements: &[Value]) -> bool {
    let mut texts: Vec<String> = elements.iter().map(Value::to_string).collect();
    texts.sort_unstable();
    texts.windows(2).any(|pair| matches!(pair, [a, b] if a == b))
}
