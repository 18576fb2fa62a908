//! What a database keeps to itself, and what its tables are called, over restarts and changed configurations.

use serde_json::{Value, json};

use crate::support::{Folder, StdioServer, alter, confirmed, forgetful, text, until};

const USERS: &str = "
    CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, notes TEXT, password_hash TEXT);
    INSERT INTO users VALUES (1, 'Ann', 'hunterzz', 'hunterzz');
    CREATE VIRTUAL TABLE users_words USING fts5(name, notes, content='users', content_rowid='id');
    INSERT INTO users_words(users_words) VALUES ('rebuild');";

fn config(folder: &Folder, file: &str, keys: &str) -> String {
    folder.file("aquifer.toml", &format!("[[source]]\ntarget = \"sqlite:{file}\"\n{keys}\n"))
}

fn serve(folder: &Folder, arguments: &[&str]) -> StdioServer {
    let mut piped = StdioServer::spawn(forgetful(folder).arg("serve").args(arguments));
    piped.initialize("2025-06-18");
    piped
}

/// What a call of an operation answers, refused or not.
fn answer(piped: &mut StdioServer, family: &str, operation: &str, params: &Value) -> Value {
    piped.call(&format!("mcp_aql_{family}"), json!({ "operation": operation, "params": params }))
}

#[test]
fn r_ext_6_what_does_not_fit_is_refused_at_the_start_and_later() {
    let folder = Folder::new();
    let file = folder.database("users.db", USERS);
    for (keys, words) in [
        ("tables.users.hide = [\"Notes\"]", "'hide' names 'Notes', which is not a column of it. Did you mean 'notes'?"),
        ("tables.users.hide = [\"id\"]", "'hide' names 'id', which is part of its key"),
        ("tables.userz.hide = [\"notes\"]", "there is no such table to serve. Did you mean 'users'?"),
        ("tables.users.show = [\"password\"]", "'show' names 'password'"),
        ("tables.users.presets.all = [\"password_hash\"]", "preset 'all' names 'password_hash'"),
    ] {
        for arguments in [&["serve"][..], &["introspect"], &["call", "list_users"]] {
            let path = config(&folder, &file, keys);
            let output = forgetful(&folder).args(arguments).args(["--config", &path]).output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{keys} {arguments:?}");
            assert!(text(&output.stderr).contains(words), "{keys}: {}", text(&output.stderr));
        }
    }
    let path = config(&folder, &file, "tables.users.hide = [\"notes\"]");
    let mut piped = serve(&folder, &["--config", &path]);
    let rows = json!([{ "id": 1, "name": "Ann" }]);
    assert_eq!(piped.data("read", "list_users", json!({ "fields": "full" }))["items"], rows);
    assert_eq!(piped.data("read", "search_users", json!({ "query": "hunterzz" }))["items"], json!([]));
    // A change that would not hide is not taken over.
    config(&folder, &file, "tables.users.hide = [\"NOTES\"]");
    piped.says("is invalid, so the old one stays in effect");
    assert_eq!(piped.data("read", "list_users", json!({ "fields": "full" }))["items"], rows);
    config(&folder, &file, "tables.users.hide = [\"notes\"]\ntables.users.show = [\"password_hash\"]");
    piped.says("the changed configuration is in effect");
    let shown = piped.data("read", "list_users", json!({ "fields": "full" }));
    assert_eq!(shown["items"], json!([{ "id": 1, "name": "Ann", "password_hash": "hunterzz" }]));
    // Nor does a changed table: it goes.
    alter(&file, "ALTER TABLE users RENAME COLUMN notes TO remarks");
    until("the table is gone", || (!piped.operations().contains(&"list_users".to_owned())).then_some(()));
    piped.says("'hide' names 'notes'");
}

#[test]
fn r_saf_2_a_table_is_called_the_same_after_a_restart() {
    let folder = Folder::new();
    let file = folder.database(
        "shop.db",
        "CREATE TABLE \"Order\" (id INTEGER PRIMARY KEY, a TEXT); INSERT INTO \"Order\" VALUES (1, 'old');",
    );
    let target = format!("sqlite:{file}");
    let mut piped = serve(&folder, &[&target]);
    assert_eq!(piped.data("read", "get_order", json!({ "id": 1 }))["a"], "old");
    drop(piped);
    alter(&file, "CREATE TABLE orders (id INTEGER PRIMARY KEY, a TEXT); INSERT INTO orders VALUES (1, 'new');");
    let mut piped = serve(&folder, &[&target]);
    assert_eq!(piped.data("read", "get_order", json!({ "id": 1 }))["a"], "old");
    drop(piped);
    // Whoever only looks sees the same names.
    let looked = forgetful(&folder).args(["call", "get_order", "{\"id\":1}", "--source", &target]).output().unwrap();
    assert!(text(&looked.stdout).contains("old"), "{} {}", text(&looked.stdout), text(&looked.stderr));
    // Without a memory each is called by its own name.
    let other = Folder::new();
    let mut piped = serve(&other, &[&target]);
    assert_eq!(piped.data("read", "get_order", json!({ "id": 1 }))["a"], "old");
    assert_eq!(piped.data("read", "get_orders", json!({ "id": 1 }))["a"], "new");
}

