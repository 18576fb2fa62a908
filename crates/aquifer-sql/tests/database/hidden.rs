//! Attacks on hidden columns in every way open to a caller: columns in `hide`, columns that look like secrets, and
//! everything that shows their values.

use aquifer_sql::Settings;
use serde_json::{Value, json};

use crate::support::{Backing, Fixture};

/// The content of every hidden column, which must never be shown.
const SECRET: &str = "hunterzz";

/// Both kinds of database, created with these statements.
async fn both(sqlite: &str, postgres: &str, set: impl Fn(&mut Settings)) -> Vec<Fixture> {
    let mut fixtures = Vec::new();
    if !sqlite.is_empty() {
        fixtures.push(Fixture::sqlite_with(sqlite, &set).await);
    }
    if !postgres.is_empty() {
        fixtures.push(Fixture::postgres_with(postgres, &set).await);
    }
    let _ = postgres;
    fixtures
}

/// Hides these columns, each as `table.column`.
pub(crate) fn hide(columns: &'static [&'static str]) -> impl Fn(&mut Settings) {
    move |settings| {
        for column in columns {
            let (table, column) = column.rsplit_once('.').unwrap();
            settings.tables.entry(table.to_owned()).or_default().hide.push(column.to_owned());
        }
    }
}

/// Reads, searches and introspects everything, and looks for the secret.
pub(crate) async fn nothing_tells(fixture: &Fixture) {
    for operation in fixture.operations() {
        let details = fixture.details(&operation).await.to_string();
        assert!(!details.contains(SECRET), "{operation}: {details}");
        if operation.starts_with("list_") && operation != "list_tables" {
            let all = fixture.call(&operation, json!({ "fields": "full", "total": true })).await;
            assert_eq!(all["success"], json!(true), "{operation}: {all}");
            assert!(!all.to_string().contains(SECRET), "{operation}: {all}");
        }
        if operation.starts_with("search_") {
            for query in [SECRET.to_owned(), format!("\"{SECRET}\""), format!("{SECRET} nothing")] {
                let found =
                    fixture.call_ok(&operation, json!({ "query": query, "total": true, "fields": "full" })).await;
                assert_eq!(found["items"], json!([]), "{operation}: {found}");
                assert_eq!(found["pageInfo"]["totalCount"], 0, "{operation}: {found}");
            }
        }
    }
}

/// Introspection mentions none of these names.
async fn nowhere(fixture: &Fixture, names: &[&str]) {
    let mut answer = fixture.call_ok("introspect", json!({ "query": "operations" })).await.to_string();
    for operation in fixture.operations() {
        answer += &fixture.details(&operation).await.to_string();
    }
    let types = fixture.call_ok("introspect", json!({ "query": "types" })).await;
    for kind in types["types"].as_array().unwrap() {
        answer += &fixture.call_ok("introspect", json!({ "query": "types", "name": kind["name"] })).await.to_string();
    }
    for name in names {
        assert!(!answer.contains(name), "{name} is told");
    }
}

const USERS: (&str, &str) = (
    "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL, remarks TEXT, size INTEGER);
     INSERT INTO users VALUES (1, 'Ann', 'hunterzz', 1), (2, 'Bob', NULL, 2);",
    "CREATE TABLE users (id int PRIMARY KEY, name text NOT NULL, remarks text, size int);
     INSERT INTO users VALUES (1, 'Ann', 'hunterzz', 1), (2, 'Bob', NULL, 2);",
);

#[tokio::test]
async fn r_ext_6_a_hidden_column_is_never_visible() {
    for fixture in both(USERS.0, USERS.1, hide(&["users.remarks"])).await {
        nothing_tells(&fixture).await;
        nowhere(&fixture, &["remarks"]).await;
        for params in [
            json!({ "filter": { "remarks": SECRET } }),
            json!({ "filter": { "Remarks": SECRET } }),
            json!({ "filter": { "not": { "remarks": { "is_null": true } } } }),
            json!({ "sort": "remarks" }),
            json!({ "fields": ["remarks"] }),
            json!({ "fields": ["id", "REMARKS"] }),
            json!({ "aggregate": { "x": { "group_by": "remarks", "count": true } } }),
            json!({ "aggregate": { "x": { "max": "remarks" } } }),
        ] {
            fixture.call_err("list_users", params, "VALIDATION_UNKNOWN_FIELD").await;
        }
        fixture
            .call_err("create_user", json!({ "id": 3, "name": "x", "remarks": "x" }), "VALIDATION_UNKNOWN_PARAM")
            .await;
        for input in [json!({ "remarks": "x" }), json!({ "remarks": null }), json!({ "Remarks": "x" })] {
            let params = json!({ "id": 1, "input": input });
            fixture.call_err("update_user", params, "VALIDATION_UNKNOWN_FIELD").await;
        }
        fixture.call_ok("update_user", json!({ "id": 1, "input": { "size": 5 } })).await;
        assert_eq!(
            fixture.value("SELECT remarks FROM users WHERE id = 1").await,
            SECRET,
            "an update does not touch it"
        );
        // Neither versions nor dry runs reveal anything about it.
        let before = fixture.call_ok("get_user", json!({ "id": 1 })).await["_etag"].clone();
        fixture.run_sql("UPDATE users SET remarks = 'hunterzz 2' WHERE id = 1").await;
        assert_eq!(fixture.call_ok("get_user", json!({ "id": 1 })).await["_etag"], before);
        for (operation, params) in [
            ("create_user", json!({ "id": 9, "name": "x", "dry_run": true })),
            ("update_user", json!({ "id": 1, "input": { "size": 7 }, "dry_run": true })),
            ("delete_user", json!({ "id": 1, "dry_run": true })),
            ("delete_user", json!({ "id": 1 })),
        ] {
            let answer = fixture.call_ok(operation, params).await.to_string();
            assert!(!answer.contains("remarks") && !answer.contains(SECRET), "{operation}: {answer}");
        }
    }
}

