//! Verifies the audit: no line was altered, moved or removed.
//!
//! Verification streams: it reads one line at a time and keeps little state per chain. Chains are verified
//! independently. Only the first fault of a chain is reported, because the lines after it prove nothing.

mod lines;
mod report;
mod strict;
mod verifier;

use std::fs::File;
use std::path::{Path, PathBuf};

use aquifer_engine::store::{StateStore, StoreError};

use super::AuditError;
use super::file::FileName;
use super::head::Heads;
use super::line;
use super::retention::{first_line, in_use};
use super::store_sink;

use lines::{Line, Lines};
pub use report::ChainReport;
pub use report::Fault;
pub use report::FaultKind;
pub use report::Location;
pub use report::Report;
pub use strict::Problem;
pub use strict::ProblemKind;
use verifier::Verifier;

/// Maximum number of files.
const MAX_FILES: usize = 100_000;
/// Maximum number of lines after the head that are counted in a store.
const MAX_LINES_BEYOND_HEAD: u64 = 4096;
/// Maximum number of unknown files that are reported.
const MAX_UNKNOWN_FILES: usize = 100;
/// How many positions below a missing line are searched in the store.
const MAX_GAP: u64 = 64;

/// Verifies the audit files with these paths; a directory stands for all audit files in it. Load the heads before
/// calling this, because processes may be writing. Without heads, missing lines at the end go undetected. Blocks while
/// reading.
pub fn verify(paths: &[PathBuf], heads: Option<&Heads>) -> Result<Report, AuditError> {
    let mut verifier = Verifier::new(heads);
    let (mut empty, mut unknown) = (Vec::new(), Vec::new());
    for file in list_files(paths, &mut unknown)? {
        // The file may have been dropped since the directory was listed; its chain records that.
        let opened = match File::open(&file.path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            other => other.map_err(|error| AuditError::file(&file.path, &error))?,
        };
        verifier.file(&file.path, file.name.map(|name| name.chain));
        let mut lines = Lines::new(opened);
        let mut is_empty = true;
        while let Some(line) = lines.next().map_err(|error| AuditError::file(&file.path, &error))? {
            is_empty = false;
            match line {
                Line::Whole(text) => match line::parse(text) {
                    Ok(sealed) => verifier.line(sealed),
                    Err(flaw) => verifier.invalid_line(flaw),
                },
                Line::TooLong => verifier.invalid_line(line::LineError::Form),
                Line::Unfinished => verifier.unfinished(in_use(&file.path)),
            }
        }
        if is_empty && !in_use(&file.path) {
            empty.push(file.path);
        }
    }
    Ok(Report { empty, unknown, ..verifier.into_report() })
}

/// Whether a process is currently writing any of these audit files, as far as the file system can tell.
pub fn is_being_written(paths: &[PathBuf]) -> bool {
    let files = list_files(paths, &mut Vec::new()).unwrap_or_default();
    files.iter().any(|file| in_use(&file.path))
}

/// Verifies the lines in a store, from the head of each chain back to its oldest line.
pub async fn verify_store(store: &dyn StateStore, heads: &Heads) -> Result<Report, StoreError> {
    let mut report = Report::default();
    report.unreadable_heads(heads);
    for head in &heads.known {
        let mut chain = ChainReport::new(&head.chain);
        let (mut sequence, mut hash) = (head.sequence, head.hash.clone());
        while sequence > 0 {
            let spot = Location { file: store_sink::key(&head.chain, sequence).into(), line: sequence };
            let Some(record) = store.get(&store_sink::key(&head.chain, sequence)).await? else {
                // Lines expire in order, so a missing line with an older line still present did not expire.
                if chain.entries == 0 || has_earlier_line(store, &head.chain, sequence).await? {
                    chain.fault = Some(Fault::new(FaultKind::Removed, spot, format!("entry {sequence} is missing")));
                }
                break;
            };
            match line::parse(&record.value) {
                Ok(sealed) if sealed.hash == hash && sealed.header.sequence == sequence => {
                    hash = sealed.header.previous
                }
                _ => {
                    chain.fault = Some(Fault::new(FaultKind::Altered, spot, format!("entry {sequence} was altered")));
                    break;
                }
            }
            chain.entries += 1;
            sequence -= 1;
        }
        chain.has_head = true;
        chain.first = sequence + 1;
        chain.last = head.sequence;
        while chain.beyond_head < MAX_LINES_BEYOND_HEAD
            && store.get(&store_sink::key(&head.chain, chain.last.saturating_add(1))).await?.is_some()
        {
            chain.last = chain.last.saturating_add(1);
            chain.beyond_head += 1;
        }
        report.add(chain);
    }
    Ok(report)
}

async fn has_earlier_line(store: &dyn StateStore, chain: &str, sequence: u64) -> Result<bool, StoreError> {
    for below in (sequence.saturating_sub(MAX_GAP).max(1)..sequence).rev() {
        if store.get(&store_sink::key(chain, below)).await?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

struct ListedFile {
    path: PathBuf,
    name: Option<FileName>,
    /// The chain and number of its first line.
    order: (String, u64),
}

/// Lists the files in the order in which they were written, chain by chain. Files that only look like audit files are
/// added to `unknown`.
fn list_files(paths: &[PathBuf], unknown: &mut Vec<PathBuf>) -> Result<Vec<ListedFile>, AuditError> {
    let mut files = Vec::new();
    for path in paths {
        let metadata = std::fs::metadata(path).map_err(|error| AuditError::file(path, &error))?;
        if metadata.is_file() {
            files.push(ListedFile::new(path));
            continue;
        }
        for entry in std::fs::read_dir(path).map_err(|error| AuditError::file(path, &error))? {
            let entry = entry.map_err(|error| AuditError::file(path, &error))?;
            // We write only regular files.
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            let is_named = FileName::parse(&entry.file_name().to_string_lossy()).is_some();
            let is_log = entry.path().extension().is_some_and(|extension| extension.eq_ignore_ascii_case("jsonl"));
            if is_file && is_named {
                files.push(ListedFile::new(&entry.path()));
            } else if (is_named || is_log) && unknown.len() < MAX_UNKNOWN_FILES {
                unknown.push(entry.path());
            }
            if files.len() > MAX_FILES {
                return Err(AuditError::Settings(format!("more than {MAX_FILES} audit files")));
            }
        }
    }
    files.sort_by(|one, other| (&one.order, &one.path).cmp(&(&other.order, &other.path)));
    files.dedup_by(|one, other| one.path == other.path);
    Ok(files)
}

impl ListedFile {
    /// Ordered by the first line, or by the name if that line is invalid.
    fn new(path: &Path) -> Self {
        let name = path.file_name().and_then(|name| FileName::parse(&name.to_string_lossy()));
        let order = match (first_line(path), &name) {
            (Some(sealed), _) => (sealed.header.chain, sealed.header.sequence),
            (None, Some(name)) => (name.chain.clone(), name.first),
            (None, None) => (String::new(), 0),
        };
        Self { path: path.to_owned(), name, order }
    }
}
