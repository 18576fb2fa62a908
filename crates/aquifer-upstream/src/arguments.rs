//! The tool's own schema, enforced whole before the call: what our own check does not know is refused here, with the
//! name of the parameter, instead of there.

use aquifer_discovery::Call;
use aquifer_protocol::error::problems::Problem;
use aquifer_protocol::error::wording::looks_like_a_leak;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::text::presentable;
use jsonschema::error::ValidationErrorKind as Kind;
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::Value;

/// More steps than this no pattern may take.
const MOST_STEPS: usize = 10_000;

/// More problems than this help nobody.
const MOST_PROBLEMS: usize = 20;

/// A schema ready to be used. None if it cannot be: then the upstream is the judge.
pub(crate) fn compile(schema: &Value) -> Option<Validator> {
    let linear = jsonschema::options().with_pattern_options(PatternOptions::regex()).build(schema);
    match linear {
        Ok(validator) => Some(validator),
        // Patterns that look around need the other engine, on a short leash.
        Err(_) => {
            let leashed = PatternOptions::fancy_regex().backtrack_limit(MOST_STEPS);
            jsonschema::options().with_pattern_options(leashed).build(schema).ok()
        }
    }
}

/// Refuses arguments that the schema refuses. They stand under the upstream's names; the messages speak ours.
pub(crate) fn check(validator: &Validator, arguments: &Value, call: &Call) -> Result<(), Failure> {
    if validator.is_valid(arguments) {
        return Ok(());
    }
    let problems = validator.iter_errors(arguments).take(MOST_PROBLEMS).map(|error| problem(&error, call)).collect();
    Problem::collect(problems, false).map_or(Ok(()), Err)
}

fn problem(error: &ValidationError<'_>, call: &Call) -> Problem {
    let path = error.instance_path().to_string();
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    let parameter = parts.next().map(|own| {
        let own = own.replace("~1", "/").replace("~0", "~");
        call.canonical(&own).unwrap_or(&own).to_owned()
    });
    let place: Vec<&str> = parameter.as_deref().into_iter().chain(parts).collect();
    let place = shown(&place.join("."));
    if let (None, Kind::Required { property: Value::String(own) }) = (&parameter, error.kind()) {
        let name = shown(call.canonical(own).unwrap_or(own));
        let message = format!("Missing required parameter '{name}'");
        return Problem::new(Code::ValidationMissingParam, &*name, message).detail("param_name", &*name);
    }
    if let (None, Some(names)) = (&parameter, unwanted(error.kind())) {
        let message = format!("Unknown parameter(s): '{}'", names.join("', '"));
        return Problem::new(Code::ValidationUnknownParam, "", message).detail("unknown_params", names);
    }
    let rule = rule(error.kind());
    let (code, message) = match (&parameter, error.kind()) {
        (None, _) => (Code::ValidationInvalidValue, format!("The parameters are refused by the tool's schema: {rule}")),
        (Some(_), Kind::Type { .. }) => (Code::ValidationInvalidType, format!("Parameter '{place}' {rule}")),
        (Some(_), _) => (Code::ValidationInvalidValue, format!("Parameter '{place}' {rule}")),
    };
    let problem = Problem::new(code, place, message);
    match parameter {
        Some(name) => problem.detail("param_name", shown(&name)),
        None => problem,
    }
}

/// The names that a rule about names refuses.
fn unwanted(kind: &Kind) -> Option<Vec<String>> {
    match kind {
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            Some(unexpected.iter().take(MOST_PROBLEMS).map(|name| shown(name)).collect())
        }
        Kind::PropertyNames { error } => Some(vec![shown(error.instance().as_str()?)]),
        _ => None,
    }
}

/// A name of the caller's or the upstream's choice as it may stand in a message.
fn shown(name: &str) -> String {
    const LONGEST: usize = 128;
    let name = presentable(name);
    if looks_like_a_leak(&name) { "…".to_owned() } else { name.chars().take(LONGEST).collect() }
}

/// What is wrong, without the value and without words from the schema beyond names and numbers.
fn rule(kind: &Kind) -> String {
    match kind {
        Kind::AnyOf { .. } => "matches none of the allowed shapes".to_owned(),
        Kind::OneOfNotValid { .. } => "matches none of the allowed shapes, exactly one is wanted".to_owned(),
        Kind::OneOfMultipleValid { .. } => "matches several of the allowed shapes, exactly one is wanted".to_owned(),
        Kind::Not { .. } => "matches a shape the schema excludes".to_owned(),
        Kind::Type { .. } => "has the wrong type".to_owned(),
        Kind::Enum { .. } => "is not one of the allowed values".to_owned(),
        Kind::Constant { .. } => "is not the one allowed value".to_owned(),
        Kind::Pattern { .. } => "does not match the pattern".to_owned(),
        Kind::Format { format } => format!("is not a valid '{}'", shown(format)),
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
        Kind::Required { property } => format!("lacks the field '{}'", shown(property.as_str().unwrap_or_default())),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let names: Vec<String> = unexpected.iter().take(MOST_PROBLEMS).map(|name| shown(name)).collect();
            format!("has unknown fields: '{}'", names.join("', '"))
        }
        other => format!("breaks the rule '{}'", other.keyword()),
    }
}
