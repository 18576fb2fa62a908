//! Tables that are concealed from callers, because policy denies every operation on them.

use std::collections::HashSet;
use std::sync::Arc;

use super::{Action, Offer, Verb};

/// Tables omitted from everything that covers several tables: lists, relationships, counts, suggestions. Their own
/// operations remain, so that policy can deny them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ConcealedTables {
    /// Tables whose rows must not be listed. No reference leads to them.
    unreadable: HashSet<usize>,
    /// Tables of which every operation is denied.
    hidden: HashSet<usize>,
}

impl ConcealedTables {
    /// The concealed tables, given the operations of which every call is denied.
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

    /// Whether the rows of a table may be listed.
    pub(crate) fn is_readable(&self, table: usize) -> bool {
        !self.unreadable.contains(&table)
    }

    /// Whether any operation on a table is allowed.
    pub(crate) fn is_shown(&self, table: usize) -> bool {
        !self.hidden.contains(&table)
    }
}
