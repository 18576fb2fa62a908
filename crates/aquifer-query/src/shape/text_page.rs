//! Pages of text, split at line ends where possible and never inside a grapheme.

use crate::budget::{Budget, cut_position};
use aquifer_protocol::warning::Warning;
use serde_json::{Map, Value, json};
use unicode_segmentation::UnicodeSegmentation;

/// One page of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextPage<'a> {
    /// The page.
    pub text: &'a str,
    /// Where it begins.
    pub start: usize,
    /// Where the next one begins, if there is one.
    pub next: Option<usize>,
}

/// The tokens around a page of text: the names, the flags and the cursor.
const TEXT_PAGE: usize = 60;

/// How far to search for the end of a grapheme. Hostile text may contain an endless one.
const MAX_GRAPHEME_BYTES: usize = 1_024;

/// The best split position near `wanted`, at or before it if possible.
fn cut(text: &str, wanted: usize, at_lines: bool) -> usize {
    let wanted = floor_char_boundary(text, wanted);
    if at_lines {
        // After a line, if one ends in the last quarter. The caller did not set the size of this page.
        let tail = floor_char_boundary(text, wanted - wanted / 4);
        if let Some(line) = text.get(tail..wanted).and_then(|tail| tail.rfind('\n')) {
            return tail + line + 1;
        }
    }
    let (start, stop) = (
        floor_char_boundary(text, wanted.saturating_sub(MAX_GRAPHEME_BYTES)),
        floor_char_boundary(text, wanted + MAX_GRAPHEME_BYTES / 4),
    );
    let window = text.get(start..stop).unwrap_or_default();
    let boundaries = || window.grapheme_indices(true).map(|(at, _)| start + at);
    match boundaries().take_while(|at| *at <= wanted).last() {
        Some(at) if at > start => at,
        // The first grapheme is longer than the page. It is shown in full, unless its end is too far away.
        _ if start == 0 => {
            let end = if stop == text.len() { stop } else { wanted };
            boundaries().find(|at| *at > wanted).unwrap_or(end).max(first_char_len(text))
        }
        _ => wanted,
    }
}

/// The nearest position at or before `wanted` where no grapheme is split.
pub(crate) fn grapheme_boundary(text: &str, wanted: usize) -> usize {
    if wanted == 0 { 0 } else { cut(text, wanted, false).min(text.len()) }
}

fn first_char_len(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

/// The nearest character boundary at or before `index`.
fn floor_char_boundary(text: &str, index: usize) -> usize {
    let mut index = index.min(text.len());
    while !text.is_char_boundary(index) {
        index -= 1;
    }
    index
}

impl<'a> TextPage<'a> {
    /// The page that starts at `from`, within the limits.
    pub fn new(text: &'a str, from: usize, max_bytes: usize, max_chars: Option<usize>) -> Self {
        Self::within(text, from, max_bytes, max_chars, None)
    }

    /// Like [`new`](Self::new), within a budget as well.
    pub fn within(
        text: &'a str,
        from: usize,
        max_bytes: usize,
        max_chars: Option<usize>,
        max_tokens: Option<usize>,
    ) -> Self {
        let rest = text.get(from..).unwrap_or_default();
        let max_bytes = max_tokens.map_or(max_bytes, |max_tokens| {
            let room = Budget::new(max_tokens).remaining().saturating_sub(TEXT_PAGE);
            max_bytes.min(cut_position(rest, room).max(first_char_len(rest)))
        });
        let counted = max_chars.and_then(|max| rest.char_indices().nth(max.max(1))).map_or(rest.len(), |(at, _)| at);
        let wanted = counted.min(max_bytes.max(1));
        if wanted >= rest.len() {
            return Self { text: rest, start: from, next: None };
        }
        let end = cut(rest, wanted, max_chars.is_none());
        let next = (end < rest.len()).then_some(from + end);
        Self { text: rest.get(..end).unwrap_or_default(), start: from, next }
    }

    /// The `data` of the response, with the cursor of the next page.
    pub fn write(&self, cursor: Option<String>) -> Value {
        let mut info = Map::new();
        info.insert("hasNextPage".to_owned(), self.next.is_some().into());
        info.insert("hasPreviousPage".to_owned(), (self.start > 0).into());
        if let Some(cursor) = cursor.filter(|_| self.next.is_some()) {
            info.insert("endCursor".to_owned(), cursor.into());
        }
        json!({ "text": self.text, "pageInfo": info })
    }

    /// The warning that there is more text.
    pub fn warning(&self, whole: &str) -> Option<Warning> {
        let next = self.next?;
        Some(
            Warning::new("RESULT_PAGED", "The text continues: call again with 'endCursor' as 'after'")
                .detail("shown_bytes", next)
                .detail("total_bytes", whole.len())
                .before_data(),
        )
    }
}
