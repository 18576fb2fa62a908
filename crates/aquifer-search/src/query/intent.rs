//! Determines whether a task asks for an action or for information.
//!
//! "delete the branch" and "the branch is stale, delete it" ask for an action. "which branches are protected", "is the
//! branch deleted" and "owner of the branch" ask for information. In the second kind the verbs only describe the noun,
//! so they must not rank operations with these verbs higher.

use crate::language::text::is_plural;
use crate::language::thesaurus::{CREATE, EXECUTE, READ, THESAURUS, UPDATE};

/// A word of a task after folding.
pub(crate) struct TaskWord {
    pub(crate) stem: String,
    /// As written, in lower case; for a folded phrase its first word.
    pub(crate) surface: String,
    /// The first word, or the first after punctuation.
    pub(crate) starts: bool,
    /// Whether it stands for a phrase.
    pub(crate) folded: bool,
}

/// What a task asks for.
pub(crate) struct Intent {
    /// The index of the verb that says what to do.
    pub(crate) verb: Option<usize>,
    /// The semantic categories this calls for, as bits.
    pub(crate) categories: u8,
}

impl Intent {
    /// Reads the intent of a task.
    pub(crate) fn parse(words: &[TaskWord]) -> Self {
        let mut later = None;
        for (start, first) in words.iter().enumerate().filter(|(_, word)| word.starts) {
            let asks_how = first.surface == "how";
            let fillers =
                words.iter().skip(start).take_while(|word| !is_request(word) && THESAURUS.is_filler(&word.surface));
            let at = start + fillers.count();
            if is_request_at(words, at) {
                return intent_at(words, at, asks_how);
            }
            if is_unknown_request(words, at) {
                return Intent { verb: Some(at), categories: 0 };
            }
            if !words.get(at).is_some_and(|word| THESAURUS.is_question(&word.surface)) {
                let to = words
                    .iter()
                    .enumerate()
                    .skip(at)
                    .find(|(at, word)| word.surface == "to" && is_request_at(words, at + 1));
                later = later.or(to.map(|(at, _)| at + 1));
            }
        }
        match later {
            Some(at) => intent_at(words, at, false),
            None => wanted_state(words).unwrap_or(Intent { verb: None, categories: READ }),
        }
    }
}

/// "this conversation is settled" says what the state should be, so it asks to change it. The verb is the one that
/// describes the state.
fn wanted_state(words: &[TaskWord]) -> Option<Intent> {
    const MAX_SUBJECT_WORDS: usize = 4;
    words.first().filter(|first| THESAURUS.is_statement_opener(&first.surface))?;
    let mut subject = words.iter().take(1 + MAX_SUBJECT_WORDS);
    let copula = subject.position(|word| THESAURUS.is_copula(&word.surface) || is_state_phrase(word))?;
    let state = words.iter().enumerate().skip(copula).find_map(|(at, word)| {
        let categories = THESAURUS.action(&word.stem)? & !READ;
        (categories != 0).then_some((at, categories))
    });
    Some(match state {
        Some((at, categories)) => Intent { verb: Some(at), categories: categories | UPDATE },
        None => Intent { verb: None, categories: CREATE | UPDATE | EXECUTE },
    })
}

fn is_state_phrase(word: &TaskWord) -> bool {
    word.folded && THESAURUS.action(&word.stem).is_some_and(|categories| categories & READ == 0)
}

fn intent_at(words: &[TaskWord], at: usize, asks_how: bool) -> Intent {
    let mut categories = words.get(at).and_then(|word| THESAURUS.action(&word.stem)).unwrap_or(0);
    // "open an issue" creates one; "open the issue" reads an existing one.
    let next = words.get(at + 1).map(|word| word.surface.as_str());
    if categories & CREATE != 0 && categories & READ != 0 {
        match next {
            Some("a" | "an" | "another" | "new") => categories &= !READ,
            Some("the" | "this" | "that" | "my" | "these" | "those") => categories &= !CREATE,
            _ => {}
        }
    }
    Intent { verb: Some(at), categories: if asks_how { categories | READ } else { categories } }
}

fn is_request(word: &TaskWord) -> bool {
    if word.folded { THESAURUS.action(&word.stem).is_some() } else { THESAURUS.is_request(&word.surface) }
}

/// "abandon the draft": a verb that the tables do not contain, or only with a particle.
fn is_unknown_request(words: &[TaskWord], at: usize) -> bool {
    let (Some(word), Some(next)) = (words.get(at), words.get(at + 1)) else {
        return false;
    };
    let is_unknown = !THESAURUS.knows(&word.stem) || THESAURUS.needs_particle(&word.stem);
    !word.folded && is_unknown && !is_plural(&word.surface) && THESAURUS.is_determiner(&next.surface)
}

fn is_request_at(words: &[TaskWord], at: usize) -> bool {
    let Some(word) = words.get(at) else {
        return false;
    };
    let is_noun =
        THESAURUS.is_verb_or_noun(&word.surface) && words.get(at + 1).is_some_and(|next| is_plural(&next.surface));
    is_request(word) && !is_noun
}
