//! Describes what a result looked like. The next result may differ.

use serde_json::{Map, Value, json};

use super::row_location::{self, RowLocation};
use super::{infer, python_literal, result_content};

/// Further fields are not listed.
const MAX_FIELDS: usize = 40;

/// The number of rows that are examined.
const MAX_SAMPLE_ROWS: usize = 20;

/// The observed shape of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// The location of the rows; `None` if the result was one value.
    rows: Option<String>,
    fields: Vec<(String, &'static str)>,
}

impl Observation {
    /// Describes rows found at a location.
    pub fn from_rows(rows: &[Value], place: &RowLocation) -> Option<Self> {
        let sample: Vec<&Value> = rows.iter().take(MAX_SAMPLE_ROWS).collect();
        Some(Self { rows: Some(place.to_string()), fields: infer::describe_fields(&sample, MAX_FIELDS) })
            .filter(|_| !sample.is_empty())
    }

    /// Describes one object.
    pub fn from_object(value: &Value) -> Option<Self> {
        value.is_object().then(|| Self { rows: None, fields: infer::describe_fields(&[value], MAX_FIELDS) })
    }

    /// Describes a result. Text is parsed, which is expensive: call this once.
    pub fn from_result(result: &Value, path: Option<&str>) -> Option<Self> {
        if let Some(text) = result_content::plain_text(result) {
            let value = result_content::parse_json_text(text).or_else(|| python_literal::parse(text))?;
            return Self::from_json(&value, path);
        }
        Self::from_json(result.get("structuredContent").filter(|value| value.is_object()).unwrap_or(result), path)
    }

    fn from_json(value: &Value, path: Option<&str>) -> Option<Self> {
        match row_location::locate(value, path) {
            Some(place) => {
                let sample = row_location::sample(value, &place);
                Some(Self { rows: Some(place.to_string()), fields: infer::describe_fields(&sample, MAX_FIELDS) })
                    .filter(|_| !sample.is_empty())
            }
            None => Self::from_object(value),
        }
    }

    /// The observation for introspection.
    pub fn to_value(&self) -> Value {
        let fields: Map<String, Value> =
            self.fields.iter().map(|(name, of)| (name.chars().take(128).collect(), (*of).into())).collect();
        let mut shown = Map::new();
        shown.insert("note".to_owned(), "Observed in a result, not guaranteed".into());
        if let Some(rows) = &self.rows {
            let rows = if rows.is_empty() { "$" } else { rows };
            shown.insert("rows".to_owned(), json!(rows.chars().take(256).collect::<String>()));
        }
        shown.insert("fields".to_owned(), Value::Object(fields));
        Value::Object(shown)
    }
}
