//! The scope of a confirmation: the exact call that it is valid for.

use std::io::Write;

use aquifer_engine::Caller;
use aquifer_protocol::hex::hex;
use aquifer_protocol::operation::Operation;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::destination::CallDestinations;

/// The scope of a confirmation. Caller and parameters are stored as hashes, because they may be secret and are only
/// compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Scope {
    source: String,
    /// The database or server behind the source, because another source could later have the same name.
    #[serde(default)]
    place: String,
    operation: String,
    caller: String,
    params: String,
    /// A hash of caller, operation and destination for each destination of the call, in order.
    #[serde(default, rename = "destination_hashes", skip_serializing_if = "Vec::is_empty")]
    destinations: Vec<String>,
    /// The caller regardless of its session.
    #[serde(skip)]
    principal: String,
}

/// Used as the operation's name in the scope of a batch. No operation has this name.
const BATCH: &str = "[batch]";

/// How a call differs from the confirmed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScopeMismatch {
    Caller,
    Source,
    Operation,
    Params,
    /// The calls or their order differ.
    Batch,
    /// The confirmation is weaker than what is required now.
    Strength,
}

/// A call of a batch, as bound to a confirmation.
pub(crate) struct CallInBatch<'a> {
    pub(crate) subject: CallSubject<'a>,
    /// Whether the confirmation covers it. Other calls only have to stay unchanged.
    pub(crate) is_confirmed: bool,
}

pub(crate) enum CallSubject<'a> {
    /// An operation with its parameters.
    Complete(&'a Operation, &'a Map<String, Value>),
    /// An operation whose parameters refer to results that are not available yet.
    Unresolved(&'a str, &'a Map<String, Value>),
}

impl Scope {
    pub(crate) fn new(operation: &Operation, caller: &Caller, params: &Map<String, Value>) -> Self {
        Self {
            source: operation.origin.source.to_string(),
            place: operation.origin.place.to_string(),
            operation: operation.name.to_string(),
            caller: caller_hash(caller),
            params: params_hash(params),
            destinations: destination_hashes(operation, caller, params),
            principal: principal_hash(caller),
        }
    }

    /// The scope of an approval. A person may take longer to decide than a session lasts, so it is bound to the principal
    /// alone.
    pub(super) fn for_approval(&self) -> Self {
        Self { caller: self.principal.clone(), principal: String::new(), ..self.clone() }
    }

    /// A hash of all of it.
    pub(super) fn digest(&self) -> String {
        let mut hash = Sha256::new();
        for part in [&self.source, &self.place, &self.operation, &self.caller, &self.params] {
            hash.update(format!("{}:{part}", part.len()));
        }
        hex(&hash.finalize())
    }

    /// The hashes of its destinations, each with caller and operation.
    pub(super) fn destinations(&self) -> &[String] {
        &self.destinations
    }

