//! PostgreSQL values to JSON and back. Values are received in binary form and sent as text, which a cast parses.

use std::error::Error;

use aquifer_protocol::hex::hex;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::BytesMut;
use tokio_postgres::types::{Format, FromSql, IsNull, ToSql, Type};

use crate::rows::cell::{
    self, write_decimal, write_float, write_integer, write_integers, write_string, write_valid_json,
};
use crate::rows::{CellContent, CellType, OutputField, ResultRow, write_objects};
use crate::statement::Bind;

/// A row of a result.
pub(super) struct Row<'r>(pub(super) &'r tokio_postgres::Row);

/// A cell in binary form.
struct Raw<'a>(&'a [u8]);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Raw(raw))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

impl ResultRow for Row<'_> {
    fn write(&self, index: usize, cell_type: &CellType, out: &mut Vec<u8>) -> CellContent {
        let Ok(Some(Raw(bytes))) = self.0.try_get::<_, Option<Raw<'_>>>(index) else { return CellContent::Null };
        write_value(bytes, cell_type, out)
    }

    fn write_rows(&self, index: usize, fields: &[OutputField], out: &mut Vec<u8>) {
        let array = self.0.try_get::<_, Option<Raw<'_>>>(index).ok().flatten();
        let rows = array.and_then(|Raw(bytes)| NestedRows::new(bytes)).unwrap_or_default();
        write_objects(rows, fields, out);
    }
}

/// The rows inside a cell: an array of records in binary form.
#[derive(Default)]
struct NestedRows<'a>(Reader<'a>);

impl<'a> NestedRows<'a> {
    /// Reads the header of the array. An empty array has no dimension.
    fn new(array: &'a [u8]) -> Option<Self> {
        let mut reader = Reader(array);
        let dimensions = reader.integer()?;
        let (_has_nulls, _element_type) = (reader.integer()?, reader.integer()?);
        if dimensions != 1 {
            return None;
        }
        let (_length, _lower_bound) = (reader.integer()?, reader.integer()?);
        Some(Self(reader))
    }
}

impl<'a> Iterator for NestedRows<'a> {
    type Item = NestedRow<'a>;

    fn next(&mut self) -> Option<NestedRow<'a>> {
        let mut record = Reader(self.0.value()??);
        let count = record.integer()?;
        let cell = |_| {
            let _type = record.integer()?;
            record.value()
        };
        Some(NestedRow((0..count).map_while(cell).collect()))
    }
}

/// A row inside another: its cells in binary form.
struct NestedRow<'a>(Vec<Option<&'a [u8]>>);

impl ResultRow for NestedRow<'_> {
    fn write(&self, index: usize, cell_type: &CellType, out: &mut Vec<u8>) -> CellContent {
        match self.0.get(index) {
            Some(Some(bytes)) => write_value(bytes, cell_type, out),
            _ => CellContent::Null,
        }
    }

    /// Related rows have no related rows of their own.
    fn write_rows(&self, _: usize, _: &[OutputField], out: &mut Vec<u8>) {
        out.extend_from_slice(b"[]");
    }
}

/// Reads the parts of a composite value.
#[derive(Default)]
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn integer(&mut self) -> Option<i32> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(i32::from_be_bytes(*bytes))
    }

    /// A value after its length. NULL has a negative length.
    fn value(&mut self) -> Option<Option<&'a [u8]>> {
        let Ok(length) = usize::try_from(self.integer()?) else { return Some(None) };
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(Some(bytes))
    }
}

fn write_value(bytes: &[u8], cell_type: &CellType, out: &mut Vec<u8>) -> CellContent {
    match cell_type {
        CellType::Integer => write_integer(read_integer(bytes), out),
        CellType::Float => write_float(read_float(bytes), out),
        CellType::Boolean => out.extend_from_slice(if bytes.first() == Some(&1) { b"true" } else { b"false" }),
        CellType::Decimal => write_decimal(&String::from_utf8_lossy(bytes), out),
        CellType::Time(digits) => write_time(read_integer(bytes), digits.get(), out),
        CellType::Date => write_date(read_integer(bytes), out),
        CellType::Uuid => write_uuid(bytes, out),
        CellType::Bytes => {
            write_string(&STANDARD.encode(bytes), out);
            return CellContent::Bytes;
        }
        // The database guarantees that it is valid JSON.
        CellType::Json => write_valid_json(bytes, out),
        CellType::Integers => write_integers(bytes, out),
        CellType::Text | CellType::Plain => cell::write_text(bytes, out),
    }
    CellContent::Value
}

