//! Tables described once: as a collection, as declared in each database, and how JSON rows are inserted into each.

use aquifer_query::{Collection, FieldType};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use rusqlite::types::Value as Cell;
use serde_json::Value;

/// A table with the same name in every engine.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) singular: &'static str,
    /// Its collection in the reference.
    pub(crate) collection: Collection,
    /// The text after the name in `CREATE TABLE`; empty if the table is created otherwise.
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

/// How a SQLite table stores types that SQLite lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StorageFormat {
    pub(crate) times: TimeFormat,
    /// JSON in SQLite's binary form.
    pub(crate) binary_json: bool,
}

impl Default for StorageFormat {
    fn default() -> Self {
        Self { times: TimeFormat::Blank, binary_json: false }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeFormat {
    Blank,
    BlankMillis,
    Zulu,
    ZuluMillis,
    Seconds,
    Milliseconds,
    /// Each row in another format.
    Mixed,
}

impl TimeFormat {
    pub(crate) const ALL: [TimeFormat; 7] = [
        TimeFormat::Blank,
        TimeFormat::BlankMillis,
        TimeFormat::Zulu,
        TimeFormat::ZuluMillis,
        TimeFormat::Seconds,
        TimeFormat::Milliseconds,
        TimeFormat::Mixed,
    ];

    fn write(self, text: &str, row: usize) -> Cell {
        let time: Timestamp = text.parse().unwrap();
        let form = |form: &str| Cell::Text(time.strftime(form).to_string());
        match self {
            TimeFormat::Blank => form("%Y-%m-%d %H:%M:%S"),
            TimeFormat::BlankMillis => form("%Y-%m-%d %H:%M:%S.%3f"),
            TimeFormat::Zulu => form("%Y-%m-%dT%H:%M:%SZ"),
            TimeFormat::ZuluMillis => form("%Y-%m-%dT%H:%M:%S.%3fZ"),
            TimeFormat::Seconds => Cell::Integer(time.as_second()),
            TimeFormat::Milliseconds => Cell::Integer(time.as_millisecond()),
            TimeFormat::Mixed if row.is_multiple_of(3) => form("%Y-%m-%d %H:%M:%S%.f"),
            TimeFormat::Mixed if row % 3 == 1 => {
                let there = time.to_zoned(jiff::tz::TimeZone::fixed(jiff::tz::offset(2)));
                Cell::Text(there.strftime("%Y-%m-%dT%H:%M:%S%.f%:z").to_string())
            }
            TimeFormat::Mixed => form("%Y-%m-%dT%H:%M:%S%.fZ"),
        }
    }
}

impl Table {
    /// Fields that are columns of the databases and occur in the rows.
    fn columns(&self, rows: &[Value]) -> Vec<(&str, &FieldType)> {
        let fields = self.collection.fields.iter().map(|field| (&*field.name, &field.field_type));
        fields.filter(|(name, _)| rows.iter().any(|row| row.get(name).is_some())).collect()
    }

    pub(crate) fn add_to_sqlite(&self, connection: &rusqlite::Connection, rows: &[Value], format: StorageFormat) {
        let columns = self.columns(rows);
        let names: Vec<String> = columns.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        let marks = columns.iter().map(|(_, field_type)| match field_type {
            FieldType::Json if format.binary_json => "jsonb(?)",
            _ => "?",
        });
        let marks = marks.collect::<Vec<_>>().join(", ");
        let sql = format!("INSERT INTO {} ({}) VALUES ({marks})", self.name, names.join(", "));
        let mut statement = connection.prepare_cached(&sql).unwrap();
        for (number, row) in rows.iter().enumerate() {
            let cells = columns.iter().map(|(name, field_type)| cell(field_type, &row[*name], format, number));
            statement.execute(rusqlite::params_from_iter(cells)).unwrap_or_else(|error| panic!("{row}: {error}"));
        }
    }

    /// Rows as PostgreSQL reads them from JSON: bytes have another form there.
    pub(crate) fn for_postgres(&self, rows: &[Value]) -> (String, String) {
        let columns = self.columns(rows);
        let mut rows = rows.to_vec();
        for row in &mut rows {
            for (name, field_type) in &columns {
                if let (FieldType::Bytes, Some(base64)) = (field_type, row[*name].as_str()) {
                    let hex: String =
                        STANDARD.decode(base64).unwrap().iter().map(|byte| format!("{byte:02x}")).collect();
                    row[*name] = format!("\\x{hex}").into();
                }
            }
        }
        let names: Vec<String> = columns.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        (names.join(", "), Value::from(rows).to_string())
    }
}

fn cell(field_type: &FieldType, value: &Value, format: StorageFormat, row: usize) -> Cell {
    match (field_type, value) {
        (_, Value::Null) => Cell::Null,
        (FieldType::Json, value) => Cell::Text(value.to_string()),
        (FieldType::Time, Value::String(text)) => format.times.write(text, row),
        (FieldType::Bytes, Value::String(base64)) => Cell::Blob(STANDARD.decode(base64).unwrap()),
        (FieldType::Integer, Value::String(text)) => Cell::Integer(text.parse().unwrap()),
        (_, Value::String(text)) => Cell::Text(text.clone()),
        (_, Value::Bool(yes)) => Cell::Integer(i64::from(*yes)),
        (_, Value::Number(number)) => {
            number.as_i64().map_or_else(|| Cell::Real(number.as_f64().unwrap()), Cell::Integer)
        }
        (field_type, value) => panic!("SQLite has no {field_type:?} for {value}"),
    }
}
