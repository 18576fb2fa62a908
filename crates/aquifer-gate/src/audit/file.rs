//! Audit files: appended to, synced, and rotated when they grow too large.
//!
//! Only synced lines count. After a failed write, the file is truncated to its last good line before anything else is
//! written. A file that another program changed is evidence and is never modified again.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use aquifer_system::FileId;
use jiff::Timestamp;

use super::AuditError;
use super::line::ChainTip;

/// Writes the files of the current chain.
#[derive(Debug)]
pub(super) struct Files {
    directory: PathBuf,
    /// A file that would exceed this size is followed by a new one.
    size: u64,
    open: Option<OpenFile>,
}

#[derive(Debug)]
struct OpenFile {
    file: File,
    path: PathBuf,
    /// Number of bytes that are synced.
    length: u64,
    /// Whether the file may contain bytes that are not synced.
    dirty: bool,
}

/// Where the next lines are written.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Destination {
    /// The open file.
    CurrentFile,
    /// A new file of the same chain.
    NextFile,
    /// A new chain: none exists yet, or another program changed the current file.
    NewChain,
}

impl Files {
    /// Creates the directory if necessary and checks that files can be created in it.
    pub(super) fn new(directory: &Path, size: u64, chain: &str) -> Result<Self, AuditError> {
        let files = Self { directory: directory.to_owned(), size, open: None };
        files.make_directory().map_err(|error| AuditError::file(directory, &error))?;
        let probe = directory.join(format!(".audit-probe-{chain}"));
        create(&probe).map_err(|error| AuditError::file(&probe, &error))?;
        std::fs::remove_file(&probe).map_err(|error| AuditError::file(&probe, &error))?;
        Ok(files)
    }

    /// The directory.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The maximum size of a file.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// The name of the open file.
    pub(super) fn current(&self) -> Option<String> {
        Some(self.open.as_ref()?.path.file_name()?.to_string_lossy().into_owned())
    }

    /// Chooses where the next `more` bytes are written. Truncates the open file after a failed write.
    pub(super) fn choose_destination(&mut self, more: usize) -> Result<Destination, AuditError> {
        let Some(open) = &mut self.open else { return Ok(Destination::NewChain) };
        let there = match std::fs::symlink_metadata(&open.path) {
            Ok(there) => there,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Destination::NewChain),
            Err(error) => return Err(AuditError::file(&open.path, &error)),
        };
        let ours = open.file.metadata().map_err(|error| AuditError::file(&open.path, &error))?;
        if FileId::new(&there) != FileId::new(&ours) {
            return Ok(Destination::NewChain);
        }
        if open.dirty && ours.len() >= open.length {
            match open.file.set_len(open.length).and_then(|()| open.file.sync_all()) {
                Ok(()) => open.dirty = false,
                // The file is append-only for us, so it cannot be truncated.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(Destination::NewChain),
                Err(error) => return Err(AuditError::file(&open.path, &error)),
            }
        } else if ours.len() != open.length {
            return Ok(Destination::NewChain);
        }
        let fits = open.length.saturating_add(more as u64) <= self.size;
        Ok(if fits || open.length == 0 { Destination::CurrentFile } else { Destination::NextFile })
    }

    /// Appends to the open file. Returns when the bytes are on disk.
    pub(super) fn append(&mut self, lines: &[u8]) -> Result<(), AuditError> {
        let Some(open) = &mut self.open else { return Err(AuditError::Closed) };
        open.dirty = true;
        open.file
            .write_all(lines)
            .and_then(|()| open.file.sync_data())
            .map_err(|error| AuditError::file(&open.path, &error))?;
        open.dirty = false;
        open.length = open.length.saturating_add(lines.len() as u64);
        Ok(())
    }

    /// Starts a new file with these lines. If this fails, the current file stays open.
    pub(super) fn begin(&mut self, name: &str, lines: &[u8]) -> Result<(), AuditError> {
        let path = self.directory.join(name);
        match self.try_begin(&path, lines) {
            Ok(file) => {
                self.open = Some(OpenFile { file, path, length: lines.len() as u64, dirty: false });
                Ok(())
            }
            Err(error) => {
                // Best effort: nothing in this file was acknowledged, and the next attempt removes it anyway.
                let _ = std::fs::remove_file(&path);
                Err(AuditError::file(&path, &error))
            }
        }
    }

    fn try_begin(&self, path: &Path, lines: &[u8]) -> io::Result<File> {
        self.make_directory()?;
        let mut file = match create(path) {
            // Nobody else knows the chain's id, so an earlier attempt of ours left this file behind.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                std::fs::remove_file(path)?;
                create(path)?
            }
            other => other?,
        };
        // The lock is held while the file is open, so that no process drops it. Failing to lock is harmless, because
        // the oldest files are dropped first.
        let _ = file.try_lock();
        file.write_all(lines)?;
        file.sync_all()?;
        aquifer_system::sync_directory(&self.directory)?;
        Ok(file)
    }

    fn make_directory(&self) -> io::Result<()> {
        aquifer_system::create_private_directory(&self.directory)
    }
}

fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create_new(true);
    aquifer_system::make_private(&mut options);
    options.open(path)
}

/// The parts of an audit file's name: the chain and the number of its first line. The start time in the name is only
/// informative.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileName {
    pub(super) chain: String,
    pub(super) first: u64,
}

impl FileName {
    /// Formats the name of the file whose first line follows `tip`.
    pub(super) fn format(chain: &str, started: Timestamp, tip: &ChainTip) -> String {
        let stamp: String = started.to_string().chars().take(19).filter(char::is_ascii_alphanumeric).collect();
        format!("audit-{stamp}Z-{chain}-{:012}.jsonl", tip.sequence.saturating_add(1))
    }

    /// Parses a name written by [`format`](FileName::format).
    pub(super) fn parse(name: &str) -> Option<Self> {
        let mut parts = name.strip_prefix("audit-")?.strip_suffix(".jsonl")?.split('-');
        let (_stamp, chain, first) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() || chain.len() != 32 || !chain.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        Some(Self { chain: chain.to_owned(), first: first.parse().ok()? })
    }
}
