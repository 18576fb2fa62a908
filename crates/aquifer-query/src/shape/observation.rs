//! Describes what a result looked like. The next result may differ.

use aquifer_protocol::operation::RowPlace;
use serde_json::{Map, Value, json};

use super::row_location::{self, RowLocation};
use super::{ResultShape, infer, python_literal, result_content};

/// Further fields are not listed.
const MAX_FIELDS: usize = 40;

/// The number of rows that are examined.
const MAX_SAMPLE_ROWS: usize = 20;

/// The observed shape of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// The location of the rows; `None` if the result was one value.
    rows: Option<RowLocation>,
    shape: ResultShape,
    fields: Vec<(String, &'static str)>,
}

impl Observation {
    /// Describes rows found at a location.
    pub fn from_rows(rows: &[Value], place: &RowLocation) -> Option<Self> {
        let sample: Vec<&Value> = rows.iter().take(MAX_SAMPLE_ROWS).collect();
        let (rows, shape) = (Some(place.clone()), ResultShape::Rows(RowPlace::known(&place.path())));
        Some(Self { rows, shape, fields: infer::describe_fields(&sample, MAX_FIELDS) }).filter(|_| !sample.is_empty())
    }

    /// Describes one object.
    pub fn from_object(value: &Value) -> Option<Self> {
        let fields = || infer::describe_fields(&[value], MAX_FIELDS);
        value.is_object().then(|| Self { rows: None, shape: ResultShape::Structured, fields: fields() })
    }

    /// Describes a result. Text is parsed, which is expensive: call this once.
    pub fn from_result(result: &Value, place: &RowPlace) -> Option<Self> {
        if let Some(text) = result_content::plain_text(result) {
            let value = result_content::parse_json_text(text).or_else(|| python_literal::parse(text))?;
            return Self::from_json(&value, place);
        }
        Self::from_json(result.get("structuredContent").filter(|value| value.is_object()).unwrap_or(result), place)
    }

    /// Without a known place the rows are searched for: that is how a place becomes known.
    fn from_json(value: &Value, place: &RowPlace) -> Option<Self> {
        let location = match place {
            RowPlace::Unknown => row_location::search(value).filter(|location| location.has_objects),
            place => row_location::locate(value, place),
        };
        match location {
            Some(location) => {
                let sample = row_location::sample(value, &location);
                let fields = infer::describe_fields(&sample, MAX_FIELDS);
                let is_empty = sample.is_empty();
                let shape = match location.has_objects {
                    true => ResultShape::Rows(location.place(value)),
                    false => ResultShape::Structured,
                };
                Some(Self { rows: Some(location), shape, fields }).filter(|_| !is_empty)
            }
            None => Self::from_object(value),
        }
    }

    /// What it says about further results: where rows are, or that there is an object without.
    pub fn shape(&self) -> ResultShape {
        self.shape.clone()
    }

    /// The observation for introspection.
    pub fn to_value(&self) -> Value {
        let fields: Map<String, Value> = self
            .fields
            .iter()
            .map(|(name, field_type)| (name.chars().take(128).collect(), (*field_type).into()))
            .collect();
        let mut shown = Map::new();
        shown.insert("note".to_owned(), "Observed in a result, not guaranteed".into());
        if let Some(rows) = &self.rows {
            shown.insert("rows".to_owned(), json!(rows.path().chars().take(256).collect::<String>()));
        }
        shown.insert("fields".to_owned(), Value::Object(fields));
        Value::Object(shown)
    }
}
