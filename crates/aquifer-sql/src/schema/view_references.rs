//! References of views: a view column that shows a referring column of a table refers to the same rows. The database
//! does not enforce it, but it can be followed like the table's reference.
//!
//! Only references by one column are included. Several columns of a view may come from different rows of the same
//! table, so together they may not refer to any row.

use std::collections::HashMap;
use std::sync::Arc;

use super::model::{ColumnDerivation, ColumnId, ForeignKey, Model, OnDelete};

/// Maximum number of nested views that are followed.
const MAX_VIEW_DEPTH: usize = 8;

/// Adds references to views. `origins` maps columns of tables and views to the view columns that show them unchanged.
pub(crate) fn add_view_references(model: &mut Model, origins: &[ColumnDerivation]) {
    let origins: HashMap<&ColumnId, &ColumnId> =
        origins.iter().map(|derivation| (&derivation.to, &derivation.from)).collect();
    for _ in 0..MAX_VIEW_DEPTH {
        let references_by_column = single_references(model);
        let mut is_complete = true;
        for table in &mut model.tables {
            let columns =
                table.columns.iter().map(|column| (column.sql_name.clone(), table.column_id(&column.sql_name)));
            let columns: Vec<(Arc<str>, ColumnId)> = columns.collect();
            for (name, id) in columns {
                let has_reference = table.foreign.iter().any(|foreign| foreign.columns == [name.clone()]);
                let references = origins.get(&id).and_then(|origin| references_by_column.get(*origin));
                for foreign in references.into_iter().flatten().filter(|_| !has_reference) {
                    is_complete = false;
                    table.foreign.push(ForeignKey {
                        name: None,
                        columns: vec![name.clone()],
                        on_delete: OnDelete::Nothing,
                        ..foreign.clone()
                    });
                }
            }
        }
        if is_complete {
            return;
        }
    }
}

/// The references by one column, by that column.
fn single_references(model: &Model) -> HashMap<ColumnId, Vec<ForeignKey>> {
    let mut references: HashMap<ColumnId, Vec<ForeignKey>> = HashMap::new();
    for table in &model.tables {
        for foreign in &table.foreign {
            if let [column] = foreign.columns.as_slice() {
                references.entry(table.column_id(column)).or_default().push(foreign.clone());
            }
        }
    }
    references
}
