//! The names of services: a task that says "jira" means the operations of Jira.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use crate::index::lexicon::{Lexicon, TermId};
use crate::index::search_index::{Document, SearchIndex};
use crate::language::thesaurus::THESAURUS;

/// A word counts as the name of a service if at least this many names begin with it.
const MIN_NAMES: usize = 3;

/// Collects the services of the operations while the index is built.
#[derive(Default)]
pub(crate) struct Services {
    sources: HashMap<String, Rc<[TermId]>>,
    /// How many names begin with a word.
    openings: HashMap<TermId, usize>,
    /// The source and the first word of each operation.
    operations: Vec<(Rc<[TermId]>, Option<TermId>)>,
}

impl Services {
    pub(crate) fn add(&mut self, document: &Document<'_>, name: &[String], lexicon: &mut Lexicon) {
        let source = match self.sources.get(document.source) {
            Some(terms) => Rc::clone(terms),
            None => {
                let (terms, _) = lexicon.identifier(document.source);
                let terms: Rc<[TermId]> = terms.iter().filter(|term| !term.is_part).map(|term| term.word).collect();
                self.sources.insert(document.source.to_owned(), Rc::clone(&terms));
                terms
            }
        };
        let opening = name.first().and_then(|word| lexicon.find(word));
        if let Some(opening) = opening {
            *self.openings.entry(opening).or_default() += 1;
        }
        self.operations.push((source, opening));
    }

    /// Records in the index which services each operation belongs to.
    pub(crate) fn assign(self, index: &mut SearchIndex) {
        let is_sole = self.sources.len() == 1;
        // A word that no table contains, such as `jira` or `kubectl`.
        let is_unknown =
            |term: &TermId| index.terms.get(*term as usize).is_some_and(|term| !THESAURUS.knows(&term.text));
        let is_service = |(term, names): &(&TermId, &usize)| **names >= MIN_NAMES && is_unknown(term);
        let services: HashSet<TermId> = self.openings.iter().filter(is_service).map(|(term, _)| *term).collect();
        for (operation, (source, opening)) in index.operations.iter_mut().zip(self.operations) {
            let opening = opening.filter(|opening| services.contains(opening)).map(|opening| Box::from([opening]));
            let source = (!is_sole && !source.is_empty()).then(|| Box::from(&*source));
            operation.services = source.into_iter().chain(opening).collect();
        }
        if is_sole {
            let terms = self.sources.values().flat_map(|terms| terms.iter().copied());
            let is_elsewhere = |term: &TermId| index.terms.get(*term as usize).is_some_and(|term| term.in_names);
            index.sole_source = terms.filter(|term| !is_elsewhere(term)).collect();
        }
    }
}