/// Two files of one name are two sources, and what is meant for the one never reaches the other.
#[test]
fn r_saf_2_two_databases_of_one_name_are_told_apart() {
    let (one, two) = (Folder::new(), Folder::new());
    let sql = |word: &str| {
        format!("CREATE TABLE orders (id INTEGER PRIMARY KEY, a TEXT); INSERT INTO orders VALUES (1, '{word}');")
    };
    let files = [one.database("shop.db", &sql("one")), two.database("shop.db", &sql("two"))];
    for style in ["tables", "generic"] {
        let source = |file: &String| format!("[[source]]\ntarget = \"sqlite:{file}\"\nstyle = \"{style}\"\n");
        let path = one.file("aquifer.toml", &files.iter().map(source).collect::<String>());
        let mut piped = serve(&one, &["--config", &path]);
        let names = piped.operations();
        for word in ["one", "two"] {
            let get = if style == "tables" { "get_order" } else { "get_record" };
            let prefix = names.iter().filter_map(|name| name.strip_suffix(get)).find(|prefix| {
                let params = match style {
                    "tables" => json!({ "id": 1 }),
                    _ => json!({ "table_name": "orders", "key": { "id": 1 } }),
                };
                piped.data("read", &format!("{prefix}{get}"), params)["a"] == word
            });
            assert!(prefix.is_some(), "{style} {word}: {names:?}");
        }
    }
}

/// A rehearsal over the built program leaves the file byte for byte as it was.
#[test]
fn r_req_9_a_rehearsal_leaves_the_file_as_it_was() {
    let folder = Folder::new();
    let file = folder.database("users.db", USERS);
    let target = format!("sqlite:{file}");
    let before = std::fs::read(&file).unwrap();
    for (operation, params) in [
        ("create_user", json!({ "name": "Bo", "dry_run": true })),
        ("update_user", json!({ "id": 1, "input": { "name": "Bo" }, "dry_run": true })),
        ("delete_user", json!({ "id": 1, "dry_run": true })),
    ] {
        let output = confirmed(&params, |params| {
            forgetful(&folder).args(["call", operation, params, "--source", &target]).output().unwrap()
        });
        assert!(text(&output.stdout).contains("\"would\""), "{operation}: {}", text(&output.stdout));
        assert_eq!(std::fs::read(&file).unwrap(), before, "{operation}");
    }
}

/// A rule that held at the start is told as soon as it no longer does.
#[test]
fn r_saf_2_a_rule_whose_table_is_renamed_is_reported() {
    let folder = Folder::new();
    let file = folder.database("users.db", USERS);
    let rule = "[[gate.rule]]\nname = \"keep\"\neffect = \"deny\"\noperation = \"delete_user\"\n";
    let mut piped = serve(&folder, &["--config", &config(&folder, &file, rule)]);
    assert!(piped.operations().contains(&"list_users".to_owned()));
    alter(&file, "ALTER TABLE users RENAME TO people");
    until("the table has its new name", || piped.operations().contains(&"list_people".to_owned()).then_some(()));
    piped.says("rule 1 'keep': no operation matches 'delete_user'");
}

/// A rule about the operation for all tables holds for the operations that stand behind it, and where there is none.
#[test]
fn r_saf_2_conditions_of_a_generic_operation_hold_however_a_table_is_reached() {
    let folder = Folder::new();
    let file = folder.database(
        "shop.db",
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, total INTEGER); CREATE TABLE notes (id INTEGER PRIMARY KEY, total INTEGER);
         INSERT INTO orders VALUES (1, 5); INSERT INTO notes VALUES (1, 5);",
    );
    let rules = "[[gate.rule]]\nname = \"orders\"\neffect = \"deny\"\noperation = [\"create_record\", \"update_record\"]\n\
                 when = [{ param = \"table_name\", equals = \"orders\" }]\n\
                 [[gate.rule]]\nname = \"first\"\neffect = \"deny\"\noperation = \"delete_record\"\n\
                 when = [{ param = \"key.id\", equals = 1 }]\n\
                 [[gate.rule]]\nname = \"large\"\neffect = \"deny\"\noperation = \"create_record\"\n\
                 when = [{ param = \"values.total\", greater = 100 }]\n";
    for style in ["generic", "tables"] {
        let path = config(&folder, &file, &format!("style = \"{style}\"\n{rules}"));
        let mut piped = serve(&folder, &["--config", &path]);
        for (tool, operation, params, is_denied) in [
            ("create", "create_order", json!({ "total": 1 }), true),
            ("update", "update_order", json!({ "id": 1, "input": { "total": 1 } }), true),
            ("create", "create_note", json!({ "total": 1 }), false),
            ("create", "create_note", json!({ "total": 101 }), true),
            ("update", "update_note", json!({ "id": 1, "input": { "total": 1 } }), false),
            ("delete", "delete_note", json!({ "id": 1 }), true),
            ("delete", "delete_order", json!({ "id": 1 }), true),
        ] {
            let answer = answer(&mut piped, tool, operation, &params);
            let is_refused = answer["error"]["code"] == "PERMISSION_DENIED";
            assert_eq!(is_refused, is_denied, "{style}: {operation} {params}: {answer}");
            assert_eq!(answer["success"], !is_denied, "{style}: {operation} {params}: {answer}");
        }
    }
}

