//! `root` of `query_relationships`: a table and a row of it. Which columns name a row depends on the table, and introspection
//! says so in a form that can be followed without trying.

use aquifer_protocol::schema::{Kind, Parameter, Rest, Schema, Shape};

use super::{column_schema, generic};
use crate::exposed_table::ExposedTable;

/// Tables with more different keys than this are described in words.
const MAX_ALTERNATIVES: usize = 12;

/// Tables whose rows are named by the same columns.
struct Group<'a> {
    key: Vec<Parameter>,
    tables: Vec<&'a str>,
}

/// The row to start from, in any of these tables.
pub(super) fn schema(tables: &[&ExposedTable]) -> Schema {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for served in tables {
        let key = key_of(served);
        match groups.iter_mut().find(|group| group.key == key) {
            Some(group) => group.tables.push(&served.words.plural),
            None => groups.push(Group { key, tables: vec![&served.words.plural] }),
        }
    }
    match groups.as_slice() {
        [] => any_table(None),
        [only] => root(&only.tables, &only.key).describe(&described(&only.key)),
        several if several.len() <= MAX_ALTERNATIVES => {
            let alternatives =
                several.iter().map(|group| root(&group.tables, &group.key).describe(&described(&group.key)));
            let words =
                "The row to start from: its table, and every column of the table's key. Tables have different keys.";
            Schema::new(Kind::Union(alternatives.collect())).describe(words)
        }
        _ => {
            let names: Vec<&str> = tables.iter().map(|served| served.words.plural.as_str()).collect();
            let words =
                "The row to start from: its table, and every column of the table's key, as in its get_ operation.";
            free(Schema::one_of(names)).describe(words)
        }
    }
}

/// The row to start from, where tables are too many to be named.
pub(super) fn any_table(example: Option<&ExposedTable>) -> Schema {
    let such_as = example.map(|served| {
        let key: Vec<String> = key_of(served).iter().map(|column| format!("\"{}\": …", column.name)).collect();
        format!(" For '{0}': {{\"element_type\": \"{0}\", {1}}}.", served.words.plural, key.join(", "))
    });
    let words = "The row to start from: its table, and every column of the table's key, which get_table_schema tells.";
    free(generic::any_case()).describe(&format!("{words}{}", such_as.unwrap_or_default()))
}

fn key_of(served: &ExposedTable) -> Vec<Parameter> {
    let columns = served.table.key_columns();
    columns.map(|column| Parameter::required(&column.name, column_schema::schema(&column.of, column))).collect()
}

fn root(tables: &[&str], key: &[Parameter]) -> Schema {
    let table = Parameter::required("element_type", Schema::one_of(tables.iter().copied()).describe("The table."));
    Schema::object(std::iter::once(table).chain(key.iter().cloned()).chain([element_name()]).collect())
}

fn free(tables: Schema) -> Schema {
    let fields = vec![Parameter::required("element_type", tables.describe("The table.")), element_name()];
    Schema::new(Kind::Object(Shape { fields, rest: Rest::Free }))
}

/// Answers name rows in this way, too, and may be sent back as they are.
fn element_name() -> Parameter {
    Parameter::optional("element_name", Schema::string().describe("The key as text, as answers show it. Not needed."))
}

fn described(key: &[Parameter]) -> String {
    let names: Vec<String> = key.iter().map(|column| format!("'{}'", column.name)).collect();
    format!("The row to start from: its table, and its key: {}.", names.join(", "))
}
