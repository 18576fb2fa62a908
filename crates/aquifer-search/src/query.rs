//! What a task asks for: its words, each with everything that may be meant by it.

use std::collections::HashSet;

use super::SearchIndex;
use super::intent::{Said, intent};
use super::lexicon::TermId;
use super::phrase::fold;
use super::text;
use super::thesaurus::{CREATE, EXECUTE, THESAURUS};
use super::tuning;

/// What is read of a query.
const WORDS: usize = 64;
pub(super) const CHARACTERS: usize = 1_000;
/// How far a verb's particle may stand from it.
const PARTICLE_DISTANCE: usize = 4;
/// How many words a phrase may have after its first.
const MAX_PHRASE_LEN: usize = 4;
/// How many words that nobody knows are guessed at.
const GUESSES: usize = 8;

/// One word of the task.
pub(super) struct Concept {
    /// The terms it may stand for in the catalog, with how surely; sorted by term.
    pub(super) terms: Vec<(TermId, f32)>,
    /// How much of the ranking hangs on it.
    pub(super) weight: f32,
    pub(super) plural: bool,
    /// Was said and says something. What merely hints cannot find an operation alone.
    pub(super) content: bool,
}

/// A task, understood.
pub(super) struct Query {
    pub(super) concepts: Vec<Concept>,
    /// Semantic categories that the task asks for, as bits.
    pub(super) categories: u8,
}

impl Query {
    fn push(&mut self, mut terms: Vec<(TermId, f32)>, weight: f32, plural: bool, content: bool) {
        tidy(&mut terms);
        self.concepts.push(Concept { terms, weight, plural, content });
    }
}

/// Sorted by term, each once with its surest reading.
fn tidy(terms: &mut Vec<(TermId, f32)>) {
    terms.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    terms.dedup_by_key(|(id, _)| *id);
}

impl SearchIndex {
    /// Reads a task.
    pub(super) fn understand(&self, task: &str) -> Query {
        let said = self.said(task);
        let intent = intent(&said);
        let mut query = Query { concepts: Vec::new(), categories: intent.categories };
        let only_stopwords = said.iter().all(|word| THESAURUS.is_stopword(&word.stem));
        let mut asked = false;
        let mut guesses = 0;
        let mut seen = HashSet::new();
        let mut previous: Option<(usize, &str)> = None;
        for (at, word) in said.iter().enumerate() {
            let verb = intent.verb == Some(at);
            // "show me the issue" is not about me.
            if matches!(word.surface.as_str(), "me" | "us") && at.checked_sub(1) == intent.verb && at > 0 {
                continue;
            }
            if !verb && let Some(hints) = THESAURUS.hints(&word.stem) {
                let own = self.id(&word.stem).map(|id| (id, 1.0));
                let hinted = hints.iter().filter_map(|stem| Some((self.id(stem)?, tuning::HINTED)));
                query.push(own.into_iter().chain(hinted).collect(), tuning::HINT, false, false);
                continue;
            }
            if !verb && !only_stopwords && THESAURUS.is_stopword(&word.stem) {
                continue;
            }
            let first = seen.is_empty();
            if !seen.insert(word.stem.as_str()) {
                continue;
            }
            let mut weight = 1.0;
            let mut synonyms = 1.0;
            if first && (verb || intent.verb.is_none()) && THESAURUS.is_imperative_noun(&word.surface) {
                query.categories = CREATE | EXECUTE;
                self.imply(&mut query, &[("create", 1.0), ("add", 1.0), ("send", 0.7)]);
                asked = true;
            } else if verb {
                asked = true;
            } else if THESAURUS.action(&word.stem).is_some() {
                weight = tuning::DESCRIBING_VERB;
                synonyms = tuning::DESCRIBING_SYNONYM;
            }
            let mut terms = self.meanings(&word.stem, synonyms);
            terms.extend(self.prefixed(&word.stem, terms.is_empty()));
            if let Some((before, surface)) = previous
                && let Some(id) = self.id(&THESAURUS.normal(&format!("{surface}{}", word.surface)))
            {
                terms.push((id, tuning::JOINED));
                if let Some(before) = query.concepts.get_mut(before) {
                    before.terms.push((id, tuning::JOINED));
                    tidy(&mut before.terms);
                }
            }
            if terms.is_empty() && guesses < GUESSES {
                guesses += 1;
                terms = self.guesses(&word.surface, &word.stem);
            }
            previous = Some((query.concepts.len(), &word.surface));
            query.push(terms, weight, text::is_plural(&word.surface), true);
        }
        if !asked {
            let many = query.concepts.iter().any(|concept| concept.plural);
            let (get, list) = if many { (0.6, 1.0) } else { (1.0, 0.6) };
            let one = [("get", get), ("retrieve", get), ("show", get), ("read", get)];
            let several = [("list", list), ("search", 0.5), ("find", 0.5)];
            self.imply(&mut query, &[one.as_slice(), several.as_slice()].concat());
        }
        query
    }

