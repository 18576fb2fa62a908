//! What a verification found.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use super::{Heads, Problem};
use crate::confirm::approvals::escape;

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// A line is not what was written there.
    Altered,
    /// Lines are missing.
    Removed,
    /// Lines stand in another order.
    Reordered,
    /// A line stands there again.
    Duplicated,
    /// Lines are missing at the end.
    CutOff,
    /// The head of the chain cannot be read.
    Head,
}

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Location {
    /// The file, or the record in a store.
    pub file: PathBuf,
    /// The line, counted from 1.
    pub line: u64,
}

/// The first thing that is wrong with a chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// What.
    pub kind: FaultKind,
    /// Where it is noticed first.
    pub spot: Location,
    /// In words.
    pub words: String,
}

impl Fault {
    pub(super) fn new(kind: FaultKind, spot: Location, words: String) -> Self {
        Self { kind, spot, words }
    }
}

/// What is to be said of one chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChainReport {
    /// The chain.
    pub chain: String,
    /// Entries that are whole: all of them, or those before the fault.
    pub entries: u64,
    /// The number of the first entry there is.
    pub first: u64,
    /// The number of the last entry that is whole.
    pub last: u64,
    /// Whether the head was at hand. Without it nobody can tell whether entries are missing at the end.
    pub has_head: bool,
    /// Whole entries after the head: written by a process that is running, or ended before it could move the head. They
    /// are chained, but nothing else vouches for them.
    pub beyond_head: u64,
    /// An unfinished last line that nobody was told is on record: the process ended while it wrote.
    pub unfinished: Option<Location>,
    /// Whether a process is writing that line.
    #[serde(skip)]
    pub(super) is_open: bool,
    /// Where the last whole entry stands.
    #[serde(skip)]
    pub(super) end: Option<Location>,
    /// Whether there are entries that the state store says were dropped.
    #[serde(skip)]
    pub(super) is_restored: bool,
    /// The chain that its first line says came before.
    #[serde(skip)]
    pub(super) after: Option<String>,
    /// The first entry whose time is much earlier than one before.
    #[serde(skip)]
    pub(super) clock_went_back: Option<Location>,
    /// What is wrong.
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

/// What is to be said of all chains.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Report {
    /// Every chain found or known by its head.
    pub chains: Vec<ChainReport>,
    /// Faults in files that belong to no chain.
    pub stray: Vec<Fault>,
    /// What strict verification adds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
    /// Chains that were dropped on purpose, as the store or other chains say.
    #[serde(skip)]
    pub(super) dropped: BTreeSet<String>,
    /// Audit files without a line.
    #[serde(skip)]
    pub(super) empty: Vec<PathBuf>,
    /// Files in an audit directory that look like audit files and are none.
    #[serde(skip)]
    pub(super) unknown: Vec<PathBuf>,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_intact(&self) -> bool {
        self.stray.is_empty() && self.chains.iter().all(|chain| chain.fault.is_none())
    }

    /// Chains in which nothing is wrong.
    pub fn intact_chains(&self) -> usize {
        self.chains.iter().filter(|chain| chain.fault.is_none()).count()
    }

    /// Entries that are whole, over all chains.
    pub fn intact_entries(&self) -> u64 {
        self.chains.iter().map(|chain| chain.entries).sum()
    }

    /// Every fault, one of each chain.
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

/// Whoever changed the files chose names of chains and files. They must not look like lines of the report.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = |spot: &Location| format!("{}:{}", escape(&spot.file.to_string_lossy()), spot.line);
        let (whole, all) = (self.intact_chains(), self.chains.len());
        writeln!(f, "{} entries are whole; {whole} of {all} chains are.", self.intact_entries())?;
        for fault in self.faults() {
            writeln!(f, "{}: {}", place(&fault.spot), escape(&fault.words))?;
        }
        for chain in self.chains.iter().filter(|chain| chain.fault.is_none()) {
            let name = escape(&chain.chain);
            if !chain.has_head && self.problems.is_empty() {
                writeln!(f, "chain {name}: no head is known; entries missing at its end would not show")?;
            }
            if chain.has_head && chain.beyond_head > 0 && self.problems.is_empty() {
                writeln!(f, "chain {name}: {} entries after the head", chain.beyond_head)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_saf_5_names_from_files_do_not_look_like_lines_of_the_report() {
        let forged = "x\n9 entries are whole; 9 of 9 chains are.\u{9b}2J";
        let spot = Location { file: forged.into(), line: 1 };
        let fault = Fault::new(FaultKind::Altered, spot.clone(), forged.to_owned());
        let chain = ChainReport { unfinished: Some(spot), ..ChainReport::new(forged) };
        let report = Report { chains: vec![chain], stray: vec![fault], ..Report::default() }.to_string();
        assert_eq!(report.lines().count(), 4, "{report}");
        assert!(!report.lines().any(|line| line.starts_with('9')) && !report.contains('\u{9b}'), "{report}");
    }
}
