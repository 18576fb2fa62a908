//! Estimates the cost of validating a value against a JSON Schema, without validating it.
//!
//! The validator has no budget, and shared references multiply: sixty definitions that each name the next one twice
//! take a few kilobytes and 2^60 steps. The steps are therefore counted first, once for each pair of subschema and
//! value, which is cheap even where validating is not. Schemas that would take too long are not checked here; the
//! server checks its own schema anyway.
//!
//! The count is an upper bound. A subschema costs as much as its keywords make the validator do: a thousand required
//! names are a thousand steps. Collecting errors is counted separately and limited far more, because every name,
//! alternative and value in an error takes memory. Whatever cannot be counted reliably (references that depend on `$id`
//! or on the path of evaluation) counts as too expensive.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// Maximum number of steps for one validation. A step evaluates one subschema for one value, or one name or value that
/// a subschema lists.
const MAX_STEPS: u64 = 300_000;

/// Maximum number of steps for collecting errors. Each step may produce an error with copies of values.
const MAX_COLLECTING_STEPS: u64 = 20_000;

/// Cost of matching a name or a short text against a pattern, in steps.
const PATTERN_STEPS: u64 = 10;

/// Bytes of text that are compared, counted or matched in one step.
const BYTES_PER_STEP: usize = 64;

/// Maximum nesting depth of subschemas, following references. The validator recurses equally deep on a worker thread's
/// stack.
const MAX_DEPTH: usize = 160;

/// Maximum nesting depth of subschemas and values together.
const MAX_EVALUATION_DEPTH: usize = 400;

/// Keywords whose subschemas apply to the same value.
const SAME_VALUE_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const SAME_VALUE_KEYWORDS: [&str; 4] = ["not", "if", "then", "else"];
const SAME_VALUE_MAPS: [&str; 2] = ["dependentSchemas", "dependencies"];

/// Keywords whose subschemas apply to nested values.
const NESTED_VALUE_KEYWORDS: [&str; 8] = [
    "items",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "contentSchema",
];

/// A subschema and the subschemas it applies.
#[derive(Default)]
struct Node {
    same_value: Vec<usize>,
    inside: Vec<usize>,
    fields: HashMap<String, usize>,
    cost: KeywordCost,
}

/// The cost of a subschema's own keywords, without nested subschemas.
#[derive(Default)]
struct KeywordCost {
    /// Values that are compared, regardless of the checked value.
    compared: u64,
    /// Names that are looked up in an object.
    names: u64,
    /// Steps for each field of an object.
    per_field: u64,
    /// Steps for each piece of a text.
    per_text: u64,
    /// Whether the elements of a list are compared with each other.
    is_unique: bool,
}

impl KeywordCost {
    fn read(keywords: &Map<String, Value>) -> Self {
        let length = |name: &str| match keywords.get(name) {
            Some(Value::Array(items)) => items.len() as u64,
            Some(Value::Object(fields)) => fields.len() as u64,
            _ => 0,
        };
        let names_of = |name: &str| {
            let lists = keywords.get(name).and_then(Value::as_object).into_iter().flatten();
            lists.map(|(_, list)| list.as_array().map_or(1, |names| names.len() as u64 + 1)).sum::<u64>()
        };
        let has = |name: &str| u64::from(keywords.contains_key(name));
        let text = ["minLength", "maxLength", "format", "contentEncoding", "contentMediaType"];
        Self {
            compared: ["enum", "const"].iter().filter_map(|name| keywords.get(*name)).map(weight).sum(),
            names: length("required")
                + length("properties")
                + ["dependentRequired", "dependentSchemas", "dependencies"]
                    .iter()
                    .map(|name| names_of(name))
                    .sum::<u64>(),
            per_field: length("patternProperties").saturating_mul(PATTERN_STEPS),
            per_text: text.iter().map(|name| has(name)).sum::<u64>() + has("pattern") * PATTERN_STEPS,
            is_unique: keywords.get("uniqueItems") == Some(&Value::Bool(true)),
        }
    }

    /// Steps for deciding whether this value is valid.
    fn steps(&self, value: &Value) -> u64 {
        let own = match value {
            Value::Object(fields) => self.names.saturating_add(self.per_field.saturating_mul(fields.len() as u64)),
            Value::String(_) => self.per_text.saturating_mul(weight(value)),
            Value::Array(_) if self.is_unique => weight(value),
            _ => 0,
        };
        own.saturating_add(self.compared / COMPARISONS_PER_STEP).saturating_add(1)
    }