fn read_integer(bytes: &[u8]) -> i64 {
    match *bytes {
        [a, b] => i16::from_be_bytes([a, b]).into(),
        [a, b, c, d] => i32::from_be_bytes([a, b, c, d]).into(),
        [a, b, c, d, e, f, g, h] => i64::from_be_bytes([a, b, c, d, e, f, g, h]),
        _ => 0,
    }
}

fn read_float(bytes: &[u8]) -> f64 {
    match *bytes {
        // Through text: 0.1 must stay 0.1 and not become the nearest double.
        [a, b, c, d] => f32::from_be_bytes([a, b, c, d]).to_string().parse().unwrap_or(f64::NAN),
        [a, b, c, d, e, f, g, h] => f64::from_be_bytes([a, b, c, d, e, f, g, h]),
        _ => f64::NAN,
    }
}

/// Days from 1970 to 2000, the epoch of PostgreSQL.
const EPOCH_DAYS: i64 = 10_957;
const DAY: i64 = 86_400;

/// Writes microseconds since 2000. Infinite timestamps are written by name. The column rounds to its digits, so no value
/// has more.
fn write_time(microseconds: i64, digits: u8, out: &mut Vec<u8>) {
    /// From the year 1 on: earlier years are numbered differently by PostgreSQL.
    const COMMON_ERA_SECONDS: std::ops::Range<i64> = -62_135_596_800..253_402_300_800;
    let (seconds, rest) = (microseconds.div_euclid(1_000_000) + EPOCH_DAYS * DAY, microseconds.rem_euclid(1_000_000));
    match microseconds {
        i64::MAX => out.extend_from_slice(b"\"infinity\""),
        i64::MIN => out.extend_from_slice(b"\"-infinity\""),
        // Less than a second.
        _ if COMMON_ERA_SECONDS.contains(&seconds) => {
            cell::write_timestamp(seconds, u32::try_from(rest * 1_000).unwrap_or(0), digits, out)
        }
        _ => {
            let of_day = seconds.rem_euclid(DAY);
            let (day, suffix) = format_far_date(seconds.div_euclid(DAY));
            let digits = if rest == 0 { String::new() } else { format!(".{rest:06}") };
            let (hours, minutes) = (of_day / 3600, of_day / 60 % 60);
            let text = format!("{day}T{hours:02}:{minutes:02}:{:02}{digits}Z{suffix}", of_day % 60);
            write_string(&text, out);
        }
    }
}

/// A date in the form that PostgreSQL reads back, in any year.
fn format_far_date(days: i64) -> (String, &'static str) {
    let (year, month, day) = cell::civil_date(days);
    // The year before 1 is 1 BC.
    let (year, suffix) = if year > 0 { (year, "") } else { (1 - year, " BC") };
    (format!("{year:04}-{month:02}-{day:02}"), suffix)
}

/// Days since 2000.
fn write_date(days: i64, out: &mut Vec<u8>) {
    match i32::try_from(days) {
        Ok(i32::MAX) => out.extend_from_slice(b"\"infinity\""),
        Ok(i32::MIN) => out.extend_from_slice(b"\"-infinity\""),
        _ => {
            let (day, suffix) = format_far_date(days + EPOCH_DAYS);
            write_string(&format!("{day}{suffix}"), out);
        }
    }
}

fn write_uuid(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.push(b'"');
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        for half in [byte >> 4, byte & 15] {
            out.extend(DIGITS.get(usize::from(half)));
        }
    }
    out.push(b'"');
}

impl ToSql for Bind {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Bind::Null => return Ok(IsNull::Yes),
            Bind::Text(text) => out.extend_from_slice(text.as_bytes()),
            Bind::Integer(number) => out.extend_from_slice(number.to_string().as_bytes()),
            Bind::Real(number) => out.extend_from_slice(number.to_string().as_bytes()),
            Bind::Bytes(bytes) => {
                out.extend_from_slice(b"\\x");
                out.extend_from_slice(hex(bytes).as_bytes());
            }
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    tokio_postgres::types::to_sql_checked!();
}
