//! Reads entries from the files of a directory.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::io;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};

use super::EntryQuery;
use super::backward::BackwardLines;
use super::cursor::Cursor;
use super::page::{EntryPage, PageBuilder, Progress, time};
use crate::audit::AuditError;
use crate::audit::retention::first_line;

/// Maximum number of files.
const MAX_FILES: usize = 100_000;

/// Maximum number of files whose lines are buffered, because they cover the same time. The lines of further ones are
/// read one by one.
const MAX_BUFFERED_FILES: usize = 1_000;

/// A file that begins this long after a position is not searched for entries before it. Clocks may be set back, so its
/// first entry need not be its oldest.
const CLOCK_TOLERANCE: SignedDuration = SignedDuration::from_hours(1);

/// The newest entries of all `.jsonl` files in this directory. Blocks while reading.
pub fn read_files(directory: &Path, query: &EntryQuery) -> Result<EntryPage, AuditError> {
    let end = query.end();
    let mut files = BinaryHeap::new();
    for path in list(directory)? {
        files.extend(LogFile::open(&path, &end).map_err(|error| AuditError::file(&path, &error))?);
    }
    let mut page = PageBuilder::new(query);
    let mut buffered_files = 0;
    while let Some(mut file) = files.pop() {
        let progress = page.add(file.position.time, &file.line);
        if progress == Progress::Over {
            break;
        }
        let position = file.position.clone();
        buffered_files -= usize::from(file.lines.is_buffering());
        if file.advance().map_err(|error| AuditError::file(&file.path, &error))? {
            if buffered_files >= MAX_BUFFERED_FILES {
                file.lines.release();
            }
            buffered_files += usize::from(file.lines.is_buffering());
            files.push(file);
        }
        if progress == Progress::Full {
            return Ok(page.finish((!files.is_empty()).then_some(position)));
        }
    }
    Ok(page.finish(None))
}

/// A file and its newest entry that was not read yet.
struct LogFile {
    path: PathBuf,
    position: Cursor,
    line: Vec<u8>,
    /// The lines before it.
    lines: BackwardLines,
}

impl LogFile {
    /// Opens a file at its newest entry before `end`. `None` if there is none.
    fn open(path: &Path, end: &Cursor) -> io::Result<Option<Self>> {
        let length = match std::fs::metadata(path) {
            // It was dropped since the directory was listed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?.len(),
        };
        let place = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_same = place == end.place;
        if !is_same && begins_after(path, end.time) {
            return Ok(None);
        }
        let (time, index) = if is_same { (end.time, end.index.min(length)) } else { (Timestamp::MAX, length) };
        let mut file = Self {
            path: path.to_owned(),
            position: Cursor { time, place, index },
            line: Vec::new(),
            lines: BackwardLines::before(path, index),
        };
        while file.advance()? {
            if file.position < *end {
                file.lines.release();
                return Ok(Some(file));
            }
        }
        Ok(None)
    }

    /// Goes to the entry before this one. Returns whether there is one. An entry never counts as newer than those after
    /// it in its file, so that the order is the same for every page even if the clock was set back.
    fn advance(&mut self) -> io::Result<bool> {
        while let Some((index, line)) = self.lines.next()? {
            if let Some(time) = time(&line) {
                (self.position.time, self.position.index) = (time.min(self.position.time), index);
                self.line = line;
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether all entries of a file are newer than this, judging from the first one.
fn begins_after(path: &Path, time: Timestamp) -> bool {
    let begin = first_line(path).and_then(|sealed| sealed.header.timestamp);
    begin.is_some_and(|begin| begin.duration_since(time) > CLOCK_TOLERANCE)
}

impl PartialEq for LogFile {
    fn eq(&self, other: &Self) -> bool {
        self.position == other.position
    }
}

impl Eq for LogFile {}

impl PartialOrd for LogFile {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for LogFile {
    fn cmp(&self, other: &Self) -> Ordering {
        self.position.cmp(&other.position)
    }
}

fn list(directory: &Path) -> Result<Vec<PathBuf>, AuditError> {
    let unreadable = |error: &io::Error| AuditError::file(directory, error);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(|error| unreadable(&error))? {
        let entry = entry.map_err(|error| unreadable(&error))?;
        let is_log = entry.path().extension().is_some_and(|extension| extension == "jsonl");
        if is_log && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            files.push(entry.path());
        }
        if files.len() > MAX_FILES {
            return Err(AuditError::Settings(format!("more than {MAX_FILES} audit files")));
        }
    }
    Ok(files)
}
