//! Converts callers' values to bound values of the database.

use aquifer_protocol::hex::push_hex;
use aquifer_query::FieldType;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::json::array_literal;
use super::scope::{PathTarget, cast_for};
use crate::schema::model::{Column, PostgresRead, SqliteStore, Store};
use crate::schema::time_style::{StoredTime, TimeBound, TimeStyle, nanosecond};
use crate::statement::{Bind, Dialect, Statement};

/// Writes an operand for a comparison with the target.
pub(crate) fn write_operand(statement: &mut Statement, target: PathTarget<'_>, field_type: &FieldType, value: &Value) {
    match statement.dialect() {
        Dialect::Sqlite => {
            statement.bind(sqlite_operand(target, field_type, value));
        }
        Dialect::Postgres => {
            statement.bind(postgres_operand(target, field_type, value));
            write_cast(statement, target, field_type);
        }
    }
}

fn sqlite_operand(target: PathTarget<'_>, field_type: &FieldType, value: &Value) -> Bind {
    let style = match target {
        PathTarget::Column(Column { store: Store::Sqlite(SqliteStore::Time(style)), .. }) => *style,
        _ => TimeStyle::Mixed,
    };
    match (field_type, value) {
        // No stored time equals one that the format cannot write.
        (FieldType::Time, value) => {
            time_bound(style, value).filter(|bound| bound.is_exact).map_or(Bind::Null, |bound| bound.value)
        }
        _ => to_sqlite(field_type, style, value),
    }
}

fn postgres_operand(target: PathTarget<'_>, field_type: &FieldType, value: &Value) -> Bind {
    match target {
        PathTarget::Column(Column { store: Store::Postgres(store), .. }) if store.cast.is_text("real") => {
            to_postgres(field_type, &to_single_precision(value))
        }
        _ => to_postgres(field_type, value),
    }
}

/// The bound for SQLite times, for a time from a caller or a cursor.
pub(super) fn time_bound(style: TimeStyle, value: &Value) -> Option<TimeBound> {
    let stored = match value {
        Value::String(text) => StoredTime::Text(text.as_bytes()),
        // Cursors of earlier versions contain times as stored.
        Value::Number(number) => match number.as_i64() {
            Some(whole) => StoredTime::Integer(whole),
            None => StoredTime::Real(number.as_f64()?),
        },
        _ => return None,
    };
    nanosecond(stored).map(|time| style.bound(time))
}

