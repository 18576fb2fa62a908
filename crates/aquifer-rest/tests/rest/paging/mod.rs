//! Lists of 500 rows, behind APIs that page in their own ways: every count is right, or a warning says that it may not be.

mod installed;
mod marks;
mod styles;

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::client::server::Received;
use crate::source::call;

/// The number of rows of every list.
pub(crate) const ROWS: usize = 500;

/// The rows from an offset, at most this many.
pub(crate) fn rows(skip: usize, count: usize) -> Vec<Value> {
    (0..ROWS).skip(skip).take(count).map(|id| json!({ "id": id.to_string(), "number": id })).collect()
}

/// The query of a request.
pub(crate) fn query(request: &Received) -> HashMap<String, String> {
    let url = reqwest::Url::parse(&format!("http://host{}", request.target)).unwrap();
    url.query_pairs().into_owned().collect()
}

/// Whether a warning that precedes the data says that rows may be missing.
pub(crate) fn is_warned(answer: &Value) -> bool {
    let warnings = answer["warnings"].as_array().into_iter().flatten();
    warnings.into_iter().any(|warning| warning["code"] == "RESULT_INCOMPLETE")
}

/// Counts the rows of a list in all ways that are offered. Returns whether all counts were right; otherwise each wrong
/// one had a warning, and nothing claimed that the list was complete.
pub(crate) async fn count(engine: &aquifer_engine::Engine, operation: &str, params: &Value, name: &str) -> bool {
    let with = |controls: Value| {
        let mut all = params.clone();
        all.as_object_mut().unwrap().extend(controls.as_object().unwrap().clone());
        all
    };
    let mut is_right = true;
    let counted = call(engine, operation, with(json!({ "aggregate": { "n": { "count": true } } }))).await;
    assert_eq!(counted["success"], true, "{name} {operation}: {counted}");
    if counted["data"]["aggregations"]["n"] != ROWS {
        assert!(is_warned(&counted), "{name} {operation}: {counted}");
        is_right = false;
    }
    let found = call(engine, operation, with(json!({ "filter": { "number": ROWS - 1 } }))).await;
    assert_eq!(found["success"], true, "{name} {operation}: {found}");
    if found["data"]["items"].as_array().is_none_or(Vec::is_empty) {
        assert!(is_warned(&found), "{name} {operation}: {found}");
        is_right = false;
    }
    let paged = call(engine, operation, with(json!({ "first": 1_000, "total": true }))).await;
    let info = &paged["data"]["pageInfo"];
    let shown = paged["data"]["items"].as_array().map_or(0, Vec::len);
    if paged["success"] == true && shown < ROWS && info["hasNextPage"] != true {
        assert!(is_warned(&paged), "{name} {operation}: {shown} {info} {}", paged["warnings"]);
        assert!(info["hasNextPage"].is_null() && info["totalCount"].is_null(), "{name} {operation}: {info}");
        is_right = false;
    }
    is_right
}
