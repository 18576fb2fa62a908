//! What a run wrote: every row that an answer shows as created, until it is deleted again.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value};

use crate::description::Operation;
use crate::description::resources::Resource;
use crate::mcp::Reply;
use crate::mcp::rows::{Row, object_with};

/// The rows that are ours.
pub(crate) struct Sandbox {
    salt: String,
    rows: Vec<CreatedRow>,
}

/// One row that a run created.
#[derive(Clone, Debug)]
pub(crate) struct CreatedRow {
    pub(crate) noun: String,
    /// What finds it again.
    pub(crate) key: Map<String, Value>,
    /// What it was created with.
    pub(crate) submitted: Map<String, Value>,
    /// As it came back.
    pub(crate) row: Row,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map(|now| now.as_micros()).unwrap_or_default();
        Self { salt: format!("{:06x}", now & 0xff_ffff), rows: Vec::new() }
    }

    /// Tells the texts of this run from those of another.
    pub(crate) fn salt(&self) -> &str {
        &self.salt
    }

    /// The next texts are others.
    pub(crate) fn change_salt(&mut self) {
        let number = u32::from_str_radix(&self.salt, 16).unwrap_or_default();
        self.salt = format!("{:06x}", number.wrapping_add(0x9_e377) & 0xff_ffff);
    }

    /// Looks whether an answer created or deleted something.
    pub(crate) fn record_effects(&mut self, reply: &Reply, resources: &[Resource]) {
        let arguments = &reply.exchange.arguments;
        let Some(operation) = arguments.get("operation").and_then(Value::as_str).filter(|_| reply.is_success()) else {
            return;
        };
        let mut params: Map<String, Value> = arguments.as_object().cloned().unwrap_or_default();
        params.remove("operation");
        if let Some(Value::Object(inner)) = params.remove("params") {
            params.extend(inner);
        }
        if params.get("dry_run") == Some(&Value::Bool(true)) {
            return;
        }
        let meant = |own: &Option<Operation>| {
            own.as_ref().filter(|own| own.name == operation).and_then(|own| own.unwrap_params(&params))
        };
        if let Some((resource, submitted)) = resources.iter().find_map(|own| Some((own, meant(&own.create)?))) {
            let Some(row) = object_with(reply.data(), &resource.key) else { return };
            let key = resource.key.iter().filter_map(|key| Some((key.clone(), row.get(key)?.clone()))).collect();
            let noun = resource.noun.clone();
            self.rows.push(CreatedRow { noun, key, submitted, row: row.clone() });
        } else if let Some((resource, named)) = resources.iter().find_map(|own| Some((own, meant(&own.delete)?))) {
            let gone = |created: &CreatedRow| {
                created.noun == resource.noun && created.key.iter().all(|(key, value)| named.get(key) == Some(value))
            };
            self.rows.retain(|created| !gone(created));
        }
    }

    /// A row of ours was found to be gone.
    pub(crate) fn forget(&mut self, gone: &CreatedRow) {
        self.rows.retain(|created| created.noun != gone.noun || created.key != gone.key);
    }

    /// The row of this kind that was made first and is still there.
    pub(crate) fn row(&self, noun: &str) -> Option<&CreatedRow> {
        self.rows.iter().find(|created| created.noun == noun)
    }

    /// A field of our rows of this kind.
    pub(crate) fn values(&self, noun: &str, field: &str) -> Vec<Value> {
        let ours = self.rows.iter().filter(|created| created.noun == noun);
        ours.filter_map(|created| created.key.get(field).or_else(|| created.row.get(field)).cloned()).collect()
    }

    /// Whether no row of ours is there.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows that are still there, the last made one first.
    pub(crate) fn remaining(&self) -> Vec<CreatedRow> {
        self.rows.iter().rev().cloned().collect()
    }
}
