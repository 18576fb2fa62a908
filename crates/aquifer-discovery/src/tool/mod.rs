//! A tool as defined by an upstream. Nothing in it is trusted.

pub mod digest;
pub mod limits;
pub mod name;
pub mod warning;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Maximum length of a tool's name, because it is shown, logged and stored. MCP recommends 128 characters.
const MAX_NAME_BYTES: usize = 512;

/// A tool with a valid definition.
#[derive(Debug, Clone)]
pub struct Tool {
    /// Its exact name.
    pub name: String,
    /// Its complete definition.
    pub definition: Map<String, Value>,
    /// The annotations about its effects.
    pub annotations: Annotations,
}

/// A tool's annotations about its effects. A value that is not a boolean counts as absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Annotations {
    /// It changes nothing.
    pub read_only: Option<bool>,
    /// It may destroy something.
    pub destructive: Option<bool>,
    /// Repeating a call has no further effect.
    pub idempotent: Option<bool>,
    /// It acts on people or systems outside the server.
    pub open_world: Option<bool>,
}

impl Annotations {
    /// The annotations that an HTTP method implies (RFC 9110). `POST` implies none.
    pub fn for_method(method: &str) -> Self {
        match method {
            "GET" | "HEAD" | "OPTIONS" | "TRACE" | "QUERY" => {
                Self { read_only: Some(true), idempotent: Some(true), ..Self::default() }
            }
            "PUT" => Self { read_only: Some(false), idempotent: Some(true), ..Self::default() },
            "PATCH" => Self { read_only: Some(false), ..Self::default() },
            "DELETE" => {
                Self { read_only: Some(false), destructive: Some(true), idempotent: Some(true), ..Self::default() }
            }
            _ => Self::default(),
        }
    }

    /// Reads a tool's `annotations`.
    pub fn read(annotations: &Value) -> Self {
        let hint = |key: &str| annotations.get(key).and_then(Value::as_bool);
        Self {
            read_only: hint("readOnlyHint"),
            destructive: hint("destructiveHint"),
            idempotent: hint("idempotentHint"),
            open_world: hint("openWorldHint"),
        }
    }
}

impl Tool {
    /// Parses a definition. The error describes the problem in a few words.
    pub fn read(raw: &RawValue) -> Result<Self, &'static str> {
        let value: Value =
            serde_json::from_str(raw.get()).map_err(|_| "its definition cannot be read as JSON values")?;
        Self::from_value(value)
    }

    /// A tool from a parsed definition.
    pub fn from_value(value: Value) -> Result<Self, &'static str> {
        let Value::Object(definition) = value else { return Err("its definition is not an object") };
        let Some(name) = definition.get("name").and_then(Value::as_str).filter(|name| !name.is_empty()) else {
            return Err("it has no name");
        };
        if name.len() > MAX_NAME_BYTES {
            return Err("its name is too long");
        }
        let annotations = definition.get("annotations").map(Annotations::read).unwrap_or_default();
        Ok(Self { name: name.to_owned(), annotations, definition })
    }

    /// A text field of its definition, unless it is blank.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.definition.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
    }

    /// The title, and the field that contains it.
    pub fn title(&self) -> Option<(&str, &'static str)> {
        let annotated = || {
            let title = self.definition.get("annotations")?.get("title")?.as_str()?;
            (!title.trim().is_empty()).then_some((title, "annotations.title"))
        };
        self.text("title").map(|title| (title, "title")).or_else(annotated)
    }

    /// The schema of its arguments, if it has one.
    pub fn input_schema(&self) -> Option<&Value> {
        self.definition.get("inputSchema")
    }
}
