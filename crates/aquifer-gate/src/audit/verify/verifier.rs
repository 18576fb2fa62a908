//! The verification rules and the state they need per chain.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};

use super::super::head::{Beginning, Head};
use super::line::{LineError, SealedLine, ZERO_HASH};
use super::{ChainReport, Fault, FaultKind, Heads, Location, Report};

/// Concurrent calls may write entries slightly out of order, and clocks are adjusted.
const CLOCK_TOLERANCE: SignedDuration = SignedDuration::from_mins(2);
/// Maximum number of faults reported for files that belong to no chain.
const MAX_STRAY_FAULTS: usize = 100;

pub(super) struct Verifier<'a> {
    heads: Option<&'a Heads>,
    by_chain: BTreeMap<&'a str, &'a Head>,
    chains: BTreeMap<String, Chain>,
    /// New beginnings of chains, as recorded by any chain.
    beginnings: BTreeMap<String, Beginning>,
    stray: Vec<Fault>,
    spot: Location,
    /// The chain that invalid lines of the current file are attributed to.
    current: Option<String>,
    /// A fault in the current file, found before its chain is known.
    unassigned: Option<Fault>,
}

struct Chain {
    report: ChainReport,
    /// The hash of the last intact line.
    hash: String,
    /// `previous` of the first line, and its location.
    previous: String,
    began: Location,
    /// The end of the chain.
    end: Location,
    /// The number that was expected when a different one was found.
    missing: Option<u64>,
    /// The latest time so far.
    latest: Option<Timestamp>,
}

impl<'a> Verifier<'a> {
    pub(super) fn new(heads: Option<&'a Heads>) -> Self {
        let known_heads = heads.map(|heads| heads.known.as_slice()).unwrap_or_default();
        Self {
            heads,
            by_chain: known_heads.iter().map(|head| (head.chain.as_str(), head)).collect(),
            chains: BTreeMap::new(),
            beginnings: BTreeMap::new(),
            stray: Vec::new(),
            spot: Location { file: PathBuf::new(), line: 0 },
            current: None,
            unassigned: None,
        }
    }

    /// Starts a file. The lines added next belong to it.
    pub(super) fn file(&mut self, path: &Path, chain: Option<String>) {
        self.keep_unassigned();
        self.spot = Location { file: path.to_owned(), line: 0 };
        self.current = chain;
    }

    /// Adds a line with a correct hash.
    pub(super) fn line(&mut self, sealed: SealedLine) {
        self.spot.line += 1;
        let head = self.by_chain.get(sealed.header.chain.as_str()).copied();
        let chain = self
            .chains
            .entry(sealed.header.chain.clone())
            .or_insert_with(|| Chain::new(&sealed.header.chain, &self.spot));
        if let Some(flaw) = self.unassigned.take() {
            chain.fail(flaw);
        }
        self.current = Some(sealed.header.chain.clone());
        let is_in_place = chain.take(&sealed, head, &self.spot);
        if is_in_place {
            for beginning in sealed.header.beginnings {
                self.beginnings.insert(beginning.chain.clone(), beginning);
            }
        }
    }

    /// Adds an invalid line.
    pub(super) fn invalid_line(&mut self, flaw: LineError) {
        self.spot.line += 1;
        let words = match flaw {
            LineError::Form => "this is not an audit line",
            LineError::Hash => "this line was altered: its hash does not match",
        };
        let fault = Fault::new(FaultKind::Altered, self.spot.clone(), words.to_owned());
        match &self.current {
            Some(name) => self.chains.entry(name.clone()).or_insert_with(|| Chain::new(name, &self.spot)).fail(fault),
            None => self.unassigned = self.unassigned.take().or(Some(fault)),
        }
    }

    /// Records that the file ends without a newline.
    pub(super) fn unfinished(&mut self, is_open: bool) {
        self.spot.line += 1;
        let Some(name) = &self.current else {
            let words = "this is not an audit line".to_owned();
            self.unassigned = self.unassigned.take().or(Some(Fault::new(FaultKind::Altered, self.spot.clone(), words)));
            return;
        };
        let chain = self.chains.entry(name.clone()).or_insert_with(|| Chain::new(name, &self.spot));
        chain.end = self.spot.clone();
        if chain.report.unfinished.is_none() {
            chain.report.unfinished = Some(self.spot.clone());
            chain.report.is_open = is_open;
        }
    }

    fn keep_unassigned(&mut self) {
        if let Some(fault) = self.unassigned.take()
            && self.stray.len() < MAX_STRAY_FAULTS
        {
            self.stray.push(fault);
        }
    }

    /// Builds the report after all files were read.
    pub(super) fn into_report(mut self) -> Report {
        self.keep_unassigned();
        let mut report = Report { stray: self.stray, ..Report::default() };
        if let Some(heads) = self.heads {
            report.unreadable_heads(heads);
        }
        for head in self.by_chain.values() {
            let spot = Location { file: head.file.clone().unwrap_or_default().into(), line: 1 };
            self.chains.entry(head.chain.clone()).or_insert_with(|| Chain::new(&head.chain, &spot));
        }
        let gone = self.beginnings.values().filter(|beginning| beginning.gone);
        report.dropped.extend(gone.map(|beginning| beginning.chain.clone()));
        for (name, chain) in self.chains {
            let head = self.by_chain.get(name.as_str()).copied();
            // Anyone can forge a chain that claims a later beginning for another chain. If there is a head, only the
            // head counts.
            let beginning = match head {
                Some(head) => head.beginning.as_ref(),
                None => self.beginnings.get(&name),
            };
            if beginning.is_some_and(|beginning| beginning.gone) && chain.is_empty() {
                report.dropped.insert(name);
                continue;
            }
            report.add(chain.into_report(head, beginning));
        }
        report
    }
}

