//! Validates arguments against the complete JSON Schema of a tool before the call. Violations that the protocol's own
//! validation does not cover are reported here with the name of the parameter, instead of by the upstream.

use std::sync::{Arc, OnceLock};

use aquifer_discovery::Call;
use aquifer_protocol::error::problems::Problem;
use aquifer_protocol::error::wording::looks_like_a_leak;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::schema::{CompiledPattern, PatternBudget, PatternError};
use aquifer_protocol::text::presentable;
use jsonschema::error::ValidationErrorKind as Kind;
use jsonschema::{Keyword, PatternOptions, ValidationError, Validator};
use serde_json::{Map, Value, json};

use super::schema_cost::SchemaCost;

/// Maximum number of backtracking steps for one pattern.
const MAX_BACKTRACKING_STEPS: usize = 10_000;

/// Maximum number of problems reported for one call.
const MAX_PROBLEMS: usize = 20;

/// Maximum number of patterns for field names in one schema. They cannot be compiled lazily.
const MAX_NAME_PATTERNS: usize = 32;

/// Maximum compiled size of one pattern for field names, in bytes.
const MAX_NAME_PATTERN_BYTES: usize = 64 * 1024;

/// A compiled schema.
pub(crate) struct ArgumentValidator {
    validator: Validator,
    cost: SchemaCost,
}

impl ArgumentValidator {
    /// Returns `None` if the schema cannot be used or would take too long to check. The upstream then checks the
    /// arguments itself.
    pub(crate) fn compile(schema: &Value) -> Option<Self> {
        let cost = SchemaCost::analyze(schema)?;
        if count_name_patterns(schema) > MAX_NAME_PATTERNS {
            return None;
        }
        let patterns: Arc<PatternBudget> = Arc::default();
        let options = || {
            let patterns = patterns.clone();
            jsonschema::options().with_keyword("pattern", move |_, value, _| Ok(lazy_pattern(value, &patterns)))
        };
        let linear = PatternOptions::regex().size_limit(MAX_NAME_PATTERN_BYTES);
        // Lookaround needs the backtracking engine, which is limited in its steps.
        let backtracking =
            PatternOptions::fancy_regex().backtrack_limit(MAX_BACKTRACKING_STEPS).size_limit(MAX_NAME_PATTERN_BYTES);
        let validator = options().with_pattern_options(linear).build(schema);
        let validator = validator.or_else(|_| options().with_pattern_options(backtracking).build(schema)).ok()?;
        Some(Self { validator, cost })
    }

    /// Returns a failure if the arguments violate the schema. The arguments have the upstream's names; messages use
    /// ours.
    pub(crate) fn check(&self, arguments: &Value, call: &Call) -> Result<(), Failure> {
        if !self.refuses(arguments) {
            return Ok(());
        }
        let mut problems: Vec<Problem> = self.collect(arguments).iter().map(|error| problem(error, call)).collect();
        if problems.is_empty() {
            let message = "The tool's schema refuses the parameters. It is too large to report why";
            problems.push(Problem::new(Code::ValidationInvalidValue, "", message.to_owned()));
        }
        Problem::collect(problems, false).map_or(Ok(()), Err)
    }

    /// Whether the arguments violate the schema. Returns false if checking would take too long; the upstream then
    /// checks them.
    pub(crate) fn refuses(&self, arguments: &Value) -> bool {
        self.cost.admits(arguments) && !self.validator.is_valid(arguments)
    }

    /// The violations. Empty if collecting them would take too much memory.
    fn collect<'a>(&'a self, arguments: &'a Value) -> Vec<ValidationError<'a>> {
        match self.cost.admits_collecting(arguments) {
            true => self.validator.iter_errors(arguments).take(MAX_PROBLEMS).collect(),
            false => Vec::new(),
        }
    }

    #[cfg(test)]
    pub(crate) fn errors<'a>(&'a self, arguments: &'a Value) -> Vec<ValidationError<'a>> {
        if self.refuses(arguments) { self.collect(arguments) } else { Vec::new() }
    }
}

/// Counts the patterns for field names in a schema.
fn count_name_patterns(schema: &Value) -> usize {
    match schema {
        Value::Object(keywords) => {
            let own = keywords.get("patternProperties").and_then(Value::as_object).map_or(0, Map::len);
            keywords.values().map(count_name_patterns).fold(own, usize::saturating_add)
        }
        Value::Array(parts) => parts.iter().map(count_name_patterns).fold(0, usize::saturating_add),
        _ => 0,
    }
}

/// A pattern that is compiled on first use. A schema may have hundreds of them, and compiling one takes longer than a
/// call should.
struct LazyPattern {
    source: String,
    budget: Arc<PatternBudget>,
    compiled: OnceLock<Option<CompiledPattern<Validator>>>,
}

