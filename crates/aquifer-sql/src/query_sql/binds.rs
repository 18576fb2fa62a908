//! Binds the values of `params`.

use aquifer_protocol::error::Failure;
use serde_json::Value;

use super::ParameterStyle;
use crate::statement::{Bind, Dialect};

/// Parses the values to bind. Lists and objects are bound as JSON text.
pub(crate) fn parse_binds(params: Option<&Value>, dialect: Dialect) -> Result<Vec<Bind>, Failure> {
    let values = params.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if values.len() > super::MAX_BINDS {
        return Err(Failure::invalid_value("params", format!("has more than {} values", super::MAX_BINDS)));
    }
    values.iter().enumerate().map(|(index, value)| parse_bind(index, value, dialect)).collect()
}

fn parse_bind(index: usize, value: &Value, dialect: Dialect) -> Result<Bind, Failure> {
    Ok(match value {
        Value::Null => Bind::Null,
        // SQLite has no booleans.
        Value::Bool(yes) if dialect == Dialect::Sqlite => Bind::Integer(i64::from(*yes)),
        Value::Bool(yes) => Bind::Text(yes.to_string()),
        Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(integer), ..) => Bind::Integer(integer),
            (None, None, Some(real)) => Bind::Real(real),
            _ if dialect == Dialect::Postgres => Bind::Text(number.to_string()),
            _ => {
                let which = index + 1;
                let problem = format!("has a number beyond 64 bits (value {which}). Send it as text");
                return Err(Failure::invalid_value("params", problem));
            }
        },
        Value::String(text) => Bind::Text(text.clone()),
        Value::Array(_) | Value::Object(_) => Bind::Text(value.to_string()),
    })
}

/// Checks that the number of values equals the number of parameters.
pub(crate) fn check_count(expected: usize, style: ParameterStyle, given: usize) -> Result<(), Failure> {
    if expected == given {
        return Ok(());
    }
    let count = |number: usize, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
    let hint = match (expected, style) {
        (0, _) => " Write '$1' where a value belongs",
        (_, ParameterStyle::InOrder(_)) => " Each '?' takes one, in order",
        (_, ParameterStyle::Numbered(_)) => " '$1' takes the first",
    };
    let problem =
        format!("has {}, but the statement has {}.{hint}", count(given, "value"), count(expected, "parameter"));
    Err(Failure::invalid_value("params", problem).detail("expected", expected).detail("given", given))
}
