//! `$from`: a parameter value in a batch that is selected from an earlier answer of the same batch (R-EXT-4).
//!
//! Only objects of the exact form `{"$from": text}` are references; objects with further members or another value are
//! data. A reference can only use the `data` of answers that the caller receives, so it reaches nothing that the caller
//! could not have sent itself. Referenced values count against the limits of a request.

use serde_json::{Map, Value};

use crate::batch::ReferencedOutcome;
use crate::case::snake_case;
use crate::error::wording::quotable;
use crate::error::{Code, Failure};
use crate::limits::{LimitKind, Limits};
use crate::operation::TOKEN;
use crate::request::Request;
use crate::response::{size_of, too_large};
use crate::schema::type_of;
use crate::text::shortened;

/// The only member of a reference.
const KEY: &str = "$from";

/// The first step of every path. The other parts of an answer cannot be referenced.
const ROOT: &str = "data";

/// The step that stands for all elements of a list.
const ALL: &str = "*";

/// Maximum number of names listed in a message.
const MAX_LISTED_NAMES: usize = 12;

/// A parsed reference.
#[derive(Debug, Clone, Copy)]
struct Reference<'a> {
    /// The index of the operation it refers to.
    index: usize,
    /// The steps after the index.
    path: &'a str,
}

/// The state of a referenced operation.
#[derive(Debug, Clone, Copy)]
pub enum Target<'a> {
    /// It has an answer, or will never have one.
    Known(ReferencedOutcome<'a>),
    /// It has not run yet and has this index in the batch that the parameters are sent with.
    Later(usize),
}

/// The indices of all operations that a request refers to, sorted and without duplicates. Fails for a reference that
/// can never be resolved, because it is malformed or does not refer to an earlier operation.
pub fn referenced(request: &Request, own_index: usize) -> Result<Vec<usize>, Failure> {
    let mut indices = Vec::new();
    for (name, value) in request.params.iter().chain(&request.beside) {
        let mut check = |text: &str| {
            let reference = parse(text).map_err(|problem| failure(name, text, &problem))?;
            if reference.index >= own_index {
                let problem = format!("operations[{}] does not come before operations[{own_index}]", reference.index);
                return Err(failure(name, text, &problem));
            }
            if snake_case(name) == TOKEN {
                return Err(failure(name, text, "a confirmation cannot be taken from an answer"));
            }
            indices.push(reference.index);
            Ok(())
        };
        visit(value, &mut check)?;
    }
    indices.sort_unstable();
    indices.dedup();
    Ok(indices)
}

/// All references of a request, each with the parameter that contains it.
pub fn references(request: &Request) -> Vec<(&str, String)> {
    let mut found = Vec::new();
    for (name, value) in request.params.iter().chain(&request.beside) {
        // Collecting never returns an error.
        let _ = visit(value, &mut |text| {
            found.push((name.as_str(), text.to_owned()));
            Ok(())
        });
    }
    found
}

/// Replaces the references of a request by values if the answer is known, otherwise by references to the new index.
/// `budget` is the number of bytes that this batch may still copy.
pub fn resolve<'a>(
    mut request: Request,
    target: &dyn Fn(usize) -> Target<'a>,
    budget: &mut usize,
    limits: &Limits,
) -> Result<Request, Failure> {
    for params in [&mut request.params, &mut request.beside] {
        for (name, value) in params.iter_mut() {
            let mut resolver = Resolver { name, target, budget };
            resolver.replace(value)?;
        }
    }
    check_limits(&request.params, limits)?;
    check_limits(&request.beside, limits)?;
    Ok(request)
}

struct Resolver<'r, 'a> {
    name: &'r str,
    target: &'r dyn Fn(usize) -> Target<'a>,
    budget: &'r mut usize,
}

