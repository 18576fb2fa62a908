//! Values of callers as values of the database. Everything here is bound.

use aquifer_protocol::hex::push_hex;
use aquifer_query::FieldType;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::json::array_literal;
use super::value::{Thing, cast_of};
use crate::model::{Column, PostgresRead, SqliteStore, Store};
use crate::statement::{Bind, Dialect, Statement};
use crate::time_style::{Bound, Stored, TimeStyle, nanosecond};

/// Writes a value to compare a thing with.
pub(crate) fn operand(statement: &mut Statement, thing: Thing<'_>, of: &FieldType, value: &Value) {
    match statement.dialect() {
        Dialect::Sqlite => {
            statement.bind(in_sqlite(thing, of, value));
        }
        Dialect::Postgres => {
            statement.bind(in_postgres(thing, of, value));
            cast(statement, thing, of);
        }
    }
}

fn in_sqlite(thing: Thing<'_>, of: &FieldType, value: &Value) -> Bind {
    let style = match thing {
        Thing::Column(Column { store: Store::Sqlite(SqliteStore::Time(style)), .. }) => *style,
        _ => TimeStyle::Mixed,
    };
    match (of, value) {
        // No stored time equals one that the format cannot write.
        (FieldType::Time, value) => {
            time_bound(style, value).filter(|bound| bound.is_exact).map_or(Bind::Null, |bound| bound.value)
        }
        _ => sqlite(of, style, value),
    }
}

fn in_postgres(thing: Thing<'_>, of: &FieldType, value: &Value) -> Bind {
    match thing {
        Thing::Column(Column { store: Store::Postgres(store), .. }) if store.cast.is("real") => {
            postgres(of, &narrow(value))
        }
        _ => postgres(of, value),
    }
}

/// What times of a SQLite column are compared with in place of a caller's time or one from a cursor.
pub(super) fn time_bound(style: TimeStyle, value: &Value) -> Option<Bound> {
    let stored = match value {
        Value::String(text) => Stored::Text(text.as_bytes()),
        // Cursors of former versions hold times as they were stored.
        Value::Number(number) => match number.as_i64() {
            Some(whole) => Stored::Integer(whole),
            None => Stored::Real(number.as_f64()?),
        },
        _ => return None,
    };
    nanosecond(stored).map(|time| style.bound(time))
}

/// A number for a column of single precision, which the database would refuse to make of some.
fn narrow(value: &Value) -> Value {
    let wide = value.as_f64().or_else(|| value.as_str()?.parse().ok());
    #[expect(clippy::cast_possible_truncation, reason = "that is what is looked for")]
    match wide.map(|wide| (wide, wide as f32)) {
        Some((wide, narrow)) if wide.is_finite() && narrow.is_infinite() => {
            if wide > 0.0 {
                "Infinity".into()
            } else {
                "-Infinity".into()
            }
        }
        Some((wide, narrow)) if wide != 0.0 && narrow == 0.0 => 0.into(),
        _ => value.clone(),
    }
}

/// Writes a value that a column, or one that refers to it, is to equal: as one of the column's own type, whatever else
/// may be done with that, so that an index serves.
pub(crate) fn equal(statement: &mut Statement, column: &Column, value: &Value) {
    match &column.store {
        Store::Postgres(store) if column.is_shown_as_text() => {
            statement.bind(postgres(&column.of, value)).push("::").fragment(&store.cast);
        }
        _ => operand(statement, Thing::Column(column), &column.of, value),
    }
}

/// Writes several values to compare a thing with, in parentheses or as an array.
pub(crate) fn any_of(statement: &mut Statement, thing: Thing<'_>, of: &FieldType, values: &[Value]) {
    match statement.dialect() {
        Dialect::Sqlite => {
            any_of_binds(statement, values.iter().map(|value| in_sqlite(thing, of, value)).collect());
        }
        Dialect::Postgres => {
            let texts: Vec<Option<String>> = values.iter().map(|value| text(in_postgres(thing, of, value))).collect();
            statement.push(" = ANY(");
            statement.bind(Bind::Text(array_literal(texts.iter().map(Option::as_deref))));
            cast(statement, thing, of);
            statement.push("[])");
        }
    }
}

/// Writes several values of SQLite in parentheses.
pub(super) fn any_of_binds(statement: &mut Statement, binds: Vec<Bind>) {
    if let Some(list) = as_one(&binds) {
        statement.push(" IN (SELECT value FROM json_each(").bind(Bind::Text(list)).push("))");
        return;
    }
    statement.push(" IN (");
    for (index, bind) in binds.into_iter().enumerate() {
        if index > 0 {
            statement.push(", ");
        }
        statement.bind(bind);
    }
    statement.push(")");
}

/// Many values as one: SQLite takes only so many. Neither bytes nor fractions survive that.
fn as_one(binds: &[Bind]) -> Option<String> {
    const FEW: usize = 100;
    if binds.len() <= FEW {
        return None;
    }
    let values = binds.iter().map(|bind| match bind {
        Bind::Integer(number) => Some(Value::from(*number)),
        Bind::Text(text) => Some(Value::from(text.as_str())),
        Bind::Null | Bind::Real(_) | Bind::Bytes(_) => None,
    });
    values.collect::<Option<Vec<Value>>>().map(|values| Value::from(values).to_string())
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
            // Text that does not decode was refused before. If it comes this far, the server refuses it.
            let Ok(bytes) = STANDARD.decode(base64) else { return Bind::Text("\\x?".to_owned()) };
            let mut text = String::from("\\x");
            push_hex(&mut text, &bytes);
            text
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
        (FieldType::Time, Value::String(text)) => match nanosecond(Stored::Text(text.as_bytes())) {
            Some(time) => style.write(time),
            None => Bind::Text(text.clone()),
        },
        (FieldType::Bytes, Value::String(base64)) => match STANDARD.decode(base64) {
            Ok(bytes) => Bind::Bytes(bytes),
            // Refused before. If it comes this far, what was given is kept rather than nothing.
            Err(_) => Bind::Text(base64.clone()),
        },
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
