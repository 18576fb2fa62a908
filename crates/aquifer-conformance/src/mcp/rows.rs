//! Finds rows, pages and fields in answers of any shape.

use serde_json::{Map, Value};

/// One row of a collection.
pub(crate) type Row = Map<String, Value>;

/// The rows in the answer of a collection; `None` if it is not a collection.
pub(crate) fn rows(data: &Value) -> Option<Vec<Row>> {
    if let Some(edges) = data.get("edges").and_then(Value::as_array) {
        return Some(edges.iter().filter_map(|edge| edge.get("node")?.as_object().cloned()).collect());
    }
    let listed = ["items", "results", "rows", "data", "records"].iter().find_map(|key| data.get(key)?.as_array());
    let listed = listed.or_else(|| data.as_array()).or_else(|| {
        let lists = data.as_object()?.values().filter_map(Value::as_array);
        lists.into_iter().find(|list| list.iter().all(Value::is_object) && !list.is_empty())
    })?;
    Some(listed.iter().filter_map(|item| item.as_object().cloned()).collect())
}

/// Whether there is a page after this one, and the end cursor.
pub(crate) fn page_info(data: &Value) -> Option<(bool, Option<&str>)> {
    let info = data.get("pageInfo").or_else(|| data.get("page_info"))?;
    let more = info.get("hasNextPage").or_else(|| info.get("has_next_page")).and_then(Value::as_bool)?;
    let cursor = info.get("endCursor").or_else(|| info.get("end_cursor")).and_then(Value::as_str);
    Some((more, cursor))
}

/// The total number of rows, if the answer contains it.
pub(crate) fn total(data: &Value) -> Option<u64> {
    const PLACES: [&str; 8] = [
        "/pageInfo/totalCount",
        "/pagination/total_items",
        "/page_info/total_count",
        "/pagination/total",
        "/totalCount",
        "/total_count",
        "/total",
        "/count",
    ];
    PLACES.iter().find_map(|place| data.pointer(place)?.as_u64())
}

/// The object that has all these keys: `data` itself or one of its members.
pub(crate) fn object_with<'a>(data: &'a Value, keys: &[String]) -> Option<&'a Row> {
    let has_all = |row: &&Row| keys.iter().all(|key| row.contains_key(key));
    let own = data.as_object().filter(has_all);
    own.or_else(|| data.as_object()?.values().filter_map(Value::as_object).find(has_all))
}

/// Whether two values are equal: numbers by value, times in any notation, and a member that is null like one that is absent.
pub(crate) fn values_equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => match (left.as_f64(), right.as_f64()) {
            (Some(left), Some(right)) => (left - right).abs() <= f64::EPSILON * left.abs().max(right.abs()).max(1.0),
            _ => left == right,
        },
        (Value::String(left), Value::String(right)) => left == right || instant(left) == instant(right),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| values_equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            let member = |row: &Row, key: &str| row.get(key).cloned().unwrap_or_default();
            left.keys().chain(right.keys()).all(|key| values_equal(&member(left, key), &member(right, key)))
        }
        _ => left == right,
    }
}

/// Normalizes a time: `+00:00` becomes `Z`, and zero fractions are removed.
fn instant(text: &str) -> String {
    let text = text.strip_suffix("+00:00").map_or_else(|| text.to_owned(), |time| format!("{time}Z"));
    match text.split_once('.') {
        Some((time, fraction)) if fraction.trim_matches(['0', 'Z']).is_empty() => format!("{time}Z"),
        _ => text,
    }
}

/// Removes members that may differ between equal answers: cursors, timestamps of the answer, request identifiers.
pub(crate) fn without_volatile(value: &Value) -> Value {
    const VOLATILE: [&str; 6] = ["cursor", "_meta", "request_id", "session_id", "timestamp", "_etag"];
    let is_volatile = |key: &str| key.ends_with("Cursor") || key.ends_with("_cursor") || VOLATILE.contains(&key);
    match value {
        Value::Object(object) => object
            .iter()
            .filter(|(key, _)| !is_volatile(key))
            .map(|(key, value)| (key.clone(), without_volatile(value)))
            .collect(),
        Value::Array(items) => items.iter().map(without_volatile).collect(),
        _ => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{rows, values_equal, without_volatile};

    #[test]
    fn rows_are_found_in_answers_of_any_shape() {
        let row = json!({"id": 1});
        for data in [
            json!({"items": [row]}),
            json!({"edges": [{"node": row, "cursor": "c"}]}),
            json!([row]),
            json!({"orders": [row]}),
        ] {
            assert_eq!(rows(&data).map(|rows| rows.len()), Some(1), "{data}");
        }
        assert_eq!(rows(&json!({"items": []})).map(|rows| rows.len()), Some(0));
        assert!(rows(&row).is_none());
    }

    #[test]
    fn values_in_different_notations_are_equal() {
        assert!(values_equal(&json!(1), &json!(1.0)));
        assert!(values_equal(&json!("2024-05-06T07:08:09Z"), &json!("2024-05-06T07:08:09.000+00:00")));
        assert!(values_equal(&json!({"a": [1, {"b": 2.0}]}), &json!({"a": [1.0, {"b": 2}]})));
        assert!(values_equal(&json!({"a": {"b": 1}}), &json!({"a": {"b": 1, "c": null}, "d": null})));
        assert!(!values_equal(&json!({"a": 1}), &json!({"a": null})));
        assert!(!values_equal(&json!("1"), &json!(1)));
        assert!(!values_equal(&json!({"a": 1}), &json!({"a": 1, "b": 2})));
    }

    #[test]
    fn volatile_members_are_removed() {
        let left = json!({"items": [{"id": 1, "_etag": "a"}], "pageInfo": {"endCursor": "x", "hasNextPage": true}});
        let right = json!({"items": [{"id": 1, "_etag": "b"}], "pageInfo": {"endCursor": "y", "hasNextPage": true}});
        assert_eq!(without_volatile(&left), without_volatile(&right));
    }
}
