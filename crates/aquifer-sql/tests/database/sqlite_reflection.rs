//! Reflection of SQLite files, whose declared types are only hints.

use aquifer_sql::{Style, TableSettings};
use serde_json::{Value, json};

use crate::support::Fixture;

const EVERYTHING: &str = "
    CREATE TABLE owners (id INTEGER PRIMARY KEY, email TEXT NOT NULL UNIQUE, full_name TEXT);
    CREATE TABLE things (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        title VARCHAR(40) NOT NULL,
        status TEXT NOT NULL DEFAULT 'new' CHECK (status IN ('new', 'it''s \"old\"', 'gone')),
        amount DECIMAL(10, 2),
        weight REAL,
        is_good BOOLEAN NOT NULL DEFAULT 1,
        meta JSON,
        picture BLOB,
        made_on DATE,
        made_at DATETIME,
        seen_at INTEGER,
        owner_id INTEGER REFERENCES owners ON DELETE CASCADE,
        double_weight REAL GENERATED ALWAYS AS (weight * 2) STORED,
        loud TEXT AS (upper(title))
    );
    INSERT INTO owners VALUES (1, 'ann@example.com', 'Ann');
    INSERT INTO things (title, meta, weight, amount, made_on, made_at, seen_at, owner_id, picture)
        VALUES ('one', '{\"a\": {\"b\": [1, 2]}}', 1.5, 10.25, '2026-01-31', '2026-01-31 12:00:00', 1769860800, 1, x'00ff');
    CREATE VIEW good_things AS SELECT id, title, weight FROM things WHERE is_good;";

#[tokio::test]
async fn r_int_5_columns_become_parameters_with_their_known_constraints() {
    let fixture = Fixture::sqlite(EVERYTHING).await;
    let names = fixture.operations();
    for name in ["list_things", "search_things", "get_thing", "create_thing", "update_thing", "delete_thing"] {
        assert!(names.iter().any(|known| known == name), "{name} of {names:?}");
    }
    let create = fixture.details("create_thing").await;
    let known: Vec<(&str, &str, bool)> = create["parameters"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["name"].as_str().unwrap(), one["type"].as_str().unwrap(), one["required"] == json!(true)))
        .collect();
    assert_eq!(
        known,
        [
            ("id", "integer", false),
            ("title", "string", true),
            ("status", "string", false),
            ("amount", "number | null", false),
            ("weight", "number | null", false),
            ("is_good", "boolean", false),
            ("meta", "any | null", false),
            ("picture", "string | null", false),
            ("made_on", "string | null", false),
            ("made_at", "string | null", false),
            ("seen_at", "string | null", false),
            ("owner_id", "integer | null", false),
            ("dry_run", "boolean", false),
        ]
    );
    let parameter = |name: &str| {
        let all = create["parameters"].as_array().unwrap();
        all.iter().find(|one| one["name"] == name).cloned().unwrap()
    };
    assert_eq!(parameter("status")["enum"], json!(["new", "it's \"old\"", "gone"]));
    assert!(parameter("owner_id")["description"].as_str().unwrap().contains("owners.id"), "{}", parameter("owner_id"));
    assert_eq!(parameter("made_at")["format"], "date-time");
    assert_eq!(parameter("made_on")["format"], "date");
    let fields = fixture.fields_of("Thing").await;
    let shown: Vec<&str> = fields.keys().map(String::as_str).collect();
    assert!(shown.contains(&"double_weight") && shown.contains(&"loud"), "{shown:?}");
    let thing = fixture.call_ok("get_thing", json!({ "id": 1 })).await;
    assert_eq!(
        json!([
            thing["meta"],
            thing["picture"],
            thing["is_good"],
            thing["made_on"],
            thing["made_at"],
            thing["seen_at"]
        ]),
        json!([{ "a": { "b": [1, 2] } }, "AP8=", true, "2026-01-31", "2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z"])
    );
    assert_eq!(json!([thing["double_weight"], thing["loud"], thing["amount"]]), json!([3.0, "ONE", 10.25]));
    // Generated columns are never set.
    let error =
        fixture.call_err("create_thing", json!({ "title": "x", "loud": "X" }), "VALIDATION_UNKNOWN_PARAM").await;
    assert!(error["message"].as_str().unwrap().contains("loud"), "{error}");
}

