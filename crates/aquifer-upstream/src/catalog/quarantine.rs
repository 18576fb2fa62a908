//! Decides which definitions may be called and which have to be accepted first (R-DIS-7a). Pure functions.

use std::collections::HashMap;
use std::sync::Arc;

use aquifer_discovery::PinBook;
use aquifer_discovery::digest::{DefinitionPart, Pin, changed_parts};
use aquifer_discovery::pins::PinComparison;
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;

use crate::settings::QuarantinePolicy;

/// A definition and the operation made from it.
pub(crate) struct Candidate<'a> {
    pub(crate) pin: &'a Pin,
    pub(crate) operation: &'a str,
    pub(crate) category: Category,
    pub(crate) danger: Danger,
    /// The definition that was reviewed with an adapter file, if known.
    pub(crate) reviewed: Option<&'a Pin>,
}

/// Why an operation cannot be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum QuarantineReason {
    /// Its definition differs from the accepted one.
    Changed(Vec<DefinitionPart>),
    /// It is new, and the operator reviews new definitions first.
    New,
    /// It cannot be pinned because the pin book is full.
    NoRoom,
    /// The pins have not been read yet.
    Unread,
    /// Its pin has not been written yet.
    Unwritten,
}

impl QuarantineReason {
    /// Whether a person has to accept it. The other reasons are temporary.
    pub(crate) fn is_for_review(&self) -> bool {
        matches!(self, QuarantineReason::Changed(_) | QuarantineReason::New | QuarantineReason::NoRoom)
    }

    /// The message for callers. It contains nothing from the definition.
    pub(crate) fn message(&self) -> Arc<str> {
        format!("Quarantined: {}", self.cause()).into()
    }

    /// The reason as a clause that completes a sentence.
    pub(crate) fn cause(&self) -> String {
        match self {
            QuarantineReason::Changed(parts) => {
                let parts: Vec<&str> = parts.iter().map(|part| part.as_str()).collect();
                let parts = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
                format!("its definition changed{parts} since it was accepted. An operator can review it.")
            }
            QuarantineReason::New => "it is new and nobody has accepted it. An operator can review it.".to_owned(),
            QuarantineReason::NoRoom => {
                "this source has too many pinned tools. An operator can review it."
                    .to_owned()
            }
            QuarantineReason::Unread | QuarantineReason::Unwritten => {
                "its definition cannot be compared with the accepted one, because the state store does not answer. This \
                 passes by itself."
                    .to_owned()
            }
        }
    }
}

/// The result of comparing definitions with the pins.
#[derive(Debug, Default)]
pub(crate) struct Judgement {
    /// Tools that may not be called, with the reason.
    pub(crate) quarantined: HashMap<String, QuarantineReason>,
    /// When each known tool was pinned, in milliseconds since the epoch.
    pub(crate) since: HashMap<String, u64>,
    /// The updated book, if anything was pinned.
    pub(crate) book: Option<PinBook>,
    /// Tools that this comparison pinned.
    pub(crate) pinned: Vec<String>,
    /// Changed definitions that were accepted without review, because quarantine is off.
    pub(crate) followed: Vec<String>,
}

impl Judgement {
    /// Compares definitions with the pins. `book` is `Ok(None)` if nothing was ever pinned and `Err` if the pins could
    /// not be read.
    pub(crate) fn evaluate(
        candidates: &[Candidate<'_>],
        book: Result<Option<&PinBook>, ()>,
        policy: QuarantinePolicy,
        may_pin: bool,
        now: u64,
    ) -> Self {
        let mut judgement = Self::default();
        let Ok(known) = book else {
            if policy == QuarantinePolicy::Off {
                return judgement;
            }
            let all = candidates.iter().map(|candidate| (candidate.pin.tool.clone(), QuarantineReason::Unread));
            return Self { quarantined: all.collect(), ..judgement };
        };
        let mut book = known.cloned().unwrap_or_default();
        for candidate in candidates {
            judgement.evaluate_candidate(candidate, &mut book, known.is_some(), policy, may_pin, now);
        }
        judgement.book = (!judgement.pinned.is_empty()).then_some(book);
        judgement
    }

    fn evaluate_candidate(
        &mut self,
        candidate: &Candidate<'_>,
        book: &mut PinBook,
        is_known: bool,
        policy: QuarantinePolicy,
        may_pin: bool,
        now: u64,
    ) {
        let tool = &candidate.pin.tool;
        let follows = policy == QuarantinePolicy::Off;
        if let Some(reviewed) = candidate.reviewed {
            let pinned = book.get(tool).filter(|pinned| pinned.matches(candidate.pin));
            match reviewed.digest == candidate.pin.digest || pinned.is_some() {
                true => drop(self.since.insert(tool.clone(), pinned.map_or(0, |pinned| pinned.since))),
                false if follows => self.followed.push(tool.clone()),
                false => self.quarantine(tool, QuarantineReason::Changed(changed_parts(reviewed, candidate.pin))),
            }
            return;
        }
        let since = book.get(tool).map(|pinned| pinned.since);
        match book.compare(candidate.pin) {
            PinComparison::Same => drop(since.map(|since| self.since.insert(tool.clone(), since))),
            PinComparison::Changed(parts) if !follows => self.quarantine(tool, QuarantineReason::Changed(parts)),
            PinComparison::New if is_known && policy == QuarantinePolicy::New => {
                self.quarantine(tool, QuarantineReason::New)
            }
            verdict => {
                if let (PinComparison::Changed(_), Some(since)) = (verdict, since) {
                    self.followed.push(tool.clone());
                    self.since.insert(tool.clone(), since);
                }
                if !may_pin {
                    return;
                }
                match book.pin(candidate.pin, candidate.operation, candidate.category, candidate.danger, now) {
                    Ok(()) => self.pinned.push(tool.clone()),
                    Err(_) => self.quarantine(tool, QuarantineReason::NoRoom),
                }
            }
        }
    }

    fn quarantine(&mut self, tool: &str, reason: QuarantineReason) {
        self.quarantined.insert(tool.to_owned(), reason);
    }

    /// Whether every definition matches its pin, so that comparing them again with the same pins changes nothing.
    pub(crate) fn is_settled(&self, candidates: usize) -> bool {
        self.quarantined.is_empty() && self.followed.is_empty() && self.book.is_none() && self.since.len() == candidates
    }

    /// Quarantines the newly pinned definitions, because the pins could not be written.
    pub(crate) fn without_writing(mut self) -> Self {
        for tool in std::mem::take(&mut self.pinned) {
            self.quarantined.entry(tool).or_insert(QuarantineReason::Unwritten);
        }
        Self { book: None, ..self }
    }
}
