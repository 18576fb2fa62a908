//! One deny rule, one database, and every way in which its operations come to be called something else: a second source, a
//! prefix, the generic style with its aliases, and a walk along references. Each is a configuration of its own, so each
//! start is a restart with other names.

use serde_json::{Value, json};

use crate::support::{Folder, aquifer, text};

const SHOP: &str = "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE Orders (id INTEGER PRIMARY KEY, status TEXT, customer_id INTEGER REFERENCES customers (id));
    INSERT INTO customers VALUES (1, 'Ann'); INSERT INTO Orders VALUES (1, 'open', 1);";

struct Shop {
    folder: Folder,
    database: String,
}

impl Shop {
    fn new() -> Self {
        let folder = Folder::new();
        let database = folder.database("shop.db", SHOP);
        folder.database("other.db", "CREATE TABLE notes (id INTEGER PRIMARY KEY, note TEXT);");
        Self { folder, database }
    }

    fn call(&self, source: &str, rule: &str, arguments: &[&str]) -> Value {
        let (state, database) = (self.folder.path("state"), &self.database);
        let other = format!("[[source]]\nname = \"other\"\ntarget = \"sqlite:{}\"\n", self.folder.path("other.db"));
        let other = if source.contains("# beside another") { other } else { String::new() };
        let text_of = format!(
            "[state]\ndir = \"{state}\"\n[[source]]\nname = \"shop\"\ntarget = \"sqlite:{database}\"\n{source}\n{other}{rule}\n"
        );
        let config = self.folder.file("aquifer.toml", &text_of);
        let output = aquifer().arg("call").args(arguments).args(["--config", &config]).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
    }

    fn status(&self) -> String {
        let direct = rusqlite::Connection::open(&self.database).unwrap();
        direct.query_row("SELECT status FROM Orders WHERE id = 1", [], |row| row.get(0)).unwrap()
    }
}

#[test]
fn r_saf_2_a_rule_holds_whatever_the_operation_is_called() {
    let shop = Shop::new();
    let change = json!({ "id": 1, "input": { "status": "stolen" } });
    let record = |table: &str| json!({ "table_name": table, "key": { "id": 1 }, "input": { "status": "stolen" } });
    let beside = "# beside another";
    let generic = "style = \"generic\"";
    let generic_beside = "style = \"generic\" # beside another";
    let ways = [
        ("", "update_order", change.clone()),
        (beside, "shop_update_order", change.clone()),
        ("prefix = \"my_\"", "my_update_order", change.clone()),
        (generic, "update_record", record("orders")),
        (generic, "update_record", record("order")),
        (generic, "update_record", record("Orders")),
        (generic, "update_order", change.clone()),
        (generic_beside, "shop_update_record", record("order")),
    ];
    let rule = |keys: &str| format!("[[gate.rule]]\nname = \"closed\"\neffect = \"deny\"\n{keys}\n");
    for (source, operation, params) in &ways {
        let params = params.to_string();
        for keys in [
            "operation = \"update_order\"",
            "operation = \"shop_update_order\"",
            "source = \"SHOP\"\noperation = \"update_*\"",
            "table = \"orders\"\ncategory = \"UPDATE\"",
            "when = [{ param = \"input.STATUS\", equals = \"stolen\" }]",
        ] {
            let answer = shop.call(source, &rule(keys), &[operation, &params]);
            assert_eq!(answer["error"]["code"], "PERMISSION_DENIED", "{source} {operation}: {keys}: {answer}");
            let explained = shop.call(source, &rule(keys), &[operation, &params, "--explain"]);
            assert_eq!(explained["decision"], "deny", "{source} {operation}: {keys}: {explained}");
            assert_eq!(explained["decided_by"]["name"], "closed", "{explained}");
        }
    }
    // A rule that was written for the generic operation, with whatever name of the table.
    for keys in [
        "operation = \"update_record\"",
        "operation = \"update_record\"\nwhen = [{ param = \"table_name\", equals = \"orders\" }]",
        "operation = \"update_record\"\nwhen = [{ param = \"table_name\", equals = \"order\" }]",
    ] {
        for table in ["orders", "order", "Orders"] {
            let answer = shop.call(generic, &rule(keys), &["update_record", &record(table).to_string()]);
            assert_eq!(answer["error"]["code"], "PERMISSION_DENIED", "{keys} {table}: {answer}");
        }
    }
    assert_eq!(shop.status(), "open");
    // Not because nothing goes.
    let other = rule("operation = \"update_customer\"");
    for (source, operation, params) in &ways {
        let answer = shop.call(source, &other, &[operation, &params.to_string()]);
        assert_eq!(answer["success"], true, "{source} {operation}: {answer}");
    }
    assert_eq!(shop.status(), "stolen");
}

