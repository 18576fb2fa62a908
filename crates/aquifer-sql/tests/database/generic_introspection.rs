//! Introspection of generic operations is sufficient to write valid requests.

use aquifer_engine::Engine;
use aquifer_protocol::surface::{Mode, Profile, Surface};
use aquifer_query::budget::estimate_value;
use aquifer_sql::{Settings, Style};
use serde_json::{Value, json};

use crate::support::{File, Fixture, call, fixtures_with, open};

async fn both() -> Vec<Fixture> {
    let mut sql = String::new();
    for number in 0..60 {
        sql += &format!("CREATE TABLE filler_{number} (id INTEGER PRIMARY KEY, created_at TIMESTAMP);");
    }
    sql += "CREATE TABLE customers (id INTEGER PRIMARY KEY, name VARCHAR(20) NOT NULL, rating INTEGER DEFAULT 3 CHECK (rating BETWEEN 1 AND 5));
            CREATE TABLE \"Order Items\" (\"Order No\" INTEGER, item TEXT, customer_id INTEGER REFERENCES customers(id),
                state TEXT NOT NULL CHECK (state IN ('open', 'done')), PRIMARY KEY (\"Order No\", item));
            CREATE TABLE log (line INTEGER);
            INSERT INTO customers (id, name) VALUES (1, 'Ann');
            INSERT INTO \"Order Items\" VALUES (1, 'text', 1, 'open');
            INSERT INTO filler_0 (id) VALUES (1);";
    fixtures_with(&sql, &sql, |settings| settings.style = Style::Generic).await
}

#[tokio::test]
async fn r_int_3_the_fields_of_every_table_are_listed() {
    for fixture in both().await {
        let types = fixture.call_ok("introspect", json!({ "query": "types" })).await;
        let types: Vec<&str> =
            types["types"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
        for name in ["Customer", "OrderItem", "Log", "Filler59"] {
            assert!(types.contains(&name), "{name}: {types:?}");
        }
        let fields = fixture.fields_of("OrderItem").await;
        assert_eq!(fields.keys().collect::<Vec<_>>(), ["order_no", "item", "customer_id", "state"]);
        assert_eq!(fields["state"]["enum"], json!(["open", "done"]));
        for operation in ["list_records", "search_records"] {
            let description = fixture.parameter(operation, "filter").await["description"].clone();
            let description = description.as_str().unwrap();
            assert!(
                !description.contains("none") && description.contains("get_table_schema"),
                "{operation}: {description}"
            );
        }
        let tables =
            fixture.call_ok("list_tables", json!({ "filter": { "name": { "not_in": [""] } }, "first": 100 })).await;
        for table in tables["items"].as_array().unwrap() {
            let params = json!({ "table_name": table["name"], "query": "ann" });
            let found = fixture.call("search_records", params).await;
            assert_eq!(found["success"], table["searchable"], "{table} {found}");
        }
        let schema = fixture.call_ok("get_table_schema", json!({ "table_name": "customers" })).await;
        let rating = schema["columns"].as_array().unwrap().iter().find(|column| column["name"] == "rating").unwrap();
        assert_eq!(
            (&rating["minimum"], &rating["maximum"], &rating["default"]),
            (&json!(1), &json!(5), &json!(3)),
            "{schema}"
        );
    }
}

#[tokio::test]
async fn r_int_5_every_example_runs() {
    for fixture in both().await {
        for operation in fixture.operations() {
            let details = fixture.details(&operation).await;
            let examples = details["examples"].as_array().unwrap_or_else(|| panic!("{operation} has no example"));
            assert!(!examples.is_empty(), "{operation}");
            for example in examples {
                let answer = fixture.call(&operation, example["request"]["params"].clone()).await;
                let code = answer["error"]["code"].as_str().unwrap_or_default();
                let is_made_up = code == "NOT_FOUND_RESOURCE" && answer["error"]["details"]["resource_type"] != "table";
                assert!(answer["success"] == json!(true) || is_made_up, "{example}: {answer}");
            }
        }
    }
}

/// Errors refer to what the caller has sent.
#[tokio::test]
async fn r_req_5_errors_name_operations_and_parameters_that_exist() {
    for fixture in both().await {
        let own = ["customer", "order_item", "log"].map(|word| format!("_{word}"));
        for (operation, params, code, path) in [
            ("create_record", json!({ "values": { "id": 9, "nam": "x" } }), "VALIDATION_MISSING_PARAM", "values.name"),
            (
                "create_record",
                json!({ "values": { "id": 9, "name": "x", "nam": 1 } }),
                "VALIDATION_UNKNOWN_FIELD",
                "values",
            ),
            ("create_record", json!({ "values": { "id": 9, "name": 5 } }), "VALIDATION_INVALID_TYPE", "values.name"),
            (
                "create_record",
                json!({ "values": { "id": 9, "name": "x", "rating": 9 } }),
                "VALIDATION_INVALID_VALUE",
                "values.rating",
            ),
            ("get_record", json!({ "key": { "idd": 1 } }), "VALIDATION_MISSING_PARAM", "key.id"),
            ("get_record", json!({ "key": { "id": "x" } }), "VALIDATION_INVALID_TYPE", "key.id"),
            ("get_record", json!({ "key": { "id": 1, "name": "Ann" } }), "VALIDATION_UNKNOWN_FIELD", "key"),
            ("delete_record", json!({ "key": {} }), "VALIDATION_MISSING_PARAM", "key.id"),
            (
                "update_record",
                json!({ "key": { "id": 1 }, "input": { "foo": 1 } }),
                "VALIDATION_UNKNOWN_FIELD",
                "input",
            ),
            ("update_record", json!({ "key": { "id": 1 }, "input": { "id": 2 } }), "VALIDATION_UNKNOWN_FIELD", "input"),
            (
                "update_record",
                json!({ "key": { "id": 1 }, "input": { "rating": 0 } }),
                "VALIDATION_INVALID_VALUE",
                "input.rating",
            ),
            ("list_records", json!({ "filter": { "zz": 1 } }), "VALIDATION_UNKNOWN_FIELD", "filter"),
            ("list_records", json!({ "preset": "zz" }), "VALIDATION_INVALID_VALUE", "preset"),
            ("list_records", json!({ "bogus": 1 }), "VALIDATION_UNKNOWN_PARAM", ""),
        ] {
            let mut params = params;
            params["table_name"] = "customers".into();
            let error = fixture.call_err(operation, params.clone(), code).await;
            let text = error.to_string();
            assert!(!own.iter().any(|word| text.contains(word.as_str())), "{operation} {params}: {error}");
            assert!(path.is_empty() || error["details"]["param_name"] == path, "{operation} {params}: {error}");
            let named = &error["details"]["operation"];
            assert!(named.is_null() || named == operation, "{operation} {params}: {error}");
        }
        // camelCase and the database's column names are accepted here as well.
        let key = json!({ "Order No": 1, "item": "text" });
        let row = fixture.call_ok("get_record", json!({ "table_name": "Order Items", "key": key })).await;
        assert_eq!(row["order_no"], json!(1));
        let input = json!({ "customerId": 1 });
        let key = json!({ "orderNo": 1, "item": "text" });
        let params = json!({ "table_name": "order_items", "key": key, "input": input });
        assert_eq!(fixture.call_ok("update_record", params).await["customer_id"], json!(1));
    }
}

#[tokio::test]
async fn r_int_5_root_describes_the_key_it_needs() {
    for fixture in both().await {
        let root = fixture.parameter("query_relationships", "root").await;
        let description = root["description"].as_str().unwrap();
        assert!(description.contains("every column of the table's key"), "{root}");
        let error: Value = fixture
            .call_err(
                "query_relationships",
                json!({ "root": { "element_type": "order_items", "item": "text" }, "direction": "both" }),
                "VALIDATION_MISSING_PARAM",
            )
            .await;
        assert_eq!(error["details"]["param_name"], "root.order_no", "{error}");
    }
}

/// With another source, operations have a prefix, and errors include it.
#[tokio::test]
async fn r_req_5_errors_name_operations_as_the_catalog_does() {
    let files =
        ["one", "two"].map(|_| File::create("CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL);"));
    let surface = Surface::new(Mode::All, Profile::known("crude").unwrap(), "").unwrap();
    let mut builder = Engine::builder(surface).dangerously_let_everything_pass();
    for (name, file) in ["one", "two"].into_iter().zip(&files) {
        let settings = Settings { name: name.to_owned(), style: Style::Generic, ..file.settings() };
        builder = builder.source(open(settings).await.unwrap());
    }
    let engine = builder.build().unwrap();
    for name in ["one", "two"] {
        let operation = format!("{name}_create_record");
        let answer = call(&engine, &operation, json!({ "table_name": "customers", "values": { "nam": "x" } })).await;
        assert_eq!(answer["error"]["details"]["operation"], operation, "{answer}");
    }
}

#[tokio::test]
async fn r_ext_3_the_schema_of_a_table_and_single_rows_keep_the_budget() {
    let columns: String = (0..120).map(|number| format!("measured_value_{number} INTEGER,")).collect();
    let sql = format!(
        "CREATE TABLE wide (id INTEGER PRIMARY KEY, {columns} note TEXT, pagination TEXT);
         INSERT INTO wide (id, note, pagination) VALUES (1, '{}', 'next');
         CREATE TABLE models (max_tokens INTEGER PRIMARY KEY, note TEXT);
         INSERT INTO models VALUES (500, 'small');",
        "A sentence about nothing. ".repeat(400)
    );
    for style in [Style::Generic, Style::Tables] {
        for fixture in fixtures_with(&sql, &sql, |settings| settings.style = style).await {
            let (row, mut requests) = match style {
                Style::Generic => (
                    ("get_record", json!({ "table_name": "wide", "key": { "id": 1 } })),
                    vec![("get_table_schema", json!({ "table_name": "wide" }))],
                ),
                _ => (("get_wide", json!({ "id": 1 })), Vec::new()),
            };
            requests.push(row);
            for (operation, mut params) in requests {
                let whole = fixture.call(operation, params.clone()).await;
                params["max_tokens"] = 600.into();
                let answer = fixture.call(operation, params).await;
                assert!(whole["warnings"].is_null() && estimate_value(&whole) > 600, "{operation}: {whole}");
                assert!(estimate_value(&answer) <= 600, "{operation}: {answer}");
                assert_eq!(answer["warnings"][0]["code"], "RESULT_SHORTENED", "{operation}: {answer}");
            }
            // A column of the key keeps its name.
            let model = match style {
                Style::Generic => ("get_record", json!({ "table_name": "models", "key": { "max_tokens": 500 } })),
                _ => ("get_model", json!({ "max_tokens": 500 })),
            };
            assert_eq!(fixture.call_ok(model.0, model.1).await["note"], "small");
        }
    }
}