#[tokio::test]
async fn views_are_read_only() {
    let fixture = Fixture::sqlite(EVERYTHING).await;
    let of_view: Vec<String> = fixture.operations().into_iter().filter(|name| name.contains("good_thing")).collect();
    assert_eq!(of_view, ["list_good_things", "search_good_things"]);
    let found = fixture.call_ok("list_good_things", json!({ "filter": { "weight": { "gt": 1 } } })).await;
    assert_eq!(found["items"], json!([{ "id": 1, "title": "one", "weight": 1.5 }]));
    // R-INT-5: without a key nothing can be counted from the end, so it is not offered.
    let takes = |details: &serde_json::Value| -> Vec<String> {
        let parameters = details["parameters"].as_array().unwrap().iter();
        parameters.map(|parameter| parameter["name"].as_str().unwrap().to_owned()).collect()
    };
    for name in of_view {
        let takes = takes(&fixture.details(&name).await);
        assert!(takes.contains(&"first".to_owned()) && !takes.contains(&"last".to_owned()), "{name}: {takes:?}");
        assert!(!takes.contains(&"before".to_owned()), "{name}: {takes:?}");
    }
    let table_settings = TableSettings { key: vec!["id".to_owned()], ..TableSettings::default() };
    let fixture = Fixture::sqlite_with(EVERYTHING, |settings| {
        settings.tables.insert("good_things".to_owned(), table_settings);
    })
    .await;
    assert_eq!(fixture.call_ok("get_good_thing", json!({ "id": 1 })).await["title"], "one");
}

#[tokio::test]
async fn read_only_include_and_exclude() {
    let fixture = Fixture::sqlite_with(EVERYTHING, |settings| settings.read_only = true).await;
    let writes = |name: &String| ["create_", "update_", "delete_"].iter().any(|verb| name.starts_with(verb));
    assert!(!fixture.operations().iter().any(writes), "{:?}", fixture.operations());
    let fixture = Fixture::sqlite_with(EVERYTHING, |settings| settings.include = vec!["own*".to_owned()]).await;
    assert!(fixture.operations().iter().all(|name| name.contains("owner")), "{:?}", fixture.operations());
    let fixture = Fixture::sqlite_with(EVERYTHING, |settings| settings.exclude = vec!["own*".to_owned()]).await;
    assert!(!fixture.operations().iter().any(|name| name.contains("owner")), "{:?}", fixture.operations());
    // A reference to a table that is not offered is an ordinary number, and its constraint still applies.
    let owner = json!({ "title": "x", "owner_id": 99 });
    let error = fixture.call_err("create_thing", owner, "CONFLICT_CONSTRAINT").await;
    assert!(!error.to_string().contains("owners"), "{error}");
}

