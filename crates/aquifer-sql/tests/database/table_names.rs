//! Operations are named after their tables, one to one.

use serde_json::json;

use crate::support::fixtures;

#[tokio::test]
async fn r_saf_2_a_plural_never_takes_another_tables_operations() {
    let sql = "CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT); CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT);
               CREATE TABLE \"order\" (id INTEGER PRIMARY KEY, name TEXT); CREATE TABLE orders (id INTEGER PRIMARY KEY, name TEXT);
               CREATE TABLE categories (id INTEGER PRIMARY KEY, name TEXT);";
    for fixture in fixtures(sql, sql).await {
        for (word, table) in [
            ("person", "person"),
            ("people", "people"),
            ("order", "order"),
            ("orders", "orders"),
            ("category", "categories"),
        ] {
            let made = fixture.call_ok(&format!("create_{word}"), json!({ "id": 1, "name": table })).await;
            assert_eq!(made["name"], table);
            assert_eq!(fixture.value(&format!("SELECT name FROM \"{table}\"")).await, table);
            let listed = fixture.call_ok(&format!("list_{table}"), json!({})).await;
            assert_eq!(listed["items"][0]["name"], table);
            // If the operation is not named like the table, introspection names the table.
            let description = fixture.details(&format!("create_{word}")).await["description"].clone();
            let names_table = description.as_str().unwrap().contains(&format!("Table '{table}'."));
            assert_eq!(names_table, word != table, "{description}");
        }
        assert!(fixture.operations().iter().all(|name| !name.contains("_x")), "{:?}", fixture.operations());
    }
}
