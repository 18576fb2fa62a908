//! Rows that refer to a row, read in the same statement as the row itself.
//!
//! A subquery returns them in one cell, with their own cells in the form of the database: from SQLite as JSON text, from
//! PostgreSQL as an array of records. These cells become JSON values by the same code as those of other rows.

use std::sync::Arc;

use aquifer_query::collection::Cardinality;
use aquifer_query::plan::Embed;

use super::joins::{Alias, Joins};
use super::scope::{Scope, write_pairs};
use super::selection::OutputColumns;
use super::{filter, keyset};
use crate::rows::OutputField;
use crate::schema::exposed_table::{ExposedTable, TableReference};
use crate::statement::{Dialect, Statement};

/// The rows that refer to a row: the name of the referenced table, the reference, and the referring table.
pub(super) fn find_related<'a>(
    scope: &Scope<'a>,
    through: &[Arc<str>],
    name: &str,
) -> Option<(Alias, &'a TableReference, &'a ExposedTable)> {
    let (owner, alias) = match through {
        [] => (scope.exposed, scope.alias),
        through => {
            let (number, _) = scope.joins.find(through)?;
            (scope.joins.table(number, scope.tables)?, scope.alias.joined(number))
        }
    };
    let reference = owner.reference(name, Cardinality::Many)?;
    Some((alias, reference, scope.tables.get(reference.to)?))
}

/// Writes the related rows, and returns the fields that they become.
pub(super) fn write_embed(scope: &Scope<'_>, statement: &mut Statement, embed: &Embed) -> Arc<[OutputField]> {
    let Some((alias, reference, exposed)) = find_related(scope, &embed.through, &embed.name) else {
        statement.push("'[]'");
        return Arc::new([]);
    };
    let joins = Joins::for_embed(embed, exposed, scope.tables);
    let inner = scope.nested(exposed, &joins);
    // The cells are needed before their types are known, so the inner query is written first and wrapped.
    let mut columns = OutputColumns::default();
    let mut rows = Statement::nested(statement);
    rows.push(" SELECT ");
    if scope.dialect == Dialect::Sqlite {
        rows.push("aquifer_cells(");
    }
    let fields = columns.select_fields(&inner, &mut rows, &embed.select);
    if columns.is_empty() {
        rows.push("NULL");
    }
    if scope.dialect == Dialect::Sqlite {
        rows.push(") AS cells");
    }
    inner.write_nested_from(&mut rows);
    write_pairs(&mut rows, " WHERE ", inner.alias, alias, &reference.on);
    if let Some(condition) = &embed.filter {
        rows.push(" AND (");
        filter::write_condition(&inner, &mut rows, condition);
        rows.push(")");
    }
    let order = keyset::order_expressions(&inner, &embed.order, false);
    keyset::write_order_by(&inner, &mut rows, &order, keyset::KeysetRange::All);
    rows.push(" LIMIT ").count(embed.first);
    match scope.dialect {
        Dialect::Sqlite => {
            // `json_group_array` would parse the cells only to write them again.
            statement.push("(SELECT '[' || coalesce(group_concat(x.cells, ','), '') || ']' FROM (");
            statement.append(rows);
            statement.push(") AS x)");
        }
        Dialect::Postgres => {
            statement.push("(SELECT array_agg(x) FROM (");
            statement.append(rows);
            statement.push(") AS x)");
        }
    }
    fields
}
