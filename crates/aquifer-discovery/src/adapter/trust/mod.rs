//! Changes the trust of an adapter file: its level and the history of changes. Everything else in the file stays the
//! same, byte for byte.
//!
//! The file is edited in place, never rewritten, so that a reviewer sees only the changed lines. The result is read back
//! and compared before it is returned, so a form of YAML that the editor does not support is refused, not damaged.

mod edit;

use aquifer_protocol::trust::Trust;
use serde_json::{Map, Value, json};

use super::{Adapter, read};
use crate::problem::{FileProblem, Findings};
use crate::text;
use crate::text::yaml::Node;

/// The longest text of a history entry.
const MAX_TEXT_LEN: usize = 500;

/// A change of trust, as recorded in the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrustChange<'a> {
    /// The new level.
    pub to: Trust,
    /// When: `2026-01-15T10:00:00Z`.
    pub at: &'a str,
    /// Who or what changes it.
    pub by: &'a str,
    /// Why.
    pub reason: &'a str,
}

/// The outcome of changing a file's trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustEdit {
    /// The whole file.
    pub text: String,
    /// The level it had.
    pub from: Trust,
    /// The level it has.
    pub to: Trust,
}

/// Why a file's trust was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrustError {
    /// The file is not a valid adapter.
    #[error("the adapter file is not valid: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Invalid(Vec<FileProblem>),
    /// It already has this level.
    #[error("its trust level is '{0}' already")]
    Same(Trust),
    /// The specification does not have this level.
    #[error("'{0}' is not a level of adapter files")]
    Unpublished(Trust),
    /// A level would be skipped. Each level builds on the one before.
    #[error("its trust level is '{from}', and no level may be skipped: the next one is '{next}', not '{to}'")]
    Skips {
        /// The level it has.
        from: Trust,
        /// The requested level.
        to: Trust,
        /// The level that comes next.
        next: Trust,
    },
    /// A text that is not allowed in the history.
    #[error("'{field}' {problem}")]
    InvalidText {
        /// The field.
        field: &'static str,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The file is valid, but its form cannot be edited without touching other lines.
    #[error("the trust block cannot be changed in place: {0}. Write it on separate lines first")]
    Form(&'static str),
}

/// Changes the trust of an adapter file, one level up or any number down. Where the file states no level, the sidecar
/// does: a generated adapter is `generated`.
pub fn change(text: &str, sidecar: Option<&str>, change: &TrustChange<'_>) -> Result<TrustEdit, TrustError> {
    let (from, to) = (Adapter::read(text, sidecar).map_err(TrustError::Invalid)?.stated_trust, change.to);
    if !to.is_published() {
        return Err(TrustError::Unpublished(to));
    }
    let next = Trust::PUBLISHED.into_iter().find(|level| *level > from).unwrap_or(Trust::Certified);
    match to {
        to if to == from => return Err(TrustError::Same(from)),
        to if to > next => return Err(TrustError::Skips { from, to, next }),
        _ => {}
    }
    check_text("by", change.by)?;
    check_text("reason", change.reason)?;
    if !is_timestamp(change.at) {
        return Err(TrustError::InvalidText { field: "at", problem: "is not a time like 2026-01-15T10:00:00Z" });
    }
    let record = json!({ "from": from, "to": to, "at": change.at, "by": change.by, "reason": change.reason });
    let target = TargetTrust { to, promoted_from: (to > from).then_some(from), record };
    let front = front(text)?;
    let expected = target.apply_to(&front);
    // A comment after the last entry may belong to it or to what follows. The variant that reads back correctly is
    // used.
    let mut refused = TrustError::Form("its YAML form is not supported");
    for keep_comments in [false, true] {
        match edit::edit(text, &front, &target, keep_comments) {
            Ok(text) => match check(&text, sidecar, &expected, to) {
                Ok(()) => return Ok(TrustEdit { text, from, to }),
                Err(error) => refused = error,
            },
            Err(form) => return Err(TrustError::Form(form)),
        }
    }
    Err(refused)
}

/// The new content of the trust block.
struct TargetTrust {
    to: Trust,
    promoted_from: Option<Trust>,
    record: Value,
}

impl TargetTrust {
    /// The expected front matter after the change.
    fn apply_to(&self, front: &Node) -> Value {
        let mut front = front.to_json();
        let Some(fields) = front.as_object_mut() else { return front };
        let mut block = match fields.get("trust") {
            Some(Value::Object(block)) => block.clone(),
            _ => Map::new(),
        };
        let mut history = block.get("promotion_history").and_then(Value::as_array).cloned().unwrap_or_default();
        history.push(self.record.clone());
        block.insert("level".to_owned(), json!(self.to));
        block.extend(self.promoted_from.map(|from| ("promoted_from".to_owned(), json!(from))));
        block.insert("promotion_history".to_owned(), history.into());
        fields.insert("trust".to_owned(), Value::Object(block));
        front
    }
}

fn front(text: &str) -> Result<Node, TrustError> {
    let mut findings = Findings::default();
    let front = read::parse(text, &mut findings).map(|(front, _)| front);
    front.ok_or(TrustError::Invalid(findings.problems))
}

/// Verifies that the changed file is a valid adapter, has the new trust, and is otherwise unchanged.
fn check(text: &str, sidecar: Option<&str>, expected: &Value, to: Trust) -> Result<(), TrustError> {
    let form = || TrustError::Form("its YAML form is not supported");
    let is_right = front(text).is_ok_and(|front| front.to_json() == *expected);
    if !is_right {
        return Err(form());
    }
    let adapter = Adapter::read(text, sidecar).map_err(TrustError::Invalid)?;
    if adapter.stated_trust == to { Ok(()) } else { Err(form()) }
}

fn check_text(field: &'static str, words: &str) -> Result<(), TrustError> {
    let problem = if words.trim().is_empty() {
        "is empty, but the history requires it"
    } else if words.chars().count() > MAX_TEXT_LEN {
        "is longer than 500 characters"
    } else if words.contains(['\n', '\r', '\t']) || !text::is_clean(words) {
        "must be one line of visible characters"
    } else {
        return Ok(());
    };
    Err(TrustError::InvalidText { field, problem })
}

/// `YYYY-MM-DDTHH:MM:SSZ`, perhaps with a fraction of the second.
fn is_timestamp(text: &str) -> bool {
    let Some(text) = text.strip_suffix('Z') else { return false };
    let (text, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let Some((date, time)) = text.split_once('T') else { return false };
    let fits = |part: &str, length: usize, least: u32, most: u32| {
        part.len() == length && is_number(part) && part.parse().is_ok_and(|n: u32| (least..=most).contains(&n))
    };
    let date: Vec<&str> = date.split('-').collect();
    let time: Vec<&str> = time.split(':').collect();
    match (date.as_slice(), time.as_slice()) {
        ([year, month, day], [hour, minute, second]) => {
            fits(year, 4, 1970, 9999)
                && fits(month, 2, 1, 12)
                && fits(day, 2, 1, 31)
                && fits(hour, 2, 0, 23)
                && fits(minute, 2, 0, 59)
                && fits(second, 2, 0, 60)
                && is_number(fraction)
        }
        _ => false,
    }
}
