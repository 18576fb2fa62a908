//! Which other tables a request reads or changes, so that policy judges these as well: tables whose rows are counted for a
//! computed field, tables that a delete cascades to, and tables that inherit from the one that is named.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Offer, Verb};
use crate::exposed_table::{ExposedTable, Formula};
use crate::model::{OnDelete, Table};

/// Deleting a row of one table changes rows of another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cascade {
    /// The table that refers.
    from: usize,
    /// The table referred to.
    to: usize,
    on_delete: OnDelete,
}

impl Cascade {
    /// Every cascade between these tables, also by columns that callers do not see.
    pub(super) fn between(tables: &[Table]) -> Vec<Self> {
        let mut cascades = Vec::new();
        for (from, table) in tables.iter().enumerate() {
            let all = table.foreign.iter().chain(&table.withheld.foreign);
            for foreign in all.filter(|foreign| foreign.on_delete != OnDelete::Refuse) {
                let to = tables.iter().position(|other| foreign.leads_to(other));
                cascades.extend(to.map(|to| Self { from, to, on_delete: foreign.on_delete }));
            }
        }
        cascades
    }
}

/// For each table, those that inherit from it: their rows are rows of the first, too.
pub(super) fn heirs(tables: &[Table]) -> Vec<Vec<usize>> {
    let heirs_of = |parent: &Table| {
        let is_parent = |(schema, name): &(Arc<str>, Arc<str>)| parent.is_called(Some(schema.as_ref()), name);
        let all = tables.iter().enumerate().filter(|(_, heir)| heir.inherits.iter().any(is_parent));
        all.map(|(index, _)| index).collect()
    };
    tables.iter().map(heirs_of).collect()
}

impl Offer {
    /// The operations that a request needs beside its own.
    pub(super) fn needed(&self, verb: Verb, index: usize, params: &Map<String, Value>) -> Vec<Arc<str>> {
        let is_rehearsal = params.get("dry_run") == Some(&Value::Bool(true));
        let counted = match verb {
            Verb::List | Verb::Search | Verb::Get => self.counted(index, |served, name| is_named(served, name, params)),
            Verb::Create | Verb::Update | Verb::Delete => Vec::new(),
        };
        self.collect(verb, index, &counted, is_rehearsal)
    }

    /// The operations that some request of this one needs.
    pub(super) fn may_need(&self, verb: Verb, index: usize) -> Vec<Arc<str>> {
        let counted = match verb {
            Verb::List | Verb::Search | Verb::Get => self.counted(index, |_, _| true),
            Verb::Create | Verb::Update | Verb::Delete => Vec::new(),
        };
        self.collect(verb, index, &counted, true)
    }

    fn collect(&self, verb: Verb, index: usize, counted: &[usize], is_rehearsal: bool) -> Vec<Arc<str>> {
        let mut needed: BTreeSet<Arc<str>> = BTreeSet::new();
        for table in counted {
            needed.extend(self.of_family(Verb::List, *table));
        }
        if verb == Verb::Delete {
            needed.extend(self.cascaded(index, is_rehearsal));
        }
        if verb != Verb::Create {
            needed.extend(self.heirs_of(index).filter_map(|heir| self.operation_of(verb, heir)));
        }
        // Most requests need nothing else.
        if needed.is_empty() {
            return Vec::new();
        }
        let own = self.table(index).map(|served| verb.of(served));
        needed.into_iter().filter(|name| Some(&**name) != own.as_deref()).collect()
    }

    /// The tables whose rows a computed field of this one counts.
    fn counted(&self, index: usize, is_wanted: impl Fn(&ExposedTable, &str) -> bool) -> Vec<usize> {
        let Some(served) = self.table(index) else { return Vec::new() };
        let counts = served.computed.iter().filter_map(|computed| match &computed.formula {
            Formula::Children(children) => Some((&*computed.name, children.index)),
            Formula::Operator(_) | Formula::AgeDays(_) => None,
        });
        counts.filter(|(name, _)| is_wanted(served, name)).map(|(_, table)| table).collect()
    }

    /// What deleting a row may delete or change elsewhere. A rehearsal also tells how many rows that would be.
    fn cascaded(&self, index: usize, is_rehearsal: bool) -> Vec<Arc<str>> {
        let mut needed = Vec::new();
        let mut gone = BTreeSet::from([index]);
        let mut open = vec![index];
        while let Some(table) = open.pop() {
            for cascade in self.cascades.iter().filter(|cascade| cascade.to == table) {
                let from = cascade.from;
                let verb = match cascade.on_delete {
                    OnDelete::Cascade => Verb::Delete,
                    OnDelete::Clear => Verb::Update,
                    OnDelete::Refuse => continue,
                };
                if verb == Verb::Delete && gone.insert(from) {
                    open.push(from);
                }
                if from == index {
                    continue;
                }
                needed.extend(self.of_family(verb, from));
                // Tables that are never listed are not named in the answer.
                if is_rehearsal && self.concealed.is_readable(from) {
                    needed.extend(self.of_family(Verb::List, from));
                }
            }
        }
        needed
    }

    /// An operation of a table and of those that inherit from it: their rows are rows of the first, too.
    pub(super) fn of_family(&self, verb: Verb, index: usize) -> impl Iterator<Item = Arc<str>> {
        let all = std::iter::once(index).chain(self.heirs_of(index));
        all.filter_map(move |table| self.operation_of(verb, table))
    }

    fn heirs_of(&self, index: usize) -> impl Iterator<Item = usize> {
        self.heirs.get(index).into_iter().flatten().copied()
    }

    /// The operation of a table; where it has none, the one that lists it, by which rules can name the table.
    fn operation_of(&self, verb: Verb, index: usize) -> Option<Arc<str>> {
        let served = self.table(index)?;
        [verb, Verb::List].into_iter().map(|verb| verb.of(served)).find(|name| self.offers(name)).map(Arc::from)
    }
}

/// Whether a request names a computed field. Where it speaks of computed fields without naming any, all may be meant.
fn is_named(served: &ExposedTable, name: &str, params: &Map<String, Value>) -> bool {
    let is_about = |text: &str| {
        text.contains("_computed")
            && (text.contains(name) || !served.computed.iter().any(|computed| text.contains(&*computed.name)))
    };
    // What is searched for is no field.
    params.iter().any(|(key, value)| is_about(key) || (key != "query" && mentions(value, &is_about)))
}

fn mentions(value: &Value, is_about: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => is_about(text),
        Value::Array(items) => items.iter().any(|item| mentions(item, is_about)),
        Value::Object(members) => members.iter().any(|(key, value)| is_about(key) || mentions(value, is_about)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
