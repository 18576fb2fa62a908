//! Which definitions may be called, and which wait for somebody to accept them (R-DIS-7a). Pure.

use std::collections::HashMap;
use std::sync::Arc;

use aquifer_discovery::PinBook;
use aquifer_discovery::digest::{Part, Pin, changed_parts};
use aquifer_discovery::pins::Verdict;
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;

use crate::settings::QuarantinePolicy;

/// A definition, and the operation that was made of it.
pub(crate) struct Candidate<'a> {
    pub(crate) pin: &'a Pin,
    pub(crate) operation: &'a str,
    pub(crate) category: Category,
    pub(crate) danger: Danger,
    /// The definition that was reviewed with an adapter file, if it is known.
    pub(crate) reviewed: Option<&'a Pin>,
}

/// Why an operation cannot be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum QuarantineReason {
    /// Its definition is not the accepted one.
    Changed(Vec<Part>),
    /// It is new, and the operator wants to see new ones first.
    New,
    /// It cannot be pinned: too many tools have come and gone.
    NoRoom,
    /// What was accepted could not be read yet.
    Unread,
    /// Its pin could not be written yet.
    Unwritten,
}

impl QuarantineReason {
    /// Whether somebody has to accept it. Otherwise it passes with time.
    pub(crate) fn is_for_review(&self) -> bool {
        matches!(self, QuarantineReason::Changed(_) | QuarantineReason::New | QuarantineReason::NoRoom)
    }

    /// In words, for callers: nothing of the definition itself.
    pub(crate) fn message(&self) -> Arc<str> {
        format!("Quarantined: {}", self.cause()).into()
    }

    /// Why it is quarantined, as the rest of a sentence that says that it is.
    pub(crate) fn cause(&self) -> String {
        match self {
            QuarantineReason::Changed(parts) => {
                let parts: Vec<&str> = parts.iter().map(|part| part.as_str()).collect();
                let parts = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
                format!("its definition changed{parts} since it was accepted. An operator can review it.")
            }
            QuarantineReason::New => "it is new and nobody has accepted it. An operator can review it.".to_owned(),
            QuarantineReason::NoRoom => {
                "too many tools of this source have come and gone to remember one more. An operator can review it."
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

/// What came of judging.
#[derive(Debug, Default)]
pub(crate) struct Judgement {
    /// What may not be called, by tool.
    pub(crate) quarantined: HashMap<String, QuarantineReason>,
    /// Since when tools are pinned that were pinned before, in milliseconds since the epoch.
    pub(crate) since: HashMap<String, u64>,
    /// The book with what was pinned now, if anything was.
    pub(crate) book: Option<PinBook>,
    /// The tools that were pinned now.
    pub(crate) pinned: Vec<String>,
    /// Changes that were taken over unasked.
    pub(crate) followed: Vec<String>,
}

impl Judgement {
    /// Judges definitions. `book` is what is pinned: none if nothing ever was, `Err` if that is not known.
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
            let pinned = book.get(tool).filter(|pinned| pinned.is(candidate.pin));
            match reviewed.digest == candidate.pin.digest || pinned.is_some() {
                true => drop(self.since.insert(tool.clone(), pinned.map_or(0, |pinned| pinned.since))),
                false if follows => self.followed.push(tool.clone()),
                false => self.quarantine(tool, QuarantineReason::Changed(changed_parts(reviewed, candidate.pin))),
            }
            return;
        }
        let since = book.get(tool).map(|pinned| pinned.since);
        match book.judge(candidate.pin) {
            Verdict::Same => drop(since.map(|since| self.since.insert(tool.clone(), since))),
            Verdict::Changed(parts) if !follows => self.quarantine(tool, QuarantineReason::Changed(parts)),
            Verdict::New if is_known && policy == QuarantinePolicy::New => self.quarantine(tool, QuarantineReason::New),
            verdict => {
                if let (Verdict::Changed(_), Some(since)) = (verdict, since) {
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

    /// Whether each of so many definitions is the pinned one, so that judging them again by the same pins changes nothing.
    pub(crate) fn is_settled(&self, candidates: usize) -> bool {
        self.quarantined.is_empty() && self.followed.is_empty() && self.book.is_none() && self.since.len() == candidates
    }

    /// What was pinned now could not be written: it waits until it can be.
    pub(crate) fn without_writing(mut self) -> Self {
        for tool in std::mem::take(&mut self.pinned) {
            self.quarantined.entry(tool).or_insert(QuarantineReason::Unwritten);
        }
        Self { book: None, ..self }
    }
}
