//! Requests and their answers, written down once for everybody. They are about the things in `shop.rs`.

use serde_json::{Value, json};

/// Conditions, and which things meet them.
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
    // Of a rule, and of a type of its own where the database has such.
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
        // Between two moments that a column can hold.
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

/// Orders, and the order of the things in them.
pub(crate) fn sorts() -> Vec<(Value, Vec<i64>)> {
    vec![
        (json!([]), vec![1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        (json!({ "field": "id", "order": "desc" }), vec![10, 9, 8, 7, 6, 5, 4, 3, 2, 1]),
        (json!("title"), vec![10, 6, 1, 3, 7, 2, 9, 8, 5, 4]),
        (json!({ "field": "title", "order": "desc" }), vec![4, 5, 8, 9, 2, 7, 3, 1, 6, 10]),
        (json!({ "field": "status" }), vec![2, 8, 4, 7, 1, 5, 6, 9, 3, 10]),
        (json!({ "field": "status", "order": "desc" }), vec![10, 3, 9, 6, 5, 1, 7, 4, 8, 2]),
        (json!({ "field": "grade" }), vec![1, 5, 9, 2, 7, 4, 8, 3, 6, 10]),
        (json!({ "field": "grade", "order": "desc" }), vec![10, 6, 3, 8, 4, 7, 2, 9, 5, 1]),
        (json!({ "field": "amount" }), vec![2, 5, 9, 1, 4, 8, 10, 7, 3, 6]),
        (json!({ "field": "amount", "order": "desc" }), vec![6, 3, 7, 10, 8, 4, 1, 9, 5, 2]),
        (json!({ "field": "big" }), vec![2, 8, 9, 10, 4, 5, 1, 7, 3, 6]),
        (json!({ "field": "big", "order": "desc" }), vec![6, 3, 7, 1, 5, 4, 10, 9, 8, 2]),
        (json!({ "field": "price" }), vec![6, 5, 2, 9, 10, 1, 4, 8, 7, 3]),
        (json!({ "field": "price", "order": "desc" }), vec![3, 7, 8, 4, 1, 10, 9, 2, 5, 6]),
        (json!({ "field": "weight" }), vec![8, 2, 5, 7, 1, 4, 10, 9, 6, 3]),
        (json!({ "field": "weight", "order": "desc" }), vec![3, 6, 9, 10, 4, 1, 7, 5, 2, 8]),
        (json!({ "field": "urgent" }), vec![2, 5, 8, 1, 4, 7, 10, 3, 6, 9]),
        (json!({ "field": "urgent", "order": "desc" }), vec![9, 6, 3, 10, 7, 4, 1, 8, 5, 2]),
        (json!({ "field": "created_at" }), vec![5, 1, 4, 2, 7, 8, 10, 9, 3, 6]),
        (json!({ "field": "created_at", "order": "desc" }), vec![6, 3, 9, 10, 8, 7, 2, 4, 1, 5]),
        (json!({ "field": "due_on" }), vec![5, 2, 1, 4, 9, 8, 7, 3, 6, 10]),
        (json!({ "field": "due_on", "order": "desc" }), vec![10, 6, 3, 7, 8, 9, 4, 1, 2, 5]),
        (json!([{ "field": "price", "order": "desc" }, { "field": "id" }]), vec![3, 7, 1, 4, 8, 9, 10, 2, 5, 6]),
        (json!([{ "field": "urgent" }, { "field": "price", "order": "desc" }]), vec![8, 2, 5, 7, 4, 1, 10, 3, 9, 6]),
        (
            json!([{ "field": "status", "order": "desc" }, { "field": "urgent" }, { "field": "weight", "order": "desc" }]),
            vec![10, 3, 5, 1, 6, 9, 4, 7, 2, 8],
        ),
        (json!([{ "field": "urgent" }, { "field": "status" }]), vec![2, 8, 5, 4, 7, 1, 10, 6, 9, 3]),
        // By kind: booleans, numbers, text, lists, objects; then nothing.
        (json!("meta.floor"), vec![8, 1, 9, 2, 5, 4, 3, 6, 7, 10]),
        (json!({ "field": "meta.floor", "order": "desc" }), vec![10, 7, 6, 3, 4, 5, 2, 9, 1, 8]),
        (json!("meta.ok"), vec![2, 1, 4, 3, 5, 6, 7, 8, 9, 10]),
        (json!("meta.room"), vec![1, 8, 2, 9, 5, 3, 4, 6, 7, 10]),
        (
            json!([{ "field": "meta.size.w", "order": "desc" }, { "field": "title" }]),
            vec![10, 6, 3, 7, 9, 5, 4, 2, 1, 8],
        ),
        (json!("meta.tags"), vec![1, 2, 4, 5, 3, 6, 7, 8, 9, 10]),
        (json!("memo.by"), vec![10, 9, 1, 2, 3, 4, 5, 6, 7, 8]),
        (json!("_computed.age_days"), vec![9, 10, 8, 2, 7, 4, 1, 5, 3, 6]),
        (json!({ "field": "_computed.age_days", "order": "desc" }), vec![6, 3, 5, 1, 4, 7, 2, 8, 10, 9]),
        (
            json!([{ "field": "_computed.parts_count", "order": "desc" }, { "field": "id" }]),
            vec![5, 1, 2, 3, 4, 6, 7, 8, 9, 10],
        ),
        (json!([{ "field": "_computed.size_class" }, { "field": "amount" }]), vec![6, 2, 5, 9, 1, 4, 8, 10, 7, 3]),
    ]
}

/// Sums, and what they come to.
pub(crate) fn sums() -> Vec<(Value, Value)> {
    vec![
        (json!({ "n": { "count": true } }), json!({ "n": 10 })),
        (
            json!({ "s": { "sum": "amount" }, "a": { "avg": "amount" }, "lo": { "min": "amount" }, "hi": { "max": "amount" } }),
            json!({ "s": 15, "a": 1.875, "lo": -5, "hi": 7 }),
        ),
        (
            json!({ "s": { "sum": "price", "avg": "price", "min": "price", "max": "price", "count": true } }),
            json!({ "s": { "sum": 100_000_037.249_9, "avg": 11_111_115.249_988_89, "min": -1.25, "max": 99_999_999.999_9, "count": 10 } }),
        ),
        (json!({ "lo": { "min": "weight" }, "hi": { "max": "weight" } }), json!({ "lo": -1.5, "hi": 1e20 })),
        // Beyond what a double or 64 bits can hold.
        (
            json!({ "s": { "sum": "big" }, "lo": { "min": "big" }, "hi": { "max": "big" } }),
            json!({ "s": "9241386435364257800", "lo": "-9007199254740993", "hi": "9223372036854775807" }),
        ),
        (json!({ "lo": { "min": "title" }, "hi": { "max": "title" } }), json!({ "lo": "", "hi": "École RÉSUMÉ" })),
        (
            json!({ "lo": { "min": "status" }, "hi": { "max": "status" }, "first": { "min": "grade" }, "last": { "max": "grade" } }),
            json!({ "lo": "closed", "hi": "open", "first": "a", "last": "c" }),
        ),
        (json!({ "lo": { "min": "urgent" }, "hi": { "max": "urgent" } }), json!({ "lo": false, "hi": true })),
        (
            json!({ "lo": { "min": "created_at" }, "hi": { "max": "created_at" } }),
            json!({ "lo": "2025-12-31T23:59:59Z", "hi": "2026-03-01T12:00:01Z" }),
        ),
        (
            json!({ "lo": { "min": "due_on" }, "hi": { "max": "due_on" } }),
            json!({ "lo": "2024-02-29", "hi": "2026-03-01" }),
        ),
        (
            json!({ "s": { "sum": "meta.floor", "avg": "meta.floor", "min": "meta.floor", "max": "meta.floor" } }),
            json!({ "s": { "sum": 3, "avg": 0.6, "min": -3, "max": 2 } }),
        ),
        (json!({ "s": { "sum": "meta.room" }, "m": { "max": "meta.room" } }), json!({ "s": null, "m": null })),
        (
            json!({ "s": { "sum": "_computed.age_days", "avg": "_computed.age_days", "min": "_computed.age_days", "max": "_computed.age_days" } }),
            json!({ "s": { "sum": 219, "avg": 27.375, "min": -1, "max": 59 } }),
        ),
        (
            json!({ "s": { "sum": "_computed.parts_count" }, "m": { "max": "_computed.size_class" } }),
            json!({ "s": 6, "m": "unknown" }),
        ),
        (json!({ "by": { "group_by": "status" } }), json!({ "by": { "closed": 2, "late": 2, "open": 4, "null": 2 } })),
        (
            json!({ "by": { "group_by": "grade", "count": true, "sum": "amount" } }),
            json!({ "by": {
                "a": { "count": 3, "sum": 4 }, "b": { "count": 2, "sum": 2 }, "c": { "count": 2, "sum": 6 },
                "null": { "count": 3, "sum": 3 } } }),
        ),
        (
            json!({ "by": { "group_by": "title", "count": true } }),
            json!({ "by": {
                "Broken door": 1, "Open window": 1, "Broken window and door": 1, "null": 1, "École RÉSUMÉ": 1,
                "100% sure_thing C:\\dir": 1, "It's \"quoted\" 😀 ok": 1, "straße STRASSE": 1, "\"null\"": 1, "": 1 } }),
        ),
        (
            json!({ "by": { "group_by": "urgent", "max": "price" } }),
            json!({ "by": { "true": 99_999_999.999_9, "false": 10, "null": 3 } }),
        ),
        (
            json!({ "by": { "group_by": "amount" } }),
            json!({ "by": { "-5": 1, "0": 1, "1": 1, "3": 4, "7": 1, "null": 2 } }),
        ),
        (
            json!({ "by": { "group_by": "price" } }),
            json!({ "by": { "-1.25": 1, "0": 1, "2.5": 1, "3": 2, "10": 3, "99999999.9999": 1, "null": 1 } }),
        ),
        (
            json!({ "by": { "group_by": "weight" } }),
            json!({ "by": { "-1.5": 1, "-0.25": 1, "0": 1, "0.1": 1, "1.5": 3, "2": 1, "1e+20": 1, "null": 1 } }),
        ),
        (
            json!({ "by": { "group_by": "big" } }),
            json!({ "by": {
                "-9007199254740993": 1, "0": 1, "5": 2, "9007199254740991": 1, "9007199254740992": 1, "9007199254740993": 1,
                "9223372036854775807": 1, "null": 2 } }),
        ),
        (
            json!({ "by": { "group_by": "created_at" } }),
            json!({ "by": {
                "2025-12-31T23:59:59Z": 1, "2026-01-01T00:00:00Z": 1, "2026-01-15T10:00:00Z": 1, "2026-02-01T00:00:00Z": 2,
                "2026-02-28T12:00:00Z": 1, "2026-03-01T12:00:00Z": 1, "2026-03-01T12:00:01Z": 1, "null": 2 } }),
        ),
        (
            json!({ "by": { "group_by": "due_on" } }),
            json!({ "by": { "2024-02-29": 1, "2026-01-15": 1, "2026-02-01": 3, "2026-02-28": 1, "2026-03-01": 1, "null": 3 } }),
        ),
        (
            json!({ "by": { "group_by": "data" } }),
            json!({ "by": { "": 1, "AA==": 1, "AAE=": 2, "/+8=": 1, "3q2+7w==": 1, "null": 4 } }),
        ),
        // Text that reads like another kind of value keeps its quotes.
        (
            json!({ "by": { "group_by": "meta.floor", "count": true } }),
            json!({ "by": { "-3": 1, "1": 2, "2": 2, "\"2\"": 1, "null": 4 } }),
        ),
        (
            json!({ "by": { "group_by": "meta.room" } }),
            json!({ "by": { "Hall": 1, "hall": 1, "École": 1, "Keller": 1, "\"null\"": 1, "null": 5 } }),
        ),
        (json!({ "by": { "group_by": "meta.ok" } }), json!({ "by": { "true": 1, "false": 1, "1": 1, "null": 7 } })),
        (
            json!({ "by": { "group_by": "memo.by" } }),
            json!({ "by": { "Ann": 1, "bob": 1, "12": 1, "\"12\"": 1, "null": 6 } }),
        ),
        // Lists and objects are told apart from everything else, not from each other.
        (json!({ "by": { "group_by": "meta" } }), json!({ "by": { "plain": 1, "[…]": 1, "{…}": 6, "null": 2 } })),
        (
            json!({ "by": { "group_by": "memo" } }),
            json!({ "by": { "true": 1, "12": 1, "Ann": 1, "[…]": 1, "{…}": 5, "null": 1 } }),
        ),
        (
            json!({ "by": { "group_by": "_computed.age_days" } }),
            json!({ "by": { "-1": 1, "0": 1, "1": 1, "28": 2, "45": 1, "59": 2, "null": 2 } }),
        ),
        (
            json!({ "by": { "group_by": "_computed.parts_count", "min": "id" } }),
            json!({ "by": { "0": 3, "1": 2, "2": 1, "3": 5 } }),
        ),
        (
            json!({ "by": { "group_by": ["status", "urgent"] } }),
            json!({ "by": {
                "closed": { "false": 2 }, "late": { "true": 2 }, "open": { "true": 1, "false": 1, "null": 2 },
                "null": { "true": 1, "null": 1 } } }),
        ),
        (
            json!({ "by": { "group_by": ["_computed.size_class", "meta.floor", "urgent"], "avg": "weight" } }),
            json!({ "by": {
                "heavy": { "null": { "null": 1e20 } },
                "unknown": { "null": { "null": null } },
                "light": {
                    "-3": { "false": -1.5 },
                    "1": { "true": 1.5, "null": 2 },
                    "2": { "false": -0.125 },
                    "\"2\"": { "true": 1.5 },
                    "null": { "true": 0.8 } } } }),
        ),
        (
            json!({ "all": { "count": true }, "by": { "group_by": "urgent" }, "again": { "group_by": "urgent", "sum": "id" } }),
            json!({ "all": 10, "by": { "true": 4, "false": 3, "null": 3 }, "again": { "true": 22, "false": 15, "null": 18 } }),
        ),
    ]
}

/// What is refused, and with which code.
pub(crate) fn refusals() -> Vec<(&'static str, Value, &'static str)> {
    let unknown = "VALIDATION_UNKNOWN_FIELD";
    let value = "VALIDATION_INVALID_VALUE";
    let of_type = "VALIDATION_INVALID_TYPE";
    let mut all = vec![];
    for (filter, code) in [
        (json!({ "titel": "x" }), unknown),
        (json!({ "title.x": "x" }), unknown),
        (json!({ "meta..x": 1 }), unknown),
        (json!({ "_computed.size": 1 }), unknown),
        (json!({ "_etag": "x" }), unknown),
        (json!({ "title_after": "2026-01-01" }), unknown),
        (json!({ "title": 5 }), of_type),
        (json!({ "title": true }), of_type),
        (json!({ "title": { "contains": 5 } }), of_type),
        (json!({ "title": { "like": "x" } }), value),
        (json!({ "title": {} }), value),
        (json!({ "title": { "in": "x" } }), of_type),
        (json!({ "title": { "between": ["a"] } }), of_type),
        (json!({ "title": { "between": ["a", null] } }), of_type),
        (json!({ "title": { "is_null": 1 } }), of_type),
        (json!({ "title": { "gt": null } }), of_type),
        (json!({ "status": "opne" }), value),
        (json!({ "grade": ["a", "d"] }), value),
        (json!({ "amount": 1.5 }), of_type),
        (json!({ "amount": "three" }), of_type),
        (json!({ "amount": { "contains": "3" } }), value),
        (json!({ "big": "9223372036854775808" }), of_type),
        (json!({ "price": "ten" }), of_type),
        (json!({ "price": "NaN" }), of_type),
        (json!({ "urgent": 1 }), of_type),
        (json!({ "urgent": "true" }), of_type),
        (json!({ "created_at": "yesterday" }), of_type),
        (json!({ "created_at": 5 }), of_type),
        (json!({ "created_after": null }), of_type),
        (json!({ "due_on": "2026-02-30" }), of_type),
        (json!({ "data": "not base64" }), of_type),
        (json!({ "data": { "gt": "AAE=" } }), value),
        (json!({ "data": { "contains": "A" } }), value),
        (json!({ "meta": { "floor": 1 } }), value),
        (json!({ "meta.floor": [[1]] }), value),
        (json!({ "meta.floor": { "is_null": "yes" } }), of_type),
        (json!({ "or": { "title": "x" } }), of_type),
        (json!({ "and": ["x"] }), of_type),
        (json!({ "not": [] }), of_type),
    ] {
        all.push(("list_things", json!({ "filter": filter }), code));
    }
    for (params, code) in [
        (json!({ "filter": "x" }), of_type),
        (json!({ "sort": "titel" }), unknown),
        (json!({ "sort": { "field": "title", "order": "up" } }), value),
        (json!({ "sort": { "order": "asc" } }), "VALIDATION_MISSING_PARAM"),
        (json!({ "sort": "data" }), value),
        (json!({ "sort": "meta" }), value),
        (json!({ "sort": "_etag" }), unknown),
        (json!({ "order": "desc" }), value),
        (json!({ "fields": "tiny" }), value),
        (json!({ "fields": [] }), value),
        (json!({ "fields": ["titel"] }), unknown),
        (json!({ "fields": ["title.x"] }), unknown),
        (json!({ "preset": "tiny" }), value),
        (json!({ "aggregate": {} }), value),
        (json!({ "aggregate": { "x": 1 } }), of_type),
        (json!({ "aggregate": { "x": {} } }), value),
        (json!({ "aggregate": { "x": { "median": "price" } } }), unknown),
        (json!({ "aggregate": { "x": { "sum": "title" } } }), value),
        (json!({ "aggregate": { "x": { "sum": "meta" } } }), value),
        (json!({ "aggregate": { "x": { "max": "data" } } }), value),
        (json!({ "aggregate": { "x": { "max": "nothing" } } }), unknown),
        (json!({ "aggregate": { "x": { "group_by": [] } } }), value),
        (json!({ "aggregate": { "x": { "group_by": "nothing" } } }), unknown),
        (json!({ "aggregate": { "x": { "count": 1 } } }), of_type),
        (json!({ "first": 0 }), value),
        (json!({ "first": 1, "last": 1 }), value),
        (json!({ "after": "x" }), value),
        (json!({ "before": "x" }), value),
        (json!({ "first": 1, "before": "x" }), value),
        (json!({ "last": 1, "after": "x" }), value),
        (json!({ "first": 1, "after": "forged" }), value),
        (json!({ "last": 1, "before": "forged" }), value),
        (json!({ "first": 1, "limit": 1 }), value),
        (json!({ "offset": 1, "page": 1 }), value),
        (json!({ "offset": 1_000_001 }), value),
        (json!({ "page": 0 }), value),
        (json!({ "query": "door" }), "VALIDATION_UNKNOWN_PARAM"),
    ] {
        all.push(("list_things", params, code));
    }
    all.push(("search_things", json!({}), "VALIDATION_MISSING_PARAM"));
    all.push(("search_things", json!({ "query": 5 }), of_type));
    all.push(("get_thing", json!({ "id": 99 }), "NOT_FOUND_RESOURCE"));
    all.push(("get_thing", json!({ "id": 1, "fields": ["titel"] }), unknown));
    all
}

/// Pages and what they show, as whole answers.
pub(crate) fn pages() -> Vec<(&'static str, Value, Value)> {
    let first = json!({
        "id": 1, "title": "Broken door", "status": "open", "grade": "a", "amount": 3, "big": "9007199254740993", "price": 10,
        "weight": 1.5, "urgent": true, "created_at": "2026-01-01T00:00:00Z", "due_on": "2026-02-01",
    });
    let mut full = first.clone();
    full["data"] = json!("AAE=");
    full["meta"] = json!({ "floor": 1, "room": "Hall", "tags": ["red", "blue"], "ok": true, "size": { "w": 2.5 } });
    full["memo"] = json!({ "by": "Ann" });
    let one = |item: Value| json!({ "items": [item], "pageInfo": { "hasNextPage": false, "hasPreviousPage": false } });
    let ids = |ids: &[i64]| -> Value { ids.iter().map(|id| json!({ "id": id })).collect() };
    let only = |fields: Value, id: i64| json!({ "filter": { "id": id }, "fields": fields });
    let mut all = vec![
        // What is shown.
        ("list_things", json!({ "filter": { "id": 1 } }), one(first.clone())),
        ("list_things", only(json!("standard"), 1), one(first.clone())),
        ("list_things", only(json!("full"), 1), one(full.clone())),
        ("list_things", only(json!("minimal"), 1), one(json!({ "id": 1, "title": "Broken door" }))),
        ("list_things", only(json!("brief"), 1), one(json!({ "id": 1, "status": "open" }))),
        ("list_things", json!({ "filter": { "id": 1 }, "preset": "brief" }), one(json!({ "id": 1, "status": "open" }))),
        (
            "list_things",
            json!({ "filter": { "id": 4 }, "preset": "brief", "fields": ["title", "id", "meta.floor"] }),
            one(json!({ "id": 4, "status": "late", "title": null, "meta": { "floor": "2" } })),
        ),
        (
            "list_things",
            json!({ "filter": { "id": 4 }, "preset": "brief", "fields": "minimal" }),
            one(json!({ "id": 4, "status": "late", "title": null })),
        ),
        (
            "list_things",
            only(json!(["meta.size.w", "meta.tags.1", "meta.tags.-1", "meta.ok", "meta.nothing", "meta.floor.x"]), 1),
            one(json!({ "meta": { "size": { "w": 2.5 }, "tags": { "1": "blue", "-1": "blue" }, "ok": true } })),
        ),
        (
            "list_things",
            only(json!(["meta.ok", "meta.room", "memo.by"]), 5),
            one(json!({ "meta": { "room": "École" } })),
        ),
        ("list_things", only(json!(["meta.floor", "data"]), 3), one(json!({ "data": null }))),
        ("list_things", only(json!(["meta.floor"]), 3), one(json!({}))),
        ("list_things", only(json!(["meta", "memo"]), 10), one(json!({ "meta": null, "memo": { "by": 12 } }))),
        ("list_things", only(json!(["meta", "meta.floor"]), 9), one(json!({ "meta": { "floor": 1, "room": "null" } }))),
        ("list_things", only(json!(["meta.floor", "meta"]), 9), one(json!({ "meta": { "floor": 1, "room": "null" } }))),
        (
            "list_things",
            only(json!(["meta.0", "meta.-1", "meta.2"]), 6),
            one(json!({ "meta": { "0": "a", "-1": "b" } })),
        ),
        ("list_things", only(json!(["meta", "memo"]), 7), one(json!({ "meta": "plain", "memo": 12 }))),
        (
            "list_things",
            only(json!(["_computed.age_days", "_computed.parts_count", "_computed.size_class"]), 1),
            one(json!({ "_computed": { "age_days": 59, "parts_count": 2, "size_class": "light" } })),
        ),
        (
            "list_things",
            only(json!(["_computed.age_days", "id", "_computed.size_class"]), 3),
            one(json!({ "_computed": { "age_days": null, "size_class": "unknown" }, "id": 3 })),
        ),
        ("list_things", only(json!(["id", "id", "_etag"]), 3), one(json!({ "id": 3 }))),
        ("get_thing", json!({ "id": 1 }), full.clone()),
        ("get_thing", json!({ "id": 1, "fields": "standard" }), first),
        ("get_thing", json!({ "id": 1, "preset": "minimal" }), json!({ "id": 1, "title": "Broken door" })),
        (
            "get_thing",
            json!({ "id": 2, "fields": ["meta.room", "_computed.parts_count"] }),
            json!({ "meta": { "room": "hall" }, "_computed": { "parts_count": 1 } }),
        ),
        // Sums beside items.
        (
            "list_things",
            json!({ "aggregate": { "n": { "count": true } }, "include_items": true, "first": 1, "fields": ["id"],
                "filter": { "urgent": true }, "total": true }),
            json!({ "aggregations": { "n": 4 }, "items": [{ "id": 1 }],
                "pageInfo": { "hasNextPage": true, "hasPreviousPage": false, "totalCount": 4 } }),
        ),
        (
            "list_things",
            json!({ "aggregate": { "n": { "group_by": "urgent" } }, "include_items": true, "limit": 1, "fields": ["id"],
                "filter": { "grade": "a" }, "total": true }),
            json!({ "aggregations": { "n": { "true": 1, "false": 1, "null": 1 } }, "items": [{ "id": 1 }],
                "pagination": { "limit": 1, "offset": 0, "returned": 1, "total_items": 3, "has_more": true } }),
        ),
        (
            "list_things",
            json!({ "aggregate": { "n": { "count": true } }, "include_items": false, "first": 1, "total": true }),
            json!({ "aggregations": { "n": 10 } }),
        ),
        (
            "search_things",
            json!({ "query": "door window", "aggregate": { "n": { "count": true }, "by": { "group_by": "urgent" } } }),
            json!({ "aggregations": { "n": 3, "by": { "true": 1, "false": 1, "null": 1 } } }),
        ),
        // One item too large a number away.
        (
            "list_things",
            json!({ "edges": true, "first": 2, "fields": ["id"] }),
            json!({ "edges": [{ "node": { "id": 1 } }, { "node": { "id": 2 } }],
                "pageInfo": { "hasNextPage": true, "hasPreviousPage": false } }),
        ),
        (
            "list_things",
            json!({ "edges": true, "last": 1, "fields": ["id"] }),
            json!({ "edges": [{ "node": { "id": 10 } }], "pageInfo": { "hasNextPage": false, "hasPreviousPage": true } }),
        ),
        (
            "list_things",
            json!({ "edges": true, "page": 1, "page_size": 1, "fields": ["id"] }),
            json!({ "edges": [{ "node": { "id": 1 } }], "pagination": { "page": 1, "page_size": 1, "has_more": true } }),
        ),
    ];
    for (params, found, more) in [
        (json!({ "first": 3 }), &[1, 2, 3][..], (true, false)),
        (json!({ "first": 10 }), &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], (false, false)),
        (json!({ "last": 3 }), &[8, 9, 10], (false, true)),
        (json!({ "last": 10 }), &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], (false, false)),
        (json!({ "last": 2, "sort": "price" }), &[7, 3], (false, true)),
        (json!({ "first": 3, "filter": { "id": 0 } }), &[], (false, false)),
    ] {
        let mut params = params;
        params["fields"] = json!(["id"]);
        let answer = json!({ "items": ids(found), "pageInfo": { "hasNextPage": more.0, "hasPreviousPage": more.1 } });
        all.push(("list_things", params, answer));
    }
    for (limit, offset, found, more) in [
        (3, 0, &[1, 2, 3][..], true),
        (3, 7, &[8, 9, 10], false),
        (3, 8, &[9, 10], false),
        (3, 10, &[], false),
        (100, 0, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], false),
        (3, 1_000_000, &[], false),
    ] {
        let params = json!({ "limit": limit, "offset": offset, "fields": ["id"], "total": true });
        let pagination = json!({
            "limit": limit, "offset": offset, "returned": found.len(), "total_items": 10, "has_more": more,
        });
        all.push(("list_things", params, json!({ "items": ids(found), "pagination": pagination })));
    }
    for (page, size, found, pages, more) in [
        (1, 4, &[1, 2, 3, 4][..], 3, true),
        (3, 4, &[9, 10], 3, false),
        (2, 5, &[6, 7, 8, 9, 10], 2, false),
        (4, 4, &[], 3, false),
        (1000, 100, &[], 1, false),
    ] {
        let params = json!({ "page": page, "page_size": size, "fields": ["id"], "total": true });
        let pagination =
            json!({ "page": page, "page_size": size, "total_items": 10, "total_pages": pages, "has_more": more });
        all.push(("list_things", params, json!({ "items": ids(found), "pagination": pagination })));
    }
    all
}

