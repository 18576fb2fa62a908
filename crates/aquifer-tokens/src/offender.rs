//! Which tools and operations cost most, and which part of them.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::count::Counts;
use crate::seen::{self, Apart};

/// As many are reported, the most expensive first.
pub(crate) const MAX_COUNT: usize = 20;

/// One tool, or one operation as introspection shows it, and what it costs.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Offender {
    /// Its name.
    pub name: String,
    /// All that a model sees of it.
    pub tokens: Counts,
    /// Of that, the description.
    pub description: Counts,
    /// Of that, the schema of the parameters.
    pub schema: Counts,
    /// Of the schema, definitions that nothing in it refers to.
    pub unused_definitions: Counts,
    /// Its icons, which a model does not see.
    #[serde(default, skip_serializing_if = "Apart::is_empty")]
    pub apart: Apart,
}

impl Offender {
    /// A tool, as its server lists it.
    #[must_use]
    pub fn tool(tool: &Value) -> Self {
        let schema = tool.get("inputSchema");
        let unused = schema.map(unused_definitions).unwrap_or_default();
        Self {
            name: word(tool, "name"),
            tokens: Counts::of(&seen::tool(tool).to_string()),
            description: Counts::of(&word(tool, "description")),
            schema: schema.map(|schema| Counts::of(&schema.to_string())).unwrap_or_default(),
            unused_definitions: if unused.is_empty() {
                Counts::default()
            } else {
                Counts::of(&Value::Object(unused).to_string())
            },
            apart: seen::icons(tool),
        }
    }

    /// An operation, as introspection shows it.
    #[must_use]
    pub fn operation(detail: &Value) -> Self {
        Self {
            name: word(detail, "name"),
            tokens: Counts::of(&detail.to_string()),
            description: Counts::of(&word(detail, "description")),
            schema: detail.get("parameters").map(|schema| Counts::of(&schema.to_string())).unwrap_or_default(),
            unused_definitions: Counts::default(),
            apart: Apart::default(),
        }
    }

    /// The most expensive of many.
    pub(crate) fn largest(mut all: Vec<Self>) -> Vec<Self> {
        all.sort_by(|a, b| b.tokens.o200k_base.cmp(&a.tokens.o200k_base).then_with(|| a.name.cmp(&b.name)));
        all.truncate(MAX_COUNT);
        all
    }
}

fn word(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The definitions of a schema that nothing reachable refers to.
fn unused_definitions(schema: &Value) -> Map<String, Value> {
    const PLACES: [&str; 2] = ["$defs", "definitions"];
    let mut used: HashSet<String> = HashSet::new();
    let mut waiting: Vec<&Value> = Vec::new();
    if let Value::Object(members) = schema {
        waiting.extend(members.iter().filter(|(name, _)| !PLACES.contains(&name.as_str())).map(|(_, value)| value));
    }
    // A stack of our own: schemas from outside may be nested deeper than ours.
    while let Some(value) = waiting.pop() {
        match value {
            Value::Array(items) => waiting.extend(items),
            Value::Object(members) => {
                waiting.extend(members.values());
                let pointer = members.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix("#/"));
                let mut parts = pointer.unwrap_or_default().split('/');
                let (place, name) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
                if PLACES.contains(&place) {
                    let name = name.replace("~1", "/").replace("~0", "~");
                    let found = schema.get(place).and_then(|definitions| definitions.get(&name));
                    if used.insert(format!("{place}/{name}")) {
                        waiting.extend(found);
                    }
                }
            }
            _ => {}
        }
    }
    let mut unused = Map::new();
    for place in PLACES {
        for (name, definition) in schema.get(place).and_then(Value::as_object).into_iter().flatten() {
            if !used.contains(&format!("{place}/{name}")) {
                unused.insert(name.clone(), definition.clone());
            }
        }
    }
    unused
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    fn unused(schema: Value) -> Vec<String> {
        unused_definitions(&schema).keys().cloned().collect()
    }

    #[test]
    fn a_definition_is_used_when_a_used_one_refers_to_it() {
        let schema = json!({
            "properties": { "a": { "$ref": "#/$defs/A" }, "list": { "items": { "$ref": "#/definitions/Old~1One" } } },
            "$defs": {
                "A": { "anyOf": [{ "$ref": "#/$defs/B" }, { "$ref": "#/$defs/A" }] },
                "B": {},
                "C": { "$ref": "#/$defs/D" },
                "D": { "$ref": "#/$defs/C" },
            },
            "definitions": { "Old/One": {}, "Older": {} },
        });
        assert_eq!(unused(schema), ["C", "D", "Older"]);
        assert!(unused(json!({ "type": "object" })).is_empty());
        assert!(unused(json!(true)).is_empty());
    }

    #[test]
    fn a_tool_is_told_by_its_parts() {
        let tool = json!({
            "name": "a", "description": "Some words about it.",
            "inputSchema": { "type": "object", "$defs": { "Unused": { "type": "string" } } },
            "icons": [{ "src": format!("data:image/png;base64,{}", "A".repeat(4000)) }],
        });
        let found = Offender::tool(&tool);
        assert_eq!(found.description, Counts::of("Some words about it."));
        assert_eq!(found.schema, Counts::of(r#"{"type":"object","$defs":{"Unused":{"type":"string"}}}"#));
        assert_eq!(found.unused_definitions, Counts::of(r#"{"Unused":{"type":"string"}}"#));
        assert_eq!((found.apart.icons, found.apart.bytes), (1, 3000));
        assert!(found.tokens.o200k_base < 60, "icons are no text: {found:?}");
    }

    #[test]
    fn the_largest_come_first_and_no_more_than_a_screen() {
        let tools =
            (0..30).map(|n| Offender::tool(&json!({ "name": format!("t{n:02}"), "description": "word ".repeat(n) })));
        let largest = Offender::largest(tools.collect());
        assert_eq!(largest.len(), MAX_COUNT);
        assert_eq!(largest.first().unwrap().name, "t29");
    }
}