const SECRETS: (&str, &str) = (
    "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, password_hash TEXT, apiKey TEXT DEFAULT 'hunterzz', password_changed_at TEXT);
     INSERT INTO users VALUES (1, 'Ann', 'hunterzz', 'hunterzz', '2026-01-01T00:00:00Z');
     CREATE TABLE accounts (id INTEGER PRIMARY KEY, name TEXT, pin TEXT NOT NULL);
     INSERT INTO accounts VALUES (1, 'a', 'hunterzz');
     CREATE TABLE sessions (token TEXT PRIMARY KEY, started INTEGER);
     INSERT INTO sessions VALUES ('key-of-the-row', 1);",
    "CREATE TABLE users (id int PRIMARY KEY, name text, password_hash text, \"apiKey\" text DEFAULT 'hunterzz', password_changed_at timestamptz);
     INSERT INTO users VALUES (1, 'Ann', 'hunterzz', 'hunterzz', '2026-01-01T00:00:00Z');
     CREATE TABLE accounts (id int PRIMARY KEY, name text, pin text NOT NULL);
     INSERT INTO accounts VALUES (1, 'a', 'hunterzz');
     CREATE TABLE sessions (token text PRIMARY KEY, started int);
     INSERT INTO sessions VALUES ('key-of-the-row', 1);",
);

#[tokio::test]
async fn r_ext_6_columns_that_look_like_secrets_are_omitted_and_listed() {
    let name_sessions = |settings: &mut Settings| {
        settings.tables.entry("sessions".to_owned()).or_default();
    };
    for fixture in both(SECRETS.0, SECRETS.1, name_sessions).await {
        nothing_tells(&fixture).await;
        let row = fixture.call_ok("get_user", json!({ "id": 1, "fields": "full" })).await;
        let shown: Vec<&String> = row.as_object().unwrap().keys().collect();
        assert_eq!(shown, ["id", "name", "password_changed_at", "_etag"]);
        fixture.call_err("list_users", json!({ "filter": { "password_hash": "x" } }), "VALIDATION_UNKNOWN_FIELD").await;
        fixture.call_err("create_user", json!({ "id": 3, "password_hash": "x" }), "VALIDATION_UNKNOWN_PARAM").await;
        fixture.call_ok("update_user", json!({ "id": 1, "input": { "name": "Anna" } })).await;
        assert_eq!(fixture.value("SELECT password_hash FROM users").await, SECRET);
        let expected = "Left out: password_hash, apiKey (look like secrets).";
        let listed = fixture.details("list_users").await["description"].as_str().unwrap().to_owned();
        assert!(listed.ends_with(expected), "{listed}");
        let kind = fixture.call_ok("introspect", json!({ "query": "types", "name": "User" })).await;
        assert!(kind["type"]["description"].as_str().unwrap().ends_with(expected), "{kind}");
        // A row that needs one cannot be created, and the description says so.
        assert!(!fixture.operations().contains(&"create_account".to_owned()));
        let listed = fixture.details("list_accounts").await["description"].as_str().unwrap().to_owned();
        let expected =
            "Rows cannot be created here: a column without a default is left out. Left out: pin (looks like a secret).";
        assert!(listed.ends_with(expected), "{listed}");
        // A key is omitted, too: rows are identified in another way, if there is one.
        let sessions = fixture.call_ok("list_sessions", json!({ "fields": "full" })).await;
        assert_eq!(sessions["items"][0]["started"], 1, "{sessions}");
        assert!(!sessions.to_string().contains("key-of-the-row"), "{sessions}");
        let listed = fixture.details("list_sessions").await["description"].as_str().unwrap().to_owned();
        assert!(listed.ends_with("Left out: token (looks like a secret)."), "{listed}");
    }
    let show_key = |settings: &mut Settings| {
        settings.tables.entry("sessions".to_owned()).or_default().show = vec!["token".to_owned()];
    };
    for fixture in both(SECRETS.0, SECRETS.1, show_key).await {
        assert_eq!(fixture.call_ok("get_session", json!({ "token": "key-of-the-row" })).await["started"], 1);
    }
    let show = |settings: &mut Settings| {
        settings.tables.entry("users".to_owned()).or_default().show = vec!["password_hash".to_owned()];
        settings.tables.entry("accounts".to_owned()).or_default().show = vec!["pin".to_owned()];
    };
    for fixture in both(SECRETS.0, SECRETS.1, show).await {
        assert_eq!(
            fixture.call_ok("get_user", json!({ "id": 1 })).await["password_hash"],
            SECRET,
            "the operator lists it"
        );
        fixture.call_ok("create_account", json!({ "id": 2, "pin": "x" })).await;
        let listed = fixture.details("list_users").await["description"].as_str().unwrap().to_owned();
        assert!(listed.ends_with("Left out: apiKey (looks like a secret)."), "{listed}");
    }
    // Columns in `hide` are not named, even if they look like secrets.
    for fixture in both(SECRETS.0, SECRETS.1, hide(&["users.password_hash", "users.apiKey"])).await {
        nothing_tells(&fixture).await;
        nowhere(&fixture, &["password_hash", "apiKey"]).await;
    }
}

