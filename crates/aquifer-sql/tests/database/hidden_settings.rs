//! Settings about columns that do not match the tables are never ignored.

use std::sync::Arc;

use aquifer_sql::{Database, Settings, TableSettings};
use serde_json::json;

use crate::support::{File, Fixture, assert_harmless, engine, new_database, open, wait_until};

const SQLITE: &str = "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, notes TEXT, password TEXT); INSERT INTO users VALUES (1, 'Ann', 'hunterzz', 'x');
    CREATE TABLE letters (id INTEGER PRIMARY KEY, body TEXT); CREATE VIEW shown AS SELECT id, notes AS n FROM users;";
const POSTGRES: &str = "CREATE TABLE users (id int PRIMARY KEY, name text, notes text, password text); INSERT INTO users VALUES (1, 'Ann', 'hunterzz', 'x');
    CREATE TABLE letters (id int PRIMARY KEY, body text); CREATE VIEW shown AS SELECT id, notes AS n FROM users;";

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|word| (*word).to_owned()).collect()
}

/// Hide, show, and a preset.
fn table_settings(hide: &[&str], show: &[&str], preset: &[&str]) -> TableSettings {
    let mut table = TableSettings { hide: words(hide), show: words(show), ..TableSettings::default() };
    if !preset.is_empty() {
        table.presets.insert("short".to_owned(), words(preset));
    }
    table
}

#[tokio::test]
async fn r_ext_6_mismatched_settings_fail_the_first_reflection() {
    let file = File::create(SQLITE);
    let server = crate::server::Server::new(POSTGRES).await;
    let all = || -> Vec<Settings> { vec![file.settings(), server.settings()] };
    for (table, table_config, expected) in [
        ("users", table_settings(&["Notes"], &[], &[]), vec!["users'", "'Notes'", "Did you mean 'notes'?"]),
        ("users", table_settings(&["nots"], &[], &[]), vec!["'nots'", "Did you mean 'notes'?"]),
        ("users", table_settings(&["notes", "qqqqqq"], &[], &[]), vec!["'qqqqqq'"]),
        ("users", table_settings(&["id"], &[], &[]), vec!["'id'", "key"]),
        ("Userss", table_settings(&["notes"], &[], &[]), vec!["'Userss'", "Did you mean 'users'?"]),
        ("user", table_settings(&["notes"], &[], &[]), vec!["'user'"]),
        ("nowhere.users", table_settings(&["notes"], &[], &[]), vec!["'nowhere.users'"]),
        ("users", table_settings(&[], &["pasword"], &[]), vec!["'show'", "Did you mean 'password'?"]),
        ("usrs", table_settings(&[], &["password"], &[]), vec!["'show'", "'usrs'"]),
        ("users", table_settings(&["password"], &["password"], &[]), vec!["'password'", "'hide'", "'show'"]),
        ("users", table_settings(&["notes"], &[], &["id", "notes"]), vec!["preset 'short'", "'notes'"]),
        ("users", table_settings(&[], &[], &["id", "password"]), vec!["preset 'short'", "'password'", "'show'"]),
        ("shown", table_settings(&["Nn"], &[], &[]), vec!["'Nn'"]),
    ] {
        for mut settings in all() {
            settings.tables.insert(table.to_owned(), table_config.clone());
            let failure = open(settings).await.err().unwrap_or_else(|| panic!("{table} {table_config:?}"));
            let cause = failure.cause().unwrap().to_owned();
            for words in &expected {
                assert!(cause.contains(words), "{words}: {cause}");
            }
            // Callers learn that the configuration is wrong, but not what is hidden.
            let answer = json!({ "error": failure });
            assert_harmless(&answer);
            assert!(!["otes", "nots", "pass", "qqq"].iter().any(|word| answer.to_string().contains(word)), "{answer}");
        }
    }
    // Matching settings, and settings of excluded tables, are not errors.
    for (table, table_config, exclude) in [
        ("users", table_settings(&["notes"], &["password"], &["id", "name"]), ""),
        ("users", table_settings(&["notes"], &[], &[]), "users"),
        ("users", table_settings(&[], &["whatever"], &[]), "users"),
        ("users", table_settings(&[], &["password"], &["password"]), ""),
    ] {
        for mut settings in all() {
            settings.tables.insert(table.to_owned(), table_config.clone());
            settings.exclude.extend(Some(exclude.to_owned()).filter(|pattern| !pattern.is_empty()));
            open(settings).await.unwrap_or_else(|failure| panic!("{failure:?}"));
        }
    }
}

