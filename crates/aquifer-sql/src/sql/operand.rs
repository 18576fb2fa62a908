//! Values of callers as values of the database. Everything here is bound.

use aquifer_query::FieldType;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::json::array_literal;
use super::value::{Thing, cast_of};
use crate::model::{PostgresRead, SqliteStore, Store, TimeStyle};
use crate::statement::{Bind, Dialect, Statement};
use crate::time;

/// Writes a value to compare a thing with.
pub(crate) fn operand(statement: &mut Statement, thing: Thing<'_>, of: &FieldType, value: &Value) {
    match statement.dialect() {
        Dialect::Sqlite => {
            let style = match thing {
                Thing::Column(column) => match column.store {
                    Store::Sqlite(SqliteStore::Time(style)) => style,
                    _ => TimeStyle::Mixed,
                },
                _ => TimeStyle::Mixed,
            };
            statement.bind(sqlite(of, style, value));
        }
        Dialect::Postgres => {
            statement.bind(postgres(of, value));
            cast(statement, thing, of);
        }
    }
}

/// Writes several values to compare a thing with, in parentheses or as an array.
pub(crate) fn any_of(statement: &mut Statement, thing: Thing<'_>, of: &FieldType, values: &[Value]) {
    match statement.dialect() {
        Dialect::Sqlite => {
            statement.push(" IN (");
            for (index, value) in values.iter().enumerate() {
                if index > 0 {
                    statement.push(", ");
                }
                operand(statement, thing, of, value);
            }
            statement.push(")");
        }
        Dialect::Postgres => {
            let texts: Vec<Option<String>> = values.iter().map(|value| text(postgres(of, value))).collect();
            statement.push(" = ANY(");
            statement.bind(Bind::Text(array_literal(texts.iter().map(Option::as_deref))));
            cast(statement, thing, of);
            statement.push("[])");
        }
    }
}

/// The type a PostgreSQL operand is of. Whole numbers are compared as 64 bits, whatever the column has: a larger one is
/// then simply not equal, instead of an error.
fn cast(statement: &mut Statement, thing: Thing<'_>, of: &FieldType) {
    match thing {
        Thing::Column(column) => match &column.store {
            Store::Postgres(store) => match store.read {
                PostgresRead::Integer => {
                    statement.push("::int8");
                }
                PostgresRead::AsText => {
                    statement.push("::text");
                }
                _ => {
                    statement.push("::").fragment(&store.cast);
                }
            },
            Store::Sqlite(_) => {}
        },
        Thing::Hidden => {
            statement.push("::tid");
        }
        Thing::Version => {
            statement.push("::text");
        }
        Thing::Computed(_) | Thing::Inside(..) => {
            statement.push(cast_of(of));
        }
    }
}

fn text(bind: Bind) -> Option<String> {
    match bind {
        Bind::Text(text) => Some(text),
        _ => None,
    }
}

/// A value for PostgreSQL: text, which the cast beside it reads.
pub(crate) fn postgres(of: &FieldType, value: &Value) -> Bind {
    Bind::Text(match (of, value) {
        (_, Value::Null) => return Bind::Null,
        (FieldType::Bytes, Value::String(base64)) => {
            let bytes = STANDARD.decode(base64).unwrap_or_default();
            let mut hex = String::from("\\x");
            for byte in bytes {
                hex.push_str(&format!("{byte:02x}"));
            }
            hex
        }
        (FieldType::List(element), Value::Array(elements)) => {
            let element = element.as_deref().unwrap_or(&FieldType::Text);
            let texts: Vec<Option<String>> = elements.iter().map(|value| text(postgres(element, value))).collect();
            array_literal(texts.iter().map(Option::as_deref))
        }
        (FieldType::Json, value) => value.to_string(),
        (_, Value::String(text)) => text.clone(),
        (_, other) => other.to_string(),
    })
}

/// A value for SQLite, in its own types.
pub(crate) fn sqlite(of: &FieldType, style: TimeStyle, value: &Value) -> Bind {
    match (of, value) {
        (_, Value::Null) => Bind::Null,
        (_, Value::Bool(yes)) => Bind::Integer(i64::from(*yes)),
        (FieldType::Time, Value::String(text)) => time::write(style, text),
        (FieldType::Bytes, Value::String(base64)) => Bind::Bytes(STANDARD.decode(base64).unwrap_or_default()),
        (FieldType::Number, Value::String(text)) => number(text),
        (FieldType::Integer, Value::String(text)) => {
            text.parse().map_or_else(|_| Bind::Text(text.clone()), Bind::Integer)
        }
        (_, Value::String(text)) => Bind::Text(text.clone()),
        (_, Value::Number(number)) => match number.as_i64() {
            Some(whole) => Bind::Integer(whole),
            None => number.as_f64().map_or(Bind::Null, Bind::Real),
        },
        (_, value) => Bind::Text(value.to_string()),
    }
}

fn number(text: &str) -> Bind {
    match (text.parse::<i64>(), text.parse::<f64>()) {
        (Ok(whole), _) => Bind::Integer(whole),
        (_, Ok(real)) => Bind::Real(real),
        _ => Bind::Text(text.to_owned()),
    }
}