#[tokio::test]
async fn r_ext_6_generic_operations_omit_the_same_columns() {
    let generic = |settings: &mut Settings| settings.style = aquifer_sql::Style::Generic;
    for fixture in both(SECRETS.0, SECRETS.1, generic).await {
        for params in [
            json!({ "table_name": "users", "fields": ["password_hash"] }),
            json!({ "table_name": "users", "filter": { "password_hash": "x" } }),
            json!({ "table_name": "users", "sort": "apiKey" }),
        ] {
            fixture.call_err("list_records", params, "VALIDATION_UNKNOWN_FIELD").await;
        }
        let all = fixture.call_ok("list_records", json!({ "table_name": "users", "fields": "full" })).await;
        assert!(!all.to_string().contains(SECRET), "{all}");
        let found = fixture.call_ok("search_records", json!({ "table_name": "users", "query": SECRET })).await;
        assert_eq!(found["items"], json!([]));
        let schema = fixture.call_ok("get_table_schema", json!({ "table_name": "users" })).await;
        assert_eq!(schema["left_out"], json!(["password_hash", "apiKey"]));
        assert!(!schema["columns"].to_string().contains("password_hash"), "{schema}");
        let input = json!({ "table_name": "users", "key": { "id": 1 }, "input": { "password_hash": "x" } });
        fixture.call_err("update_record", input, "VALIDATION_UNKNOWN_FIELD").await;
        let values = json!({ "table_name": "users", "values": { "id": 2, "apiKey": "x" } });
        fixture.call_err("create_record", values, "VALIDATION_UNKNOWN_FIELD").await;
        let values = json!({ "table_name": "accounts", "values": { "id": 2, "name": "x" } });
        let error = fixture.call_err("create_record", values, "VALIDATION_INVALID_VALUE").await;
        assert!(error["message"].as_str().unwrap().contains("is left out"), "{error}");
    }
}

/// Each has an index that covers a hidden column in another way. Searches must not use it.
#[tokio::test]
async fn r_ext_6_an_fts_index_over_a_hidden_column_is_not_searched() {
    let users = "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, notes TEXT);
                 INSERT INTO users VALUES (1, 'Ann', 'hunterzz');";
    let sqlite = [
        "CREATE VIRTUAL TABLE users_fts USING fts5(name, notes, content='users', content_rowid='id');
         INSERT INTO users_fts(users_fts) VALUES ('rebuild');",
        // In another case.
        "CREATE VIRTUAL TABLE users_fts USING FTS5(name, NOTES, content='Users', content_rowid='id');
         INSERT INTO users_fts(users_fts) VALUES ('rebuild');",
        // Under the name of another column, through a trigger.
        "CREATE VIRTUAL TABLE users_fts USING fts5(name, content='users', content_rowid='id');
         CREATE TRIGGER t AFTER INSERT ON users BEGIN
             INSERT INTO users_fts(rowid, name) VALUES (new.id, new.name || ' ' || new.notes); END;
         INSERT INTO users VALUES (2, 'Bob', 'hunterzz');",
        // A table of its own with the text, filled by a trigger under other names.
        "CREATE VIRTUAL TABLE finder USING fts5(a, b);
         CREATE TRIGGER t AFTER INSERT ON users BEGIN INSERT INTO finder(a, b) VALUES (new.name, new.notes); END;
         INSERT INTO users VALUES (2, 'Bob', 'hunterzz');",
        // With a star instead of names.
        "CREATE VIRTUAL TABLE finder USING fts5(a, b, c);
         CREATE TRIGGER t AFTER INSERT ON users BEGIN INSERT INTO finder SELECT * FROM users WHERE id = new.id; END;
         INSERT INTO users VALUES (2, 'Bob', 'hunterzz');",
        // Filled by hand: only the names indicate the source.
        "CREATE VIRTUAL TABLE user_search USING fts5(name, notes); INSERT INTO user_search SELECT name, notes FROM users;",
        // Contentless: only the index is stored.
        "CREATE VIRTUAL TABLE user_search USING fts5(name, notes, content='');
         INSERT INTO user_search(rowid, name, notes) SELECT id, name, notes FROM users;",
        // Older modules, over the table and with all of its columns because none is named.
        "CREATE VIRTUAL TABLE user_search USING fts4(content=\"users\", name, notes);
         INSERT INTO user_search(docid, name, notes) SELECT id, name, notes FROM users;",
        "CREATE VIRTUAL TABLE user_search USING fts4(content=\"users\");
         INSERT INTO user_search(docid, name, notes) SELECT id, name, notes FROM users;",
        "CREATE VIRTUAL TABLE user_search USING fts3(name, notes); INSERT INTO user_search SELECT name, notes FROM users;",
        // The words of an index as a table.
        "CREATE VIRTUAL TABLE users_fts USING fts5(name, notes, content='users', content_rowid='id');
         INSERT INTO users_fts(users_fts) VALUES ('rebuild');
         CREATE VIRTUAL TABLE words USING fts5vocab(users_fts, instance);",
        // Over a view of the table.
        "CREATE VIEW people AS SELECT id, name, notes AS text FROM users;
         CREATE VIRTUAL TABLE people_fts USING fts5(name, text, content='people', content_rowid='id');
         INSERT INTO people_fts(people_fts) VALUES ('rebuild');",
    ];
    for more in sqlite {
        let fixture = Fixture::sqlite_with(&format!("{users}{more}"), hide(&["users.notes"])).await;
        nothing_tells(&fixture).await;
        let found = fixture.call("search_users", json!({ "query": "Ann" })).await;
        assert_eq!(found["data"]["items"][0]["id"], 1, "{more}: {found}");
        let details = fixture.details("search_users").await;
        assert!(details["description"].as_str().unwrap().contains("There is no index"), "{more}: {details}");
    }
    // An index that does not cover it is still used.
    let assert_harmless =
        "CREATE VIRTUAL TABLE users_fts USING fts5(name, notes UNINDEXED, content='users', content_rowid='id');
                    CREATE TRIGGER t AFTER INSERT ON users BEGIN
                        INSERT INTO users_fts(rowid, name) VALUES (new.id, new.name); END;
                    INSERT INTO users_fts(users_fts) VALUES ('rebuild');";
    let fixture = Fixture::sqlite_with(&format!("{users}{assert_harmless}"), hide(&["users.notes"])).await;
    nothing_tells(&fixture).await;
    assert_eq!(fixture.call("search_users", json!({ "query": "Ann" })).await["warnings"], Value::Null);
}

