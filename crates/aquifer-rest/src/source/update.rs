//! Updates by PUT, which replaces a whole resource: the current state is read, the changes are merged into it, and it
//! is written back on the condition that nobody else has changed it in between.

use std::sync::Arc;

use aquifer_engine::source::Call;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::schema::Parameter;
use reqwest::header::ETAG;
use serde_json::{Map, Value};

use super::RestSource;
use super::current::Current;
use super::writable::{Walk, admits_null, is_read_only};
use crate::adapter::INPUT;
use crate::client::{Effect, LinkCheck, SendRules};
use crate::pagination::at_path;

impl RestSource {
    /// Merges the changes of a call into the current state. Returns the entity tag of the state that was read.
    ///
    /// A PUT replaces everything. Nothing is sent if the body would lack something that may be stored: if the state has
    /// another structure than the body, or lacks a field that the API requires.
    pub(super) async fn merge_current(
        &self,
        current: &Current,
        call: &Call,
        params: &mut Map<String, Value>,
    ) -> Result<Option<String>, Failure> {
        let arguments = current.arguments_of(params);
        let request = current.route.request_at(&self.base_url, &arguments)?;
        let rules = SendRules::for_route(&current.route, Effect::Reads, call.validity.clone());
        let links: Arc<dyn LinkCheck> = Arc::new(self.links(&current.operation, call, &arguments));
        let rules = SendRules { trace: call.context.trace.clone(), links: Some(links), ..rules };
        let answer = self.send(request, &rules, call).await?;
        let mut stored = self.stored(current, answer.json_as_written().unwrap_or_default());
        let Some(Value::Object(changes)) = params.remove(INPUT) else {
            return Err(Failure::invalid_value(INPUT, "must be an object"));
        };
        if stored.is_empty() {
            let unnamed = self.unnamed_fields(current, &changes);
            if !unnamed.is_empty() {
                let problem = "contains none of the fields that are written";
                return Err(incomplete(current, problem, "Pass them, or null for those without a value", &unnamed));
            }
        }
        let nulls = self.stored_nulls(current, &changes);
        merge_fields(&mut stored, changes);
        stored.extend(nulls);
        match Walk::new(&self.offering.types).problems(&stored, &current.body) {
            None => return Err(Failure::invalid_value(INPUT, "is part of something too large to be merged")),
            Some(problems) if !problems.is_empty() => {
                let problem = "does not contain everything that must be written";
                return Err(incomplete(current, problem, "Pass the rest as well", &problems));
            }
            Some(_) => {}
        }
        if let Some(unmet) = current.requirements.iter().find(|one| !one.is_met_by_members(&stored)) {
            let message = format!("Nothing was changed: PUT replaces everything. {}", unmet.sentence());
            return Err(Failure::new(Code::ValidationMissingParam, message).detail("param_name", unmet.first_path()));
        }
        params.insert(INPUT.to_owned(), Value::Object(stored));
        // A weak entity tag never matches in `If-Match` (RFC 9110, section 13.1.1).
        let etag = answer.headers.get(ETAG).and_then(|etag| etag.to_str().ok()).filter(|etag| !etag.starts_with("W/"));
        Ok(etag.map(str::to_owned))
    }

    /// The part of a response that can be written back.
    fn stored(&self, current: &Current, answer: Value) -> Map<String, Value> {
        let found = match current.route.unwrap.as_deref() {
            Some(path) => at_path(&answer, path).cloned(),
            None => Some(answer),
        };
        let Some(Value::Object(mut stored)) = found else { return Map::new() };
        Walk::new(&self.offering.types).retain_writable(&mut stored, &current.body);
        stored
    }

    /// The fields for which `null` is a value: those that the API requires and that may be `null`.
    fn stored_nulls(&self, current: &Current, changes: &Map<String, Value>) -> Vec<(String, Value)> {
        let types = &self.offering.types;
        let is_value = |field: &&Parameter| field.required && admits_null(&field.schema, types);
        let demanded = current.body.fields.iter().filter(is_value);
        let nulls = demanded.filter(|field| changes.get(&*field.name).is_some_and(Value::is_null));
        nulls.map(|field| (field.name.to_string(), Value::Null)).collect()
    }

    /// The body fields that the changes do not mention, not even to remove them.
    fn unnamed_fields(&self, current: &Current, changes: &Map<String, Value>) -> Vec<String> {
        let types = &self.offering.types;
        let writable = current.body.fields.iter().filter(|field| !is_read_only(&field.schema, types));
        let unnamed = writable.filter(|field| !changes.contains_key(&*field.name));
        unnamed.map(|field| field.name.to_string()).collect()
    }
}

/// The failure for a current state that is not sufficient to be written back.
fn incomplete(current: &Current, problem: &str, advice: &str, fields: &[String]) -> Failure {
    const MAX_NAMED: usize = 20;
    let fields: Vec<String> = fields.iter().take(MAX_NAMED).map(|field| format!("{INPUT}.{field}")).collect();
    let message = format!(
        "Nothing was changed: PUT replaces everything, and what GET {} returned {problem}. {advice}: {}",
        current.route.path,
        fields.join(", ")
    );
    let first = fields.first().cloned().unwrap_or_default();
    Failure::new(Code::ValidationMissingParam, message).detail("param_name", first).detail("missing_fields", fields)
}

/// Merges changes (RFC 7396): objects field by field, `null` removes a field, everything else is replaced.
fn merge(stored: &mut Value, changes: Value) {
    match (stored, changes) {
        (Value::Object(stored), Value::Object(changes)) => merge_fields(stored, changes),
        (stored, changes) => *stored = without_nulls(changes),
    }
}

fn merge_fields(stored: &mut Map<String, Value>, changes: Map<String, Value>) {
    for (name, change) in changes {
        match change {
            Value::Null => drop(stored.shift_remove(&name)),
            change => merge(stored.entry(name).or_insert(Value::Null), change),
        }
    }
}

/// A new value, in which `null` means that a field is absent.
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
