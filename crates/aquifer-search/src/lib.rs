//! Finding operations by a task said in plain words.
//!
//! An agent that does not know a catalog asks for "open a new MR" or "who last changed each line of
//! this file" and should find `create_merge_request` and `get_file_blame` among the first few
//! answers. Plain BM25 does so for three tasks in four; what it lacks is knowledge that the
//! catalog's text does not contain. So beside a field-weighted index there are
//!
//! - `words`, tables of what people in this trade say for the same thing, with `stem` for inflected
//!   forms;
//! - `intent`, which tells "delete the branch" from "which branches were deleted";
//! - `names`, because somebody who already knows a name wants that operation first, typos included;
//! - guesses for words nobody knows: typos, and words run together or taken apart (`keyvault`).
//!
//! The index is immutable and built once per catalog; it holds positions, not operations. It never
//! fails: text that means nothing finds nothing. Hits far below the best are left out, because a
//! model pays for every line it reads.
//!
//! There is no embedding model here: it would be larger than the rest of the program, slower by
//! orders of magnitude, and not explainable to somebody who wonders why an operation was not found.

mod build;
mod compounds;
mod expand;
mod intent;
mod lexicon;
mod names;
mod phrase;
mod query;
mod rank;
mod stem;
mod text;
mod thesaurus;
mod tuning;
mod words;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use lexicon::TermId;
use names::{Names, Naming};
use text::Letters;

/// One document of the index: an operation as search sees it.
#[derive(Debug, Clone)]
pub struct Document<'a> {
    /// In snake_case, with or without a prefix for the source.
    pub name: &'a str,
    /// The semantic category: `CREATE`, `READ`, `UPDATE`, `DELETE` or `EXECUTE`. Anything else
    /// counts as not known.
    pub category: &'a str,
    /// What the operation does; its first sentence counts most.
    pub description: &'a str,
    /// Name and description of each parameter.
    pub parameters: Vec<(&'a str, &'a str)>,
}

/// An operation that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Which of the documents given to [`SearchIndex::build`], counted from 0.
    pub position: usize,
    /// Falls from hit to hit. From 2 up the query named the operation; below it is how well the
    /// operation answers the task, comparable within one search only.
    pub score: f32,
}

/// The operations of a catalog, ready to be searched. See the module for what a search understands.
pub struct SearchIndex {
    ids: HashMap<Box<str>, TermId>,
    terms: Vec<Term>,
    postings: Vec<Posting>,
    /// The terms in alphabetical order.
    sorted: Vec<TermId>,
    operations: Vec<Operation>,
    /// Terms of names that are two words run together.
    compounds: HashMap<TermId, [TermId; 2]>,
    names: Names,
}

/// A word of the catalog, as a stem.
#[derive(Clone, Default)]
struct Term {
    text: Box<str>,
    letters: Letters,
    /// In how many operations it occurs; occurrences in passing count less.
    frequency: f32,
    in_names: bool,
    /// Where its postings start, and how many come from names and descriptions, and then from
    /// parameters.
    start: usize,
    strong: usize,
    weak: usize,
}

/// A term occurs in an operation, and how much it says there: from 0 to 1.
#[derive(Clone, Copy, Default)]
struct Posting {
    position: u32,
    impact: f32,
}

struct Operation {
    /// The terms of the name, each with whether it was a plural.
    name: Box<[(TermId, bool)]>,
    category: u8,
}

impl SearchIndex {
    /// Indexes the operations of a catalog.
    pub fn build<'a>(documents: impl IntoIterator<Item = Document<'a>>) -> Self {
        build::build(documents)
    }

    /// The operations that answer `query`, best first, at most `limit`, none twice. Equal ones keep
    /// the catalog's order.
    ///
    /// An operation that the query names comes first, then those whose name is nearly that, then
    /// those that fit the task.
    pub fn search(&self, query: &str, limit: usize) -> Vec<Hit> {
        self.search_among(query, limit, |_| true)
    }

    /// The same among the operations that `admits` lets pass: what is not admitted neither takes a place nor sets the
    /// measure for the others.
    pub fn search_among(&self, query: &str, limit: usize, admits: impl Fn(usize) -> bool) -> Vec<Hit> {
        let query = text::clipped(query, query::CHARACTERS);
        let mut named = self.names.find(query);
        named.retain(|(position, _)| admits(*position as usize));
        let exact = named.first().is_some_and(|(_, naming)| *naming == Naming::Exact);
        let mut hits: Vec<Hit> = named
            .into_iter()
            .map(|(position, naming)| {
                let score = match naming {
                    Naming::Exact => 4.0,
                    Naming::WithoutPrefix => 3.0,
                    Naming::Near(typos) => 2.9 - 0.1 * typos as f32,
                };
                Hit { position: position as usize, score }
            })
            .collect();
        let ranked = self.rank(&self.understand(query), &admits);
        let best = ranked.first().map_or(0.0, |(_, best)| *best);
        let cutoff = if exact { tuning::CUTOFF_BESIDE_NAMED } else { tuning::CUTOFF };
        let least = best * cutoff * (best / tuning::SURE).min(1.0);
        for (position, score) in ranked.into_iter().take_while(|(_, score)| *score >= least) {
            let position = position as usize;
            if hits.iter().all(|hit| hit.position != position) {
                // Never as high as a name.
                hits.push(Hit { position, score: score.min(1.99) });
            }
        }
        hits.truncate(limit);
        hits
    }
}
