//! Detects what a column of a SQLite table contains. Declared types are only hints; if they are not conclusive, sample
//! values decide.

use std::time::{Duration, Instant};

use aquifer_query::FieldType;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, Result};

use super::pool::InterruptHandle;
use crate::schema::model::SqliteStore;
use crate::schema::style_finder::{StyleFinder, TimeConvention};
use crate::schema::time_style::{self, StoredTime, TimeStyle};
use crate::statement::Name;

/// How many values are sampled.
const MAX_SAMPLES: usize = 50;
/// The time for sampling one table. A view may take very long to return its first row.
const SAMPLING_TIMEOUT: Duration = Duration::from_millis(250);

/// Whether the declared type is numeric. Otherwise values decide.
pub(super) fn declares_number(declared: &str) -> bool {
    let declared = declared.to_ascii_uppercase();
    ["INT", "REAL", "FLOA", "DOUB", "NUM", "DEC", "MONEY"].iter().any(|word| declared.contains(word))
}

/// Whether the declared type is text or empty.
pub(super) fn is_textual(declared: &str) -> bool {
    let declared = declared.to_ascii_uppercase();
    declared.is_empty() || ["CHAR", "TEXT", "CLOB"].iter().any(|word| declared.contains(word))
}

/// What a column contains.
pub(super) struct ColumnKind {
    pub(super) field_type: FieldType,
    pub(super) store: SqliteStore,
    /// Digits after the second, if it contains times.
    pub(super) digits: u8,
}

impl ColumnKind {
    pub(super) fn new(field_type: FieldType, store: SqliteStore) -> Self {
        Self { field_type, store, digits: 0 }
    }

    fn time(style: TimeStyle, samples: &[Sample]) -> Self {
        let sampled = samples.iter().map(|sample| time_style::shown_digits(sample.stored())).max().unwrap_or(0);
        Self { field_type: FieldType::Time, store: SqliteStore::Time(style), digits: sampled.max(style.max_digits()) }
    }
}

/// The length in a declared type: `varchar(255)`, `CHARACTER VARYING (40)`, `nchar(3)`.
pub(super) fn declared_length(declared: &str) -> Option<u64> {
    let (name, rest) = declared.split_once('(')?;
    let (length, after) = rest.split_once(')')?;
    let is_text = ["CHAR", "TEXT", "CLOB"].iter().any(|word| name.to_ascii_uppercase().contains(word))
        || name.trim_end().to_ascii_uppercase().ends_with("VARYING");
    // `varchar(0)` is no limit to any program that declares it.
    length.trim().parse().ok().filter(|length| is_text && *length > 0 && after.trim().is_empty())
}

/// Detects the type and storage of a column.
pub(super) fn detect_kind(
    sampler: &mut Sampler<'_>,
    column: &str,
    declared: &str,
    words: Option<&Vec<String>>,
) -> Result<ColumnKind> {
    let declared = declared.to_ascii_uppercase();
    let says = |word: &str| declared.contains(word);
    let lower = column.to_lowercase();
    let named_time = ["_at", "_time", "_timestamp"].iter().any(|end| lower.ends_with(end))
        || ["created", "updated", "modified", "timestamp", "datetime"].contains(&lower.as_str());
    let named_date = ["_on", "_date"].iter().any(|end| lower.ends_with(end)) || lower == "date" || lower == "birthday";
    let textual = is_textual(&declared);
    if says("BOOL") {
        let samples = sampler.sample(column)?;
        // 'true' and 'false' stored as text are text.
        if samples.iter().all(|sample| matches!(sample, Sample::Integer(0 | 1))) {
            return Ok(ColumnKind::new(FieldType::Boolean, SqliteStore::Boolean));
        }
        return Ok(ColumnKind::new(type_of_values(&samples), SqliteStore::Plain));
    }
    if says("JSON") {
        return Ok(ColumnKind::new(FieldType::Json, SqliteStore::Json));
    }
    let says_time = says("DATETIME") || says("TIMESTAMP");
    let is_number = ["INTEGER", "BIGINT", "REAL", "DOUBLE", "FLOAT", "NUMERIC"].contains(&declared.as_str());
    let may_be_time = says_time || ((textual || is_number) && named_time);
    if may_be_time {
        let samples = sampler.sample(column)?;
        // Fractions may be anything, such as Julian days.
        let is_whole = !samples.iter().any(|sample| matches!(sample, Sample::Real(_)));
        match detect_style(&samples, sampler.convention) {
            Some(style) if (is_whole && (says_time || textual)) || is_recent(&samples) => {
                return Ok(ColumnKind::time(style, &samples));
            }
            // An empty column accepts any format.
            None if samples.is_empty() && (says_time || textual) => {
                return Ok(ColumnKind::time(sampler.convention.default_style(), &samples));
            }
            _ => {}
        }
    }
    if declared == "DATE" || (textual && named_date) {
        let samples = sampler.sample(column)?;
        let all_dates = samples.iter().all(|sample| matches!(sample, Sample::Text(text) if is_date(text)));
        if all_dates && (declared == "DATE" || !samples.is_empty()) {
            return Ok(ColumnKind::new(FieldType::Date, SqliteStore::Plain));
        }
        if let Some(style) = detect_style(&samples, sampler.convention) {
            return Ok(ColumnKind::time(style, &samples));
        }
    }
    let field_type = match words {
        Some(words) if !words.is_empty() => FieldType::Enum(words.iter().map(|word| word.as_str().into()).collect()),
        _ if says("INT") => FieldType::Integer,
        _ if says("CHAR") || says("TEXT") || says("CLOB") || says("UUID") || says("STRING") => FieldType::Text,
        _ if says("BLOB") => FieldType::Bytes,
        _ if ["REAL", "FLOA", "DOUB", "NUM", "DEC", "MONEY"].iter().any(|word| says(word)) => FieldType::Number,
        _ => type_of_values(&sampler.sample(column)?),
    };
    Ok(ColumnKind::new(field_type, SqliteStore::Plain))
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok()
}

