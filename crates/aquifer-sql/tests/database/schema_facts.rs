//! Schema facts are shown to callers and used: constraints, defaults, generated columns, keys, bytes.

use serde_json::{Map, Value, json};

use crate::support::{Fixture, fixtures, fixtures_with};

const SQLITE: &str = "CREATE TABLE products (
        code TEXT NOT NULL UNIQUE,
        price REAL NOT NULL DEFAULT 1.5 CHECK (price >= 0),
        stock INTEGER NOT NULL DEFAULT 7 CHECK (stock > 0 AND stock <= 1000),
        stars INTEGER CHECK (stars IN (1, 2, 3)),
        state TEXT NOT NULL DEFAULT 'new' CHECK (state IS NULL OR state IN ('new', 'old')),
        name TEXT CONSTRAINT short_name CHECK (length(name) BETWEEN 2 AND 5),
        is_new BOOLEAN NOT NULL DEFAULT TRUE,
        made_at TEXT DEFAULT CURRENT_TIMESTAMP,
        total REAL GENERATED ALWAYS AS (price * stock) STORED);
    CREATE TABLE owners (product TEXT REFERENCES products(code), owner TEXT NOT NULL);";

const POSTGRES: &str = "CREATE DOMAIN star AS int CHECK (VALUE = 1 OR VALUE > 0) CHECK (VALUE IN (1, 2, 3));
    CREATE TABLE products (
        code text NOT NULL UNIQUE,
        price numeric(8, 2) NOT NULL DEFAULT 1.5 CHECK (price >= 0),
        stock int NOT NULL DEFAULT 7 CHECK (stock > 0 AND stock <= 1000),
        stars star,
        state varchar NOT NULL DEFAULT 'new' CHECK (state IS NULL OR state IN ('new', 'old')),
        name text CONSTRAINT short_name CHECK (char_length(name) BETWEEN 2 AND 5),
        is_new bool NOT NULL DEFAULT true,
        made_at timestamptz DEFAULT now(),
        total numeric GENERATED ALWAYS AS (price * stock) STORED);
    CREATE TABLE owners (product text REFERENCES products(code), owner text NOT NULL);";

async fn parameters(fixture: &Fixture, operation: &str) -> Map<String, Value> {
    let details = fixture.details(operation).await;
    let all = details["parameters"].as_array().unwrap().clone();
    all.into_iter().map(|one| (one["name"].as_str().unwrap().to_owned(), one)).collect()
}

#[tokio::test]
async fn r_int_2_constraints_and_defaults_are_described_and_enforced() {
    for fixture in fixtures(SQLITE, POSTGRES).await {
        let described = parameters(&fixture, "create_product").await;
        for (name, entry, expected) in [
            ("price", "minimum", json!(0)),
            ("price", "default", json!(1.5)),
            ("stock", "minimum", json!(1)),
            ("stock", "maximum", json!(1000)),
            ("stock", "default", json!(7)),
            ("stars", "enum", json!([1, 2, 3])),
            ("state", "enum", json!(["new", "old"])),
            ("state", "default", json!("new")),
            ("name", "minLength", json!(2)),
            ("name", "maxLength", json!(5)),
            ("is_new", "default", json!(true)),
            ("made_at", "description", json!("Default: the current time.")),
        ] {
            assert_eq!(described[name][entry], expected, "{name}.{entry}: {}", described[name]);
        }
        assert!(!described.contains_key("total") && described["code"]["required"] == json!(true));
        let fields = fixture.fields_of("Product").await;
        let generated = fields["total"]["description"].as_str().unwrap();
        assert!(fields["stock"]["minimum"] == json!(1) && generated.ends_with("Read-only."), "{fields:?}");
        // A change applies no defaults.
        let input = fixture.parameter("update_product", "input").await;
        let changes = fixture.fields_of(input["type"].as_str().unwrap()).await;
        assert_eq!((&changes["stock"]["minimum"], changes["stock"].get("default")), (&json!(1), None), "{changes:?}");
        for (name, wrong, right) in [
            ("price", json!(-0.5), json!(0)),
            ("stock", json!(0), json!(1)),
            ("stock", json!(1001), json!(1000)),
            ("stars", json!(4), json!(3)),
            ("stars", json!(0), json!(null)),
            ("name", json!("x"), json!("xy")),
            ("name", json!("123456"), json!("12345")),
            ("name", json!(""), json!("äöüäö")),
            ("state", json!("gone"), json!("old")),
        ] {
            let error = fixture
                .call_err("create_product", json!({ "code": "c", name: wrong }), "VALIDATION_INVALID_VALUE")
                .await;
            assert_eq!(error["details"]["param_name"], name, "{error}");
            let made = fixture.call_ok("create_product", json!({ "code": "c", name: right })).await;
            assert!(made[name] == right || made[name].as_f64() == right.as_f64(), "{made}");
            let wrong = json!({ "code": "c", "input": { name: wrong } });
            fixture.call_err("update_product", wrong, "VALIDATION_INVALID_VALUE").await;
            fixture.call_ok("delete_product", json!({ "code": "c" })).await;
        }
        // The database applies its defaults.
        let made = fixture.call_ok("create_product", json!({ "code": "d" })).await;
        assert_eq!(
            (&made["price"], &made["stock"], &made["state"], &made["is_new"], &made["total"]),
            (&json!(1.5), &json!(7), &json!("new"), &json!(true), &json!(10.5)),
            "{made}"
        );
    }
}

