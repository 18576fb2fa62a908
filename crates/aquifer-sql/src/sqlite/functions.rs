//! Functions that SQLite lacks, which give text, JSON and time the semantics of the query language.

use std::hash::{DefaultHasher, Hasher as _};
use std::sync::Arc;

use aquifer_query::evaluate::CompensatedSum;
use aquifer_query::evaluate::text::{fold_case, rank, split_words};
use aquifer_query::value::bucket::{TimeUnit, Zone};
use jiff::Timestamp;
use jiff::civil::Date;
use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::{ToSqlOutput, Value as SqlValue, ValueRef};
use rusqlite::{Connection, Error, Result, ffi};
use serde_json::Value;

use super::rows::{encode_cells, stored};
use crate::schema::time_style;

/// Restricts these functions to our own statements, so that triggers and views of the file cannot call them.
const FLAGS: FunctionFlags =
    FunctionFlags::SQLITE_UTF8.union(FunctionFlags::SQLITE_DETERMINISTIC).union(FunctionFlags::SQLITE_DIRECTONLY);

pub(super) fn register(connection: &Connection, should_stop: impl Fn() -> bool + Send + 'static) -> Result<()> {
    connection.create_scalar_function("aquifer_time", 1, FLAGS, |context| {
        Ok(nanosecond_of(context.get_raw(0)).map(time_style::canonical))
    })?;
    connection.create_scalar_function("aquifer_is_time", 1, FLAGS, |context| {
        Ok(nanosecond_of(context.get_raw(0)).is_some())
    })?;
    connection.create_scalar_function("aquifer_age", 2, FLAGS, |context| {
        const DAY: i128 = 86_400_000_000_000;
        let (now, then) = (nanosecond_of(context.get_raw(0)), nanosecond_of(context.get_raw(1)));
        let age = now.zip(then).map(|(now, then)| (now - then).div_euclid(DAY));
        Ok(age.and_then(|days| i64::try_from(days).ok()))
    })?;
    connection.create_scalar_function("aquifer_cells", -1, FLAGS, |context| {
        Ok(encode_cells((0..context.len()).map(|index| context.get_raw(index))))
    })?;
    connection.create_scalar_function("aquifer_bucket", 3, FLAGS, |context| {
        let Some((unit, zone)) = bucket_arguments(context)? else { return Ok(None) };
        let time = nanosecond_of(context.get_raw(0)).and_then(|time| Timestamp::from_nanosecond(time).ok());
        Ok(time.map(|time| unit.label_time(time, &zone)))
    })?;
    connection.create_scalar_function("aquifer_date_bucket", 3, FLAGS, |context| {
        let date = context.get_raw(0).as_str().ok().and_then(|text| text.parse::<Date>().ok());
        let unit = context.get_raw(1).as_str().ok().and_then(TimeUnit::from_name);
        Ok(date.zip(unit).map(|(date, unit)| unit.label_date(date)))
    })?;
    connection.create_aggregate_function("aquifer_sum", 1, FLAGS, Sum)?;
    connection.create_scalar_function("aquifer_holds", 3, FLAGS, text_matches)?;
    connection.create_scalar_function("aquifer_rank", -1, FLAGS, move |context| {
        // Ranking a long text takes long, and SQLite would check only after several rows.
        if should_stop() {
            return Err(Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_INTERRUPT), None));
        }
        count_terms(context)
    })?;
    connection.create_scalar_function("aquifer_version", -1, FLAGS, hash_values)?;
    connection.create_scalar_function("aquifer_json", 2, FLAGS, |context| {
        Ok(json_value_at_path(context).map(|value| value.to_string()))
    })?;
    connection.create_scalar_function("aquifer_json_kind", 2, FLAGS, |context| {
        Ok(json_value_at_path(context).map(|value| match value {
            Value::Bool(_) => 0,
            Value::Number(_) => 1,
            Value::String(_) => 2,
            Value::Array(_) => 3,
            Value::Object(_) | Value::Null => 4,
        }))
    })?;
    connection.create_scalar_function("aquifer_json_number", 2, FLAGS, |context| {
        Ok(json_value_at_path(context).and_then(|value| match value {
            Value::Bool(yes) => Some(f64::from(u8::from(yes))),
            value => value.as_f64(),
        }))
    })?;
    connection.create_scalar_function("aquifer_json_text", 2, FLAGS, |context| {
        Ok(json_value_at_path(context).and_then(|value| value.as_str().map(str::to_owned)))
    })
}

/// A value as a time, in nanoseconds since 1970.
fn nanosecond_of(value: ValueRef<'_>) -> Option<i128> {
    time_style::nanosecond(stored(value))
}

