//! The tables of a source as data: for pages that show a schema to people. Agents get lines of text instead.

use std::sync::Arc;

use serde::Serialize;

/// A table, as far as callers may see it: without hidden columns, and without references to concealed tables.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TableModel {
    /// Its name for callers.
    pub name: Arc<str>,
    /// Whether it is a table or a view.
    pub kind: TableKind,
    /// What the database or the operator says about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<Arc<str>>,
    /// Its columns, in their order.
    pub columns: Vec<ColumnModel>,
    /// Its references to other tables.
    pub references: Vec<ReferenceModel>,
    /// Its operations. A source returns its own names, the engine the names that callers use. The first one reads its
    /// rows.
    pub operations: Vec<Arc<str>>,
    /// The approximate number of rows, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
}

/// Whether rows are stored or computed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TableKind {
    /// A table.
    #[default]
    Table,
    /// A view.
    View,
}

/// A column.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ColumnModel {
    /// Its name for callers.
    pub name: Arc<str>,
    /// The type of its values in one word.
    #[serde(rename = "type")]
    pub type_name: Arc<str>,
    /// Whether it may be NULL. Databases do not know this of the columns of views.
    pub nullable: bool,
    /// Whether it is part of the key.
    pub key: bool,
    /// The possible values, if they are known.
    #[serde(rename = "enum", skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Arc<str>>,
    /// What the database says about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<Arc<str>>,
}

/// A reference to rows of another table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ReferenceModel {
    /// The referring columns.
    pub columns: Vec<Arc<str>>,
    /// The referenced table.
    pub table: Arc<str>,
    /// The referenced columns.
    pub target_columns: Vec<Arc<str>>,
    /// What happens to the referring rows when the referenced row is deleted.
    pub on_delete: DeleteAction,
}

/// What happens to referring rows when the referenced row is deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DeleteAction {
    /// They prevent the deletion.
    #[default]
    Restrict,
    /// They are deleted, too.
    Cascade,
    /// Their reference is cleared.
    Clear,
    /// Nothing: the reference is not enforced.
    Nothing,
}
