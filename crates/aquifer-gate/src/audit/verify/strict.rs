//! Strict verification accepts only what the state store confirms. Plain verification tolerates anything that a crash
//! or a running server can leave behind, but an attacker can fake the same traces.

use std::collections::BTreeSet;

use serde::Serialize;

use super::report::count_entries;
use super::{ChainReport, Heads, Location, Report};

/// The kind of problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// There is nothing to verify.
    Nothing,
    /// The state store has no head of any chain.
    NoHeads,
    /// The state store has no head of this chain.
    NoHead,
    /// There are entries after the head, and the head does not advance.
    BeyondHead,
    /// There are entries that were dropped according to the state store.
    Restored,
    /// The last line is unfinished, and no process is writing it.
    Unfinished,
    /// A file is empty, and no process is writing it.
    Empty,
    /// A file was not written by an audit.
    UnknownFile,
    /// The preceding chain is missing without a trace.
    MissingPredecessor,
    /// An entry's time is earlier than that of a preceding entry.
    ClockWentBack,
}

impl ProblemKind {
    /// Whether a server that is currently writing can cause this problem temporarily.
    pub fn is_transient(self) -> bool {
        match self {
            ProblemKind::NoHeads
            | ProblemKind::NoHead
            | ProblemKind::BeyondHead
            | ProblemKind::Restored
            | ProblemKind::Unfinished
            | ProblemKind::Empty
            | ProblemKind::MissingPredecessor => true,
            ProblemKind::Nothing | ProblemKind::UnknownFile | ProblemKind::ClockWentBack => false,
        }
    }
}

/// A problem found by strict verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The kind.
    pub kind: ProblemKind,
    /// The affected chain, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain: Option<String>,
    /// The location, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spot: Option<Location>,
    /// A description.
    pub words: String,
}

impl Report {
    /// Adds the problems found by strict verification. `heads` are the heads that this report was made with. `earlier`
    /// is a report made before they were loaded: its entries must be confirmed by now, while later entries may still be
    /// unconfirmed.
    pub fn check_strictly(&mut self, heads: Option<&Heads>, earlier: Option<&Report>) {
        let mut problems = Vec::new();
        let mut add = |kind, chain: Option<&ChainReport>, spot: Option<Location>, words: String| {
            problems.push(Problem { kind, chain: chain.map(|chain| chain.chain.clone()), spot, words });
        };
        if self.chains.is_empty() && self.stray.is_empty() {
            add(ProblemKind::Nothing, None, None, "there is nothing to verify: no entries and no heads".to_owned());
        }
        let has_heads = heads.is_some_and(|heads| !heads.known.is_empty() || !heads.unreadable.is_empty());
        let has_entries = self.chains.iter().any(|chain| chain.entries > 0);
        if has_entries && !has_heads {
            let words = match heads {
                Some(_) => "the state store has no heads: it was lost or replaced",
                None => "no state store confirms the entries: it is in a server's memory",
            };
            add(ProblemKind::NoHeads, None, None, words.to_owned());
        }
        let present: BTreeSet<&str> = self.chains.iter().map(|chain| chain.chain.as_str()).collect();
        for chain in self.chains.iter().filter(|chain| chain.fault.is_none()) {
            let name = &chain.chain;
            if !chain.has_head && has_heads {
                let words = format!("chain {name} has no head in the state store: nothing confirms its entries");
                add(ProblemKind::NoHead, Some(chain), None, words);
            }
            if chain.beyond_head > 0 && !head_has_caught_up(chain, earlier) {
                let words = format!("chain {name} has {} after its head", count_entries(chain.beyond_head));
                add(ProblemKind::BeyondHead, Some(chain), chain.end.clone(), words);
            }
            if chain.is_restored {
                let words = format!("chain {name} has entries which were dropped according to the state store");
                add(ProblemKind::Restored, Some(chain), None, words);
            }
            if let Some(spot) = chain.unfinished.clone().filter(|_| !chain.is_open) {
                let words = "the last line is unfinished, and no process is writing it".to_owned();
                add(ProblemKind::Unfinished, Some(chain), Some(spot), words);
            }
            if let Some(after) = chain.after.as_deref()
                && !present.contains(after)
                && !self.dropped.contains(after)
            {
                let words = format!("chain {name} follows chain {after}, which is missing without a trace");
                add(ProblemKind::MissingPredecessor, Some(chain), None, words);
            }
            if let Some(spot) = &chain.clock_went_back {
                let words = "the time of this entry is earlier than that of one before it".to_owned();
                add(ProblemKind::ClockWentBack, Some(chain), Some(spot.clone()), words);
            }
        }
        let file = |path: &std::path::PathBuf| Some(Location { file: path.clone(), line: 1 });
        for path in &self.empty {
            add(ProblemKind::Empty, None, file(path), "this file is empty, and no process is writing it".to_owned());
        }
        for path in &self.unknown {
            add(ProblemKind::UnknownFile, None, file(path), "this is not an audit file".to_owned());
        }
        self.problems = problems;
    }

    /// Whether there is neither a fault nor a problem, after [`check_strictly`](Report::check_strictly).
    pub fn is_proven(&self) -> bool {
        self.is_intact() && self.problems.is_empty()
    }

    /// Whether a server that is currently writing may have caused the faults or problems, so that verifying again may
    /// help.
    pub fn may_be_transient(&self) -> bool {
        self.problems.iter().any(|problem| problem.kind.is_transient()) || !self.is_intact()
    }
}

/// Whether the head covers everything in the earlier report.
fn head_has_caught_up(chain: &ChainReport, earlier: Option<&Report>) -> bool {
    let confirmed = chain.last.saturating_sub(chain.beyond_head);
    let before = earlier.and_then(|report| report.chains.iter().find(|before| before.chain == chain.chain));
    before.is_some_and(|before| confirmed >= before.last)
}
