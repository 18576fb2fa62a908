//! Limits on the definitions of an upstream.
//!
//! Definitions are untrusted and held in memory several times: as text, as values, as operations. A server that lists
//! too many or too large tools must not affect other servers. The bytes are therefore measured before anything is
//! parsed. Tools that exceed a limit are left out, counted and reported; the others are served.

use std::fmt;

use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer as _, Serialize, de};
use serde_json::value::RawValue;

/// Maximum depth of a definition. The parser has a limit of 128.
const MAX_DEPTH: usize = 100;

/// Maximum length of a field name, because paths and type names are derived from field names.
const MAX_KEY_BYTES: usize = 1_024;

/// Maximum number of values in one definition, for each object or array that it may have. A list of a million
/// one-letter words has few arrays.
const VALUES_PER_NODE: usize = 20;

/// Maximum number of values in a list of tools. A value takes many times the memory of its text.
const MAX_LIST_VALUES: usize = 500_000;

/// The limits for the definitions of one upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DefinitionLimits {
    /// The maximum number of tools.
    pub max_tools: usize,
    /// The maximum bytes of one tool's definition.
    pub max_tool_bytes: usize,
    /// The maximum number of objects and arrays in one tool's definition. Every property is one.
    pub max_schema_nodes: usize,
}

impl DefinitionLimits {
    /// The allowed range of `max_tools`. The pins of more tools would not fit into one record of the state store.
    pub const TOOLS: std::ops::RangeInclusive<usize> = 1..=4_000;
    /// The allowed range of `max_tool_bytes`.
    pub const TOOL_BYTES: std::ops::RangeInclusive<usize> = 1_024..=4 * 1_024 * 1_024;
    /// The allowed range of `max_schema_nodes`.
    pub const SCHEMA_NODES: std::ops::RangeInclusive<usize> = 10..=50_000;
}

impl Default for DefinitionLimits {
    fn default() -> Self {
        Self { max_tools: 2_000, max_tool_bytes: 256 * 1_024, max_schema_nodes: 2_000 }
    }
}

/// The number of omitted tools by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct OmittedTools {
    /// Tools beyond the maximum number.
    pub too_many: usize,
    /// Tools with too large a definition.
    pub too_large: usize,
    /// Tools whose schema has too many nodes, is too deep, or has too long names.
    pub too_complex: usize,
    /// Whether the list itself was truncated, because it had too many pages or bytes.
    pub is_cut: bool,
}

impl OmittedTools {
    /// How many tools are known to be omitted.
    pub const fn count(&self) -> usize {
        self.too_many.saturating_add(self.too_large).saturating_add(self.too_complex)
    }

    /// The sum of both counts.
    #[must_use]
    pub const fn merge(self, other: Self) -> Self {
        Self {
            too_many: self.too_many.saturating_add(other.too_many),
            too_large: self.too_large.saturating_add(other.too_large),
            too_complex: self.too_complex.saturating_add(other.too_complex),
            is_cut: self.is_cut || other.is_cut,
        }
    }

    /// Whether no tool was omitted.
    pub const fn is_empty(&self) -> bool {
        self.count() == 0 && !self.is_cut
    }

    /// A message for the operator: what was left out, and which setting allows more.
    pub fn message(&self, limits: &DefinitionLimits) -> Option<String> {
        if self.is_empty() {
            return None;
        }
        let mut reasons = Vec::new();
        let mut add_reason = |count: usize, reason: String| {
            if count > 0 {
                reasons.push(format!("{count} {reason}"));
            }
        };
        add_reason(self.too_many, format!("beyond max_tools = {}", limits.max_tools));
        add_reason(self.too_large, format!("larger than max_tool_bytes = {}", limits.max_tool_bytes));
        add_reason(self.too_complex, format!("with a schema beyond max_schema_nodes = {}", limits.max_schema_nodes));
        if self.is_cut {
            reasons.push("the end of the list, which has too many pages or bytes".to_owned());
        }
        Some(format!("Some tools are not served: {}", reasons.join("; ")))
    }
}

