//! What plain verification tolerates, because a crash or a running server can leave it behind, and somebody who removes
//! or adds evidence can, too. Strict verification accepts only what the state store vouches for.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{ChainReport, Heads, Location, Report};

/// Why a record is not beyond doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// There is nothing to verify.
    Nothing,
    /// The state store has no head of any chain.
    NoHeads,
    /// The state store has no head of this chain.
    NoHead,
    /// Entries after the head, and the head does not follow.
    BeyondHead,
    /// Entries that the state store says were dropped.
    Restored,
    /// The last line is not whole, and no process is writing it.
    Unfinished,
    /// A file without a line that no process is writing.
    Empty,
    /// A file that no audit wrote.
    UnknownFile,
    /// The chain follows one that is gone without a trace.
    MissingPredecessor,
    /// Times go back.
    ClockWentBack,
}

impl ProblemKind {
    /// Whether a server that is writing can bring it about for a moment.
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

/// One reason why a record is not beyond doubt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// What.
    pub kind: ProblemKind,
    /// The chain, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain: Option<String>,
    /// Where, as far as there is a place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spot: Option<Location>,
    /// In words.
    pub words: String,
}

impl Report {
    /// Adds everything that is not beyond doubt. `heads` are those that the report was made with, and `earlier` is a
    /// report from before they were read: entries that it saw must be vouched for by now, while later ones may still
    /// be on their way.
    pub fn check_strictly(&mut self, heads: Option<&Heads>, earlier: Option<&Report>) {
        let mut problems = Vec::new();
        let mut add = |kind, chain: Option<&ChainReport>, spot: Option<Location>, words: String| {
            problems.push(Problem { kind, chain: chain.map(|chain| chain.chain.clone()), spot, words });
        };
        if self.chains.is_empty() && self.stray.is_empty() {
            add(ProblemKind::Nothing, None, None, "there is nothing to verify: no entries, and no heads".to_owned());
        }
        let has_heads = heads.is_some_and(|heads| !heads.known.is_empty() || !heads.unreadable.is_empty());
        let has_entries = self.chains.iter().any(|chain| chain.entries > 0);
        if has_entries && !has_heads {
            let words = match heads {
                Some(_) => "the state store has no head of any chain: it was lost or is another one",
                None => "no state store vouches for the entries: it is in the memory of a server",
            };
            add(ProblemKind::NoHeads, None, None, words.to_owned());
        }
        let present: BTreeSet<&str> = self.chains.iter().map(|chain| chain.chain.as_str()).collect();
        for chain in self.chains.iter().filter(|chain| chain.fault.is_none()) {
            let name = &chain.chain;
            if !chain.has_head && has_heads {
                let words = format!("chain {name} has no head in the state store: nothing vouches for its entries");
                add(ProblemKind::NoHead, Some(chain), None, words);
            }
            if chain.beyond_head > 0 && !head_has_caught_up(chain, earlier) {
                let words = format!("{} entries of chain {name} stand after its head", chain.beyond_head);
                add(ProblemKind::BeyondHead, Some(chain), chain.end.clone(), words);
            }
            if chain.is_restored {
                let words = format!("chain {name} has entries that the state store says were dropped");
                add(ProblemKind::Restored, Some(chain), None, words);
            }
            if let Some(spot) = chain.unfinished.clone().filter(|_| !chain.is_open) {
                let words = "the last line is not whole, and no process is writing it".to_owned();
                add(ProblemKind::Unfinished, Some(chain), Some(spot), words);
            }
            if let Some(after) = chain.after.as_deref()
                && !present.contains(after)
                && !self.dropped.contains(after)
            {
                let words = format!("chain {name} follows chain {after}, which is gone without a trace");
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
            add(ProblemKind::UnknownFile, None, file(path), "this is no file of an audit".to_owned());
        }
        self.problems = problems;
    }

    /// Whether nothing is wrong and nothing is in doubt, after [`check_strictly`](Report::check_strictly).
    pub fn is_proven(&self) -> bool {
        self.is_intact() && self.problems.is_empty()
    }

    /// Whether a server that is writing may have caused what is wrong, so that it is worth looking again.
    pub fn may_be_transient(&self) -> bool {
        self.problems.iter().any(|problem| problem.kind.is_transient()) || !self.is_intact()
    }
}

/// Whether the head has passed everything that stood in the chain when the earlier report was made.
fn head_has_caught_up(chain: &ChainReport, earlier: Option<&Report>) -> bool {
    let vouched = chain.last.saturating_sub(chain.beyond_head);
    let before = earlier.and_then(|report| report.chains.iter().find(|before| before.chain == chain.chain));
    before.is_some_and(|before| vouched >= before.last)
}