impl<'a> Resolver<'_, 'a> {
    fn replace(&mut self, value: &mut Value) -> Result<(), Failure> {
        if let Some(text) = reference_text(value) {
            *value = self.value(text)?;
            return Ok(());
        }
        match value {
            Value::Object(fields) => fields.values_mut().try_for_each(|field| self.replace(field)),
            Value::Array(elements) => elements.iter_mut().try_for_each(|element| self.replace(element)),
            _ => Ok(()),
        }
    }

    fn value(&mut self, text: &str) -> Result<Value, Failure> {
        let fail = |problem: &str| failure(self.name, text, problem);
        let reference = parse(text).map_err(|problem| fail(&problem))?;
        let index = reference.index;
        let mut is_shortened = false;
        let data = match (self.target)(index) {
            Target::Later(index) => {
                let renumbered = Value::String(format!("{index}.{}", reference.path));
                return Ok(Value::Object(Map::from_iter([(KEY.to_owned(), renumbered)])));
            }
            Target::Known(ReferencedOutcome::Data(data)) => data,
            Target::Known(ReferencedOutcome::ShortenedData(data)) => {
                is_shortened = true;
                data
            }
            Target::Known(ReferencedOutcome::WaitsForConfirmation) => {
                return Err(fail(&format!(
                    "operations[{index}] waits for confirmation, so nothing can be taken from it"
                )));
            }
            Target::Known(ReferencedOutcome::Failed | ReferencedOutcome::Missing) => {
                return Err(fail(&format!("operations[{index}] failed, so nothing can be taken from it")));
            }
        };
        let steps: Vec<&str> = reference.path.split('.').skip(1).collect();
        let mut selected = SelectedValues { index, values: Vec::new(), budget: &mut *self.budget };
        match selected.walk(data, &steps, &mut vec![ROOT.to_owned()]) {
            Ok(()) if is_shortened && selected.values.iter().any(|value| holds_shortened_text(value)) => {
                let problem =
                    format!("it was shortened in the answer of operations[{index}]. Give that a larger 'max_tokens'");
                Err(failure(self.name, text, &problem))
            }
            Ok(()) if steps.contains(&ALL) => Ok(Value::Array(selected.values.into_iter().cloned().collect())),
            Ok(()) => Ok(selected.values.first().map(|value| (*value).clone()).unwrap_or_default()),
            Err(WalkError::Problem(problem)) => Err(failure(self.name, text, &problem)),
            Err(WalkError::TooLarge) => {
                let problem =
                    format!("more would be taken from operations[{index}] than a request can hold. Take less");
                Err(failure(self.name, text, &problem))
            }
        }
    }
}

/// The values that a path selects.
struct SelectedValues<'v, 'b> {
    index: usize,
    values: Vec<&'v Value>,
    budget: &'b mut usize,
}

enum WalkError {
    Problem(String),
    TooLarge,
}

impl<'v> SelectedValues<'v, '_> {
    fn walk(&mut self, value: &'v Value, steps: &[&str], walked: &mut Vec<String>) -> Result<(), WalkError> {
        let Some((step, rest)) = steps.split_first() else {
            // The size is checked before anything is copied.
            *self.budget = self.budget.checked_sub(size_of(value) + 1).ok_or(WalkError::TooLarge)?;
            self.values.push(value);
            return Ok(());
        };
        match (value, *step) {
            (Value::Array(elements), ALL) => {
                // Empty lists have no size, but visiting them takes time.
                *self.budget = self.budget.checked_sub(elements.len()).ok_or(WalkError::TooLarge)?;
                for (index, element) in elements.iter().enumerate() {
                    walked.push(index.to_string());
                    self.walk(element, rest, walked)?;
                    walked.pop();
                }
                return Ok(());
            }
            (Value::Array(elements), step) => {
                if let Some(element) = parse_index(step).and_then(|index| elements.get(index)) {
                    walked.push(step.to_owned());
                    self.walk(element, rest, walked)?;
                    walked.pop();
                    return Ok(());
                }
            }
            (Value::Object(fields), step) => {
                if let Some(field) = fields.get(step) {
                    walked.push(quotable(step));
                    self.walk(field, rest, walked)?;
                    walked.pop();
                    return Ok(());
                }
            }
            _ => {}
        }
        let (index, place) = (self.index, walked.join("."));
        Err(WalkError::Problem(format!(
            "operations[{index}] has no '{place}.{}'. '{place}' {}",
            quotable(step),
            describe(value)
        )))
    }
}

