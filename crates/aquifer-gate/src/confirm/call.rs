//! The full call as shown to the person who decides about it: every parameter at every depth, nothing truncated.
//!
//! Secrets are replaced, and their locations are recorded separately, so that a value that merely looks like a replaced
//! secret is still shown as text. Values that equal their default are shown and marked. Members are in the order in which
//! a person should see them.

use std::collections::HashSet;

use aquifer_protocol::hex::hex;
use aquifer_protocol::schema::{Kind, Parameter, Schema, Types};
use aquifer_protocol::validate::Checked;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::order::order_members;
use crate::redact::redact_for_approver;

/// Maximum size of a call that can wait for approval: twice the default limit of a request.
pub const MAX_CALL_BYTES: usize = 2 * 1024 * 1024;

/// Maximum size of a call that a person can edit: its caller has to be told the whole call.
pub const MAX_EDITED_BYTES: usize = 32 * 1024;

/// Maximum number of nested references to named types and unions that are followed.
const MAX_REFERENCES: usize = 8;

/// The complete parameters of a call, with secrets replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FullCall {
    /// Every parameter that is sent.
    pub params: Map<String, Value>,
    /// Locations of values that equal their default, as JSON pointers into `params`.
    pub defaults: Vec<String>,
    /// Locations of replaced secrets, as JSON pointers into `params`.
    pub hidden: Vec<String>,
}

impl FullCall {
    /// Creates the full call for a request. `None` if it cannot be shown completely.
    pub(crate) fn new(request: &Checked) -> Option<Self> {
        let (operation, sent) = (request.operation(), request.params());
        let Value::Object(params) = redact_for_approver(operation, Some(request.types()), sent, usize::MAX) else {
            return None;
        };
        let mut comparison = Comparison {
            types: request.types(),
            path: Vec::new(),
            defaults: Vec::new(),
            hidden: Vec::new(),
            pointer_bytes: 0,
        };
        let is_complete = comparison.is_complete_object(sent, &params, &[&operation.parameters])
            && comparison.pointer_bytes <= MAX_CALL_BYTES;
        let Comparison { defaults, hidden, .. } = comparison;
        if !is_complete {
            return None;
        }
        let is_default = {
            let defaults: HashSet<&String> = defaults.iter().collect();
            let pointer = |name: &str| {
                let mut pointer = String::new();
                push_step(&mut pointer, name);
                pointer
            };
            params.keys().filter(|name| defaults.contains(&pointer(name))).cloned().collect::<HashSet<String>>()
        };
        let params = order_members(params, &|name| is_default.contains(name));
        Some(Self { params, defaults, hidden })
    }

    /// Whether a person can edit it: it is shown in full, and small enough to be sent to its caller.
    pub(super) fn can_be_edited(&self) -> bool {
        self.hidden.is_empty() && self.to_bytes().len() <= MAX_EDITED_BYTES
    }

    /// Combines several calls into one, each under its name.
    pub(super) fn combine(calls: Vec<(String, &FullCall)>) -> Self {
        let mut all = Self { params: Map::new(), defaults: Vec::new(), hidden: Vec::new() };
        for (name, call) in calls {
            let mut prefix = String::new();
            push_step(&mut prefix, &name);
            let inside =
                |places: &[String]| -> Vec<String> { places.iter().map(|place| format!("{prefix}{place}")).collect() };
            all.defaults.extend(inside(&call.defaults));
            all.hidden.extend(inside(&call.hidden));
            all.params.insert(name, Value::Object(call.params.clone()));
        }
        all
    }

    /// The call as stored.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        // Text, numbers and names are always valid JSON.
        serde_json::to_vec(self).unwrap_or_default()
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }
}

/// The digest of a stored call.
pub(super) fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// One step of a path into a value.
#[derive(Clone, Copy)]
enum Step<'a> {
    Name(&'a str),
    Index(usize),
}

/// Compares the values that are sent with those that are shown. Collects the locations of replaced secrets and of
/// default values.
struct Comparison<'a> {
    types: &'a Types,
    path: Vec<Step<'a>>,
    defaults: Vec<String>,
    hidden: Vec<String>,
    /// Total size of all pointers, limited so that many locations with long names use no more memory than the call
    /// itself.
    pointer_bytes: usize,
}

