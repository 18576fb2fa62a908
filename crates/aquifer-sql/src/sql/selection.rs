//! The columns of a `SELECT`, and the fields of an item that they become.

use std::sync::Arc;

use aquifer_query::plan::{Embed, Path};
use aquifer_query::selection::Selection as Parts;

use super::embed::write_embed;
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

    /// Adds the rows that refer to a row.
    pub(super) fn add_embed(&mut self, scope: &Scope<'_>, statement: &mut Statement, embed: &Embed) -> OutputField {
        let index = self.begin_column(statement);
        let fields = write_embed(scope, statement, embed);
        OutputField::rows(&embed.name, index, fields)
    }

    /// Selects fields, and the rows that refer to a row.
    pub(super) fn select_all(
        &mut self,
        scope: &Scope<'_>,
        statement: &mut Statement,
        select: &[Path],
        embeds: &[Embed],
    ) -> Arc<[OutputField]> {
        if embeds.is_empty() {
            return self.select_fields(scope, statement, select);
        }
        let mut fields = self.write_fields(scope, statement, select);
        for embed in embeds {
            let field = self.add_embed(scope, statement, embed);
            let through: Vec<&str> = embed.through.iter().map(|step| &**step).collect();
            OutputField::add_field(&mut fields, &through, field);
        }
        fields.into()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn add(&mut self, scope: &Scope<'_>, statement: &mut Statement, path: &Path) -> (usize, CellType) {
        let cached = self.cached.iter().flat_map(|selection| &selection.known);
        if let Some((_, index, cell_type)) = cached.chain(&self.known).find(|(known, _, _)| known == path) {
            return (*index, cell_type.clone());
        }
        let index = self.begin_column(statement);
        let (scope, target) = scope.resolve(path);
        let cell_type = scope.write_output(statement, target);
        self.known.push((path.clone(), index, cell_type.clone()));
        (index, cell_type)
    }

    /// Selects these fields as the columns of a table.
    pub(super) fn select_columns(
        &mut self,
        scope: &Scope<'_>,
        statement: &mut Statement,
        select: &[Path],
        embeds: &[Embed],
    ) -> Arc<[OutputField]> {
        let mut fields = Vec::with_capacity(select.len() + embeds.len());
        for path in select {
            // Only the value itself shows whether a step is the index of an element.
            let whole = Path { inside: Vec::new(), ..path.clone() };
            let (index, cell_type) = self.add(scope, statement, &whole);
            fields.push(OutputField::column(index, cell_type, &path.inside));
        }
        for embed in embeds {
            fields.push(self.add_embed(scope, statement, embed));
        }
        fields.into()
    }

    /// Selects these fields. Must be called first.
    pub(super) fn select_fields(
        &mut self,
        scope: &Scope<'_>,
        statement: &mut Statement,
        select: &[Path],
    ) -> Arc<[OutputField]> {
        if scope.is_alone()
            && let Some(selection) = scope.exposed.selections.get(select)
        {
            statement.fragment(&selection.text);
            self.count = selection.known.len();
            let fields = selection.fields.clone();
            self.cached = Some(selection);
            return fields;
        }
        let start = statement.text().len();
        let fields: Arc<[OutputField]> = self.write_fields(scope, statement, select).into();
        // The names of joined tables depend on the other parts of a request.
        let is_own = select.iter().all(|path| path.through.is_empty()) && scope.is_alone();
        if let Some(text) = statement.fragment_since(start).filter(|_| is_own) {
            let whole = scope.exposed.whole.get().filter(|whole| std::ptr::eq(&***whole, select));
            let select = whole.map_or_else(|| select.into(), Arc::clone);
            let (known, fields) = (self.known.clone(), fields.clone());
            scope.exposed.selections.insert(CachedSelection { select, text, known, fields });
        }
        fields
    }

    fn write_fields(&mut self, scope: &Scope<'_>, statement: &mut Statement, select: &[Path]) -> Vec<OutputField> {
        let mut fields = Vec::with_capacity(select.len());
        for (number, path) in select.iter().enumerate() {
            if let Some(parts) = numbered_parts(path, select) {
                if select.iter().position(|other| is_same_field(other, path)) == Some(number) {
                    let whole = Path { inside: Vec::new(), ..path.clone() };
                    let (index, cell_type) = self.add(scope, statement, &whole);
                    let steps: Vec<&str> = path.through.iter().map(|step| &**step).chain([&*path.name]).collect();
                    OutputField::add_parts(&mut fields, &steps, index, cell_type, parts);
                }
                continue;
            }
            let (index, cell_type) = self.add(scope, statement, path);
            let computed = path.computed.then_some("_computed");
            let through = path.through.iter().map(|step| &**step).chain(computed).chain([&*path.name]);
            let steps: Vec<&str> = through.chain(path.inside.iter().map(|step| &**step)).collect();
            OutputField::add_cell(&mut fields, &steps, index, cell_type, !path.inside.is_empty());
        }
        fields
    }
}

fn is_same_field(one: &Path, other: &Path) -> bool {
    one.name == other.name && one.computed == other.computed && one.through == other.through
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