/// Whoever may not read a table does not read it by way of its neighbours, nor learns what it looks like.
#[test]
fn r_saf_2_a_denied_table_is_not_read_by_a_detour() {
    let shop = Shop::new();
    let rule = "[[gate.rule]]\neffect = \"deny\"\ntable = \"customers\"\n";
    let walk =
        |root: &str| json!({ "root": { "element_type": root, "id": 1 }, "direction": "both", "depth": 1 }).to_string();
    let ways: [(&str, &[&str]); 2] = [
        ("", &["orders", "customers"]),
        ("style = \"generic\"", &["orders", "order", "Orders", "customers", "customer"]),
    ];
    for (source, roots) in ways {
        for root in roots {
            let answer = shop.call(source, rule, &["query_relationships", &walk(root)]);
            // Where no relationship is left, the operation is gone as well.
            let code = answer["error"]["code"].as_str().unwrap_or_default();
            assert!(["PERMISSION_DENIED", "NOT_FOUND_OPERATION"].contains(&code), "{source} {root}: {answer}");
            assert!(!answer.to_string().contains("customers"), "{answer}");
            let free = shop.call(source, "", &["query_relationships", &walk(root)]);
            assert!(free.to_string().contains("customers:1"), "{source} {root}: {free}");
        }
    }
    let schema = json!({ "table_name": "customer" }).to_string();
    let answer = shop.call("style = \"generic\"", rule, &["get_table_schema", &schema]);
    assert_eq!(answer["error"]["code"], "PERMISSION_DENIED", "{answer}");
}

/// Neither is it read through a path, nor by a condition that only decides by its rows.
#[test]
fn r_saf_2_a_rule_about_a_table_holds_for_paths_to_it() {
    let shop = Shop::new();
    let requests = [
        ("orders", json!({ "fields": ["customer.name"] })),
        ("orders", json!({ "fields": ["customer_id.name"] })),
        ("orders", json!({ "filter": { "customer.name": "Ann" }, "fields": ["id"] })),
        ("orders", json!({ "filter": { "status": { "lt": { "field": "customer.name" } } } })),
        ("orders", json!({ "sort": " customer.name desc", "fields": ["id"] })),
        ("orders", json!({ "aggregate": { "by": { "group_by": "customer.name", "count": true } } })),
    ];
    let many = ("customers", json!({ "filter": { "orders": { "some": { "status": "open" } } } }));
    for (source, is_generic) in [("", false), ("prefix = \"my_\"", false), ("style = \"generic\"", true)] {
        let call = |rule: &str, (table, params): &(&str, Value), flags: &[&str]| {
            let mut params = params.clone();
            let operation = match (is_generic, source.contains("my_")) {
                (true, _) => {
                    params["table_name"] = json!(table);
                    "list_records".to_owned()
                }
                (_, true) => format!("my_list_{table}"),
                _ => format!("list_{table}"),
            };
            let params = params.to_string();
            let arguments: Vec<&str> = [&*operation, &*params].into_iter().chain(flags.iter().copied()).collect();
            shop.call(source, rule, &arguments)
        };
        for request in requests.iter().chain([&many]) {
            assert_eq!(call("", request, &[])["success"], true, "{source} {request:?}");
            let about = if request.0 == "orders" { "customer" } else { "order" };
            for (keys, effect) in [
                (format!("table = \"{about}s\""), "confirm"),
                (format!("operation = \"list_{about}s\""), "confirm"),
                // This one conceals the table.
                (format!("operation = \"list_{about}s\""), "deny"),
            ] {
                let rule = format!("[[gate.rule]]\nname = \"closed\"\neffect = \"{effect}\"\n{keys}\n");
                let answer = call(&rule, request, &[]);
                assert_eq!(answer["success"], false, "{source} {keys} {effect} {request:?}: {answer}");
                assert!(!answer.to_string().contains("\"Ann\"") || request.1.to_string().contains("Ann"), "{answer}");
                if effect == "confirm" {
                    let code = answer["error"]["code"].as_str().unwrap_or_default();
                    assert!(code.starts_with("CONFIRMATION"), "{source} {keys} {request:?}: {answer}");
                    let explained = call(&rule, request, &["--explain"]);
                    assert_eq!(explained["decision"], "confirm", "{source} {keys} {request:?}: {explained}");
                    // The rest of the table is as free as before.
                    let own = (request.0, json!({ "fields": ["id"] }));
                    assert_eq!(call(&rule, &own, &[])["success"], true, "{source} {keys}");
                }
            }
        }
    }
}
