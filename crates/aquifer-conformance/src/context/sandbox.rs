//! The rows that a run created and has not deleted yet.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value};

use crate::description::Operation;
use crate::description::resources::Resource;
use crate::mcp::Reply;
use crate::mcp::rows::{Row, object_with};

/// The rows that a run created.
pub(crate) struct Sandbox {
    salt: String,
    rows: Vec<CreatedRow>,
}

/// One row that a run created.
#[derive(Clone, Debug)]
pub(crate) struct CreatedRow {
    pub(crate) noun: String,
    /// Its key.
    pub(crate) key: Map<String, Value>,
    /// The submitted parameters.
    pub(crate) submitted: Map<String, Value>,
    /// The row that the server returned.
    pub(crate) row: Row,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map(|now| now.as_micros()).unwrap_or_default();
        Self { salt: format!("{:06x}", now & 0xff_ffff), rows: Vec::new() }
    }

    /// Distinguishes the texts of this run from those of other runs.
    pub(crate) fn salt(&self) -> &str {
        &self.salt
    }

    /// Changes the salt, so that the next texts differ.
    pub(crate) fn change_salt(&mut self) {
        let number = u32::from_str_radix(&self.salt, 16).unwrap_or_default();
        self.salt = format!("{:06x}", number.wrapping_add(0x9_e377) & 0xff_ffff);
    }

    /// Records whether an exchange created or deleted a row.
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
            let Some((row, key)) = row_with_key(reply.data(), resource) else { return };
            let noun = resource.noun.clone();
            self.rows.push(CreatedRow { noun, key, submitted, row: row.clone() });
        } else if let Some((resource, named)) = resources.iter().find_map(|own| Some((own, meant(&own.delete)?))) {
            let gone = |created: &CreatedRow| {
                created.noun == resource.noun && created.key.iter().all(|(key, value)| named.get(key) == Some(value))
            };
            self.rows.retain(|created| !gone(created));
        }
    }

    /// Removes a row that no longer exists.
    pub(crate) fn forget(&mut self, gone: &CreatedRow) {
        self.rows.retain(|created| created.noun != gone.noun || created.key != gone.key);
    }

    /// The first remaining row of a resource.
    pub(crate) fn row(&self, noun: &str) -> Option<&CreatedRow> {
        self.rows.iter().find(|created| created.noun == noun)
    }

    /// The values of a field in the rows of a resource.
    pub(crate) fn values(&self, noun: &str, field: &str) -> Vec<Value> {
        let ours = self.rows.iter().filter(|created| created.noun == noun);
        ours.filter_map(|created| created.key.get(field).or_else(|| created.row.get(field)).cloned()).collect()
    }

    /// Whether no rows remain.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The remaining rows, last created first.
    pub(crate) fn remaining(&self) -> Vec<CreatedRow> {
        self.rows.iter().rev().cloned().collect()
    }
}

/// A created row and its key. In the row, the identifier `order_id` of an order may be called `id`.
fn row_with_key<'a>(data: &'a Value, resource: &Resource) -> Option<(&'a Row, Map<String, Value>)> {
    if let Some(row) = object_with(data, &resource.key) {
        let key = resource.key.iter().filter_map(|key| Some((key.clone(), row.get(key)?.clone())));
        return Some((row, key.collect()));
    }
    let [name] = resource.key.as_slice() else { return None };
    let noun = name.strip_suffix("_id")?;
    let prefix = resource.noun.strip_suffix(noun)?;
    let row = object_with(data, &["id".to_owned()]).filter(|_| prefix.is_empty() || prefix.ends_with('_'))?;
    Some((row, Map::from_iter([(name.clone(), row.get("id")?.clone())])))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_identifier_of_a_row_may_be_called_id() {
        let key = |noun: &str, name: &str, data: Value| {
            let resource = Resource { noun: noun.to_owned(), key: vec![name.to_owned()], ..Resource::default() };
            row_with_key(&data, &resource).map(|(_, key)| Value::Object(key))
        };
        assert_eq!(key("order", "id", json!({ "id": 5 })), Some(json!({ "id": 5 })));
        assert_eq!(key("order", "order_id", json!({ "id": 5, "order_id": 6 })), Some(json!({ "order_id": 6 })));
        assert_eq!(key("order", "order_id", json!({ "id": 5 })), Some(json!({ "order_id": 5 })));
        assert_eq!(key("shop_order", "order_id", json!({ "order": { "id": 5 } })), Some(json!({ "order_id": 5 })));
        // The identifier of another resource.
        assert_eq!(key("comment", "order_id", json!({ "id": 5 })), None);
        assert_eq!(key("reorder", "order_id", json!({ "id": 5 })), None);
    }
}