#[tokio::test]
async fn a_changed_default_is_used_without_reflection() {
    let fixture = Fixture::postgres(POSTGRES).await;
    fixture.run_sql("ALTER TABLE products ALTER stock SET DEFAULT 8").await;
    assert_eq!(fixture.call_ok("create_product", json!({ "code": "a" })).await["stock"], json!(8));
    // Explicit values are used, whatever the default.
    assert_eq!(fixture.call_ok("create_product", json!({ "code": "b", "stock": 7 })).await["stock"], json!(7));
}

#[tokio::test]
async fn a_unique_key_without_nulls_serves_as_key() {
    for fixture in fixtures(SQLITE, POSTGRES).await {
        fixture.call_ok("create_product", json!({ "code": "a" })).await;
        fixture.call_ok("create_owner", json!({ "product": "a", "owner": "Ann" })).await;
        let row = fixture.call_ok("get_product", json!({ "code": "a" })).await;
        assert!(row.get("rowid").is_none(), "{row}");
        let changed = fixture.call_ok("update_product", json!({ "code": "a", "input": { "stock": 9 } })).await;
        assert_eq!(changed["stock"], json!(9));
        assert_eq!(fixture.walk("list_products", json!({}), 1).await.len(), 1);
        let root = json!({ "element_type": "products", "code": "a" });
        let answer = fixture.call("query_relationships", json!({ "root": root, "direction": "incoming" })).await;
        // Without a key of the owners, nothing leads to them.
        let error = &answer["error"]["code"];
        assert!(answer["success"] == json!(true) || error == "NOT_FOUND_OPERATION", "{answer}");
    }
}