    /// Steps for any value, to be multiplied by the weight of all values.
    fn max_steps(&self) -> u64 {
        let own = self.names.saturating_add(self.per_field).saturating_add(self.per_text);
        own.saturating_add(self.compared / COMPARISONS_PER_STEP).saturating_add(1)
    }
}

/// Comparisons counted as one step. Most end at the first byte.
const COMPARISONS_PER_STEP: u64 = 8;

/// Steps for deciding whether a value is valid and for collecting its errors. Collecting first determines which
/// alternatives match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Steps {
    validating: u64,
    collecting: u64,
}

impl Steps {
    /// Adds a subschema for the same value.
    fn and_same_value(self, part: Self, factor: u64) -> Self {
        let both = part.collecting.saturating_add(part.validating);
        Self {
            validating: self.validating.saturating_add(part.validating.saturating_mul(factor)),
            collecting: self.collecting.saturating_add(both.saturating_mul(factor)),
        }
    }

    /// Adds a subschema for a nested value.
    fn and_inside(self, part: Self) -> Self {
        Self {
            validating: self.validating.saturating_add(part.validating),
            collecting: self.collecting.saturating_add(part.collecting),
        }
    }
}

/// The cost model of one schema.
pub(crate) struct SchemaCost {
    nodes: Vec<Node>,
    /// How often a subschema for the same value is evaluated. `unevaluatedProperties` and similar keywords evaluate it
    /// again.
    factor: u64,
    /// Steps for validating if every subschema is visited once. `None` if subschemas are recursive.
    unfolded: Option<u64>,
    has_unique: bool,
}

impl SchemaCost {
    /// Returns `None` if the schema is too deep or cannot be counted.
    pub(crate) fn analyze(schema: &Value) -> Option<Self> {
        let mut traits = SchemaTraits::default();
        traits.read(schema, true);
        if traits.has_inner_base || traits.has_dynamic_reference || (traits.is_draft_4 && traits.has_draft_4_id) {
            return None;
        }
        let mut graph = Graph { root: schema, nodes: Vec::new(), known: HashMap::new() };
        graph.node(schema, 0)?;
        let (nodes, factor) = (graph.nodes, if traits.has_unevaluated { 3 } else { 1 });
        let counted = vec![CountState::Pending; nodes.len()];
        let mut unfolded_count = UnfoldedCount { nodes: &nodes, factor, counted, is_cyclic: false };
        let steps = unfolded_count.count(0, 0)?;
        let unfolded = (!unfolded_count.is_cyclic).then_some(steps);
        let has_unique = nodes.iter().any(|node| node.cost.is_unique);
        Some(Self { nodes, factor, unfolded, has_unique })
    }

    /// Whether deciding if this value is valid stays within the limit.
    pub(crate) fn admits(&self, value: &Value) -> bool {
        // Without recursion no subschema meets a value twice, so most calls need no counting. Nested lists are compared
        // once for each level.
        let weight = weight(value);
        let times = if self.has_unique { weight.saturating_mul(weight) } else { weight };
        let upper_bound = self.unfolded.map(|steps| steps.saturating_mul(times));
        upper_bound.is_some_and(|steps| steps <= MAX_STEPS) || self.count(value, Purpose::Validating).0.is_some()
    }

    /// Whether collecting all errors of this value stays within the limit.
    pub(crate) fn admits_collecting(&self, value: &Value) -> bool {
        self.count(value, Purpose::Collecting).0.is_some()
    }

    /// The maximum number of steps (`None` if too many) and the number of pairs that were counted.
    fn count(&self, value: &Value, purpose: Purpose) -> (Option<Steps>, usize) {
        let mut value_count = ValueCount { nodes: &self.nodes, factor: self.factor, purpose, counted: HashMap::new() };
        (value_count.count(0, value, 0), value_count.counted.len())
    }
}

/// Properties of a schema that determine whether its cost can be estimated. A string in an example that equals one of
/// these names is mistaken for the keyword; at worst the check is skipped.
#[derive(Default)]
struct SchemaTraits {
    /// A subschema changes the base of its references.
    has_inner_base: bool,
    has_dynamic_reference: bool,
    has_unevaluated: bool,
    is_draft_4: bool,
    has_draft_4_id: bool,
}

