//! What `SELECT` asks for, and how it becomes the fields of an item.

use std::sync::{Arc, PoisonError, RwLock};

use aquifer_query::plan::Path;
use aquifer_query::selection::Selection as Parts;

use super::value::Scope;
use crate::rows::{Node, Reader};
use crate::statement::{Fragment, Statement};

/// Columns of a statement, each asked for once.
#[derive(Debug, Default)]
pub(crate) struct Outputs {
    begun: Option<Arc<Selection>>,
    known: Vec<(Path, usize, Reader)>,
    count: usize,
}

impl Outputs {
    /// Makes room for one more, and says where it stands.
    pub(super) fn next(&mut self, statement: &mut Statement) -> usize {
        if self.count > 0 {
            statement.push(", ");
        }
        self.count += 1;
        self.count - 1
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn add(&mut self, scope: &Scope<'_>, statement: &mut Statement, path: &Path) -> (usize, Reader) {
        let begun = self.begun.iter().flat_map(|selection| &selection.known);
        if let Some((_, index, reader)) = begun.chain(&self.known).find(|(known, _, _)| known == path) {
            return (*index, *reader);
        }
        let index = self.next(statement);
        let reader = scope.output(statement, scope.thing(path));
        self.known.push((path.clone(), index, reader));
        (index, reader)
    }

    /// Asks for these fields, before anything else.
    pub(super) fn nodes(&mut self, scope: &Scope<'_>, statement: &mut Statement, select: &[Path]) -> Arc<[Node]> {
        if let Some(selection) = scope.served.selections.of(select) {
            statement.fragment(&selection.text);
            self.count = selection.known.len();
            let nodes = selection.nodes.clone();
            self.begun = Some(selection);
            return nodes;
        }
        let start = statement.text().len();
        let mut nodes = Vec::with_capacity(select.len());
        for (number, path) in select.iter().enumerate() {
            if let Some(parts) = numbered_parts(path, select) {
                if select.iter().position(|other| is_same_field(other, path)) == Some(number) {
                    let (index, reader) = self.add(scope, statement, &Path::from_name(path.name.clone()));
                    Node::enter_parts(&mut nodes, &path.name, index, reader, parts);
                }
                continue;
            }
            let (index, reader) = self.add(scope, statement, path);
            let mut steps: Vec<&str> = vec![&path.name];
            steps.extend(path.inside.iter().map(|step| &**step));
            if path.computed {
                steps.insert(0, "_computed");
            }
            Node::enter(&mut nodes, &steps, index, reader, !path.inside.is_empty());
        }
        let nodes: Arc<[Node]> = nodes.into();
        if let Some(text) = statement.unbound(start) {
            let whole = scope.served.whole.get().filter(|whole| std::ptr::eq(&***whole, select));
            let select = whole.map_or_else(|| select.into(), Arc::clone);
            let (known, nodes) = (self.known.clone(), nodes.clone());
            scope.served.selections.keep(Selection { select, text, known, nodes });
        }
        nodes
    }
}

fn is_same_field(one: &Path, other: &Path) -> bool {
    one.name == other.name && one.computed == other.computed
}

/// What is asked of the field that a path leads into, where one of its steps may be the number of an element: whether it
/// is one, only the value itself tells. None where the field is shown whole.
fn numbered_parts(path: &Path, select: &[Path]) -> Option<Parts> {
    if path.inside.is_empty() || path.computed {
        return None;
    }
    let paths = || select.iter().filter(|other| is_same_field(other, path)).map(|other| &*other.inside);
    let parts = Parts::from_paths(paths());
    (parts.has_indexes() && !paths().any(<[_]>::is_empty)).then_some(parts)
}

/// What is asked for to get some fields.
#[derive(Debug)]
pub(crate) struct Selection {
    select: Arc<[Path]>,
    text: Fragment,
    known: Vec<(Path, usize, Reader)>,
    nodes: Arc<[Node]>,
}

/// What has been asked for before. Most calls ask for the same few fields.
#[derive(Debug, Default)]
pub(crate) struct Selections(RwLock<Vec<Arc<Selection>>>);

impl Selections {
    /// Callers choose fields as they like; the first ones are kept.
    const MAX_COUNT: usize = 8;

    fn of(&self, select: &[Path]) -> Option<Arc<Selection>> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        // The same list is the same at a glance.
        known.iter().find(|known| std::ptr::eq(&*known.select, select) || *known.select == *select).cloned()
    }

    fn keep(&self, selection: Selection) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() < Self::MAX_COUNT {
            known.push(Arc::new(selection));
        }
    }
}
