//! Conditions on parameters.
//!
//! A condition has to hold for the value that the source will see, however it is spelled. [`path`] finds the values
//! under every spelling of a name; [`text`] and [`number`] compare them as the source does, [`address`] and [`amount`] as
//! what they are. Uncertain results never favor the caller: see [`RuleDirection`].

mod address;
mod amount;
mod number;
mod path;
mod text;

use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::{Schema, Types};
use serde_json::{Map, Value};

use super::problem::ProblemCollector;
use super::settings::ConditionSettings;
use address::AddressTest;
use amount::AmountTest;
use number::{Number, NumberText};
use path::{FoundValue, Path};
use text::{TextPatterns, TextReading};

pub(crate) use amount::AmountPath;
pub(super) use path::Presence;

/// A parsed condition.
#[derive(Debug, Clone)]
pub(super) struct Condition {
    path: Path,
    test: Test,
    not: bool,
    ignore_case: bool,
}

#[derive(Debug, Clone)]
enum Test {
    OneOf(Vec<Value>),
    Matches(TextPatterns),
    Greater(f64),
    Less(f64),
    Present(bool),
    Address(AddressTest),
    Amount(AmountTest),
}

/// Whether a rule restricts or loosens. This determines how an uncertain comparison counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RuleDirection {
    /// The rule restricts: one value that passes, or that cannot be compared, is enough.
    Restricts,
    /// The rule loosens: there has to be a value, and every value has to pass.
    Loosens,
}

/// Whether a value passes a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Yes,
    No,
    /// The result depends on how the source reads the value.
    Unsure,
}

/// An operation and the types of its parameters.
#[derive(Debug, Clone, Copy)]
pub(super) struct TypedOperation<'a> {
    pub(super) operation: &'a Operation,
    /// The types that the parameters refer to, if known.
    pub(super) types: Option<&'a Types>,
}

impl From<bool> for Verdict {
    fn from(passes: bool) -> Self {
        if passes { Verdict::Yes } else { Verdict::No }
    }
}

impl Verdict {
    fn not(self) -> Self {
        match self {
            Verdict::Yes => Verdict::No,
            Verdict::No => Verdict::Yes,
            Verdict::Unsure => Verdict::Unsure,
        }
    }

    /// Merges the verdicts of several readings of a value; `Unsure` if they differ.
    fn merge(verdicts: impl IntoIterator<Item = Self>) -> Self {
        let merge = |one: Self, other: Self| if one == other { one } else { Verdict::Unsure };
        verdicts.into_iter().reduce(merge).unwrap_or(Verdict::Unsure)
    }

    /// Whether one of several values passes.
    fn any(verdicts: impl IntoIterator<Item = Self>) -> Self {
        let mut any = Verdict::No;
        for verdict in verdicts {
            match verdict {
                Verdict::Yes => return Verdict::Yes,
                Verdict::Unsure => any = Verdict::Unsure,
                Verdict::No => {}
            }
        }
        any
    }
}

/// The names of the tests, of which a condition has one.
const TESTS: &str =
    "equals, one_of, matches, greater, less, present, host, email_domain, account, path_under or amount";

