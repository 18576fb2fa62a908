//! The envelopes of answers, restated from what the specification publishes about results and batches.

use serde_json::Value;

use super::shape::{ObjectShape, Shape, UPPER_SNAKE_CASE, closed, differences, open, optional, required};

static WARNING: ObjectShape = closed(&[
    required("code", Shape::Pattern(&UPPER_SNAKE_CASE)),
    required("message", Shape::Text),
    optional("details", Shape::AnyObject),
    optional("severity", Shape::OneOf(&["low", "medium", "high"])),
]);

static WARNINGS: Shape = Shape::Nullable(&Shape::List(&Shape::Object(&WARNING)));

static META: ObjectShape =
    open(&[optional("request_id", Shape::Text), optional("duration_ms", Shape::Number(Some(0)))]);

static ANSWERED: ObjectShape =
    open(&[required("index", Shape::Integer(0)), required("operation", Shape::Text), required("result", Shape::Any)]);

static COUNTS: ObjectShape = open(&[
    required("total", Shape::Integer(0)),
    required("succeeded", Shape::Integer(0)),
    required("failed", Shape::Integer(0)),
]);

/// The success of one operation.
pub(super) static SUCCESS: ObjectShape = closed(&[
    required("success", Shape::Constant(true)),
    required("data", Shape::Any),
    optional("warnings", Shape::List(&Shape::Object(&WARNING))),
    optional("_meta", Shape::Object(&META)),
    optional("results", Shape::List(&Shape::Object(&ANSWERED))),
    optional("summary", Shape::Object(&COUNTS)),
]);

static ERROR: ObjectShape = closed(&[
    required("code", Shape::Pattern(&UPPER_SNAKE_CASE)),
    required("message", Shape::Text),
    optional("details", Shape::AnyObject),
]);

static CONFIRMATION: ObjectShape = open(&[
    required("token", Shape::Text),
    required("expires_at", Shape::Text),
    optional("message", Shape::Text),
    optional("reasons", Shape::List(&Shape::Text)),
]);

/// The failure of one operation.
pub(super) static FAILURE: ObjectShape = closed(&[
    required("success", Shape::Constant(false)),
    required("error", Shape::Object(&ERROR)),
    optional("confirmation", Shape::Object(&CONFIRMATION)),
    optional("deprecated", Shape::Flag),
    optional("deprecationMessage", Shape::Text),
    optional("deprecatedSince", Shape::Text),
    optional("removalVersion", Shape::Text),
]);

/// A success inside a batch.
pub(super) static BATCH_ITEM_SUCCESS: ObjectShape =
    closed(&[required("success", Shape::Constant(true)), required("data", Shape::Any)]);

static BATCH_ITEM_ERROR: ObjectShape =
    open(&[required("code", Shape::Text), required("message", Shape::Text), optional("details", Shape::AnyObject)]);

/// A failure inside a batch.
pub(super) static BATCH_ITEM_FAILURE: ObjectShape =
    closed(&[required("success", Shape::Constant(false)), required("error", Shape::Object(&BATCH_ITEM_ERROR))]);

/// One result of a batch. What is in `result` is checked apart.
pub(super) static BATCH_ITEM: ObjectShape = closed(&[
    required("index", Shape::Integer(0)),
    required("operation", Shape::Text),
    required("result", Shape::Any),
    optional("status", Shape::OneOf(&["completed", "pending_confirmation"])),
]);

/// The operation that a batch halted before.
pub(super) static HALTED: ObjectShape =
    closed(&[required("index", Shape::Integer(0)), required("operation", Shape::Text), required("result", Shape::Any)]);

/// An operation that a halted batch did not reach.
pub(super) static PENDING: ObjectShape = closed(&[
    required("index", Shape::Integer(0)),
    required("operation", Shape::Text),
    optional("params", Shape::AnyObject),
]);

/// The counts of a batch.
pub(super) static SUMMARY: ObjectShape = closed(&[
    required("total", Shape::Integer(0)),
    required("succeeded", Shape::Integer(0)),
    required("failed", Shape::Integer(0)),
    optional("halted", Shape::Integer(0)),
    optional("pending", Shape::Integer(0)),
    optional("pending_confirmation", Shape::Integer(0)),
]);

