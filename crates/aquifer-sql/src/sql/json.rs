//! Values inside JSON columns. They have no declared type: they are compared only with values of the same kind, and
//! sorted by kind, then as numbers, then as text by code points. Objects and lists have no order.

use std::sync::Arc;

use super::scope::Scope;
use crate::rows::CellType;
use crate::schema::model::{Column, PostgresRead, Store};
use crate::statement::{Dialect, Statement};

/// An aspect of a JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aspect {
    /// 0 boolean, 1 number, 2 text, 3 list, 4 object; NULL if missing or null.
    Kind,
    /// The number; 0 and 1 for booleans.
    Number,
    Text,
}

/// Every aspect, in sort order.
pub(crate) const ASPECTS: [Aspect; 3] = [Aspect::Kind, Aspect::Number, Aspect::Text];

/// Writes the value as jsonb (PostgreSQL).
pub(super) fn write_value(scope: &Scope<'_>, statement: &mut Statement, column: &Column, inside: &[Arc<str>]) {
    statement.push("(");
    scope.write_column(statement, column);
    if !is_jsonb(column) {
        statement.push("::jsonb");
    }
    if !inside.is_empty() {
        statement.push(" #> ").path(array_literal(inside.iter().map(|step| Some(&**step)))).push("::text[]");
    }
    statement.push(")");
}

fn is_jsonb(column: &Column) -> bool {
    matches!(&column.store, Store::Postgres(store) if store.read == PostgresRead::Jsonb)
}

/// Writes the value as JSON text; NULL if it is missing.
pub(super) fn write_json(
    scope: &Scope<'_>,
    statement: &mut Statement,
    column: &Column,
    inside: &[Arc<str>],
) -> CellType {
    match scope.dialect {
        Dialect::Postgres => {
            write_value(scope, statement, column, inside);
            statement.push("::text");
        }
        Dialect::Sqlite => write_function(scope, statement, "aquifer_json(", column, inside),
    }
    CellType::Json
}

/// Writes one aspect of the value.
pub(super) fn write_aspect(
    scope: &Scope<'_>,
    statement: &mut Statement,
    column: &Column,
    inside: &[Arc<str>],
    aspect: Aspect,
) {
    if scope.dialect == Dialect::Sqlite {
        let name = match aspect {
            Aspect::Kind => "aquifer_json_kind(",
            Aspect::Number => "aquifer_json_number(",
            Aspect::Text => "aquifer_json_text(",
        };
        return write_function(scope, statement, name, column, inside);
    }
    statement.push("CASE jsonb_typeof(");
    write_value(scope, statement, column, inside);
    match aspect {
        Aspect::Kind => {
            statement.push(
                ") WHEN 'boolean' THEN 0 WHEN 'number' THEN 1 WHEN 'string' THEN 2 WHEN 'array' THEN 3 \
                 WHEN 'object' THEN 4 END",
            );
        }
        Aspect::Number => {
            statement.push(") WHEN 'number' THEN (");
            write_value(scope, statement, column, inside);
            statement.push(" #>> '{}')::float8 WHEN 'boolean' THEN (");
            write_value(scope, statement, column, inside);
            statement.push(" #>> '{}')::bool::int4::float8 END");
        }
        Aspect::Text => {
            statement.push(") WHEN 'string' THEN (");
            write_value(scope, statement, column, inside);
            statement.push(" #>> '{}') END COLLATE \"C\"");
        }
    }
}

fn write_function(
    scope: &Scope<'_>,
    statement: &mut Statement,
    name: &'static str,
    column: &Column,
    inside: &[Arc<str>],
) {
    let steps: Vec<&str> = inside.iter().map(|step| &**step).collect();
    // Serializing strings cannot fail.
    let path = serde_json::to_string(&steps).unwrap_or_default();
    statement.push(name);
    scope.write_json_text(statement, column);
    statement.push(", ").path(path).push(")");
}

/// The text form of a PostgreSQL array.
pub(crate) fn array_literal<'a>(elements: impl IntoIterator<Item = Option<&'a str>>) -> String {
    let mut literal = String::from("{");
    for (index, element) in elements.into_iter().enumerate() {
        if index > 0 {
            literal.push(',');
        }
        match element {
            None => literal.push_str("NULL"),
            Some(text) => {
                literal.push('"');
                for character in text.chars() {
                    if matches!(character, '"' | '\\') {
                        literal.push('\\');
                    }
                    literal.push(character);
                }
                literal.push('"');
            }
        }
    }
    literal.push('}');
    literal
}