/// The definitions of a list that are within the limits, as raw JSON, and the number of omitted ones. The list must be
/// a JSON array.
pub(crate) fn select<'a>(
    list: &'a str,
    limits: &DefinitionLimits,
) -> Result<(Vec<&'a RawValue>, OmittedTools), serde_json::Error> {
    struct ToolListVisitor<'l>(&'l DefinitionLimits);
    impl<'de> Visitor<'de> for ToolListVisitor<'_> {
        type Value = (Vec<&'de RawValue>, OmittedTools);

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of tools")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let (mut selected, mut left_out, mut values) = (Vec::new(), OmittedTools::default(), 0_usize);
            while selected.len() < self.0.max_tools {
                let Some(tool) = list.next_element::<&RawValue>()? else { return Ok((selected, left_out)) };
                match Extent::measure(tool.get(), self.0) {
                    Ok(extent) => {
                        values = values.saturating_add(extent.values);
                        if values > MAX_LIST_VALUES {
                            left_out.too_many += 1;
                            break;
                        }
                        selected.push(tool);
                    }
                    Err(Excess::Bytes) => left_out.too_large += 1,
                    Err(Excess::Parts) => left_out.too_complex += 1,
                }
            }
            // The remaining tools are only counted.
            while list.next_element::<IgnoredAny>()?.is_some() {
                left_out.too_many += 1;
            }
            Ok((selected, left_out))
        }

        fn visit_map<A: de::MapAccess<'de>>(self, _: A) -> Result<Self::Value, A::Error> {
            Err(de::Error::custom("not a list"))
        }
    }
    let mut reader = serde_json::Deserializer::from_str(list);
    reader.deserialize_any(ToolListVisitor(limits))
}

/// The exceeded limit of a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Excess {
    Bytes,
    Parts,
}

/// The size of a definition, measured on its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Extent {
    values: usize,
}

impl Extent {
    /// Measures valid JSON, and stops at the first exceeded limit.
    fn measure(json: &str, limits: &DefinitionLimits) -> Result<Self, Excess> {
        if json.len() > limits.max_tool_bytes {
            return Err(Excess::Bytes);
        }
        let max_values = limits.max_schema_nodes.saturating_mul(VALUES_PER_NODE);
        let (mut nodes, mut values, mut depth) = (0_usize, 1_usize, 0_usize);
        let (mut is_text, mut is_escaped, mut text_bytes) = (false, false, 0_usize);
        for byte in json.bytes() {
            if is_text {
                match byte {
                    _ if is_escaped => is_escaped = false,
                    b'\\' => is_escaped = true,
                    b'"' => is_text = false,
                    _ => {}
                }
                text_bytes += 1;
                continue;
            }
            match byte {
                b'"' => (is_text, text_bytes) = (true, 0),
                b'{' | b'[' => (nodes, values, depth) = (nodes + 1, values + 1, depth + 1),
                b'}' | b']' => depth = depth.saturating_sub(1),
                b',' => values += 1,
                b':' if text_bytes > MAX_KEY_BYTES => return Err(Excess::Parts),
                _ => {}
            }
            if nodes > limits.max_schema_nodes || values > max_values || depth > MAX_DEPTH {
                return Err(Excess::Parts);
            }
        }
        Ok(Self { values })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const SMALL: DefinitionLimits = DefinitionLimits { max_tools: 3, max_tool_bytes: 2_000, max_schema_nodes: 10 };

    #[test]
    fn tools_that_exceed_a_limit_are_omitted_and_counted() {
        let tool = |more: Value| json!({ "name": "a", "inputSchema": more });
        let deep = (0..120).fold(json!(1), |inner, _| json!({ "a": inner }));
        let cases = [
            (json!([tool(json!({}))]), 1, (0, 0, 0)),
            (json!([1, null, tool(json!({})), tool(json!({})), 5]), 3, (2, 0, 0)),
            (json!([tool(json!({ "x": "y".repeat(3_000) })), 1]), 1, (0, 1, 0)),
            (json!([tool(json!([[], [], [], [], [], [], [], [], [], []])), 1]), 1, (0, 0, 1)),
            (json!([tool(json!(vec![1; 250])), 1]), 1, (0, 0, 1)),
            (json!([tool(deep)]), 0, (0, 0, 1)),
            (json!([tool(json!({ "k".repeat(1_100): 1 }))]), 0, (0, 0, 1)),
            // Brackets, commas and colons inside strings do not count.
            (json!([tool(json!({ "x": "[{,:\\\"[{,:".repeat(40) }))]), 1, (0, 0, 0)),
        ];
        for (list, selected, (too_many, too_large, too_complex)) in cases {
            let text = list.to_string();
            let (tools, left_out) = select(&text, &SMALL).unwrap();
            let expected = OmittedTools { too_many, too_large, too_complex, is_cut: false };
            assert_eq!((tools.len(), left_out), (selected, expected), "{}", text.get(..80).unwrap_or(&text));
            assert_eq!(left_out.message(&SMALL).is_some(), left_out.count() > 0);
        }
        assert!(select("{}", &SMALL).is_err() && select("[", &SMALL).is_err());
    }
}
