//! The position of an entry in the order of reading.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;

/// Longer text is no cursor.
const MAX_CURSOR_LEN: usize = 512;

/// The position of an entry: when it was written, in which file or chain, and where in it. Entries are ordered by time
/// first. The chains of several processes overlap.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor {
    pub(super) time: Timestamp,
    /// The name of the file, or the chain in a store. It is only compared, never opened.
    pub(super) place: String,
    /// The offset of the line in its file, or its number in the chain.
    pub(super) index: u64,
}

/// The text is not a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is not a position in the audit log")]
pub struct CursorError;

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}~{}~{}", self.time, self.index, self.place)
    }
}

impl FromStr for Cursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        if text.len() > MAX_CURSOR_LEN {
            return Err(CursorError);
        }
        let mut parts = text.splitn(3, '~');
        let mut next = || parts.next().ok_or(CursorError);
        let time = next()?.parse().map_err(|_| CursorError)?;
        let index = next()?.parse().map_err(|_| CursorError)?;
        Ok(Self { time, place: next()?.to_owned(), index })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_back_and_other_text_is_refused() {
        let cursor = Cursor { time: Timestamp::UNIX_EPOCH, place: "audit-x~y.jsonl".to_owned(), index: 7 };
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for text in ["", "~~", "x~1~y", "1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z~-1~y", &"~".repeat(600)] {
            assert_eq!(text.parse::<Cursor>(), Err(CursorError), "{text}");
        }
    }
}