fn lazy_pattern(source: &Value, budget: &Arc<PatternBudget>) -> Box<dyn for<'i> Keyword<'i>> {
    let source = source.as_str().unwrap_or_default().to_owned();
    Box::new(LazyPattern { source, budget: budget.clone(), compiled: OnceLock::new() })
}

impl LazyPattern {
    /// Compiles the pattern with the JSON Schema library, so that it means the same as everywhere else in the schema.
    fn build(&self, size: usize) -> Result<Validator, PatternError> {
        let schema = json!({ "pattern": self.source });
        let linear = PatternOptions::regex().size_limit(size);
        let backtracking = PatternOptions::fancy_regex().backtrack_limit(MAX_BACKTRACKING_STEPS).size_limit(size);
        jsonschema::options()
            .with_pattern_options(linear)
            .build(&schema)
            .or_else(|_| jsonschema::options().with_pattern_options(backtracking).build(&schema))
            .map_err(|_| PatternError::TooLarge)
    }
}

impl<'i> Keyword<'i> for LazyPattern {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        if self.is_valid(instance) { Ok(()) } else { Err(ValidationError::custom(PATTERN_RULE)) }
    }

    fn is_valid(&self, instance: &'i Value) -> bool {
        let Some(text) = instance.as_str() else { return true };
        let compiled = self.compiled.get_or_init(|| self.budget.compile(|size| self.build(size)));
        compiled.as_ref().and_then(|compiled| compiled.for_text(text)).is_none_or(|pattern| pattern.is_valid(instance))
    }
}

const PATTERN_RULE: &str = "does not match the pattern";

fn problem(error: &ValidationError<'_>, call: &Call) -> Problem {
    let path = error.instance_path().to_string();
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    let parameter = parts.next().map(|own| {
        let own = own.replace("~1", "/").replace("~0", "~");
        call.canonical(&own).unwrap_or(&own).to_owned()
    });
    let place: Vec<&str> = parameter.as_deref().into_iter().chain(parts).collect();
    let place = printable(&place.join("."));
    if let (None, Kind::Required { property: Value::String(own) }) = (&parameter, error.kind()) {
        let name = printable(call.canonical(own).unwrap_or(own));
        let message = format!("Missing required parameter '{name}'");
        return Problem::new(Code::ValidationMissingParam, &*name, message).detail("param_name", &*name);
    }
    if let (None, Some(names)) = (&parameter, unexpected_names(error.kind())) {
        let message = format!("Unknown parameter(s): '{}'", names.join("', '"));
        return Problem::new(Code::ValidationUnknownParam, "", message).detail("unknown_params", names);
    }
    let rule = describe_violation(error.kind());
    let (code, message) = match (&parameter, error.kind()) {
        (None, _) => (Code::ValidationInvalidValue, format!("The tool's schema refuses the parameters: {rule}")),
        (Some(_), Kind::Type { .. }) => (Code::ValidationInvalidType, format!("Parameter '{place}' {rule}")),
        (Some(_), _) => (Code::ValidationInvalidValue, format!("Parameter '{place}' {rule}")),
    };
    let problem = Problem::new(code, place, message);
    match parameter {
        Some(name) => problem.detail("param_name", printable(&name)),
        None => problem,
    }
}

/// The names that violate a constraint on field names.
fn unexpected_names(kind: &Kind) -> Option<Vec<String>> {
    match kind {
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            Some(unexpected.iter().take(MAX_PROBLEMS).map(|name| printable(name)).collect())
        }
        Kind::PropertyNames { error } => Some(vec![printable(error.instance().as_str()?)]),
        _ => None,
    }
}

/// A name from the caller or the upstream, sanitized for a message.
fn printable(name: &str) -> String {
    const MAX_NAME_CHARS: usize = 128;
    let name = presentable(name);
    if looks_like_a_leak(&name) { "…".to_owned() } else { name.chars().take(MAX_NAME_CHARS).collect() }
}