/// The success of a batch.
pub(super) static BATCH: ObjectShape = closed(&[
    required("success", Shape::Constant(true)),
    optional("data", Shape::Null),
    required("results", Shape::List(&Shape::Object(&BATCH_ITEM))),
    optional("halted_at", Shape::Object(&HALTED)),
    optional("pending_operations", Shape::List(&Shape::Object(&PENDING))),
    required("summary", Shape::Object(&SUMMARY)),
]);

/// The first problem of an envelope, if any.
pub(crate) fn problem(answer: &Value) -> Option<String> {
    let Some(envelope) = answer.as_object() else {
        return Some("the answer is not a JSON object".into());
    };
    let shape = match envelope.get("success") {
        Some(Value::Bool(true)) if envelope.contains_key("error") => return Some("a success has an 'error'".into()),
        Some(Value::Bool(true)) if envelope.contains_key("results") => return batch_problem(answer),
        Some(Value::Bool(true)) => &SUCCESS,
        Some(Value::Bool(false)) => &FAILURE,
        Some(_) => return Some("'success' is neither true nor false".into()),
        None => return Some("there is no 'success'".into()),
    };
    let empty = |name: &str| answer.pointer(&format!("/error/{name}")).and_then(Value::as_str) == Some("");
    if let Some(name) = ["code", "message"].into_iter().find(|name| empty(name)) {
        return Some(format!("'error.{name}' is empty"));
    }
    differences(answer, &Shape::Object(shape)).into_iter().next()
}

fn batch_problem(answer: &Value) -> Option<String> {
    if let Some(problem) = differences(answer, &Shape::Object(&BATCH)).into_iter().next() {
        return Some(problem);
    }
    let results = answer.get("results").and_then(Value::as_array).into_iter().flatten();
    results.chain(answer.get("halted_at")).find_map(|item| {
        let mut result = item.get("result").cloned().unwrap_or_default();
        // The published schema of batches has no room for warnings, that of single results has.
        let warnings = result.as_object_mut().and_then(|members| members.remove("warnings")).unwrap_or_default();
        let warnings = differences(&warnings, &WARNINGS);
        let is_success = result.get("success") == Some(&Value::Bool(true));
        let shape = if is_success { &BATCH_ITEM_SUCCESS } else { &BATCH_ITEM_FAILURE };
        let found = warnings.into_iter().chain(differences(&result, &Shape::Object(shape))).next();
        found.map(|problem| format!("in the result of an operation of the batch: {problem}"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn envelopes_are_of_one_kind() {
        for valid in [
            json!({"success": true, "data": null}),
            json!({"success": true, "data": 1, "warnings": [{"code": "A_B", "message": "m", "severity": "low"}]}),
            json!({"success": false, "error": {"code": "A", "message": "m", "details": {}}}),
            json!({"success": true, "data": null, "results": [{"index": 0, "operation": "x",
                "result": {"success": true, "data": 1, "warnings": [{"code": "A", "message": "m"}]}}],
                "summary": {"total": 1, "succeeded": 1, "failed": 0}}),
        ] {
            assert_eq!(problem(&valid), None, "{valid}");
        }
        for (invalid, expected) in [
            (json!([]), "the answer is not a JSON object"),
            (json!({"data": 1}), "there is no 'success'"),
            (json!({"success": true}), "'data' is missing"),
            (json!({"success": true, "data": 1, "error": {}}), "a success has an 'error'"),
            (json!({"success": true, "data": 1, "note": 1}), "'note' is not a published member"),
            (
                json!({"success": true, "data": 1, "warnings": [{"code": "a", "message": "m"}]}),
                "warnings.0: 'code' is not UPPER_SNAKE_CASE",
            ),
            (
                json!({"success": true, "data": 1, "warnings": [{"code": "A", "message": "m", "severity": "bad"}]}),
                "warnings.0: 'severity' is not one of low, medium, high",
            ),
            (json!({"success": false, "error": "no"}), "'error' is not an object"),
            (json!({"success": false, "error": {"code": "A", "message": ""}}), "'error.message' is empty"),
            (
                json!({"success": false, "error": {"code": "A", "message": "m"}, "data": 1}),
                "'data' is not a published member",
            ),
            (
                json!({"success": true, "data": null, "results": [{"index": 0, "operation": "x", "result": {}}],
                "summary": {"total": 1, "succeeded": 1, "failed": 0}}),
                "in the result of an operation of the batch: 'success' is missing",
            ),
        ] {
            assert_eq!(problem(&invalid).as_deref(), Some(expected), "{invalid}");
        }
    }
}
