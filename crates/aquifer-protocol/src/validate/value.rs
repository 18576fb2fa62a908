//! Validates one value against one schema, to any depth, and reports every problem with its path.

use std::collections::HashSet;
use std::fmt;

use serde_json::{Map, Value};

use super::{Spellings, Stage, StagedProblems};
use crate::error::problems::explain_unknown;
use crate::error::wording::{looks_like_a_leak, quotable};
use crate::error::{Code, Problem};
use crate::operation::Operation;
use crate::schema::{Kind, Parameter, Rest, Schema, Shape, Span, Types, type_of, type_words};
use crate::suggest;

/// Checks values and collects what is wrong with them.
pub(super) struct Checker<'a> {
    types: &'a Types,
    operation: &'a Operation,
    problems: &'a mut StagedProblems,
    allow_nul: bool,
    /// Whether the value in hand could as well be left out.
    optional: bool,
    /// How much may still be tried in alternatives: a union of unions would double the work with every level.
    trials: usize,
    depth: usize,
    /// Set where only the presence of a problem matters, not its message.
    is_quiet: bool,
    /// Whether something was found to be wrong in quiet.
    has_failed: bool,
}

/// A request with more problems than this is beyond help, and each costs memory.
const MAX_PROBLEMS: usize = 100;

/// Shapes inside shapes, also alternatives inside alternatives, which need no value to go deeper.
const MAX_DEPTH: usize = 160;

/// Values looked at for the sake of alternatives, in one request: so many in any case, so many more for each value that is
/// sent, and no more than these in one parameter. Definitions of a few kilobytes can ask for billions, so this decides how long a
/// hostile one can keep a thread: milliseconds. A long list whose elements are unions is honest and needs many.
pub(super) const BASE_TRIALS: usize = 4_000;
const TRIALS_PER_VALUE: usize = 32;
const MAX_TRIALS: usize = 200_000;

