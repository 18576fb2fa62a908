//! A column has one name for callers, in rows and in every parameter (R-REQ-3).

use serde_json::{Map, Value, json};

use crate::support::{Fixture, fixtures};

/// Column names as found in practice, and their field names.
const COLUMNS: &[(&str, &str)] = &[
    ("Order ID", "order_id"),
    ("Customer Name", "customer_name"),
    ("日本語", "ri_ben_yu"),
    ("_etag", "etag"),
    ("_type", "type"),
    ("_binary", "binary"),
    ("_computed", "computed"),
    ("shipTo", "ship_to"),
    ("a.b", "a_b"),
    ("dry_run", "dry_run_column"),
    ("fields", "fields_column"),
    ("not", "not_column"),
    ("filter", "filter"),
];

fn table() -> String {
    let others = COLUMNS.iter().skip(1).map(|(column, _)| format!("\"{column}\" TEXT"));
    let columns: Vec<String> = std::iter::once("\"Order ID\" INTEGER PRIMARY KEY".to_owned()).chain(others).collect();
    format!(
        "CREATE TABLE \"Odd Orders\" ({});
         CREATE TABLE \"Order Line\" (\"Line No\" INTEGER PRIMARY KEY, \"Odd Order\" INTEGER REFERENCES \"Odd Orders\"(\"Order ID\"));",
        columns.join(", ")
    )
}

async fn both() -> Vec<Fixture> {
    fixtures(&table(), &table()).await
}

fn names(row: &Value) -> Vec<&str> {
    row.as_object().unwrap().keys().map(String::as_str).filter(|name| !name.starts_with('_')).collect()
}

#[tokio::test]
async fn r_req_3_field_names_of_rows_work_in_every_parameter() {
    for fixture in both().await {
        let mut values: Map<String, Value> =
            COLUMNS.iter().map(|(_, name)| ((*name).to_owned(), json!(*name))).collect();
        values.insert("order_id".to_owned(), json!(5));
        let made = fixture.call_ok("create_odd_order", values.into()).await;
        let expected: Vec<&str> = COLUMNS.iter().map(|(_, name)| *name).collect();
        assert_eq!(names(&made), expected);
        for (column, name) in COLUMNS.iter().skip(1) {
            assert_eq!(fixture.value(&format!("SELECT \"{column}\" FROM \"Odd Orders\"")).await, *name);
        }
        let id = made["order_id"].clone();
        // The version is ours, and a column of that name keeps its value.
        let row = fixture.call_ok("get_odd_order", json!({ "order_id": id })).await;
        assert_eq!((&row["etag"], row["_etag"] != row["etag"]), (&json!("etag"), true), "{row}");
        let listed = fixture.call_ok("list_odd_orders", json!({})).await["items"][0].clone();
        assert_eq!(names(&listed), expected);
        assert!(listed.get("_etag").is_none(), "{listed}");
        for name in expected {
            let value = &row[name];
            for (params, at) in [
                (json!({ "fields": [name] }), name),
                (json!({ "filter": { name: value }, "fields": [name] }), name),
                (json!({ "filter": { "not": { "not": { name: [value] } } }, "fields": [name] }), name),
                (json!({ "sort": { "field": name, "order": "desc" }, "fields": [name] }), name),
            ] {
                let data = fixture.call_ok("list_odd_orders", params.clone()).await;
                assert_eq!(data["items"], json!([{ at: value }]), "{params}");
            }
            let summed = json!({ "aggregate": { "by": { "group_by": name, "count": true } } });
            let data = fixture.call_ok("list_odd_orders", summed).await;
            let label = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            assert_eq!(data["aggregations"]["by"][label], json!(1), "{name}: {data}");
            if name != "order_id" {
                let input = json!({ "order_id": id, "input": { name: format!("new {name}") } });
                assert_eq!(fixture.call_ok("update_odd_order", input).await[name], format!("new {name}"));
                let back = json!({ "order_id": id, "input": { name: value } });
                assert_eq!(fixture.call_ok("update_odd_order", back).await[name], *value);
            }
        }
        // A row as it was read, without other members, can be created again.
        fixture.call_ok("delete_odd_order", json!({ "order_id": id, "if_match": row["_etag"] })).await;
        let whole: Map<String, Value> = row
            .as_object()
            .unwrap()
            .iter()
            .filter(|(name, _)| !name.starts_with('_'))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let again = fixture.call_ok("create_odd_order", whole.into()).await;
        assert_eq!(names(&again), names(&row));
    }
}