/// Which unique key is used, if any.
#[tokio::test]
async fn keys_of_tables_without_a_primary_key() {
    let sqlite = Fixture::sqlite(
        "CREATE TABLE nullable (a TEXT UNIQUE, b TEXT);
         CREATE TABLE several (a TEXT NOT NULL, b TEXT NOT NULL, c TEXT NOT NULL UNIQUE, UNIQUE (a, b));
         CREATE TABLE pairs (a INTEGER NOT NULL, b INTEGER NOT NULL, n TEXT, UNIQUE (b, a));
         CREATE TABLE partial (a TEXT NOT NULL); CREATE UNIQUE INDEX p ON partial (a) WHERE a <> '';
         CREATE TABLE expressed (a TEXT NOT NULL); CREATE UNIQUE INDEX e ON expressed (lower(a));
         CREATE TABLE loose (a TEXT NOT NULL COLLATE NOCASE); CREATE UNIQUE INDEX l ON loose (a COLLATE BINARY);
         CREATE TABLE alike (a TEXT NOT NULL COLLATE NOCASE UNIQUE);
         INSERT INTO loose VALUES ('a'), ('A'); INSERT INTO pairs VALUES (1, 2, 'x'), (2, 1, 'y');",
    )
    .await;
    for (operation, expected) in [
        ("get_nullable", &["rowid"][..]),
        ("get_several", &["c"]),
        ("get_pair", &["b", "a"]),
        ("get_partial", &["rowid"]),
        ("get_expressed", &["rowid"]),
        ("get_loose", &["rowid"]),
        ("get_alike", &["a"]),
    ] {
        let described = parameters(&sqlite, operation).await;
        let key: Vec<&str> = described
            .keys()
            .map(String::as_str)
            .filter(|name| !["fields", "preset", "max_tokens"].contains(name))
            .collect();
        assert_eq!(key, expected, "{operation}");
    }
    assert_eq!(sqlite.call_ok("get_pair", json!({ "a": 2, "b": 1 })).await["n"], "y");
}

/// A key is never omitted, so a column to be omitted does not become a key.
#[tokio::test]
async fn r_saf_5_hidden_columns_never_serve_as_key() {
    use aquifer_sql::TableSettings;
    let sql = "CREATE TABLE visits (token TEXT NOT NULL UNIQUE, page TEXT); CREATE TABLE members (email TEXT NOT NULL UNIQUE, name TEXT);
               INSERT INTO visits VALUES ('t0p', 'home'); INSERT INTO members VALUES ('ann@example.com', 'Ann');";
    let hide = TableSettings { hide: vec!["email".to_owned()], ..TableSettings::default() };
    let fixtures = fixtures_with(sql, sql, |settings| {
        settings.tables.insert("members".to_owned(), hide.clone());
    })
    .await;
    for fixture in fixtures {
        for (operation, secret, shown) in [("list_visits", "t0p", "home"), ("list_members", "ann@", "Ann")] {
            let rows = fixture.call_ok(operation, json!({ "fields": "full" })).await.to_string();
            assert!(!rows.contains(secret) && rows.contains(shown), "{operation}: {rows}");
        }
    }
}

#[tokio::test]
async fn r_res_5_bytes_come_with_their_media_type() {
    let sqlite = "CREATE TABLE files (hash BLOB PRIMARY KEY NOT NULL, body BLOB, label TEXT);
                  INSERT INTO files VALUES (x'00ff', x'89504e470d0a1a0a0000', 'a'), (x'01', x'68656c6c6f', 'b'), (x'02', NULL, 'c');";
    let postgres = "CREATE TABLE files (hash bytea PRIMARY KEY, body bytea, label text);
                  INSERT INTO files VALUES ('\\x00ff', '\\x89504e470d0a1a0a0000', 'a'), ('\\x01', '\\x68656c6c6f', 'b'), ('\\x02', NULL, 'c');";
    let unknown = json!({ "encoding": "base64", "media_type": "application/octet-stream" });
    for fixture in fixtures(sqlite, postgres).await {
        // The key is in every list; large columns that are no key are not.
        let rows = fixture.walk("list_files", json!({}), 1).await;
        let hashes: Vec<&Value> = rows.iter().map(|row| &row["hash"]).collect();
        assert_eq!(hashes, [&json!("AP8="), &json!("AQ=="), &json!("Ag==")]);
        assert!(rows.iter().all(|row| row.get("body").is_none()), "{rows:?}");
        for row in &rows {
            let found = fixture.call_ok("get_file", json!({ "hash": row["hash"] })).await;
            assert_eq!(found["label"], row["label"]);
        }
        let row = fixture.call_ok("get_file", json!({ "hash": "AP8=" })).await;
        assert_eq!(row["body"], "iVBORw0KGgoAAA==");
        assert_eq!(row["_binary"]["body"], json!({ "encoding": "base64", "media_type": "image/png" }));
        assert_eq!(row["_binary"]["hash"], unknown);
        let row = fixture.call_ok("get_file", json!({ "hash": "Ag==" })).await;
        assert_eq!((&row["body"], row["_binary"].get("body")), (&json!(null), None));
        let data = fixture.call_ok("list_files", json!({ "fields": ["label"] })).await;
        assert!(data["items"].as_array().unwrap().iter().all(|row| row.get("_binary").is_none()), "{data}");
        // Shown values can be sent back unchanged.
        let made = fixture.call_ok("create_file", json!({ "hash": "AwM=", "body": row["hash"], "label": "d" })).await;
        assert_eq!((&made["body"], &made["_binary"]["body"]), (&json!("Ag=="), &unknown));
        let dry_run = json!({ "hash": "AwM=", "input": { "body": "JVBERi0xLjc=" }, "dry_run": true });
        let changes = fixture.call_ok("update_file", dry_run).await["changes"].clone();
        assert_eq!(changes.as_object().unwrap().keys().collect::<Vec<_>>(), ["body"], "{changes}");
        let changed =
            fixture.call_ok("update_file", json!({ "hash": "AwM=", "input": { "body": "JVBERi0xLjc=" } })).await;
        assert_eq!(changed["_binary"]["body"]["media_type"], "application/pdf");
    }
}

