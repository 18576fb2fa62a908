//! Ranks the matching operations.
//!
//! First the postings of every word are added up: BM25 over weighted fields, for each word the best of its meanings.
//! Then the best are reranked by how much of the task they answer, how much of their name the task contains, and
//! whether their category is the one asked for.

use crate::index::lexicon::TermId;
use crate::index::search_index::{IndexedOperation, Posting, SearchIndex};
use crate::language::thesaurus::{EXECUTE, READ};
use crate::query::parse::{Concept, Query};
use crate::tuning;

/// How many of the best are reranked.
const MAX_RERANKED: usize = 100;

/// The running score of one operation.
#[derive(Clone, Copy, Default)]
struct ScoreSum {
    /// The score of the current word.
    word: f32,
    total: f32,
    /// The words that match, as bits.
    matched: u64,
}

/// A word's bit. Words past the last bit share it.
fn bit(number: usize) -> u64 {
    1 << number.min(63)
}

impl SearchIndex {
    /// The operations that match, with a score that is at most a little over 1; best first.
    pub(crate) fn rank(&self, query: &Query, is_admitted: &impl Fn(usize) -> bool) -> Vec<(u32, f32)> {
        let weights: Vec<f32> = query.concepts.iter().map(|concept| self.weight(concept)).collect();
        let all = weights.iter().sum::<f32>().max(f32::MIN_POSITIVE);
        let mut sums = vec![ScoreSum::default(); self.operations.len()];
        let mut candidates: Vec<u32> = Vec::new();
        let mut touched: Vec<u32> = Vec::new();
        for (number, (concept, weight)) in query.concepts.iter().zip(&weights).enumerate() {
            for (id, confidence) in &concept.terms {
                let share = confidence * self.commonness_discount(concept, *id, *confidence, *weight);
                for posting in self.postings_of(*id, *confidence) {
                    if let Some(sum) = sums.get_mut(posting.position as usize) {
                        if sum.word == 0.0 {
                            touched.push(posting.position);
                        }
                        sum.word = sum.word.max(share * posting.impact);
                    }
                }
            }
            for position in touched.drain(..) {
                if let Some(sum) = sums.get_mut(position as usize) {
                    if sum.matched == 0 {
                        candidates.push(position);
                    }
                    sum.total += weight * std::mem::take(&mut sum.word);
                    sum.matched |= bit(number);
                }
            }
        }
        let sum = |position: u32| sums.get(position as usize).copied().unwrap_or_default();
        let content = query.concepts.iter().enumerate().filter(|(_, concept)| concept.content);
        let content = content.fold(0, |bits, (number, _)| bits | bit(number));
        candidates.retain(|position| sum(*position).matched & content != 0 && is_admitted(*position as usize));
        if candidates.len() > MAX_RERANKED {
            candidates
                .select_nth_unstable_by(MAX_RERANKED, |a, b| sum(*b).total.total_cmp(&sum(*a).total).then(a.cmp(b)));
            candidates.truncate(MAX_RERANKED);
        }
        let mut ranked: Vec<(u32, f32)> = candidates
            .into_iter()
            .filter_map(|position| Some((position, self.operations.get(position as usize)?)))
            .map(|(position, operation)| {
                let ScoreSum { total, matched, .. } = sum(position);
                let answered = weights.iter().enumerate().filter(|(number, _)| matched & bit(*number) != 0);
                let answered = answered.map(|(_, weight)| weight).sum::<f32>() / all;
                let fit = share(tuning::QUERY_COVERAGE, answered) * self.fit(operation, query);
                (position, fit * total / all)
            })
            .collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ranked
    }

    /// The postings of a term. A synonym counts only in the name or the description.
    fn postings_of(&self, id: TermId, confidence: f32) -> &[Posting] {
        let Some(term) = self.terms.get(id as usize) else {
            return &[];
        };
        let count = if confidence < 1.0 { term.strong } else { term.strong + term.weak };
        self.postings.get(term.start..term.start + count).unwrap_or_default()
    }

