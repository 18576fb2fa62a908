//! Pages of text: cut where a reader would cut, never inside a character, however many code points it is made of.

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

/// Looking for the end of a character goes no further than this: text from outside may never have one.
const WINDOW: usize = 1_024;

/// The page that begins here: no more than so many bytes, and no more than so many characters where that was asked for.
pub fn page(text: &str, from: usize, bytes: usize, characters: Option<usize>) -> TextPage<'_> {
    let rest = text.get(from..).unwrap_or_default();
    let counted = characters.and_then(|most| rest.char_indices().nth(most.max(1))).map_or(rest.len(), |(at, _)| at);
    let wanted = counted.min(bytes.max(1));
    if wanted >= rest.len() {
        return TextPage { text: rest, start: from, next: None };
    }
    let end = cut(rest, wanted, characters.is_none());
    let next = (end < rest.len()).then_some(from + end);
    TextPage { text: rest.get(..end).unwrap_or_default(), start: from, next }
}

/// The best place to cut near `wanted`, and not after it as long as there is one before.
fn cut(text: &str, wanted: usize, freely: bool) -> usize {
    let wanted = floor(text, wanted);
    if freely {
        // After a line, if one ends in the last quarter; nobody counts on the size of such a page.
        let tail = floor(text, wanted - wanted / 4);
        if let Some(line) = text.get(tail..wanted).and_then(|tail| tail.rfind('\n')) {
            return tail + line + 1;
        }
    }
    let (start, stop) = (floor(text, wanted.saturating_sub(WINDOW)), floor(text, wanted + WINDOW / 4));
    let window = text.get(start..stop).unwrap_or_default();
    let boundaries = || window.grapheme_indices(true).map(|(at, _)| start + at);
    match boundaries().take_while(|at| *at <= wanted).last() {
        Some(at) if at > start => at,
        // The first character is longer than the page: it is shown whole, unless it has no end within reach.
        _ if start == 0 => {
            let end = if stop == text.len() { stop } else { wanted };
            boundaries().find(|at| *at > wanted).unwrap_or(end).max(first_length(text))
        }
        _ => wanted,
    }
}

fn first_length(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

/// The nearest place between two code points, at `index` or before it.
fn floor(text: &str, index: usize) -> usize {
    let mut index = index.min(text.len());
    while !text.is_char_boundary(index) {
        index -= 1;
    }
    index
}

impl TextPage<'_> {
    /// The `data` of the answer, with the cursor of the next page.
    pub fn write(&self, cursor: Option<String>) -> Value {
        let mut info = Map::new();
        info.insert("hasNextPage".to_owned(), self.next.is_some().into());
        info.insert("hasPreviousPage".to_owned(), (self.start > 0).into());
        if let Some(cursor) = cursor.filter(|_| self.next.is_some()) {
            info.insert("endCursor".to_owned(), cursor.into());
        }
        json!({ "text": self.text, "pageInfo": info })
    }

    /// Says that there is more.
    pub fn warning(&self, whole: &str) -> Option<Warning> {
        let next = self.next?;
        Some(
            Warning::new("RESULT_PAGED", "The text goes on: call again with 'endCursor' as 'after'")
                .detail("shown_bytes", next)
                .detail("total_bytes", whole.len()),
        )
    }
}
