//! The index over the operations of a catalog.

use std::collections::{HashMap, HashSet};

use super::build;
use super::lexicon::TermId;
use super::names::NameIndex;
use crate::language::text::LetterCounts;

/// An operation as the index sees it.
#[derive(Debug, Clone)]
pub struct Document<'a> {
    /// In snake_case, with or without a prefix for the source.
    pub name: &'a str,
    /// The semantic category: `CREATE`, `READ`, `UPDATE`, `DELETE` or `EXECUTE`. Anything else is treated as unknown.
    pub category: &'a str,
    /// What the operation does; its first sentence counts most.
    pub description: &'a str,
    /// What the operation takes.
    pub parameters: Vec<DocumentParameter<'a>>,
    /// The name of the source it belongs to; empty if that is unknown.
    pub source: &'a str,
}

/// A parameter as the index sees it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct DocumentParameter<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it means.
    pub description: &'a str,
    /// The values it accepts, if there is a list of them. For a generic operation they are what it acts on.
    pub values: Vec<&'a str>,
}

/// The operations of a catalog, ready to be searched. The crate documentation describes what a search understands.
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
    /// Words of the name of the only source. They do not distinguish operations.
    pub(crate) sole_source: HashSet<TermId>,
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
    /// The names of the services it belongs to, as terms: its source, and the word that several names begin with.
    pub(crate) services: Box<[Box<[TermId]>]>,
}

impl SearchIndex {
    /// Indexes the operations of a catalog.
    pub fn build<'a>(documents: impl IntoIterator<Item = Document<'a>>) -> Self {
        build::build(documents)
    }
}
