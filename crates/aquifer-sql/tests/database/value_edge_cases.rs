//! Columns whose type is detected from their values, and types that keep their own semantics.

use serde_json::{Value, json};

use crate::support::Fixture;

async fn ids(fixture: &Fixture, operation: &str, params: Value) -> Vec<i64> {
    let answer = fixture.call_ok(operation, params).await;
    answer["items"].as_array().unwrap().iter().map(|item| item["id"].as_i64().unwrap()).collect()
}

#[tokio::test]
async fn r_col_3_times_in_another_format_in_later_rows_are_found() {
    let fixture = Fixture::sqlite(
        "CREATE TABLE marks (id INTEGER PRIMARY KEY, created_at TEXT);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
         INSERT INTO marks SELECT i, CASE WHEN i <= 200 THEN datetime('2025-01-01', '+' || i || ' minutes')
             ELSE strftime('%Y-%m-%dT%H:%M:%SZ', '2025-01-01', '+' || i || ' minutes') END FROM n;",
    )
    .await;
    let between = json!({ "created_at": { "gte": "2025-01-01T03:19:00Z", "lt": "2025-01-01T03:23:00Z" } });
    assert_eq!(ids(&fixture, "list_marks", json!({ "filter": between })).await, [199, 200, 201, 202]);
}

#[tokio::test]
async fn r_col_3_times_inserted_into_an_empty_table_are_found() {
    let fixture =
        Fixture::sqlite("CREATE TABLE marks (id INTEGER PRIMARY KEY, created_at TEXT, seen_at DATETIME);").await;
    fixture
        .run_sql("INSERT INTO marks VALUES (1, '2025-01-01 10:00:00', NULL), (2, '2025-01-01T12:00:00Z', 1735732800)")
        .await;
    let after = json!({ "filter": { "created_at": { "gte": "2025-01-01T11:00:00Z" } } });
    assert_eq!(ids(&fixture, "list_marks", after).await, [2]);
    let seen = json!({ "filter": { "seen_at": "2025-01-01T12:00:00Z" } });
    assert_eq!(ids(&fixture, "list_marks", seen).await, [2]);
}

#[tokio::test]
async fn r_col_3_booleans_stored_as_text_are_text() {
    let fixture = Fixture::sqlite(
        "CREATE TABLE switches (id INTEGER PRIMARY KEY, is_on BOOLEAN, is_up BOOLEAN);
         INSERT INTO switches VALUES (1, 'true', 1), (2, 'false', 0);",
    )
    .await;
    assert_eq!(ids(&fixture, "list_switches", json!({ "filter": { "is_on": "true", "is_up": true } })).await, [1]);
    fixture.call_ok("update_switch", json!({ "id": 1, "input": { "is_on": "false" } })).await;
    assert_eq!(fixture.value("SELECT typeof(is_on) FROM switches WHERE id = 1").await, "text");
}

#[tokio::test]
async fn r_col_6_groups_that_look_alike_are_all_counted() {
    let fixture = Fixture::sqlite(
        "CREATE TABLE things (id INTEGER PRIMARY KEY, value);
         INSERT INTO things (value) VALUES (1), ('1'), ('1'), (x'31'), (NULL), ('x');",
    )
    .await;
    let answer =
        fixture.call_ok("list_things", json!({ "aggregate": { "by": { "group_by": "value", "count": true } } })).await;
    let counts: i64 = answer["aggregations"]["by"].as_object().unwrap().values().map(|n| n.as_i64().unwrap()).sum();
    assert_eq!(counts, 6, "{answer}");
}

#[tokio::test]
async fn r_col_12_a_column_named_etag_does_not_replace_the_version() {
    let fixture = Fixture::sqlite(
        "CREATE TABLE things (id INTEGER PRIMARY KEY, _etag TEXT, name TEXT); INSERT INTO things VALUES (1, 'mine', 'a');",
    )
    .await;
    let refused = json!({ "id": 1, "input": { "name": "b" }, "if_match": "mine" });
    fixture.call_err("update_thing", refused, "CONFLICT_VERSION_MISMATCH").await;
    let version = fixture.call_ok("get_thing", json!({ "id": 1 })).await["_etag"].clone();
    fixture.call_ok("update_thing", json!({ "id": 1, "input": { "name": "b" }, "if_match": version })).await;
}

#[tokio::test]
async fn a_table_is_addressed_by_its_own_name() {
    let fixture = Fixture::sqlite("CREATE TABLE \"order\" (id INTEGER PRIMARY KEY); CREATE TABLE orders (id INTEGER PRIMARY KEY); INSERT INTO orders VALUES (7);").await;
    assert_eq!(ids(&fixture, "list_orders", json!({})).await, [7]);
}

#[tokio::test]
async fn r_int_7_introspection_detects_new_tables() {
    let fixture = Fixture::sqlite("CREATE TABLE notes (id INTEGER PRIMARY KEY);").await;
    fixture.run_sql("CREATE TABLE letters (id INTEGER PRIMARY KEY)").await;
    assert_eq!(fixture.details("list_letters").await["name"], "list_letters");
    fixture.run_sql("ALTER TABLE letters RENAME TO cards").await;
    fixture.call_ok("list_cards", json!({})).await;
}

#[tokio::test]
async fn r_col_4_intervals_money_and_addresses_sort_by_their_own_order() {
    let fixture = Fixture::postgres(
        "CREATE TABLE runs (id int PRIMARY KEY, lasted interval, price money, host inet, at_hour time);
         INSERT INTO runs SELECT i, i * interval '1 hour', (i * 10)::money, ('10.0.0.' || i)::inet, '10:00' FROM generate_series(1, 100) i;",
    )
    .await;
    for (params, expected) in [
        (json!({ "sort": { "field": "lasted", "order": "desc" }, "first": 2 }), vec![100, 99]),
        (json!({ "sort": "-price", "first": 2 }), vec![100, 99]),
        (json!({ "filter": { "lasted": { "lte": "2 hours" } } }), vec![1, 2]),
        (json!({ "filter": { "host": "10.0.0.5" } }), vec![5]),
        (json!({ "filter": { "host": { "gt": "10.0.0.98" } } }), vec![99, 100]),
        (json!({ "filter": { "at_hour": "10:00", "id": [3] } }), vec![3]),
    ] {
        assert_eq!(ids(&fixture, "list_runs", params.clone()).await, expected, "{params}");
    }
    let answer = fixture.call_ok("list_runs", json!({ "aggregate": { "longest": { "max": "lasted" } } })).await;
    assert_eq!(answer["aggregations"]["longest"], "PT100H");
    fixture.call_err("list_runs", json!({ "filter": { "host": "nowhere" } }), "VALIDATION_INVALID_VALUE").await;
    assert_eq!(fixture.walk("list_runs", json!({ "sort": "lasted" }), 30).await.len(), 100);
}
