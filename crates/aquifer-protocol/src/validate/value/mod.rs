//! Validates a value against a schema, at any depth, and reports every problem with its path.

mod constraints;
mod union;

use std::collections::HashSet;
use std::fmt;

use serde_json::{Map, Value};

use super::{Spellings, Stage, StagedProblems};
use crate::error::problems::explain_unknown;
use crate::error::wording::{looks_like_a_leak, quotable};
use crate::error::{Code, Problem};
use crate::operation::Operation;
use crate::schema::{Kind, Parameter, Rest, Schema, Shape, Types, type_of, type_words};

/// Checks values and collects their problems.
pub(super) struct Checker<'a> {
    types: &'a Types,
    operation: &'a Operation,
    problems: &'a mut StagedProblems,
    allow_nul: bool,
    /// Whether the current value may be left out.
    optional: bool,
    /// The remaining budget for trying alternatives. Nested unions would otherwise double the work with every level.
    trials: usize,
    depth: usize,
    /// Whether only the presence of a problem matters, not its message.
    is_quiet: bool,
    /// Whether a problem was found in quiet mode.
    has_failed: bool,
}

/// The maximum number of problems that are collected, because each takes memory.
const MAX_PROBLEMS: usize = 100;

/// The maximum depth of nested schemas. Alternatives inside alternatives count as well, although the value is not
/// nested.
const MAX_DEPTH: usize = 160;

/// The budget for checking values against alternatives: a base for each request, an allowance for each value sent, and
/// a maximum for one parameter. A definition of a few kilobytes can require billions of checks, so the budget limits
/// how long a hostile one can occupy a thread to milliseconds. A long list of unions is legitimate.
pub(super) const BASE_TRIALS: usize = 4_000;
const TRIALS_PER_VALUE: usize = 32;
const MAX_TRIALS: usize = 200_000;

/// The path of a value in the parameters. Formatted only if there is a problem.
#[derive(Clone, Copy)]
enum Path<'a> {
    Parameter(&'a str),
    Field(&'a Path<'a>, &'a str),
    Element(&'a Path<'a>, usize),
}

impl<'a> Path<'a> {
    /// The parameter that contains it.
    fn parameter(&self) -> &'a str {
        match self {
            Path::Parameter(name) => name,
            Path::Field(outer, _) | Path::Element(outer, _) => outer.parameter(),
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Parameter(name) => formatter.write_str(name),
            Path::Field(outer, name) => write!(formatter, "{outer}.{name}"),
            Path::Element(outer, index) => write!(formatter, "{outer}[{index}]"),
        }
    }
}

