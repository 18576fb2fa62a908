//! The tables of all sources and how they refer to each other.

use std::sync::Arc;

use aquifer_engine::table_model::{ColumnModel, ReferenceModel, TableKind, TableModel};
use axum::Json;
use axum::extract::State;
use serde::Serialize;

use super::ExplorerState;

#[derive(Serialize)]
pub(super) struct TableList {
    sources: Vec<SourceTables>,
}

#[derive(Serialize)]
struct SourceTables {
    name: Arc<str>,
    tables: Vec<Table>,
}

#[derive(Serialize)]
struct Table {
    name: Arc<str>,
    kind: TableKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<Arc<str>>,
    columns: Vec<ColumnModel>,
    references: Vec<Reference>,
    operations: Vec<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<u64>,
}

/// A reference. Most have one column, so the page gets a name beside the list.
#[derive(Serialize)]
struct Reference {
    column: String,
    target_column: String,
    #[serde(flatten)]
    model: ReferenceModel,
}

/// All tables that callers may see.
pub(super) async fn list(State(explorer): ExplorerState) -> Json<TableList> {
    let sources = explorer.engine.table_models().await.into_iter();
    let sources =
        sources.map(|(name, tables)| SourceTables { name, tables: tables.into_iter().map(Table::from).collect() });
    Json(TableList { sources: sources.collect() })
}

impl From<TableModel> for Table {
    fn from(model: TableModel) -> Self {
        let TableModel { name, kind, description, columns, references, operations, rows } = model;
        let references = references.into_iter().map(Reference::from).collect();
        Self { name, kind, description, columns, references, operations, rows }
    }
}

impl From<ReferenceModel> for Reference {
    fn from(model: ReferenceModel) -> Self {
        let [column, target_column] = [&model.columns, &model.target_columns].map(|columns| columns.join(", "));
        Self { column, target_column, model }
    }
}