/// The unit and the time zone of a bucket. The zone is looked up once for each statement.
fn bucket_arguments(context: &Context<'_>) -> Result<Option<(TimeUnit, Arc<Zone>)>> {
    let unit = context.get_raw(1).as_str().ok().and_then(TimeUnit::from_name);
    let zone = context.get_or_create_aux(2, |name| -> Result<Zone> {
        Ok(name.as_str().ok().and_then(Zone::from_name).unwrap_or_else(Zone::utc))
    })?;
    Ok(unit.map(|unit| (unit, zone)))
}

/// The value at a path in JSON text; `None` if it is missing or null.
fn json_value_at_path(context: &Context<'_>) -> Option<Value> {
    let steps: Vec<std::sync::Arc<str>> = serde_json::from_str(context.get_raw(1).as_str().ok()?).ok()?;
    let value: Value = match context.get_raw(0) {
        ValueRef::Text(text) => serde_json::from_slice(text).ok()?,
        // A column with the declared type JSON converts numeric text to numbers.
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Null | ValueRef::Blob(_) => return None,
    };
    let member = aquifer_query::evaluate::resolve_steps(&value, &steps);
    (!member.is_null()).then(|| member.clone())
}

/// Whether a text contains (0), starts with (1) or ends with (2) another, ignoring case.
fn text_matches(context: &Context<'_>) -> Result<Option<bool>> {
    let text = match context.get_raw(0) {
        ValueRef::Text(text) => fold_case(&String::from_utf8_lossy(text)),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Null | ValueRef::Blob(_) => return Ok(None),
    };
    let needle = context.get_raw(1).as_str().unwrap_or_default();
    Ok(Some(match context.get_raw(2).as_i64().unwrap_or(0) {
        0 => text.contains(needle),
        1 => text.starts_with(needle),
        _ => text.ends_with(needle),
    }))
}

/// How many of the words and phrases the texts contain.
fn count_terms(context: &Context<'_>) -> Result<i64> {
    let terms = context.get_or_create_aux(0, |terms| -> Result<Vec<Vec<String>>> {
        Ok(serde_json::from_str(terms.as_str().unwrap_or_default()).unwrap_or_default())
    })?;
    let texts: Vec<Vec<String>> = (1..context.len())
        .filter_map(|index| match context.get_raw(index) {
            ValueRef::Text(text) => Some(split_words(&String::from_utf8_lossy(text))),
            _ => None,
        })
        .collect();
    Ok(rank(&terms, &texts))
}

/// A sum that is exact for integers; SQLite's own fails beyond 64 bits.
struct Sum;

#[derive(Default)]
struct Total {
    any: bool,
    whole: i128,
    real: Option<CompensatedSum>,
}

impl Aggregate<Total, SqlValue> for Sum {
    fn init(&self, _: &mut Context<'_>) -> Result<Total> {
        Ok(Total::default())
    }

    fn step(&self, context: &mut Context<'_>, total: &mut Total) -> Result<()> {
        let real = match context.get_raw(0) {
            ValueRef::Null | ValueRef::Blob(_) => return Ok(()),
            ValueRef::Integer(number) => {
                total.any = true;
                total.whole += i128::from(number);
                return Ok(());
            }
            ValueRef::Real(number) => number,
            ValueRef::Text(text) => std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).unwrap_or(0.0),
        };
        total.any = true;
        total.real.get_or_insert_default().add(real);
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, total: Option<Total>) -> Result<SqlValue> {
        let Total { any, whole, real } = total.unwrap_or_default();
        Ok(match (real, i64::try_from(whole)) {
            _ if !any => SqlValue::Null,
            #[expect(clippy::cast_precision_loss, reason = "with fractions it is a double")]
            (Some(real), _) => SqlValue::Real(whole as f64 + real.total()),
            (None, Ok(whole)) => SqlValue::Integer(whole),
            (None, Err(_)) => SqlValue::Text(whole.to_string()),
        })
    }
}

/// A hash of these values. Collisions give no advantage to anyone, so it need not be cryptographic.
fn hash_values(context: &Context<'_>) -> Result<ToSqlOutput<'static>> {
    let mut hash = DefaultHasher::new();
    for index in 0..context.len() {
        match context.get_raw(index) {
            ValueRef::Null => hash.write_u8(0),
            ValueRef::Integer(number) => {
                hash.write_u8(1);
                hash.write_i64(number);
            }
            ValueRef::Real(number) => {
                hash.write_u8(2);
                hash.write_u64(number.to_bits());
            }
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                hash.write_u8(3);
                hash.write_usize(bytes.len());
                hash.write(bytes);
            }
        }
    }
    Ok(ToSqlOutput::Owned(SqlValue::Text(format!("{:016x}", hash.finish()))))
}
