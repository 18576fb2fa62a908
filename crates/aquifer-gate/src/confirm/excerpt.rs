//! Shortens the long texts of a call for a question: the beginning, the end, and the links, addresses and accounts in
//! between. What is left out is counted. An approval shows the whole text.

use std::collections::HashSet;

use super::render::quote;
use crate::destination::{is_mention, words};

/// Maximum number of characters of a text that a question shows whole.
const MAX_WHOLE_CHARS: usize = 1_000;

/// Number of characters of the beginning of a longer text.
const BEGINNING_CHARS: usize = 600;

/// Number of characters of the end of a longer text.
const END_CHARS: usize = 200;

/// Maximum number of links, addresses and accounts that are listed.
const MAX_LISTED: usize = 20;

/// Maximum number of characters of one of them.
const MAX_LISTED_CHARS: usize = 120;

/// A text that is too long for a question.
pub(super) struct Excerpt<'a> {
    pub(super) beginning: &'a str,
    pub(super) end: &'a str,
    /// What is left out, in brackets. It is never quoted, and text of the call always is.
    pub(super) note: String,
}

/// Shortens a text. `None` if it is shown whole.
pub(super) fn shorten(text: &str) -> Option<Excerpt<'_>> {
    let total = text.chars().count();
    if total <= MAX_WHOLE_CHARS {
        return None;
    }
    let index = |chars: usize| text.char_indices().nth(chars).map_or(text.len(), |(index, _)| index);
    let (from, until) = (index(BEGINNING_CHARS), index(total - END_CHARS));
    let omitted = total - BEGINNING_CHARS - END_CHARS;
    let listed = find_places(text, from, until);
    let mut note = format!("[{omitted} of {total} characters not shown");
    if !listed.is_empty() {
        let shown: Vec<String> = listed.iter().take(MAX_LISTED).map(|place| quote(&cut(place))).collect();
        note.push_str(&format!("; links, addresses and accounts in them: {}", shown.join(", ")));
        if let Some(more) = listed.len().checked_sub(MAX_LISTED).filter(|more| *more > 0) {
            note.push_str(&format!(" and {more} more"));
        }
    }
    note.push(']');
    Some(Excerpt { beginning: text.get(..from).unwrap_or_default(), end: text.get(until..).unwrap_or_default(), note })
}

fn cut(place: &str) -> String {
    match place.char_indices().nth(MAX_LISTED_CHARS) {
        None => place.to_owned(),
        Some((end, _)) => format!("{}…", place.get(..end).unwrap_or_default()),
    }
}

/// The links, addresses and accounts that are not shown whole: those that reach into the part between the offsets. Each
/// once.
fn find_places(text: &str, from: usize, until: usize) -> Vec<&str> {
    let mut seen = HashSet::new();
    let is_cut = |start: usize, word: &str| start + word.len() > from && start < until;
    let cut = words(text).filter(|(start, word)| is_cut(*start, word)).map(|(_, word)| word);
    cut.filter(|word| is_mention(word) && seen.insert(*word)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn r_saf_9_a_long_text_keeps_its_links_and_accounts() {
        assert!(shorten(&"x".repeat(1_000)).is_none());
        let filler = "word ".repeat(600);
        let text = format!(
            "Dear all, {filler}see <http://evil.example/a?b=c>, (www.x.org). Pay US133000000121212121212, {filler} the end"
        );
        let excerpt = shorten(&text).unwrap();
        assert!(excerpt.beginning.starts_with("Dear all, word") && excerpt.end.ends_with("the end"));
        let total = text.chars().count();
        assert_eq!(
            excerpt.note,
            format!(
                "[{} of {total} characters not shown; links, addresses and accounts in them: \
                 \"http://evil.example/a?b=c\", \"www.x.org\", \"US133000000121212121212\"]",
                total - 800
            )
        );
        // A link that crosses the border is shown whole, too.
        let text = format!("{}https://evil.example/{} {filler}", "x".repeat(590), "y".repeat(50));
        let text = text.replacen("xhttps", "x https", 1);
        assert!(
            shorten(&text).unwrap().note.contains("\"https://evil.example/yyyy"),
            "{}",
            shorten(&text).unwrap().note
        );
    }

    #[test]
    fn r_saf_9_links_and_accounts_are_recognized() {
        for place in [
            "https://a.b",
            "javascript://x",
            "www.a.b",
            "a@b.co",
            "bit.ly/3x",
            "US133000000121212121212",
            "DE89370400440532013000",
            "+49-170-1234567",
            "1234567890",
            "@all",
        ] {
            assert!(is_mention(place), "{place}");
        }
        for word in ["hello", "2026-01-01", "12345", "e.g", "and/or", "CamelCaseIdentifier", "3.14159"] {
            assert!(!is_mention(word), "{word}");
        }
    }

    #[test]
    fn r_saf_9_decoys_are_counted() {
        let text: String = (0..500).map(|number| format!("http://a.b/{number} ")).collect();
        let note = shorten(&text).unwrap().note;
        assert!(note.contains("\"http://a.b/"), "{note}");
        assert!(note.ends_with(" more]") && note.chars().count() < 1_000, "{note}");
    }
}
