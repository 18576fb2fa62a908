//! The answer of an upstream to `tools/list`, byte for byte (R-DIS-2).
//!
//! The bytes are kept unchanged, because everything else is an interpretation that can be checked against them. Several
//! pages are joined into one list without changing their entries; the other fields of a page (its cursor, its `_meta`)
//! are kept in `pages`.

use std::fmt;

use serde::de::{self, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use crate::limits::{self, DefinitionLimits, OmittedTools};

/// The exact payload of an upstream.
#[derive(Debug, Clone)]
pub struct RawCapture {
    tools: Box<RawValue>,
    /// Everything else that was captured, by name.
    beside: Vec<(String, Box<RawValue>)>,
}

/// A payload that is not an answer to `tools/list`.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum CaptureError {
    /// Not an object.
    #[error("page {0} of the tool list is not a JSON object")]
    NotAnObject(usize),
    /// It has no list of tools.
    #[error("page {0} of the tool list has no list 'tools'")]
    NoTools(usize),
}

/// The fields of an object, with values as raw JSON.
struct Fields(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor;
        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(entry) = map.next_entry::<String, Box<RawValue>>()? {
                    fields.push(entry);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(FieldsVisitor)
    }
}

impl RawCapture {
    /// Joins pages into one capture. Each page is the `result` of one `tools/list`, in order.
    pub fn from_pages(pages: &[&str]) -> Result<Self, CaptureError> {
        let mut inner: Vec<&str> = Vec::new();
        let mut others: Vec<Box<RawValue>> = Vec::new();
        let mut read = Vec::new();
        for (index, page) in pages.iter().enumerate() {
            let fields: Fields = serde_json::from_str(page).map_err(|_| CaptureError::NotAnObject(index + 1))?;
            read.push(fields.0);
        }
        let mut has_more = false;
        for (index, fields) in read.iter().enumerate() {
            let tools = fields.iter().find(|(key, _)| key == "tools").map(|(_, tools)| tools.get().trim());
            let list = tools.and_then(|text| text.strip_prefix('[')?.strip_suffix(']'));
            inner.push(list.ok_or(CaptureError::NoTools(index + 1))?);
            let other = Entries(fields.iter().filter(|(key, _)| key != "tools").collect());
            has_more |= !other.0.is_empty();
            others.push(to_raw_value(&other).map_err(|_| CaptureError::NotAnObject(index + 1))?);
        }
        let whole = match inner.as_slice() {
            [only] => format!("[{only}]"),
            _ => {
                let filled: Vec<&str> = inner.into_iter().filter(|list| !list.trim().is_empty()).collect();
                format!("[{}]", filled.join(","))
            }
        };
        let tools = RawValue::from_string(whole).map_err(|_| CaptureError::NoTools(1))?;
        let mut beside = Vec::new();
        if has_more && let Ok(pages) = to_raw_value(&others) {
            beside.push(("pages".to_owned(), pages));
        }
        Ok(Self { tools, beside })
    }

    /// Removes the tools that exceed a limit, and reports what was removed. If no tool exceeds a limit, the bytes are
    /// unchanged.
    pub fn within(self, limits: &DefinitionLimits) -> (Self, OmittedTools) {
        let Ok((selected, left_out)) = limits::select(self.tools.get(), limits) else {
            return (self, OmittedTools::default());
        };
        if left_out.is_empty() {
            return (self, left_out);
        }
        let texts: Vec<&str> = selected.iter().map(|tool| tool.get()).collect();
        let tools = RawValue::from_string(format!("[{}]", texts.join(",")));
        // This cannot fail, because each tool is valid JSON.
        let tools = tools.unwrap_or_else(|_| self.tools.clone());
        (Self { tools, beside: self.beside }, left_out)
    }

    /// The tools, each as raw JSON.
    pub fn tools(&self) -> Vec<Box<RawValue>> {
        serde_json::from_str(self.tools.get()).unwrap_or_default()
    }

    /// The whole list of tools, as raw JSON.
    pub fn tools_text(&self) -> &str {
        self.tools.get()
    }
}

/// Serializes fields in their original order.
struct Entries<'a>(Vec<&'a (String, Box<RawValue>)>);

impl Serialize for Entries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

impl Serialize for RawCapture {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("tools", &self.tools)?;
        for (key, value) in &self.beside {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for RawCapture {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Fields(mut beside) = Fields::deserialize(deserializer)?;
        let index = beside.iter().position(|(key, _)| key == "tools");
        let (_, tools) = index.map(|index| beside.remove(index)).ok_or_else(|| de::Error::missing_field("tools"))?;
        if !tools.get().trim_start().starts_with('[') {
            return Err(de::Error::custom("'raw_capture.tools' is not a list"));
        }
        Ok(Self { tools, beside })
    }
}