/// Whether a value contains a shortened text, which must not be stored as if it were complete.
fn holds_shortened_text(value: &Value) -> bool {
    match value {
        Value::String(text) => shortened::is_marked(text),
        Value::Array(elements) => elements.iter().any(holds_shortened_text),
        Value::Object(fields) => fields.values().any(holds_shortened_text),
        _ => false,
    }
}

/// Describes a value in a clause that completes a sentence. Contains only names and counts.
fn describe(value: &Value) -> String {
    match value {
        Value::Array(elements) => match elements.len() {
            0 => "is an empty list".to_owned(),
            1 => "is a list of 1 element".to_owned(),
            count => format!("is a list of {count} elements"),
        },
        Value::Object(fields) if fields.is_empty() => "is an empty object".to_owned(),
        Value::Object(fields) => {
            let listed: Vec<String> =
                fields.keys().take(MAX_LISTED_NAMES).map(|name| format!("'{}'", quotable(name))).collect();
            let more = if fields.len() > MAX_LISTED_NAMES { ", …" } else { "" };
            format!("has: {}{more}", listed.join(", "))
        }
        other => format!("is of type '{}'", type_of(other)),
    }
}

/// The text of a reference, if the value is one.
fn reference_text(value: &Value) -> Option<&str> {
    let fields = value.as_object().filter(|fields| fields.len() == 1)?;
    fields.get(KEY)?.as_str()
}

/// Calls `found` for every reference in a value.
fn visit(value: &Value, found: &mut dyn FnMut(&str) -> Result<(), Failure>) -> Result<(), Failure> {
    if let Some(text) = reference_text(value) {
        return found(text);
    }
    match value {
        Value::Object(fields) => fields.values().try_for_each(|field| visit(field, found)),
        Value::Array(elements) => elements.iter().try_for_each(|element| visit(element, found)),
        _ => Ok(()),
    }
}

fn parse(text: &str) -> Result<Reference<'_>, String> {
    let malformed = || "expected the index of an earlier operation and a path, such as '0.data.items.0.id'".to_owned();
    let (index, path) = text.split_once('.').ok_or_else(malformed)?;
    let index = parse_index(index).ok_or_else(malformed)?;
    let mut steps = path.split('.');
    if steps.next() != Some(ROOT) {
        return Err(format!("a path begins with '{ROOT}', such as '{index}.{ROOT}.id'"));
    }
    if steps.any(str::is_empty) {
        return Err(malformed());
    }
    Ok(Reference { index, path })
}

/// Parses an index in its canonical spelling.
fn parse_index(text: &str) -> Option<usize> {
    let is_usual = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| is_usual)
}

fn failure(name: &str, text: &str, problem: &str) -> Failure {
    let name = quotable(name);
    Failure::new(Code::ValidationInvalidValue, format!("Parameter '{name}': '{KEY}' cannot be resolved: {problem}"))
        .detail("param_name", name)
        .detail("reference", quotable(text))
}

/// Applies the limits on requests to parameters that contain referenced values.
fn check_limits(params: &Map<String, Value>, limits: &Limits) -> Result<(), Failure> {
    let size = params.iter().map(|(name, value)| name.len() + 4 + size_of(value)).sum::<usize>();
    if size > limits.max_request_size {
        return Err(too_large(LimitKind::RequestSize, limits.max_request_size, size));
    }
    // The request and its parameters are the first two levels.
    params.values().try_for_each(|value| check_value(value, 3, limits))
}

fn check_value(value: &Value, depth: usize, limits: &Limits) -> Result<(), Failure> {
    let within = |kind: LimitKind, limit: usize, actual: usize| {
        if actual > limit { Err(too_large(kind, limit, actual)) } else { Ok(()) }
    };
    let nested = || within(LimitKind::NestingDepth, limits.max_nesting_depth, depth);
    match value {
        Value::String(text) => within(LimitKind::StringLength, limits.max_string_length, text.len()),
        Value::Array(elements) => {
            nested()?;
            within(LimitKind::ArrayElements, limits.max_array_elements, elements.len())?;
            elements.iter().try_for_each(|element| check_value(element, depth + 1, limits))
        }
        Value::Object(fields) => {
            nested()?;
            fields.values().try_for_each(|field| check_value(field, depth + 1, limits))
        }
        _ => Ok(()),
    }
}