/// The one test of a condition.
fn parse_test(settings: &ConditionSettings, collector: &mut ProblemCollector<'_>) -> Option<Test> {
    let ConditionSettings { param, equals, one_of, matches, greater, less, present, not, .. } = settings;
    let mut problems = Vec::new();
    let mut report = |problem: String| problems.push(format!("'{param}': {problem}"));
    let mut tests: Vec<Test> = Vec::new();
    tests.extend(equals.clone().map(|value| Test::OneOf(vec![value])));
    tests.extend(one_of.clone().map(Test::OneOf));
    tests.extend(matches.as_ref().map(|words| Test::Matches(TextPatterns::new(words, &mut report))));
    tests.extend(greater.map(Test::Greater));
    tests.extend(less.map(Test::Less));
    tests.extend(present.map(|present| Test::Present(present != *not)));
    let hosts = settings.host.as_ref().map(|words| AddressTest::host(words, &mut report));
    let domains = settings.email_domain.as_ref().map(|words| AddressTest::email_domain(words, &mut report));
    let accounts = settings.account.as_ref().map(|words| AddressTest::account(words, &mut report));
    let folders = settings.path_under.as_ref().map(|words| AddressTest::path_under(words, &mut report));
    tests.extend([hosts, domains, accounts, folders].into_iter().flatten().map(Test::Address));
    if let Some(amount) = settings.amount {
        match AmountTest::new(amount) {
            Some(amount) => tests.push(Test::Amount(amount)),
            None => report("'amount' has a number that is not negative: { up_to = 100 } or { above = 100 }".to_owned()),
        }
    }
    let is_complete = problems.is_empty();
    problems.into_iter().for_each(|problem| collector.add(problem));
    match <[Test; 1]>::try_from(tests) {
        Ok([test]) => Some(test),
        Err(tests) if tests.is_empty() && !is_complete => None,
        Err(tests) => {
            let problem = if tests.is_empty() { "tests nothing" } else { "has two tests: write two conditions" };
            collector.add(format!("the condition on '{param}' {problem}. A condition has one of {TESTS}"));
            None
        }
    }
}

impl Condition {
    pub(super) fn new(settings: &ConditionSettings, collector: &mut ProblemCollector<'_>) -> Option<Self> {
        let Some(path) = Path::parse(&settings.param) else {
            collector.add("a condition needs 'param': a parameter's name, with dots to go into it");
            return None;
        };
        let test = parse_test(settings, collector)?;
        let ConditionSettings { param, not, ignore_case, .. } = settings;
        match &test {
            Test::OneOf(values) if values.is_empty() => {
                collector.add(format!("the condition on '{param}' can never hold: 'one_of' is empty"));
            }
            Test::OneOf(values) if values.iter().any(|value| value.is_array() || value.is_object()) => {
                let words =
                    "compares with a list or a table: name single values; a path applies to each element of a list";
                collector.add(format!("the condition on '{param}' {words}"));
            }
            Test::Greater(number) | Test::Less(number) if !number.is_finite() => {
                collector.add(format!("the condition on '{param}' compares with something other than a number"));
            }
            _ => {}
        }
        if *ignore_case && !test.compares_text() {
            collector.add(format!("the condition on '{param}' compares no text, so there is no case to ignore"));
        }
        Some(Self { path, test, not: *not, ignore_case: *ignore_case })
    }

    /// Whether the condition holds. A parameter that was not sent has its declared default.
    pub(super) fn holds(
        &self,
        typed: TypedOperation<'_>,
        params: &Map<String, Value>,
        direction: RuleDirection,
    ) -> bool {
        // A parameter that the operation does not declare proves nothing: the source may ignore it.
        if direction == RuleDirection::Loosens && !self.path.begins_in(typed.operation) {
            return false;
        }
        if let Test::Present(expected) = self.test {
            let sent = self.path.sent(typed, params);
            let is_sent = match (sent.is_empty(), sent.iter().any(|found| found.is_certain)) {
                (true, _) => Verdict::No,
                (false, true) => Verdict::Yes,
                // Sent under another spelling, which the source may ignore.
                (false, false) => Verdict::Unsure,
            };
            let verdict = if expected { is_sent } else { is_sent.not() };
            return match direction {
                RuleDirection::Restricts => verdict != Verdict::No,
                RuleDirection::Loosens => verdict == Verdict::Yes,
            };
        }
        let values = self.path.values(typed, params);
        let inverted = |verdict: Verdict| if self.not { verdict.not() } else { verdict };
        // An amount is one of all values together.
        let together = match &self.test {
            Test::Amount(amount) if !values.is_empty() => vec![inverted(amount.verdict(&values))],
            _ => Vec::new(),
        };
        let apart = values.iter().filter(|_| together.is_empty()).map(|value| inverted(self.verdict(value, typed)));
        let mut verdicts = together.iter().copied().chain(apart);
        // The source may ignore a value under another spelling, which leaves the parameter missing.
        let may_be_missing = !values.iter().any(|value| value.is_certain);
        match direction {
            RuleDirection::Restricts => (may_be_missing && self.not) || verdicts.any(|verdict| verdict != Verdict::No),
            RuleDirection::Loosens => !may_be_missing && verdicts.all(|verdict| verdict == Verdict::Yes),
        }
    }