/// `include` and `exclude` only excuse existing tables. Any other name is an error, because it would expose a column.
#[tokio::test]
async fn r_ext_6_include_and_exclude_do_not_excuse_a_misspelled_table() {
    let file = File::create(SQLITE);
    let server = crate::server::Server::new(&format!(
        "{POSTGRES} CREATE SCHEMA other; CREATE TABLE other.users (id int, notes text);"
    ))
    .await;
    let all = || -> Vec<(bool, Settings)> { vec![(true, file.settings()), (false, server.settings())] };
    for (table, columns, include, exclude, fits) in [
        ("user", "notes", "users", "", [false, false]),
        ("userz", "notes", "", "letters", [false, false]),
        ("user", "notes", "users", "user", [false, false]),
        ("users2", "notes", "*", "users2", [false, false]),
        // A name in another case is the same table in SQLite, and another one in PostgreSQL.
        ("Users", "notes", "users", "", [true, false]),
        ("USERS", "notes", "", "letters", [true, false]),
        ("PUBLIC.users", "notes", "users", "", [false, false]),
        ("public.user", "notes", "users", "", [false, false]),
        ("nowhere.users", "notes", "users", "", [false, false]),
        ("other.user", "notes", "users", "", [false, false]),
        // Existing tables that are excluded.
        ("letters", "body", "users", "", [true, true]),
        ("letters", "body", "", "letters", [true, true]),
        ("letters", "body", "", "LETTERS", [true, true]),
        ("public.letters", "body", "users", "", [false, true]),
        ("other.users", "notes", "users", "", [false, true]),
        ("other.users", "notes", "", "", [false, true]),
        // Their columns are checked: a view may show them.
        ("letters", "boddy", "users", "", [false, false]),
        ("users", "nots", "shown", "", [false, false]),
        ("other.users", "nots", "users", "", [false, false]),
    ] {
        for (is_sqlite, mut settings) in all() {
            settings.tables.insert(table.to_owned(), table_settings(&[columns], &[], &[]));
            settings.include.extend(Some(include.to_owned()).filter(|pattern| !pattern.is_empty()));
            settings.exclude.extend(Some(exclude.to_owned()).filter(|pattern| !pattern.is_empty()));
            let opened = open(settings).await;
            let expected = fits[usize::from(!is_sqlite)];
            assert_eq!(opened.is_ok(), expected, "{table}.{columns}, {include:?} {exclude:?}, SQLite: {is_sqlite}");
            if let (Err(failure), "user") = (&opened, table) {
                let cause = failure.cause().unwrap();
                assert!(cause.contains("Did you mean 'users'?"), "{cause}");
            }
        }
    }
}

/// Hidden columns of an excluded table stay hidden in views.
#[tokio::test]
async fn r_saf_5_hidden_columns_of_excluded_tables_stay_hidden_in_views() {
    let set = |settings: &mut Settings| {
        settings.tables.insert("users".to_owned(), table_settings(&["notes"], &[], &[]));
        settings.exclude = words(&["USERS", "users"]);
    };
    for fixture in [Fixture::sqlite_with(SQLITE, set).await, Fixture::postgres_with(POSTGRES, set).await] {
        assert_eq!(fixture.call_ok("list_showns", json!({ "fields": "full" })).await["items"], json!([{ "id": 1 }]));
        // The view still reads the same column when its table is renamed.
        fixture.run_sql("ALTER TABLE users RENAME TO people").await;
        assert!(fixture.engine.reload().await.is_empty());
        let names = fixture.operations();
        assert!(!names.iter().any(|name| name.contains("person") || name.contains("shown")), "{names:?}");
    }
}

