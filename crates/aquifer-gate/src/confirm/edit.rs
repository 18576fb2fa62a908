//! Changes that a person makes to a call before approving it.
//!
//! The changed call is checked like a call of the caller: the engine validates it, and policy must not deny it. Its
//! approval is bound to the changed call. The caller is told what was changed when it repeats its own request, and has
//! to send the changed one itself, so nothing runs that it has not sent.

use aquifer_engine::rehearsal::RehearsalResult;
use aquifer_protocol::error::Failure;
use aquifer_protocol::validate::Checked;
use aquifer_protocol::warning::{Severity, Warning};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::approvals::{ReviewedApproval, Status};
use super::call::{FullCall, push_step};
use super::preview::Findings;
use super::record::TokenRecord;
use super::render::{escape, quote};
use super::scope::Scope;

pub use super::call::MAX_EDITED_BYTES;

/// Maximum number of changes that are listed one by one.
const MAX_LISTED_CHANGES: usize = 20;

/// Maximum number of characters of a value in a sentence.
const MAX_VALUE_CHARS: usize = 80;

/// A call that a person changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EditedCall {
    call: FullCall,
    changes: Vec<ParamChange>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    preview: Option<String>,
}

/// One change of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ParamChange {
    /// Where, as a JSON pointer into the parameters.
    pub path: String,
    /// The value that the caller sent. `None` if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub from: Option<Value>,
    /// The value now. `None` if it was removed.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub to: Option<Value>,
}

/// Distinguishes `null` from a missing member.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// An edit as stored with the token.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RecordedEdit {
    /// The call before the edit.
    pub(super) original: Scope,
    pub(super) edited: EditedCall,
}

/// A valid edit that was not stored yet. Only [`SafetyGate::check_edit`](crate::SafetyGate::check_edit) creates one.
#[derive(Debug)]
pub struct CallEdit {
    edited: EditedCall,
    request: Checked,
}

/// Why a call cannot be edited like this.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EditError {
    /// The configuration does not allow it, or not for this call.
    #[error(
        "this call cannot be edited. Editing has to be allowed in the configuration, and batches, calls with hidden values \
         and large calls are excluded"
    )]
    NotEditable,
    /// It is decided or has expired.
    #[error("approval '{id}' is no longer open: it is {status}")]
    Over {
        /// The approval.
        id: String,
        /// Its status.
        status: Status,
    },
    /// Nothing was changed.
    #[error("nothing was changed")]
    Unchanged,
    /// It would be another operation.
    #[error("the edited call is one of another operation")]
    OtherOperation,
    /// It contains a value that is not shown to people, or is too large.
    #[error("the edited call contains a value that is kept secret, or is larger than {MAX_EDITED_BYTES} bytes")]
    NotShown,
    /// The call would be refused.
    #[error("{}", .0.message())]
    Refused(Failure),
}

impl CallEdit {
    /// Compares a checked request with the call that was approved.
    pub(crate) fn new(reviewed: &ReviewedApproval, request: Checked) -> Result<Self, EditError> {
        let (approval, original) = (reviewed.approval(), reviewed.call());
        let operation = request.operation();
        if *approval.operation != *operation.name || *approval.source != *operation.origin.source {
            return Err(EditError::OtherOperation);
        }
        let call = FullCall::new(&request).filter(FullCall::can_be_edited).ok_or(EditError::NotShown)?;
        let changes = find_changes(&original.params, &call.params);
        if changes.is_empty() {
            return Err(EditError::Unchanged);
        }
        Ok(Self { edited: EditedCall { call, changes, preview: None }, request })
    }

    /// Adds what a rehearsal found the edited call would change. Fails if the call cannot succeed.
    pub fn rehearsed(mut self, result: &RehearsalResult) -> Result<Self, EditError> {
        if let RehearsalResult::WouldFail(failure) = result {
            return Err(EditError::Refused(failure.clone()));
        }
        self.edited.preview = Findings { preview: result.preview(), obstacle: None }.summary();
        Ok(self)
    }

    /// The call after the edit.
    pub fn edited(&self) -> &EditedCall {
        &self.edited
    }

    /// The checked request.
    pub fn request(&self) -> &Checked {
        &self.request
    }