#[tokio::test]
async fn names_of_every_kind() {
    let fixture = Fixture::sqlite(
        "CREATE TABLE \"Order Details\" (\"Order ID\" INTEGER PRIMARY KEY, \"select\" TEXT, \"Größe \"\"x\"\"\" TEXT, \"🚀\" TEXT, \"a.b\" TEXT);
         CREATE TABLE \"select\" (id INTEGER PRIMARY KEY, \"from\" TEXT, \"where\" TEXT, \"and\" INTEGER);
         CREATE TABLE \"😀\" (id INTEGER PRIMARY KEY, \"名前\" TEXT);
         CREATE TABLE \"it's; DROP TABLE x --\" (id INTEGER PRIMARY KEY, \"'; --\" TEXT);
         CREATE TABLE controls (id INTEGER PRIMARY KEY, dry_run TEXT, fields TEXT, filter TEXT, input TEXT, operation TEXT,
            params TEXT, \"limit\" INTEGER, if_match TEXT, query TEXT, sort TEXT, first TEXT, table_name TEXT, _id TEXT);
         CREATE TABLE order_lines (id INTEGER PRIMARY KEY, a TEXT);
         CREATE TABLE OrderLine (id INTEGER PRIMARY KEY, b TEXT);",
    )
    .await;
    let made = fixture
        .call_ok(
            "create_order_detail",
            json!({ "order_id": 7, "select": "s", "grosse_x": "g", "rocket": "r", "a_b": "dot" }),
        )
        .await;
    assert_eq!(
        json!([made["order_id"], made["select"], made["grosse_x"], made["rocket"], made["a_b"]]),
        json!([7, "s", "g", "r", "dot"])
    );
    let asked = json!({ "filter": { "grosse_x": "g", "a_b": "dot" }, "sort": { "field": "rocket" }, "fields": ["rocket", "order_id"] });
    assert_eq!(fixture.call_ok("list_order_details", asked).await["items"], json!([{ "rocket": "r", "order_id": 7 }]));
    let changed = json!({ "order_id": 7, "input": { "rocket": "up" } });
    assert_eq!(fixture.call_ok("update_order_detail", changed).await["rocket"], "up");
    assert_eq!(fixture.call_ok("delete_order_detail", json!({ "order_id": 7 })).await["rocket"], "up");

    fixture.call_ok("create_select", json!({ "from": "f", "where": "w", "and_column": 3 })).await;
    let asked = json!({ "filter": { "from": "f", "and_column": 3 }, "sort": { "field": "where", "order": "desc" } });
    assert_eq!(fixture.call_ok("list_selects", asked).await["items"][0]["and_column"], 3);
    fixture.call_ok("create_grinning", json!({ "ming_qian": "Taro" })).await;
    let asked = json!({ "aggregate": { "n": { "group_by": "ming_qian", "count": true } } });
    assert_eq!(fixture.call_ok("list_grinnings", asked).await["aggregations"]["n"], json!({ "Taro": 1 }));

    let hostile = fixture.operations().into_iter().find(|name| name.starts_with("create_its")).unwrap();
    let column = fixture.details(&hostile).await["parameters"][1]["name"].as_str().unwrap().to_owned();
    let made = fixture.call_ok(&hostile, json!({ column: "v" })).await;
    assert_eq!(made["column"], "v");

    // Columns named like controls, together with the controls.
    let made = fixture
        .call_ok(
            "create_control",
            json!({ "dry_run_column": "d", "fields_column": "f", "filter": "x", "input_column": "i", "operation": "o",
                    "params": "p", "limit": 3, "if_match_column": "m", "query": "q", "sort": "s", "first": "1",
                    "table_name": "t", "id_2": "under" }),
        )
        .await;
    for (field, value) in [
        ("dry_run_column", json!("d")),
        ("fields_column", json!("f")),
        ("filter", json!("x")),
        ("input_column", json!("i")),
        ("operation", json!("o")),
        ("params", json!("p")),
        ("limit", json!(3)),
        ("if_match_column", json!("m")),
        ("first", json!("1")),
        ("table_name", json!("t")),
        ("id_2", json!("under")),
    ] {
        assert_eq!(made[field], value, "{field}: {made}");
    }
    let asked = json!({ "filter": { "filter": "x", "limit": { "gte": 3 }, "dry_run_column": "d" }, "limit": 1, "fields": ["limit"] });
    assert_eq!(fixture.call_ok("list_controls", asked).await["items"], json!([{ "limit": 3 }]));
    let changed = json!({ "id": 1, "input": { "dry_run_column": "really" }, "dry_run": true });
    assert_eq!(fixture.call_ok("update_control", changed).await["changes"]["dry_run_column"]["to"], "really");
    let asked = json!({ "id": 1, "fields": ["dry_run_column"] });
    assert_eq!(fixture.call_ok("get_control", asked).await, json!({ "dry_run_column": "d" }));

    // Two tables with the same words: each gets its own name.
    fixture.call_ok("create_order_lines", json!({ "a": "lines" })).await;
    fixture.call_ok("create_order_line", json!({ "b": "line" })).await;
    assert_eq!(fixture.call_ok("list_order_lines", json!({})).await["items"][0]["a"], "lines");
    assert_eq!(fixture.call_ok("list_order_line", json!({})).await["items"][0]["b"], "line");
}

#[tokio::test]
async fn keys_of_every_kind() {
    let fixture = Fixture::sqlite(
        "CREATE TABLE plain (id INTEGER PRIMARY KEY, a TEXT);
         CREATE TABLE words (word TEXT PRIMARY KEY, meaning TEXT);
         CREATE TABLE pairs (left_id INT NOT NULL, right_id INT NOT NULL, note TEXT, PRIMARY KEY (right_id, left_id));
         CREATE TABLE tight (code TEXT PRIMARY KEY, n INT) WITHOUT ROWID;
         CREATE TABLE emptied (a TEXT, b INT);
         CREATE TABLE nullable (k TEXT PRIMARY KEY, n INT);
         INSERT INTO nullable VALUES (NULL, 1), (NULL, 2), ('a', 3);
         CREATE TABLE own (rowid TEXT, a TEXT);
         INSERT INTO own VALUES ('x', 'one'), ('x', 'two');
         CREATE TABLE strict (id INTEGER PRIMARY KEY, n INTEGER, t TEXT, r REAL, b BLOB, x ANY) STRICT;
         CREATE TABLE counted (id BIGINT PRIMARY KEY, a TEXT);
         CREATE TABLE uses_words (id INTEGER PRIMARY KEY, word TEXT REFERENCES words);",
    )
    .await;
    let key = async |operation: &str| -> Vec<String> {
        let details = fixture.details(operation).await;
        let required = details["parameters"].as_array().unwrap().iter().filter(|one| one["required"] == json!(true));
        required.map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(key("get_plain").await, ["id"]);
    assert_eq!(key("get_word").await, ["word"]);
    assert_eq!(key("get_pair").await, ["right_id", "left_id"]);
    assert_eq!(key("get_tight").await, ["code"]);
    assert_eq!(key("get_emptied").await, ["rowid"]);
    assert_eq!(key("get_nullable").await, ["rowid"]);
    assert_eq!(key("get_counted").await, ["id"]);
    // A non-integer key is required; a row number is assigned by SQLite.
    assert_eq!(key("create_word").await, ["word"]);
    assert_eq!(key("create_counted").await, ["id"]);
    assert!(key("create_plain").await.is_empty());

    let made = fixture.call_ok("create_emptied", json!({ "a": "x", "b": 1 })).await;
    assert_eq!(made["rowid"], 1);
    assert_eq!(fixture.call_ok("update_emptied", json!({ "rowid": 1, "input": { "b": 2 } })).await["b"], 2);
    assert_eq!(fixture.call_ok("delete_emptied", json!({ "rowid": 1 })).await["a"], "x");
    for number in 0..25 {
        fixture.call_ok("create_emptied", json!({ "a": "same", "b": number % 3 })).await;
    }
    let all = fixture.walk("list_emptieds", json!({ "sort": { "field": "b" } }), 4).await;
    assert_eq!(all.len(), 25);
    assert_eq!(fixture.walk("list_nullables", json!({}), 1).await.len(), 3);
    assert_eq!(fixture.walk("list_owns", json!({}), 1).await.len(), 2);

    for (left, right) in [(1, 2), (2, 1), (1, 1)] {
        fixture
            .call_ok("create_pair", json!({ "left_id": left, "right_id": right, "note": format!("{left}{right}") }))
            .await;
    }
    assert_eq!(fixture.call_ok("get_pair", json!({ "left_id": 1, "right_id": 2 })).await["note"], "12");
    fixture.call_ok("update_pair", json!({ "left_id": 2, "right_id": 1, "input": { "note": "n" } })).await;
    fixture.call_ok("delete_pair", json!({ "left_id": 1, "right_id": 1 })).await;
    let left: Vec<Value> =
        fixture.walk("list_pairs", json!({}), 1).await.into_iter().map(|pair| pair["note"].clone()).collect();
    assert_eq!(left, [json!("n"), json!("12")]);

    fixture.call_ok("create_word", json!({ "word": "hello", "meaning": "a greeting" })).await;
    fixture.call_ok("create_uses_word", json!({ "word": "hello" })).await;
    let near = json!({ "root": { "element_type": "words", "word": "hello" }, "direction": "incoming" });
    let found = fixture.call_ok("query_relationships", near).await;
    assert_eq!(found["relationships"][0]["type"], "uses_words.word", "{found}");
    fixture.call_err("create_uses_word", json!({ "word": "bye" }), "CONFLICT_CONSTRAINT").await;

    // STRICT tables enforce their types.
    fixture.call_ok("create_strict", json!({ "n": 1, "t": "t", "r": 1.5, "b": "AQI=", "x": "any" })).await;
    fixture.call_err("create_strict", json!({ "n": "one" }), "VALIDATION_INVALID_TYPE").await;
    assert_eq!(fixture.call_ok("get_strict", json!({ "id": 1 })).await["b"], "AQI=");
}

#[tokio::test]
async fn columns_without_types_get_the_type_of_their_values() {
    let fixture = Fixture::sqlite(
        "CREATE TABLE loose (id INTEGER PRIMARY KEY, number, word, mixed, empty, real);
         INSERT INTO loose (number, word, mixed, real) VALUES (1, 'a', 1, 1.5), (2, 'b', 'two', 2);",
    )
    .await;
    let fields = fixture.fields_of("Loose").await;
    let kind = |name: &str| fields[name]["type"].as_str().unwrap().to_owned();
    assert_eq!(
        [kind("number"), kind("word"), kind("mixed"), kind("empty"), kind("real")],
        ["integer | null", "string | null", "string | null", "string | null", "number | null"]
    );
    let sums = json!({ "aggregate": { "s": { "sum": "number" }, "most": { "max": "real" } } });
    assert_eq!(fixture.call_ok("list_looses", sums).await["aggregations"], json!({ "s": 3, "most": 2 }));
    assert_eq!(fixture.walk("list_looses", json!({ "sort": { "field": "mixed" } }), 1).await.len(), 2);
    let made = fixture.call_ok("create_loose", json!({ "number": 9_007_199_254_740_993_i64, "word": "w" })).await;
    assert_eq!(made["number"], "9007199254740993");
}

#[tokio::test]
async fn r_res_5_times_in_every_stored_format_are_read() {
    let fixture = Fixture::sqlite(
        "CREATE TABLE events (
            id INTEGER PRIMARY KEY, fresh DATETIME, plain_at TEXT, zulu_at TEXT, milli_at TEXT, epoch_at INTEGER,
            epoch_ms_at INTEGER, mixed_at TEXT, day DATE, created_at DATETIME DEFAULT CURRENT_TIMESTAMP, attempts_at INTEGER);
         INSERT INTO events (plain_at, zulu_at, milli_at, epoch_at, epoch_ms_at, mixed_at, day, attempts_at) VALUES
            ('2026-01-31 12:00:00', '2026-01-31T12:00:00Z', '2026-01-31 12:00:00.250', 1769860800, 1769860800250,
             '2026-01-31T14:00:00+02:00', '2026-01-31', 3),
            ('2026-02-01 12:00:00', '2026-02-01T12:00:00Z', '2026-02-01 12:00:00.250', 1769947200, 1769947200250,
             '2026-02-01 12:00:00', '2026-02-01', 4);",
    )
    .await;
    let first = fixture.call_ok("get_event", json!({ "id": 1 })).await;
    for name in ["plain_at", "zulu_at", "epoch_at", "mixed_at"] {
        assert_eq!(first[name], "2026-01-31T12:00:00Z", "{name}");
    }
    for name in ["milli_at", "epoch_ms_at"] {
        assert_eq!(first[name], "2026-01-31T12:00:00.250Z", "{name}");
    }
    assert_eq!(first["attempts_at"], 3, "small numbers are no times");
    // Written values keep the format of their column.
    let moment = "2026-03-04T05:06:07Z";
    let made = json!({ "fresh": moment, "plain_at": moment, "zulu_at": moment, "milli_at": moment, "epoch_at": moment,
                       "epoch_ms_at": moment, "mixed_at": "2026-03-04T07:06:07+02:00", "day": "2026-03-04" });
    let made = fixture.call_ok("create_event", made).await;
    for name in ["fresh", "plain_at", "zulu_at", "epoch_at", "mixed_at"] {
        assert_eq!(made[name], moment, "{name}: {made}");
    }
    for name in ["milli_at", "epoch_ms_at"] {
        assert_eq!(made[name], "2026-03-04T05:06:07.000Z", "{name}: {made}");
    }
    let id = &made["id"];
    let kept = "SELECT fresh || '|' || plain_at || '|' || zulu_at || '|' || milli_at || '|' || epoch_at || '|' || epoch_ms_at || '|' || day FROM events WHERE id = 3";
    assert_eq!(
        fixture.value(kept).await,
        "2026-03-04 05:06:07|2026-03-04 05:06:07|2026-03-04T05:06:07Z|2026-03-04 05:06:07.000|1772600767|1772600767000|2026-03-04"
    );
    for name in ["fresh", "plain_at", "zulu_at", "milli_at", "epoch_at", "epoch_ms_at", "mixed_at"] {
        let found = fixture.call_ok("list_events", json!({ "filter": { name: moment } })).await;
        assert_eq!(found["items"][0]["id"], *id, "{name}");
        let after = json!({ "filter": { name: { "gt": "2026-02-02" } }, "fields": ["id"] });
        assert_eq!(fixture.call_ok("list_events", after).await["items"], json!([{ "id": id }]), "{name}");
        let sorted = fixture
            .walk("list_events", json!({ "sort": { "field": name, "order": "asc" }, "fields": ["id"] }), 1)
            .await;
        let ids: Vec<&Value> = sorted.iter().map(|row| &row["id"]).collect();
        let expected = if name == "fresh" { [json!(3), json!(1), json!(2)] } else { [json!(1), json!(2), json!(3)] };
        assert_eq!(ids, expected.iter().collect::<Vec<_>>(), "{name}");
    }
    fixture.call_err("create_event", json!({ "fresh": "yesterday" }), "VALIDATION_INVALID_VALUE").await;
}

#[tokio::test]
async fn r_col_2_full_text_indexes_are_found_and_used() {
    let fixture = Fixture::sqlite(
        "CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT, body TEXT, author TEXT);
         CREATE VIRTUAL TABLE posts_fts USING fts5(title, body, content='posts', content_rowid='id', tokenize='porter');
         INSERT INTO posts VALUES (10, 'Rain', 'It rains in the valley', 'storm'), (11, 'Sun', 'Sunshine all day', 'rain');
         INSERT INTO posts_fts(posts_fts) VALUES ('rebuild');
         CREATE VIRTUAL TABLE notes USING fts5(subject, body, tag UNINDEXED);
         INSERT INTO notes VALUES ('Milk', 'buy milk and eggs', 'milk'), ('Walk', 'walk the dog', 'x');
         CREATE TABLE unindexed (id INTEGER PRIMARY KEY, words TEXT);
         INSERT INTO unindexed (words) VALUES ('hello there');
         CREATE TABLE large (id INTEGER PRIMARY KEY, words TEXT);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10001)
         INSERT INTO large SELECT i, 'hello ' || i FROM n;",
    )
    .await;
    let names = fixture.operations();
    assert!(!names.iter().any(|name| name.contains("fts")), "an index is no table: {names:?}");
    let answer = fixture.call("search_posts", json!({ "query": "raining" })).await;
    let ids: Vec<&Value> = answer["data"]["items"].as_array().unwrap().iter().map(|item| &item["id"]).collect();
    assert_eq!(ids, [&json!(10)], "the index has title and body, with stems: {answer}");
    assert_eq!(answer["warnings"], Value::Null);
    assert!(fixture.details("search_posts").await["description"].as_str().unwrap().contains("title, body"));
    let found = fixture.call_ok("search_notes", json!({ "query": "eggs", "fields": "full" })).await;
    assert_eq!(found["items"][0]["subject"], "Milk", "{found}");
    assert_eq!(fixture.call_ok("search_notes", json!({ "query": "x" })).await["items"], json!([]));
    assert!(!names.contains(&"create_note".to_owned()), "a full-text table is read only: {names:?}");
    let answer = fixture.call("search_unindexeds", json!({ "query": "HELLO" })).await;
    assert_eq!(answer["data"]["items"].as_array().unwrap().len(), 1);
    assert_eq!(answer["warnings"], Value::Null, "a small table is read quickly");
    let search = async || fixture.call("search_larges", json!({ "query": "hello", "first": 1 })).await;
    assert_eq!(search().await["warnings"][0]["code"], "SEARCH_NOT_INDEXED");
    // A large table can become small while the server runs.
    fixture.run_sql("DELETE FROM large WHERE id = 1").await;
    assert_eq!(search().await["warnings"], Value::Null);
}

