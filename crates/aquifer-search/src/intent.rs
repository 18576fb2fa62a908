//! Does a task ask to do something, or to see something?
//!
//! "delete the branch" and "the branch is stale, delete it" ask to do; "which branches are
//! protected", "is the branch deleted" and "owner of the branch" ask to see. In the second kind the
//! verbs only describe the thing, so they must not pull up the operations that do them.

use super::text::is_plural;
use super::thesaurus::{CREATE, READ, THESAURUS};

/// A word of a task after folding.
pub(super) struct Said {
    pub(super) stem: String,
    /// As said, lower case; for a folded phrase its first word.
    pub(super) surface: String,
    /// The first word, or the first after punctuation.
    pub(super) starts: bool,
    /// Stands for a phrase.
    pub(super) folded: bool,
}

/// What a task asks for.
pub(super) struct Intent {
    /// The place of the verb that says what to do.
    pub(super) verb: Option<usize>,
    /// The semantic categories this calls for, as bits.
    pub(super) categories: u8,
}

/// Reads the intent of a task.
pub(super) fn intent(said: &[Said]) -> Intent {
    let mut later = None;
    for (start, first) in said.iter().enumerate().filter(|(_, word)| word.starts) {
        let asks_how = first.surface == "how";
        let fillers =
            said.iter().skip(start).take_while(|word| !is_request(word) && THESAURUS.is_filler(&word.surface));
        let at = start + fillers.count();
        if requests(said, at) {
            return found(said, at, asks_how);
        }
        if is_unknown_request(said, at) {
            return Intent { verb: Some(at), categories: 0 };
        }
        if !said.get(at).is_some_and(|word| THESAURUS.is_question(&word.surface)) {
            let to = said.iter().enumerate().skip(at).find(|(at, word)| word.surface == "to" && requests(said, at + 1));
            later = later.or(to.map(|(at, _)| at + 1));
        }
    }
    match later {
        Some(at) => found(said, at, false),
        None => Intent { verb: None, categories: READ },
    }
}

fn found(said: &[Said], at: usize, asks_how: bool) -> Intent {
    let mut categories = said.get(at).and_then(|word| THESAURUS.action(&word.stem)).unwrap_or(0);
    // "open an issue" speaks of one that is not there yet, "open the issue" of one that is.
    let next = said.get(at + 1).map(|word| word.surface.as_str());
    if categories & CREATE != 0 && categories & READ != 0 {
        match next {
            Some("a" | "an" | "another" | "new") => categories &= !READ,
            Some("the" | "this" | "that" | "my" | "these" | "those") => categories &= !CREATE,
            _ => {}
        }
    }
    Intent { verb: Some(at), categories: if asks_how { categories | READ } else { categories } }
}

fn is_request(word: &Said) -> bool {
    if word.folded { THESAURUS.action(&word.stem).is_some() } else { THESAURUS.is_request(&word.surface) }
}

/// "abandon the draft": a verb that is in no table, or not by itself.
fn is_unknown_request(said: &[Said], at: usize) -> bool {
    let (Some(word), Some(next)) = (said.get(at), said.get(at + 1)) else {
        return false;
    };
    let is_unknown = !THESAURUS.knows(&word.stem) || THESAURUS.is_half_a_verb(&word.stem);
    !word.folded && is_unknown && !is_plural(&word.surface) && THESAURUS.is_determiner(&next.surface)
}

fn requests(said: &[Said], at: usize) -> bool {
    let Some(word) = said.get(at) else {
        return false;
    };
    let thing =
        THESAURUS.is_verb_or_thing(&word.surface) && said.get(at + 1).is_some_and(|next| is_plural(&next.surface));
    is_request(word) && !thing
}
