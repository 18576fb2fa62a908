//! Expands a word of a task to the terms of the catalog that it may mean.

use crate::index::lexicon::TermId;
use crate::index::search_index::SearchIndex;
use crate::language::text::{self, LetterCounts};
use crate::language::thesaurus::THESAURUS;
use crate::tuning;

/// How many terms with the same prefix are examined.
const MAX_PREFIX_MATCHES: usize = 24;

impl SearchIndex {
    /// The term of a stem, if an operation contains it.
    pub(crate) fn id(&self, stem: &str) -> Option<TermId> {
        let id = *self.ids.get(stem)?;
        self.terms.get(id as usize).is_some_and(|term| term.strong + term.weak > 0).then_some(id)
    }

    /// The word itself and the words that mean the same.
    pub(crate) fn meanings(&self, stem: &str, synonyms: f32) -> Vec<(TermId, f32)> {
        let itself = self.id(stem).map(|id| (id, 1.0));
        let related = THESAURUS.related(stem).iter();
        itself
            .into_iter()
            .chain(related.filter_map(|(stem, weight)| Some((self.id(stem)?, weight * synonyms))))
            .collect()
    }

    /// Words of names that begin with this one: `config` finds `configuration`. Three letters are the prefix of too
    /// many words, so they are tried only if the word is otherwise `unknown`.
    pub(crate) fn prefix_matches(&self, stem: &str, unknown: bool) -> Vec<(TermId, f32)> {
        let length = stem.chars().count();
        if length < 3 || (length == 3 && !unknown) {
            return Vec::new();
        }
        let term = |id: &TermId| self.terms.get(*id as usize);
        let from = self.sorted.partition_point(|id| term(id).is_some_and(|term| &*term.text < stem));
        self.sorted
            .iter()
            .skip(from)
            .map_while(|id| term(id).filter(|term| term.text.starts_with(stem)).map(|term| (id, term)))
            .take(MAX_PREFIX_MATCHES)
            .filter(|(_, term)| term.in_names && term.text.len() > stem.len())
            .map(|(id, term)| (*id, tuning::PREFIX * stem.len() as f32 / term.text.len() as f32))
            .collect()
    }

    /// Guesses what an unknown word means: two words joined, or a word with a typo.
    pub(crate) fn guess_terms(&self, surface: &str, stem: &str) -> Vec<(TermId, f32)> {
        if stem.chars().any(char::is_numeric) {
            return Vec::new();
        }
        for (first, second) in text::halves(surface) {
            if let (Some(first), Some(second)) =
                (self.id(&THESAURUS.normalize(first)), self.id(&THESAURUS.normalize(second)))
            {
                return vec![(first, tuning::JOINED), (second, tuning::JOINED)];
            }
        }
        let typos = Typos::new(stem);
        let mut guesses: Vec<(TermId, f32)> = (0..)
            .zip(&self.terms)
            .filter(|(_, term)| term.strong > 0)
            .filter_map(|(id, term)| Some((id, tuning::TYPO / typos.distance_to(&term.text, &term.letters)? as f32)))
            .collect();
        if guesses.is_empty() {
            for word in THESAURUS.known_words() {
                if typos.distance_to(word, &LetterCounts::new(word)).is_some() {
                    guesses.extend(self.meanings(word, tuning::TYPO));
                }
            }
        }
        guesses
    }

    /// The verb that an unknown word at the start of a task probably means.
    pub(crate) fn misspelled_verb(&self, surface: &str) -> Option<&'static str> {
        let stem = THESAURUS.normalize(surface);
        if self.id(&stem).is_some() || THESAURUS.knows(&stem) {
            return None;
        }
        let typos = Typos::new(surface);
        let near =
            THESAURUS.verbs().filter_map(|verb| Some((typos.distance_to(verb, &LetterCounts::new(verb))?, verb)));
        near.min().map(|(_, verb)| verb)
    }
}

/// Measures the edit distance from a word that may be misspelled.
struct Typos<'w> {
    word: &'w str,
    letters: LetterCounts,
    max_typos: usize,
}

impl<'w> Typos<'w> {
    fn new(word: &'w str) -> Self {
        let max_typos = match word.chars().count() {
            0..=3 => 0,
            4..=6 => 1,
            _ => 2,
        };
        Self { word, letters: LetterCounts::new(word), max_typos }
    }

    /// The number of typos between the word and `other`, if it is at least 1 and within the limit.
    fn distance_to(&self, other: &str, letters: &LetterCounts) -> Option<usize> {
        if other.len().abs_diff(self.word.len()) > 2 * self.max_typos
            || !letters.may_be_within(&self.letters, self.max_typos)
        {
            return None;
        }
        let typos = strsim::osa_distance(other, self.word);
        (1..=self.max_typos).contains(&typos).then_some(typos)
    }
}
