//! The result of a verification.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use super::{Heads, Problem};
use crate::confirm::approvals::escape;

/// The kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// A line was altered.
    Altered,
    /// Lines are missing.
    Removed,
    /// Lines are in the wrong order.
    Reordered,
    /// A line is duplicated.
    Duplicated,
    /// Lines are missing at the end.
    CutOff,
    /// The head of the chain is unreadable.
    Head,
}

/// The location of a line in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Location {
    /// The file, or the record in a store.
    pub file: PathBuf,
    /// The line, counted from 1.
    pub line: u64,
}

/// The first fault of a chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The kind.
    pub kind: FaultKind,
    /// Where it was detected.
    pub spot: Location,
    /// A description.
    pub words: String,
}

impl Fault {
    pub(super) fn new(kind: FaultKind, spot: Location, words: String) -> Self {
        Self { kind, spot, words }
    }
}

/// The result for one chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChainReport {
    /// The chain.
    pub chain: String,
    /// Number of intact entries: all of them, or those before the fault.
    pub entries: u64,
    /// The number of the first entry.
    pub first: u64,
    /// The number of the last intact entry.
    pub last: u64,
    /// Whether the head was available. Without it, missing entries at the end are not detected.
    pub has_head: bool,
    /// Intact entries after the head, written by a running process or by one that ended before it could advance the
    /// head. They are linked to the chain, but nothing else confirms them.
    pub beyond_head: u64,
    /// An unfinished last line that was never acknowledged: the process ended while writing it.
    pub unfinished: Option<Location>,
    /// Whether a process is writing that line.
    #[serde(skip)]
    pub(super) is_open: bool,
    /// The location of the last intact entry.
    #[serde(skip)]
    pub(super) end: Option<Location>,
    /// Whether the chain has entries that were dropped according to the state store.
    #[serde(skip)]
    pub(super) is_restored: bool,
    /// The chain that the same process wrote before this one, according to its first line.
    #[serde(skip)]
    pub(super) after: Option<String>,
    /// The first entry whose time is much earlier than that of a preceding entry.
    #[serde(skip)]
    pub(super) clock_went_back: Option<Location>,
    /// The first fault.
    pub fault: Option<Fault>,
}

impl ChainReport {
    pub(super) fn new(chain: &str) -> Self {
        Self {
            chain: chain.to_owned(),
            entries: 0,
            first: 0,
            last: 0,
            has_head: false,
            beyond_head: 0,
            unfinished: None,
            is_open: false,
            end: None,
            is_restored: false,
            after: None,
            clock_went_back: None,
            fault: None,
        }
    }
}

/// The result for all chains.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Report {
    /// Every chain that was found or has a head.
    pub chains: Vec<ChainReport>,
    /// Faults in files that belong to no chain.
    pub stray: Vec<Fault>,
    /// Problems found by strict verification.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
    /// Chains that were dropped, according to the store or to other chains.
    #[serde(skip)]
    pub(super) dropped: BTreeSet<String>,
    /// Empty audit files.
    #[serde(skip)]
    pub(super) empty: Vec<PathBuf>,
    /// Files in an audit directory that only look like audit files.
    #[serde(skip)]
    pub(super) unknown: Vec<PathBuf>,
}

impl Report {
    /// Whether there is no fault.
    pub fn is_intact(&self) -> bool {
        self.stray.is_empty() && self.chains.iter().all(|chain| chain.fault.is_none())
    }

    /// Number of chains without a fault.
    pub fn intact_chains(&self) -> usize {
        self.chains.iter().filter(|chain| chain.fault.is_none()).count()
    }

    /// Number of intact entries in all chains.
    pub fn intact_entries(&self) -> u64 {
        self.chains.iter().map(|chain| chain.entries).sum()
    }

    /// All faults; at most one per chain.
    pub fn faults(&self) -> impl Iterator<Item = &Fault> {
        self.chains.iter().filter_map(|chain| chain.fault.as_ref()).chain(&self.stray)
    }

    pub(super) fn add(&mut self, chain: ChainReport) {
        self.chains.push(chain);
    }

    pub(super) fn unreadable_heads(&mut self, heads: &Heads) {
        for chain in &heads.unreadable {
            let spot = Location { file: format!("audit/head/{chain}").into(), line: 1 };
            self.stray.push(Fault::new(FaultKind::Head, spot, "the head in the state store cannot be read".to_owned()));
        }
    }
}

/// An attacker may have chosen the names of chains and files. They must not look like lines of the report.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = |spot: &Location| format!("{}:{}", escape(&spot.file.to_string_lossy()), spot.line);
        let (intact, all) = (self.intact_chains(), self.chains.len());
        let entries = count_entries(self.intact_entries());
        writeln!(f, "{entries} and {intact} of {all} chains are intact.")?;
        for fault in self.faults() {
            writeln!(f, "{}: {}", place(&fault.spot), escape(&fault.words))?;
        }
        for chain in self.chains.iter().filter(|chain| chain.fault.is_none()) {
            let name = escape(&chain.chain);
            if !chain.has_head && self.problems.is_empty() {
                writeln!(f, "chain {name}: no head is known, so entries missing at its end are not detected")?;
            }
            if chain.has_head && chain.beyond_head > 0 && self.problems.is_empty() {
                writeln!(f, "chain {name}: {} after the head", count_entries(chain.beyond_head))?;
            }
            if let Some(spot) = chain.unfinished.as_ref().filter(|_| self.problems.is_empty()) {
                writeln!(f, "{}: an unfinished line, as a crash leaves it", place(spot))?;
            }
        }
        for problem in &self.problems {
            match &problem.spot {
                Some(spot) => writeln!(f, "{}: {}", place(spot), escape(&problem.words))?,
                None => writeln!(f, "{}", escape(&problem.words))?,
            }
        }
        Ok(())
    }
}

pub(super) fn count_entries(count: u64) -> String {
    if count == 1 { "1 entry".to_owned() } else { format!("{count} entries") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_saf_5_names_from_files_do_not_look_like_lines_of_the_report() {
        let forged = "x\n9 entries and 9 of 9 chains are intact.\u{9b}2J";
        let spot = Location { file: forged.into(), line: 1 };
        let fault = Fault::new(FaultKind::Altered, spot.clone(), forged.to_owned());
        let chain = ChainReport { unfinished: Some(spot), ..ChainReport::new(forged) };
        let report = Report { chains: vec![chain], stray: vec![fault], ..Report::default() }.to_string();
        assert_eq!(report.lines().count(), 4, "{report}");
        assert!(!report.lines().any(|line| line.starts_with('9')) && !report.contains('\u{9b}'), "{report}");
    }
}
