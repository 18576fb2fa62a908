//! Filters, and the rows that match them.

use serde_json::{Value, json};

/// Filters, and the things that match them.
pub(crate) fn filters() -> Vec<(Value, Vec<i64>)> {
    let mut all = Vec::new();
    all.extend(text());
    all.extend(words());
    all.extend(numbers());
    all.extend(booleans());
    all.extend(times());
    all.extend(bytes());
    all.extend(inside_json());
    all.extend(combined());
    all.extend(computed());
    all
}

fn text() -> Vec<(Value, Vec<i64>)> {
    vec![
        (json!({ "title": "Broken door" }), vec![1]),
        (json!({ "title": "broken door" }), vec![]),
        (json!({ "title": "" }), vec![10]),
        (json!({ "title": null }), vec![4]),
        (json!({ "title": ["Broken door", "null", "no such"] }), vec![1, 9]),
        (json!({ "title": ["null", null] }), vec![4, 9]),
        (json!({ "title": [] }), vec![]),
        (json!({ "title": [null] }), vec![4]),
        (json!({ "title": { "eq": "null" } }), vec![9]),
        (json!({ "title": { "eq": null } }), vec![4]),
        (json!({ "title": { "ne": "null" } }), vec![1, 2, 3, 4, 5, 6, 7, 8, 10]),
        (json!({ "title": { "ne": null } }), vec![1, 2, 3, 5, 6, 7, 8, 9, 10]),
        (json!({ "title": { "gt": "null" } }), vec![5, 8]),
        (json!({ "title": { "gte": "null" } }), vec![5, 8, 9]),
        (json!({ "title": { "lt": "B" } }), vec![6, 10]),
        (json!({ "title": { "lte": "Broken door" } }), vec![1, 6, 10]),
        (json!({ "title": { "gt": "z" } }), vec![5]),
        (json!({ "title": { "in": ["null", "Open window"] } }), vec![2, 9]),
        (json!({ "title": { "in": [] } }), vec![]),
        (json!({ "title": { "not_in": ["null", ""] } }), vec![1, 2, 3, 4, 5, 6, 7, 8]),
        (json!({ "title": { "not_in": ["null", null] } }), vec![1, 2, 3, 5, 6, 7, 8, 10]),
        (json!({ "title": { "not_in": [] } }), vec![1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        (json!({ "title": { "between": ["Broken door", "Open window"] } }), vec![1, 2, 3, 7]),
        (json!({ "title": { "between": ["b", "a"] } }), vec![]),
        (json!({ "title": { "is_null": true } }), vec![4]),
        (json!({ "title": { "is_null": false } }), vec![1, 2, 3, 5, 6, 7, 8, 9, 10]),
        (json!({ "title": { "contains": "DOOR" } }), vec![1, 3]),
        (json!({ "title": { "contains": "" } }), vec![1, 2, 3, 5, 6, 7, 8, 9, 10]),
        (json!({ "title": { "starts_with": "broken" } }), vec![1, 3]),
        (json!({ "title": { "starts_with": "window" } }), vec![]),
        (json!({ "title": { "ends_with": "DOOR" } }), vec![1, 3]),
        (json!({ "title": { "ends_with": "broken" } }), vec![]),
        (json!({ "title": { "contains": "é" } }), vec![5]),
        (json!({ "title": { "contains": "É" } }), vec![5]),
        (json!({ "title": { "starts_with": "éCOLE" } }), vec![5]),
        (json!({ "title": { "ends_with": "sumÉ" } }), vec![5]),
        (json!({ "title": { "contains": "resume" } }), vec![]),
        (json!({ "title": { "contains": "STRAßE" } }), vec![8]),
        (json!({ "title": { "contains": "STRAẞE" } }), vec![8]),
        (json!({ "title": { "starts_with": "strasse" } }), vec![]),
        (json!({ "title": { "ends_with": "strasse" } }), vec![8]),
        (json!({ "title": { "contains": "%" } }), vec![6]),
        (json!({ "title": { "contains": "_" } }), vec![6]),
        (json!({ "title": { "contains": "\\" } }), vec![6]),
        (json!({ "title": { "contains": "c:\\D" } }), vec![6]),
        (json!({ "title": { "starts_with": "100%" } }), vec![6]),
        (json!({ "title": { "starts_with": "1%" } }), vec![]),
        (json!({ "title": { "ends_with": "\\dir" } }), vec![6]),
        (json!({ "title": { "contains": "'" } }), vec![7]),
        (json!({ "title": { "contains": "\"Q" } }), vec![7]),
        (json!({ "title": { "contains": "😀" } }), vec![7]),
        (json!({ "title": { "contains": "😀 OK" } }), vec![7]),
        (json!({ "title": "It's \"quoted\" 😀 ok" }), vec![7]),
        (json!({ "title": { "starts_with": "b", "ends_with": "r", "ne": "Broken door" } }), vec![3]),
    ]
}

fn words() -> Vec<(Value, Vec<i64>)> {
    let mut all = Vec::new();
    // Allowed by a check, or an enumeration type where the database has them.
    for (field, [low, mid, high], lows, mids, highs) in [
        ("status", ["closed", "late", "open"], vec![2, 8], vec![4, 7], vec![1, 5, 6, 9]),
        ("grade", ["a", "b", "c"], vec![1, 5, 9], vec![2, 7], vec![4, 8]),
    ] {
        let both = |a: &[i64], b: &[i64]| {
            let mut both = [a, b].concat();
            both.sort_unstable();
            both
        };
        let missing: Vec<i64> =
            (1..=10).filter(|id| ![&lows, &mids, &highs].iter().any(|ids| ids.contains(id))).collect();
        all.extend([
            (json!({ field: low }), lows.clone()),
            (json!({ field: [low, high] }), both(&lows, &highs)),
            (json!({ field: { "eq": mid } }), mids.clone()),
            (json!({ field: { "ne": mid } }), both(&both(&lows, &highs), &missing)),
            (json!({ field: { "gt": low } }), both(&mids, &highs)),
            (json!({ field: { "gte": mid } }), both(&mids, &highs)),
            (json!({ field: { "lt": mid } }), lows.clone()),
            (json!({ field: { "lte": mid } }), both(&lows, &mids)),
            (json!({ field: { "in": [mid, null] } }), both(&mids, &missing)),
            (json!({ field: { "not_in": [low, mid] } }), both(&highs, &missing)),
            (json!({ field: { "between": [low, mid] } }), both(&lows, &mids)),
            (json!({ field: { "contains": high.to_uppercase() } }), highs.clone()),
            (json!({ field: { "starts_with": high.chars().next() } }), highs.clone()),
            (json!({ field: { "ends_with": "x" } }), vec![]),
            (json!({ field: { "is_null": true } }), missing.clone()),
            (json!({ field: null }), missing),
        ]);
    }
    all
}

fn numbers() -> Vec<(Value, Vec<i64>)> {
    vec![
        (json!({ "amount": 3 }), vec![1, 4, 8, 10]),
        (json!({ "amount": 3.0 }), vec![1, 4, 8, 10]),
        (json!({ "amount": "3" }), vec![1, 4, 8, 10]),
        (json!({ "amount": 100_000 }), vec![]),
        (json!({ "amount": { "lt": 100_000 } }), vec![1, 2, 4, 5, 7, 8, 9, 10]),
        (json!({ "amount": [0, 7, null] }), vec![3, 5, 6, 7]),
        (json!({ "amount": { "ne": 3 } }), vec![2, 3, 5, 6, 7, 9]),
        (json!({ "amount": { "gt": 1 } }), vec![1, 4, 7, 8, 10]),
        (json!({ "amount": { "gte": 1 } }), vec![1, 4, 7, 8, 9, 10]),
        (json!({ "amount": { "lt": 0 } }), vec![2]),
        (json!({ "amount": { "lte": 0 } }), vec![2, 5]),
        (json!({ "amount": { "in": [1, 7] } }), vec![7, 9]),
        (json!({ "amount": { "not_in": [3] } }), vec![2, 3, 5, 6, 7, 9]),
        (json!({ "amount": { "between": [0, 3] } }), vec![1, 4, 5, 8, 9, 10]),
        (json!({ "amount": { "is_null": true } }), vec![3, 6]),
        (json!({ "big": "9007199254740993" }), vec![1]),
        (json!({ "big": "9007199254740992" }), vec![5]),
        (json!({ "big": 5 }), vec![9, 10]),
        (json!({ "big": { "gt": "9007199254740992" } }), vec![1, 7]),
        (json!({ "big": { "gte": "9007199254740992" } }), vec![1, 5, 7]),
        (json!({ "big": { "lt": "9007199254740992" } }), vec![2, 4, 8, 9, 10]),
        (json!({ "big": { "lte": "-9007199254740993" } }), vec![2]),
        (json!({ "big": { "between": ["9007199254740991", "9007199254740992"] } }), vec![4, 5]),
        (json!({ "big": { "in": ["9223372036854775807", 0] } }), vec![7, 8]),
        (json!({ "big": { "ne": "9223372036854775807" } }), vec![1, 2, 3, 4, 5, 6, 8, 9, 10]),
        (json!({ "price": 10 }), vec![1, 4, 8]),
        (json!({ "price": 10.0 }), vec![1, 4, 8]),
        (json!({ "price": "10" }), vec![1, 4, 8]),
        (json!({ "price": "2.50" }), vec![2]),
        (json!({ "price": -0.0 }), vec![5]),
        (json!({ "price": { "gt": 3 } }), vec![1, 4, 7, 8]),
        (json!({ "price": { "gte": 3.0 } }), vec![1, 4, 7, 8, 9, 10]),
        (json!({ "price": { "lt": 2.5 } }), vec![5, 6]),
        (json!({ "price": { "lte": 2.5 } }), vec![2, 5, 6]),
        (json!({ "price": { "ne": 10 } }), vec![2, 3, 5, 6, 7, 9, 10]),
        (json!({ "price": { "in": [2.5, -1.25, "0"] } }), vec![2, 5, 6]),
        (json!({ "price": { "not_in": [10, 3, null] } }), vec![2, 5, 6, 7]),
        (json!({ "price": { "between": [0, 2.5] } }), vec![2, 5]),
        (json!({ "price": 99_999_999.999_9 }), vec![7]),
        (json!({ "price": { "lt": 1e300 } }), vec![1, 2, 4, 5, 6, 7, 8, 9, 10]),
        (json!({ "price": { "is_null": true } }), vec![3]),
        (json!({ "weight": 1.5 }), vec![1, 4, 10]),
        (json!({ "weight": 0.1 }), vec![7]),
        (json!({ "weight": { "gt": -0.0 } }), vec![1, 4, 6, 7, 9, 10]),
        (json!({ "weight": { "gte": 0 } }), vec![1, 4, 5, 6, 7, 9, 10]),
        (json!({ "weight": { "lt": 0 } }), vec![2, 8]),
        (json!({ "weight": { "lte": 0.1 } }), vec![2, 5, 7, 8]),
        (json!({ "weight": { "gt": 1e19 } }), vec![6]),
        (json!({ "weight": { "ne": 1.5 } }), vec![2, 3, 5, 6, 7, 8, 9]),
        (json!({ "weight": { "in": [0.1, 2, 1e20] } }), vec![6, 7, 9]),
        (json!({ "weight": { "between": [-1.5, -0.25] } }), vec![2, 8]),
        (json!({ "weight": { "is_null": false } }), vec![1, 2, 4, 5, 6, 7, 8, 9, 10]),
    ]
}

fn booleans() -> Vec<(Value, Vec<i64>)> {
    vec![
        (json!({ "urgent": true }), vec![1, 4, 7, 10]),
        (json!({ "urgent": false }), vec![2, 5, 8]),
        (json!({ "urgent": null }), vec![3, 6, 9]),
        (json!({ "urgent": [true, null] }), vec![1, 3, 4, 6, 7, 9, 10]),
        (json!({ "urgent": { "eq": false } }), vec![2, 5, 8]),
        (json!({ "urgent": { "ne": true } }), vec![2, 3, 5, 6, 8, 9]),
        (json!({ "urgent": { "gt": false } }), vec![1, 4, 7, 10]),
        (json!({ "urgent": { "gte": false } }), vec![1, 2, 4, 5, 7, 8, 10]),
        (json!({ "urgent": { "lt": true } }), vec![2, 5, 8]),
        (json!({ "urgent": { "lte": false } }), vec![2, 5, 8]),
        (json!({ "urgent": { "in": [false] } }), vec![2, 5, 8]),
        (json!({ "urgent": { "not_in": [false] } }), vec![1, 3, 4, 6, 7, 9, 10]),
        (json!({ "urgent": { "between": [false, true] } }), vec![1, 2, 4, 5, 7, 8, 10]),
        (json!({ "urgent": { "is_null": true } }), vec![3, 6, 9]),
    ]
}

fn times() -> Vec<(Value, Vec<i64>)> {
    vec![
        (json!({ "created_at": "2026-02-01T00:00:00Z" }), vec![2, 7]),
        (json!({ "created_at": "2026-02-01" }), vec![2, 7]),
        (json!({ "created_at": "2026-02-01 00:00:00" }), vec![2, 7]),
        (json!({ "created_at": "2026-02-01T01:00:00+01:00" }), vec![2, 7]),
        (json!({ "created_at": ["2026-01-01", null] }), vec![1, 3, 6]),
        (json!({ "created_at": { "ne": "2026-02-01" } }), vec![1, 3, 4, 5, 6, 8, 9, 10]),
        (json!({ "created_at": { "gt": "2026-02-01" } }), vec![8, 9, 10]),
        (json!({ "created_at": { "gte": "2026-02-01" } }), vec![2, 7, 8, 9, 10]),
        (json!({ "created_at": { "lt": "2026-01-01" } }), vec![5]),
        (json!({ "created_at": { "lte": "2026-01-01" } }), vec![1, 5]),
        (json!({ "created_at": { "in": ["2026-01-15T12:00:00+02:00"] } }), vec![4]),
        (json!({ "created_at": { "not_in": ["2026-02-01", null] } }), vec![1, 4, 5, 8, 9, 10]),
        (json!({ "created_at": { "between": ["2026-01-01", "2026-02-01"] } }), vec![1, 2, 4, 7]),
        (json!({ "created_at": { "is_null": true } }), vec![3, 6]),
        (json!({ "created_after": "2026-02-01" }), vec![8, 9, 10]),
        (json!({ "created_before": "2026-01-15T10:00:00Z" }), vec![1, 5]),
        (json!({ "created_after": "2026-01-01", "created_before": "2026-02-01" }), vec![4]),
        // Between two times that a column can store.
        (json!({ "created_at": "2026-03-01T12:00:00.0000005Z" }), vec![]),
        (json!({ "created_at": ["2026-03-01T12:00:00.25Z", "2026-01-01"] }), vec![1]),
        (json!({ "created_at": { "ne": "2026-03-01T12:00:00.25Z", "gt": "2026-02-28" } }), vec![8, 9, 10]),
        (json!({ "created_at": { "gt": "2026-03-01T12:00:00.0000005Z" } }), vec![9]),
        (json!({ "created_at": { "gte": "2026-03-01T12:00:00.0005Z" } }), vec![9]),
        (json!({ "created_at": { "gte": "2026-03-01T11:59:59.9999999Z" } }), vec![9, 10]),
        (json!({ "created_at": { "gt": "2026-02-28", "lt": "2026-03-01T12:00:00.5Z" } }), vec![8, 10]),
        (json!({ "created_at": { "gt": "2026-02-28", "lte": "2026-03-01T12:00:00.0000005Z" } }), vec![8, 10]),
        (json!({ "created_at": { "gt": "2026-02-28", "lt": "2026-03-01T12:00:00.0000005Z" } }), vec![8, 10]),
        (json!({ "created_at": { "lt": "1969-12-31T23:59:59.5Z" } }), vec![]),
        (json!({ "due_on": "2026-02-01" }), vec![1, 4, 9]),
        (json!({ "due_on": ["2024-02-29", null] }), vec![3, 5, 6, 10]),
        (json!({ "due_on": { "ne": "2026-02-01" } }), vec![2, 3, 5, 6, 7, 8, 10]),
        (json!({ "due_on": { "gt": "2026-02-01" } }), vec![7, 8]),
        (json!({ "due_on": { "gte": "2026-02-01" } }), vec![1, 4, 7, 8, 9]),
        (json!({ "due_on": { "lt": "2026-01-15" } }), vec![5]),
        (json!({ "due_on": { "lte": "2026-01-15" } }), vec![2, 5]),
        (json!({ "due_on": { "in": ["2026-03-01"] } }), vec![7]),
        (json!({ "due_on": { "not_in": ["2026-02-01", null] } }), vec![2, 5, 7, 8]),
        (json!({ "due_on": { "between": ["2026-01-01", "2026-02-28"] } }), vec![1, 2, 4, 8, 9]),
        (json!({ "due_on": { "is_null": true } }), vec![3, 6, 10]),
        (json!({ "due_after": "2026-02-01" }), vec![7, 8]),
        (json!({ "due_before": "2026-02-01" }), vec![2, 5]),
    ]
}

fn bytes() -> Vec<(Value, Vec<i64>)> {
    vec![
        (json!({ "data": "AAE=" }), vec![1, 8]),
        (json!({ "data": "" }), vec![2]),
        (json!({ "data": ["AA==", "/+8="] }), vec![4, 5]),
        (json!({ "data": { "ne": "AAE=" } }), vec![2, 3, 4, 5, 6, 7, 9, 10]),
        (json!({ "data": { "in": ["3q2+7w==", null] } }), vec![3, 6, 7, 9, 10]),
        (json!({ "data": { "not_in": ["AAE=", ""] } }), vec![3, 4, 5, 6, 7, 9, 10]),
        (json!({ "data": { "is_null": false } }), vec![1, 2, 4, 5, 7, 8]),
        (json!({ "data": null }), vec![3, 6, 9, 10]),
    ]
}

fn inside_json() -> Vec<(Value, Vec<i64>)> {
    vec![
        (json!({ "meta": null }), vec![3, 10]),
        (json!({ "meta": { "is_null": false } }), vec![1, 2, 4, 5, 6, 7, 8, 9]),
        (json!({ "meta": "plain" }), vec![7]),
        (json!({ "meta": { "contains": "LAI" } }), vec![7]),
        (json!({ "meta.floor": 1 }), vec![1, 9]),
        (json!({ "meta.floor": 1.0 }), vec![1, 9]),
        (json!({ "meta.floor": 2 }), vec![2, 5]),
        (json!({ "meta.floor": "2" }), vec![4]),
        (json!({ "meta.floor": [2, "2"] }), vec![2, 4, 5]),
        (json!({ "meta.floor": [1, null] }), vec![1, 3, 6, 7, 9, 10]),
        (json!({ "meta.floor": { "ne": 2 } }), vec![1, 3, 4, 6, 7, 8, 9, 10]),
        (json!({ "meta.floor": { "gt": 1 } }), vec![2, 5]),
        (json!({ "meta.floor": { "gte": 1 } }), vec![1, 2, 5, 9]),
        (json!({ "meta.floor": { "lt": 1 } }), vec![8]),
        (json!({ "meta.floor": { "lte": 1.5 } }), vec![1, 8, 9]),
        (json!({ "meta.floor": { "gt": "1" } }), vec![4]),
        (json!({ "meta.floor": { "not_in": [1, 2] } }), vec![3, 4, 6, 7, 8, 10]),
        (json!({ "meta.floor": { "between": [-3, 1] } }), vec![1, 8, 9]),
        (json!({ "meta.floor": { "is_null": true } }), vec![3, 6, 7, 10]),
        (json!({ "meta.floor": { "contains": "2" } }), vec![4]),
        (json!({ "meta.room": "Hall" }), vec![1]),
        (json!({ "meta.room": null }), vec![3, 4, 6, 7, 10]),
        (json!({ "meta.room": ["hall", "null"] }), vec![2, 9]),
        (json!({ "meta.room": { "contains": "HALL" } }), vec![1, 2]),
        (json!({ "meta.room": { "starts_with": "école" } }), vec![5]),
        (json!({ "meta.room": { "ends_with": "ER" } }), vec![8]),
        (json!({ "meta.room": { "gt": "Hall" } }), vec![2, 5, 8, 9]),
        (json!({ "meta.room": { "lte": "Hall" } }), vec![1]),
        (json!({ "meta.ok": true }), vec![1]),
        (json!({ "meta.ok": false }), vec![2]),
        (json!({ "meta.ok": 1 }), vec![4]),
        (json!({ "meta.ok": [true, 1, false] }), vec![1, 2, 4]),
        (json!({ "meta.ok": { "gt": false } }), vec![1]),
        (json!({ "meta.ok": { "ne": true } }), vec![2, 3, 4, 5, 6, 7, 8, 9, 10]),
        (json!({ "meta.size.w": 2.5 }), vec![1, 8]),
        (json!({ "meta.size.w": { "gt": 2.5 } }), vec![2]),
        (json!({ "meta.size": { "is_null": false } }), vec![1, 2, 8]),
        (json!({ "meta.size": "x" }), vec![]),
        (json!({ "meta.tags.0": "red" }), vec![1, 5]),
        (json!({ "meta.tags.1": "blue" }), vec![1]),
        (json!({ "meta.tags.-1": "blue" }), vec![1, 4]),
        (json!({ "meta.tags.-1": 7 }), vec![5]),
        (json!({ "meta.tags.1.0": "x" }), vec![5]),
        (json!({ "meta.tags.9": null, "meta.tags": { "is_null": false } }), vec![1, 2, 4, 5]),
        (json!({ "meta.tags.2": { "is_null": true }, "meta.tags": { "is_null": false } }), vec![1, 2, 4, 5]),
        (json!({ "meta.tags.x": { "is_null": false } }), vec![]),
        (json!({ "meta.0": "a" }), vec![6]),
        (json!({ "meta.1": ["b", "c"] }), vec![6]),
        (json!({ "meta.no'such\"thing": null }), vec![1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        (json!({ "not": { "meta.floor": { "gt": 0 } } }), vec![3, 4, 6, 7, 8, 10]),
        (json!({ "memo.by": "Ann" }), vec![1]),
        (json!({ "memo.by": { "contains": "A" } }), vec![1]),
        (json!({ "memo.by": ["12", 12] }), vec![9, 10]),
        (json!({ "memo.by": 12 }), vec![10]),
        (json!({ "memo": "Ann" }), vec![4]),
        (json!({ "memo": 12 }), vec![7]),
        (json!({ "memo": true }), vec![8]),
        (json!({ "memo": { "gte": 12 } }), vec![7]),
        (json!({ "memo": null }), vec![3]),
        (json!({ "memo.0": 1 }), vec![6]),
    ]
}

fn combined() -> Vec<(Value, Vec<i64>)> {
    vec![
        (json!({}), vec![1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        (json!({ "and": [] }), vec![1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        (json!({ "or": [] }), vec![]),
        (json!({ "not": {} }), vec![]),
        (json!({ "or": [{}] }), vec![1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        (json!({ "not": { "or": [] } }), vec![1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        (json!({ "status": "open", "urgent": true }), vec![1]),
        (json!({ "and": [{ "status": "open" }, { "price": { "lt": 5 } }] }), vec![5, 6, 9]),
        (json!({ "or": [{ "status": "late" }, { "price": 10 }] }), vec![1, 4, 7, 8]),
        (json!({ "not": { "price": { "gt": 3 } } }), vec![2, 3, 5, 6, 9, 10]),
        (json!({ "not": { "not": { "price": { "gt": 3 } } } }), vec![1, 4, 7, 8]),
        (json!({ "not": { "title": { "contains": "o" } } }), vec![4, 6, 8, 9, 10]),
        (json!({ "not": { "price": 10, "urgent": true } }), vec![2, 3, 5, 6, 7, 8, 9, 10]),
        (json!({ "not": { "or": [{ "price": 10 }, { "urgent": true }] } }), vec![2, 3, 5, 6, 9]),
        (json!({ "not": { "price": { "is_null": true } } }), vec![1, 2, 4, 5, 6, 7, 8, 9, 10]),
        (json!({ "not": { "price": { "in": [] } } }), vec![1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        (json!({ "not": { "amount": { "between": [0, 3] } } }), vec![2, 3, 6, 7]),
        (json!({ "or": [{ "not": { "urgent": true } }, { "urgent": true }] }), vec![1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        (json!({ "and": [{ "not": { "urgent": true } }, { "not": { "urgent": false } }] }), vec![3, 6, 9]),
        (
            json!({ "status": "open", "or": [{ "grade": "a", "amount": { "gte": 1 } }, { "not": { "price": { "gte": 0 } } }] }),
            vec![1, 6, 9],
        ),
        (json!({ "price": { "gt": 0, "lt": 10, "ne": 3 } }), vec![2]),
    ]
}

fn computed() -> Vec<(Value, Vec<i64>)> {
    vec![
        (json!({ "_computed.age_days": 59 }), vec![1, 5]),
        (json!({ "_computed.age_days": { "lt": 1 } }), vec![9, 10]),
        (json!({ "_computed.age_days": { "gte": 28, "ne": 59 } }), vec![2, 4, 7]),
        (json!({ "_computed.age_days": null }), vec![3, 6]),
        (json!({ "_computed.age_days": [0, -1, null] }), vec![3, 6, 9, 10]),
        (json!({ "not": { "_computed.age_days": { "lt": 59 } } }), vec![1, 3, 5, 6]),
        (json!({ "_computed.parts_count": 0 }), vec![3, 4, 6, 7, 8, 9, 10]),
        (json!({ "_computed.parts_count": { "between": [1, 2] } }), vec![1, 2]),
        (json!({ "_computed.parts_count": [3, 1] }), vec![2, 5]),
        (json!({ "_computed.size_class": "heavy" }), vec![6]),
        (json!({ "_computed.size_class": { "contains": "EA" } }), vec![6]),
        (json!({ "_computed.size_class": { "not_in": ["light"] } }), vec![3, 6]),
    ]
}
