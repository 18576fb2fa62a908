//! The `root` parameter of `query_relationships`: a table and a key. The key columns depend on the table, and
//! introspection describes them precisely. The key may also be given as text in `element_name`, the portable form of
//! the specification; which of the two is there is checked when the table is known (`work/relationships.rs`).

use aquifer_protocol::schema::{Kind, Parameter, Rest, Schema, Shape};

use super::{column_schema, generic};
use crate::schema::exposed_table::ExposedTable;

/// Above this number of different keys, they are described in words.
const MAX_ALTERNATIVES: usize = 12;

/// Tables with the same key columns.
struct Group<'a> {
    key: Vec<Parameter>,
    tables: Vec<&'a str>,
}

/// The schema of `root` for these tables.
pub(super) fn schema(tables: &[&ExposedTable]) -> Schema {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for exposed in tables {
        let key = key_of(exposed);
        match groups.iter_mut().find(|group| group.key == key) {
            Some(group) => group.tables.push(&exposed.words.plural),
            None => groups.push(Group { key, tables: vec![&exposed.words.plural] }),
        }
    }
    let names = || tables.iter().map(|exposed| exposed.words.plural.as_str());
    if groups.is_empty() {
        return any_table(None);
    }
    if groups.len() > MAX_ALTERNATIVES {
        let words = "The row to start from: its table, and every column of the table's key, as in its get_ operation, or \
                     'element_name'.";
        return free(Schema::one_of(names())).describe(words);
    }
    let by_key = groups.iter().map(|group| root(&group.tables, &group.key).describe(&described(&group.key)));
    let by_name = Schema::object(vec![
        Parameter::required("element_type", Schema::one_of(names()).describe("The table.")),
        Parameter { required: true, ..element_name() },
    ]);
    let by_name = by_name.describe("The row to start from: its table, and its key as text.");
    Schema::new(Kind::Union(by_key.chain([by_name]).collect()))
        .describe("The row to start from: its table, and every column of the table's key, or 'element_name'.")
}

/// The schema of `root` if there are too many tables to list.
pub(super) fn any_table(example: Option<&ExposedTable>) -> Schema {
    let such_as = example.map(|exposed| {
        let key: Vec<String> = key_of(exposed).iter().map(|column| format!("\"{}\": …", column.name)).collect();
        format!(" For '{0}': {{\"element_type\": \"{0}\", {1}}}.", exposed.words.plural, key.join(", "))
    });
    let words = "The row to start from: its table, and every column of the table's key, which get_table_schema lists, or 'element_name'.";
    free(generic::any_case()).describe(&format!("{words}{}", such_as.unwrap_or_default()))
}

fn key_of(exposed: &ExposedTable) -> Vec<Parameter> {
    let columns = exposed.table.key_columns();
    columns.map(|column| Parameter::required(&column.name, column_schema::schema(&column.field_type, column))).collect()
}

fn root(tables: &[&str], key: &[Parameter]) -> Schema {
    let table = Parameter::required("element_type", Schema::one_of(tables.iter().copied()).describe("The table."));
    Schema::object(std::iter::once(table).chain(key.iter().cloned()).chain([element_name()]).collect())
}

fn free(tables: Schema) -> Schema {
    let fields = vec![Parameter::required("element_type", tables.describe("The table.")), element_name()];
    Schema::new(Kind::Object(Shape { fields, rest: Rest::Free }))
}

/// The portable form of a key: as text, as answers contain it.
fn element_name() -> Parameter {
    Parameter::optional("element_name", Schema::string().describe("The key as text, as answers show it."))
}

fn described(key: &[Parameter]) -> String {
    let names: Vec<String> = key.iter().map(|column| format!("'{}'", column.name)).collect();
    format!("The row to start from: its table, and its key: {}.", names.join(", "))
}