/// What is asked of an empty table, and what it answers.
pub(crate) fn of_nothing() -> Vec<(&'static str, Value, Value)> {
    let nothing = json!({ "items": [], "pageInfo": { "hasNextPage": false, "hasPreviousPage": false } });
    vec![
        ("list_things", json!({}), nothing.clone()),
        ("list_things", json!({ "filter": { "not": { "created_after": "2026-01-01" } } }), nothing.clone()),
        ("list_things", json!({ "last": 5, "sort": "meta.floor" }), nothing.clone()),
        ("search_things", json!({ "query": "door" }), nothing),
        (
            "list_things",
            json!({ "page": 1, "total": true }),
            json!({ "items": [],
                "pagination": { "page": 1, "page_size": 20, "total_items": 0, "total_pages": 0, "has_more": false } }),
        ),
        (
            "list_things",
            json!({ "limit": 5, "edges": true }),
            json!({ "edges": [], "pagination": { "limit": 5, "offset": 0, "returned": 0, "has_more": false } }),
        ),
        (
            "list_things",
            json!({ "aggregate": {
                "n": { "count": true }, "s": { "sum": "amount" }, "a": { "avg": "price" }, "lo": { "min": "created_at" },
                "hi": { "max": "urgent" }, "f": { "sum": "meta.floor" }, "by": { "group_by": "status" } } }),
            json!({ "aggregations": { "n": 0, "s": null, "a": null, "lo": null, "hi": null, "f": null, "by": {} } }),
        ),
        ("get_thing", json!({ "id": 1 }), json!({ "error": "NOT_FOUND_RESOURCE" })),
    ]
}

