//! The words with which a source begins the names of its tools: `github` in `github_list_issues`.

use aquifer_protocol::case::snake_identifier;
use aquifer_protocol::inflect::without_s;

use super::verbs::effect_of_word;

/// Words in names of servers and tools that say nothing about either.
const GENERIC_WORDS: &[&str] = &["mcp", "server", "api"];

/// The names of a source, without separators. A tool's name may begin with one of them.
#[derive(Debug, Clone, Default)]
pub struct OwnPrefix(Vec<String>);

impl OwnPrefix {
    /// The prefix of a source with these names: the operator's and the server's own.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        // A verb says what a tool does, even if the source has its name.
        let has_verb = |name: &String| name.split('_').any(|word| matches!(effect_of_word(word), Some((_, true))));
        let snake = names.into_iter().map(snake_identifier).filter(|name| !has_verb(name));
        let joined = snake.map(|name| name.split('_').filter(|word| !GENERIC_WORDS.contains(word)).collect::<String>());
        Self(joined.filter(|name| !name.is_empty()).collect())
    }

    /// How many words of a name belong to the prefix. The last word never does.
    pub fn count_words(&self, words: &[&str]) -> usize {
        let generic = usize::from(words.len() > 1 && words.first().is_some_and(|word| GENERIC_WORDS.contains(word)));
        let longest = (generic + 1..words.len()).rev().find(|end| {
            let joined: String = words.get(generic..*end).unwrap_or_default().concat();
            self.0.iter().any(|name| without_s(name) == without_s(&joined))
        });
        longest.unwrap_or(generic)
    }
}
