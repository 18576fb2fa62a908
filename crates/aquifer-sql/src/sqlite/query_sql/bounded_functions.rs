//! Functions of SQLite that take time proportional to the product of two lengths, replaced by ones that do not.
//!
//! SQLite checks whether to stop between the steps of a statement, never within a function: two long arguments keep a
//! thread busy long after the timeout. Texts are therefore handled here, in time proportional to their length. Anything
//! else (bytes, numbers, texts with NUL) is passed to SQLite's own function, if the product of the lengths is small.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, Error, Result, ffi, params_from_iter};

use super::MAX_VALUE_BYTES;

/// The largest product of lengths for SQLite's own functions: some milliseconds.
const MAX_PRODUCT: usize = 1_000_000;
/// A call with longer arguments checks first whether to stop.
const MAX_UNCHECKED_BYTES: usize = 1_000;

/// The file's own indexes and views may use these functions.
const FLAGS: FunctionFlags =
    FunctionFlags::SQLITE_UTF8.union(FunctionFlags::SQLITE_DETERMINISTIC).union(FunctionFlags::SQLITE_INNOCUOUS);

/// The result for texts.
type OnTexts = fn(&[&str]) -> Result<Option<Value>>;

/// The functions, with the number of arguments.
const FUNCTIONS: [(&str, i32, OnTexts); 6] = [
    ("trim", 2, |texts| Ok(trim(texts, true, true))),
    ("ltrim", 2, |texts| Ok(trim(texts, true, false))),
    ("rtrim", 2, |texts| Ok(trim(texts, false, true))),
    ("replace", 3, replace),
    ("instr", 2, instr),
    ("unhex", 2, |_| Ok(None)),
];

pub(super) fn register(connection: &Connection, should_stop: impl Fn() -> bool + Clone + Send + 'static) -> Result<()> {
    let builtins = Arc::new(Mutex::new(Connection::open_in_memory()?));
    for (name, count, on_texts) in FUNCTIONS {
        let (builtins, should_stop) = (builtins.clone(), should_stop.clone());
        connection.create_scalar_function(name, count, FLAGS, move |context| {
            let arguments: Vec<ValueRef<'_>> = (0..context.len()).map(|index| context.get_raw(index)).collect();
            if arguments.iter().map(length).sum::<usize>() > MAX_UNCHECKED_BYTES && should_stop() {
                return Err(failed(ffi::SQLITE_INTERRUPT));
            }
            if let Some(texts) = arguments.iter().map(text).collect::<Option<Vec<&str>>>()
                && let Some(value) = on_texts(&texts)?
            {
                return Ok(value);
            }
            let builtins = builtins.lock();
            call_builtin(&builtins, name, context)
        })?;
    }
    Ok(())
}

/// Calls SQLite's own function.
fn call_builtin(builtins: &Connection, name: &str, context: &Context<'_>) -> Result<Value> {
    let arguments = (0..context.len()).map(|index| context.get_raw(index));
    let mut product = 1_usize;
    arguments.clone().take(2).for_each(|argument| product = product.saturating_mul(length(&argument).max(1)));
    if product > MAX_PRODUCT {
        return Err(failed(ffi::SQLITE_TOOBIG));
    }
    let marks = vec!["?"; context.len()].join(", ");
    let mut statement = builtins.prepare_cached(&format!("SELECT {name}({marks})"))?;
    statement.query_row(params_from_iter(arguments.map(ToSqlOutput::Borrowed)), |row| {
        Ok(match row.get_ref(0)? {
            // Only texts that are UTF-8 can be returned.
            ValueRef::Text(bytes) => Value::Text(String::from_utf8_lossy(bytes).into_owned()),
            _ => row.get(0)?,
        })
    })
}

fn failed(code: i32) -> Error {
    Error::SqliteFailure(ffi::Error::new(code), None)
}

fn length(value: &ValueRef<'_>) -> usize {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len(),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => 0,
    }
}

/// A text, unless SQLite reads it in a way of its own: it ends some texts at the first NUL.
fn text<'a>(value: &ValueRef<'a>) -> Option<&'a str> {
    let ValueRef::Text(bytes) = value else { return None };
    std::str::from_utf8(bytes).ok().filter(|_| !bytes.contains(&0))
}

fn trim(texts: &[&str], at_start: bool, at_end: bool) -> Option<Value> {
    let [text, characters] = texts else { return None };
    let set: HashSet<char> = characters.chars().collect();
    let is_removed = |character: char| set.contains(&character);
    let text = if at_start { text.trim_start_matches(is_removed) } else { text };
    let text = if at_end { text.trim_end_matches(is_removed) } else { text };
    Some(Value::Text(text.to_owned()))
}

fn replace(texts: &[&str]) -> Result<Option<Value>> {
    let [text, pattern, replacement] = texts else { return Ok(None) };
    if pattern.is_empty() {
        return Ok(Some(Value::Text((*text).to_owned())));
    }
    let growth = replacement.len().saturating_sub(pattern.len());
    let max_bytes = usize::try_from(MAX_VALUE_BYTES).unwrap_or(usize::MAX);
    if growth > 0 && text.matches(pattern).count().saturating_mul(growth).saturating_add(text.len()) > max_bytes {
        return Err(failed(ffi::SQLITE_TOOBIG));
    }
    Ok(Some(Value::Text(text.replace(pattern, replacement))))
}

fn instr(texts: &[&str]) -> Result<Option<Value>> {
    let [text, part] = texts else { return Ok(None) };
    let before = text.find(part).and_then(|index| text.get(..index));
    let position = before.map_or(0, |before| before.chars().count() + 1);
    Ok(Some(Value::Integer(i64::try_from(position).unwrap_or(i64::MAX))))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    /// Texts, numbers, bytes and missing values in all combinations.
    #[test]
    fn r_ext_5_they_answer_as_those_of_sqlite() {
        let (own, builtin) = (Connection::open_in_memory().unwrap(), Connection::open_in_memory().unwrap());
        register(&own, || false).unwrap();
        let values = [
            "''",
            "' '",
            "'a'",
            "'aab'",
            "'abcabc'",
            "'ÄaÄ'",
            "'Ä'",
            "'€x€'",
            "'c'",
            "12",
            "1.5",
            "-0.0",
            "1e300",
            "NULL",
            "x''",
            "x'61'",
            "x'616200'",
            "'a'||char(0)||'b'",
            "char(0)",
            "'0a'",
            "'0 a'",
        ];
        let mut calls = Vec::new();
        for a in values {
            for b in values {
                for name in ["trim", "ltrim", "rtrim", "instr", "unhex"] {
                    calls.push(format!("{name}({a}, {b})"));
                }
                calls.extend(["''", "'xyz'", "7", "NULL", "x'62'"].map(|c| format!("replace({a}, {b}, {c})")));
            }
        }
        for call in calls {
            let sql = format!("SELECT typeof({call}) || ' ' || quote({call}), {call}");
            let answer = |connection: &Connection| {
                connection.query_row(&sql, [], |row| Ok((row.get::<_, Option<String>>(0)?, row.get::<_, Value>(1)?)))
            };
            assert_eq!(answer(&own), answer(&builtin), "{call}");
        }
    }
}
