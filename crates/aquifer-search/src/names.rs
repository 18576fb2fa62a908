//! Finding an operation by its own name, however it is spelled.

use std::collections::{HashMap, HashSet};

use super::text::{Letters, camel_parts, squeezed};
use super::thesaurus::THESAURUS;

/// How a query names an operation, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Naming {
    /// The same name: case, dashes, spaces and camelCase do not count.
    Exact,
    /// The name without the prefix that it shares with its siblings.
    WithoutPrefix,
    /// One of these but for typos; the number grows with them.
    Near(usize),
}

struct Spelling {
    squeezed: Box<str>,
    letters: Letters,
    position: u32,
    naming: Naming,
}

/// All names of a catalog.
pub(super) struct Names {
    exact: HashMap<Box<str>, Vec<(u32, Naming)>>,
    /// By length, to find those that are near.
    by_length: Vec<Vec<Spelling>>,
}

/// The longest name that typos are looked for in.
const MAX_LEN: usize = 80;
/// How many words of a query may be names.
const WORDS: usize = 64;
/// How many words a prefix may have.
const PREFIX_WORDS: usize = 3;

/// How many typos are forgiven in a name of this length.
fn forgiven(length: usize) -> usize {
    match length {
        0..=4 => 0,
        5..=8 => 1,
        _ => 2,
    }
}

impl Names {
    /// The operations' names, squeezed, and the same as words.
    pub(super) fn new(names: Vec<String>, words: &[Vec<String>]) -> Self {
        let mut this = Self { exact: HashMap::new(), by_length: Vec::new() };
        let prefixes = Prefixes::of(words);
        for (position, (name, words)) in (0_u32..).zip(names.into_iter().zip(words)) {
            this.add(name, position, Naming::Exact);
            for rest in prefixes.strip(words) {
                this.add(rest, position, Naming::WithoutPrefix);
            }
        }
        this
    }

    fn add(&mut self, squeezed: String, position: u32, naming: Naming) {
        if squeezed.is_empty() {
            return;
        }
        let length = squeezed.chars().count();
        if forgiven(length) > 0 && length <= MAX_LEN {
            if self.by_length.len() <= length {
                self.by_length.resize_with(length + 1, Vec::new);
            }
            let letters = Letters::of(&squeezed);
            if let Some(list) = self.by_length.get_mut(length) {
                list.push(Spelling { squeezed: squeezed.as_str().into(), letters, position, naming });
            }
        }
        self.exact.entry(squeezed.into()).or_default().push((position, naming));
    }

    /// The operations that `query` names, best first. A name may also stand in a sentence, if it is
    /// spelled as one.
    pub(super) fn find(&self, query: &str) -> Vec<(u32, Naming)> {
        let spelled =
            query.split_whitespace().take(WORDS).filter(|word| word.contains('_') || !camel_parts(word).is_empty());
        let mut found: Vec<(u32, Naming)> =
            spelled.filter_map(|word| self.exact.get(squeezed(word).as_str())).flatten().copied().collect();
        let query = squeezed(query);
        found.extend(self.exact.get(query.as_str()).into_iter().flatten());
        let length = query.chars().count();
        let most = forgiven(length);
        if most > 0 && length <= MAX_LEN + most {
            let letters = Letters::of(&query);
            for spelling in self.by_length.iter().take(length + most + 1).skip(length - most).flatten() {
                if !spelling.letters.within(&letters, most) {
                    continue;
                }
                let typos = strsim::osa_distance(&spelling.squeezed, &query);
                if (1..=most).contains(&typos) {
                    let prefixed = usize::from(spelling.naming == Naming::WithoutPrefix);
                    found.push((spelling.position, Naming::Near(2 * typos + prefixed)));
                }
            }
        }
        found.sort_by_key(|(position, naming)| (*naming, *position));
        let mut seen = HashSet::new();
        found.retain(|(position, _)| seen.insert(*position));
        found
    }
}

/// The first words that several names share: `gitlab_…`, `browser_…`, `storage_blob_…`.
struct Prefixes<'n> {
    shared: HashMap<&'n [String], usize>,
    /// How many names end in the same words after some prefix.
    rests: HashMap<&'n [String], usize>,
    verbs: HashMap<&'n str, bool>,
}

impl<'n> Prefixes<'n> {
    fn of(names: &'n [Vec<String>]) -> Self {
        let mut this = Self { shared: HashMap::new(), rests: HashMap::new(), verbs: HashMap::new() };
        for word in names.iter().flatten() {
            let verb = || THESAURUS.action(&THESAURUS.normal(word)).is_some();
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

    /// Where a name may be cut into prefix and rest: `create_…` is a verb and no prefix.
    fn cuts<'w>(&self, words: &'w [String]) -> Vec<(&'w [String], &'w [String])> {
        let verb = |word: &String| self.verbs.get(word.as_str()) == Some(&true);
        let plain = words.iter().take_while(|word| !verb(word)).count();
        let most = plain.min(PREFIX_WORDS).min(words.len().saturating_sub(1));
        (1..=most).filter_map(|at| words.split_at_checked(at)).collect()
    }

    /// The name without its prefixes. A single word left over counts only if no other operation
    /// ends in it: `list` names nothing.
    fn strip(&self, words: &[String]) -> Vec<String> {
        self.cuts(words)
            .into_iter()
            .filter(|(prefix, _)| self.shared.get(prefix).is_some_and(|names| *names > 1))
            .filter(|(_, rest)| rest.len() > 1 || self.rests.get(rest) == Some(&1))
            .map(|(_, rest)| rest.concat())
            .collect()
    }
}
