//! Changes of a table whose rows may not be read show nothing of them (R-EXT-6).

use serde_json::{Value, json};

use crate::needs::{ask, fixtures};

const TABLES: &str = "
    CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT, extra TEXT, state TEXT DEFAULT 'hunterzz');
    INSERT INTO orders VALUES (1, 'hunterzz', 'hunterzz', 'hunterzz'), (2, 'hunterzz', 'hunterzz', 'hunterzz');";

#[tokio::test]
async fn r_ext_6_changes_show_no_row_that_may_not_be_read() {
    for always in [false, true] {
        for (fixture, is_generic) in fixtures(TABLES, TABLES, &["list_orders", "get_order"], always).await {
            let call = async |verb: &str, params: Value| {
                let answer = ask(&fixture, is_generic, verb, "order", "orders", params.clone()).await;
                assert!(!answer.to_string().contains("hunterzz"), "{verb} {params}: {answer}");
                assert!(!answer.to_string().contains("_etag\":"), "{verb} {params}: {answer}");
                answer
            };
            for (verb, params, expected) in [
                ("update", json!({ "id": 1, "input": {} }), json!({ "id": 1 })),
                ("update", json!({ "id": 1, "input": { "note": "a" } }), json!({ "id": 1, "note": "a" })),
                (
                    "update",
                    json!({ "id": 1, "input": { "note": "a" }, "dry_run": true }),
                    json!({ "dry_run": true, "would": "update", "changes": { "note": { "to": "a" } } }),
                ),
                (
                    "delete",
                    json!({ "id": 2, "dry_run": true }),
                    json!({ "dry_run": true, "would": "delete", "before": { "id": 2 } }),
                ),
                ("delete", json!({ "id": 2 }), json!({ "id": 2 })),
                (
                    "create",
                    json!({ "id": 4, "note": "b", "dry_run": true }),
                    json!({ "dry_run": true, "would": "create", "after": { "id": 4, "note": "b" } }),
                ),
                ("create", json!({ "id": 3, "note": "b" }), json!({ "id": 3, "note": "b" })),
            ] {
                assert_eq!(call(verb, params.clone()).await["data"], expected, "{verb} {params}");
            }
            if !is_generic {
                let answer = call("update", json!({ "id": 1, "input": {}, "if_match": "x" })).await;
                assert_eq!(answer["error"]["code"], "CONFLICT_VERSION_MISMATCH", "{answer}");
                assert!(answer["error"]["details"].get("current_etag").is_none(), "{answer}");
            }
        }
    }
}
