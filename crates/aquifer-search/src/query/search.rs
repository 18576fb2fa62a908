//! Searches an index: first operations that the query names, then operations that fit the task.

use crate::index::names::NameMatch;
use crate::index::search_index::SearchIndex;
use crate::language::text;
use crate::query::parse;
use crate::tuning;

/// An operation that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Index into the documents given to [`SearchIndex::build`].
    pub position: usize,
    /// Descending from hit to hit. A score of 2 or more means that the query names the operation. Lower scores say
    /// how well the operation answers the task, and are comparable within one search only.
    pub score: f32,
}

impl SearchIndex {
    /// The operations that answer `query`, best first, at most `limit`, without duplicates. Ties keep the catalog's
    /// order.
    ///
    /// The operation that the query names comes first, then those with a similar name, then those that fit the task.
    pub fn search(&self, query: &str, limit: usize) -> Vec<Hit> {
        self.search_filtered(query, limit, |_| true)
    }

    /// Like [`search`](Self::search), among the operations for which `is_admitted` returns true. The others neither
    /// count toward the limit nor affect the cutoff.
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
