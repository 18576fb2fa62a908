//! Reading it all again: is every line what was written, in its place, and none missing?
//!
//! Streaming: one line at a time, and a few words for each chain, however long the chains are. Every chain is judged by
//! itself, and of each the first fault is told, because what follows a fault proves nothing.

mod judge;
mod lines;
mod report;
mod strict;

use std::fs::File;
use std::path::{Path, PathBuf};

use aquifer_engine::store::{StateStore, StoreError};

use super::AuditError;
use super::file::Name;
use super::head::Heads;
use super::line;
use super::retention::{first_line, in_use};
use super::store_sink;

use judge::Judge;
use lines::{Line, Lines};
pub use report::ChainReport;
pub use report::Fault;
pub use report::Kind;
pub use report::Report;
pub use report::Spot;
pub use strict::Doubt;
pub use strict::Problem;

/// Files looked at in one go.
const MAX_FILES: usize = 100_000;
/// Lines after the head that are counted in a store.
const MAX_BEYOND: u64 = 4096;
/// Files told of that no audit wrote.
const MAX_UNKNOWN: usize = 100;
/// How far below the last line found in the store another is looked for.
const GAP: u64 = 64;

/// Judges the audit files at these paths: files, or directories whose audit files are all meant. The heads must have
/// been read before, because a process may be writing on; without any only the files can speak for themselves.
/// Blocks while it reads.
pub fn verify(paths: &[PathBuf], heads: Option<&Heads>) -> Result<Report, AuditError> {
    let mut judge = Judge::new(heads);
    let (mut empty, mut unknown) = (Vec::new(), Vec::new());
    for file in in_order(paths, &mut unknown)? {
        // A file may have been dropped since the directory was read; its chain says so.
        let opened = match File::open(&file.path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            other => other.map_err(|error| AuditError::file(&file.path, &error))?,
        };
        judge.file(&file.path, file.name.map(|name| name.chain));
        let mut lines = Lines::new(opened);
        let mut is_empty = true;
        while let Some(line) = lines.next().map_err(|error| AuditError::file(&file.path, &error))? {
            is_empty = false;
            match line {
                Line::Whole(text) => match line::read(text) {
                    Ok(sealed) => judge.line(sealed),
                    Err(flaw) => judge.flaw(flaw),
                },
                Line::TooLong => judge.flaw(line::Flaw::Form),
                Line::Unfinished => judge.unfinished(in_use(&file.path)),
            }
        }
        if is_empty && !in_use(&file.path) {
            empty.push(file.path);
        }
    }
    Ok(Report { empty, unknown, ..judge.verdict() })
}

/// Whether some process is writing an audit file at these paths, as far as the file system can tell.
pub fn is_being_written(paths: &[PathBuf]) -> bool {
    let found = in_order(paths, &mut Vec::new()).unwrap_or_default();
    found.iter().any(|file| in_use(&file.path))
}

/// Judges the lines that a store holds, from the head of each chain back to the oldest that is kept.
pub async fn verify_store(store: &dyn StateStore, heads: &Heads) -> Result<Report, StoreError> {
    let mut report = Report::default();
    report.unreadable_heads(heads);
    for head in &heads.known {
        let mut chain = ChainReport::new(&head.chain);
        let (mut sequence, mut hash) = (head.sequence, head.hash.clone());
        while sequence > 0 {
            let spot = Spot { file: store_sink::key(&head.chain, sequence).into(), line: sequence };
            let Some(record) = store.get(&store_sink::key(&head.chain, sequence)).await? else {
                // Old lines expire in their order. One that is missing above another did not expire.
                if chain.entries == 0 || stands_below(store, &head.chain, sequence).await? {
                    chain.fault = Some(Fault::new(Kind::Removed, spot, format!("entry {sequence} is missing")));
                }
                break;
            };
            match line::read(&record.value) {
                Ok(sealed) if sealed.hash == hash && sealed.links.sequence == sequence => hash = sealed.links.previous,
                _ => {
                    chain.fault = Some(Fault::new(Kind::Altered, spot, format!("entry {sequence} was altered")));
                    break;
                }
            }
            chain.entries += 1;
            sequence -= 1;
        }
        chain.has_head = true;
        chain.first = sequence + 1;
        chain.last = head.sequence;
        while chain.beyond_head < MAX_BEYOND
            && store.get(&store_sink::key(&head.chain, chain.last.saturating_add(1))).await?.is_some()
        {
            chain.last = chain.last.saturating_add(1);
            chain.beyond_head += 1;
        }
        report.add(chain);
    }
    Ok(report)
}

async fn stands_below(store: &dyn StateStore, chain: &str, sequence: u64) -> Result<bool, StoreError> {
    for below in (sequence.saturating_sub(GAP).max(1)..sequence).rev() {
        if store.get(&store_sink::key(chain, below)).await?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

struct Found {
    path: PathBuf,
    name: Option<Name>,
    /// Which chain it begins with, and where.
    order: (String, u64),
}

/// The files in the order in which they were written, chain by chain. Others that look like audit files are `unknown`.
fn in_order(paths: &[PathBuf], unknown: &mut Vec<PathBuf>) -> Result<Vec<Found>, AuditError> {
    let mut found = Vec::new();
    for path in paths {
        let metadata = std::fs::metadata(path).map_err(|error| AuditError::file(path, &error))?;
        if metadata.is_file() {
            found.push(Found::at(path));
            continue;
        }
        for entry in std::fs::read_dir(path).map_err(|error| AuditError::file(path, &error))? {
            let entry = entry.map_err(|error| AuditError::file(path, &error))?;
            // Nothing but files: whatever else stands there under such a name is not what we wrote.
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            let is_named = Name::read(&entry.file_name().to_string_lossy()).is_some();
            let is_log = entry.path().extension().is_some_and(|extension| extension.eq_ignore_ascii_case("jsonl"));
            if is_file && is_named {
                found.push(Found::at(&entry.path()));
            } else if (is_named || is_log) && unknown.len() < MAX_UNKNOWN {
                unknown.push(entry.path());
            }
            if found.len() > MAX_FILES {
                return Err(AuditError::Settings(format!("more than {MAX_FILES} audit files")));
            }
        }
    }
    found.sort_by(|one, other| (&one.order, &one.path).cmp(&(&other.order, &other.path)));
    found.dedup_by(|one, other| one.path == other.path);
    Ok(found)
}

impl Found {
    /// What its first line says counts; what its name says, if that line is no longer one.
    fn at(path: &Path) -> Self {
        let name = path.file_name().and_then(|name| Name::read(&name.to_string_lossy()));
        let order = match (first_line(path), &name) {
            (Some(sealed), _) => (sealed.links.chain, sealed.links.sequence),
            (None, Some(name)) => (name.chain.clone(), name.first),
            (None, None) => (String::new(), 0),
        };
        Self { path: path.to_owned(), name, order }
    }
}
