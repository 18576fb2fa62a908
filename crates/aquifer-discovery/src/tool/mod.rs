//! One tool as an upstream defines it. Nothing in it is trusted.

pub mod limits;
pub mod name;
pub(crate) mod normalize;
pub mod warning;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// A tool with a longer name is not taken: the name is shown, logged and kept. MCP recommends 128 characters.
const MAX_NAME_BYTES: usize = 512;

/// A tool whose definition could be read.
#[derive(Debug, Clone)]
pub struct Tool {
    /// Its name, exactly.
    pub name: String,
    /// Everything the upstream said of it.
    pub definition: Map<String, Value>,
    /// What it says of its own effects.
    pub annotations: Annotations,
}

/// What a tool says of its own effects. A hint that is no boolean was not given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Annotations {
    /// It changes nothing.
    pub read_only: Option<bool>,
    /// It may destroy something.
    pub destructive: Option<bool>,
    /// Doing it twice is doing it once.
    pub idempotent: Option<bool>,
}

impl Annotations {
    /// Reads a tool's `annotations`.
    pub fn read(annotations: &Value) -> Self {
        let hint = |key: &str| annotations.get(key).and_then(Value::as_bool);
        Self {
            read_only: hint("readOnlyHint"),
            destructive: hint("destructiveHint"),
            idempotent: hint("idempotentHint"),
        }
    }
}

impl Tool {
    /// Reads a definition; the error says in a few words what is wrong with it.
    pub fn read(raw: &RawValue) -> Result<Self, &'static str> {
        let value: Value =
            serde_json::from_str(raw.get()).map_err(|_| "its definition cannot be read as JSON values")?;
        Self::from_value(value)
    }

    /// A tool from a definition that is already parsed.
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

    /// A text of its definition that says something.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.definition.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
    }

    /// The title, wherever it stands, and the name of that place.
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
