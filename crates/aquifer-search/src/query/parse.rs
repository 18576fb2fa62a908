//! Parses a task into concepts: its words, each with the terms it may mean.

use std::collections::HashSet;

use crate::index::lexicon::TermId;
use crate::index::search_index::SearchIndex;
use crate::language::phrase::fold;
use crate::language::text;
use crate::language::thesaurus::{CREATE, EXECUTE, READ, THESAURUS};
use crate::query::intent::{Intent, TaskWord};
use crate::tuning;

// Limits on how much of a query is processed.
const MAX_QUERY_WORDS: usize = 64;
pub(crate) const MAX_QUERY_CHARS: usize = 1_000;
/// How far a particle may be from its verb, in words.
const MAX_PARTICLE_DISTANCE: usize = 4;
/// How many words may follow the first word of a phrase.
const MAX_PHRASE_TAIL_WORDS: usize = 4;
/// For how many unknown words a meaning is guessed.
const MAX_GUESSED_WORDS: usize = 8;

/// One word of the task.
pub(crate) struct Concept {
    /// The terms of the catalog that it may mean, with the confidence; sorted by term.
    pub(crate) terms: Vec<(TermId, f32)>,
    /// Its share of the ranking.
    pub(crate) weight: f32,
    pub(crate) plural: bool,
    /// Whether it is a meaningful word of the task. A mere hint does not find an operation on its own.
    pub(crate) content: bool,
}

/// A parsed task.
pub(crate) struct Query {
    pub(crate) concepts: Vec<Concept>,
    /// The semantic categories that the task asks for, as bits.
    pub(crate) categories: u8,
    /// The terms that the task contains literally.
    pub(crate) written: HashSet<TermId>,
}

impl Query {
    fn push(&mut self, mut terms: Vec<(TermId, f32)>, weight: f32, plural: bool, content: bool) {
        sort_and_dedup(&mut terms);
        self.concepts.push(Concept { terms, weight, plural, content });
    }
}

/// Sorts by term and keeps the highest confidence of each.
fn sort_and_dedup(terms: &mut Vec<(TermId, f32)>) {
    terms.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    terms.dedup_by_key(|(id, _)| *id);
}

impl SearchIndex {
    /// Parses a task.
    pub(crate) fn parse_task(&self, task: &str) -> Query {
        let words = self.task_words(task);
        let intent = Intent::parse(&words);
        let written: HashSet<TermId> =
            words.iter().filter_map(|word| self.ids.get(word.stem.as_str()).copied()).collect();
        let mut query = Query { concepts: Vec::new(), categories: intent.categories, written };
        let is_content = |word: &TaskWord| !THESAURUS.is_stopword(&word.stem);
        let names_only_source =
            words.iter().filter(|word| is_content(word)).all(|word| self.is_sole_source(&word.stem));
        let only_stopwords = words.iter().all(|word| THESAURUS.is_stopword(&word.stem));
        let mut has_verb = false;
        let mut guessed = 0;
        let mut seen = HashSet::new();
        let mut previous: Option<(usize, &str)> = None;
        for (at, word) in words.iter().enumerate() {
            let verb = intent.verb == Some(at);
            // "show me the issue" is not about "me".
            if matches!(word.surface.as_str(), "me" | "us") && at.checked_sub(1) == intent.verb && at > 0 {
                continue;
            }
            if !verb && let Some(hints) = hints_at(&words, at) {
                let own = self.id(&word.stem).map(|id| (id, 1.0));
                let hinted = hints.iter().filter_map(|stem| Some((self.id(stem)?, tuning::HINTED)));
                query.push(own.into_iter().chain(hinted).collect(), tuning::HINT, false, false);
                continue;
            }
            if !verb && !only_stopwords && THESAURUS.is_stopword(&word.stem) {
                continue;
            }
            if !verb && !names_only_source && self.is_sole_source(&word.stem) {
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
                self.add_implied_verbs(&mut query, &[("create", 1.0), ("add", 1.0), ("send", 0.7)]);
                has_verb = true;
            } else if verb {
                has_verb = true;
            } else if is_describing(&words, word) {
                weight = tuning::DESCRIBING_VERB;
                synonyms = tuning::DESCRIBING_SYNONYM;
            }
            let mut terms = self.meanings(&word.stem, synonyms);
            terms.extend(self.prefix_matches(&word.stem, terms.is_empty()));
            if let Some((before, surface)) = previous
                && let Some(id) = self.id(&THESAURUS.normalize(&format!("{surface}{}", word.surface)))
            {
                terms.push((id, tuning::JOINED));
                if let Some(before) = query.concepts.get_mut(before) {
                    before.terms.push((id, tuning::JOINED));
                    sort_and_dedup(&mut before.terms);
                }
            }
            if terms.is_empty() && guessed < MAX_GUESSED_WORDS {
                guessed += 1;
                terms = self.guess_terms(&word.surface, &word.stem);
            }
            previous = Some((query.concepts.len(), &word.surface));
            query.push(terms, weight, text::is_plural(&word.surface), true);
        }
        if !has_verb && query.categories & READ != 0 {
            // "who changed it" is answered by a list as well.
            let asks_who = words.iter().any(|word| word.starts && word.surface == "who");
            let many = asks_who || query.concepts.iter().any(|concept| concept.plural);
            let (get, list) = if many { (0.6, 1.0) } else { (1.0, 0.6) };
            let single = [("get", get), ("retrieve", get), ("show", get), ("read", get)];
            let plural = [("list", list), ("search", 0.5), ("find", 0.5)];
            self.add_implied_verbs(&mut query, &[single.as_slice(), plural.as_slice()].concat());
        }
        query
    }

