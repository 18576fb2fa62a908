//! Drops the oldest files when there are too many.
//!
//! Dropping is recorded: before the files are deleted, the new beginning of every affected chain is written to the
//! current chain and to the heads of those chains. This distinguishes a dropped file from one that was removed by hand.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Serialize;

use super::file::FileName;
use super::head::Beginning;
use super::line;

/// Maximum number of files dropped at once; the rest are dropped the next time.
const MAX_DROPPED_AT_ONCE: usize = 64;
/// Maximum number of files in a directory, whatever their size.
const MAX_FILES: usize = 4096;

/// The files to drop, as written to the audit.
#[derive(Debug, Serialize)]
pub(super) struct Plan {
    event: &'static str,
    files: Vec<String>,
    pub(super) beginnings: Vec<Beginning>,
    #[serde(skip)]
    paths: Vec<PathBuf>,
}

struct AuditFile {
    path: PathBuf,
    name: String,
    size: u64,
    modified: SystemTime,
}

/// Chooses the files to drop so that at most `max_bytes` remain. `None` if nothing has to be dropped.
pub(super) fn plan(directory: &Path, max_bytes: u64, current: Option<&str>) -> io::Result<Option<Plan>> {
    let mut chains: BTreeMap<String, BTreeMap<u64, AuditFile>> = BTreeMap::new();
    let mut ages: BTreeSet<(SystemTime, String, u64)> = BTreeSet::new();
    let (mut bytes, mut count) = (0_u64, 0_usize);
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(FileName { chain, first }) = FileName::parse(&name) else { continue };
        let Some(metadata) = entry.metadata().ok().filter(std::fs::Metadata::is_file) else { continue };
        let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        bytes = bytes.saturating_add(metadata.len());
        count += 1;
        ages.insert((modified, chain.clone(), first));
        let file = AuditFile { path: entry.path(), name, size: metadata.len(), modified };
        chains.entry(chain).or_default().insert(first, file);
    }
    let mut plan = Plan { event: "FILES_DROPPED", files: Vec::new(), beginnings: Vec::new(), paths: Vec::new() };
    let mut touched = BTreeSet::new();
    for (_, chain, _) in ages {
        if (bytes <= max_bytes && count <= MAX_FILES) || plan.files.len() >= MAX_DROPPED_AT_ONCE {
            break;
        }
        // Drop the first file of a chain first, regardless of modification times, so that the chain has no gap.
        let Some(entry) = chains.get_mut(&chain).and_then(|files| files.first_entry()) else { continue };
        if Some(entry.get().name.as_str()) == current || in_use(&entry.get().path) {
            continue;
        }
        let file = entry.remove();
        tracing::debug!(file = file.name, modified = ?file.modified, "dropping an audit file");
        bytes = bytes.saturating_sub(file.size);
        count -= 1;
        plan.files.push(file.name);
        plan.paths.push(file.path);
        touched.insert(chain);
    }
    for chain in touched {
        let rest = chains.get(&chain).and_then(|files| files.first_key_value());
        let (sequence, previous) = match rest {
            // If this line was altered, the chain begins with a fault and verification reports it.
            Some((first, file)) => {
                (*first, first_line(&file.path).map(|sealed| sealed.header.previous).unwrap_or_default())
            }
            None => (u64::MAX, String::new()),
        };
        plan.beginnings.push(Beginning { chain, sequence, previous, gone: rest.is_none() });
    }
    Ok((!plan.files.is_empty()).then_some(plan))
}

impl Plan {
    /// Deletes the files.
    pub(super) fn delete_files(&self) {
        for path in &self.paths {
            if let Err(error) = std::fs::remove_file(path) {
                tracing::warn!(file = %path.display(), %error, "an old audit file could not be deleted");
            }
        }
    }
}

/// Whether a process is writing this file.
pub(super) fn in_use(path: &Path) -> bool {
    match File::open(path) {
        Ok(file) => matches!(file.try_lock_shared(), Err(std::fs::TryLockError::WouldBlock)),
        Err(_) => true,
    }
}

/// The first line of a file, if it is valid.
pub(super) fn first_line(path: &Path) -> Option<line::SealedLine> {
    let mut text = Vec::new();
    BufReader::new(File::open(path).ok()?).take(line::MAX_LINE_BYTES as u64 + 1).read_until(b'\n', &mut text).ok()?;
    line::parse(text.strip_suffix(b"\n")?).ok()
}
