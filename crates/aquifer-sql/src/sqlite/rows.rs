//! Writes SQLite values as JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, Value as SqlValue, ValueRef};
use serde_json::{Value as Json, json};

use crate::rows::cell::{self, write_float, write_integer, write_json, write_string};
use crate::rows::time;
use crate::rows::time_digits::TimeDigits;
use crate::rows::{CellContent, CellType, OutputField, ResultRow, write_objects};
use crate::schema::time_style::{self, StoredTime};
use crate::statement::Bind;

/// A row of a result.
pub(super) struct Row<'r, 's>(pub(super) &'r rusqlite::Row<'s>);

impl ResultRow for Row<'_, '_> {
    fn write(&self, index: usize, cell_type: &CellType, out: &mut Vec<u8>) -> CellContent {
        write_value(self.0.get_ref(index).unwrap_or(ValueRef::Null), cell_type, out)
    }

    fn write_rows(&self, index: usize, fields: &[OutputField], out: &mut Vec<u8>) {
        let text = self.0.get_ref(index).ok().and_then(|value| value.as_str().ok()).unwrap_or_default();
        let rows: Vec<Vec<Json>> = serde_json::from_str(text).unwrap_or_default();
        write_objects(rows.into_iter().map(NestedRow::new), fields, out);
    }

    /// Cursor values are written as stored, so that they compare with the file's values. Times are the exception: they
    /// are written in canonical form, so that cursors survive a change of their format. Invalid times are missing, as
    /// in comparisons.
    fn write_cursor_value(&self, index: usize, cell_type: &CellType, out: &mut Vec<u8>) {
        let wrapped = |kind: &str, text: &str| json!({ kind: text }).to_string();
        match self.0.get_ref(index).unwrap_or(ValueRef::Null) {
            value if matches!(cell_type, CellType::Time(_)) => match time_style::nanosecond(stored(value)) {
                Some(time) => write_string(&time_style::canonical(time), out),
                None => out.extend_from_slice(b"null"),
            },
            ValueRef::Null => out.extend_from_slice(b"null"),
            ValueRef::Text(text) if *cell_type == CellType::Json => write_json(&String::from_utf8_lossy(text), out),
            ValueRef::Integer(number) => out.extend_from_slice(number.to_string().as_bytes()),
            ValueRef::Real(number) if number.is_finite() => write_float(number, out),
            ValueRef::Real(number) => out.extend_from_slice(wrapped("real", &number.to_string()).as_bytes()),
            ValueRef::Text(text) => match std::str::from_utf8(text) {
                Ok(text) => write_string(text, out),
                Err(_) => out.extend_from_slice(wrapped("text", &STANDARD.encode(text)).as_bytes()),
            },
            ValueRef::Blob(bytes) => out.extend_from_slice(wrapped("blob", &STANDARD.encode(bytes)).as_bytes()),
        }
    }
}

fn write_value(value: ValueRef<'_>, cell_type: &CellType, out: &mut Vec<u8>) -> CellContent {
    match (cell_type, value) {
        (_, ValueRef::Null) => return CellContent::Null,
        (CellType::Boolean, ValueRef::Integer(number)) => {
            out.extend_from_slice(if number == 0 { b"false" } else { b"true" });
        }
        (CellType::Time(digits), value) => write_time(value, digits, out),
        (CellType::Json, ValueRef::Text(text)) => write_json(&String::from_utf8_lossy(text), out),
        (_, ValueRef::Integer(number)) => write_integer(number, out),
        (_, ValueRef::Real(number)) => write_float(number, out),
        (_, ValueRef::Text(text)) => cell::write_text(text, out),
        (_, ValueRef::Blob(bytes)) => {
            write_string(&STANDARD.encode(bytes), out);
            return CellContent::Bytes;
        }
    }
    CellContent::Value
}

/// A row inside another: its cells as `aquifer_cells` wrote them.
struct NestedRow(Vec<SqlValue>);

impl NestedRow {
    fn new(cells: Vec<Json>) -> Self {
        Self(cells.into_iter().map(read_cell).collect())
    }
}