    /// How informative a word of the task is. It counts as being as common as the most common of
    /// its likely meanings. Otherwise a rare synonym in a side remark would outweigh the verb that operations are named
    /// after.
    fn weight(&self, concept: &Concept) -> f32 {
        let surest = concept.terms.iter().map(|(_, confidence)| *confidence).fold(0.0, f32::max);
        let sure = surest.min(tuning::FRINGE_TO_CORE);
        let meant = concept.terms.iter().filter(|(_, confidence)| *confidence >= sure);
        let frequency = meant.filter_map(|(id, _)| self.terms.get(*id as usize)).map(|term| term.frequency);
        frequency.reduce(f32::max).map_or(0.0, |frequency| concept.weight * self.rarity(frequency))
    }

    /// A factor for a synonym that is more common than the word itself: "add" says less about a task than "star",
    /// even if both are meanings of "bookmark".
    fn commonness_discount(&self, concept: &Concept, id: TermId, confidence: f32, weight: f32) -> f32 {
        if confidence >= 1.0 || weight <= 0.0 {
            return 1.0;
        }
        let own = self.terms.get(id as usize).map_or(0.0, |term| concept.weight * self.rarity(term.frequency));
        (own / weight).min(1.0).sqrt()
    }

    /// The inverse document frequency. A word in every name, such as a source's prefix, carries no information.
    fn rarity(&self, frequency: f32) -> f32 {
        let others = (self.operations.len() as f32 - frequency).max(0.0);
        (1.0 + (others + 0.5) / (frequency + 0.5)).ln()
    }

    /// A factor for how well an operation as a whole fits the task.
    fn fit(&self, operation: &IndexedOperation, query: &Query) -> f32 {
        let mut named = 0.0;
        let mut covered = 0.0;
        let mut adjacent = 0.0;
        let mut same_number = 0.0;
        let mut previous: Option<usize> = None;
        for (term, plural) in &operation.name {
            let rarity = self.terms.get(*term as usize).map_or(0.0, |term| self.rarity(term.frequency));
            named += rarity;
            let asking = query
                .concepts
                .iter()
                .enumerate()
                .map(|(number, concept)| (number, concept, self.confidence(concept, *term) * concept.weight))
                .filter(|(.., confidence)| *confidence > 0.0)
                .max_by(|a, b| a.2.total_cmp(&b.2));
            if let Some((number, concept, confidence)) = asking {
                covered += rarity * confidence;
                adjacent += f32::from(previous.is_some_and(|previous| previous + 1 == number));
                same_number += f32::from(concept.plural == *plural);
            }
            previous = asking.map(|(number, ..)| number);
        }
        let length = operation.name.len().max(1) as f32;
        let coverage = if named > 0.0 { covered / named } else { 0.0 };
        share(tuning::NAME_COVERAGE, coverage)
            * (1.0 + tuning::ADJACENT * adjacent / length)
            * (1.0 + tuning::SAME_NUMBER * same_number / length)
            * category_fit(operation.category, query.categories)
            * service_fit(operation, query)
    }

    /// The confidence that a word of the task means a word of a name, or one half of it.
    fn confidence(&self, concept: &Concept, term: TermId) -> f32 {
        let confidence_of = |term: TermId| {
            let at = concept.terms.binary_search_by_key(&term, |(id, _)| *id).ok()?;
            concept.terms.get(at).map(|(_, confidence)| *confidence)
        };
        let halves = self.compounds.get(&term).into_iter().flatten();
        let half = halves.filter_map(|half| confidence_of(*half)).fold(0.0, f32::max);
        confidence_of(term).unwrap_or(0.0).max(half * tuning::COMPOUND_MATCH)
    }
}

/// A factor from `1 - strength` (for a `part` of 0) to 1 (for a `part` of 1).
fn share(strength: f32, part: f32) -> f32 {
    1.0 - strength + strength * part
}

/// A task that names a service means its operations.
fn service_fit(operation: &IndexedOperation, query: &Query) -> f32 {
    let is_named = |service: &[TermId]| service.iter().all(|term| query.written.contains(term));
    let is_any_named = operation.services.iter().any(|service| is_named(service));
    if is_any_named { 1.0 + tuning::SERVICE_NAMED } else { 1.0 }
}

/// EXECUTE is the fallback category, so it hardly counts against an operation.
fn category_fit(category: u8, requested: u8) -> f32 {
    if category & requested != 0 {
        1.0 + tuning::CATEGORY_FITS
    } else if category == EXECUTE && requested == READ {
        1.0 - tuning::EXECUTE_FOR_READ
    } else if category == 0 || category == EXECUTE || requested == 0 {
        1.0
    } else {
        1.0 - tuning::CATEGORY_DIFFERS
    }
}
