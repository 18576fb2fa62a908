//! Descriptions of columns without a comment: a few words about what a value is, from the type, the length, the
//! reference and the unit in the name. Models pay for every word, so nothing is said twice: what a published member
//! shows (bounds, listed values, defaults) is left out.

use aquifer_query::FieldType;

use crate::schema::model::Column;

/// The last words of names that say in which unit a number is.
const UNITS: &[(&[&str], &str)] = &[
    (&["ms", "millis", "milliseconds"], "Milliseconds."),
    (&["us", "micros", "microseconds"], "Microseconds."),
    (&["ns", "nanos", "nanoseconds"], "Nanoseconds."),
    (&["seconds", "secs", "sec"], "Seconds."),
    (&["minutes", "mins"], "Minutes."),
    (&["hours"], "Hours."),
    (&["days"], "Days."),
    (&["bytes"], "Bytes."),
    (&["kb", "kib"], "Kilobytes."),
    (&["mb", "mib"], "Megabytes."),
    (&["percent", "percentage", "pct"], "Percent."),
    (&["cents"], "Cents."),
    (&["km"], "Kilometers."),
    (&["kg"], "Kilograms."),
    (&["count", "total"], "A count."),
];

/// What a value of the column is, in a few words. `max_length` is the number of characters that a caller may send.
pub(super) fn describe(column: &Column, max_length: Option<u64>) -> String {
    let plain = |words: &str| words.to_owned();
    match &column.field_type {
        FieldType::Text => match max_length {
            Some(1) => plain("One character."),
            Some(length) => format!("Text, up to {length} characters."),
            None => plain("Text."),
        },
        FieldType::Enum(_) => plain("One of these words."),
        FieldType::Integer => plain(unit(&column.name).unwrap_or("Whole number.")),
        FieldType::Number => plain(unit(&column.name).unwrap_or("Number.")),
        FieldType::Boolean => plain("Yes or no."),
        FieldType::Time => plain("Time in UTC."),
        FieldType::Date => plain("Date."),
        FieldType::Uuid => plain("UUID."),
        FieldType::Bytes => plain("Bytes in base64."),
        FieldType::List(element) => match element.as_deref() {
            Some(FieldType::Text) => plain("List of texts."),
            Some(FieldType::Integer | FieldType::Number) => plain("List of numbers."),
            _ => plain("List."),
        },
        FieldType::Json => plain("JSON of any kind."),
    }
}

fn unit(name: &str) -> Option<&'static str> {
    let last = name.rsplit('_').next().unwrap_or_default();
    let known = UNITS.iter().find(|(words, _)| words.contains(&last));
    known.map(|(_, words)| *words)
}