#[tokio::test]
async fn r_ext_6_a_tsvector_over_a_hidden_column_is_not_searched() {
    let users = "CREATE TABLE users (id int PRIMARY KEY, name text, notes text); INSERT INTO users VALUES (1, 'Ann', 'hunterzz');";
    let postgres = [
        "CREATE INDEX ON users USING gin (to_tsvector('simple', name || ' ' || notes));",
        "CREATE INDEX ON users USING gist (to_tsvector('simple', coalesce(notes, '')));",
        "ALTER TABLE users ADD words tsvector GENERATED ALWAYS AS (to_tsvector('simple', name || ' ' || notes)) STORED;
         CREATE INDEX ON users USING gin (words);",
        // The source of a column filled by a trigger is unknown.
        "ALTER TABLE users ADD words tsvector; CREATE INDEX ON users USING gin (words);
         CREATE TRIGGER t BEFORE INSERT OR UPDATE ON users FOR EACH ROW
             EXECUTE FUNCTION tsvector_update_trigger(words, 'pg_catalog.simple', name, notes);
         UPDATE users SET name = name;",
        "CREATE FUNCTION all_words(users) RETURNS tsvector LANGUAGE sql IMMUTABLE AS $$ SELECT to_tsvector('simple', $1.name || ' ' || $1.notes) $$;
         CREATE INDEX ON users USING gin (all_words(users));",
        "CREATE MATERIALIZED VIEW people AS SELECT id, name, to_tsvector('simple', name || ' ' || notes) AS words FROM users;
         CREATE INDEX ON people USING gin (words);",
    ];
    for more in postgres {
        let fixture = Fixture::postgres_with(&format!("{users}{more}"), hide(&["users.notes"])).await;
        nothing_tells(&fixture).await;
        let found = fixture.call("search_users", json!({ "query": "Ann" })).await;
        assert_eq!(found["data"]["items"][0]["id"], 1, "{more}: {found}");
        let details = fixture.details("search_users").await;
        assert!(details["description"].as_str().unwrap().contains("There is no index"), "{more}: {details}");
    }
    let assert_harmless = "CREATE INDEX ON users USING gin (to_tsvector('simple', name));";
    let fixture = Fixture::postgres_with(&format!("{users}{assert_harmless}"), hide(&["users.notes"])).await;
    assert_eq!(fixture.call("search_users", json!({ "query": "Ann" })).await["warnings"], Value::Null);
}