    /// Binds a token to the edited call. `None` if the token is for something else, or was edited before.
    pub(super) fn apply_to(&self, record: &mut TokenRecord) -> Option<()> {
        if record.edit.is_some() || !record.scope.is_about(self.request.operation()) {
            return None;
        }
        let edited = record.scope.with_params(self.request.params());
        let original = std::mem::replace(&mut record.scope, edited);
        record.edit = Some(RecordedEdit { original, edited: self.edited.clone() });
        Some(())
    }
}

impl EditedCall {
    /// The call.
    pub fn call(&self) -> &FullCall {
        &self.call
    }

    /// What was changed.
    pub fn changes(&self) -> &[ParamChange] {
        &self.changes
    }

    /// What the call would change, if it could be rehearsed. Values in it are escaped.
    pub fn preview(&self) -> Option<&str> {
        self.preview.as_deref()
    }

    /// The changes as a sentence without its end. Values in it are escaped.
    pub fn describe_changes(&self) -> String {
        let mut listed: Vec<String> = self.changes.iter().take(MAX_LISTED_CHANGES).map(ParamChange::describe).collect();
        if let Some(more) = self.changes.len().checked_sub(MAX_LISTED_CHANGES).filter(|more| *more > 0) {
            listed.push(format!("{more} more changes"));
        }
        listed.join(", ")
    }

    /// The changes for a program.
    pub(super) fn listed_changes(&self) -> Value {
        json!(self.changes.iter().take(MAX_LISTED_CHANGES).collect::<Vec<_>>())
    }
}

impl ParamChange {
    fn describe(&self) -> String {
        let name = escape(self.path.strip_prefix('/').unwrap_or(&self.path));
        match (&self.from, &self.to) {
            (Some(from), Some(to)) => format!("'{name}' from {} to {}", mention(from), mention(to)),
            (Some(from), None) => format!("'{name}' removed, which was {}", mention(from)),
            (None, to) => format!("'{name}' added as {}", mention(to.as_ref().unwrap_or(&Value::Null))),
        }
    }
}

impl RecordedEdit {
    /// Tells the caller that it gets the result of another call than the one that it asked for.
    pub(crate) fn warning(&self) -> Warning {
        let changes = self.edited.describe_changes();
        Warning::new("CALL_EDITED", format!("A person changed this call before approving it: {changes}"))
            .detail("changes", self.edited.listed_changes())
            .severity(Severity::High)
    }
}

fn mention(value: &Value) -> String {
    let (text, is_text) = match value {
        Value::String(text) => (text.clone(), true),
        other => (other.to_string(), false),
    };
    let shown: String = text.chars().take(MAX_VALUE_CHARS).collect();
    let rest = if shown.len() < text.len() { "…" } else { "" };
    if is_text { format!("{}{rest}", quote(&shown)) } else { format!("{}{rest}", escape(&shown)) }
}

/// The smallest members that differ. Lists are compared as a whole.
fn find_changes(from: &Map<String, Value>, to: &Map<String, Value>) -> Vec<ParamChange> {
    let mut changes = Vec::new();
    compare_objects("", from, to, &mut changes);
    changes
}

fn compare_objects(path: &str, from: &Map<String, Value>, to: &Map<String, Value>, changes: &mut Vec<ParamChange>) {
    let added = to.keys().filter(|name| !from.contains_key(*name));
    for name in from.keys().chain(added) {
        let mut path = path.to_owned();
        push_step(&mut path, name);
        match (from.get(name), to.get(name)) {
            (Some(Value::Object(from)), Some(Value::Object(to))) => compare_objects(&path, from, to, changes),
            (from, to) if from == to => {}
            (from, to) => changes.push(ParamChange { path, from: from.cloned(), to: to.cloned() }),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_a_change() {
        let map = |value: Value| value.as_object().unwrap().clone();
        let from = map(json!({ "a": 1, "b": { "x": "old", "y": [1, 2] }, "c": null, "same": { "z": 1 } }));
        let to = map(json!({ "a": 2, "b": { "x": "old", "y": [1] }, "d/e": "new", "same": { "z": 1 } }));
        let changes = find_changes(&from, &to);
        let edited =
            EditedCall { call: FullCall { params: to, defaults: vec![], hidden: vec![] }, changes, preview: None };
        assert_eq!(
            edited.describe_changes(),
            "'a' from 1 to 2, 'b/y' from [1,2] to [1], 'c' removed, which was null, 'd~1e' added as \"new\""
        );
        let stored: EditedCall = serde_json::from_value(json!(edited)).unwrap();
        assert_eq!(stored, edited, "null stays distinct from nothing");
        assert!(find_changes(&from, &from).is_empty());
    }
}
