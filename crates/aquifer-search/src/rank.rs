//! Putting the matching operations in order.
//!
//! First every posting of every word adds up (BM25 over weighted fields, per word the best of its
//! meanings). Then the best are looked at closely: how much of the task they answer, how much of
//! their name was asked for, whether they do the kind of thing that was asked.

use super::lexicon::TermId;
use super::query::{Concept, Query};
use super::thesaurus::{EXECUTE, READ};
use super::tuning;
use super::{Operation, Posting, SearchIndex};

/// How many of the best are looked at closely.
const CLOSELY: usize = 100;

/// What was added up for one operation.
#[derive(Clone, Copy, Default)]
struct Sum {
    /// Of the word being read.
    word: f32,
    total: f32,
    /// The words that match, by number.
    matched: u64,
}

/// A word's bit. Words past the last bit share it.
fn bit(number: usize) -> u64 {
    1 << number.min(63)
}

impl SearchIndex {
    /// The operations that match, with a score that is at most a little over 1; best first.
    pub(super) fn rank(&self, query: &Query, admits: &impl Fn(usize) -> bool) -> Vec<(u32, f32)> {
        let weights: Vec<f32> = query.concepts.iter().map(|concept| self.weight(concept)).collect();
        let all = weights.iter().sum::<f32>().max(f32::MIN_POSITIVE);
        let mut sums = vec![Sum::default(); self.operations.len()];
        let mut candidates: Vec<u32> = Vec::new();
        let mut touched: Vec<u32> = Vec::new();
        for (number, (concept, weight)) in query.concepts.iter().zip(&weights).enumerate() {
            for (id, sureness) in &concept.terms {
                for posting in self.postings_of(*id, *sureness) {
                    if let Some(sum) = sums.get_mut(posting.position as usize) {
                        if sum.word == 0.0 {
                            touched.push(posting.position);
                        }
                        sum.word = sum.word.max(sureness * posting.impact);
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
        candidates.retain(|position| sum(*position).matched & content != 0 && admits(*position as usize));
        if candidates.len() > CLOSELY {
            candidates.select_nth_unstable_by(CLOSELY, |a, b| sum(*b).total.total_cmp(&sum(*a).total).then(a.cmp(b)));
            candidates.truncate(CLOSELY);
        }
        let mut ranked: Vec<(u32, f32)> = candidates
            .into_iter()
            .filter_map(|position| Some((position, self.operations.get(position as usize)?)))
            .map(|(position, operation)| {
                let Sum { total, matched, .. } = sum(position);
                let answered = weights.iter().enumerate().filter(|(number, _)| matched & bit(*number) != 0);
                let answered = answered.map(|(_, weight)| weight).sum::<f32>() / all;
                let fit = share(tuning::QUERY_COVERAGE, answered) * self.fit(operation, query);
                (position, fit * total / all)
            })
            .collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ranked
    }

    /// The postings of a term. Another word than the one said has to stand in the name or the
    /// description to count.
    fn postings_of(&self, id: TermId, sureness: f32) -> &[Posting] {
        let Some(term) = self.terms.get(id as usize) else {
            return &[];
        };
        let count = if sureness < 1.0 { term.strong } else { term.strong + term.weak };
        self.postings.get(term.start..term.start + count).unwrap_or_default()
    }

    /// How telling a word of the task is. It is as common as the commonest of the words it surely
    /// means: otherwise a rare synonym in a side remark would outweigh the verb that operations are
    /// named after.
    fn weight(&self, concept: &Concept) -> f32 {
        let surest = concept.terms.iter().map(|(_, sureness)| *sureness).fold(0.0, f32::max);
        let sure = surest.min(tuning::FRINGE_TO_CORE);
        let meant = concept.terms.iter().filter(|(_, sureness)| *sureness >= sure);
        let frequency = meant.filter_map(|(id, _)| self.terms.get(*id as usize)).map(|term| term.frequency);
        frequency.reduce(f32::max).map_or(0.0, |frequency| concept.weight * self.rarity(frequency))
    }

    /// The rarer, the more telling. A word that stands in every name, as a source's prefix does,
    /// tells nothing.
    fn rarity(&self, frequency: f32) -> f32 {
        let others = (self.operations.len() as f32 - frequency).max(0.0);
        (1.0 + (others + 0.5) / (frequency + 0.5)).ln()
    }

    /// A factor for how well an operation as a whole fits the task.
    fn fit(&self, operation: &Operation, query: &Query) -> f32 {
        let mut named = 0.0;
        let mut asked = 0.0;
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
                .map(|(number, concept)| (number, concept, self.sureness(concept, *term) * concept.weight))
                .filter(|(.., sureness)| *sureness > 0.0)
                .max_by(|a, b| a.2.total_cmp(&b.2));
            if let Some((number, concept, sureness)) = asking {
                asked += rarity * sureness;
                adjacent += f32::from(previous.is_some_and(|previous| previous + 1 == number));
                same_number += f32::from(concept.plural == *plural);
            }
            previous = asking.map(|(number, ..)| number);
        }
        let length = operation.name.len().max(1) as f32;
        let coverage = if named > 0.0 { asked / named } else { 0.0 };
        share(tuning::NAME_COVERAGE, coverage)
            * (1.0 + tuning::ADJACENT * adjacent / length)
            * (1.0 + tuning::SAME_NUMBER * same_number / length)
            * category_fit(operation.category, query.categories)
    }

    /// How surely a word of the task means a word of a name, or a half of it.
    fn sureness(&self, concept: &Concept, term: TermId) -> f32 {
        let of = |term: TermId| {
            let at = concept.terms.binary_search_by_key(&term, |(id, _)| *id).ok()?;
            concept.terms.get(at).map(|(_, sureness)| *sureness)
        };
        let halves = self.compounds.get(&term).into_iter().flatten();
        let half = halves.filter_map(|half| of(*half)).fold(0.0, f32::max);
        of(term).unwrap_or(0.0).max(half * tuning::COMPOUND_MATCH)
    }
}

/// A factor that is 1 for a whole and falls by `strength` for nothing.
fn share(strength: f32, part: f32) -> f32 {
    1.0 - strength + strength * part
}

/// EXECUTE is where everything lands that is nothing else, so it speaks hardly against an operation.
fn category_fit(category: u8, asked: u8) -> f32 {
    if category & asked != 0 {
        1.0 + tuning::CATEGORY_FITS
    } else if category == EXECUTE && asked == READ {
        1.0 - tuning::EXECUTE_FOR_READ
    } else if category == 0 || category == EXECUTE || asked == 0 {
        1.0
    } else {
        1.0 - tuning::CATEGORY_DIFFERS
    }
}
