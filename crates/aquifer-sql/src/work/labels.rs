//! Labels a row for people by the values of a few descriptive columns.

use aquifer_query::FieldType;
use serde_json::{Map, Value};

use crate::schema::exposed_table::ExposedTable;

/// Names of columns that describe a row, the best first.
const LABEL_COLUMNS: &[&str] = &[
    "name",
    "title",
    "full_name",
    "display_name",
    "last_name",
    "first_name",
    "label",
    "code",
    "subject",
    "username",
    "email",
    "number",
    "sku",
    "slug",
];

/// Maximum number of labels of a row.
const MAX_LABELS: usize = 2;

/// The labels of a row, in the order of its columns. Hidden columns are not part of the table.
pub(super) fn labels(exposed: &ExposedTable, row: &Map<String, Value>) -> Vec<String> {
    let is_key = |name: &str| exposed.table.key_columns().any(|column| *column.name == *name);
    let text = |name: &str| row.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let columns = exposed.table.columns.iter().enumerate().filter_map(|(position, column)| {
        let is_text = matches!(column.field_type, FieldType::Text | FieldType::Enum(_));
        let rank = rank(&column.name)?;
        (is_text && !is_key(&column.name)).then_some((rank, position, text(&column.name)?))
    });
    let mut best: Vec<(usize, usize, &str)> = columns.collect();
    best.sort_unstable();
    best.truncate(MAX_LABELS);
    best.sort_unstable_by_key(|(_, position, _)| *position);
    best.into_iter().map(|(_, _, text)| text.to_owned()).collect()
}

/// The rank of a column as a label, by its name or by the suffix of it (`product_name`).
fn rank(column: &str) -> Option<usize> {
    let name = column.to_ascii_lowercase();
    let exact = LABEL_COLUMNS.iter().position(|known| *known == name);
    exact.or_else(|| {
        let ends = |ending: &str| name.ends_with(ending).then_some(LABEL_COLUMNS.len());
        ends("_name").or_else(|| ends("_title")).or_else(|| ends("_code"))
    })
}