#[tokio::test]
async fn r_int_5_introspection_uses_the_same_names() {
    for fixture in both().await {
        let fields = fixture.fields_of("OddOrder").await;
        let expected: Vec<&str> = COLUMNS.iter().map(|(_, name)| *name).collect();
        assert_eq!(fields.keys().map(String::as_str).collect::<Vec<_>>(), expected);
        // A renamed column is named.
        assert_eq!(fields["ri_ben_yu"]["description"], "Column '日本語'.");
        assert_eq!(fields["dry_run_column"]["description"], "Column 'dry_run'.");
        assert!(fields["customer_name"].get("description").is_none(), "{fields:?}");
        let details = fixture.details("list_odd_orders").await;
        assert!(details["description"].as_str().unwrap().contains("Table 'Odd Orders'."), "{details}");
        let details = fixture.details("create_odd_order").await;
        let parameters: Vec<&str> =
            details["parameters"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
        assert_eq!(parameters[..expected.len()], expected[..]);
        // References, errors and related rows use the same names.
        fixture.call_ok("create_odd_order", json!({ "order_id": 1 })).await;
        fixture.call_ok("create_order_line", json!({ "line_no": 7, "odd_order": 1 })).await;
        let error =
            fixture.call_err("create_order_line", json!({ "line_no": 8, "odd_order": 9 }), "CONFLICT_CONSTRAINT").await;
        assert_eq!(error["details"]["fields"], json!(["odd_order"]), "{error}");
        let error = fixture.call_err("create_order_line", json!({ "line_no": 7 }), "CONFLICT_ALREADY_EXISTS").await;
        assert_eq!(error["details"]["fields"], json!(["line_no"]), "{error}");
        let row =
            fixture.call_ok("get_odd_order", json!({ "order_id": 1, "fields": ["_computed.order_lines_count"] })).await;
        assert_eq!(row["_computed"]["order_lines_count"], json!(1));
        let root = json!({ "element_type": "order_lines", "line_no": 7 });
        let walk = fixture.call_ok("query_relationships", json!({ "root": root, "direction": "outgoing" })).await;
        assert_eq!(walk["relationships"][0]["type"], "order_lines.odd_order", "{walk}");
        assert_eq!(walk["relationships"][0]["target"]["order_id"], json!(1), "{walk}");
        // An answer's reference to a row can be sent back.
        let back = json!({ "root": walk["root"], "direction": "outgoing" });
        assert_eq!(fixture.call_ok("query_relationships", back).await["root"], walk["root"]);
        let gone = fixture.call_err("delete_odd_order", json!({ "order_id": 1 }), "CONFLICT_CONSTRAINT").await;
        assert!(gone["message"].as_str().unwrap().contains("'order_lines'"), "{gone}");
    }
}

#[tokio::test]
async fn configured_presets_use_database_column_names() {
    use aquifer_sql::TableSettings;
    let presets = [("short".to_owned(), vec!["Customer Name".to_owned(), "ship_to".to_owned()])];
    let preset_settings = TableSettings { presets: presets.into_iter().collect(), ..TableSettings::default() };
    let fixture = Fixture::sqlite_with(&table(), |settings| {
        settings.tables.insert("Odd Orders".to_owned(), preset_settings);
    })
    .await;
    fixture.call_ok("create_odd_order", json!({ "customer_name": "Ann", "ship_to": "x" })).await;
    let data = fixture.call_ok("list_odd_orders", json!({ "fields": "short" })).await;
    assert_eq!(data["items"], json!([{ "customer_name": "Ann", "ship_to": "x" }]));
}
