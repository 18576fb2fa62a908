//! The index over the operations of a catalog, and the search in it.

use std::collections::HashMap;

use super::build;
use super::lexicon::TermId;
use super::names::{NameIndex, NameMatch};
use crate::language::text::{self, LetterCounts};
use crate::query::parse;
use crate::tuning;

/// An operation as the index sees it.
#[derive(Debug, Clone)]
pub struct Document<'a> {
    /// In snake_case, with or without a prefix for the source.
    pub name: &'a str,
    /// The semantic category: `CREATE`, `READ`, `UPDATE`, `DELETE` or `EXECUTE`. Anything else is treated as unknown.
    pub category: &'a str,
    /// What the operation does; its first sentence counts most.
    pub description: &'a str,
    /// Name and description of each parameter.
    pub parameters: Vec<(&'a str, &'a str)>,
}

/// An operation that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Index into the documents given to [`SearchIndex::build`].
    pub position: usize,
    /// Descending from hit to hit. A score of 2 or more means that the query names the operation. Lower scores say
    /// how well the operation answers the task, and are comparable within one search only.
    pub score: f32,
}

/// The operations of a catalog, ready to be searched. The crate documentation says what a search understands.
pub struct SearchIndex {
    pub(crate) ids: HashMap<Box<str>, TermId>,
    pub(crate) terms: Vec<Term>,
    pub(crate) postings: Vec<Posting>,
    /// The terms in alphabetical order.
    pub(crate) sorted: Vec<TermId>,
    pub(crate) operations: Vec<IndexedOperation>,
    /// Terms of names that are two words joined.
    pub(crate) compounds: HashMap<TermId, [TermId; 2]>,
    pub(crate) names: NameIndex,
}

/// A word of the catalog, stemmed.
#[derive(Clone, Default)]
pub(crate) struct Term {
    pub(crate) text: Box<str>,
    pub(crate) letters: LetterCounts,
    /// The number of operations it occurs in; side mentions count less.
    pub(crate) frequency: f32,
    pub(crate) in_names: bool,
    /// Where its postings start, how many of them come from names and descriptions (`strong`), and how many from
    /// parameters (`weak`).
    pub(crate) start: usize,
    pub(crate) strong: usize,
    pub(crate) weak: usize,
}

/// An occurrence of a term in an operation, with its impact from 0 to 1.
#[derive(Clone, Copy, Default)]
pub(crate) struct Posting {
    pub(crate) position: u32,
    pub(crate) impact: f32,
}

pub(crate) struct IndexedOperation {
    /// The terms of the name; `true` marks a plural.
    pub(crate) name: Box<[(TermId, bool)]>,
    pub(crate) category: u8,
}

impl SearchIndex {
    /// Indexes the operations of a catalog.
    pub fn build<'a>(documents: impl IntoIterator<Item = Document<'a>>) -> Self {
        build::build(documents)
    }

    /// The operations that answer `query`, best first, at most `limit`, without duplicates. Ties keep the catalog's
    /// order.
    ///
    /// The operation that the query names comes first, then those with a similar name, then those that fit the task.
    pub fn search(&self, query: &str, limit: usize) -> Vec<Hit> {
        self.search_filtered(query, limit, |_| true)
    }

    /// Like [`search`](Self::search), among the operations for which `is_admitted` returns true. The others neither
    /// take a place nor affect the cutoff.
    pub fn search_filtered(&self, query: &str, limit: usize, is_admitted: impl Fn(usize) -> bool) -> Vec<Hit> {
        let query = text::truncate_chars(query, parse::MAX_QUERY_CHARS);
        let mut named = self.names.find(query);
        named.retain(|(position, _)| is_admitted(*position as usize));
        let exact = named.first().is_some_and(|(_, name_match)| *name_match == NameMatch::Exact);
        let mut hits: Vec<Hit> = named
            .into_iter()
            .map(|(position, name_match)| {
                let score = match name_match {
                    NameMatch::Exact => 4.0,
                    NameMatch::WithoutPrefix => 3.0,
                    NameMatch::Near(typos) => 2.9 - 0.1 * typos as f32,
                };
                Hit { position: position as usize, score }
            })
            .collect();
        let ranked = self.rank(&self.parse_task(query), &is_admitted);
        let best = ranked.first().map_or(0.0, |(_, best)| *best);
        let cutoff = if exact { tuning::CUTOFF_BESIDE_NAMED } else { tuning::CUTOFF };
        let least = best * cutoff * (best / tuning::CONFIDENT).min(1.0);
        for (position, score) in ranked.into_iter().take_while(|(_, score)| *score >= least) {
            let position = position as usize;
            if hits.iter().all(|hit| hit.position != position) {
                // Below every match by name.
                hits.push(Hit { position, score: score.min(1.99) });
            }
        }
        hits.truncate(limit);
        hits
    }
}