/// Describes a violation. Contains no values, and only names and numbers from the schema.
fn describe_violation(kind: &Kind) -> String {
    match kind {
        Kind::AnyOf { .. } => "matches none of the allowed shapes".to_owned(),
        Kind::OneOfNotValid { .. } => "matches none of the allowed shapes; it must match exactly one".to_owned(),
        Kind::OneOfMultipleValid { .. } => {
            "matches several of the allowed shapes; it must match exactly one".to_owned()
        }
        Kind::Not { .. } => "matches a shape the schema excludes".to_owned(),
        Kind::Type { .. } => "has the wrong type".to_owned(),
        Kind::Enum { .. } => "is not one of the allowed values".to_owned(),
        Kind::Constant { .. } => "is not the one allowed value".to_owned(),
        Kind::Pattern { .. } => PATTERN_RULE.to_owned(),
        Kind::Custom { keyword, .. } if keyword == "pattern" => PATTERN_RULE.to_owned(),
        Kind::Format { format } => format!("is not a valid '{}'", printable(format)),
        Kind::Minimum { limit } => format!("is less than {limit}"),
        Kind::Maximum { limit } => format!("is more than {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("must be more than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("must be less than {limit}"),
        Kind::MinLength { limit } => format!("is shorter than {limit} characters"),
        Kind::MaxLength { limit } => format!("is longer than {limit} characters"),
        Kind::MinItems { limit } => format!("has fewer than {limit} elements"),
        Kind::MaxItems { limit } => format!("has more than {limit} elements"),
        Kind::MinProperties { limit } => format!("has fewer than {limit} fields"),
        Kind::MaxProperties { limit } => format!("has more than {limit} fields"),
        Kind::UniqueItems => "has equal elements".to_owned(),
        Kind::MultipleOf { multiple_of } => format!("is not a multiple of {multiple_of}"),
        Kind::Required { property } => {
            format!("lacks the field '{}'", printable(property.as_str().unwrap_or_default()))
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let names: Vec<String> = unexpected.iter().take(MAX_PROBLEMS).map(|name| printable(name)).collect();
            format!("has unknown fields: '{}'", names.join("', '"))
        }
        other => format!("breaks the rule '{}'", other.keyword()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_enforced_everywhere() {
        let string = |pattern: &str| json!({ "properties": { "q": { "type": "string", "pattern": pattern } } });
        for (schema, good, bad) in [
            (string("^[a-z]+$"), "abc", "ab1"),
            (string(r"^\d+$"), "12", "x"),
            // Only the backtracking engine has lookaround. A text that takes too many steps passes.
            (string("^(?!x)a+$"), "aa", "xa"),
            (json!({ "properties": { "q": { "not": { "pattern": "b" } } } }), "a", "b"),
            (json!({ "properties": { "q": { "if": { "pattern": "^a" }, "then": { "maxLength": 2 } } } }), "ab", "abc"),
        ] {
            let validator = ArgumentValidator::compile(&schema).unwrap();
            assert!(validator.errors(&json!({ "q": good })).is_empty(), "{schema} {good}");
            let errors: Vec<String> = validator
                .errors(&json!({ "q": bad }))
                .iter()
                .map(|pattern| describe_violation(pattern.kind()))
                .collect();
            assert_eq!(errors.len(), 1, "{schema} {bad}: {errors:?}");
        }
        let names =
            json!({ "propertyNames": { "pattern": "^[a-z]$" }, "patternProperties": { "^x": { "type": "null" } } });
        let validator = ArgumentValidator::compile(&names).unwrap();
        for (value, is_valid) in [(json!({ "a": 1 }), true), (json!({ "A": 1 }), false), (json!({ "x": 1 }), false)] {
            assert_eq!(validator.errors(&value).is_empty(), is_valid, "{value}");
        }
        let wrong = ArgumentValidator::compile(&string("^a$")).unwrap();
        assert_eq!(
            wrong.errors(&json!({ "q": "b" })).first().map(|pattern| describe_violation(pattern.kind())).unwrap(),
            PATTERN_RULE
        );
    }

    #[test]
    fn patterns_are_compiled_lazily_and_within_the_budget() {
        let budget: Arc<PatternBudget> = Arc::default();
        let lazy: Vec<LazyPattern> = (0..400)
            .map(|number| LazyPattern {
                source: format!("(\\p{{L}}{{200}}){{4}}{number}"),
                budget: budget.clone(),
                compiled: OnceLock::new(),
            })
            .collect();
        let attempts = lazy.iter().filter(|pattern| pattern.is_valid(&json!("a"))).count();
        assert_eq!(attempts, 400, "what cannot be compiled is not enforced");
        let compiled = |pattern: &&LazyPattern| pattern.compiled.get().is_some_and(Option::is_some);
        assert_eq!(lazy.iter().filter(compiled).count(), 0);
        let many: Map<String, Value> =
            (0..100).map(|number| (format!("(\\w{{99}}){{9}}{number}"), json!(true))).collect();
        assert!(ArgumentValidator::compile(&json!({ "patternProperties": many })).is_none());
        // Counted repetitions of lookaround.
        for hostile in ["((?=a)b){1000}{1000}{1000}", "(?=a)(\\w{200}){400}", "(((?=a)a?){99}){99}$"] {
            let schema = json!({ "properties": { "q": { "pattern": hostile } } });
            ArgumentValidator::compile(&schema).unwrap().errors(&json!({ "q": "a".repeat(1_000) }));
        }
    }
}