impl<'a> Comparison<'a> {
    /// Whether everything except secrets is shown exactly as sent.
    fn is_complete(&mut self, sent: &'a Value, shown: &Value, schemas: &[&'a Schema]) -> bool {
        match (sent, shown) {
            (Value::Object(sent), Value::Object(shown)) => {
                let mut fields = Vec::new();
                schemas.iter().for_each(|schema| self.find_fields(schema, 0, &mut fields));
                self.is_complete_object(sent, shown, &fields)
            }
            (Value::Array(sent), Value::Array(shown)) => {
                let mut elements = Vec::new();
                schemas.iter().for_each(|schema| self.find_elements(schema, 0, &mut elements));
                let mut pairs = sent.iter().zip(shown).enumerate();
                sent.len() == shown.len()
                    && pairs.all(|(index, (sent, shown))| {
                        self.path.push(Step::Index(index));
                        let is_complete = self.is_complete(sent, shown, &elements);
                        self.path.pop();
                        is_complete
                    })
            }
            (sent, shown) if sent == shown => true,
            (_, Value::String(text)) if text.starts_with("[hidden, ") && text.ends_with(']') => {
                let place = self.pointer();
                self.hidden.extend(place);
                true
            }
            _ => false,
        }
    }

    fn is_complete_object(
        &mut self,
        sent: &'a Map<String, Value>,
        shown: &Map<String, Value>,
        fields: &[&'a Vec<Parameter>],
    ) -> bool {
        sent.len() == shown.len()
            && sent.iter().all(|(name, sent)| {
                let Some(shown) = shown.get(name) else { return false };
                let fields = fields.iter().flat_map(|fields| fields.iter()).filter(|field| *field.name == **name);
                let schemas: Vec<&'a Schema> = fields.map(|field| &field.schema).collect();
                self.path.push(Step::Name(name));
                if schemas.iter().any(|schema| schema.default.as_ref() == Some(sent)) {
                    let place = self.pointer();
                    self.defaults.extend(place);
                }
                let is_complete = self.is_complete(sent, shown, &schemas);
                self.path.pop();
                is_complete
            })
    }

    /// The current path as a JSON pointer. `None` if the pointers have become too large.
    fn pointer(&mut self) -> Option<String> {
        let mut pointer = String::new();
        for step in &self.path {
            match step {
                Step::Name(name) => push_step(&mut pointer, name),
                Step::Index(index) => push_step(&mut pointer, &index.to_string()),
            }
        }
        self.pointer_bytes = self.pointer_bytes.saturating_add(pointer.len());
        (self.pointer_bytes <= MAX_CALL_BYTES).then_some(pointer)
    }

    /// Collects the fields that this schema allows in an object.
    fn find_fields(&self, schema: &'a Schema, depth: usize, fields: &mut Vec<&'a Vec<Parameter>>) {
        match &schema.kind {
            _ if depth > MAX_REFERENCES => {}
            Kind::Object(shape) => fields.push(&shape.fields),
            Kind::Named(name) => {
                self.types.get(name).into_iter().for_each(|schema| self.find_fields(schema, depth + 1, fields));
            }
            Kind::Union(members) => members.iter().for_each(|member| self.find_fields(member, depth + 1, fields)),
            _ => {}
        }
    }

    /// Collects the element schemas that this schema allows in a list.
    fn find_elements(&self, schema: &'a Schema, depth: usize, elements: &mut Vec<&'a Schema>) {
        match &schema.kind {
            _ if depth > MAX_REFERENCES => {}
            Kind::Array(Some(element)) => elements.push(element),
            Kind::Named(name) => {
                self.types.get(name).into_iter().for_each(|schema| self.find_elements(schema, depth + 1, elements));
            }
            Kind::Union(members) => members.iter().for_each(|member| self.find_elements(member, depth + 1, elements)),
            _ => {}
        }
    }
}

/// Adds a step to a JSON pointer.
pub(super) fn push_step(pointer: &mut String, step: &str) {
    pointer.push('/');
    pointer.push_str(&step.replace('~', "~0").replace('/', "~1"));
}