/// Columns that show values of a hidden column are hidden as well, under any name.
#[tokio::test]
async fn r_ext_6_columns_derived_from_a_hidden_column_are_hidden() {
    let sqlite = "
        CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, notes TEXT UNIQUE, loud TEXT AS (upper(notes) || lower(notes)) STORED,
            louder TEXT AS (loud || '!'), harmless TEXT AS (upper(name)));
        INSERT INTO users (id, name, notes) VALUES (1, 'Ann', 'hunterzz');
        CREATE TABLE letters (id INTEGER PRIMARY KEY, about TEXT REFERENCES users(Notes), body TEXT);
        INSERT INTO letters VALUES (1, 'hunterzz', 'hello');
        CREATE VIEW renamed AS SELECT id, name, notes AS n FROM users;
        CREATE VIEW made AS SELECT id, name, 'x' || notes AS n, length(name) AS l FROM users;
        CREATE VIEW joined AS SELECT name AS n FROM users UNION ALL SELECT notes FROM users;
        CREATE VIEW twice AS SELECT id, n AS m FROM renamed;
        CREATE VIEW of_joined AS SELECT n FROM joined WHERE n LIKE 'h%';
        CREATE VIEW inner_one AS SELECT id, (SELECT notes FROM users u WHERE u.id = users.id) AS n FROM users;
        CREATE VIEW with_one AS WITH w AS (SELECT id AS i, notes AS n FROM users) SELECT i, n FROM w;
        CREATE VIEW plain AS SELECT id, name FROM users;";
    let postgres = "
        CREATE TABLE users (id int PRIMARY KEY, name text, notes text UNIQUE, loud text GENERATED ALWAYS AS (upper(notes) || lower(notes)) STORED,
            harmless text GENERATED ALWAYS AS (upper(name)) STORED);
        INSERT INTO users (id, name, notes) VALUES (1, 'Ann', 'hunterzz');
        CREATE TABLE letters (id int PRIMARY KEY, about text REFERENCES users(notes), body text);
        INSERT INTO letters VALUES (1, 'hunterzz', 'hello');
        CREATE VIEW renamed AS SELECT id, name, notes AS n FROM users;
        CREATE VIEW made AS SELECT id, name, 'x' || notes AS n, length(name) AS l FROM users;
        CREATE VIEW joined AS SELECT name AS n FROM users UNION ALL SELECT notes FROM users;
        CREATE VIEW twice AS SELECT id, n AS m FROM renamed;
        CREATE VIEW of_joined AS SELECT n FROM joined WHERE n LIKE 'h%';
        CREATE VIEW inner_one AS SELECT id, (SELECT notes FROM users u WHERE u.id = users.id) AS n FROM users;
        CREATE VIEW with_one AS WITH w AS (SELECT id AS i, notes AS n FROM users) SELECT i, n FROM w;
        CREATE VIEW whole AS SELECT id, to_jsonb(users) AS j, users::text AS t FROM users;
        CREATE VIEW plain AS SELECT id, name FROM users;
        CREATE MATERIALIZED VIEW kept AS SELECT id, notes AS n FROM users;
        CREATE TABLE staff (office text) INHERITS (users);
        INSERT INTO staff (id, name, notes, office) VALUES (2, 'Bob', 'hunterzz 2', 'a');";
    for fixture in both(sqlite, postgres, hide(&["users.notes"])).await {
        nothing_tells(&fixture).await;
        for (operation, shown) in [
            ("list_users", vec!["id", "name", "harmless"]),
            ("list_letters", vec!["id", "body"]),
            ("list_renameds", vec!["id", "name"]),
            ("list_twices", vec!["id"]),
            ("list_plains", vec!["id", "name"]),
            ("list_with_ones", vec!["i"]),
            ("list_inner_ones", vec!["id"]),
        ] {
            let all = fixture.call_ok(operation, json!({ "fields": "full" })).await;
            let row: Vec<&String> = all["items"][0].as_object().unwrap().keys().collect();
            let row: Vec<&str> = row.into_iter().map(String::as_str).filter(|name| !name.starts_with('_')).collect();
            assert_eq!(row, shown, "{operation}: {all}");
        }
        // These tables have no columns left.
        let names = fixture.operations();
        assert!(!names.iter().any(|name| name.contains("joined")), "{names:?}");
    }
    // Columns in `show` are shown.
    let show = |settings: &mut Settings| {
        hide(&["users.notes"])(settings);
        settings.tables.entry("renamed".to_owned()).or_default().show = vec!["n".to_owned()];
    };
    for fixture in both(sqlite, postgres, show).await {
        let all = fixture.call_ok("list_renameds", json!({ "fields": "full" })).await;
        assert!(all["items"][0]["n"].as_str().unwrap().contains(SECRET), "{all}");
    }
}

/// Ways in which a view shows columns that it does not name.
#[tokio::test]
async fn r_ext_6_sqlite_views_never_show_a_hidden_column() {
    let users = "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, notes TEXT);
                 INSERT INTO users VALUES (1, 'Ann', '{\"a\": \"hunterzz\"}');
                 CREATE VIRTUAL TABLE finder USING fts5(name, notes); INSERT INTO finder SELECT name, notes FROM users;";
    for view in [
        "SELECT e.value AS n FROM users, json_each(users.notes) e",
        "SELECT e.key AS k, e.atom AS a FROM users, json_tree(users.notes) e",
        "SELECT (SELECT group_concat(notes) FROM users) AS n",
        "SELECT id, CASE WHEN name = 'Ann' THEN notes END AS n FROM users",
        "SELECT id, max(notes) OVER () AS n FROM users",
        "SELECT n FROM (SELECT notes AS n FROM users)",
        "SELECT u.* FROM users u",
        "SELECT name AS n FROM users EXCEPT SELECT 'x' UNION SELECT notes FROM users",
        "SELECT notes AS n FROM users UNION ALL SELECT name FROM users",
        "SELECT n FROM (SELECT notes AS n FROM users UNION ALL SELECT name FROM users)",
        "WITH RECURSIVE w(n, i) AS (SELECT 'x', 0 UNION ALL SELECT notes, i + 1 FROM w, users WHERE i < 2) SELECT n FROM w",
        "SELECT a.name AS n, b.notes AS m FROM users a LEFT JOIN users b USING (id)",
        // The index itself, its text, and its words.
        "SELECT notes AS n FROM finder",
        "SELECT snippet(finder, 1, '', '', '', 10) AS n FROM finder",
        "SELECT c1 AS n FROM finder_content",
        "SELECT hex(block) AS n, block AS b FROM finder_data",
    ] {
        let fixture =
            Fixture::sqlite_with(&format!("{users} CREATE VIEW seen AS {view};"), hide(&["users.notes"])).await;
        nothing_tells(&fixture).await;
        let all = fixture.call("list_seens", json!({ "fields": "full" })).await.to_string();
        for spelling in [SECRET, "68756E746572", "aHVudGVy"] {
            assert!(!all.contains(spelling), "{view}: {all}");
        }
    }
    let vocabulary = format!(
        "{users} CREATE VIRTUAL TABLE words USING fts5vocab(finder, row); CREATE VIEW seen AS SELECT term AS n FROM words;"
    );
    nothing_tells(&Fixture::sqlite_with(&vocabulary, hide(&["users.notes"])).await).await;
    // Compound queries below another view.
    for view in ["SELECT n FROM under", "SELECT n AS m, 1 AS one FROM under", "SELECT max(n) AS m FROM under"] {
        let under = "CREATE VIEW under AS SELECT notes AS n FROM users UNION ALL SELECT name FROM users;";
        let fixture =
            Fixture::sqlite_with(&format!("{users}{under} CREATE VIEW seen AS {view};"), hide(&["users.notes"])).await;
        nothing_tells(&fixture).await;
    }
    // Hidden columns of tables that are not offered stay hidden.
    let not_offered = |settings: &mut Settings| {
        hide(&["users.notes"])(settings);
        settings.exclude = vec!["users".to_owned(), "finder".to_owned()];
    };
    let fixture =
        Fixture::sqlite_with(&format!("{users} CREATE VIEW seen AS SELECT id, notes AS n FROM users;"), not_offered)
            .await;
    nothing_tells(&fixture).await;
    assert_eq!(fixture.call_ok("list_seens", json!({ "fields": "full" })).await["items"], json!([{ "id": 1 }]));
    // A secret in a table that is not offered stays a secret.
    let elsewhere = "CREATE TABLE accounts (id INTEGER PRIMARY KEY, name TEXT, password TEXT); INSERT INTO accounts VALUES (1, 'a', 'hunterzz');
                     CREATE VIEW seen AS SELECT id, name, password AS p FROM accounts;";
    let fixture = Fixture::sqlite_with(elsewhere, |settings| settings.exclude = vec!["accounts".to_owned()]).await;
    nothing_tells(&fixture).await;
    assert_eq!(
        fixture.call_ok("list_seens", json!({ "fields": "full" })).await["items"],
        json!([{ "id": 1, "name": "a" }])
    );
}