/// Integers are times only if they would be recent.
fn is_recent(samples: &[Sample]) -> bool {
    samples.iter().all(|sample| match sample {
        Sample::Integer(number) => {
            (946_684_800..4_102_444_800).contains(number) || (946_684_800_000..4_102_444_800_000).contains(number)
        }
        Sample::Real(number) => {
            (946_684_800.0..4_102_444_800.0).contains(number)
                || (946_684_800_000.0..4_102_444_800_000.0).contains(number)
        }
        Sample::Text(_) => true,
        Sample::Other => false,
    })
}

/// The type of columns without a declared type, as in views.
fn type_of_values(samples: &[Sample]) -> FieldType {
    let whole = samples.iter().filter(|sample| matches!(sample, Sample::Integer(_))).count();
    let text = samples.iter().filter(|sample| matches!(sample, Sample::Text(_))).count();
    if samples.is_empty() || text > 0 {
        FieldType::Text
    } else if whole == samples.len() {
        FieldType::Integer
    } else {
        FieldType::Number
    }
}

/// A sampled value.
enum Sample {
    Integer(i64),
    Real(f64),
    Text(String),
    Other,
}

impl Sample {
    fn stored(&self) -> StoredTime<'_> {
        match self {
            Sample::Integer(number) => StoredTime::Integer(*number),
            Sample::Real(number) => StoredTime::Real(*number),
            Sample::Text(text) => StoredTime::Text(text.as_bytes()),
            Sample::Other => StoredTime::Other,
        }
    }
}

/// The time style of the sampled values. `None` if not all of them are times.
fn detect_style(samples: &[Sample], convention: TimeConvention) -> Option<TimeStyle> {
    if samples.iter().any(|sample| time_style::nanosecond(sample.stored()).is_none()) {
        return None;
    }
    let mut finder = StyleFinder::new();
    samples.iter().all(|sample| finder.add(sample.stored()));
    finder.finish_with(convention)
}

/// Samples values of a table.
pub(super) struct Sampler<'a> {
    connection: &'a Connection,
    interrupt: &'a InterruptHandle<'a>,
    table: &'a Name,
    /// How the application writes times.
    convention: TimeConvention,
    /// The remaining time.
    time_left: Duration,
}

impl<'a> Sampler<'a> {
    pub(super) fn new(
        connection: &'a Connection,
        interrupt: &'a InterruptHandle<'a>,
        table: &'a Name,
        convention: TimeConvention,
    ) -> Self {
        Self { connection, interrupt, table, convention, time_left: SAMPLING_TIMEOUT }
    }

    /// Samples a column; empty if that takes too long.
    fn sample(&mut self, column: &str) -> Result<Vec<Sample>> {
        let began = Instant::now();
        let samples = self.interrupt.run_with_timeout(self.time_left, || self.read(column));
        self.time_left = self.time_left.saturating_sub(began.elapsed());
        match samples {
            Err(rusqlite::Error::SqliteFailure(code, _)) if code.code == ErrorCode::OperationInterrupted => {
                Ok(Vec::new())
            }
            samples => samples,
        }
    }

    /// Values of the first and last rows, because the writing program may have changed.
    fn read(&self, column: &str) -> Result<Vec<Sample>> {
        let mut samples = self.read_some(column, "")?;
        if samples.len() == MAX_SAMPLES {
            // Views have no row numbers.
            samples.extend(self.read_some(column, " ORDER BY rowid DESC").unwrap_or_default());
        }
        Ok(samples)
    }

    fn read_some(&self, column: &str, order: &'static str) -> Result<Vec<Sample>> {
        use crate::statement::{Dialect, Statement};
        let column = Name::reflected(column);
        let mut statement = Statement::new(Dialect::Sqlite);
        statement.push("SELECT ").name(&column).push(" FROM ").name(self.table).push(" WHERE ").name(&column);
        statement.push(" IS NOT NULL").push(order).push(" LIMIT ").count(MAX_SAMPLES);
        let mut prepared = self.connection.prepare(statement.text())?;
        let mut rows = prepared.query([])?;
        let mut samples = Vec::new();
        while let Some(row) = rows.next()? {
            samples.push(match row.get_ref(0)? {
                ValueRef::Integer(number) => Sample::Integer(number),
                ValueRef::Real(number) => Sample::Real(number),
                ValueRef::Text(text) => Sample::Text(String::from_utf8_lossy(text).into_owned()),
                _ => Sample::Other,
            });
        }
        Ok(samples)
    }
}
