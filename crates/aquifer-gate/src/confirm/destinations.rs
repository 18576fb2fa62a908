//! Where a call goes: the values of the parameters that say so.

use std::collections::BTreeSet;

use aquifer_protocol::operation::Operation;
use serde_json::{Map, Value};

use super::roles::ParameterRole;

/// Maximum depth at which destinations are looked for.
pub(super) const MAX_DEPTH: usize = 4;

/// The destinations of a call: declared ones, and those that the names of members tell. Case and blanks at the ends do not
/// tell one destination from another.
pub(super) fn destinations(operation: &Operation, params: &Map<String, Value>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let known = &operation.safety.effects.destinations;
    for (name, value) in params.iter().filter(|(name, _)| operation.parameter(name).is_some()) {
        let is_destination = known.iter().any(|known| **known == **name) || is_destination(name);
        collect(value, is_destination, 0, &mut found);
    }
    found
}

fn is_destination(name: &str) -> bool {
    ParameterRole::from_name(name) == ParameterRole::Destination
}

fn collect(value: &Value, is_destination_value: bool, depth: usize, found: &mut BTreeSet<String>) {
    match value {
        _ if depth > MAX_DEPTH => {}
        Value::String(text) if is_destination_value && !text.trim().is_empty() => {
            found.insert(text.trim().to_lowercase());
        }
        Value::Number(number) if is_destination_value => {
            found.insert(number.to_string());
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, is_destination_value, depth + 1, found)),
        Value::Object(members) => {
            for (name, member) in members {
                collect(member, is_destination_value || is_destination(name), depth + 1, found);
            }
        }
        Value::String(_) | Value::Number(_) | Value::Null | Value::Bool(_) => {}
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use aquifer_protocol::category::Category;
    use aquifer_protocol::schema::{Kind, Parameter, Schema};
    use serde_json::json;

    use super::*;

    #[test]
    fn r_saf_7_destinations_are_found_wherever_they_stand() {
        let mut operation = Operation::new("send", Category::Execute, "");
        let names = ["to", "bcc", "body", "message", "room"];
        operation.parameters = names.iter().map(|name| Parameter::optional(name, Schema::new(Kind::Any))).collect();
        operation.safety.effects.destinations.push("room".into());
        let params = json!({
            "to": [" Bob@X.com ", "a@x.com"], "bcc": "", "body": "to c@x.com", "room": 7,
            "message": { "text": "d@x.com", "cc": [{ "email": "E@x.com", "name": "Eve" }] }, "undeclared_email": "f@x.com",
        });
        let found = destinations(&operation, params.as_object().unwrap());
        assert_eq!(
            found.iter().map(String::as_str).collect::<Vec<_>>(),
            ["7", "a@x.com", "bob@x.com", "e@x.com", "eve"]
        );
        let params = json!({ "body": "c@x.com" });
        assert!(destinations(&operation, params.as_object().unwrap()).is_empty());
    }
}