#[tokio::test]
async fn r_ext_6_postgres_views_never_show_a_hidden_column() {
    let users = "CREATE TABLE users (id int PRIMARY KEY, name text, notes text);
                 INSERT INTO users VALUES (1, 'Ann', '{\"a\": \"hunterzz\"}'); CREATE SCHEMA private;
                 CREATE TABLE private.accounts (id int PRIMARY KEY, password text); INSERT INTO private.accounts VALUES (1, 'hunterzz');";
    for view in [
        "SELECT e.value AS n FROM users, jsonb_each_text(users.notes::jsonb) e",
        "SELECT (SELECT string_agg(notes, ',') FROM users) AS n",
        "SELECT id, CASE WHEN name = 'Ann' THEN notes END AS n FROM users",
        "SELECT id, max(notes) OVER () AS n FROM users",
        "SELECT n FROM (SELECT notes AS n FROM users OFFSET 0) x",
        "SELECT x.n FROM (SELECT u AS n FROM users u) x",
        "SELECT (x.n).notes AS m FROM (SELECT u AS n FROM users u) x",
        "SELECT u.* FROM users u",
        "SELECT name AS n FROM users UNION SELECT notes FROM users",
        "SELECT notes AS n FROM users UNION SELECT name FROM users",
        "WITH RECURSIVE w(n, i) AS (SELECT 'x', 0 UNION ALL SELECT notes, i + 1 FROM w, users WHERE i < 2) SELECT n FROM w",
        "SELECT a.name AS n, b.notes AS m FROM users a LEFT JOIN users b USING (id)",
        "SELECT array_agg(users) AS n FROM users",
        "SELECT notes AS n FROM users GROUP BY 1",
        "SELECT id, password AS p FROM private.accounts",
        "SELECT id, substr(password, 1) AS p FROM private.accounts",
    ] {
        let made = format!("{users} CREATE VIEW seen AS {view};");
        nothing_tells(&Fixture::postgres_with(&made, hide(&["users.notes"])).await).await;
    }
    let made = format!("{users} CREATE VIEW seen AS SELECT id, notes AS n FROM users;");
    let not_offered = |settings: &mut Settings| {
        hide(&["public.users.notes"])(settings);
        settings.exclude = vec!["users".to_owned()];
    };
    nothing_tells(&Fixture::postgres_with(&made, not_offered).await).await;
}