/// The path of a value in the parameters. It is formatted only if there is a problem.
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

    /// Checks a parameter. `trials` is what alternatives may still cost in this request.
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
                self.free(path, value);
                true
            }
            (Kind::Null, Value::Null)
            | (Kind::Boolean, Value::Bool(_))
            | (Kind::Number, Value::Number(_))
            | (Kind::String, Value::String(_)) => true,
            // An upstream gets the number as it came, however large.
            (Kind::Integer, Value::Number(_)) if !self.operation.native => type_of(value) == "integer",
            (Kind::Integer, Value::Number(number)) => match normalise_whole(number) {
                false if type_of(value) == "integer" => {
                    return self.invalid(path, "is beyond the range of 64-bit integers", None);
                }
                fits => fits,
            },
            // Answers show integers that JavaScript would round as text (R-RES-5), so they come back as text.
            (Kind::Integer, Value::String(digits)) => match large_integer(digits) {
                Some(number) => {
                    *value = number.into();
                    true
                }
                None => false,
            },
            (Kind::Array(items), Value::Array(elements)) => {
                for (index, element) in elements.iter_mut().enumerate() {
                    match items {
                        Some(items) => self.value(Path::Element(&path, index), items, element),
                        None => self.free(path, element),
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

    /// Notes a problem whose words nobody will read.
    fn fails_quietly(&mut self) -> bool {
        self.has_failed |= self.is_quiet;
        self.is_quiet
    }

    fn wrong_type(&mut self, path: Path<'_>, schema: &Schema, value: &Value) {
        if self.fails_quietly() {
            return;
        }
        let (expected, actual) = (type_words(schema), type_of(value));
        let hint = if value.is_null() && self.optional { ". Leave it out instead" } else { "" };
        self.report(
            Stage::Type,
            Problem::new(
                Code::ValidationInvalidType,
                path.to_string(),
                format!("Parameter '{path}' expected '{expected}', got '{actual}'{hint}"),
            )
            .detail("param_name", path.to_string())
            .detail("expected_type", expected)
            .detail("actual_type", actual),
        );
    }

    /// A value fits a union if it fits one member. If it fits none but only one member is of its type, that member's
    /// problems are the ones to tell. Only the first member's problems are put into words.
    fn union(&mut self, path: Path<'_>, union: &Schema, members: &[Schema], value: &mut Value) {
        let mut closest: Option<StagedProblems> = None;
        let weight = weight(value);
        let choice = Choice::new(members, value, self.types);
        if let Choice::None { field, allowed } = choice {
            let listed: Vec<String> = allowed.iter().map(quoted).collect();
            let problem = format!("must be one of: {}", listed.join(", "));
            return self.invalid(Path::Field(&path, field), &problem, Some(&allowed));
        }
        let others = members.iter().filter(|member| !choice.prefers(member));
        let all = members.iter().filter(|member| choice.prefers(member)).chain(others);
        for member in all.filter(|member| may_fit(member.resolve(self.types), value)) {
            let Some(left) = self.trials.checked_sub(weight) else {
                return self.invalid(path, "fits too many alternatives to try them all. Send something simpler", None);
            };
            let mut attempt = value.clone();
            let mut problems = Vec::new();
            let mut checker = Checker {
                types: self.types,
                operation: self.operation,
                problems: &mut problems,
                allow_nul: self.allow_nul,
                optional: self.optional,
                trials: left,
                depth: self.depth,
                is_quiet: self.is_quiet || closest.is_some(),
                has_failed: false,
            };
            checker.value(path, member, &mut attempt);
            self.trials = checker.trials;
            let fits = !checker.has_failed && checker.problems.is_empty();
            if fits {
                *value = attempt;
                return self.constraints(path, union, value);
            }
            closest.get_or_insert(problems);
        }
        match closest {
            Some(problems) => {
                self.fails_quietly();
                self.problems.extend(problems);
            }
            None => self.wrong_type(path, union, value),
        }
    }

    fn object(&mut self, path: Path<'_>, shape: &Shape, object: &mut Map<String, Value>) {
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
                    // Changes are only what the caller sent: a default there would overwrite what is stored. And an
                    // upstream fills in its own.
                    let is_filled_in = self.operation.native && !is_change && !field.schema.is_source_default;
                    if let Some(default) = field.schema.default.as_ref().filter(|_| is_filled_in) {
                        object.insert(field.name.to_string(), default.clone());
                    }
                }
            }
        }
        self.rest(path, shape, object);
    }

    /// Refuses further fields that are other spellings of declared ones, for the reason that such parameters are.
    fn respelled(&mut self, path: Path<'_>, shape: &Shape, known: &FieldNames<'_>, object: &Map<String, Value>) {
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
            self.respelled(path, shape, &names, object);
        }
        match &shape.rest {
            Rest::Free => {
                for (name, value) in object.iter().filter(|(name, _)| !known(name)) {
                    self.no_nul(path, name);
                    self.free(path, value);
                }
            }
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

    fn constraints(&mut self, path: Path<'_>, schema: &Schema, value: &Value) {
        if let Some(allowed) = &schema.allowed
            && !allowed.contains(value)
        {
            if self.fails_quietly() {
                return;
            }
            let words: Vec<&str> = allowed.iter().filter_map(Value::as_str).collect();
            let listed: Vec<String> = allowed.iter().map(quoted).collect();
            let meant = value
                .as_str()
                .and_then(|wrong| suggest::nearest(wrong, words.iter().copied()))
                .map(|name| format!(". Did you mean '{name}'?"))
                .unwrap_or_default();
            self.invalid(path, &format!("must be one of: {}{meant}", listed.join(", ")), Some(allowed));
            return;
        }
        match value {
            Value::Number(number) => self.number(path, schema, number),
            Value::String(text) => self.text(path, schema, text),
            Value::Array(elements) => {
                self.span(path, schema.items, elements.len(), "elements");
                if schema.unique_items && has_twins(elements) {
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
            self.invalid(path, &format!("must be {minimum} or more"), None);
        }
        if let Some(maximum) = range.maximum.filter(|maximum| value > *maximum) {
            self.invalid(path, &format!("must be no more than {maximum}"), None);
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
            self.invalid(path, &format!("does not match its pattern '{}'", pattern.source()), None);
        }
        if let Some(format) = schema.format.as_ref().filter(|format| !format.admits(text)) {
            let example = format.example().map(|example| format!(", such as {example}")).unwrap_or_default();
            self.invalid(path, &format!("is not a valid {}{example}", format.as_str()), None);
        }
    }

    /// A value whose shape nobody knows: only what holds for all text can be checked (R-REQ-8).
    fn free(&mut self, path: Path<'_>, value: &Value) {
        match value {
            Value::String(text) => self.no_nul(path, text),
            Value::Array(elements) => elements.iter().for_each(|element| self.free(path, element)),
            Value::Object(fields) => {
                for (name, field) in fields {
                    self.no_nul(path, name);
                    self.free(path, field);
                }
            }
            _ => {}
        }
    }

    fn no_nul(&mut self, path: Path<'_>, text: &str) {
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
            self.invalid(path, &format!("must have {min} {unit} or more, has {count}"), None);
        }
        if let Some(max) = span.max.filter(|max| count > *max) {
            self.invalid(path, &format!("must have no more than {max} {unit}, has {count}"), None);
        }
    }

    fn invalid(&mut self, path: Path<'_>, problem: &str, allowed: Option<&[Value]>) {
        if self.fails_quietly() {
            return;
        }
        // Patterns and words come from definitions we did not write.
        let is_shown = !looks_like_a_leak(problem);
        let problem = if is_shown { problem } else { "breaks a constraint that introspect shows" };
        let found =
            Problem::new(Code::ValidationInvalidValue, path.to_string(), format!("Parameter '{path}' {problem}"))
                .detail("param_name", path.to_string());
        let found = match allowed {
            Some(allowed) if !is_shown => found.detail("allowed", allowed.to_vec()),
            _ => found,
        };
        self.report(Stage::Constraint, found);
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

/// Which alternative an object means by a field that all of them have and that names its alternative: `{"type": "card", …}`.
enum Choice<'a> {
    /// This one.
    Member(&'a Schema),
    /// None of them: the field says something else.
    None { field: &'a str, allowed: Vec<Value> },
    /// There is no such field.
    Unknown,
}

impl<'a> Choice<'a> {
    fn new(members: &'a [Schema], value: &Value, types: &'a Types) -> Self {
        let Value::Object(object) = value else { return Choice::Unknown };
        let field_of = |member: &'a Schema| match &member.resolve(types).kind {
            Kind::Object(shape) => shape.fields.iter().find(|field| field.required && field.schema.allowed.is_some()),
            _ => None,
        };
        let Some(fields) = members.iter().map(field_of).collect::<Option<Vec<&Parameter>>>() else {
            return Choice::Unknown;
        };
        let Some(first) = fields.first().filter(|first| fields.iter().all(|field| field.name == first.name)) else {
            return Choice::Unknown;
        };
        let Some(named) = object.get(&*first.name).filter(|named| !named.is_null()) else { return Choice::Unknown };
        let allowed = |field: &Parameter| field.schema.allowed.clone().unwrap_or_default();
        match members.iter().zip(&fields).find(|(_, field)| allowed(field).contains(named)) {
            Some((member, _)) => Choice::Member(member),
            None => Choice::None {
                field: &first.name,
                allowed: fields.iter().flat_map(|field| allowed(field).to_vec()).collect(),
            },
        }
    }

    fn prefers(&self, member: &Schema) -> bool {
        matches!(self, Choice::Member(meant) if std::ptr::eq(*meant, member))
    }
}

pub(super) fn quoted(value: &Value) -> String {
    match value {
        Value::String(text) => format!("'{text}'"),
        other => other.to_string(),
    }
}

/// `3.0` is a whole number; handlers should meet it as `3`.
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

/// Whether the value is of the member's type, so that looking closer is worth it.
fn may_fit(schema: &Schema, value: &Value) -> bool {
    match (&schema.kind, value) {
        (_, Value::Null) if schema.nullable => true,
        (Kind::Any | Kind::Named(_) | Kind::Union(_), _)
        | (Kind::Null, Value::Null)
        | (Kind::Boolean, Value::Bool(_))
        | (Kind::Number, Value::Number(_))
        | (Kind::String, Value::String(_))
        | (Kind::Array(_), Value::Array(_))
        | (Kind::Object(_), Value::Object(_)) => true,
        (Kind::Integer, value) => type_of(value) == "integer",
        _ => false,
    }
}

/// How many values there are in a value.
fn weight(value: &Value) -> usize {
    match value {
        Value::Array(elements) => 1 + elements.iter().map(weight).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(weight).sum::<usize>(),
        _ => 1,
    }
}

fn is_multiple(value: f64, step: f64) -> bool {
    let quotient = value / step;
    (quotient - quotient.round()).abs() < 1e-9 * quotient.abs().max(1.0)
}

/// Whether two elements are equal, without comparing each with each.
fn has_twins(elements: &[Value]) -> bool {
    let mut texts: Vec<String> = elements.iter().map(Value::to_string).collect();
    texts.sort_unstable();
    texts.windows(2).any(|pair| matches!(pair, [a, b] if a == b))
}

/// The number that a text of digits stands for, if it is one that JSON numbers do not carry safely.
fn large_integer(digits: &str) -> Option<i64> {
    const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;
    digits.parse::<i64>().ok().filter(|number| number.unsigned_abs() > MAX_SAFE_INTEGER && number.to_string() == digits)
}
