//! Other tables that a request reads or changes, so that policy covers them too: tables whose rows a computed field
//! counts, tables that a delete cascades to, and tables that inherit from the named one.

use std::collections::BTreeSet;
use std::sync::Arc;

use aquifer_query::collection::{Cardinality, QueryRoot, Reference};
use aquifer_query::plan::{Embed, Filter, Path};
use aquifer_query::{QueryKind, parse_fields, parse_unpaged};
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
            for foreign in all.filter(|foreign| foreign.on_delete.changes_rows()) {
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
                let mut read = self.counted(index, |exposed, name| is_named(exposed, name, params));
                read.extend(self.reached_by_paths(verb, index, params));
                read
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

    /// The tables that the paths of a request lead to, and those whose rows their computed fields count. The request is
    /// parsed in the same way as for execution, so that both agree. A request that cannot be parsed reads nothing, but
    /// its error message names fields, so every name in it counts as a path.
    fn reached_by_paths(&self, verb: Verb, index: usize, params: &Map<String, Value>) -> BTreeSet<usize> {
        let mut reached = BTreeSet::new();
        let Some(exposed) = self.table(index).filter(|exposed| !exposed.references.is_empty()) else { return reached };
        let root = QueryRoot::new(&exposed.collection, self);
        let parsed = match verb {
            Verb::Get => parse_fields(root, QueryKind::Get, params).map(|select| {
                select.paths.iter().for_each(|path| self.reach_path(index, path, &mut reached));
                select.embeds.iter().for_each(|embed| self.reach_embed(index, embed, &mut reached));
            }),
            _ => {
                let kind = if verb == Verb::Search { QueryKind::Search } else { QueryKind::List };
                parse_unpaged(root, kind, params).map(|plan| {
                    plan.paths().into_iter().for_each(|path| self.reach_path(index, path, &mut reached));
                    plan.filter.iter().for_each(|filter| self.reach_filter(index, filter, &mut reached));
                    plan.embeds.iter().for_each(|embed| self.reach_embed(index, embed, &mut reached));
                })
            }
        };
        if parsed.is_err() {
            let start = BTreeSet::from([index]);
            // The search text is not a path.
            for (_, value) in params.iter().filter(|(name, _)| *name != "query") {
                self.follow_names(value, &start, &mut reached);
            }
        }
        reached
    }

    /// Adds the tables that a path of a plan leads to.
    fn reach_path(&self, from: usize, path: &Path, reached: &mut BTreeSet<usize>) {
        let end = self.reach_through(from, &path.through, reached);
        if path.computed
            && let Some(end) = end
        {
            reached.extend(self.counted(end, |_, name| *name == *path.name));
        }
    }

    /// Adds the tables that the paths of a condition lead to.
    fn reach_filter(&self, from: usize, filter: &Filter, reached: &mut BTreeSet<usize>) {
        match filter {
            Filter::And(parts) | Filter::Or(parts) => {
                parts.iter().for_each(|part| self.reach_filter(from, part, reached));
            }
            Filter::Not(inner) => self.reach_filter(from, inner, reached),
            Filter::Test { path, .. } => self.reach_path(from, path, reached),
            Filter::Compare { left, right, .. } => {
                self.reach_path(from, left, reached);
                self.reach_path(from, right, reached);
            }
            Filter::Calculate { left, right, .. } => {
                self.reach_path(from, left, reached);
                right.paths().into_iter().for_each(|path| self.reach_path(from, path, reached));
            }
            Filter::Related { through, name, filter, .. } => {
                if let Some(to) = self.reach_many(from, through, name, reached) {
                    self.reach_filter(to, filter, reached);
                }
            }
        }
    }

    /// Adds the table of related rows, and those that their paths lead to.
    fn reach_embed(&self, from: usize, embed: &Embed, reached: &mut BTreeSet<usize>) {
        if let Some(to) = self.reach_many(from, &embed.through, &embed.name, reached) {
            embed.paths().into_iter().for_each(|path| self.reach_path(to, path, reached));
            embed.filter.iter().for_each(|filter| self.reach_filter(to, filter, reached));
        }
    }

    /// Adds the tables that these references lead to, the last of them to many rows. Returns the last.
    fn reach_many(
        &self,
        from: usize,
        through: &[Arc<str>],
        name: &str,
        reached: &mut BTreeSet<usize>,
    ) -> Option<usize> {
        let owner = self.reach_through(from, through, reached)?;
        let to = self.table(owner)?.reference(name, Cardinality::Many)?.to;
        reached.insert(to);
        Some(to)
    }

    /// Adds the tables that these references lead to. Returns the last.
    fn reach_through(&self, from: usize, through: &[Arc<str>], reached: &mut BTreeSet<usize>) -> Option<usize> {
        through.iter().try_fold(from, |at, name| {
            let to = self.table(at)?.reference(name, Cardinality::One)?.to;
            reached.insert(to);
            Some(to)
        })
    }

    /// Follows every name in a value as a path from each of these tables.
    fn follow_names(&self, value: &Value, from: &BTreeSet<usize>, reached: &mut BTreeSet<usize>) {
        match value {
            Value::String(text) => {
                // A calculation names several paths.
                let is_sign = |c: char| matches!(c, '+' | '-' | '*' | '/' | '(' | ')');
                for table in from {
                    self.follow_path(*table, text, reached);
                    for path in text.split(is_sign) {
                        self.follow_path(*table, path, reached);
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.follow_names(item, from, reached)),
            Value::Object(members) => {
                for (name, value) in members {
                    // The names inside belong to the table that the path leads to. If the name is both a keyword and a
                    // reference, they may also belong to the current table.
                    let mut inside = from.clone();
                    inside.extend(from.iter().flat_map(|table| self.follow_path(*table, name, reached)));
                    self.follow_names(value, &inside, reached);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Follows the references of a path, and adds the tables on its way. Returns the table at its end.
    fn follow_path(&self, from: usize, path: &str, reached: &mut BTreeSet<usize>) -> Option<usize> {
        let mut at = from;
        let is_decoration = |c: char| c == '-' || c == '+' || c.is_whitespace();
        let mut steps = path.trim_start_matches(is_decoration).split('.');
        while let Some(step) = steps.next() {
            let exposed = self.table(at)?;
            if step == "_computed" {
                let name = steps.next().unwrap_or_default();
                reached.extend(self.counted(at, |_, known| name.starts_with(known)));
                break;
            }
            let is_meant =
                |known: &&Reference| *known.name == *step || known.aliases.iter().any(|alias| **alias == *step);
            let Some(reference) = exposed.collection.references.iter().find(is_meant) else { break };
            at = reference.to;
            reached.insert(at);
        }
        (at != from).then_some(at)
    }

    /// For each table, the operations that read the tables its paths can lead to: all tables that references connect with
    /// it. Connected tables share the list.
    pub(super) fn may_reach(&self) -> Vec<Arc<[Arc<str>]>> {
        let mut groups: Vec<Option<Arc<[Arc<str>]>>> = vec![None; self.tables.len()];
        for start in 0..self.tables.len() {
            if groups.get(start).is_none_or(Option::is_some) {
                continue;
            }
            let (mut connected, mut open) = (BTreeSet::from([start]), vec![start]);
            while let Some(table) = open.pop() {
                let references = self.table(table).into_iter().flat_map(|exposed| &exposed.references);
                open.extend(references.map(|reference| reference.to).filter(|to| connected.insert(*to)));
            }
            let reads: Arc<[Arc<str>]> = match connected.len() {
                1 => Arc::new([]),
                _ => connected.iter().flat_map(|table| self.with_descendants(Verb::List, *table)).collect(),
            };
            for table in connected {
                if let Some(group) = groups.get_mut(table) {
                    *group = Some(reads.clone());
                }
            }
        }
        groups.into_iter().map(Option::unwrap_or_default).collect()
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
                    OnDelete::Refuse | OnDelete::Nothing => continue,
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
    pub(crate) fn with_descendants(&self, verb: Verb, index: usize) -> impl Iterator<Item = Arc<str>> {
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

/// Whether a request uses a computed field. If it mentions computed fields without naming one, it may use any.
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