/// The error of a violated constraint must not mention a hidden column.
#[tokio::test]
async fn r_res_4_constraint_errors_never_name_hidden_columns() {
    let sqlite = "
        CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, notes TEXT DEFAULT 'hunterzz' UNIQUE, size INTEGER,
            CONSTRAINT fine CHECK (size < 10), CHECK (size <> 5 OR notes = 'hunterzz 5'), CHECK (notes <> name));
        INSERT INTO users (id, name) VALUES (1, 'Ann');
        CREATE TRIGGER t BEFORE UPDATE ON users WHEN new.name = 'gold' BEGIN SELECT RAISE(ABORT, 'Notes must not be hunterzz'); END;
        CREATE TRIGGER u BEFORE UPDATE ON users WHEN new.name = 'silver' BEGIN SELECT RAISE(ABORT, 'No silver'); END;";
    let postgres = "
        CREATE TABLE users (id int PRIMARY KEY, name text, notes text DEFAULT 'hunterzz' UNIQUE, size int,
            CONSTRAINT fine CHECK (size < 10), CHECK (size <> 5 OR notes = 'hunterzz 5'), CHECK (notes <> name));
        INSERT INTO users (id, name) VALUES (1, 'Ann');
        CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF new.name = 'gold' THEN RAISE EXCEPTION 'Notes must not be %', new.notes; END IF;
            IF new.name = 'silver' THEN RAISE EXCEPTION 'No silver'; END IF; RETURN new; END $$;
        CREATE TRIGGER t BEFORE UPDATE ON users FOR EACH ROW EXECUTE FUNCTION f();";
    for fixture in both(sqlite, postgres, hide(&["users.notes"])).await {
        for (operation, params, code) in [
            ("create_user", json!({ "id": 2, "name": "x" }), "CONFLICT_CONSTRAINT"),
            ("create_user", json!({ "id": 2, "name": "x", "dry_run": true }), "CONFLICT_CONSTRAINT"),
            ("update_user", json!({ "id": 1, "input": { "size": 5 } }), "CONFLICT_CONSTRAINT"),
            ("update_user", json!({ "id": 1, "input": { "name": SECRET } }), "CONFLICT_CONSTRAINT"),
            ("update_user", json!({ "id": 1, "input": { "name": "gold" } }), "UPSTREAM_ERROR"),
        ] {
            let error = fixture.call_err(operation, params, code).await.to_string();
            assert!(!error.contains("notes") && !error.contains("Notes") && !error.contains(SECRET), "{error}");
        }
        let error = fixture
            .call_err("update_user", json!({ "id": 1, "input": { "size": 50 } }), "VALIDATION_INVALID_VALUE")
            .await;
        // A constraint on a visible column is shown in advance.
        assert_eq!(error["details"]["param_name"], "input.size", "{error}");
        let error =
            fixture.call_err("update_user", json!({ "id": 1, "input": { "name": "silver" } }), "UPSTREAM_ERROR").await;
        assert_eq!(error["details"]["upstream_error"], "No silver", "{error}");
    }
}

/// A configured expression may use hidden columns.
#[tokio::test]
async fn an_operators_expression_may_use_a_hidden_column() {
    let computed = |settings: &mut Settings| {
        hide(&["users.remarks"])(settings);
        settings.tables.entry("users".to_owned()).or_default().computed = vec![aquifer_sql::ComputedSettings {
            name: "has_notes".to_owned(),
            sql: "remarks IS NOT NULL".to_owned(),
            field_type: aquifer_query::FieldType::Boolean,
            description: None,
            filterable: true,
            sortable: true,
        }];
    };
    for fixture in both(USERS.0, USERS.1, computed).await {
        let all = fixture.call_ok("list_users", json!({ "fields": ["id", "_computed.has_notes"], "sort": "id" })).await;
        assert_eq!(all["items"][0]["_computed"]["has_notes"], json!(true), "{all}");
    }
}

/// An unquoted name may contain `$` and non-ASCII characters.
#[tokio::test]
async fn r_saf_5_unusual_names_are_traced_into_views() {
    let sqlite = "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, my$n TEXT, né😀 TEXT, a\u{a0}b TEXT,
            g1 TEXT AS (my$n || '!'), g2 TEXT AS (né😀||'!'), g3 TEXT AS (lower(a\u{a0}b)), fine TEXT AS (name || '$'));
         CREATE VIRTUAL TABLE found USING fts5(words);
         CREATE TRIGGER fill AFTER INSERT ON users BEGIN INSERT INTO found VALUES (new.my$n||new.name); END;
         INSERT INTO users (id, name, my$n, né😀, a\u{a0}b) VALUES (1, 'Ann', 'hunterzz one', 'hunterzz', 'hunterzz');";
    let postgres = "CREATE TABLE users (id int PRIMARY KEY, name text, my$n text, né😀 text, a\u{a0}b text,
            g1 text GENERATED ALWAYS AS (my$n || '!') STORED, g2 text GENERATED ALWAYS AS (né😀||'!') STORED,
            g3 text GENERATED ALWAYS AS (lower(a\u{a0}b)) STORED, fine text GENERATED ALWAYS AS (name || '$') STORED);
         INSERT INTO users VALUES (1, 'Ann', 'hunterzz one', 'hunterzz', 'hunterzz');";
    for fixture in both(sqlite, postgres, hide(&["users.my$n", "users.né😀", "users.a\u{a0}b"])).await {
        nothing_tells(&fixture).await;
        let row = fixture.call_ok("get_user", json!({ "id": 1 })).await;
        let names: Vec<&str> = row.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(names, ["id", "name", "fine", "_etag"], "{row}");
    }
}

/// A guessed type is no reason to show a column that looks like a secret; a declared one is.
#[tokio::test]
async fn r_saf_5_declared_numbers_are_served_and_guessed_ones_are_not() {
    let sqlite = "CREATE TABLE uses (id INTEGER PRIMARY KEY, token INTEGER, max_token INT, price_per_token REAL, salt NUMERIC, secret, pin INTEGER);
         INSERT INTO uses VALUES (1, 2, 3, 0.5, 6, 7, 8);";
    let postgres = "CREATE TABLE uses (id int PRIMARY KEY, token int, max_token bigint, price_per_token float8, salt numeric, secret text, pin int);
         INSERT INTO uses VALUES (1, 2, 3, 0.5, 6, '7', 8);";
    for fixture in both(sqlite, postgres, |_| {}).await {
        let row = fixture.call_ok("get_use", json!({ "id": 1 })).await;
        let names: Vec<&str> = row.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(names, ["id", "token", "max_token", "price_per_token", "salt", "_etag"], "{row}");
    }
}