/// The declared names of an object, for finding those that are not declared.
enum FieldNames<'a> {
    Few(&'a [Parameter]),
    Many(HashSet<&'a str>),
}

impl<'a> FieldNames<'a> {
    fn new(shape: &'a Shape) -> Self {
        match shape.fields.as_slice() {
            many if many.len() > super::MAX_SEARCHED_FIELDS => {
                Self::Many(many.iter().map(|field| &*field.name).collect())
            }
            few => Self::Few(few),
        }
    }

    fn has(&self, name: &str) -> bool {
        match self {
            Self::Few(fields) => fields.iter().any(|field| &*field.name == name),
            Self::Many(names) => names.contains(name),
        }
    }
}

impl<'a> Checker<'a> {
    pub(super) fn new(types: &'a Types, operation: &'a Operation, problems: &'a mut StagedProblems) -> Self {
        Self {
            types,
            operation,
            problems,
            allow_nul: false,
            optional: false,
            trials: 0,
            depth: 0,
            is_quiet: false,
            has_failed: false,
        }
    }

    /// Checks a parameter. `trials` is the remaining budget of the request for alternatives.
    pub(super) fn parameter(&mut self, parameter: &Parameter, value: &mut Value, trials: &mut usize) {
        self.allow_nul = parameter.allow_nul;
        self.optional = !parameter.required;
        let more = weight(value).saturating_mul(TRIALS_PER_VALUE);
        self.trials = trials.saturating_add(more).min(MAX_TRIALS);
        self.value(Path::Parameter(&parameter.name), &parameter.schema, value);
        *trials = self.trials;
    }

    fn value(&mut self, path: Path<'_>, schema: &Schema, value: &mut Value) {
        if self.has_failed {
            return;
        }
        if self.depth >= MAX_DEPTH {
            return self.invalid(path, "has a shape that is defined too deep to be checked", None);
        }
        self.depth += 1;
        self.checked(path, schema, value);
        self.depth -= 1;
    }

    fn checked(&mut self, path: Path<'_>, schema: &Schema, value: &mut Value) {
        if value.is_null() && (schema.nullable || schema.resolve(self.types).nullable) {
            return;
        }
        let resolved = schema.resolve(self.types);
        let fits = match (&resolved.kind, &mut *value) {
            (Kind::Any | Kind::Named(_), value) => {
                self.check_text(path, value);
                true
            }
            (Kind::Null, Value::Null)
            | (Kind::Boolean, Value::Bool(_))
            | (Kind::Number, Value::Number(_))
            | (Kind::String, Value::String(_)) => true,
            // Upstreams receive numbers unchanged, however large.
            (Kind::Integer, Value::Number(_)) if !self.operation.origin.native => type_of(value) == "integer",
            (Kind::Integer, Value::Number(number)) => match normalise_whole(number) {
                false if type_of(value) == "integer" => {
                    return self.invalid(path, "is beyond the range of 64-bit integers", None);
                }
                fits => fits,
            },
            // Answers contain integers that JavaScript would round as strings (R-RES-5), so requests may, too.
            (Kind::Integer, Value::String(digits)) => match large_integer(digits) {
                Some(number) => {
                    *value = number.into();
                    true
                }
                None if is_beyond_64_bits(digits) => {
                    return self.invalid(path, "is beyond the range of 64-bit integers", None);
                }
                None => false,
            },
            (Kind::Array(items), Value::Array(elements)) => {
                for (index, element) in elements.iter_mut().enumerate() {
                    match items {
                        Some(items) => self.value(Path::Element(&path, index), items, element),
                        None => self.check_text(path, element),
                    }
                }
                true
            }
            (Kind::Object(shape), Value::Object(object)) => {
                self.object(path, shape, object);
                true
            }
            (Kind::Union(members), value) => return self.union(path, resolved, members, value),
            _ => false,
        };
        if fits {
            self.constraints(path, resolved, value);
        } else {
            self.wrong_type(path, schema, value);
        }
    }

    /// Records a problem without a message in quiet mode. Returns whether the mode is quiet.
    fn fails_quietly(&mut self) -> bool {
        self.has_failed |= self.is_quiet;
        self.is_quiet
    }

    fn wrong_type(&mut self, path: Path<'_>, schema: &Schema, value: &Value) {
        if self.fails_quietly() {
            return;
        }
        let (expected, actual) = (type_words(schema), type_of(value));
        // The name of a type does not tell the caller what to send.
        let kind = match &schema.kind {
            Kind::Named(_) => format!(" ({})", type_words(schema.resolve(self.types))),
            _ => String::new(),
        };
        let hint = if value.is_null() && self.optional { ". Leave it out instead" } else { "" };
        self.report(
            Stage::Type,
            Problem::new(
                Code::ValidationInvalidType,
                path.to_string(),
                format!("Parameter '{path}' expected '{expected}'{kind}, got '{actual}'{hint}"),
            )
            .detail("param_name", path.to_string())
            .detail("expected_type", expected)
            .detail("actual_type", actual),
        );
    }

    fn object(&mut self, path: Path<'_>, shape: &Shape, object: &mut Map<String, Value>) {
        if matches!(shape.rest, Rest::Documented) {
            return self.check_members(path, object.iter());
        }
        // The changes of an UPDATE, at any depth (R-REQ-6).
        let is_change = self.operation.takes_changes() && path.parameter() == "input";
        for field in &shape.fields {
            let at = Path::Field(&path, &field.name);
            match object.get_mut(&*field.name) {
                Some(value) => {
                    let outer = (self.allow_nul, self.optional);
                    (self.allow_nul, self.optional) = (field.allow_nul, !field.required);
                    self.value(at, &field.schema, value);
                    (self.allow_nul, self.optional) = outer;
                }
                None if field.required => {
                    if self.fails_quietly() {
                        return;
                    }
                    let expected = type_words(&field.schema);
                    self.report(
                        Stage::Missing,
                        Problem::new(
                            Code::ValidationMissingParam,
                            at.to_string(),
                            format!("Missing required parameter '{at}'. Expected: {expected}"),
                        )
                        .detail("param_name", at.to_string())
                        .detail("operation", &*self.operation.name)
                        .detail("expected_type", expected),
                    );
                }
                None => {
                    // Changes contain only what the caller sent, because a default would overwrite stored data. An
                    // upstream fills in its own defaults.
                    let is_filled_in = self.operation.origin.native && !is_change && !field.schema.is_source_default;
                    if let Some(default) = field.schema.default.as_ref().filter(|_| is_filled_in) {
                        object.insert(field.name.to_string(), default.clone());
                    }
                }
            }
        }
        self.rest(path, shape, object);
    }

    /// Refuses undeclared fields that are other spellings of declared ones, as for parameters.
    fn check_spelling(&mut self, path: Path<'_>, shape: &Shape, known: &FieldNames<'_>, object: &Map<String, Value>) {
        let mut declared = None;
        for name in object.keys().filter(|name| !known.has(name)) {
            let Some(meant) = declared.get_or_insert_with(|| Spellings::new(&shape.fields)).spelling_of(name) else {
                continue;
            };
            let at = format!("{path}.{}", quotable(name));
            let message = format!("Parameter '{at}' is another spelling of a declared field. Send it as '{meant}'");
            self.report(Stage::Unknown, Problem::new(Code::ValidationUnknownParam, at, message));
        }
    }

    fn rest(&mut self, path: Path<'_>, shape: &Shape, object: &mut Map<String, Value>) {
        let names = FieldNames::new(shape);
        let known = |name: &str| names.has(name);
        if !matches!(shape.rest, Rest::Refused) && !shape.fields.is_empty() {
            self.check_spelling(path, shape, &names, object);
        }
        match &shape.rest {
            Rest::Free | Rest::Documented => self.check_members(path, object.iter().filter(|(name, _)| !known(name))),
            Rest::Of(schema) => {
                for (name, value) in object.iter_mut().filter(|(name, _)| !known(name)) {
                    let end = name.char_indices().nth(64).map_or(name.len(), |(end, _)| end);
                    self.value(Path::Field(&path, name.get(..end).unwrap_or(name)), schema, value);
                }
            }
            Rest::Refused => {
                let unknown: Vec<String> = object.keys().filter(|name| !known(name)).cloned().collect();
                if !unknown.is_empty() {
                    self.unknown_fields(path, shape, &unknown);
                }
            }
        }
    }

    /// Checks members without a schema.
    fn check_members<'m>(&mut self, path: Path<'_>, members: impl Iterator<Item = (&'m String, &'m Value)>) {
        for (name, value) in members {
            self.no_nul(path, name);
            self.check_text(path, value);
        }
    }

    fn unknown_fields(&mut self, path: Path<'_>, shape: &Shape, unknown: &[String]) {
        if self.fails_quietly() {
            return;
        }
        let valid: Vec<&str> = shape.fields.iter().map(|field| &*field.name).collect();
        let (names, mut hint, suggestions) = explain_unknown(unknown, &valid);
        if let Some(name) = unknown.iter().find(|name| {
            matches!(path, Path::Parameter("input"))
                && self.operation.takes_changes()
                && self.operation.parameter(name).is_some()
        }) {
            hint = format!(" '{name}' belongs beside 'input', not inside it.");
        }
        self.report(
            Stage::Unknown,
            Problem::new(
                Code::ValidationUnknownField,
                path.to_string(),
                format!("Unknown field(s) in '{path}': {names}.{hint}"),
            )
            .detail("param_name", path.to_string())
            .detail("operation", &*self.operation.name)
            .detail("unknown_fields", unknown.iter().map(|name| super::bounded(name)).collect::<Vec<_>>())
            .valid("valid_fields", &valid)
            .details(suggestions),
        );
    }

    /// Reports a value that breaks a constraint. `constraint` is its name and what it allows, for the details.
    fn invalid(&mut self, path: Path<'_>, problem: &str, constraint: Option<(&str, Value)>) {
        if self.fails_quietly() {
            return;
        }
        // Patterns and values come from untrusted definitions.
        let is_shown = !looks_like_a_leak(problem);
        let problem = if is_shown { problem } else { "breaks a constraint that introspect shows" };
        let found =
            Problem::new(Code::ValidationInvalidValue, path.to_string(), format!("Parameter '{path}' {problem}"))
                .detail("param_name", path.to_string());
        let found = match constraint {
            Some((name, allowed)) => found.detail(name, allowed),
            None => found,
        };
        self.report(Stage::Constraint, found);
    }

    /// Reports a value that is not one of the allowed ones. The details list them. The message does, too, if there are
    /// only a few, or if it is the only place for them (R-REQ-4a).
    fn not_allowed(&mut self, path: Path<'_>, allowed: &[Value], meant: &str) {
        const MAX_IN_MESSAGE: usize = 12;
        if self.fails_quietly() {
            return;
        }
        if allowed.len() <= MAX_IN_MESSAGE || self.operation.class().has_bare_answers() {
            let listed: Vec<String> = allowed.iter().map(quoted).collect();
            let problem = format!("must be one of: {}{meant}", listed.join(", "));
            return self.invalid(path, &problem, Some(("valid", allowed.to_vec().into())));
        }
        let message = format!("Parameter '{path}' must be one of {} values{meant}", allowed.len());
        let problem = Problem::new(Code::ValidationInvalidValue, path.to_string(), message)
            .detail("param_name", path.to_string())
            .valid_values("valid", allowed.to_vec());
        self.report(Stage::Constraint, problem);
    }

    fn report(&mut self, stage: Stage, problem: Problem) {
        if self.fails_quietly() {
            return;
        }
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push((stage, problem));
        }
    }
}