/// What is looked for, and in which things it is found, the best first.
pub(crate) fn searches() -> Vec<(&'static str, Vec<i64>)> {
    vec![
        ("door", vec![1, 3]),
        ("DOOR", vec![1, 3]),
        ("window", vec![2, 3]),
        ("broken window", vec![3, 1, 2]),
        ("window broken", vec![3, 1, 2]),
        ("broken window door", vec![3, 1, 2]),
        ("door door door window", vec![3, 1, 2]),
        ("\"broken window\"", vec![3]),
        ("\"window broken\"", vec![]),
        ("\"Broken   WINDOW,and\"", vec![3]),
        ("\"broken door\" window", vec![1, 2, 3]),
        ("\"broken door", vec![1, 3]),
        ("doo", vec![]),
        ("oor", vec![]),
        ("ÉCOLE", vec![5]),
        ("résumé", vec![5]),
        ("resume", vec![]),
        ("ecole", vec![]),
        ("straße", vec![8]),
        ("STRAẞE", vec![8]),
        ("strasse", vec![8]),
        ("sure", vec![6]),
        ("sure_thing", vec![6]),
        ("thing", vec![6]),
        ("100", vec![6]),
        ("100%", vec![6]),
        ("c dir", vec![6]),
        ("quoted", vec![7]),
        ("It's", vec![7]),
        ("s", vec![7]),
        ("😀", vec![]),
        ("null", vec![9]),
        ("", vec![]),
        ("   ", vec![]),
        ("\"", vec![]),
        ("\"\"", vec![]),
        ("!?* %_\\ ()[]{}^$.|+-:", vec![]),
        ("AND OR NOT NEAR(", vec![3]),
        ("door* -window title:door (door)", vec![3, 1, 2]),
        ("' OR 1=1 --", vec![]),
    ]
}