impl SchemaTraits {
    fn read(&mut self, value: &Value, is_root: bool) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    match (name.as_str(), value) {
                        ("$id", Value::String(_)) => self.has_inner_base |= !is_root,
                        ("id", Value::String(_)) => self.has_draft_4_id |= !is_root,
                        ("$dynamicRef" | "$recursiveRef", Value::String(_)) => self.has_dynamic_reference = true,
                        ("$schema", Value::String(draft)) => self.is_draft_4 |= draft.contains("draft-04"),
                        ("unevaluatedProperties" | "unevaluatedItems", _) => self.has_unevaluated = true,
                        _ => {}
                    }
                    self.read(value, false);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.read(item, false)),
            _ => {}
        }
    }
}

/// Builds the nodes. A subschema is identified by its address, so that references share it.
struct Graph<'a> {
    root: &'a Value,
    nodes: Vec<Node>,
    known: HashMap<*const Value, usize>,
}

impl<'a> Graph<'a> {
    fn node(&mut self, schema: &'a Value, depth: usize) -> Option<usize> {
        if let Some(index) = self.known.get(&std::ptr::from_ref(schema)) {
            return Some(*index);
        }
        if depth > MAX_DEPTH {
            return None;
        }
        let index = self.nodes.len();
        self.nodes.push(Node::default());
        self.known.insert(schema, index);
        let Some(keywords) = schema.as_object() else { return Some(index) };
        let node = self.read(keywords, depth)?;
        *self.nodes.get_mut(index)? = node;
        Some(index)
    }

    fn read(&mut self, keywords: &'a Map<String, Value>, depth: usize) -> Option<Node> {
        let mut node = Node { cost: KeywordCost::read(keywords), ..Node::default() };
        if let Some(Value::String(reference)) = keywords.get("$ref") {
            let target = self.target(reference)?;
            node.same_value.push(self.node(target, depth + 1)?);
        }
        let list = |name: &str| keywords.get(name).and_then(Value::as_array).into_iter().flatten();
        let map = |name: &str| keywords.get(name).and_then(Value::as_object).into_iter().flatten();
        for part in SAME_VALUE_LISTS.iter().flat_map(|name| list(name)) {
            node.same_value.push(self.node(part, depth + 1)?);
        }
        for part in SAME_VALUE_KEYWORDS.iter().filter_map(|name| keywords.get(*name)) {
            node.same_value.push(self.node(part, depth + 1)?);
        }
        for (_, part) in SAME_VALUE_MAPS.iter().flat_map(|name| map(name)) {
            node.same_value.push(self.node(part, depth + 1)?);
        }
        for (name, part) in map("properties") {
            let part = self.node(part, depth + 1)?;
            node.fields.insert(name.clone(), part);
        }
        for part in NESTED_VALUE_KEYWORDS.iter().filter_map(|name| keywords.get(*name)).filter(|part| !part.is_array())
        {
            node.inside.push(self.node(part, depth + 1)?);
        }
        for part in ["prefixItems", "items"].iter().flat_map(|name| list(name)) {
            node.inside.push(self.node(part, depth + 1)?);
        }
        for (_, part) in map("patternProperties") {
            node.inside.push(self.node(part, depth + 1)?);
        }
        Some(node)
    }

    /// The target of a reference inside this document.
    fn target(&self, reference: &str) -> Option<&'a Value> {
        let own = self.root.get("$id").and_then(Value::as_str).map(|id| id.trim_end_matches('#'));
        let pointer = match reference.strip_prefix('#') {
            Some(pointer) => pointer,
            None => reference.strip_prefix(own?)?.strip_prefix('#').unwrap_or_default(),
        };
        match self.root.pointer(pointer) {
            // The reference is ambiguous, and it is unknown how the validator interprets it.
            Some(_) if pointer.contains('%') => None,
            Some(target) => Some(target),
            None => self.root.pointer(&percent_decoded(pointer)?),
        }
    }
}