/// An error of a constraint on hidden and visible columns says neither which columns nor whether there is another row.
#[tokio::test]
async fn r_ext_6_constraints_on_hidden_columns_are_not_explained() {
    let tables = "
        CREATE TABLE goods (id INTEGER PRIMARY KEY, price INTEGER, least INTEGER DEFAULT 70, batch TEXT,
            code TEXT, CONSTRAINT dear CHECK (price >= least), CONSTRAINT whole CHECK (price < 1000), UNIQUE (batch, least));
        CREATE UNIQUE INDEX codes ON goods (lower(code)) WHERE least > 70;
        INSERT INTO goods VALUES (1, 100, 73, 'a', 'x'), (2, 100, 70, 'b', 'y'), (3, 100, 80, 'c', 'z');";
    for fixture in both(tables, tables, hide(&["goods.least"])).await {
        let mut texts = Vec::new();
        for (operation, params) in [
            ("update_good", json!({ "id": 1, "input": { "price": 72 } })),
            ("update_good", json!({ "id": 1, "input": { "price": 72 }, "dry_run": true })),
            ("create_good", json!({ "id": 4, "price": 100, "batch": "b" })),
            ("create_good", json!({ "id": 4, "price": 1, "batch": "d", "dry_run": true })),
            ("update_good", json!({ "id": 3, "input": { "code": "X" }, "dry_run": true })),
        ] {
            let error = fixture.call_err(operation, params, "CONFLICT_CONSTRAINT").await;
            texts.push(error.to_string());
        }
        texts.dedup();
        assert_eq!(texts.len(), 1, "{texts:?}");
        for word in ["price", "least", "batch", "dear", "another", "exist", "fields"] {
            assert!(!texts[0].contains(word), "{texts:?}");
        }
        let error = fixture.call("update_good", json!({ "id": 1, "input": { "price": 1000 } })).await["error"].clone();
        assert_eq!(error["code"], "VALIDATION_INVALID_VALUE", "{error}");
        assert!(error.to_string().contains("price"), "{error}");
    }
}

/// Triggers and policies refuse changes like checks do, and may read hidden columns of other tables as well.
#[tokio::test]
async fn r_ext_6_triggers_and_policies_on_hidden_columns_are_known() {
    let tables = "
        CREATE TABLE goods (id INTEGER PRIMARY KEY, price INTEGER, least INTEGER DEFAULT 70, changed INTEGER);
        CREATE TABLE orders (id INTEGER PRIMARY KEY, good_id INTEGER REFERENCES goods(id), price INTEGER);
        CREATE TABLE places (id INTEGER PRIMARY KEY, price INTEGER, least INTEGER);
        CREATE TABLE shelves (id INTEGER PRIMARY KEY, price INTEGER);";
    let sqlite = "
        CREATE TRIGGER dear BEFORE UPDATE ON goods WHEN NEW.price < OLD.least BEGIN SELECT RAISE(ABORT, 'no'); END;
        CREATE TRIGGER touch AFTER UPDATE OF price ON goods BEGIN UPDATE goods SET changed = 1 WHERE id = NEW.id; END;
        CREATE TRIGGER cheap BEFORE INSERT ON orders BEGIN
            SELECT RAISE(IGNORE) WHERE NEW.price < (SELECT \"Least\" FROM Goods WHERE id = NEW.good_id); END;
        CREATE TRIGGER own BEFORE INSERT ON places WHEN NEW.price < NEW.least BEGIN SELECT RAISE(ABORT, 'no'); END;";
    let postgres = "
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
        CREATE TRIGGER dear BEFORE UPDATE ON goods FOR EACH ROW WHEN (NEW.price < OLD.least) EXECUTE FUNCTION refuse();
        CREATE FUNCTION cheap() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            RETURN CASE WHEN NEW.price >= (SELECT Least FROM goods WHERE id = NEW.good_id) THEN NEW END; END $$;
        CREATE TRIGGER cheap BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION cheap();
        CREATE FUNCTION own() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            RETURN CASE WHEN NEW.price >= NEW.least THEN NEW END; END $$;
        CREATE TRIGGER own BEFORE INSERT ON places FOR EACH ROW EXECUTE FUNCTION own();
        ALTER TABLE shelves ENABLE ROW LEVEL SECURITY;
        CREATE POLICY high ON shelves WITH CHECK (price > (SELECT max(least) FROM goods));";
    for fixture in both(&format!("{tables}{sqlite}"), &format!("{tables}{postgres}"), hide(&["goods.least"])).await {
        let snapshot = fixture.engine.snapshot();
        let all = snapshot.catalog().operations();
        let tests_hidden = |name: &str| all.iter().find(|known| &*known.name == name).unwrap().safety.tests_hidden;
        let expected = [("update_good", true), ("create_order", true), ("create_place", false), ("list_goods", false)];
        for (name, expected) in expected {
            assert_eq!(tests_hidden(name), expected, "{name}");
        }
        assert_eq!(tests_hidden("create_shelf"), !matches!(fixture.backing, Backing::File(_)));
    }
}