/// Generated columns and full-text tables do not show hidden columns of an excluded table either.
#[tokio::test]
async fn r_saf_5_columns_derived_from_excluded_tables_are_hidden() {
    let fixture = Fixture::sqlite_with(
        "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, notes TEXT, loud TEXT AS (upper(notes)));
         CREATE VIEW shown AS SELECT id, name, loud AS l FROM users; CREATE VIRTUAL TABLE found USING fts5(words);
         CREATE TRIGGER fill AFTER INSERT ON users BEGIN INSERT INTO found VALUES (new.notes); END;
         INSERT INTO users (id, name, notes) VALUES (1, 'Ann', 'hunterzz');",
        |settings| {
            settings.tables.insert("users".to_owned(), table_settings(&["notes"], &[], &[]));
            settings.exclude = words(&["users"]);
        },
    )
    .await;
    for operation in fixture.operations().iter().filter(|name| name.starts_with("list_") && *name != "list_tables") {
        let all = fixture.call_ok(operation, json!({ "fields": "full" })).await.to_string();
        assert!(!all.to_lowercase().contains("hunterzz"), "{operation}: {all}");
    }
    assert_eq!(
        fixture.call_ok("list_showns", json!({ "fields": "full" })).await["items"],
        json!([{ "id": 1, "name": "Ann" }])
    );
}

/// A table in a schema that is not offered may be renamed as well.
#[tokio::test]
async fn r_saf_5_a_view_over_another_schema_does_not_show_a_renamed_tables_columns() {
    let sql = "CREATE SCHEMA other; CREATE TABLE other.users (id int PRIMARY KEY, name text, notes text);
        INSERT INTO other.users VALUES (1, 'Ann', 'hunterzz');
        CREATE VIEW shown AS SELECT id, name, notes AS n FROM other.users; CREATE TABLE letters (id int PRIMARY KEY);";
    let fixture = Fixture::postgres_with(sql, |settings| {
        settings.tables.insert("other.users".to_owned(), table_settings(&["notes"], &[], &[]));
    })
    .await;
    let shown = fixture.call_ok("list_showns", json!({ "fields": "full" })).await["items"].clone();
    assert_eq!(shown, json!([{ "id": 1, "name": "Ann" }]));
    for change in ["ALTER TABLE other.users RENAME TO people", "ALTER SCHEMA other RENAME TO another"] {
        fixture.run_sql(change).await;
        assert!(fixture.engine.reload().await.is_empty());
        let names = fixture.operations();
        assert!(names.contains(&"list_letters".to_owned()), "{names:?}");
        assert!(!names.iter().any(|name| name.contains("shown")), "{names:?}");
    }
}

/// Of two entries for one SQLite table, the one that hides less is never used alone.
#[tokio::test]
async fn r_ext_6_entries_that_differ_in_case_do_not_hide_less() {
    let file = File::create(SQLITE);
    let mut settings = file.settings();
    settings.tables.insert("USERS".to_owned(), table_settings(&["name"], &[], &[]));
    settings.tables.insert("users".to_owned(), table_settings(&["name", "notes"], &[], &[]));
    let database = open(settings).await.unwrap();
    let engine = engine(&database);
    file.run("ALTER TABLE users RENAME TO x; ALTER TABLE x RENAME TO USERS;");
    database.reflect().await.unwrap();
    assert!(engine.reload().await.is_empty());
    let snapshot = engine.snapshot();
    let names: Vec<&str> = snapshot.catalog().operations().iter().map(|operation| &*operation.name).collect();
    assert!(names.contains(&"list_letters") && !names.iter().any(|name| name.contains("user")), "{names:?}");
}

