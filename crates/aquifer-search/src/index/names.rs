//! Finds an operation by its name, however it is spelled.

use std::collections::{HashMap, HashSet};

use crate::language::text::{LetterCounts, camel_parts, squash_name};
use crate::language::thesaurus::THESAURUS;

/// How a query matches the name of an operation, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NameMatch {
    /// The same name; case, dashes, spaces and camelCase are ignored.
    Exact,
    /// The name without the prefix that it shares with its siblings.
    WithoutPrefix,
    /// One of the above with typos; the number grows with them.
    Near(usize),
}

struct Spelling {
    squash_name: Box<str>,
    letters: LetterCounts,
    position: u32,
    name_match: NameMatch,
}

/// The names of a catalog.
pub(crate) struct NameIndex {
    exact: HashMap<Box<str>, Vec<(u32, NameMatch)>>,
    /// By length, to find similar names.
    by_length: Vec<Vec<Spelling>>,
}

/// Longer names are not searched with typos.
const MAX_FUZZY_NAME_LEN: usize = 80;
/// How many words of a query are tried as names.
const MAX_QUERY_WORDS: usize = 64;
/// The longest prefix, in words.
const MAX_PREFIX_WORDS: usize = 3;

/// How many typos a name of this length tolerates.
fn max_typos(length: usize) -> usize {
    match length {
        0..=4 => 0,
        5..=8 => 1,
        _ => 2,
    }
}

impl NameIndex {
    /// Takes the squashed names of the operations, and the same names as words.
    pub(crate) fn new(names: Vec<String>, words: &[Vec<String>]) -> Self {
        let mut this = Self { exact: HashMap::new(), by_length: Vec::new() };
        let prefixes = Prefixes::new(words);
        for (position, (name, words)) in (0_u32..).zip(names.into_iter().zip(words)) {
            this.add(name, position, NameMatch::Exact);
            for rest in prefixes.strip(words) {
                this.add(rest, position, NameMatch::WithoutPrefix);
            }
        }
        this
    }

    fn add(&mut self, squash_name: String, position: u32, name_match: NameMatch) {
        if squash_name.is_empty() {
            return;
        }
        let length = squash_name.chars().count();
        if max_typos(length) > 0 && length <= MAX_FUZZY_NAME_LEN {
            if self.by_length.len() <= length {
                self.by_length.resize_with(length + 1, Vec::new);
            }
            let letters = LetterCounts::new(&squash_name);
            if let Some(list) = self.by_length.get_mut(length) {
                list.push(Spelling { squash_name: squash_name.as_str().into(), letters, position, name_match });
            }
        }
        self.exact.entry(squash_name.into()).or_default().push((position, name_match));
    }

    /// The operations that `query` names, best first. A name inside a sentence counts if it is written as an
    /// identifier.
    pub(crate) fn find(&self, query: &str) -> Vec<(u32, NameMatch)> {
        let spelled = query
            .split_whitespace()
            .take(MAX_QUERY_WORDS)
            .filter(|word| word.contains('_') || !camel_parts(word).is_empty());
        let mut matches: Vec<(u32, NameMatch)> =
            spelled.filter_map(|word| self.exact.get(squash_name(word).as_str())).flatten().copied().collect();
        let query = squash_name(query);
        matches.extend(self.exact.get(query.as_str()).into_iter().flatten());
        let length = query.chars().count();
        let max_typos = max_typos(length);
        if max_typos > 0 && length <= MAX_FUZZY_NAME_LEN + max_typos {
            let letters = LetterCounts::new(&query);
            for spelling in self.by_length.iter().take(length + max_typos + 1).skip(length - max_typos).flatten() {
                if !spelling.letters.may_be_within(&letters, max_typos) {
                    continue;
                }
                let typos = strsim::osa_distance(&spelling.squash_name, &query);
                if (1..=max_typos).contains(&typos) {
                    let prefix_matches = usize::from(spelling.name_match == NameMatch::WithoutPrefix);
                    matches.push((spelling.position, NameMatch::Near(2 * typos + prefix_matches)));
                }
            }
        }
        matches.sort_by_key(|(position, name_match)| (*name_match, *position));
        let mut seen = HashSet::new();
        matches.retain(|(position, _)| seen.insert(*position));
        matches
    }
}

/// The first words that several names share: `gitlab_…`, `browser_…`, `storage_blob_…`.
struct Prefixes<'n> {
    shared: HashMap<&'n [String], usize>,
    /// How many names share the words after a prefix.
    rests: HashMap<&'n [String], usize>,
    verbs: HashMap<&'n str, bool>,
}

impl<'n> Prefixes<'n> {
    fn new(names: &'n [Vec<String>]) -> Self {
        let mut this = Self { shared: HashMap::new(), rests: HashMap::new(), verbs: HashMap::new() };
        for word in names.iter().flatten() {
            let verb = || THESAURUS.action(&THESAURUS.normalize(word)).is_some();
            this.verbs.entry(word).or_insert_with(verb);
        }
        for words in names {
            for (prefix, rest) in this.cuts(words) {
                *this.shared.entry(prefix).or_default() += 1;
                *this.rests.entry(rest).or_default() += 1;
            }
        }
        this
    }

    /// The possible splits of a name into prefix and rest. A verb such as `create` is not part of a prefix.
    fn cuts<'w>(&self, words: &'w [String]) -> Vec<(&'w [String], &'w [String])> {
        let verb = |word: &String| self.verbs.get(word.as_str()) == Some(&true);
        let plain = words.iter().take_while(|word| !verb(word)).count();
        let max_words = plain.min(MAX_PREFIX_WORDS).min(words.len().saturating_sub(1));
        (1..=max_words).filter_map(|at| words.split_at_checked(at)).collect()
    }

    /// The name without its prefixes. A single remaining word counts only if no other operation ends in it: `list`
    /// identifies nothing.
    fn strip(&self, words: &[String]) -> Vec<String> {
        self.cuts(words)
            .into_iter()
            .filter(|(prefix, _)| self.shared.get(prefix).is_some_and(|names| *names > 1))
            .filter(|(_, rest)| rest.len() > 1 || self.rests.get(rest) == Some(&1))
            .map(|(_, rest)| rest.concat())
            .collect()
    }
}
