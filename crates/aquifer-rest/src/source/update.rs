//! Changes by PUT, which replaces a thing whole: it is read, the changes are merged into it, and it is written back on
//! the condition that nobody else has changed it in between.

use std::collections::HashSet;
use std::sync::Arc;

use aquifer_engine::source::Call;
use aquifer_protocol::error::Failure;
use reqwest::header::ETAG;
use serde_json::{Map, Value};

use super::RestSource;
use super::answer::unwrapped;
use crate::adapter::INPUT;
use crate::client::{Effect, SendRules};
use crate::route::Route;

/// How the thing that a PUT replaces is read.
#[derive(Debug, Clone)]
pub(super) struct Current {
    /// The request that reads it.
    pub(super) route: Arc<Route>,
    /// The fields that a request may write. Others, such as ids and links, are read but not written.
    pub(super) fields: HashSet<Arc<str>>,
}

impl RestSource {
    /// Merges the changes of a call into what is stored. Returns the entity tag of what was read.
    pub(super) async fn merge_current(
        &self,
        current: &Current,
        call: &Call,
        params: &mut Map<String, Value>,
    ) -> Result<Option<String>, Failure> {
        let request = current.route.request(&self.base_url, params)?;
        let rules = SendRules::for_route(&current.route, Effect::Reads, call.validity.clone());
        let answer = self.send(request, &rules, call).await?;
        let body = answer.json().map_err(|error| error.into_failure(&self.name))?;
        let mut stored = unwrapped(body, current.route.unwrap.as_deref());
        if let (Value::Object(stored), false) = (&mut stored, current.fields.is_empty()) {
            stored.retain(|name, _| current.fields.contains(name.as_str()));
        }
        if let Some(changes) = params.remove(INPUT) {
            merge(&mut stored, changes);
        }
        params.insert(INPUT.to_owned(), stored);
        // A weak tag never matches in a condition (RFC 9110, 13.1.1).
        let etag = answer.headers.get(ETAG).and_then(|etag| etag.to_str().ok()).filter(|etag| !etag.starts_with("W/"));
        Ok(etag.map(str::to_owned))
    }
}

/// Merges changes (RFC 7396): objects field by field, `null` removes a field, everything else is replaced.
fn merge(stored: &mut Value, changes: Value) {
    match (stored, changes) {
        (Value::Object(stored), Value::Object(changes)) => {
            for (name, change) in changes {
                match change {
                    Value::Null => drop(stored.shift_remove(&name)),
                    change => merge(stored.entry(name).or_insert(Value::Null), change),
                }
            }
        }
        (stored, changes) => *stored = without_nulls(changes),
    }
}

/// A new value, in which `null` stands for nothing.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(_, field)| !field.is_null());
            Value::Object(kept.map(|(name, field)| (name, without_nulls(field))).collect())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn r_req_6_changes_are_merged_deeply() {
        let mut stored = json!({ "a": { "b": 1, "c": 2 }, "list": [1, 2], "gone": 1 });
        merge(&mut stored, json!({ "a": { "b": 3, "new": { "x": null, "y": 1 } }, "list": [3], "gone": null }));
        assert_eq!(stored, json!({ "a": { "b": 3, "c": 2, "new": { "y": 1 } }, "list": [3] }));
    }
}