/// Decodes `%` and two hexadecimal digits in a reference.
fn percent_decoded(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let (byte, next) = match (first, after) {
            (b'%', [high, low, after @ ..]) => {
                let digits = [*high, *low];
                (u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?, after)
            }
            _ => (*first, after),
        };
        bytes.push(byte);
        rest = next;
    }
    String::from_utf8(bytes).ok()
}

#[derive(Clone, Copy)]
enum CountState {
    Pending,
    Running,
    Done(u64),
}

/// Counts the steps if every subschema is visited once.
struct UnfoldedCount<'a> {
    nodes: &'a [Node],
    factor: u64,
    counted: Vec<CountState>,
    is_cyclic: bool,
}

impl UnfoldedCount<'_> {
    /// Returns `None` if it is too deep.
    fn count(&mut self, index: usize, depth: usize) -> Option<u64> {
        match self.counted.get(index)? {
            CountState::Done(steps) => return Some(*steps),
            CountState::Running => {
                self.is_cyclic = true;
                return Some(1);
            }
            CountState::Pending if depth > MAX_DEPTH => return None,
            CountState::Pending => *self.counted.get_mut(index)? = CountState::Running,
        }
        let nodes = self.nodes;
        let node = nodes.get(index)?;
        let mut steps = node.cost.max_steps();
        for part in &node.same_value {
            steps = steps.saturating_add(self.count(*part, depth + 1)?.saturating_mul(self.factor));
        }
        for part in node.inside.iter().chain(node.fields.values()) {
            steps = steps.saturating_add(self.count(*part, depth + 1)?);
        }
        *self.counted.get_mut(index)? = CountState::Done(steps);
        Some(steps)
    }
}

/// What is estimated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Validating,
    Collecting,
}

/// Counts the steps for one value.
struct ValueCount<'a> {
    nodes: &'a [Node],
    factor: u64,
    purpose: Purpose,
    /// Steps by subschema and value. `None` while they are being counted: a subschema that leads back to itself for the
    /// same value never ends.
    counted: HashMap<(usize, *const Value), Option<Steps>>,
}

impl ValueCount<'_> {
    /// Returns `None` if it takes too many steps or nests too deep.
    fn count(&mut self, index: usize, value: &Value, depth: usize) -> Option<Steps> {
        let key = (index, std::ptr::from_ref(value));
        if let Some(steps) = self.counted.get(&key) {
            return *steps;
        }
        if depth > MAX_EVALUATION_DEPTH || self.counted.len() as u64 > MAX_STEPS {
            return None;
        }
        self.counted.insert(key, None);
        let nodes = self.nodes;
        let node = nodes.get(index)?;
        let purpose = self.purpose;
        let within = |steps: Steps| {
            let is_within = match purpose {
                Purpose::Validating => steps.validating <= MAX_STEPS,
                Purpose::Collecting => steps.collecting <= MAX_COLLECTING_STEPS,
            };
            is_within.then_some(steps)
        };
        let validating = node.cost.steps(value);
        let mut steps = within(Steps {
            validating,
            // An error may copy the value and the values it was compared with.
            collecting: match purpose {
                Purpose::Validating => validating,
                Purpose::Collecting => validating.saturating_add(node.cost.compared).saturating_add(weight(value)),
            },
        })?;
        for part in &node.same_value {
            steps = within(steps.and_same_value(self.count(*part, value, depth + 1)?, self.factor))?;
        }
        match value {
            Value::Array(items) => {
                for (part, item) in node.inside.iter().flat_map(|part| items.iter().map(move |item| (part, item))) {
                    steps = within(steps.and_inside(self.count(*part, item, depth + 1)?))?;
                }
            }
            Value::Object(fields) => {
                for (name, field) in fields {
                    for part in node.inside.iter().chain(node.fields.get(name)) {
                        steps = within(steps.and_inside(self.count(*part, field, depth + 1)?))?;
                    }
                }
            }
            _ => {}
        }
        self.counted.insert(key, Some(steps));
        Some(steps)
    }
}

/// The number of values inside a value. Long texts count once for each piece.
fn weight(value: &Value) -> u64 {
    match value {
        Value::String(text) => 1 + (text.len() / BYTES_PER_STEP) as u64,
        Value::Array(items) => items.iter().map(weight).fold(1, u64::saturating_add),
        Value::Object(fields) => fields.values().map(weight).fold(1, u64::saturating_add),
        _ => 1,
    }
}

#[cfg(test)]
mod tests;