    /// The scope of a confirmation for these calls of a batch, in this order.
    pub(crate) fn for_batch<'a>(calls: impl IntoIterator<Item = CallInBatch<'a>>, caller: &Caller) -> Self {
        let mut hash = Sha256::new();
        // Where several calls are refused together, nobody knows which of them was the reason.
        let (mut confirmed, mut destinations) = (0, Vec::new());
        for call in calls {
            if let CallInBatch { subject: CallSubject::Complete(operation, params), is_confirmed: true } = &call {
                confirmed += 1;
                destinations = match confirmed {
                    1 => destination_hashes(operation, caller, params),
                    _ => Vec::new(),
                };
            }
            // Lengths and kinds delimit the parts.
            let (kind, names, params) = match call.subject {
                CallSubject::Complete(operation, params) => {
                    ("complete", [&*operation.origin.source, &*operation.origin.place, &*operation.name], params)
                }
                CallSubject::Unresolved(operation, params) => ("unresolved", ["", "", operation], params),
            };
            hash.update(if call.is_confirmed { "confirmed " } else { "unconfirmed " });
            hash.update(kind);
            for name in names {
                hash.update(format!(" {}:{name}", name.len()));
            }
            hash.update(params_hash(params));
        }
        let (source, place, operation) = (String::new(), String::new(), BATCH.to_owned());
        let (principal, caller) = (principal_hash(caller), caller_hash(caller));
        Self { source, place, operation, caller, params: hex(&hash.finalize()), destinations, principal }
    }

    /// The same operation and caller with other parameters.
    pub(super) fn with_params(&self, params: &Map<String, Value>) -> Self {
        Self { params: params_hash(params), destinations: Vec::new(), ..self.clone() }
    }

    /// Whether it is about this operation.
    pub(super) fn is_about(&self, operation: &Operation) -> bool {
        self.source == *operation.origin.source
            && self.place == *operation.origin.place
            && self.operation == *operation.name
    }

    /// The name of the operation, or a placeholder for a batch.
    pub(super) fn operation(&self) -> &str {
        &self.operation
    }

    /// Whether it is the scope of a batch.
    pub(super) fn is_batch(&self) -> bool {
        self.operation == BATCH
    }

    /// The first difference that may be disclosed.
    pub(super) fn find_mismatch(&self, other: &Scope) -> Option<ScopeMismatch> {
        let same = |a: &str, b: &str| bool::from(a.as_bytes().ct_eq(b.as_bytes()));
        if !same(&self.caller, &other.caller) {
            Some(ScopeMismatch::Caller)
        } else if self.is_batch() != other.is_batch() {
            Some(ScopeMismatch::Batch)
        } else if self.source != other.source || self.place != other.place {
            Some(ScopeMismatch::Source)
        } else if self.operation != other.operation {
            Some(ScopeMismatch::Operation)
        } else if !same(&self.params, &other.params) {
            Some(if self.is_batch() { ScopeMismatch::Batch } else { ScopeMismatch::Params })
        } else {
            None
        }
    }
}

/// The hash of principal and session. A confirmation given in one session is not valid in another.
fn caller_hash(caller: &Caller) -> String {
    let mut hash = Sha256::new();
    for part in [&caller.principal, &caller.session] {
        match part {
            // The length delimits the two parts.
            Some(text) => hash.update(format!("{}:{text}", text.len())),
            None => hash.update("-"),
        }
    }
    hex(&hash.finalize())
}

/// The hash of the principal. Callers without one share it.
fn principal_hash(caller: &Caller) -> String {
    caller_hash(&Caller { principal: caller.principal.clone(), session: None })
}

/// A hash of caller, operation and destination for each destination of a call, in order.
fn destination_hashes(operation: &Operation, caller: &Caller, params: &Map<String, Value>) -> Vec<String> {
    let (origin, principal) = (&operation.origin, principal_hash(caller));
    let found = CallDestinations::of(operation, params);
    let mut hashes: Vec<String> = found
        .recipients()
        .map(|destination| {
            let mut hash = Sha256::new();
            // A name that differs only in case is not worth another question.
            let value = destination.value.to_lowercase();
            for part in [&*origin.source, &*origin.place, &*operation.name, &*principal, &*value] {
                hash.update(format!("{}:{part}", part.len()));
            }
            hex(&hash.finalize())
        })
        .collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}

/// The hash of everything that reaches the source. Tokens and other metadata are excluded; a source's own parameter
/// that starts with `_` is included.
fn params_hash(params: &Map<String, Value>) -> String {
    let mut hash = Sha256::new();
    write_object(params, &mut hash);
    hex(&hash.finalize())
}

