//! How much work it is to hold a value against a JSON Schema, found out without doing that work.
//!
//! The validator has no budget, and shared references multiply: sixty definitions that each name the next one twice are a
//! few kilobytes and 2^60 steps. So the steps are counted beforehand, each pair of subschema and value once, which is
//! cheap where validating is not. What would take too long is not checked by us; the server checks its own schema anyway.
//!
//! Counted is what the validator does at most, also for collecting what is wrong. What cannot be counted for sure
//! (references that depend on `$id` or on the path of evaluation) counts as too much.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// Steps that one validation may take. A step is one subschema held against one value.
const MAX_STEPS: u64 = 300_000;

/// Subschemas inside subschemas, references followed. The validator recurses as deep, on the stack of a worker thread.
const MAX_DEPTH: usize = 160;

/// Subschemas inside subschemas times values inside values.
const MAX_EVALUATION_DEPTH: usize = 400;

/// Keywords whose subschemas apply to the same value.
const SAME_VALUE_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const SAME_VALUE: [&str; 4] = ["not", "if", "then", "else"];
const SAME_VALUE_MAPS: [&str; 2] = ["dependentSchemas", "dependencies"];

/// Keywords whose subschemas apply to any of the values inside.
const INSIDE: [&str; 8] = [
    "items",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "contentSchema",
];

/// A subschema: which others it applies to what.
#[derive(Default)]
struct Node {
    same_value: Vec<usize>,
    inside: Vec<usize>,
    fields: HashMap<String, usize>,
}

/// Steps for telling whether a value is valid, and for collecting what is wrong with it. The latter asks first which
/// alternatives fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Steps {
    validating: u64,
    collecting: u64,
}

impl Steps {
    const ONE: Self = Self { validating: 1, collecting: 1 };

    /// With a subschema for the same value.
    fn and_same_value(self, part: Self, factor: u64) -> Self {
        let both = part.collecting.saturating_add(part.validating);
        Self {
            validating: self.validating.saturating_add(part.validating.saturating_mul(factor)),
            collecting: self.collecting.saturating_add(both.saturating_mul(factor)),
        }
    }

    /// With a subschema for a value inside.
    fn and_inside(self, part: Self) -> Self {
        Self {
            validating: self.validating.saturating_add(part.validating),
            collecting: self.collecting.saturating_add(part.collecting),
        }
    }
}

/// What the subschemas of one schema lead to.
pub(crate) struct SchemaCost {
    nodes: Vec<Node>,
    /// How often a subschema for the same value is evaluated: `unevaluatedProperties` and its like ask again what fits.
    factor: u64,
    /// Steps where every part is visited once. None if parts contain themselves.
    unfolded: Option<u64>,
}

impl SchemaCost {
    /// None if the schema is too deep, or cannot be counted.
    pub(crate) fn of(schema: &Value) -> Option<Self> {
        let mut traits = Traits::default();
        traits.read(schema, true);
        if traits.has_inner_base || traits.has_dynamic_reference || (traits.is_draft_4 && traits.has_draft_4_id) {
            return None;
        }
        let mut graph = Graph { root: schema, nodes: Vec::new(), known: HashMap::new() };
        graph.node(schema, 0)?;
        let (nodes, factor) = (graph.nodes, if traits.has_unevaluated { 3 } else { 1 });
        let counted = vec![Count::Open; nodes.len()];
        let mut unfolding = Unfolding { nodes: &nodes, factor, counted, is_cyclic: false };
        let steps = unfolding.count(0, 0)?;
        let unfolded = (!unfolding.is_cyclic).then_some(steps.collecting);
        Some(Self { nodes, factor, unfolded })
    }

    /// Whether validating this value stays within the limit.
    pub(crate) fn admits(&self, value: &Value) -> bool {
        // Without cycles no part meets a value twice, so most calls need no counting.
        let upper_bound = self.unfolded.map(|steps| steps.saturating_mul(weight(value)));
        upper_bound.is_some_and(|steps| steps <= MAX_STEPS) || self.count(value).0.is_some()
    }