    /// Whether a word only names the source that all operations belong to.
    fn is_sole_source(&self, stem: &str) -> bool {
        self.ids.get(stem).is_some_and(|id| self.sole_source.contains(id))
    }

    /// Adds verbs that the task implies.
    fn add_implied_verbs(&self, query: &mut Query, verbs: &[(&str, f32)]) {
        let terms = verbs.iter().filter_map(|(verb, sure)| Some((self.id(&THESAURUS.normalize(verb))?, *sure)));
        query.push(terms.collect(), tuning::IMPLIED, false, false);
    }

    /// The words of a task. A camelCase word stays whole if the catalog contains it.
    fn task_words(&self, task: &str) -> Vec<TaskWord> {
        let mut surfaces: Vec<(String, bool)> = Vec::new();
        for clause in task.split([',', ';', '.', ':', '!', '?', '(', ')', '\n']) {
            let mut starts = true;
            text::raw_words(clause, |raw| {
                let whole = raw.to_lowercase();
                let parts = text::camel_parts(raw);
                if parts.is_empty() || self.id(&THESAURUS.normalize(&whole)).is_some() {
                    surfaces.push((whole, std::mem::take(&mut starts)));
                } else {
                    surfaces.extend(parts.into_iter().map(|part| (part, std::mem::take(&mut starts))));
                }
            });
        }
        surfaces.truncate(MAX_QUERY_WORDS);
        gather_particles(&mut surfaces);
        for (surface, _) in surfaces.iter_mut().filter(|(_, starts)| *starts) {
            if let Some(verb) = self.misspelled_verb(surface) {
                *surface = verb.to_owned();
            }
        }
        let words = self.fold_idioms(surfaces);
        let stems: Vec<String> = words.iter().map(|word| word.stem.clone()).collect();
        fold(&stems, |first| THESAURUS.phrases.get(first).map(Vec::as_slice))
            .into_iter()
            .filter(|word| !word.is_part)
            .filter_map(|word| {
                let origin = words.get(word.origin as usize)?;
                let folded = origin.folded || origin.stem != word.word;
                Some(TaskWord { stem: word.word, surface: origin.surface.clone(), starts: origin.starts, folded })
            })
            .collect()
    }