#[tokio::test]
async fn tables_that_cannot_be_reflected_are_skipped() {
    let fixture = Fixture::sqlite(
        "CREATE TABLE fine (id INTEGER PRIMARY KEY, a TEXT);
         CREATE TABLE gone (id INTEGER PRIMARY KEY);
         CREATE VIEW broken AS SELECT id FROM gone;
         CREATE TABLE child (id INTEGER PRIMARY KEY, gone_id INTEGER REFERENCES gone(id), other_id INTEGER REFERENCES nowhere);
         CREATE VIRTUAL TABLE index_of_nothing USING fts5(a, content='not_there');
         DROP TABLE gone;
         PRAGMA writable_schema = ON;
         INSERT INTO sqlite_schema (type, name, tbl_name, rootpage, sql)
            VALUES ('table', 'strange', 'strange', 0, 'CREATE VIRTUAL TABLE strange USING nobody_knows(a)');",
    )
    .await;
    fixture.call_ok("create_fine", json!({ "a": "x" })).await;
    assert_eq!(fixture.call_ok("list_children", json!({})).await["items"], json!([]));
    let names = fixture.operations();
    assert!(!names.iter().any(|name| name.contains("broken") || name.contains("strange")), "{names:?}");
}

#[tokio::test]
async fn an_empty_database_reports_it_and_shows_new_tables() {
    let fixture = Fixture::sqlite("").await;
    assert_eq!(fixture.call_ok("list_tables", json!({})).await["items"], json!([]));
    fixture.run_sql("CREATE TABLE first (id INTEGER PRIMARY KEY)").await;
    assert_eq!(fixture.call_ok("list_tables", json!({})).await["items"][0]["name"], "firsts");
    fixture.engine.refresh().unwrap();
    fixture.call_ok("create_first", json!({})).await;
}

