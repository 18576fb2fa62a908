//! The columns of a `SELECT`, and the fields of an item that they become.

use std::sync::Arc;

use aquifer_query::plan::Path;
use aquifer_query::selection::Selection as Parts;

use super::scope::Scope;
use crate::rows::{CachedSelection, CellType, OutputField};
use crate::statement::Statement;

/// The columns of a statement, each selected once.
#[derive(Debug, Default)]
pub(crate) struct OutputColumns {
    cached: Option<Arc<CachedSelection>>,
    known: Vec<(Path, usize, CellType)>,
    count: usize,
}

impl OutputColumns {
    /// Begins the next column, and returns its index.
    pub(super) fn begin_column(&mut self, statement: &mut Statement) -> usize {
        if self.count > 0 {
            statement.push(", ");
        }
        self.count += 1;
        self.count - 1
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn add(&mut self, scope: &Scope<'_>, statement: &mut Statement, path: &Path) -> (usize, CellType) {
        let cached = self.cached.iter().flat_map(|selection| &selection.known);
        if let Some((_, index, cell_type)) = cached.chain(&self.known).find(|(known, _, _)| known == path) {
            return (*index, *cell_type);
        }
        let index = self.begin_column(statement);
        let cell_type = scope.write_output(statement, scope.resolve(path));
        self.known.push((path.clone(), index, cell_type));
        (index, cell_type)
    }

    /// Selects these fields. Must be called first.
    pub(super) fn select_fields(
        &mut self,
        scope: &Scope<'_>,
        statement: &mut Statement,
        select: &[Path],
    ) -> Arc<[OutputField]> {
        if let Some(selection) = scope.exposed.selections.get(select) {
            statement.fragment(&selection.text);
            self.count = selection.known.len();
            let fields = selection.fields.clone();
            self.cached = Some(selection);
            return fields;
        }
        let start = statement.text().len();
        let mut fields = Vec::with_capacity(select.len());
        for (number, path) in select.iter().enumerate() {
            if let Some(parts) = numbered_parts(path, select) {
                if select.iter().position(|other| is_same_field(other, path)) == Some(number) {
                    let (index, cell_type) = self.add(scope, statement, &Path::from_name(path.name.clone()));
                    OutputField::add_parts(&mut fields, &path.name, index, cell_type, parts);
                }
                continue;
            }
            let (index, cell_type) = self.add(scope, statement, path);
            let mut steps: Vec<&str> = vec![&path.name];
            steps.extend(path.inside.iter().map(|step| &**step));
            if path.computed {
                steps.insert(0, "_computed");
            }
            OutputField::add_cell(&mut fields, &steps, index, cell_type, !path.inside.is_empty());
        }
        let fields: Arc<[OutputField]> = fields.into();
        if let Some(text) = statement.fragment_since(start) {
            let whole = scope.exposed.whole.get().filter(|whole| std::ptr::eq(&***whole, select));
            let select = whole.map_or_else(|| select.into(), Arc::clone);
            let (known, fields) = (self.known.clone(), fields.clone());
            scope.exposed.selections.insert(CachedSelection { select, text, known, fields });
        }
        fields
    }
}

fn is_same_field(one: &Path, other: &Path) -> bool {
    one.name == other.name && one.computed == other.computed
}

/// The selected parts of the field that a path leads into, if a step may be the index of an element: only the value
/// itself shows whether it is a list. `None` if the field is shown whole.
fn numbered_parts(path: &Path, select: &[Path]) -> Option<Parts> {
    if path.inside.is_empty() || path.computed {
        return None;
    }
    let paths = || select.iter().filter(|other| is_same_field(other, path)).map(|other| &*other.inside);
    let parts = Parts::from_paths(paths());
    (parts.has_indexes() && !paths().any(<[_]>::is_empty)).then_some(parts)
}