    /// Replaces idioms by a word that represents them. An idiom stays as it is if the catalog has no word for it and it
    /// does not say what to do.
    fn fold_idioms(&self, surfaces: Vec<(String, bool)>) -> Vec<TaskWord> {
        let stems: Vec<String> = surfaces.iter().map(|(surface, _)| THESAURUS.normalize(surface)).collect();
        let mut standing: Vec<Option<&'static str>> = vec![None; stems.len()];
        let mut is_replaced = vec![false; stems.len()];
        for (at, stem) in stems.iter().enumerate() {
            if is_replaced.get(at) == Some(&true) {
                continue;
            }
            let left = stems.get(at..).unwrap_or_default();
            let mut idioms = THESAURUS.idioms(stem).iter().filter(|idiom| self.has_meaning(idiom.text));
            let Some((idiom, places)) = idioms.find_map(|idiom| Some((idiom.text, idiom.find_in(left)?))) else {
                continue;
            };
            for place in places {
                if let Some(is_replaced) = is_replaced.get_mut(at + place) {
                    *is_replaced = true;
                }
            }
            if let Some(standing) = standing.get_mut(at) {
                *standing = Some(idiom);
            }
        }
        let words = surfaces.into_iter().zip(stems).zip(standing.into_iter().zip(is_replaced));
        words
            .filter(|(_, (idiom, is_replaced))| idiom.is_some() || !is_replaced)
            .map(|(((surface, starts), stem), (idiom, _))| TaskWord {
                stem: idiom.map_or(stem, str::to_owned),
                surface,
                starts,
                folded: idiom.is_some(),
            })
            .collect()
    }

    /// Whether an idiom says what to do or means something that the catalog contains.
    fn has_meaning(&self, idiom: &str) -> bool {
        THESAURUS.action(idiom).is_some() || THESAURUS.related(idiom).iter().any(|(stem, _)| self.id(stem).is_some())
    }
}

/// Whether a verb describes a noun instead of saying what to do. An idiom does so in a question only: "where did we write
/// down the plan".
fn is_describing(words: &[TaskWord], word: &TaskWord) -> bool {
    let is_question = words.first().is_some_and(|first| THESAURUS.is_question(&first.surface));
    THESAURUS.action(&word.stem).is_some_and(|categories| !word.folded || (is_question && categories & READ == 0))
}

/// Moves the particle of a separated verb next to it: "turn the alert off" becomes "turn off the alert", which the
/// tables contain. A particle that begins a phrase of its own stays: "bring the branch up to date" is not "bring up".
fn gather_particles(surfaces: &mut Vec<(String, bool)>) {
    let mut at = 0;
    while let Some((verb, _)) = surfaces.get(at) {
        let clause = surfaces.iter().enumerate().skip(at + 1).take_while(|(_, (_, starts))| !starts);
        let last = clause.clone().last().map(|(place, _)| place);
        let particle = clause.skip(1).take(MAX_PARTICLE_DISTANCE).find(|(place, (surface, _))| {
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
    let mut stems = surfaces.iter().map(|(surface, _)| THESAURUS.normalize(surface));
    let Some(first) = stems.next() else {
        return false;
    };
    let after: Vec<String> = stems.take(MAX_PHRASE_TAIL_WORDS).collect();
    let phrases = THESAURUS.phrases.get(&first).map(Vec::as_slice).unwrap_or_default();
    phrases.iter().any(|phrase| after.starts_with(&phrase.rest)) || {
        let words: Vec<String> = std::iter::once(first.clone()).chain(after).collect();
        THESAURUS.idioms(&first).iter().any(|idiom| idiom.find_in(&words).is_some())
    }
}

/// The words that a question word hints at. "who changed the page" asks for its history, "who can see it" for people.
fn hints_at(words: &[TaskWord], at: usize) -> Option<&'static [String]> {
    let word = words.get(at)?;
    let hints = THESAURUS.hints(&word.stem)?;
    let mut after = words.iter().skip(at + 1).skip_while(|word| word.surface == "last" || word.surface == "has");
    let did = |word: &TaskWord| {
        THESAURUS.action(&word.stem).is_some_and(|categories| categories & !READ != 0)
            && !THESAURUS.is_request(&word.surface)
    };
    let is_past = word.surface == "who" && !word.folded && after.next().is_some_and(did);
    Some(if is_past { THESAURUS.past_hints() } else { hints })
}
