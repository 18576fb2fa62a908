//! The terms of the catalog that one word of a task may stand for.

use super::SearchIndex;
use super::lexicon::TermId;
use super::text::{self, Letters};
use super::thesaurus::THESAURUS;
use super::tuning;

/// How many words that begin with a given one are looked at.
const PREFIXED: usize = 24;

impl SearchIndex {
    /// The term of a stem, if some operation has it.
    pub(super) fn id(&self, stem: &str) -> Option<TermId> {
        let id = *self.ids.get(stem)?;
        self.terms.get(id as usize).is_some_and(|term| term.strong + term.weak > 0).then_some(id)
    }

    /// The word itself and the words that mean the same.
    pub(super) fn meanings(&self, stem: &str, synonyms: f32) -> Vec<(TermId, f32)> {
        let itself = self.id(stem).map(|id| (id, 1.0));
        let related = THESAURUS.related(stem).iter();
        itself
            .into_iter()
            .chain(related.filter_map(|(stem, weight)| Some((self.id(stem)?, weight * synonyms))))
            .collect()
    }

    /// Words of names that begin with this one: `config` finds `configuration`. A word of three
    /// letters begins too many, so it is tried only if it is `unknown` otherwise.
    pub(super) fn prefixed(&self, stem: &str, unknown: bool) -> Vec<(TermId, f32)> {
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
            .take(PREFIXED)
            .filter(|(_, term)| term.in_names && term.text.len() > stem.len())
            .map(|(id, term)| (*id, tuning::PREFIX * stem.len() as f32 / term.text.len() as f32))
            .collect()
    }

    /// What a word that nobody knows may have been meant to be: two words run together, or a word
    /// with a typo.
    pub(super) fn guesses(&self, surface: &str, stem: &str) -> Vec<(TermId, f32)> {
        if stem.chars().any(char::is_numeric) {
            return Vec::new();
        }
        for (first, second) in text::halves(surface) {
            if let (Some(first), Some(second)) = (self.id(&THESAURUS.normal(first)), self.id(&THESAURUS.normal(second)))
            {
                return vec![(first, tuning::JOINED), (second, tuning::JOINED)];
            }
        }
        let typos = Typos::of(stem);
        let mut found: Vec<(TermId, f32)> = (0..)
            .zip(&self.terms)
            .filter(|(_, term)| term.strong > 0)
            .filter_map(|(id, term)| Some((id, tuning::TYPO / typos.to(&term.text, &term.letters)? as f32)))
            .collect();
        if found.is_empty() {
            for word in THESAURUS.known_words() {
                if typos.to(word, &Letters::of(word)).is_some() {
                    found.extend(self.meanings(word, tuning::TYPO));
                }
            }
        }
        found
    }

    /// The verb that a word at the start of a task was meant to be, if nobody knows the word.
    pub(super) fn misspelled_verb(&self, surface: &str) -> Option<&'static str> {
        let stem = THESAURUS.normal(surface);
        if self.id(&stem).is_some() || THESAURUS.knows(&stem) {
            return None;
        }
        let typos = Typos::of(surface);
        let near = THESAURUS.verbs().filter_map(|verb| Some((typos.to(verb, &Letters::of(verb))?, verb)));
        near.min().map(|(_, verb)| verb)
    }
}

/// Measures how far words are from one that may be misspelled.
struct Typos<'w> {
    word: &'w str,
    letters: Letters,
    most: usize,
}

impl<'w> Typos<'w> {
    fn of(word: &'w str) -> Self {
        let most = match word.chars().count() {
            0..=3 => 0,
            4..=6 => 1,
            _ => 2,
        };
        Self { word, letters: Letters::of(word), most }
    }

    /// The number of typos that lead to `other`, if it is at least one and few enough.
    fn to(&self, other: &str, letters: &Letters) -> Option<usize> {
        if other.len().abs_diff(self.word.len()) > 2 * self.most || !letters.within(&self.letters, self.most) {
            return None;
        }
        let typos = strsim::osa_distance(other, self.word);
        (1..=self.most).contains(&typos).then_some(typos)
    }
}
