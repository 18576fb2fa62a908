//! The tables that a person sees are those that callers see.

use axum::http::StatusCode;
use serde_json::json;

use crate::support::Shop;

#[tokio::test]
async fn tables_have_columns_references_and_operations() {
    let shop = Shop::with_session("anna").await;
    let answer = shop.get("/api/tables").await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let [source] = answer.body["sources"].as_array().unwrap().as_slice() else { panic!("{}", answer.body) };
    assert_eq!(source["name"], "shop");
    let tables = source["tables"].as_array().unwrap();
    let find = |name: &str| tables.iter().find(|table| table["name"] == name).unwrap();
    assert_eq!(
        find("orders")["references"],
        json!([{ "column": "customer_id", "target_column": "id", "columns": ["customer_id"], "table": "customers",
                 "target_columns": ["id"], "on_delete": "cascade" }])
    );
    assert_eq!(
        find("orders")["columns"][0],
        json!({ "name": "id", "type": "integer", "nullable": false, "key": true })
    );
    assert_eq!((&find("customers")["kind"], &find("customers")["rows"]), (&json!("table"), &json!(2)));
    assert_eq!(find("customers")["operations"][0], "list_customers");
    assert!(!answer.body.to_string().contains("salaries"), "{}", answer.body);
}
