//! Other tables that a request reads or changes, so that policy covers them too: tables whose rows a computed field
//! counts, tables that a delete cascades to, and tables that inherit from the named one.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Offer, Verb};
use crate::schema::exposed_table::{ExposedTable, Formula};
use crate::schema::model::{OnDelete, Table};

/// Deleting a row of one table changes rows of another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cascade {
    /// The referring table.
    from: usize,
    /// The referenced table.
    to: usize,
    on_delete: OnDelete,
}

impl Cascade {
    /// Every cascade between these tables, including those by hidden columns.
    pub(super) fn between(tables: &[Table]) -> Vec<Self> {
        let mut cascades = Vec::new();
        for (from, table) in tables.iter().enumerate() {
            let all = table.foreign.iter().chain(&table.withheld.foreign);
            for foreign in all.filter(|foreign| foreign.on_delete != OnDelete::Refuse) {
                let to = tables.iter().position(|other| foreign.references_table(other));
                cascades.extend(to.map(|to| Self { from, to, on_delete: foreign.on_delete }));
            }
        }
        cascades
    }
}

/// For each table, the tables that inherit from it: their rows are also rows of the parent.
pub(super) fn descendants(tables: &[Table]) -> Vec<Vec<usize>> {
    let descendants_of = |parent: &Table| {
        let is_parent = |(schema, name): &(Arc<str>, Arc<str>)| parent.matches_name(Some(schema.as_ref()), name);
        let all = tables.iter().enumerate().filter(|(_, descendant)| descendant.inherits.iter().any(is_parent));
        all.map(|(index, _)| index).collect()
    };
    tables.iter().map(descendants_of).collect()
}

impl Offer {
    /// The operations that a request needs in addition to its own.
    pub(super) fn needed(&self, verb: Verb, index: usize, params: &Map<String, Value>) -> Vec<Arc<str>> {
        let is_dry_run = params.get("dry_run") == Some(&Value::Bool(true));
        let counted = match verb {
            Verb::List | Verb::Search | Verb::Get => {
                self.counted(index, |exposed, name| is_named(exposed, name, params))
            }
            Verb::Create | Verb::Update | Verb::Delete => Vec::new(),
        };
        self.collect(verb, index, &counted, is_dry_run)
    }

    /// The operations that any request of this operation may need.
    pub(super) fn may_need(&self, verb: Verb, index: usize) -> Vec<Arc<str>> {
        let counted = match verb {
            Verb::List | Verb::Search | Verb::Get => self.counted(index, |_, _| true),
            Verb::Create | Verb::Update | Verb::Delete => Vec::new(),
        };
        self.collect(verb, index, &counted, true)
    }

    fn collect(&self, verb: Verb, index: usize, counted: &[usize], is_dry_run: bool) -> Vec<Arc<str>> {
        let mut needed: BTreeSet<Arc<str>> = BTreeSet::new();
        for table in counted {
            needed.extend(self.with_descendants(Verb::List, *table));
        }
        if verb == Verb::Delete {
            needed.extend(self.cascaded(index, is_dry_run));
        }
        if verb != Verb::Create {
            needed.extend(self.descendants_of(index).filter_map(|descendant| self.operation_of(verb, descendant)));
        }
        // Most requests need no others.
        if needed.is_empty() {
            return Vec::new();
        }
        let own = self.table(index).map(|exposed| verb.operation_name(exposed));
        needed.into_iter().filter(|name| Some(&**name) != own.as_deref()).collect()
    }

    /// The tables whose rows a computed field of this one counts.
    fn counted(&self, index: usize, is_wanted: impl Fn(&ExposedTable, &str) -> bool) -> Vec<usize> {
        let Some(exposed) = self.table(index) else { return Vec::new() };
        let counts = exposed.computed.iter().filter_map(|computed| match &computed.formula {
            Formula::ChildCount(children) => Some((&*computed.name, children.index)),
            Formula::Operator(_) | Formula::AgeDays(_) => None,
        });
        counts.filter(|(name, _)| is_wanted(exposed, name)).map(|(_, table)| table).collect()
    }

    /// The operations that a delete cascades to. A dry run also reports how many rows that affects.
    fn cascaded(&self, index: usize, is_dry_run: bool) -> Vec<Arc<str>> {
        let mut needed = Vec::new();
        let mut deleted = BTreeSet::from([index]);
        let mut open = vec![index];
        while let Some(table) = open.pop() {
            for cascade in self.cascades.iter().filter(|cascade| cascade.to == table) {
                let from = cascade.from;
                let verb = match cascade.on_delete {
                    OnDelete::Cascade => Verb::Delete,
                    OnDelete::Clear => Verb::Update,
                    OnDelete::Refuse => continue,
                };
                if verb == Verb::Delete && deleted.insert(from) {
                    open.push(from);
                }
                if from == index {
                    continue;
                }
                needed.extend(self.with_descendants(verb, from));
                // Tables that may not be listed are not named in the answer.
                if is_dry_run && self.concealed.is_readable(from) {
                    needed.extend(self.with_descendants(Verb::List, from));
                }
            }
        }
        needed
    }

    /// The operation on a table and on its descendants, whose rows are also rows of the table.
    pub(super) fn with_descendants(&self, verb: Verb, index: usize) -> impl Iterator<Item = Arc<str>> {
        let all = std::iter::once(index).chain(self.descendants_of(index));
        all.filter_map(move |table| self.operation_of(verb, table))
    }

    fn descendants_of(&self, index: usize) -> impl Iterator<Item = usize> {
        self.descendants.get(index).into_iter().flatten().copied()
    }

    /// The operation of a table; if it has none, its list operation, by which rules can refer to the table.
    fn operation_of(&self, verb: Verb, index: usize) -> Option<Arc<str>> {
        let exposed = self.table(index)?;
        [verb, Verb::List]
            .into_iter()
            .map(|verb| verb.operation_name(exposed))
            .find(|name| self.offers(name))
            .map(Arc::from)
    }
}

/// Whether a request uses a computed field. If it mentions computed fields without a name, any may be meant.
fn is_named(exposed: &ExposedTable, name: &str, params: &Map<String, Value>) -> bool {
    let is_about = |text: &str| {
        text.contains("_computed")
            && (text.contains(name) || !exposed.computed.iter().any(|computed| text.contains(&*computed.name)))
    };
    // The search text is not a field.
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