/// Writes canonical JSON: sorted names, uniform numbers, no whitespace.
fn write_canonical(value: &Value, out: &mut Sha256) {
    match value {
        Value::Null => out.update("null"),
        Value::Bool(true) => out.update("true"),
        Value::Bool(false) => out.update("false"),
        Value::Number(number) => out.update(number_text(number)),
        Value::String(text) => write_text(text, out),
        Value::Array(items) => {
            out.update("[");
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.update(",");
                }
                write_canonical(item, out);
            }
            out.update("]");
        }
        Value::Object(fields) => write_object(fields, out),
    }
}

fn write_object(fields: &Map<String, Value>, out: &mut Sha256) {
    let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
    sorted.sort_unstable_by_key(|(name, _)| *name);
    out.update("{");
    for (index, (name, value)) in sorted.into_iter().enumerate() {
        if index > 0 {
            out.update(",");
        }
        write_text(name, out);
        out.update(":");
        write_canonical(value, out);
    }
    out.update("}");
}

fn write_text(text: &str, out: &mut Sha256) {
    // Writing to a hash cannot fail, and text is always valid JSON.
    let _ = serde_json::to_writer(Hashed(out), text);
}

/// Adds to the hash what is written.
struct Hashed<'a>(&'a mut Sha256);

impl Write for Hashed<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Formats a number so that 1, 1.0 and 1e0 are equal.
fn number_text(number: &Number) -> String {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < EXACT => {
            #[expect(clippy::cast_possible_truncation, reason = "a whole number below 2^53")]
            let whole = float as i64;
            whole.to_string()
        }
        _ => number.to_string(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hash(params: &Value) -> String {
        params_hash(params.as_object().unwrap())
    }

    #[test]
    fn r_saf_3_the_same_parameters_have_the_same_hash_however_they_are_written() {
        let same = [
            (r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#),
            (r#"{"a":1}"#, r#"{"a":1.0}"#),
            (r#"{"a":100}"#, r#"{"a":1e2}"#),
            (r#"{"a":0}"#, r#"{"a":-0.0}"#),
            (r#"{"a":{"x":[1,{"p":1,"q":2}]}}"#, r#"{"a":{"x":[1.0,{"q":2,"p":1}]}}"#),
            ("{\"a\":\"\\u00e9\"}", "{\"a\":\"é\"}"),
        ];
        for (one, other) in same {
            let [one, other] = [one, other].map(|text| hash(&serde_json::from_str(text).unwrap()));
            assert_eq!(one, other);
        }
    }

    #[test]
    fn r_saf_3_any_change_of_a_parameter_changes_the_hash() {
        let all = [
            json!({}),
            json!({ "a": null }),
            json!({ "a": 1 }),
            json!({ "a": "1" }),
            json!({ "a": true }),
            json!({ "a": [1] }),
            json!({ "a": [1, 2] }),
            json!({ "a": [2, 1] }),
            json!({ "a": { "a": 1 } }),
            json!({ "a": 1, "b": 1 }),
            json!({ "a": "x\",\"b\":1" }),
            json!({ "b": 1 }),
            json!({ "a": 1.5 }),
            json!({ "_a": 1 }),
            json!({ "a": 9_007_199_254_740_993_u64 }),
            json!({ "a": 9_007_199_254_740_992_u64 }),
        ];
        for (index, one) in all.iter().enumerate() {
            for other in all.iter().skip(index + 1) {
                assert_ne!(hash(one), hash(other), "{one} {other}");
            }
        }
    }

    #[test]
    fn r_saf_3_callers_are_distinguished_by_principal_and_session() {
        let caller = |principal: Option<&str>, session: Option<&str>| {
            caller_hash(&Caller { principal: principal.map(Into::into), session: session.map(Into::into) })
        };
        let all = [
            caller(None, None),
            caller(Some("a"), None),
            caller(None, Some("a")),
            caller(Some("a"), Some("a")),
            caller(Some(""), None),
            caller(Some("1:a"), None),
            caller(Some("-"), Some("a")),
        ];
        for (index, one) in all.iter().enumerate() {
            assert!(!all.iter().skip(index + 1).any(|other| other == one));
        }
    }
}