#[tokio::test]
async fn many_tables_share_one_set_of_operations() {
    let tables: String = (0..1_001)
        .map(|n| {
            format!(
                "CREATE TABLE item_{n} (id INTEGER PRIMARY KEY, name TEXT NOT NULL, size INTEGER CHECK (size > 0));"
            )
        })
        .collect();
    let fewer: String = tables.split_inclusive(';').take(1_000).collect();
    let [tables, fewer] = [tables, fewer].map(|tables| format!("BEGIN; {tables} COMMIT;"));
    let fixture = Fixture::sqlite(&tables).await;
    assert!(fixture.operations().len() <= 10, "{:?}", fixture.operations());
    let made =
        fixture.call_ok("create_record", json!({ "table_name": "item_7", "values": { "name": "x", "size": 1 } })).await;
    assert_eq!(made["id"], 1);
    let fixture = Fixture::sqlite_with(&tables, |settings| settings.style = Style::Tables).await;
    assert!(fixture.operations().len() > 5_000);
    let fixture = Fixture::sqlite(&fewer).await;
    assert!(fixture.operations().contains(&"create_item_7".to_owned()), "1,000 tables keep operations of their own");
    let fixture = Fixture::sqlite_with(&fewer, |settings| settings.style = Style::Generic).await;
    assert!(fixture.operations().contains(&"list_records".to_owned()), "the generic style is a choice");
}

