//! What the operations of a database do.

use crate::schema::exposed_table::ExposedTable;

/// The action behind an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Table(Verb, usize),
    Relationships,
    Generic(Verb),
    Tables,
    TableSchema,
    /// A SELECT that the caller wrote.
    QuerySql,
}

/// What an operation does with the rows of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    List,
    Search,
    Get,
    Create,
    Update,
    Delete,
}

impl Verb {
    pub(crate) fn operation_name(self, exposed: &ExposedTable) -> String {
        match self {
            Verb::List => format!("list_{}", exposed.words.plural),
            Verb::Search => format!("search_{}", exposed.words.plural),
            Verb::Get => format!("get_{}", exposed.words.singular),
            Verb::Create => format!("create_{}", exposed.words.singular),
            Verb::Update => format!("update_{}", exposed.words.singular),
            Verb::Delete => format!("delete_{}", exposed.words.singular),
        }
    }

    /// The name of the corresponding generic operation.
    pub(crate) const fn generic_name(self) -> &'static str {
        match self {
            Verb::List => "list_records",
            Verb::Search => "search_records",
            Verb::Get => "get_record",
            Verb::Create => "create_record",
            Verb::Update => "update_record",
            Verb::Delete => "delete_record",
        }
    }

    pub(crate) const ALL: [Verb; 6] = [Verb::List, Verb::Search, Verb::Get, Verb::Create, Verb::Update, Verb::Delete];
}
