//! A schema with 500 tables: one small set of operations for all of them.

use aquifer_sql::Style;
use serde_json::{Value, json};

use crate::support::Fixture;

/// 500 tables, some of them with special features.
fn many() -> String {
    let mut sql = String::from(
        "CREATE TABLE customers (id int PRIMARY KEY, name varchar(20) NOT NULL, \"Home Town\" text, status text NOT NULL DEFAULT 'new' CHECK (status IN ('new', 'old')), meta jsonb);
         CREATE TABLE orders (id int PRIMARY KEY, customer_id int NOT NULL REFERENCES customers ON DELETE CASCADE, total numeric(8, 2));
         CREATE TABLE order_lines (order_id int REFERENCES orders ON DELETE CASCADE, line int, dry_run boolean, fields text, key text, PRIMARY KEY (order_id, line));
         CREATE TABLE heap (a int);
         CREATE VIEW old_customers AS SELECT id, name FROM customers WHERE status = 'old';
         INSERT INTO customers SELECT g, 'Customer ' || g FROM generate_series(1, 30) g;
         INSERT INTO orders SELECT g, 1 + g % 30, g FROM generate_series(1, 60) g;
         INSERT INTO heap SELECT g FROM generate_series(1, 30) g;",
    );
    for number in 0..495 {
        sql += &format!("CREATE TABLE filler_{number} (id int PRIMARY KEY, name text, n int, customer_id int);");
    }
    sql
}

#[tokio::test]
async fn r_int_6_five_hundred_tables_have_a_small_catalog() {
    let fixture = Fixture::postgres_with(&many(), |settings| settings.style = Style::Generic).await;
    let names = fixture.operations();
    assert_eq!(
        names,
        [
            "create_record",
            "delete_record",
            "get_record",
            "get_table_schema",
            "list_records",
            "list_tables",
            "query_relationships",
            "search_records",
            "update_record"
        ]
    );
    let whole = fixture.call_ok("introspect", json!({ "query": "operations" })).await.to_string();
    assert!(whole.len() < 6_000, "{} bytes", whole.len());
    for name in &names {
        let details = fixture.details(name).await.to_string();
        assert!(details.len() < 8_000, "{name}: {} bytes", details.len());
        assert!(!details.contains("filler_400"), "{name}");
    }

    // Tables.
    let tables = fixture.walk("list_tables", json!({}), 100).await;
    assert_eq!(tables.len(), 500);
    let found = fixture
        .call_ok("list_tables", json!({ "filter": { "name": { "starts_with": "order" } }, "fields": ["name"] }))
        .await;
    assert_eq!(found["items"], json!([{ "name": "order_lines" }, { "name": "orders" }]));
    let schema = fixture.call_ok("get_table_schema", json!({ "table_name": "customers" })).await;
    assert_eq!(schema["key"], json!(["id"]));
    let column = |name: &str| {
        schema["columns"].as_array().unwrap().iter().find(|column| column["name"] == name).unwrap().clone()
    };
    assert_eq!(column("status")["values"], json!(["new", "old"]));
    assert_eq!(column("home_town")["type"], "string");
    assert_eq!((&column("name")["nullable"], &column("meta")["format"]), (&json!(false), &json!("json")));
    assert_eq!(schema["references"], json!(["orders.customer_id"]));

    // Reading.
    let asked = json!({ "table_name": "orders", "filter": { "total": { "gt": 50 } }, "sort": { "field": "total", "order": "desc" }, "fields": ["id"] });
    assert_eq!(fixture.walk("list_records", asked, 3).await.len(), 10);
    let sums = json!({ "table_name": "orders", "aggregate": { "s": { "sum": "total" } } });
    assert_eq!(fixture.call_ok("list_records", sums).await["aggregations"]["s"], 1830);
    assert_eq!(
        fixture.call_ok("search_records", json!({ "table_name": "customers", "query": "\"customer 7\"" })).await["items"]
            [0]["id"],
        7
    );
    assert_eq!(
        fixture.call_ok("get_record", json!({ "table_name": "customers", "key": { "id": 3 } })).await["name"],
        "Customer 3"
    );
    let some = json!({ "table_name": "customers", "key": { "id": 3 }, "fields": ["name"] });
    assert_eq!(fixture.call_ok("get_record", some).await, json!({ "name": "Customer 3" }));
    assert_eq!(fixture.walk("list_records", json!({ "table_name": "heap" }), 7).await.len(), 30);
    assert_eq!(fixture.call_ok("list_records", json!({ "table_name": "order_line" })).await["items"], json!([]));

    // Writing.
    let made = json!({ "table_name": "customers", "values": { "id": 100, "name": "New", "home_town": "Ulm", "meta": { "a": 1, "b": 2 } } });
    assert_eq!(fixture.call_ok("create_record", made).await["home_town"], "Ulm");
    let made = json!({ "table_name": "customers", "values": { "id": 101, "name": "Newer", "Home Town": "Bonn" } });
    assert_eq!(fixture.call_ok("create_record", made).await["home_town"], "Bonn", "the column's own name does as well");
    let change = json!({ "table_name": "customers", "key": { "id": 100 }, "input": { "meta": { "a": null }, "Home Town": "Graz" } });
    let changed = fixture.call_ok("update_record", change).await;
    assert_eq!((&changed["meta"], &changed["home_town"]), (&json!({ "b": 2 }), &json!("Graz")));
    let old = json!({ "table_name": "customers", "key": { "id": 100 }, "input": { "name": "x" }, "if_match": "old" });
    fixture.call_err("update_record", old, "CONFLICT_VERSION_MISMATCH").await;
    let line = json!({ "table_name": "order_lines", "values": { "order_id": 1, "line": 1, "dry_run_column": true, "fields_column": "f", "key": "k" } });
    let made = fixture.call_ok("create_record", line).await;
    assert_eq!(json!([made["dry_run_column"], made["fields_column"], made["key"]]), json!([true, "f", "k"]));
    let line = json!({ "table_name": "order_lines", "key": { "order_id": 1, "line": 1 } });
    assert_eq!(fixture.call_ok("get_record", line.clone()).await["key"], "k");
    let would = fixture
        .call_ok("delete_record", json!({ "table_name": "customers", "key": { "id": 2 }, "dry_run": true }))
        .await;
    assert_eq!(would["also"]["orders.customer_id"], json!({ "deleted": 2 }));
    assert_eq!(would["also"]["order_lines.order_id"], json!({ "deleted": 1 }));
    fixture.call_ok("delete_record", line).await;

    // References.
    let asked = json!({ "root": { "element_type": "customers", "id": 5 }, "direction": "incoming", "relationship": "orders.customer_id" });
    assert_eq!(fixture.call_ok("query_relationships", asked).await["relationships"].as_array().unwrap().len(), 2);
    let wrong = json!({ "root": { "element_type": "customers", "id": 5 }, "direction": "incoming", "relationship": "orders.customer" });
    let error = fixture.call_err("query_relationships", wrong, "VALIDATION_INVALID_VALUE").await;
    assert_eq!(error["details"]["suggestions"][0], "orders.customer_id");

    refusals(&fixture).await;
}

