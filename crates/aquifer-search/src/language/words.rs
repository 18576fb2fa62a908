//! Tables of synonyms and phrases that people use instead of the word that a tool's author chose, in `words/`.
//!
//! Only general technical knowledge belongs there. An entry that helps a single server is wrong: it improves the
//! measured figures and worsens the results on other servers.
//!
//! A group reads `core | fringe`. Core words are synonyms of each other. A fringe word leads to the core words and, more
//! weakly, the core words to it. The fringe words of a group are not related to each other.

const EVERYDAY: &str = include_str!("../../words/everyday.txt");
const HINTS: &str = include_str!("../../words/hints.txt");
const LISTS: &str = include_str!("../../words/lists.txt");
const NOUNS: &str = include_str!("../../words/nouns.txt");
const PHRASES: &str = include_str!("../../words/phrases.txt");
const SPELLINGS: &str = include_str!("../../words/spellings.txt");
const VERBS: &str = include_str!("../../words/verbs.txt");

/// The category of expressions that do not find an operation on their own.
pub(crate) const HINT: &str = "?";

/// The words of a list.
pub(crate) fn list(name: &str) -> impl Iterator<Item = &'static str> {
    let lines = pairs(LISTS, ':').filter(move |(list, _)| *list == name);
    lines.flat_map(|(_, words)| words.split_whitespace())
}

/// Spellings, each with the word that it stands for.
pub(crate) fn spellings() -> impl Iterator<Item = (&'static str, &'static str)> {
    pairs(SPELLINGS, '=')
}

/// Stopwords that hint at an operation, with the words that such operations contain.
pub(crate) fn hints() -> impl Iterator<Item = (&'static str, &'static str)> {
    pairs(HINTS, '=')
}

/// Phrases, the words they are folded to, and whether their single words stay findable.
pub(crate) fn phrases() -> impl Iterator<Item = (&'static str, &'static str, bool)> {
    pairs(PHRASES, '=').map(|(phrase, to)| match phrase.strip_suffix('+') {
        Some(phrase) => (phrase, to, true),
        None => (phrase, to, false),
    })
}

/// Groups of verbs, each with its category.
pub(crate) fn verbs() -> impl Iterator<Item = (&'static str, &'static str)> {
    pairs(VERBS, ':')
}

/// Groups of nouns.
pub(crate) fn nouns() -> impl Iterator<Item = &'static str> {
    entries(NOUNS)
}

/// The categories, expressions and meanings of everyday expressions.
pub(crate) fn everyday() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    pairs(EVERYDAY, ':').filter_map(|(categories, entry)| {
        let (expressions, meanings) = entry.split_once('=')?;
        Some((categories, expressions, meanings))
    })
}

fn pairs(table: &'static str, separator: char) -> impl Iterator<Item = (&'static str, &'static str)> {
    let both = entries(table).filter_map(move |entry| entry.split_once(separator));
    both.map(|(left, right)| (left.trim(), right.trim()))
}

/// The lines of a table that are neither empty nor comments.
fn entries(table: &'static str) -> impl Iterator<Item = &'static str> {
    table.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::thesaurus::category_bit;

    #[test]
    fn no_entry_is_malformed() {
        for (table, separator, read) in [
            (EVERYDAY, ':', everyday().count()),
            (HINTS, '=', hints().count()),
            (LISTS, ':', pairs(LISTS, ':').count()),
            (NOUNS, ' ', nouns().count()),
            (PHRASES, '=', phrases().count()),
            (SPELLINGS, '=', spellings().count()),
            (VERBS, ':', verbs().count()),
        ] {
            assert_eq!(read, entries(table).count());
            assert!(read > 10 && entries(table).all(|entry| entry.matches(separator).count() >= 1));
        }
        let categories = verbs().map(|(category, _)| category).chain(everyday().map(|(categories, ..)| categories));
        for category in categories.flat_map(str::split_whitespace) {
            assert!(category == HINT || category_bit(category) != 0, "{category}");
        }
    }
}