/// An operation that is always denied says so, and nothing of itself.
#[test]
fn r_saf_2_denied_operations_do_not_describe_themselves() {
    let folder = Folder::new();
    let file = folder.database(
        "shop.db",
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, discount INTEGER NOT NULL);
        CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT);",
    );
    let rules = "[[gate.rule]]\neffect = \"deny\"\ntable = \"orders\"\n";
    for (style, cases) in [
        ("tables", vec![("create", "create_order", json!({ "zz": 1 })), ("update", "update_order", json!({}))]),
        (
            "generic",
            vec![
                ("create", "create_order", json!({ "zz": 1 })),
                ("create", "create_record", json!({ "table_name": "orders", "values": { "zz": 1 } })),
                ("update", "update_record", json!({ "table_name": "Order", "key": {}, "input": { "zz": 1 } })),
            ],
        ),
    ] {
        let path = config(&folder, &file, &format!("style = \"{style}\"\n{rules}"));
        let mut piped = serve(&folder, &["--config", &path]);
        for (tool, operation, params) in cases {
            let answer = answer(&mut piped, tool, operation, &params);
            assert_eq!(answer["error"]["code"], "PERMISSION_DENIED", "{style}: {operation} {params}: {answer}");
            assert!(!answer.to_string().contains("discount"), "{answer}");
        }
    }
}

/// A table of which everything is denied is not named anywhere, and what is denied is not counted either.
#[test]
fn r_saf_2_a_denied_table_is_not_mentioned() {
    let folder = Folder::new();
    let file = folder.database(
        "shop.db",
        "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT);
         CREATE TABLE orders (id INTEGER PRIMARY KEY, person_id INTEGER REFERENCES people(id));
         CREATE TABLE grievances (id INTEGER PRIMARY KEY, person_id INTEGER REFERENCES people(id), body TEXT);
         INSERT INTO people VALUES (1, 'Ann'); INSERT INTO orders VALUES (1, 1); INSERT INTO grievances VALUES (1, 1, 'x');",
    );
    let deny = "[[gate.rule]]\neffect = \"deny\"\ntable = \"grievances\"\n";
    for style in ["tables", "generic"] {
        let plain = format!("style = \"{style}\"\n");
        let path = config(&folder, &file, &format!("{plain}{deny}"));
        let mut piped = serve(&folder, &["--config", &path]);
        let mut check = || {
            let mut all = piped.request("tools/list", json!({})).to_string();
            for query in [json!({ "query": "operations", "fields": "full" }), json!({ "query": "types" })] {
                all += &piped.data("read", "introspect", query).to_string();
            }
            if style == "generic" {
                all += &piped.data("read", "list_tables", json!({})).to_string();
                let table = json!({ "table_name": "grievvances" });
                all += &answer(&mut piped, "read", "list_records", &table).to_string().replace("grievvances", "");
            }
            let root = json!({ "element_type": "people", "id": 1 });
            let walk = json!({ "root": root, "direction": "incoming" });
            all += &piped.data("read", "query_relationships", walk).to_string();
            let person = match style {
                "generic" => piped.data(
                    "read",
                    "get_record",
                    json!({ "table_name": "people", "key": { "id": 1 }, "fields": "full" }),
                ),
                _ => piped.data("read", "get_person", json!({ "id": 1, "fields": "full" })),
            };
            all += &person.to_string();
            assert!(all.contains("orders"), "{style}: {all}");
            assert!(!all.contains("grievance"), "{style}: {all}");
        };
        check();
        // Rules come and go while it is served.
        config(&folder, &file, &plain);
        piped.says("the changed configuration is in effect");
        let now = match style {
            "generic" => piped.data("read", "list_tables", json!({})).to_string(),
            _ => piped.operations().join(" "),
        };
        assert!(now.contains("grievances"), "{style}: {now}");
    }
}
