//! The cost of the definition of a tool or operation, by part.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::count::TokenCounts;
use crate::model_view::{self, NonText};

/// How many definitions a report lists, the most expensive first.
pub(crate) const MAX_REPORTED: usize = 20;

/// The cost of a tool definition, or of an operation as introspection describes it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DefinitionCost {
    /// Its name.
    pub name: String,
    /// Everything that a model sees of it.
    pub tokens: TokenCounts,
    /// The description alone.
    pub description: TokenCounts,
    /// The schema of the parameters alone.
    pub schema: TokenCounts,
    /// Definitions in the schema that nothing refers to.
    pub unused_definitions: TokenCounts,
    /// Its icons, which a model does not see.
    #[serde(rename = "apart", default, skip_serializing_if = "NonText::is_empty")]
    pub non_text: NonText,
}

impl DefinitionCost {
    /// The cost of a tool, as its server lists it.
    #[must_use]
    pub fn from_tool(tool: &Value) -> Self {
        let schema = tool.get("inputSchema");
        let unused = schema.map(unused_definitions).unwrap_or_default();
        Self {
            name: word(tool, "name"),
            tokens: TokenCounts::count(&model_view::tool(tool).to_string()),
            description: TokenCounts::count(&word(tool, "description")),
            schema: schema.map(|schema| TokenCounts::count(&schema.to_string())).unwrap_or_default(),
            unused_definitions: if unused.is_empty() {
                TokenCounts::default()
            } else {
                TokenCounts::count(&Value::Object(unused).to_string())
            },
            non_text: model_view::icons(tool),
        }
    }

    /// The cost of an operation, as introspection describes it.
    #[must_use]
    pub fn from_operation(detail: &Value) -> Self {
        Self {
            name: word(detail, "name"),
            tokens: TokenCounts::count(&detail.to_string()),
            description: TokenCounts::count(&word(detail, "description")),
            schema: detail.get("parameters").map(|schema| TokenCounts::count(&schema.to_string())).unwrap_or_default(),
            unused_definitions: TokenCounts::default(),
            non_text: NonText::default(),
        }
    }

    /// The most expensive ones.
    pub(crate) fn largest(mut all: Vec<Self>) -> Vec<Self> {
        all.sort_by(|a, b| b.tokens.o200k_base.cmp(&a.tokens.o200k_base).then_with(|| a.name.cmp(&b.name)));
        all.truncate(MAX_REPORTED);
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
    // An explicit stack, because schemas of other servers may be nested too deeply for recursion.
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
    fn the_cost_of_a_tool_is_split_by_part() {
        let tool = json!({
            "name": "a", "description": "Some words about it.",
            "inputSchema": { "type": "object", "$defs": { "Unused": { "type": "string" } } },
            "icons": [{ "src": format!("data:image/png;base64,{}", "A".repeat(4000)) }],
        });
        let found = DefinitionCost::from_tool(&tool);
        assert_eq!(found.description, TokenCounts::count("Some words about it."));
        assert_eq!(found.schema, TokenCounts::count(r#"{"type":"object","$defs":{"Unused":{"type":"string"}}}"#));
        assert_eq!(found.unused_definitions, TokenCounts::count(r#"{"Unused":{"type":"string"}}"#));
        assert_eq!((found.non_text.icons, found.non_text.bytes), (1, 3000));
        assert!(found.tokens.o200k_base < 60, "icons are no text: {found:?}");
    }

    #[test]
    fn the_largest_definitions_come_first_and_their_number_is_limited() {
        let tools = (0..30).map(|n| {
            DefinitionCost::from_tool(&json!({ "name": format!("t{n:02}"), "description": "word ".repeat(n) }))
        });
        let largest = DefinitionCost::largest(tools.collect());
        assert_eq!(largest.len(), MAX_REPORTED);
        assert_eq!(largest.first().unwrap().name, "t29");
    }
}
