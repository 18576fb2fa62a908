//! Interns the words of a catalog while the index is built.

use std::collections::HashMap;

use crate::language::phrase::{FoldedWord, Phrase, fold};
use crate::language::text;
use crate::language::thesaurus::THESAURUS;

/// The number of a stem: its index among the terms.
pub(crate) type TermId = u32;

/// Maps words to term ids.
pub(crate) struct Lexicon {
    ids: HashMap<Box<str>, TermId>,
    texts: Vec<Box<str>>,
    /// Words as written, in lower case, so that each is stemmed once.
    surfaces: HashMap<Box<str>, TermId>,
    phrases: HashMap<TermId, Vec<Phrase<TermId>>>,
    /// Terms below this may start a phrase.
    phrase_starts: TermId,
    stopwords: Vec<bool>,
    lower: String,
}

impl Lexicon {
    pub(crate) fn new() -> Self {
        let mut this = Self {
            ids: HashMap::new(),
            texts: Vec::new(),
            surfaces: HashMap::new(),
            phrases: HashMap::new(),
            phrase_starts: 0,
            stopwords: Vec::new(),
            lower: String::new(),
        };
        // Sorted, because term ids must not depend on the iteration order of a hash map.
        let mut starts: Vec<&String> = THESAURUS.phrases.keys().collect();
        starts.sort();
        for start in &starts {
            this.phrase_starts = this.term(start) + 1;
        }
        for start in starts {
            let id = this.term(start);
            let stems = THESAURUS.phrases.get(start).map(Vec::as_slice).unwrap_or_default();
            let phrases = stems
                .iter()
                .map(|phrase| Phrase {
                    rest: phrase.rest.iter().map(|stem| this.term(stem)).collect(),
                    to: phrase.to.iter().map(|stem| this.term(stem)).collect(),
                    keeps_parts: phrase.keeps_parts,
                })
                .collect();
            this.phrases.insert(id, phrases);
        }
        this
    }

    /// The id of a stem, assigned on first use.
    fn term(&mut self, stem: &str) -> TermId {
        if let Some(id) = self.ids.get(stem) {
            return *id;
        }
        let id = TermId::try_from(self.texts.len()).unwrap_or(TermId::MAX);
        self.ids.insert(stem.into(), id);
        self.texts.push(stem.into());
        self.stopwords.push(THESAURUS.is_stopword(stem));
        id
    }

    fn surface(&mut self, raw: &str) -> TermId {
        self.lower.clear();
        text::push_lower(raw, &mut self.lower);
        if let Some(id) = self.surfaces.get(self.lower.as_str()) {
            return *id;
        }
        let stem = THESAURUS.normalize(&self.lower);
        let id = self.term(&stem);
        self.surfaces.insert(self.lower.as_str().into(), id);
        id
    }

    /// The terms of prose. A camelCase word counts as itself and as its parts.
    pub(crate) fn prose(&mut self, text: &str) -> Vec<FoldedWord<TermId>> {
        let mut terms = Vec::with_capacity(text.len() / 6);
        text::raw_words(text, |raw| {
            terms.push(self.surface(raw));
            if raw.bytes().skip(1).any(|b| b.is_ascii_uppercase()) {
                terms.extend(text::camel_parts(raw).iter().map(|part| self.surface(part)));
            }
        });
        self.fold(&terms)
    }

    /// The terms of an identifier and the words they came from. A camelCase word counts as its
    /// parts only.
    pub(crate) fn identifier(&mut self, name: &str) -> (Vec<FoldedWord<TermId>>, Vec<String>) {
        let mut words = Vec::new();
        text::raw_words(name, |raw| {
            let parts = text::camel_parts(raw);
            if parts.is_empty() { words.push(raw.to_lowercase()) } else { words.extend(parts) }
        });
        let terms: Vec<TermId> = words.iter().map(|word| self.surface(word)).collect();
        (self.fold(&terms), words)
    }

    fn fold(&self, terms: &[TermId]) -> Vec<FoldedWord<TermId>> {
        fold(terms, |first| if *first < self.phrase_starts { self.phrases.get(first).map(Vec::as_slice) } else { None })
    }

    /// The term of a word, if the catalog contains it.
    pub(crate) fn find(&self, word: &str) -> Option<TermId> {
        self.surfaces.get(word).copied().or_else(|| self.ids.get(THESAURUS.normalize(word).as_str()).copied())
    }

    pub(crate) fn is_stopword(&self, term: TermId) -> bool {
        self.stopwords.get(term as usize).copied().unwrap_or(false)
    }

    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }

    pub(crate) fn into_parts(self) -> (HashMap<Box<str>, TermId>, Vec<Box<str>>) {
        (self.ids, self.texts)
    }
}