    /// The steps it takes at most, None if that is too many, and how many pairs had to be looked at to know.
    fn count(&self, value: &Value) -> (Option<Steps>, usize) {
        let mut evaluation = Evaluation { nodes: &self.nodes, factor: self.factor, counted: HashMap::new() };
        (evaluation.count(0, value, 0), evaluation.counted.len())
    }
}

/// What decides how a schema can be counted, found anywhere in it. A string under one of these names in an example is
/// taken for the keyword, which costs nothing but a check.
#[derive(Default)]
struct Traits {
    /// A part says where its references start from.
    has_inner_base: bool,
    has_dynamic_reference: bool,
    has_unevaluated: bool,
    is_draft_4: bool,
    has_draft_4_id: bool,
}

impl Traits {
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

/// Builds the nodes. A subschema is known by its place in memory, so that references share it.
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
        let mut node = Node::default();
        if let Some(Value::String(reference)) = keywords.get("$ref") {
            let target = self.target(reference)?;
            node.same_value.push(self.node(target, depth + 1)?);
        }
        let list = |name: &str| keywords.get(name).and_then(Value::as_array).into_iter().flatten();
        let map = |name: &str| keywords.get(name).and_then(Value::as_object).into_iter().flatten();
        for part in SAME_VALUE_LISTS.iter().flat_map(|name| list(name)) {
            node.same_value.push(self.node(part, depth + 1)?);
        }
        for part in SAME_VALUE.iter().filter_map(|name| keywords.get(*name)) {
            node.same_value.push(self.node(part, depth + 1)?);
        }
        for (_, part) in SAME_VALUE_MAPS.iter().flat_map(|name| map(name)) {
            node.same_value.push(self.node(part, depth + 1)?);
        }
        for (name, part) in map("properties") {
            let part = self.node(part, depth + 1)?;
            node.fields.insert(name.clone(), part);
        }
        for part in INSIDE.iter().filter_map(|name| keywords.get(*name)).filter(|part| !part.is_array()) {
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

    /// What a reference names, inside of this document.
    fn target(&self, reference: &str) -> Option<&'a Value> {
        let own = self.root.get("$id").and_then(Value::as_str).map(|id| id.trim_end_matches('#'));
        let pointer = match reference.strip_prefix('#') {
            Some(pointer) => pointer,
            None => reference.strip_prefix(own?)?.strip_prefix('#').unwrap_or_default(),
        };
        match self.root.pointer(pointer) {
            // Two readings of one reference: which one the validator takes is not for us to guess.
            Some(_) if pointer.contains('%') => None,
            Some(target) => Some(target),
            None => self.root.pointer(&percent_decoded(pointer)?),
        }
    }
}

/// `%` and two digits in a reference stand for a byte.
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
enum Count {
    Open,
    Running,
    Done(Steps),
}

/// Counts the steps where every part is visited once, each subschema counted once.
struct Unfolding<'a> {
    nodes: &'a [Node],
    factor: u64,
    counted: Vec<Count>,
    is_cyclic: bool,
}

impl Unfolding<'_> {
    /// None if it is too deep.
    fn count(&mut self, index: usize, depth: usize) -> Option<Steps> {
        match self.counted.get(index)? {
            Count::Done(steps) => return Some(*steps),
            Count::Running => {
                self.is_cyclic = true;
                return Some(Steps::ONE);
            }
            Count::Open if depth > MAX_DEPTH => return None,
            Count::Open => *self.counted.get_mut(index)? = Count::Running,
        }
        let nodes = self.nodes;
        let node = nodes.get(index)?;
        let mut steps = Steps::ONE;
        for part in &node.same_value {
            steps = steps.and_same_value(self.count(*part, depth + 1)?, self.factor);
        }
        for part in node.inside.iter().chain(node.fields.values()) {
            steps = steps.and_inside(self.count(*part, depth + 1)?);
        }
        *self.counted.get_mut(index)? = Count::Done(steps);
        Some(steps)
    }
}

