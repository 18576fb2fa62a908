//! Binds an operation that serves several kinds of resources to one kind: `create_record` with `table_name: "orders"`.
//!
//! Checks work with plain fields (`{"name": "Ada"}`); a binding turns them into the parameters of the operation
//! (`{"table_name": "people", "values": {"name": "Ada"}}`) and back.

use serde_json::{Map, Value};

/// Converts between plain fields and parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Binding {
    /// Parameters that every request has.
    pub(crate) fixed: Map<String, Value>,
    /// The object parameters that hold fields, each with the names of those fields.
    pub(crate) containers: Vec<(String, Vec<String>)>,
}

impl Binding {
    pub(crate) fn wrap(&self, params: &Map<String, Value>) -> Map<String, Value> {
        let mut wrapped = self.fixed.clone();
        for (container, fields) in &self.containers {
            let held = params.iter().filter(|(name, _)| fields.contains(name));
            wrapped.insert(container.clone(), held.map(|(name, value)| (name.clone(), value.clone())).collect());
        }
        let held = |name: &String| self.containers.iter().any(|(_, fields)| fields.contains(name));
        let beside = params.iter().filter(|(name, _)| !held(name));
        wrapped.extend(beside.map(|(name, value)| (name.clone(), value.clone())));
        wrapped
    }

    /// The plain fields; `None` if the parameters are for another kind.
    pub(crate) fn unwrap(&self, params: &Map<String, Value>) -> Option<Map<String, Value>> {
        if self.fixed.iter().any(|(name, value)| params.get(name) != Some(value)) {
            return None;
        }
        let mut plain = Map::new();
        for (name, value) in params.iter().filter(|(name, _)| !self.fixed.contains_key(*name)) {
            match value {
                Value::Object(held) if self.containers.iter().any(|(container, _)| container == name) => {
                    plain.extend(held.clone());
                }
                _ => drop(plain.insert(name.clone(), value.clone())),
            }
        }
        Some(plain)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::Binding;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn plain_fields_are_wrapped_and_unwrapped() {
        let binding = Binding {
            fixed: object(json!({"table_name": "people"})),
            containers: vec![("key".into(), vec!["id".into()])],
        };
        for (plain, wrapped) in [
            (json!({"id": 5}), json!({"table_name": "people", "key": {"id": 5}})),
            (json!({"id": 5, "dry_run": true}), json!({"table_name": "people", "key": {"id": 5}, "dry_run": true})),
            (json!({}), json!({"table_name": "people", "key": {}})),
        ] {
            assert_eq!(binding.wrap(&object(plain.clone())), object(wrapped.clone()));
            assert_eq!(binding.unwrap(&object(wrapped)), Some(object(plain)));
        }
        assert_eq!(binding.unwrap(&object(json!({"table_name": "orders", "key": {"id": 5}}))), None);
    }
}
