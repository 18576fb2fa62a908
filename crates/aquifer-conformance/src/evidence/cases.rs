//! The test cases of a bundle, each from a recorded exchange.

use serde_json::{Map, Value, json};

use crate::record::{Purpose, Record, RecordedExchange};

/// The accepted parameters of each operation: the documented ones in order, then any others.
pub(super) fn accepted_parameters(record: &Record) -> Value {
    let mut operations = Map::new();
    for detail in &record.operation_details {
        let Some(operation) = detail.get("name").and_then(Value::as_str) else { continue };
        let accepted: Vec<&str> =
            record.exchanges.iter().flat_map(|recorded| accepted_in(recorded, operation)).collect();
        let documented = detail.get("parameters").and_then(Value::as_array).into_iter().flatten();
        let documented = documented.filter_map(|parameter| parameter.get("name")?.as_str());
        let mut names: Vec<&str> = documented.filter(|name| accepted.contains(name)).collect();
        for name in accepted {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        if !names.is_empty() {
            operations.insert(operation.to_owned(), json!(names));
        }
    }
    Value::Object(operations)
}

/// The parameters of an operation that an exchange proves to be accepted.
fn accepted_in<'a>(recorded: &'a RecordedExchange, wanted: &str) -> Vec<&'a str> {
    match &recorded.purpose {
        Purpose::Accepted { operation, parameter } if operation == wanted => {
            if is_known(&recorded.exchange.answer, parameter) { vec![parameter] } else { Vec::new() }
        }
        // A successful request accepted all its parameters.
        Purpose::Valid { operation } if operation == wanted && succeeded(&recorded.exchange.answer) => {
            sent(recorded).collect()
        }
        // A parameter whose value is refused is a known parameter.
        Purpose::Error { .. } if names_operation(&recorded.exchange.arguments, wanted) => {
            let message =
                recorded.exchange.answer.pointer("/error/message").and_then(Value::as_str).unwrap_or_default();
            let is_meant =
                |name: &&str| is_known(&recorded.exchange.answer, name) && message.contains(&format!("'{name}'"));
            sent(recorded).filter(is_meant).collect()
        }
        _ => Vec::new(),
    }
}

fn names_operation(arguments: &Value, operation: &str) -> bool {
    arguments.get("operation").and_then(Value::as_str) == Some(operation)
}

/// The parameters of a request.
fn sent(recorded: &RecordedExchange) -> impl Iterator<Item = &str> {
    let params = recorded.exchange.arguments.get("params").and_then(Value::as_object);
    params.into_iter().flat_map(Map::keys).map(String::as_str)
}

/// Whether an answer treats a parameter as known, even if it refuses the value.
fn is_known(answer: &Value, parameter: &str) -> bool {
    match answer.get("success").and_then(Value::as_bool) {
        None => false,
        Some(true) => true,
        Some(false) => {
            let code = answer.pointer("/error/code").and_then(Value::as_str).unwrap_or_default();
            let message = answer.pointer("/error/message").and_then(Value::as_str).unwrap_or_default();
            let is_about_unknown = code.contains("UNKNOWN") || message.to_lowercase().contains("unknown parameter");
            !(is_about_unknown && message.contains(parameter))
        }
    }
}

pub(super) fn succeeded(answer: &Value) -> bool {
    answer.get("success") == Some(&Value::Bool(true))
}

pub(super) fn missing_required(record: &Record) -> Value {
    cases(record, |purpose, answer| match purpose {
        Purpose::MissingParameter { operation, parameter } => {
            Some(json!({ "operation": operation, "parameter": parameter, "response": answer }))
        }
        _ => None,
    })
}

pub(super) fn unknown_parameter(record: &Record) -> Value {
    cases(record, |purpose, answer| match purpose {
        Purpose::UnknownParameter { operation, parameter } => {
            Some(json!({ "operation": operation, "parameter": parameter, "response": answer }))
        }
        _ => None,
    })
}

/// Only scalars are included, because the runner compares by identity.
pub(super) fn optional_defaults(record: &Record) -> Value {
    cases(record, |purpose, answer| match purpose {
        Purpose::Default { operation, parameter, path, value } if is_scalar(value) => Some(json!({
            "operation": operation,
            "parameter": parameter,
            "expected_value_path": path,
            "expected_value": value,
            "response": answer,
        })),
        _ => None,
    })
}

pub(super) fn errors(record: &Record) -> Value {
    cases(record, |purpose, answer| match purpose {
        Purpose::Error { name, must_mention } => {
            Some(json!({ "name": name, "must_mention": must_mention, "response": answer }))
        }
        _ => None,
    })
}

pub(super) fn round_trips(record: &Record) -> Value {
    cases(record, |purpose, answer| match purpose {
        Purpose::RoundTrip { resource, expected } => {
            let expected = leaves(expected);
            let name = format!("create and read {resource}");
            (!expected.is_empty())
                .then(|| json!({ "name": name, "expected_fields": expected, "read_response": answer }))
        }
        _ => None,
    })
}

pub(super) fn update_preservations(record: &Record) -> Value {
    cases(record, |purpose, answer| match purpose {
        Purpose::UpdatePreservation { resource, preserved } => {
            let preserved = leaves(preserved);
            let name = format!("update and read {resource}");
            (!preserved.is_empty())
                .then(|| json!({ "name": name, "preserved_fields": preserved, "read_response": answer }))
        }
        _ => None,
    })
}

pub(super) fn constraints(record: &Record) -> Value {
    cases(record, |purpose, answer| match purpose {
        Purpose::Constraint { name, documented } => {
            Some(json!({ "name": name, "documented": documented, "response": answer }))
        }
        _ => None,
    })
}

fn cases(record: &Record, case: impl Fn(&Purpose, &Value) -> Option<Value>) -> Value {
    record.exchanges.iter().filter_map(|recorded| case(&recorded.purpose, &recorded.exchange.answer)).collect()
}

/// The scalar expectations. For nested values the runner would also compare the order of members.
fn leaves(expected: &Map<String, Value>) -> Map<String, Value> {
    expected.iter().filter(|(_, value)| is_scalar(value)).map(|(path, value)| (path.clone(), value.clone())).collect()
}

fn is_scalar(value: &Value) -> bool {
    !value.is_array() && !value.is_object()
}
