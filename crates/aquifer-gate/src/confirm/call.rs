//! The whole call as a person sees it who decides about it: every parameter at every depth, nothing cut.
//!
//! Secrets are replaced, and the places where they were are kept beside the values: a value that merely reads like a
//! replaced secret is still shown as the text that it is.

use std::collections::HashSet;

use aquifer_protocol::validate::Checked;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::token::hex;
use crate::audit;

/// Bytes of the largest call that can wait for an approval. It is twice the default limit of a request; nobody reads more.
pub const MAX_CALL_BYTES: usize = 2 * 1024 * 1024;

/// The parameters of a call, complete, with secrets replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WholeCall {
    /// Every parameter that would be sent.
    pub params: Map<String, Value>,
    /// The parameters whose value is the default of their definition.
    pub defaults: Vec<String>,
    /// Where a secret was replaced, as JSON pointers into `params`.
    pub hidden: Vec<String>,
}

impl WholeCall {
    /// The call that a request makes, or nothing if it cannot be shown without leaving something out.
    pub(crate) fn new(request: &Checked) -> Option<Self> {
        let (operation, sent) = (request.operation(), request.params());
        let Value::Object(params) = audit::shown(operation, Some(request.types()), sent, usize::MAX) else {
            return None;
        };
        let mut hidden = Vec::new();
        if !find_hidden_members(sent, &params, &mut Vec::new(), &mut hidden) {
            return None;
        }
        let is_default = |(name, value): &(&String, &Value)| {
            let known = operation.parameters.iter().find(|known| *known.name == ***name);
            known.and_then(|known| known.schema.default.as_ref()) == Some(*value)
        };
        let defaults = sent.iter().filter(is_default).map(|(name, _)| name.clone()).collect();
        Some(Self { params, defaults, hidden })
    }

    /// The form in which the call is stored.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        // Text, numbers and names are always valid JSON.
        serde_json::to_vec(self).unwrap_or_default()
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// The places of replaced secrets, for looking them up.
    pub(super) fn hidden_places(&self) -> HashSet<&str> {
        self.hidden.iter().map(String::as_str).collect()
    }

    /// Whether a parameter has the default of its definition.
    pub(super) fn is_default(&self, name: &str) -> bool {
        self.defaults.iter().any(|known| known == name)
    }
}

/// What identifies the stored form of a call.
pub(super) fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// A step from a value to one inside it.
#[derive(Clone, Copy)]
enum Step<'a> {
    Name(&'a str),
    Index(usize),
}

/// Compares what is sent with what is shown. Collects the places that differ because a secret was replaced there, and
/// says whether everything else is the same: only then nothing is missing.
fn find_hidden<'a>(sent: &'a Value, shown: &Value, path: &mut Vec<Step<'a>>, hidden: &mut Vec<String>) -> bool {
    match (sent, shown) {
        (Value::Object(sent), Value::Object(shown)) => find_hidden_members(sent, shown, path, hidden),
        (Value::Array(sent), Value::Array(shown)) => {
            let mut pairs = sent.iter().zip(shown).enumerate();
            sent.len() == shown.len()
                && pairs.all(|(index, (sent, shown))| {
                    path.push(Step::Index(index));
                    let is_whole = find_hidden(sent, shown, path, hidden);
                    path.pop();
                    is_whole
                })
        }
        (sent, shown) if sent == shown => true,
        (_, Value::String(text)) if text.starts_with("[hidden, ") && text.ends_with(']') => {
            hidden.push(pointer(path));
            true
        }
        _ => false,
    }
}

fn find_hidden_members<'a>(
    sent: &'a Map<String, Value>,
    shown: &Map<String, Value>,
    path: &mut Vec<Step<'a>>,
    hidden: &mut Vec<String>,
) -> bool {
    sent.len() == shown.len()
        && sent.iter().all(|(name, sent)| {
            let Some(shown) = shown.get(name) else { return false };
            path.push(Step::Name(name));
            let is_whole = find_hidden(sent, shown, path, hidden);
            path.pop();
            is_whole
        })
}

/// The path as a JSON pointer.
fn pointer(path: &[Step<'_>]) -> String {
    path.iter().fold(String::new(), |mut pointer, step| {
        match step {
            Step::Name(name) => push_step(&mut pointer, name),
            Step::Index(index) => push_step(&mut pointer, &index.to_string()),
        }
        pointer
    })
}

/// Adds a step to a JSON pointer.
pub(super) fn push_step(pointer: &mut String, step: &str) {
    pointer.push('/');
    pointer.push_str(&step.replace('~', "~0").replace('/', "~1"));
}
