//! The names of the fields that a write sets or clears. The redacted parameters hold the values but are truncated when
//! long, which could hide a cleared field.

use aquifer_protocol::category::Category;
use aquifer_protocol::operation::Operation;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::redact::redact_text;

/// Maximum number of names of each kind.
const MAX_NAMES: usize = 64;
/// Maximum number of characters of a name.
const MAX_NAME_CHARS: usize = 64;
/// Maximum number of bytes of all names of a kind.
const MAX_NAMES_BYTES: usize = 2048;
/// Maximum number of values searched for nested nulls.
const MAX_VALUES: usize = 4096;
/// Maximum depth searched for nested nulls.
const MAX_DEPTH: usize = 16;

/// Parameters of native operations that control how a change is made and are not themselves changes.
const CONTROLS: &[&str] = &["dry_run", "if_match", "fields", "preset"];

/// The fields that a write changes.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct ChangedFields {
    /// Fields that are set to a value.
    set: Vec<String>,
    /// Fields that are set to null; nested ones with their path.
    cleared: Vec<String>,
    /// Number of fields that are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    not_listed: usize,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it like this")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl ChangedFields {
    /// The fields in the parameters of a call. `None` for operations that set no fields.
    pub(super) fn from_call(operation: &Operation, params: &Map<String, Value>) -> Option<Self> {
        if matches!(operation.category, Category::Read | Category::Delete) {
            return None;
        }
        let changes = params.get("input").and_then(Value::as_object).filter(|_| operation.takes_changes());
        let is_control = |name: &str| operation.origin.native && changes.is_none() && CONTROLS.contains(&name);
        let mut search = NullSearch::default();
        for (name, value) in changes.unwrap_or(params).iter().filter(|(name, _)| !is_control(name)) {
            if !value.is_null() {
                search.set.add(name);
            }
            search.find_nulls(name, value, 0);
        }
        let NullSearch { set, cleared, unseen, .. } = search;
        Some(Self { not_listed: set.left_out + cleared.left_out + unseen, set: set.names, cleared: cleared.names })
    }
}

#[derive(Default)]
struct NullSearch {
    set: NameList,
    cleared: NameList,
    seen: usize,
    unseen: usize,
}

impl NullSearch {
    fn find_nulls(&mut self, path: &str, value: &Value, depth: usize) {
        self.seen += 1;
        let is_container = value.is_object() || value.is_array();
        if self.seen > MAX_VALUES || (depth >= MAX_DEPTH && is_container) {
            self.unseen += 1;
            return;
        }
        match value {
            Value::Null => self.cleared.add(path),
            Value::Object(fields) => {
                for (name, value) in fields.iter().filter(|(_, value)| may_hold_null(value)) {
                    self.find_nulls(&format!("{path}.{name}"), value, depth + 1);
                }
            }
            Value::Array(items) => {
                // A null in a list is an element, not a field.
                for item in items.iter().filter(|item| !item.is_null() && may_hold_null(item)) {
                    self.find_nulls(&format!("{path}[]"), item, depth + 1);
                }
            }
            Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

fn may_hold_null(value: &Value) -> bool {
    value.is_null() || value.is_object() || value.is_array()
}

#[derive(Default)]
struct NameList {
    names: Vec<String>,
    bytes: usize,
    left_out: usize,
}

impl NameList {
    fn add(&mut self, path: &str) {
        // Callers can choose field names, so a name may contain a secret.
        let name = redact_text(path, MAX_NAME_CHARS);
        if self.names.contains(&name) {
            return;
        }
        if self.names.len() >= MAX_NAMES || self.bytes + name.len() > MAX_NAMES_BYTES {
            self.left_out += 1;
            return;
        }
        self.bytes += name.len();
        self.names.push(name);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fields_of(category: Category, native: bool, params: Value) -> Value {
        let mut operation = Operation::new("x", category, "Does it.");
        operation.origin.native = native;
        serde_json::to_value(ChangedFields::from_call(&operation, params.as_object().unwrap())).unwrap()
    }

    #[test]
    fn r_saf_5_set_and_cleared_fields_are_distinguished() {
        let table = [
            (
                (
                    Category::Update,
                    true,
                    json!({ "id": 1, "input": { "a": 1, "b": null, "c": null }, "dry_run": false }),
                ),
                json!({ "set": ["a"], "cleared": ["b", "c"] }),
            ),
            (
                (Category::Update, true, json!({ "id": 1, "input": { "dry_run": null } })),
                json!({ "set": [], "cleared": ["dry_run"] }),
            ),
            (
                (Category::Create, true, json!({ "a": 1, "b": null, "dry_run": false, "if_match": "x" })),
                json!({ "set": ["a"], "cleared": ["b"] }),
            ),
            (
                (Category::Create, false, json!({ "a": 1, "dry_run": null })),
                json!({ "set": ["a"], "cleared": ["dry_run"] }),
            ),
            // We do not know which parameter of an upstream's tool holds the changes.
            (
                (
                    Category::Update,
                    false,
                    json!({ "id": 1, "input": { "a": null, "b": [{ "c": null }, { "c": null }, null] } }),
                ),
                json!({ "set": ["id", "input"], "cleared": ["input.a", "input.b[].c"] }),
            ),
            (
                (Category::Execute, false, json!({ "job": "x", "at": null })),
                json!({ "set": ["job"], "cleared": ["at"] }),
            ),
            ((Category::Delete, false, json!({ "id": 1 })), Value::Null),
            ((Category::Read, false, json!({ "id": null })), Value::Null),
        ];
        for ((category, native, params), expected) in table {
            assert_eq!(fields_of(category, native, params.clone()), expected, "{params}");
        }
    }

    #[test]
    fn r_saf_5_fields_are_bounded_and_hold_no_secret() {
        let many: Map<String, Value> = (0..5000).map(|number| (format!("field{number}"), Value::Null)).collect();
        let fields = fields_of(Category::Create, false, many.into());
        assert_eq!(fields["cleared"].as_array().unwrap().len(), MAX_NAMES);
        assert_eq!(fields["not_listed"], 5000 - MAX_NAMES);
        let long = "ü".repeat(100_000);
        let fields = fields_of(Category::Create, false, json!({ long.clone(): 1, "deep": { long: null } }));
        assert!(fields.to_string().len() < 1000, "{fields}");
        let secret = format!("ghp_{}", "a1B2".repeat(9));
        let fields = fields_of(Category::Create, false, json!({ secret.clone(): 1, "x": { secret.clone(): null } }));
        assert!(!fields.to_string().contains(&secret), "{fields}");
        let mut deep = Value::Null;
        for _ in 0..100 {
            deep = json!({ "a": deep });
        }
        assert_eq!(fields_of(Category::Create, false, json!({ "deep": deep }))["not_listed"], 1);
    }
}