impl ResultRow for NestedRow {
    fn write(&self, index: usize, cell_type: &CellType, out: &mut Vec<u8>) -> CellContent {
        write_value(self.0.get(index).map_or(ValueRef::Null, ValueRef::from), cell_type, out)
    }

    /// Related rows have no related rows of their own.
    fn write_rows(&self, _: usize, _: &[OutputField], out: &mut Vec<u8>) {
        out.extend_from_slice(b"[]");
    }
}

/// The cells of a row as JSON. Values that JSON cannot represent exactly are written as text in an object.
pub(super) fn encode_cells<'a>(cells: impl Iterator<Item = ValueRef<'a>>) -> String {
    let mut out = Vec::with_capacity(64);
    let wrapped = |name: &str, text: String| json!({ name: text }).to_string();
    for cell in cells {
        out.push(if out.is_empty() { b'[' } else { b',' });
        match cell {
            ValueRef::Null => out.extend_from_slice(b"null"),
            ValueRef::Integer(number) => out.extend_from_slice(number.to_string().as_bytes()),
            ValueRef::Real(number) => {
                out.extend_from_slice(wrapped("real", number.to_bits().to_string()).as_bytes());
            }
            ValueRef::Text(text) => match std::str::from_utf8(text) {
                Ok(text) => write_string(text, &mut out),
                Err(_) => out.extend_from_slice(wrapped("text", STANDARD.encode(text)).as_bytes()),
            },
            ValueRef::Blob(bytes) => out.extend_from_slice(wrapped("blob", STANDARD.encode(bytes)).as_bytes()),
        }
    }
    let end: &[u8] = if out.is_empty() { b"[]" } else { b"]" };
    out.extend_from_slice(end);
    // Everything above is UTF-8.
    String::from_utf8(out).unwrap_or_default()
}

fn read_cell(cell: Json) -> SqlValue {
    match cell {
        Json::Number(number) => number.as_i64().map_or(SqlValue::Null, SqlValue::Integer),
        Json::String(text) => SqlValue::Text(text),
        Json::Object(cell) => {
            let bytes = |name: &str| cell.get(name).and_then(|text| STANDARD.decode(text.as_str()?).ok());
            let real = cell.get("real").and_then(|bits| bits.as_str()?.parse().ok()).map(f64::from_bits);
            let text = || bytes("text").map(|text| SqlValue::Text(String::from_utf8_lossy(&text).into_owned()));
            let blob = || bytes("blob").map(SqlValue::Blob);
            real.map(SqlValue::Real).or_else(text).or_else(blob).unwrap_or(SqlValue::Null)
        }
        _ => SqlValue::Null,
    }
}

/// A value as a time column stores it.
pub(super) fn stored(value: ValueRef<'_>) -> StoredTime<'_> {
    match value {
        ValueRef::Integer(number) => StoredTime::Integer(number),
        ValueRef::Real(number) => StoredTime::Real(number),
        ValueRef::Text(text) => StoredTime::Text(text),
        ValueRef::Null | ValueRef::Blob(_) => StoredTime::Other,
    }
}

fn write_time(value: ValueRef<'_>, digits: &TimeDigits, out: &mut Vec<u8>) {
    if let ValueRef::Text(text) = value
        && time::copy_timestamp(text, digits, out)
    {
        return;
    }
    let moment = time_style::nanosecond(stored(value)).and_then(|time| jiff::Timestamp::from_nanosecond(time).ok());
    match (moment, value) {
        (Some(moment), _) => time::write_timestamp(moment, digits, out),
        (None, ValueRef::Integer(number)) => write_integer(number, out),
        (None, ValueRef::Real(number)) => write_float(number, out),
        (None, ValueRef::Text(text)) => cell::write_text(text, out),
        (None, ValueRef::Blob(bytes)) => write_string(&STANDARD.encode(bytes), out),
        (None, ValueRef::Null) => out.extend_from_slice(b"null"),
    }
}

impl ToSql for Bind {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Bind::Null => ValueRef::Null,
            Bind::Integer(number) => ValueRef::Integer(*number),
            Bind::Real(number) => ValueRef::Real(*number),
            Bind::Text(text) => ValueRef::Text(text.as_bytes()),
            Bind::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}