/// A qualified entry replaces the unqualified one, so it must not hide less.
#[tokio::test]
async fn r_ext_6_a_table_configured_twice_must_hide_the_same() {
    let server = crate::server::Server::new(POSTGRES).await;
    let mut settings = server.settings();
    settings.tables.insert("users".to_owned(), table_settings(&["notes"], &[], &[]));
    settings.tables.insert("public.users".to_owned(), table_settings(&["name"], &[], &[]));
    let failure = open(settings.clone()).await.err().unwrap();
    assert!(failure.cause().unwrap().contains("'public.users' is configured twice"), "{failure:?}");
    settings.tables.insert("public.users".to_owned(), table_settings(&["name", "notes"], &[], &[]));
    open(settings).await.unwrap();
}

/// If a hidden column is renamed, its table is withdrawn until the configuration is fixed, together with everything
/// that shows its columns.
#[tokio::test]
async fn r_ext_6_a_table_whose_hide_no_longer_matches_is_withdrawn() {
    let hide = |settings: &mut Settings| {
        settings.tables.insert("users".to_owned(), table_settings(&["notes"], &[], &[]));
    };
    let fixtures = vec![Fixture::sqlite_with(SQLITE, hide).await, Fixture::postgres_with(POSTGRES, hide).await];
    for fixture in fixtures {
        assert_eq!(
            fixture.call_ok("list_users", json!({ "fields": "full" })).await["items"],
            json!([{ "id": 1, "name": "Ann" }])
        );
        fixture.run_sql("ALTER TABLE users RENAME COLUMN notes TO remarks").await;
        assert!(fixture.engine.reload().await.is_empty());
        let names = fixture.operations();
        assert!(!names.iter().any(|name| name.contains("user")), "{names:?}");
        fixture.call_err("list_users", json!({ "fields": ["remarks"] }), "NOT_FOUND_OPERATION").await;
        // A view of it is served without the columns that may be hidden, which are all of them.
        assert!(!names.iter().any(|name| name.contains("shown")), "{names:?}");
        assert!(names.contains(&"list_letters".to_owned()), "others are served: {names:?}");
        fixture.run_sql("ALTER TABLE users RENAME COLUMN remarks TO notes").await;
        assert!(fixture.engine.reload().await.is_empty());
        assert_eq!(fixture.call_ok("list_users", json!({})).await["items"], json!([{ "id": 1, "name": "Ann" }]));
    }
    // SQLite schema changes are detected before the next answer.
    let fixture = Fixture::sqlite_with(SQLITE, hide).await;
    fixture.run_sql("ALTER TABLE users RENAME COLUMN notes TO remarks").await;
    fixture.call_ok("list_letters", json!({})).await;
    assert!(!fixture.operations().iter().any(|name| name.contains("user")));
}

