//! What a result looked like, to be told as an observation: nobody promised that the next one looks the same.

use serde_json::{Map, Value, json};

use super::rows::{self, Place};
use super::{infer, literal, subject};

/// More fields than this are not told.
const MAX_COUNT: usize = 40;

/// Rows that are looked into.
const FEW: usize = 20;

/// What a result looked like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// Where the rows were; none if the result was one thing.
    rows: Option<String>,
    fields: Vec<(String, &'static str)>,
}

impl Observation {
    /// What rows look like that were found at a place.
    pub fn of_rows(found: &[Value], place: &Place) -> Option<Self> {
        let few: Vec<&Value> = found.iter().take(FEW).collect();
        Some(Self { rows: Some(place.to_string()), fields: infer::observed(&few, MAX_COUNT) })
            .filter(|_| !few.is_empty())
    }

    /// What one thing looks like.
    pub fn of_one(value: &Value) -> Option<Self> {
        value.is_object().then(|| Self { rows: None, fields: infer::observed(&[value], MAX_COUNT) })
    }

    /// What a result looks like. Text is read, which is dear: to be asked once.
    pub fn of(result: &Value, path: Option<&str>) -> Option<Self> {
        if let Some(text) = subject::plain_text(result) {
            let value = subject::from_text(text).or_else(|| literal::read(text))?;
            return Self::of_json(&value, path);
        }
        Self::of_json(result.get("structuredContent").filter(|value| value.is_object()).unwrap_or(result), path)
    }

    fn of_json(value: &Value, path: Option<&str>) -> Option<Self> {
        match rows::find(value, path) {
            Some(place) => {
                let few = rows::sample(value, &place);
                Some(Self { rows: Some(place.to_string()), fields: infer::observed(&few, MAX_COUNT) })
                    .filter(|_| !few.is_empty())
            }
            None => Self::of_one(value),
        }
    }

    /// As introspection shows it.
    pub fn to_value(&self) -> Value {
        let fields: Map<String, Value> =
            self.fields.iter().map(|(name, of)| (name.chars().take(128).collect(), (*of).into())).collect();
        let mut shown = Map::new();
        shown.insert("note".to_owned(), "Seen in a result, not promised".into());
        if let Some(rows) = &self.rows {
            let rows = if rows.is_empty() { "$" } else { rows };
            shown.insert("rows".to_owned(), json!(rows.chars().take(256).collect::<String>()));
        }
        shown.insert("fields".to_owned(), Value::Object(fields));
        Value::Object(shown)
    }
}