    /// Verbs that the task did not say but means.
    fn imply(&self, query: &mut Query, verbs: &[(&str, f32)]) {
        let terms = verbs.iter().filter_map(|(verb, sure)| Some((self.id(&THESAURUS.normal(verb))?, *sure)));
        query.push(terms.collect(), tuning::IMPLIED, false, false);
    }

    /// The words of a task. A camelCase word that the catalog knows as a whole stays whole.
    fn said(&self, task: &str) -> Vec<Said> {
        let mut surfaces: Vec<(String, bool)> = Vec::new();
        for clause in task.split([',', ';', '.', ':', '!', '?', '(', ')', '\n']) {
            let mut starts = true;
            text::raw_words(clause, |raw| {
                let whole = raw.to_lowercase();
                let parts = text::camel_parts(raw);
                if parts.is_empty() || self.id(&THESAURUS.normal(&whole)).is_some() {
                    surfaces.push((whole, std::mem::take(&mut starts)));
                } else {
                    surfaces.extend(parts.into_iter().map(|part| (part, std::mem::take(&mut starts))));
                }
            });
        }
        surfaces.truncate(WORDS);
        gather_particles(&mut surfaces);
        for (surface, _) in surfaces.iter_mut().filter(|(_, starts)| *starts) {
            if let Some(verb) = self.misspelled_verb(surface) {
                *surface = verb.to_owned();
            }
        }
        let stems: Vec<String> = surfaces.iter().map(|(surface, _)| THESAURUS.normal(surface)).collect();
        fold(&stems, |first| THESAURUS.phrases.get(first).map(Vec::as_slice))
            .into_iter()
            .filter(|word| !word.kept)
            .filter_map(|word| {
                let (surface, starts) = surfaces.get(word.origin as usize)?;
                let folded = stems.get(word.origin as usize) != Some(&word.word);
                Some(Said { stem: word.word, surface: surface.clone(), starts: *starts, folded })
            })
            .collect()
    }
}

/// Puts the particle of a verb that was said around a thing back beside it: "turn the alert off"
/// becomes "turn off the alert", which is in the tables. One that begins a phrase of its own is no
/// verb's: "bring the branch up to date" has nothing to do with "bring up".
fn gather_particles(surfaces: &mut Vec<(String, bool)>) {
    let mut at = 0;
    while let Some((verb, _)) = surfaces.get(at) {
        let clause = surfaces.iter().enumerate().skip(at + 1).take_while(|(_, (_, starts))| !starts);
        let last = clause.clone().last().map(|(place, _)| place);
        let particle = clause.skip(1).take(PARTICLE_DISTANCE).find(|(place, (surface, _))| {
            THESAURUS.is_particle(surface, last == Some(*place))
                && THESAURUS.is_pair(verb, surface)
                && !begins_phrase(surfaces.get(*place..).unwrap_or_default())
        });
        if let Some((from, _)) = particle {
            let moved = surfaces.remove(from);
            surfaces.insert(at + 1, moved);
        }
        at += 1;
    }
}

fn begins_phrase(surfaces: &[(String, bool)]) -> bool {
    let mut stems = surfaces.iter().map(|(surface, _)| THESAURUS.normal(surface));
    let known = stems.next().and_then(|first| THESAURUS.phrases.get(&first));
    let after: Vec<String> = stems.take(MAX_PHRASE_LEN).collect();
    known.is_some_and(|known| known.iter().any(|phrase| after.starts_with(&phrase.rest)))
}
