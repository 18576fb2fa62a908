//! Tables as data, for people who browse a schema. It is what overviews show in lines: hidden columns are not in the
//! model any more, and references to concealed tables are left out.

use std::sync::Arc;

use aquifer_engine::table_model::{ColumnModel, DeleteAction, ReferenceModel, TableKind, TableModel};
use aquifer_query::FieldType;

use super::{Offer, Verb};
use crate::schema::exposed_table::ExposedTable;
use crate::schema::model::{Column, OnDelete};
use crate::schema::relationship::Relationship;
use crate::schema::table_sample::RowCount;

impl Offer {
    /// The tables that callers may read.
    pub(crate) fn table_models(&self) -> Vec<TableModel> {
        let readable = self.tables.iter().enumerate().filter(|(index, _)| self.concealed.is_readable(*index));
        readable.map(|(index, exposed)| self.table_model(index, exposed)).collect()
    }

    fn table_model(&self, index: usize, exposed: &ExposedTable) -> TableModel {
        let operations = Verb::ALL.into_iter().map(|verb| Arc::from(verb.operation_name(exposed)));
        let outgoing = self.references.iter().filter(|known| known.from == index && !known.conceals_to);
        let rows = exposed.sample.get().and_then(|sample| sample.rows);
        TableModel {
            name: exposed.words.plural.as_str().into(),
            kind: if exposed.table.is_view { TableKind::View } else { TableKind::Table },
            description: exposed.table.comment.clone(),
            columns: exposed.table.columns.iter().map(|column| column_model(exposed, column)).collect(),
            references: outgoing.filter_map(|known| self.reference_model(known)).collect(),
            operations: operations.filter(|name: &Arc<str>| self.offers(name)).collect(),
            rows: rows.map(|rows| match rows {
                RowCount::About(rows) | RowCount::MoreThan(rows) => rows,
            }),
        }
    }

    fn reference_model(&self, known: &Relationship) -> Option<ReferenceModel> {
        Some(ReferenceModel {
            columns: known.columns.clone(),
            table: self.table(known.to)?.words.plural.as_str().into(),
            target_columns: known.to_columns.clone(),
            on_delete: match known.on_delete {
                OnDelete::Refuse => DeleteAction::Restrict,
                OnDelete::Cascade => DeleteAction::Cascade,
                OnDelete::Clear => DeleteAction::Clear,
                OnDelete::Nothing => DeleteAction::Nothing,
            },
        })
    }
}

fn column_model(exposed: &ExposedTable, column: &Column) -> ColumnModel {
    ColumnModel {
        name: column.name.clone(),
        type_name: type_name(&column.field_type).into(),
        nullable: column.nullable,
        key: exposed.table.key_columns().any(|key| key.name == column.name),
        values: match &column.field_type {
            FieldType::Enum(values) => values.to_vec(),
            _ => Vec::new(),
        },
        description: column.comment.clone(),
    }
}

/// The type in one word. Introspection has the types of JSON instead, which do not tell a date from a text.
fn type_name(field_type: &FieldType) -> String {
    let word = match field_type {
        FieldType::Text => "text",
        FieldType::Enum(_) => "enum",
        FieldType::Integer => "integer",
        FieldType::Number => "number",
        FieldType::Boolean => "boolean",
        FieldType::Time => "time",
        FieldType::Date => "date",
        FieldType::Uuid => "uuid",
        FieldType::Bytes => "bytes",
        FieldType::Json => "json",
        FieldType::List(None) => "list",
        FieldType::List(Some(items)) => return format!("{}[]", type_name(items)),
    };
    word.to_owned()
}