/// Django stores its JSON fields this way; in PostgreSQL they are `jsonb`.
#[tokio::test]
async fn r_res_5_text_with_a_json_check_is_json() {
    let sqlite = "CREATE TABLE revisions (id INTEGER PRIMARY KEY, \
        content text NOT NULL CHECK ((JSON_VALID(\"content\") OR \"content\" IS NULL)), note text)";
    let postgres = "CREATE TABLE revisions (id int GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, \
        content jsonb NOT NULL, note text)";
    for fixture in fixtures(sqlite, postgres).await {
        let content = json!({ "title": "Über uns", "tags": ["a", 1, null] });
        fixture.call_ok("create_revision", json!({ "id": 1, "content": content, "note": "{}" })).await;
        let row = fixture.call_ok("get_revision", json!({ "id": 1 })).await;
        assert_eq!((&row["content"], &row["note"]), (&content, &json!("{}")));
        let found =
            fixture.call_ok("list_revisions", json!({ "filter": { "content.tags.1": 1 }, "fields": ["id"] })).await;
        assert_eq!(found["items"], json!([{ "id": 1 }]));
        fixture.call_ok("update_revision", json!({ "id": 1, "input": { "content": "plain" } })).await;
        assert_eq!(fixture.call_ok("get_revision", json!({ "id": 1 })).await["content"], "plain");
    }
}

/// SQLite does not enforce the lengths that applications declare. Rows that are longer can still be addressed.
#[tokio::test]
async fn r_int_2_declared_lengths_are_described_and_enforced() {
    let fixture = Fixture::sqlite(
        "CREATE TABLE pages (slug varchar(5) PRIMARY KEY NOT NULL, title varchar(255) NOT NULL, kind CHARACTER VARYING (3),
            mark nchar(1), body text, size integer(3), amount decimal(5, 2), note varchar(10) CHECK (length(note) <= 4));
         INSERT INTO pages (slug, title) VALUES ('much-longer-than-declared', 'x');",
    )
    .await;
    for (name, length) in [("title", json!(255)), ("kind", json!(3)), ("mark", json!(1)), ("note", json!(4))] {
        assert_eq!(fixture.parameter("create_page", name).await["maxLength"], length, "{name}");
    }
    for name in ["body", "size", "amount"] {
        assert_eq!(fixture.parameter("create_page", name).await["maxLength"], Value::Null, "{name}");
    }
    let page = |title: &str| json!({ "slug": "a", "title": title });
    let refused = fixture.call("create_page", page(&"x".repeat(256))).await;
    assert_eq!(refused["error"]["details"]["param_name"], "title", "{refused}");
    fixture.call_ok("create_page", page(&"\u{e9}".repeat(255))).await;
    let long = json!({ "slug": "much-longer-than-declared" });
    assert_eq!(fixture.call_ok("get_page", long).await["title"], "x");
}