pub(super) fn quoted(value: &Value) -> String {
    match value {
        Value::String(text) => format!("'{text}'"),
        other => other.to_string(),
    }
}

/// Normalizes a whole number such as `3.0` to `3`.
fn normalise_whole(number: &mut serde_json::Number) -> bool {
    if number.is_i64() || number.is_u64() {
        return true;
    }
    match number.as_f64() {
        Some(value) if value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0 => {
            #[expect(clippy::cast_possible_truncation, reason = "whole and within the exact range")]
            let whole = value as i64;
            *number = whole.into();
            true
        }
        _ => false,
    }
}

/// The number of values inside a value.
fn weight(value: &Value) -> usize {
    match value {
        Value::Array(elements) => 1 + elements.iter().map(weight).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(weight).sum::<usize>(),
        _ => 1,
    }
}

/// Parses text as an integer that cannot be represented safely as a JSON number.
fn large_integer(digits: &str) -> Option<i64> {
    const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;
    digits.parse::<i64>().ok().filter(|number| number.unsigned_abs() > MAX_SAFE_INTEGER && number.to_string() == digits)
}

/// Whether text is an integer, as answers would contain it, that is too large for 64 bits.
fn is_beyond_64_bits(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_integer = digits.starts_with(|first: char| ('1'..='9').contains(&first))
        && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_integer && text.parse::<i64>().is_err()
}
