//! The words with which a source begins the names of its operations: `github` in `github_list_issues`, `notes` in
//! `notes_create`.
//!
//! A verb counts only after such words, because an unknown first word may be a verb of any kind (`suspend_create_user`). A
//! word is known to be none by the names of the source, by tags and paths, or by the other operations of the source: before
//! at least two different verbs (`notes_create`, `notes_list`) it is what they act on. A single tool cannot show that about
//! its own name.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use aquifer_protocol::case::snake_identifier;
use aquifer_protocol::inflect::without_s;

use super::verbs::effect_of_word;
use super::words::{self, Place};

/// Words in names of servers and tools that say nothing about either.
const GENERIC_WORDS: &[&str] = &["mcp", "server", "api"];

/// Maximum number of words that operations share before their verbs: `jira_sprint_issues` in `jira_sprint_issues_list`.
const MAX_SHARED_WORDS: usize = 6;

/// The words before the verb of a name.
#[derive(Debug, Clone, Default)]
pub struct OwnPrefix {
    /// The names of the source, without separators.
    names: Vec<String>,
    /// Whether several of them may follow each other: a tag, and then a part of the path.
    is_chain: bool,
    shared: SharedPrefixes,
}

impl OwnPrefix {
    /// The prefix of a source with these names: the operator's and the server's own.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        // A verb says what a tool does, even if the source has its name.
        let has_verb = |name: &String| name.split('_').any(is_verb);
        let snake = names.into_iter().map(snake_identifier).filter(|name| !has_verb(name));
        let joined = snake.map(|name| name.split('_').filter(|word| !GENERIC_WORDS.contains(word)).collect::<String>());
        Self { names: joined.filter(|name| !name.is_empty()).collect(), ..Self::default() }
    }

    /// The prefix of a server: its name here, its own name, and what its tools have in common.
    pub fn of_server<'a>(source: &str, server: Option<&str>, tools: impl IntoIterator<Item = &'a str>) -> Self {
        Self::new(std::iter::once(source).chain(server)).with_shared(SharedPrefixes::find(tools))
    }

    /// The prefix of a request with these tags and this path.
    pub fn of_route<'a>(tags: impl IntoIterator<Item = &'a str>, path: &'a str) -> Self {
        Self { is_chain: true, ..Self::new(tags.into_iter().chain(resource_segments(path))) }
    }

    /// The same prefix, and what the operations of the source have in common.
    #[must_use]
    pub fn with_shared(self, shared: SharedPrefixes) -> Self {
        Self { shared, ..self }
    }

    /// How many words of a name belong to the prefix. The last word never does.
    pub fn count_words(&self, words: &[&str]) -> usize {
        let mut known = usize::from(words.len() > 1 && words.first().is_some_and(|word| GENERIC_WORDS.contains(word)));
        while let Some(end) = (known + 1..words.len()).rev().find(|end| {
            let joined: String = words.get(known..*end).unwrap_or_default().concat();
            self.names.iter().any(|name| without_s(name) == without_s(&joined))
        }) {
            known = end;
            if !self.is_chain {
                break;
            }
        }
        known.max(self.shared.count_words(words))
    }
}

/// The parts of a path that name what a request is about. The last one may be what is done (`/users/{id}/suspend`), unless
/// it is a plural (`/notes`).
fn resource_segments(path: &str) -> impl Iterator<Item = &str> {
    let path = path.split('?').next().unwrap_or_default();
    let mut segments = path.split('/').filter(|segment| !segment.is_empty() && !segment.contains('{')).peekable();
    std::iter::from_fn(move || {
        let segment = segments.next()?;
        let is_plural = segment.ends_with('s') && !segment.ends_with("ss");
        (segments.peek().is_some() || is_plural).then_some(segment)
    })
}

/// The words that several operations of a source share before different verbs.
#[derive(Debug, Clone, Default)]
pub struct SharedPrefixes(Arc<HashSet<String>>);

impl SharedPrefixes {
    /// Finds them in the names of all operations.
    pub fn find<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut first_verbs: HashMap<String, String> = HashMap::new();
        let mut shared = HashSet::new();
        for name in names {
            let name = snake_identifier(name);
            let words: Vec<&str> = name.split('_').filter(|word| !word.is_empty()).collect();
            // A verb ends the prefix, so that there is one at most.
            let Some(at) = words.iter().take(MAX_SHARED_WORDS + 1).position(|word| is_verb(word)) else { continue };
            let (Some(before), Some(verb)) = (words.get(..at).filter(|before| !before.is_empty()), words.get(at))
            else {
                continue;
            };
            // `email_customer` sends, even if `email_list` and `email_create` exist.
            if before.iter().any(|word| words::effect(Place::Verb, word).is_some()) {
                continue;
            }
            let prefix = before.join("_");
            if first_verbs.entry(prefix.clone()).or_insert_with(|| (*verb).to_owned()) != verb {
                shared.insert(prefix);
            }
        }
        Self(Arc::new(shared))
    }

    fn count_words(&self, words: &[&str]) -> usize {
        let longest = words.len().saturating_sub(1).min(MAX_SHARED_WORDS);
        if self.0.is_empty() {
            return 0;
        }
        let is_shared = |count: &usize| words.get(..*count).is_some_and(|prefix| self.0.contains(&prefix.join("_")));
        (1..=longest).rev().find(is_shared).unwrap_or_default()
    }
}

/// Whether a word is a verb wherever it stands.
fn is_verb(word: &str) -> bool {
    matches!(effect_of_word(word), Some((_, true)))
}