impl Chain {
    fn new(name: &str, spot: &Location) -> Self {
        Self {
            report: ChainReport::new(name),
            hash: ZERO_HASH.to_owned(),
            previous: ZERO_HASH.to_owned(),
            began: spot.clone(),
            end: spot.clone(),
            missing: None,
            latest: None,
        }
    }

    /// Whether no trace of the chain was found.
    fn is_empty(&self) -> bool {
        self.report.entries == 0 && self.report.fault.is_none() && self.report.unfinished.is_none()
    }

    /// Records a fault. Only the first one is kept.
    fn fail(&mut self, fault: Fault) {
        self.report.fault.get_or_insert(fault);
    }

    /// Adds the next line of the chain. Returns whether it is in the right place.
    fn take(&mut self, sealed: &SealedLine, head: Option<&Head>, spot: &Location) -> bool {
        let header = &sealed.header;
        let sequence = header.sequence;
        if let Some(fault) = &mut self.report.fault {
            // The missing line was moved, not removed.
            if self.missing == Some(sequence) && header.previous == self.hash {
                fault.kind = FaultKind::Reordered;
                fault.words = format!("entry {sequence} is not here but further down");
            }
            return false;
        }
        let mut fault = |kind, spot: &Location, words: String| {
            self.report.fault = Some(Fault::new(kind, spot.clone(), words));
            false
        };
        if let Some(spot) = &self.report.unfinished {
            let spot = spot.clone();
            return fault(
                FaultKind::CutOff,
                &spot,
                "this line is cut off, and the chain continues after it".to_owned(),
            );
        }
        if self.report.entries == 0 {
            self.report.first = sequence;
            self.previous.clone_from(&header.previous);
            self.began = spot.clone();
        } else {
            let expected = self.report.last.saturating_add(1);
            if sequence < self.report.first {
                let spot = self.began.clone();
                return fault(
                    FaultKind::Reordered,
                    &spot,
                    format!("entry {sequence} belongs before this line but comes later"),
                );
            }
            if sequence < expected {
                return fault(FaultKind::Duplicated, spot, format!("entry {sequence} is duplicated here"));
            }
            if sequence > expected {
                self.missing = Some(expected);
                let words = match sequence - 1 {
                    last if last == expected => format!("entry {expected} is missing before this line"),
                    last => format!("entries {expected} to {last} are missing before this line"),
                };
                return fault(FaultKind::Removed, spot, words);
            }
            if header.previous != self.hash {
                return fault(FaultKind::Altered, spot, "this line does not follow the one before it".to_owned());
            }
        }
        if head.is_some_and(|head| head.sequence == sequence && head.hash != sealed.hash) {
            return fault(
                FaultKind::Altered,
                spot,
                format!("entry {sequence} does not match the head in the state store"),
            );
        }
        self.check_time(header.timestamp, spot);
        if sequence == 1 {
            self.report.after.clone_from(&header.after);
        }
        self.hash.clone_from(&sealed.hash);
        self.end = spot.clone();
        self.report.last = sequence;
        self.report.entries += 1;
        if head.is_some_and(|head| sequence > head.sequence) {
            self.report.beyond_head += 1;
        }
        true
    }

    /// Records the first entry whose time is much earlier than that of a preceding entry.
    fn check_time(&mut self, time: Option<Timestamp>, spot: &Location) {
        let Some(time) = time else { return };
        let is_back = self.latest.is_some_and(|latest| latest.duration_since(time) > CLOCK_TOLERANCE);
        if is_back && self.report.clock_went_back.is_none() {
            self.report.clock_went_back = Some(spot.clone());
        }
        self.latest = self.latest.max(Some(time));
    }

    fn into_report(mut self, head: Option<&Head>, beginning: Option<&Beginning>) -> ChainReport {
        self.report.has_head = head.is_some();
        self.report.end = (self.report.entries > 0).then(|| self.end.clone());
        self.report.is_restored =
            self.report.entries > 0 && beginning.is_some_and(|beginning| self.report.first < beginning.sequence);
        let fault = if self.report.entries > 0 && !self.begins_correctly(beginning) {
            // This fault precedes all others, because it is about the first line.
            let words = format!("entries before {} are missing", self.report.first);
            let moved =
                self.report.fault.take_if(|fault| fault.kind == FaultKind::Reordered && fault.spot == self.began);
            Some(moved.unwrap_or_else(|| Fault::new(FaultKind::Removed, self.began, words)))
        } else if self.report.fault.is_some() {
            self.report.fault.take()
        } else if let Some(head) = head.filter(|head| head.sequence > self.report.last) {
            let mut spot = self.end;
            if self.report.entries > 0 && self.report.unfinished.is_none() {
                spot.line += 1;
            }
            Some(match self.report.entries {
                0 => Fault::new(
                    FaultKind::Removed,
                    spot,
                    format!("all {} entries of the chain are missing", head.sequence),
                ),
                _ => {
                    let first = self.report.last + 1;
                    Fault::new(
                        FaultKind::CutOff,
                        spot,
                        format!("entries {first} to {} are missing here", head.sequence),
                    )
                }
            })
        } else {
            None
        };
        self.report.fault = fault;
        self.report
    }

    /// Whether the first line is the first of the chain, or the first that was kept.
    fn begins_correctly(&self, beginning: Option<&Beginning>) -> bool {
        let first = self.report.first;
        (first == 1 && self.previous == ZERO_HASH)
            || beginning.is_some_and(|beginning| {
                first < beginning.sequence || (first == beginning.sequence && self.previous == beginning.previous)
            })
    }
}