/// A number for a single-precision column. The database would reject numbers outside its range.
fn to_single_precision(value: &Value) -> Value {
    let wide = value.as_f64().or_else(|| value.as_str()?.parse().ok());
    #[expect(clippy::cast_possible_truncation, reason = "the loss is what is tested")]
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

/// Writes a value for equality with a column or a reference to it. It gets the column's own type, so that an index is
/// used.
pub(crate) fn write_equal_operand(statement: &mut Statement, column: &Column, value: &Value) {
    match &column.store {
        Store::Postgres(store) if column.is_shown_as_text() => {
            statement.bind(to_postgres(&column.field_type, value)).push("::").fragment(&store.cast);
        }
        _ => write_operand(statement, PathTarget::Column(column), &column.field_type, value),
    }
}

/// Writes several values to compare the target with, as a list or an array.
pub(crate) fn write_any_of(
    statement: &mut Statement,
    target: PathTarget<'_>,
    field_type: &FieldType,
    values: &[Value],
) {
    match statement.dialect() {
        Dialect::Sqlite => {
            write_any_of_binds(
                statement,
                values.iter().map(|value| sqlite_operand(target, field_type, value)).collect(),
            );
        }
        Dialect::Postgres => {
            let texts: Vec<Option<String>> =
                values.iter().map(|value| bind_text(postgres_operand(target, field_type, value))).collect();
            statement.push(" = ANY(");
            statement.bind(Bind::Text(array_literal(texts.iter().map(Option::as_deref))));
            write_cast(statement, target, field_type);
            statement.push("[])");
        }
    }
}

/// Writes several SQLite values as a list.
pub(super) fn write_any_of_binds(statement: &mut Statement, binds: Vec<Bind>) {
    if let Some(list) = as_json_list(&binds) {
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

/// Many values as one JSON list, because SQLite limits the number of binds. Bytes and fractions cannot be passed this
/// way.
fn as_json_list(binds: &[Bind]) -> Option<String> {
    const MAX_SEPARATE_BINDS: usize = 100;
    if binds.len() <= MAX_SEPARATE_BINDS {
        return None;
    }
    let values = binds.iter().map(|bind| match bind {
        Bind::Integer(number) => Some(Value::from(*number)),
        Bind::Text(text) => Some(Value::from(text.as_str())),
        Bind::Null | Bind::Real(_) | Bind::Bytes(_) => None,
    });
    values.collect::<Option<Vec<Value>>>().map(|values| Value::from(values).to_string())
}

/// Writes the cast of a PostgreSQL operand. Integers are compared as 64 bits, whatever the column's type: a larger one
/// is then not equal instead of an error.
fn write_cast(statement: &mut Statement, target: PathTarget<'_>, field_type: &FieldType) {
    match target {
        PathTarget::Column(column) => match &column.store {
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
        PathTarget::Hidden => {
            statement.push("::tid");
        }
        PathTarget::Version => {
            statement.push("::text");
        }
        PathTarget::Computed(_) | PathTarget::Inside(..) | PathTarget::Nothing => {
            statement.push(cast_for(field_type));
        }
    }
}

fn bind_text(bind: Bind) -> Option<String> {
    match bind {
        Bind::Text(text) => Some(text),
        _ => None,
    }
}

/// A value for PostgreSQL: text that a cast parses.
pub(crate) fn to_postgres(field_type: &FieldType, value: &Value) -> Bind {
    Bind::Text(match (field_type, value) {
        (_, Value::Null) => return Bind::Null,
        (FieldType::Bytes, Value::String(base64)) => {
            // Invalid base64 was rejected earlier. If it gets here, the server rejects it.
            let Ok(bytes) = STANDARD.decode(base64) else { return Bind::Text("\\x?".to_owned()) };
            let mut text = String::from("\\x");
            push_hex(&mut text, &bytes);
            text
        }
        (FieldType::List(element), Value::Array(elements)) => {
            let element = element.as_deref().unwrap_or(&FieldType::Text);
            let texts: Vec<Option<String>> =
                elements.iter().map(|value| bind_text(to_postgres(element, value))).collect();
            array_literal(texts.iter().map(Option::as_deref))
        }
        (FieldType::Json, value) => value.to_string(),
        (_, Value::String(text)) => text.clone(),
        (_, other) => other.to_string(),
    })
}

/// A value for SQLite, in its own types.
pub(crate) fn to_sqlite(field_type: &FieldType, style: TimeStyle, value: &Value) -> Bind {
    match (field_type, value) {
        (_, Value::Null) => Bind::Null,
        (_, Value::Bool(yes)) => Bind::Integer(i64::from(*yes)),
        (FieldType::Time, Value::String(text)) => match nanosecond(StoredTime::Text(text.as_bytes())) {
            Some(time) => style.write(time),
            None => Bind::Text(text.clone()),
        },
        (FieldType::Bytes, Value::String(base64)) => match STANDARD.decode(base64) {
            Ok(bytes) => Bind::Bytes(bytes),
            // Rejected earlier. If it gets here, the text is stored rather than nothing.
            Err(_) => Bind::Text(base64.clone()),
        },
        (FieldType::Number, Value::String(text)) => parse_number(text),
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

fn parse_number(text: &str) -> Bind {
    match (text.parse::<i64>(), text.parse::<f64>()) {
        (Ok(whole), _) => Bind::Integer(whole),
        (_, Ok(real)) => Bind::Real(real),
        _ => Bind::Text(text.to_owned()),
    }
}
