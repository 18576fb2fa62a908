//! Pages of text, split at line ends where possible and never inside a grapheme.

use aquifer_protocol::warning::Warning;
use serde_json::{Map, Value, json};

use crate::budget::{Budget, cut_position};
use crate::value::grapheme::{first_char_len, split_position};

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
        let end = split_position(rest, wanted, max_chars.is_none());
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
