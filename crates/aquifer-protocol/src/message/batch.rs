//! The answer to a batch (R-BAT-1, R-BAT-3).

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::error::{Code, Failure, too_large};
use crate::limits::{LimitKind, Limits};
use crate::response::{Attachment, Response, size_of};
use crate::warning::RESULT_SHORTENED;

/// Bytes reserved for each operation's entry and a failure in it.
const FAILURE_SIZE: usize = 512;

/// What a server does if an operation of a batch needs confirmation. Set by the configuration, never by a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnConfirmation {
    /// Stops there, because later operations may depend on it.
    #[default]
    Halt,
    /// Skips the operation and continues.
    Skip,
}

/// The answer to a batch, built operation by operation.
#[derive(Debug, Clone)]
pub struct BatchAnswer {
    /// By index, because operations that are refused before the first one runs are added out of order.
    results: BTreeMap<usize, Value>,
    /// The size of the results so far, and their limit.
    size: usize,
    max_size: usize,
    attachments: Vec<Attachment>,
    halted_at: Option<Value>,
    pending: Vec<Value>,
    total: usize,
    succeeded: usize,
    failed: usize,
    pending_confirmation: usize,
}

/// The outcome of an operation that a later operation of the same batch refers to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ReferencedOutcome<'a> {
    /// The data of its answer, as the caller sees it.
    Data(&'a Value),
    /// Like `Data`, with some values shortened.
    ShortenedData(&'a Value),
    /// It failed.
    Failed,
    /// It was skipped because it has to be confirmed.
    WaitsForConfirmation,
    /// It has not run.
    Missing,
}

/// Whether the answer in an entry has shortened values.
fn is_shortened(entry: &Value) -> bool {
    let warnings = entry.pointer("/result/warnings").and_then(Value::as_array);
    warnings.into_iter().flatten().any(|warning| warning.get("code").is_some_and(|code| code == RESULT_SHORTENED))
}

/// Whether a batch continues after an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It continues.
    Next,
    /// It waits for a person.
    Halted,
}

impl BatchAnswer {
    /// The answer to a batch of this many operations, without any results yet.
    pub fn new(total: usize, limits: &Limits) -> Self {
        Self {
            results: BTreeMap::new(),
            size: 0,
            max_size: limits.max_response_size.saturating_sub(total.saturating_mul(FAILURE_SIZE)),
            attachments: Vec::new(),
            halted_at: None,
            pending: Vec::new(),
            total,
            succeeded: 0,
            failed: 0,
            pending_confirmation: 0,
        }
    }

    /// Adds the answer to one operation.
    pub fn push(&mut self, index: usize, operation: &str, response: Response, mode: OnConfirmation) -> Step {
        let response = response.with_parsed_data();
        let waits = response.failure().is_some_and(|failure| failure.code() == Code::ConfirmationRequired);
        let mut failed = response.failure().is_some();
        let (mut result, mut attachments) = response.into_value();
        let size = size_of(&result) + attachments.iter().map(Attachment::size).sum::<usize>();
        // The operation has run, but its answer does not fit (R-REQ-7). It is replaced by a failure, which is small.
        if !failed && self.size + size > self.max_size {
            let failure = too_large(LimitKind::ResponseSize, self.max_size, self.size + size);
            (result, attachments) = Response::Failure(failure).into_value();
            failed = true;
        } else {
            self.size += size;
        }
        if !attachments.is_empty() {
            shift_attachments(&mut result, self.attachments.len());
            self.attachments.append(&mut attachments);
        }
        let mut entry = json!({ "index": index, "operation": operation, "result": result });
        match (waits, mode) {
            (true, OnConfirmation::Halt) => {
                self.halted_at = Some(entry);
                return Step::Halted;
            }
            (true, OnConfirmation::Skip) => {
                if let Some(entry) = entry.as_object_mut() {
                    entry.insert("status".to_owned(), "pending_confirmation".into());
                }
                self.pending_confirmation += 1;
            }
            (false, _) if failed => self.failed += 1,
            (false, _) => self.succeeded += 1,
        }
        self.results.insert(index, entry);
        Step::Next
    }

    /// The outcome of the operation with this index so far.
    pub fn earlier(&self, index: usize) -> ReferencedOutcome<'_> {
        let Some(entry) = self.results.get(&index) else { return ReferencedOutcome::Missing };
        match entry.pointer("/result/data").filter(|_| entry.pointer("/result/success") == Some(&Value::Bool(true))) {
            Some(data) if is_shortened(entry) => ReferencedOutcome::ShortenedData(data),
            Some(data) => ReferencedOutcome::Data(data),
            None if entry.get("status").is_some() => ReferencedOutcome::WaitsForConfirmation,
            None => ReferencedOutcome::Failed,
        }
    }

    /// Adds an operation that was not run, which the caller can send again.
    pub fn push_pending(&mut self, index: usize, operation: &str, params: Map<String, Value>) {
        let mut entry = json!({ "index": index, "operation": operation });
        if let (Some(entry), false) = (entry.as_object_mut(), params.is_empty()) {
            entry.insert("params".to_owned(), Value::Object(params));
        }
        self.pending.push(entry);
    }

    pub(crate) fn into_value(self) -> (Value, Vec<Attachment>) {
        let mut summary = json!({ "total": self.total, "succeeded": self.succeeded, "failed": self.failed });
        let mut envelope = Map::new();
        envelope.insert("success".to_owned(), Value::Bool(true));
        envelope.insert("data".to_owned(), Value::Null);
        if let Some(counts) = summary.as_object_mut() {
            if self.halted_at.is_some() {
                counts.insert("halted".to_owned(), 1.into());
                counts.insert("pending".to_owned(), self.pending.len().into());
            }
            if self.pending_confirmation > 0 {
                counts.insert("pending_confirmation".to_owned(), self.pending_confirmation.into());
            }
        }
        // `success` is true for a halted batch as well, so the halt precedes the results.
        if let Some(halted) = self.halted_at {
            envelope.insert("halted_at".to_owned(), halted);
            envelope.insert("pending_operations".to_owned(), Value::Array(self.pending));
        }
        envelope.insert("results".to_owned(), Value::Array(self.results.into_values().collect()));
        envelope.insert("summary".to_owned(), summary);
        (Value::Object(envelope), self.attachments)
    }
}

/// Converts attachment indices of one operation into those of the batch.
fn shift_attachments(value: &mut Value, by: usize) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match (name.as_str(), field.as_u64()) {
                    ("_attachment", Some(index)) => *field = (index + by as u64).into(),
                    _ => shift_attachments(field, by),
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(|element| shift_attachments(element, by)),
        _ => {}
    }
}

/// The failure of a batch that was refused as a whole: only `{code, message}` (R-REQ-4a).
pub fn refused(failure: Failure) -> Response {
    Response::Failure(failure.without_details())
}
