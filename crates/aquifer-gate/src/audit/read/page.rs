//! Collects the entries of a page, and decides when it ends.

use jiff::Timestamp;
use serde_json::Value;

use super::cursor::Cursor;
use super::filter::LineMatcher;
use super::{EntryFilter, EntryQuery};

/// Maximum size of the entries of a page.
const MAX_PAGE_BYTES: usize = 64 * 1024 * 1024;

/// Maximum size of the lines that are examined for a page. As much as the files hold with default settings.
const MAX_EXAMINED_BYTES: usize = 256 * 1024 * 1024;

/// Some entries, newest first.
#[derive(Debug, Clone, Default)]
pub struct EntryPage {
    /// The entries as written, each a JSON object on one line.
    pub entries: Vec<String>,
    /// Where to go on. `None` if there are no older entries. A page may have less entries than wanted, or none, and
    /// still be followed by another.
    pub next: Option<Cursor>,
}

/// Whether the page needs more lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// It does.
    Continue,
    /// It has all entries it can have; older ones follow on the next page.
    Full,
    /// No older entry is wanted.
    Over,
}

/// Takes lines, newest first.
pub(super) struct PageBuilder {
    entries: Vec<String>,
    matcher: LineMatcher,
    from: Option<Timestamp>,
    limit: usize,
    kept_bytes: usize,
    examined_bytes: usize,
}

impl PageBuilder {
    pub(super) fn new(query: &EntryQuery) -> Self {
        let EntryFilter { from, .. } = query.filter;
        Self {
            entries: Vec::new(),
            matcher: query.filter.matcher(),
            from,
            limit: query.limit.max(1),
            kept_bytes: 0,
            examined_bytes: 0,
        }
    }

    /// Examines the next line.
    pub(super) fn add(&mut self, time: Timestamp, line: &[u8]) -> Progress {
        if self.from.is_some_and(|from| time < from) {
            return Progress::Over;
        }
        self.examined_bytes = self.examined_bytes.saturating_add(line.len());
        let text = String::from_utf8_lossy(line);
        if self.matcher.matches(&text) {
            self.kept_bytes = self.kept_bytes.saturating_add(text.len());
            self.entries.push(text.into_owned());
        }
        let is_full = self.entries.len() >= self.limit
            || self.kept_bytes >= MAX_PAGE_BYTES
            || self.examined_bytes >= MAX_EXAMINED_BYTES;
        if is_full { Progress::Full } else { Progress::Continue }
    }

    /// The page, followed by what comes after `next`.
    pub(super) fn finish(self, next: Option<Cursor>) -> EntryPage {
        EntryPage { entries: self.entries, next }
    }
}

/// When a line was written. `None` if it is not an entry.
pub(super) fn time(line: &[u8]) -> Option<Timestamp> {
    written_time(line).or_else(|| {
        let entry: Value = serde_json::from_slice(line).ok()?;
        entry.get("timestamp")?.as_str()?.parse().ok()
    })
}

/// The time at the place where the writer puts it. Parsing every line would be slow.
fn written_time(line: &[u8]) -> Option<Timestamp> {
    let rest = line.strip_prefix(br#"{"sequence":"#)?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = rest.get(digits..)?.strip_prefix(br#","timestamp":""#)?;
    let end = rest.iter().take(64).position(|byte| *byte == b'"')?;
    std::str::from_utf8(rest.get(..end)?).ok()?.parse().ok()
}