/// A renamed table takes its columns along. Until the configuration is fixed, nothing new is served: it may be the
/// table that `hide` names.
#[tokio::test]
async fn r_ext_6_a_renamed_table_does_not_show_hidden_columns() {
    let hide = |settings: &mut Settings| {
        settings.tables.insert("users".to_owned(), table_settings(&["notes"], &[], &[]));
    };
    let one = "CREATE TABLE another (id INTEGER PRIMARY KEY, n TEXT)";
    for (renaming, back) in [
        ("ALTER TABLE users RENAME TO people", "ALTER TABLE people RENAME TO users"),
        // The name of a table that existed before.
        (
            "ALTER TABLE letters RENAME TO old_letters; ALTER TABLE users RENAME TO letters",
            "ALTER TABLE letters RENAME TO users; ALTER TABLE old_letters RENAME TO letters",
        ),
        // The column has another name as well.
        (
            "ALTER TABLE users RENAME COLUMN notes TO n; ALTER TABLE users RENAME TO people",
            "ALTER TABLE people RENAME TO users; ALTER TABLE users RENAME COLUMN n TO notes",
        ),
        // A view in its place, without the column.
        (
            "ALTER TABLE users RENAME TO people; CREATE VIEW users AS SELECT id, name FROM people",
            "DROP VIEW users; ALTER TABLE people RENAME TO users",
        ),
    ] {
        for fixture in [Fixture::sqlite_with(SQLITE, hide).await, Fixture::postgres_with(POSTGRES, hide).await] {
            fixture.run_sql(one).await;
            assert!(fixture.engine.reload().await.is_empty());
            fixture.run_sql(renaming).await;
            assert!(fixture.engine.reload().await.is_empty());
            for _ in 0..2 {
                let names = fixture.operations();
                assert!(names.contains(&"list_anothers".to_owned()), "{renaming}: {names:?}");
                for name in names.iter().filter(|name| name.starts_with("list_") && *name != "list_tables") {
                    let all = fixture.call_ok(name, json!({ "fields": "full" })).await;
                    assert!(!all.to_string().contains("hunterzz"), "{renaming}: {name} {all}");
                }
                // Reflecting again does not make it known.
                assert!(fixture.engine.reload().await.is_empty());
            }
            fixture.run_sql(back).await;
            fixture.run_sql("CREATE TABLE fresh (id INTEGER PRIMARY KEY)").await;
            assert!(fixture.engine.reload().await.is_empty());
            assert_eq!(fixture.call_ok("list_users", json!({})).await["items"], json!([{ "id": 1, "name": "Ann" }]));
            assert!(fixture.operations().contains(&"list_freshes".to_owned()), "{:?}", fixture.operations());
        }
    }
}

/// SQLite ignores case in table names, so the settings still match.
#[tokio::test]
async fn r_ext_6_another_case_of_a_table_name_hides_the_same() {
    let fixture = Fixture::sqlite_with(SQLITE, |settings| {
        settings.tables.insert(
            "users".to_owned(),
            TableSettings { singular: Some("member".into()), ..table_settings(&["notes"], &[], &[]) },
        );
        settings.exclude = words(&["letters"]);
    })
    .await;
    let before = fixture.operations();
    fixture
        .run_sql(
            "ALTER TABLE users RENAME TO x; ALTER TABLE x RENAME TO Users;
             ALTER TABLE letters RENAME TO x; ALTER TABLE x RENAME TO LETTERS;",
        )
        .await;
    assert!(fixture.engine.reload().await.is_empty());
    assert_eq!(fixture.operations(), before);
    let shown = fixture.call_ok("get_member", json!({ "id": 1 })).await;
    assert!(shown["notes"].is_null() && shown["name"] == "Ann", "{shown}");
}

/// A missing database is retried; settings that do not match are still errors when it appears.
#[tokio::test]
async fn r_ext_6_settings_are_checked_when_a_database_appears_later() {
    let file = File::missing();
    let mut settings = file.settings();
    settings.tables.insert("users".to_owned(), table_settings(&["Notes"], &[], &[]));
    let database = new_database(settings);
    let engine = engine(&database);
    let looking = tokio::spawn(Database::reflect_with_retry(Arc::downgrade(&database)));
    assert!(!database.is_misconfigured(), "a file that is missing is no mistake in the settings");
    file.run(SQLITE);
    wait_until("the mistake is found", || async { database.is_misconfigured() }).await;
    let answer = crate::support::call(&engine, "list_tables", json!({})).await;
    assert_eq!(answer["error"]["code"], "UPSTREAM_UNAVAILABLE", "{answer}");
    assert!(!answer.to_string().contains("otes"), "{answer}");
    engine.refresh().unwrap();
    assert_eq!(engine.snapshot().catalog().operations().len(), 2, "nothing but list_tables and introspect");
    looking.abort();
}
