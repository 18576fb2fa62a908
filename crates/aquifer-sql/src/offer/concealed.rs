//! Tables that callers must not learn of, because policy denies what can be done with them.

use std::collections::HashSet;
use std::sync::Arc;

use super::{Action, Offer, Verb};

/// Which tables are left out of what tells of several: lists, relationships, counts, suggestions. Their own operations
/// stay, so that policy can refuse them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ConcealedTables {
    /// Rows of these are never listed, so nothing leads to them.
    unreadable: HashSet<usize>,
    /// Nothing can be done with these.
    hidden: HashSet<usize>,
}

impl ConcealedTables {
    /// What is concealed if every call of these operations is denied.
    pub(crate) fn from_denied(offer: &Offer, denied: &HashSet<Arc<str>>) -> Self {
        if denied.is_empty() {
            return Self::default();
        }
        let is_denied = |verb: Verb, index: usize| {
            let name = offer.table(index).map(|exposed| verb.operation_name(exposed)).unwrap_or_default();
            denied.contains(name.as_str())
        };
        let is_offered = |verb: Verb, index: usize| {
            let name = offer.table(index).map(|exposed| verb.operation_name(exposed)).unwrap_or_default();
            offer.action(&name) == Some(Action::Table(verb, index))
        };
        let tables = 0..offer.tables.len();
        let unreadable = tables.clone().filter(|index| is_denied(Verb::List, *index)).collect();
        let is_hidden =
            |index: &usize| Verb::ALL.into_iter().all(|verb| is_denied(verb, *index) || !is_offered(verb, *index));
        Self { unreadable, hidden: tables.filter(is_hidden).collect() }
    }

    /// Whether rows of a table may be listed.
    pub(crate) fn is_readable(&self, table: usize) -> bool {
        !self.unreadable.contains(&table)
    }

    /// Whether anything can be done with a table.
    pub(crate) fn is_shown(&self, table: usize) -> bool {
        !self.hidden.contains(&table)
    }
}
