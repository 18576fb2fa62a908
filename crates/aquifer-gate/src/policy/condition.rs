//! Conditions on parameters.

use aquifer_protocol::operation::Operation;
use serde_json::{Map, Value};

use super::glob::Patterns;
use super::problem::Complaints;
use super::settings::ConditionSettings;

/// A condition, read.
#[derive(Debug, Clone)]
pub(super) struct Condition {
    path: Vec<String>,
    test: Test,
    not: bool,
}

#[derive(Debug, Clone)]
enum Test {
    OneOf(Vec<Value>),
    Matches(Patterns),
    Greater(f64),
    Less(f64),
    Present(bool),
}

/// Who gets the benefit of the doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doubt {
    /// The rule restricts: one value that passes, or that nobody can tell, is enough.
    Restricts,
    /// The rule loosens: every value has to pass, and there has to be one.
    Loosens,
}

impl Condition {
    pub(super) fn new(settings: &ConditionSettings, complaints: &mut Complaints<'_>) -> Option<Self> {
        let path: Vec<String> = settings.param.split('.').map(str::to_owned).collect();
        if path.iter().any(|part| part.trim().is_empty()) {
            complaints.add("a condition needs 'param': a parameter's name, with dots to go into it");
            return None;
        }
        let ConditionSettings { param, equals, one_of, matches, greater, less, present, not } = settings;
        let mut tests: Vec<Test> = Vec::new();
        tests.extend(equals.clone().map(|value| Test::OneOf(vec![value])));
        tests.extend(one_of.clone().map(Test::OneOf));
        tests.extend(matches.as_ref().map(|words| {
            let patterns = Patterns::new(words.iter(), |problem| complaints.add(format!("'{param}': {problem}")));
            Test::Matches(patterns)
        }));
        tests.extend(greater.map(Test::Greater));
        tests.extend(less.map(Test::Less));
        tests.extend(present.map(|present| Test::Present(present != *not)));
        let test = match <[Test; 1]>::try_from(tests) {
            Ok([test]) => test,
            Err(several) => {
                let known = "equals, one_of, matches, greater, less or present";
                let problem = if several.is_empty() { "tests nothing" } else { "has two tests: write two conditions" };
                complaints.add(format!("the condition on '{param}' {problem}. A condition has one of {known}"));
                return None;
            }
        };
        match &test {
            Test::OneOf(values) if values.is_empty() => {
                complaints.add(format!("the condition on '{param}' can never hold: 'one_of' is empty"));
            }
            Test::OneOf(values) if values.iter().any(|value| value.is_array() || value.is_object()) => {
                let words = "compares with a list or a table: name single values, a path goes into lists by itself";
                complaints.add(format!("the condition on '{param}' {words}"));
            }
            Test::Greater(number) | Test::Less(number) if !number.is_finite() => {
                complaints.add(format!("the condition on '{param}' compares with what is no number"));
            }
            _ => {}
        }
        Some(Self { path, test, not: *not })
    }

    /// Whether it holds. What was not sent has its default, as far as one is declared.
    pub(super) fn holds(&self, operation: &Operation, params: &Map<String, Value>, doubt: Doubt) -> bool {
        let Some((name, inside)) = self.path.split_first() else { return false };
        // A parameter that the operation does not have proves nothing: whoever takes it may well ignore it.
        if doubt == Doubt::Loosens && operation.parameter(name).is_none() {
            return false;
        }
        let sent = params.get(name);
        if let Test::Present(wanted) = self.test {
            return sent.is_some_and(|sent| has(sent, inside)) == wanted;
        }
        let default = || operation.parameter(name).and_then(|parameter| parameter.schema.default.as_ref());
        let mut values = Vec::new();
        if let Some(value) = sent.or_else(default) {
            collect(value, inside, &mut values);
        }
        let mut verdicts = values.iter().map(|value| self.test.passes(value).map(|passes| passes != self.not));
        match doubt {
            Doubt::Restricts if values.is_empty() => self.not,
            Doubt::Restricts => verdicts.any(|passes| passes != Some(false)),
            Doubt::Loosens => !values.is_empty() && verdicts.all(|passes| passes == Some(true)),
        }
    }
}

/// Every value that a path leads to. Lists on the way, and at its end, are gone through.
fn collect<'a>(value: &'a Value, path: &[String], found: &mut Vec<&'a Value>) {
    let mut open = vec![(value, path)];
    while let Some((value, path)) = open.pop() {
        match (value, path.split_first()) {
            (Value::Array(items), _) => open.extend(items.iter().map(|item| (item, path))),
            (value, None) => found.push(value),
            (Value::Object(map), Some((name, rest))) => open.extend(map.get(name).map(|inner| (inner, rest))),
            // A path that goes on where the value does not leads nowhere.
            (_, Some(_)) => {}
        }
    }
}

fn has(value: &Value, path: &[String]) -> bool {
    let mut found = Vec::new();
    collect(value, path, &mut found);
    // An empty list was sent, too.
    path.is_empty() || !found.is_empty()
}

impl Test {
    /// Whether a value passes; nothing if it cannot be compared.
    fn passes(&self, value: &Value) -> Option<bool> {
        match self {
            Test::OneOf(wanted) if wanted.iter().any(|wanted| is_same(wanted, value)) => Some(true),
            // A source may take the text "100" for the number.
            Test::OneOf(wanted) if wanted.iter().any(|wanted| is_spelled_alike(wanted, value)) => None,
            Test::OneOf(_) => Some(false),
            Test::Matches(patterns) => match value {
                Value::String(text) => Some(patterns.admits(text)),
                Value::Number(_) | Value::Bool(_) => Some(patterns.admits(&value.to_string())),
                Value::Null | Value::Array(_) | Value::Object(_) => None,
            },
            Test::Greater(than) => number(value).map(|number| number > *than),
            Test::Less(than) => number(value).map(|number| number < *than),
            Test::Present(wanted) => Some(*wanted),
        }
    }
}

/// A number, also one that is written as text: a source may well take it for one.
fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.filter(|number| number.is_finite())
}

/// Whether one is text that spells the other.
fn is_spelled_alike(a: &Value, b: &Value) -> bool {
    let (text, other) = match (a, b) {
        (Value::String(text), other) | (other, Value::String(text)) => (text.trim(), other),
        _ => return false,
    };
    match other {
        Value::Number(_) => number(&Value::from(text)).is_some_and(|read| number(other) == Some(read)),
        Value::Bool(flag) => text.eq_ignore_ascii_case(if *flag { "true" } else { "false" }),
        Value::Null => text.is_empty() || text.eq_ignore_ascii_case("null"),
        Value::String(other) => text == other.trim(),
        Value::Array(_) | Value::Object(_) => false,
    }
}

/// The same value; 1 and 1.0 are.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (a, b) => a == b,
    }
}
