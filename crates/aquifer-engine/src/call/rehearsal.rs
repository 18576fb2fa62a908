//! Rehearsals: a change is tried and undone before a person is asked to confirm it. The person is therefore not asked
//! about a change that cannot succeed, and the question says what would happen.
//!
//! A rehearsal decides nothing. The call itself runs after the confirmation, on the data at that time.

use aquifer_protocol::error::Failure;
use aquifer_protocol::validate::Checked;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value};

use super::Context;

/// Rehearses calls for the gate.
pub trait Rehearsal: Send + Sync {
    /// Rehearses a call that policy allows after a confirmation. Takes a bounded time and leaves nothing behind.
    fn rehearse<'a>(&'a self, request: &'a Checked, context: &'a Context) -> BoxFuture<'a, RehearsalResult>;
}

/// Rehearses nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoRehearsal;

impl Rehearsal for NoRehearsal {
    fn rehearse<'a>(&'a self, _request: &'a Checked, _context: &'a Context) -> BoxFuture<'a, RehearsalResult> {
        std::future::ready(RehearsalResult::Unknown).boxed()
    }
}

/// The result of a rehearsal.
#[derive(Debug, Clone, Default)]
pub enum RehearsalResult {
    /// Nothing: the call cannot be rehearsed, or not now.
    #[default]
    Unknown,
    /// The call would fail like this.
    WouldFail(Failure),
    /// The call would succeed, as far as can be known, and do this.
    WouldDo(Box<Preview>),
}

impl RehearsalResult {
    /// The preview, if there is one.
    pub fn preview(&self) -> Option<&Preview> {
        match self {
            RehearsalResult::WouldDo(preview) => Some(preview),
            RehearsalResult::Unknown | RehearsalResult::WouldFail(_) => None,
        }
    }
}

/// What a change would do. It contains nothing that the caller may not read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Preview {
    /// The kind of change.
    pub change: ChangeKind,
    /// The word for the thing that is changed, such as `treatment`.
    pub noun: String,
    /// The values that identify it, by field. Empty for a thing that does not exist yet.
    pub key: Vec<(String, Value)>,
    /// A readable name for it, taken from the data of the source.
    pub labels: Vec<String>,
    /// The thing as it is now, by field. Empty if it does not exist yet, or is not to be shown.
    pub before: Map<String, Value>,
    /// The thing as it would be, by field. Empty if it would no longer exist, or is not to be shown.
    pub after: Map<String, Value>,
    /// The fields that would change. `None` if that is not known or not to be shown.
    pub fields: Option<Vec<FieldChange>>,
    /// Who or what a call that runs something would reach.
    pub reached: Option<Reached>,
    /// Other rows that would change with it.
    pub affected: Vec<AffectedRows>,
    /// How many more groups of rows would change that are not in `affected`.
    pub more_affected: usize,
    /// Whether rows that the caller may not read would change with it.
    pub affects_unreadable: bool,
}

/// The kind of a change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ChangeKind {
    /// Something is added.
    #[default]
    Create,
    /// Something is changed.
    Update,
    /// Something is deleted.
    Delete,
    /// Something is run, such as a job. Nothing of the source itself changes.
    Run,
}

/// Who or what a call would reach, such as the recipients of a mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    /// The word for one of them.
    pub singular: String,
    /// The word for several of them.
    pub plural: String,
    /// How many there are.
    pub count: RowCount,
}

/// A field that would change.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldChange {
    /// Its name.
    pub field: String,
    /// The current value.
    pub from: Value,
    /// The new value.
    pub to: Value,
}

/// Rows of one table that would change with a row that they refer to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AffectedRows {
    /// The word for one of them.
    pub singular: String,
    /// The word for several of them.
    pub plural: String,
    /// The fields that refer.
    pub fields: Vec<String>,
    /// How many there are.
    pub count: RowCount,
    /// What would happen to them.
    pub fate: RowFate,
}

/// A number of rows, which is counted only up to a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowCount {
    /// Exactly this many.
    Exactly(u64),
    /// More than this limit.
    MoreThan(u64),
}

impl RowCount {
    /// The smallest number that it can be.
    pub fn at_least(self) -> u64 {
        match self {
            RowCount::Exactly(count) => count,
            RowCount::MoreThan(count) => count.saturating_add(1),
        }
    }
}

/// What would happen to a row when the row it refers to is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowFate {
    /// It would be deleted.
    Deleted,
    /// It would lose its reference.
    Cleared,
}

/// The number with separators, such as `1,347`.
impl std::fmt::Display for RowCount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (RowCount::Exactly(count) | RowCount::MoreThan(count)) = self;
        if matches!(self, RowCount::MoreThan(_)) {
            f.write_str("more than ")?;
        }
        let digits = count.to_string();
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_rows_have_separators() {
        let table = [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345, "12,345"), (1_234_567, "1,234,567")];
        for (count, expected) in table {
            assert_eq!(RowCount::Exactly(count).to_string(), expected);
        }
        assert_eq!(RowCount::MoreThan(10_000).to_string(), "more than 10,000");
    }
}
