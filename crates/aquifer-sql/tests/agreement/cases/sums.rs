//! Aggregates and their results.

use serde_json::{Value, json};

/// Aggregates and their results.
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
        // Beyond the range of a double or 64 bits.
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
        // Text that looks like another kind of value keeps its quotes.
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
        // Lists and objects are distinguished from other values, but not from each other.
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