    fn verdict(&self, found: &FoundValue<'_>, typed: TypedOperation<'_>) -> Verdict {
        // Sources ignore the case of table names.
        let ignore_case = self.ignore_case || (found.schemas.is_empty() && self.path.names_table(typed.operation));
        let readings = || TextReading::from_schemas(&found.schemas, typed, ignore_case);
        match &self.test {
            _ if found.is_structured_text => Verdict::Unsure,
            Test::OneOf(expected) => {
                let readings = readings();
                Verdict::any(expected.iter().map(|expected| equal(expected, found.value, &readings)))
            }
            Test::Matches(patterns) => match found.value {
                Value::String(text) => patterns.matches(text, &readings()),
                Value::Number(number) if readings().contains(&TextReading::Opaque) => {
                    patterns.matches(&number.to_string(), &[TextReading::Opaque])
                }
                Value::Number(number) => patterns.matches_number(number),
                Value::Bool(_) => patterns.matches_plain(&found.value.to_string()),
                Value::Null | Value::Array(_) | Value::Object(_) => Verdict::Unsure,
            },
            Test::Greater(than) => compare_order(found.value, *than, std::cmp::Ordering::Greater),
            Test::Less(than) => compare_order(found.value, *than, std::cmp::Ordering::Less),
            Test::Present(expected) => Verdict::from(*expected),
            Test::Address(test) => test.verdict(found.value),
            Test::Amount(test) => test.verdict(std::slice::from_ref(found)),
        }
    }

    /// What the operator should know about the condition.
    pub(super) fn warnings(&self) -> impl Iterator<Item = String> {
        let patterns = match &self.test {
            Test::Matches(patterns) => Some(patterns),
            _ => None,
        };
        patterns.into_iter().flat_map(TextPatterns::loose_addresses).map(|pattern| {
            let better = if pattern.contains('@') { "'email_domain'" } else { "'host'" };
            format!(
                "its condition on '{}' compares text with '{pattern}', which addresses can be written to match or to \
                 avoid: use {better}",
                self.param()
            )
        })
    }

    /// Whether the operation has the parameter.
    pub(super) fn presence(&self, typed: TypedOperation<'_>) -> Presence {
        self.path.declared(typed).0
    }

    /// The parameter as written in the rule.
    pub(super) fn param(&self) -> &str {
        self.path.written()
    }

    /// Describes the condition, including how values are compared if that is not obvious.
    pub(super) fn describe(&self, typed: Option<TypedOperation<'_>>) -> String {
        let param = self.path.written();
        let is = if self.not { "is not" } else { "is" };
        let mut words = match &self.test {
            Test::OneOf(values) => match values.as_slice() {
                [value] => format!("'{param}' {is} {value}"),
                values => {
                    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
                    format!("'{param}' {is} one of {}", values.join(", "))
                }
            },
            Test::Matches(patterns) => {
                let matches = if self.not { "does not match" } else { "matches" };
                format!("'{param}' {matches} {patterns}")
            }
            Test::Greater(than) => format!("'{param}' {is} more than {than}"),
            Test::Less(than) => format!("'{param}' {is} less than {than}"),
            Test::Address(test) => format!("'{param}' {}", test.describe(self.not)),
            Test::Amount(test) => format!("'{param}' {}", test.describe(self.not)),
            Test::Present(true) => format!("'{param}' is sent"),
            Test::Present(false) => format!("'{param}' is not sent"),
        };
        if self.test.compares_text() {
            let schemas: Vec<&Schema> = typed.map(|typed| self.path.declared(typed).1).unwrap_or_default();
            let readings = match typed {
                Some(typed) => TextReading::from_schemas(&schemas, typed, self.ignore_case),
                None => vec![TextReading::plain(self.ignore_case)],
            };
            for reading in readings.iter().filter_map(|reading| reading.describe()) {
                words.push_str(", compared ");
                words.push_str(reading);
            }
        }
        words
    }
}

