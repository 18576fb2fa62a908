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
        if !find_hidden_members(sent, &params, &mut String::new(), &mut hidden) {
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

/// Compares what is sent with what is shown. Collects the places that differ because a secret was replaced there, and
/// says whether everything else is the same: only then nothing is missing.
fn find_hidden(sent: &Value, shown: &Value, place: &mut String, hidden: &mut Vec<String>) -> bool {
    match (sent, shown) {
        (Value::Object(sent), Value::Object(shown)) => find_hidden_members(sent, shown, place, hidden),
        (Value::Array(sent), Value::Array(shown)) => {
            sent.len() == shown.len()
                && sent.iter().zip(shown).enumerate().all(|(index, (sent, shown))| {
                    at(place, &index.to_string(), |place| find_hidden(sent, shown, place, hidden))
                })
        }
        (sent, shown) if sent == shown => true,
        (_, Value::String(text)) if text.starts_with("[hidden, ") && text.ends_with(']') => {
            hidden.push(place.clone());
            true
        }
        _ => false,
    }
}

fn find_hidden_members(
    sent: &Map<String, Value>,
    shown: &Map<String, Value>,
    place: &mut String,
    hidden: &mut Vec<String>,
) -> bool {
    sent.len() == shown.len()
        && sent.iter().all(|(name, sent)| {
            let Some(shown) = shown.get(name) else { return false };
            at(place, name, |place| find_hidden(sent, shown, place, hidden))
        })
}

/// Does something with the pointer to a member, and restores the pointer.
pub(super) fn at<T>(place: &mut String, member: &str, run: impl FnOnce(&mut String) -> T) -> T {
    let length = place.len();
    place.push('/');
    place.push_str(&member.replace('~', "~0").replace('/', "~1"));
    let done = run(place);
    place.truncate(length);
    done
}
