//! The order in which a person sees the values of a call: where it goes, short values, long values, texts. A caller that
//! sends a long text first does not push a blind copy out of view.

use serde_json::{Map, Value};

use crate::destination::ParameterRole;

/// Number of characters from which a value comes after all short ones.
const MIN_LONG_CHARS: usize = 200;

/// Maximum depth at which members are ordered. Calls that are nested more deeply are not shown.
const MAX_DEPTH: usize = 64;

/// Orders the members of an object, and those of the objects in it. `is_default` says which members of the outer object
/// nobody sent: they come after those that somebody chose.
pub(super) fn order_members(object: Map<String, Value>, is_default: &dyn Fn(&str) -> bool) -> Map<String, Value> {
    order_object(object, is_default, 0)
}

fn order_object(object: Map<String, Value>, is_default: &dyn Fn(&str) -> bool, depth: usize) -> Map<String, Value> {
    let mut members: Vec<(Rank, String, Value)> = object
        .into_iter()
        .map(|(name, value)| {
            let value = order_value(value, depth + 1);
            (Rank::new(&name, &value, is_default(&name)), name, value)
        })
        .collect();
    // Members of the same rank stay in their order.
    members.sort_by_key(|(rank, ..)| *rank);
    members.into_iter().map(|(_, name, value)| (name, value)).collect()
}

fn order_value(value: Value, depth: usize) -> Value {
    match value {
        value if depth > MAX_DEPTH => value,
        Value::Object(object) => Value::Object(order_object(object, &|_| false, depth)),
        Value::Array(items) => items.into_iter().map(|item| order_value(item, depth + 1)).collect(),
        value => value,
    }
}

/// Maximum depth at which a destination makes the value around it one.
const MAX_ROLE_DEPTH: usize = 4;

/// Where a value stands among the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Short(ParameterRole),
    Default,
    /// With the number of characters.
    Long(ParameterRole, usize),
}

impl Rank {
    fn new(name: &str, value: &Value, is_default: bool) -> Self {
        let role = role_of(name, value, 0);
        let chars = count_chars(value);
        match role {
            // Where something goes by default is still where it goes.
            _ if is_default && (role != ParameterRole::Destination || is_empty(value)) => Rank::Default,
            ParameterRole::Body => Rank::Long(role, chars),
            _ if chars >= MIN_LONG_CHARS => Rank::Long(role, chars),
            _ => Rank::Short(role),
        }
    }
}

/// Whether a value says nothing.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The role of a member. An object that says where something goes counts as a destination, whatever its name is.
fn role_of(name: &str, value: &Value, depth: usize) -> ParameterRole {
    let own = ParameterRole::from_name(name);
    let inside = match value {
        Value::Object(members) if depth < MAX_ROLE_DEPTH => {
            members.iter().map(|(name, member)| role_of(name, member, depth + 1)).min()
        }
        Value::Array(items) if depth < MAX_ROLE_DEPTH => {
            items.iter().filter(|item| item.is_object()).map(|item| role_of("", item, depth + 1)).min()
        }
        _ => None,
    };
    match inside {
        Some(ParameterRole::Destination) => ParameterRole::Destination,
        _ => own,
    }
}

/// About how many characters a value takes.
fn count_chars(value: &Value) -> usize {
    match value {
        Value::String(text) => text.chars().count() + 2,
        Value::Array(items) => items.iter().map(|item| count_chars(item) + 2).sum(),
        Value::Object(members) => {
            members.iter().map(|(name, member)| name.chars().count() + count_chars(member) + 4).sum()
        }
        Value::Null | Value::Bool(_) => 5,
        Value::Number(number) => number.to_string().len(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn r_saf_9_destinations_come_first_and_texts_last() {
        let long = "x".repeat(6_000);
        let sent = json!({
            "body": long, "date": "2026-01-01", "subject": "Hi", "attachments": null, "cc": [], "recipients": ["a@x"],
            "amount": 3, "payload": "y".repeat(300), "bcc": ["b@y"],
            "message": { "text": long, "bcc": ["c@z"] },
        });
        let ordered = order_members(sent.as_object().unwrap().clone(), &|name| name == "attachments" || name == "cc");
        let names: Vec<&str> = ordered.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            ["recipients", "bcc", "amount", "date", "subject", "attachments", "cc", "message", "payload", "body"]
        );
        let inside: Vec<&String> = ordered["message"].as_object().unwrap().keys().collect();
        assert_eq!(inside, ["bcc", "text"]);
        // A long list of recipients does not come before a short blind copy, and never after a text.
        let sent = json!({ "text": "t", "recipients": vec!["somebody@example.com"; 30], "bcc": ["b@y"] });
        let ordered = order_members(sent.as_object().unwrap().clone(), &|_| false);
        assert_eq!(ordered.keys().collect::<Vec<_>>(), ["bcc", "recipients", "text"]);
    }
}