/// Whether the operation has a parameter under a path. `None` if this is no path.
pub(super) fn presence(path: &str, typed: TypedOperation<'_>) -> Option<Presence> {
    Path::parse(path).map(|path| path.declared(typed).0)
}

/// Whether a type may have a field under a path.
pub(super) fn presence_in_type(path: &str, schema: &Schema, typed: TypedOperation<'_>) -> Option<Presence> {
    Path::parse(path).map(|path| path.declared_in(schema, typed))
}

impl Test {
    fn compares_text(&self) -> bool {
        match self {
            Test::OneOf(values) => values.iter().any(Value::is_string),
            Test::Matches(_) => true,
            Test::Greater(_) | Test::Less(_) | Test::Present(_) | Test::Address(_) | Test::Amount(_) => false,
        }
    }
}

/// Whether a value is greater or less than a number.
fn compare_order(value: &Value, than: f64, expected: std::cmp::Ordering) -> Verdict {
    let number = match value {
        Value::Number(number) => Number::from_json(number),
        Value::String(text) => match NumberText::parse(text) {
            NumberText::Number(number) => Some(number),
            // A source may order non-numeric text in any way.
            NumberText::None | NumberText::Unclear => None,
        },
        _ => None,
    };
    let ordering = number.and_then(|number| number.compare(Number::from_float(than)));
    ordering.map_or(Verdict::Unsure, |ordering| Verdict::from(ordering == expected))
}

/// Whether a value equals the expected one. A source may convert values: the text `"100"` to a number, the number 1 to
/// true.
fn equal(expected: &Value, value: &Value, readings: &[TextReading]) -> Verdict {
    let unsure_if = |alike: bool| if alike { Verdict::Unsure } else { Verdict::No };
    match (expected, value) {
        (Value::String(expected), Value::String(text)) => {
            Verdict::merge(readings.iter().map(|reading| reading.equal(expected, text)))
        }
        (Value::Number(expected), Value::Number(number)) => {
            let (expected, number) = (Number::from_json(expected), Number::from_json(number));
            let ordering = expected.zip(number).and_then(|(expected, number)| expected.compare(number));
            ordering.map_or(Verdict::Unsure, |ordering| Verdict::from(ordering.is_eq()))
        }
        // `86400` and `P1D` are the same interval.
        (Value::Number(_), Value::String(_)) | (Value::String(_), Value::Number(_))
            if readings.contains(&TextReading::Opaque) =>
        {
            Verdict::Unsure
        }
        (Value::Bool(expected), Value::Bool(flag)) => Verdict::from(expected == flag),
        (Value::Null, Value::Null) => Verdict::Yes,
        // The value may be a source-specific operator, such as `{"$in": […]}`.
        (_, Value::Object(_) | Value::Array(_)) | (Value::Object(_) | Value::Array(_), _) => Verdict::Unsure,
        // A source may convert almost any value to a boolean.
        (Value::Bool(_), _) => Verdict::Unsure,
        (Value::Number(number), Value::String(text)) | (Value::String(text), Value::Number(number)) => {
            match NumberText::parse(text) {
                NumberText::Number(read) => {
                    let ordering = Number::from_json(number).and_then(|number| number.compare(read));
                    unsure_if(ordering.is_none_or(std::cmp::Ordering::is_eq))
                }
                NumberText::None => Verdict::No,
                NumberText::Unclear => Verdict::Unsure,
            }
        }
        (Value::String(text), Value::Bool(flag)) => unsure_if(text::may_mean_bool(text, *flag)),
        (Value::Number(number), Value::Bool(flag)) => unsure_if(number.as_f64() == Some(if *flag { 1.0 } else { 0.0 })),
        (Value::String(text), Value::Null) | (Value::Null, Value::String(text)) => unsure_if(text::may_mean_null(text)),
        (Value::Number(number), Value::Null) | (Value::Null, Value::Number(number)) => {
            unsure_if(number.as_f64() == Some(0.0))
        }
        (Value::Null, Value::Bool(flag)) => unsure_if(!flag),
    }
}