/// Counts the steps for one value.
struct Evaluation<'a> {
    nodes: &'a [Node],
    factor: u64,
    /// Steps by subschema and value. None while they are being counted: a subschema that leads back to itself without
    /// going deeper into the value has no end.
    counted: HashMap<(usize, *const Value), Option<Steps>>,
}

impl Evaluation<'_> {
    /// None if it takes too many steps, or goes too deep.
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
        let within = |steps: Steps| (steps.collecting <= MAX_STEPS).then_some(steps);
        let mut steps = Steps::ONE;
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

/// How many values there are in a value.
fn weight(value: &Value) -> u64 {
    match value {
        Value::Array(items) => items.iter().map(weight).fold(1, u64::saturating_add),
        Value::Object(fields) => fields.values().map(weight).fold(1, u64::saturating_add),
        _ => 1,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::arguments::ArgumentCheck;

    /// Definitions that each lead to the next one, made of its reference.
    fn chain(levels: usize, link: impl Fn(Value) -> Value, last: Value) -> Value {
        let reference = |level: usize| json!({ "$ref": format!("#/$defs/d{level}") });
        let mut definitions: Map<String, Value> =
            (0..levels).map(|level| (format!("d{level}"), link(reference(level + 1)))).collect();
        definitions.insert(format!("d{levels}"), last);
        json!({ "type": "object", "properties": { "q": reference(0) }, "$defs": definitions })
    }

    fn twice(keyword: &'static str) -> impl Fn(Value) -> Value {
        move |next| json!({ keyword: [next, next] })
    }

    fn nested(levels: usize) -> Value {
        (0..levels).fold(json!("a"), |inner, _| json!({ "a": inner }))
    }

    /// Whether it is within the limit, and whether knowing that was cheap.
    fn judged(schema: &Value, value: &Value) -> Option<bool> {
        let cost = SchemaCost::of(schema)?;
        let (steps, pairs) = cost.count(value);
        assert!(pairs as u64 <= MAX_STEPS + 1, "{pairs}");
        assert_eq!(steps.is_some(), cost.admits(value));
        Some(steps.is_some())
    }

    #[test]
    fn schemas_that_multiply_are_left_to_the_server() {
        let text = json!({ "q": "a" });
        let both = |next: Value| json!({ "properties": { "a": next }, "additionalProperties": next, "not": next });
        let again = |next: Value| json!({ "if": next, "then": next, "else": { "dependentSchemas": { "a": next } } });
        let unevaluated = |next: Value| json!({ "anyOf": [next], "unevaluatedProperties": false });
        let recursive = json!({
            "$defs": { "d": { "allOf": [
                { "properties": { "a": { "$ref": "#/$defs/d" } } },
                { "properties": { "a": { "$ref": "#/$defs/d" } } },
            ] } },
            "properties": { "q": { "$ref": "#/$defs/d" } },
        });
        let endless = json!({ "properties": { "q": { "$ref": "#/$defs/a" } }, "$defs": {
            "a": { "anyOf": [{ "$ref": "#/$defs/b" }, { "type": "integer" }] }, "b": { "not": { "$ref": "#/$defs/a" } },
        } });
        let decoy = json!({ "properties": { "q": { "$ref": "#/$defs/%61" } }, "$defs": { "%61": true, "a": false } });
        let own_base = json!({ "$defs": { "a": { "$id": "http://x/", "$ref": "#/$defs/a" } }, "$ref": "#/$defs/a" });
        for (case, schema, value, expected) in [
            ("anyOf", chain(60, twice("anyOf"), json!({ "type": "integer" })), &text, Some(false)),
            ("allOf", chain(60, twice("allOf"), json!({ "type": "string" })), &text, Some(false)),
            ("oneOf", chain(60, twice("oneOf"), json!({ "type": "string" })), &text, Some(false)),
            ("20 levels", chain(20, twice("anyOf"), json!({ "type": "integer" })), &text, Some(false)),
            ("conditions", chain(40, again, json!(true)), &text, Some(false)),
            ("unevaluated", chain(40, unevaluated, json!(true)), &json!({ "q": {} }), Some(false)),
            ("same field twice", chain(60, both, json!(true)), &json!({ "q": nested(50) }), Some(false)),
            ("recursion that doubles", recursive.clone(), &json!({ "q": nested(40) }), Some(false)),
            ("the same, shallow", recursive, &json!({ "q": nested(4) }), Some(true)),
            ("no end", endless.clone(), &text, Some(false)),
            ("no end, not met", endless, &json!({ "other": 1 }), Some(true)),
            ("the bomb is not met", chain(60, twice("anyOf"), json!(true)), &json!({ "r": "a" }), Some(true)),
            ("few levels", chain(8, twice("anyOf"), json!({ "type": "integer" })), &text, Some(true)),
            ("too deep", chain(5_000, |next| json!({ "allOf": [next] }), json!(true)), &text, None),
            ("two readings", decoy, &text, None),
            ("own base", own_base, &text, None),
            ("nowhere", json!({ "$ref": "#/$defs/none" }), &text, None),
            ("elsewhere", json!({ "$ref": "http://x/y#/z" }), &text, None),
        ] {
            assert_eq!(judged(&schema, value), expected, "{case}");
        }
    }

    #[test]
    fn honest_schemas_are_checked() {
        let tree = json!({ "$ref": "#/$defs/node", "$defs": { "node": { "type": "object", "properties": {
            "name": { "type": "string" }, "children": { "type": "array", "items": { "$ref": "#/$defs/node" } },
        } } } });
        let leaf = json!({ "name": "x", "children": [] });
        let wide = json!({ "name": "x", "children": vec![leaf; 2_000] });
        let rows = json!({ "properties": { "rows": { "items": { "anyOf": [{ "type": "integer" }, { "type": "string" }] } } } });
        let escaped = json!({ "$ref": "#/$defs/A%3Cb~1c%3E", "$defs": { "A<b/c>": { "required": ["a"] } } });
        for (schema, value) in [
            (json!(true), json!({})),
            (tree, wide),
            (rows, json!({ "rows": vec![1; 20_000] })),
            (escaped, json!({})),
            (json!({ "$id": "http://x/y", "$ref": "http://x/y#/$defs/a", "$defs": { "a": {} } }), json!({})),
        ] {
            assert_eq!(judged(&schema, &value), Some(true), "{schema}");
            assert!(ArgumentCheck::compile(&schema).is_some(), "{schema}");
        }
    }

    /// On a stack as worker threads have it. A validator without a budget would not come back within this year.
    #[test]
    fn checking_ends_whatever_the_schema() {
        let deepest = MAX_DEPTH - 2;
        let cases = [
            chain(60, twice("anyOf"), json!({ "type": "integer" })),
            chain(60, twice("allOf"), json!({ "type": "string" })),
            chain(60, twice("oneOf"), json!({ "$ref": "#" })),
            chain(deepest / 2, |next| json!({ "allOf": [next] }), json!({ "type": "integer" })),
            chain(deepest / 2, |next| json!({ "properties": { "a": next } }), json!({ "type": "integer" })),
            chain(deepest / 2, |next| json!({ "not": next }), json!({ "$ref": "#/$defs/d0" })),
            chain(deepest, |next| next, json!({ "type": "integer" })),
            chain(40, |next| json!({ "anyOf": [next], "unevaluatedProperties": false }), json!(true)),
        ];
        let (done, finished) = std::sync::mpsc::channel();
        let work = move || {
            for schema in &cases {
                if let Some(check) = ArgumentCheck::compile(schema) {
                    for value in [json!({ "q": "a" }), json!({ "q": {} }), json!({ "q": nested(60) })] {
                        assert!(check.errors(&value).len() < 100);
                    }
                }
            }
            done.send(()).unwrap();
        };
        std::thread::Builder::new().stack_size(2 * 1024 * 1024).spawn(work).unwrap();
        finished.recv_timeout(std::time::Duration::from_secs(120)).unwrap();
    }
}