async fn refusals(fixture: &Fixture) {
    for (operation, params) in [
        ("list_records", json!({ "table_name": "custmers" })),
        ("get_table_schema", json!({ "table_name": "customer s" })),
        ("get_record", json!({ "table_name": "Custmers", "key": { "id": 1 } })),
        ("create_record", json!({ "table_name": "custoners", "values": {} })),
        ("query_relationships", json!({ "root": { "element_type": "custumers", "id": 1 }, "direction": "both" })),
    ] {
        let error = fixture.call_err(operation, params, "NOT_FOUND_RESOURCE").await;
        assert!(error["details"]["suggestions"].as_array().unwrap().contains(&json!("customers")), "{error}");
        assert!(error["message"].as_str().unwrap().contains("'customers'"), "{error}");
    }
    // Values are validated as in the table's own operation.
    let values = |values: Value| json!({ "table_name": "customers", "values": values });
    let change = |input: Value| json!({ "table_name": "customers", "key": { "id": 1 }, "input": input });
    for (operation, params, code) in [
        ("create_record", values(json!({ "id": 500 })), "VALIDATION_MISSING_PARAM"),
        ("create_record", values(json!({ "id": "x", "name": "n" })), "VALIDATION_INVALID_TYPE"),
        ("create_record", values(json!({ "id": 500, "name": "x".repeat(21) })), "VALIDATION_INVALID_VALUE"),
        ("create_record", values(json!({ "id": 500, "name": "n", "status": "odd" })), "VALIDATION_INVALID_VALUE"),
        ("create_record", values(json!({ "id": 500, "nmae": "n" })), "VALIDATION_MISSING_PARAM"),
        ("create_record", values(json!({ "id": 500, "name": "n", "other": 1 })), "VALIDATION_UNKNOWN_FIELD"),
        ("create_record", values(json!({ "id": 500, "name": "n", "dry_run": true })), "VALIDATION_INVALID_VALUE"),
        ("create_record", values(json!({ "id": 1, "name": "n" })), "CONFLICT_ALREADY_EXISTS"),
        ("create_record", json!({ "table_name": "customers" }), "VALIDATION_MISSING_PARAM"),
        ("create_record", json!({ "table_name": "old_customers", "values": { "id": 1 } }), "VALIDATION_INVALID_VALUE"),
        ("update_record", change(json!({ "id": 2 })), "VALIDATION_UNKNOWN_FIELD"),
        ("update_record", change(json!({ "status": null })), "VALIDATION_INVALID_TYPE"),
        ("update_record", json!({ "table_name": "heap", "key": { "a": 1 }, "input": {} }), "VALIDATION_INVALID_VALUE"),
        ("get_record", json!({ "table_name": "customers", "key": {} }), "VALIDATION_MISSING_PARAM"),
        (
            "get_record",
            json!({ "table_name": "customers", "key": { "id": 1, "name": "x" } }),
            "VALIDATION_UNKNOWN_FIELD",
        ),
        (
            "get_record",
            json!({ "table_name": "customers", "key": { "id": 1, "fields": ["name"] } }),
            "VALIDATION_INVALID_VALUE",
        ),
        ("get_record", json!({ "table_name": "heap", "key": { "a": 1 } }), "VALIDATION_INVALID_VALUE"),
        (
            "delete_record",
            json!({ "table_name": "customers", "key": { "id": 1, "dry_run": true } }),
            "VALIDATION_INVALID_VALUE",
        ),
        ("search_records", json!({ "table_name": "heap", "query": "x" }), "VALIDATION_INVALID_VALUE"),
        ("list_records", json!({ "table_name": "customers", "filter": { "nmae": 1 } }), "VALIDATION_UNKNOWN_FIELD"),
        ("list_records", json!({ "table_name": "customers", "preset": "huge" }), "VALIDATION_INVALID_VALUE"),
    ] {
        fixture.call_err(operation, params, code).await;
    }
    assert_eq!(fixture.value("SELECT count(*) FROM customers").await, "32");
}
