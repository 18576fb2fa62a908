//! Field names: one snake_case name for each column, used in rows, parameters, filters and sorts.
//!
//! The protocol requires snake_case parameters and reserves names that start with `_` (R-REQ-2, R-REQ-3). If rows used
//! other names, they could not be sent back unchanged.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use aquifer_protocol::case::snake_identifier;
use aquifer_protocol::operation::is_snake_case;

use crate::schema::model::{HIDDEN_COLUMN, Model, Table};

/// Names reserved for the controls of operations and filters.
pub(crate) const RESERVED: &[&str] =
    &["dry_run", "if_match", "fields", "preset", "input", "confirmation_token", "and", "or", "not"];

/// Names reserved in references to rows, beside the key columns.
const RESERVED_IN_KEYS: &[&str] = &["element_type", "element_name"];

/// Assigns a field name to every column, wherever the model refers to it.
pub(crate) fn assign_field_names(model: &mut Model) {
    for table in &mut model.tables {
        let own = TableFieldNames::new(table);
        for column in &mut table.columns {
            column.name = own.get(&column.sql_name);
        }
        let about = table.unique.iter_mut().map(|unique| &mut unique.columns);
        for columns in about.chain(table.checks.iter_mut().map(|check| &mut check.columns)) {
            columns.iter_mut().for_each(|column| *column = own.get(column));
        }
        for column in &mut table.dry_run.untestable {
            column.name = own.get(&column.name);
        }
        // A referenced column may belong to a table that is not offered, so its database name is used.
        for foreign in &mut table.foreign {
            foreign.columns.iter_mut().for_each(|column| *column = own.get(column));
        }
    }
}

/// The field names of a table, by column name.
struct TableFieldNames {
    names: HashMap<Arc<str>, Arc<str>>,
    /// SQLite reports the columns of foreign keys and checks as they were written there.
    ignores_case: bool,
}

impl TableFieldNames {
    fn new(table: &Table) -> Self {
        let key: Vec<&str> = table.key_columns().map(|column| &*column.sql_name).collect();
        let columns = table.columns.iter().map(|column| (&*column.sql_name, key.contains(&&*column.sql_name)));
        let fields = field_names(columns).into_iter().map(Arc::from);
        let names = table.columns.iter().map(|column| column.sql_name.clone()).zip(fields).collect();
        Self { names, ignores_case: table.schema.is_none() }
    }

    fn get(&self, column: &str) -> Arc<str> {
        let exact = self.names.get(column);
        let in_any_case = || {
            let mut all = self.names.iter().filter(|_| self.ignores_case);
            all.find(|(known, _)| known.eq_ignore_ascii_case(column)).map(|(_, name)| name)
        };
        exact.or_else(in_any_case).cloned().unwrap_or_else(|| HIDDEN_COLUMN.into())
    }
}

/// Distinct field names. Each column comes with whether it is part of the key.
fn field_names<'a>(columns: impl IntoIterator<Item = (&'a str, bool)>) -> Vec<String> {
    let columns: Vec<(&str, bool)> = columns.into_iter().collect();
    let is_reserved =
        |name: &str, is_key: bool| RESERVED.contains(&name) || (is_key && RESERVED_IN_KEYS.contains(&name));
    let keeps_name = |name: &str, is_key: bool| is_snake_case(name) && !is_reserved(name, is_key);
    // A column keeps its own name if possible, even if an earlier column would get the same one.
    let kept = columns.iter().filter(|(name, is_key)| keeps_name(name, *is_key)).map(|(name, _)| *name);
    let mut taken: HashSet<String> = kept.chain(RESERVED.iter().copied()).map(str::to_owned).collect();
    let mut names = Vec::with_capacity(columns.len());
    for (column, is_key) in columns {
        if keeps_name(column, is_key) {
            names.push(column.to_owned());
            continue;
        }
        let base =
            Some(snake_identifier(column)).filter(|name| !name.is_empty()).unwrap_or_else(|| "column".to_owned());
        let base = if is_reserved(&base, is_key) { format!("{base}_column") } else { base };
        let numbered = (2_u64..).map(|number| format!("{base}_{number}"));
        let free = std::iter::once(base.clone()).chain(numbered).find(|name| !taken.contains(name));
        let name = free.unwrap_or_default();
        taken.insert(name.clone());
        names.push(name);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::field_names;

    #[test]
    fn r_req_3_columns_have_one_name_each() {
        for (columns, expected) in [
            (&["Id", "id", "dry_run", "", "größe"][..], &["id_2", "id", "dry_run_column", "column", "grosse"][..]),
            (
                &["Customer Name", "customer_name", "customerName"],
                &["customer_name_2", "customer_name", "customer_name_3"],
            ),
            (&["_etag", "etag", "_type", "_computed"], &["etag_2", "etag", "type", "computed"]),
            (&["fields", "fields_column", "Fields"], &["fields_column_2", "fields_column", "fields_column_3"]),
            (&["日本語", "and", "NOT", "a.b", "2nd"], &["ri_ben_yu", "and_column", "not_column", "a_b", "n2nd"]),
            (&["element_type", "___", "_"], &["element_type", "column", "column_2"]),
        ] {
            assert_eq!(field_names(columns.iter().map(|column| (*column, false))), expected, "{columns:?}");
        }
        assert_eq!(field_names([("element_type", true), ("id", true)]), ["element_type_column", "id"]);
    }
}