/// On a real file that other processes may write: the answer warns about mixed formats, and introspection describes
/// those found at reflection.
#[tokio::test]
async fn r_col_11_mixed_time_formats_give_a_full_scan_warning() {
    let fixture = Fixture::sqlite(
        "CREATE TABLE visits (id INTEGER PRIMARY KEY, seen_at TIMESTAMP NOT NULL, left_at TIMESTAMP);
         CREATE INDEX by_seen ON visits (seen_at);
         CREATE INDEX by_left ON visits (left_at);
         INSERT INTO visits VALUES (1, '2026-01-31T12:00:00', '2026-01-31 12:00:00'), (2, '2026-01-30T12:00:00', 1700000000);",
    )
    .await;
    let details = fixture.details("list_visits").await;
    assert!(!details.to_string().contains("several formats"), "{details}");
    let fields = fixture.fields_of("Visit").await;
    let described = |name: &str| fields[name]["description"].as_str().unwrap_or_default().to_owned();
    assert_eq!(described("left_at"), "Times in several formats: sorting or filtering by this field reads every row");
    assert_eq!(described("seen_at"), "");
    let sorted = json!({ "sort": "seen_at", "fields": ["id"] });
    let warnings = |answer: &Value| answer["warnings"].as_array().map_or(0, Vec::len);
    let answer = fixture.call("list_visits", sorted.clone()).await;
    assert_eq!((&answer["data"]["items"], warnings(&answer)), (&json!([{ "id": 2 }, { "id": 1 }]), 0), "{answer}");
    for (sql, ids, warned) in [
        // Between the others in time, after both as text.
        ("INSERT INTO visits VALUES (3, 'x', NULL)", [2, 1, 3], true),
        ("UPDATE visits SET seen_at = '2026-01-31 11:00:00' WHERE id = 3", [2, 3, 1], true),
        ("UPDATE visits SET seen_at = 1769800000 WHERE id = 3", [2, 3, 1], true),
        ("UPDATE visits SET seen_at = '2026-01-31T11:00:00' WHERE id = 3", [2, 3, 1], false),
        ("UPDATE visits SET seen_at = replace(seen_at, 'T', ' ')", [2, 3, 1], false),
    ] {
        fixture.run_sql(sql).await;
        let answer = fixture.call("list_visits", sorted.clone()).await;
        assert_eq!(answer["data"]["items"], json!(ids.map(|id| json!({ "id": id }))), "{sql}: {answer}");
        let code = answer["warnings"][0]["code"] == "TIME_FORMATS_MIXED";
        assert_eq!((code, warnings(&answer)), (warned, usize::from(warned)), "{sql}: {answer}");
    }
}
