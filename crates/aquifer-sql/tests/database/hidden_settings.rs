//! Settings about columns that do not fit the tables: never served as if they did.

use std::sync::Arc;

use aquifer_sql::{Database, Settings, TableSettings};
use serde_json::json;

use crate::support::{File, Stage, engine, harmless, open, unopened, until};

const SQLITE: &str = "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, notes TEXT, password TEXT); INSERT INTO users VALUES (1, 'Ann', 'hunterzz', 'x');
    CREATE TABLE letters (id INTEGER PRIMARY KEY, body TEXT); CREATE VIEW shown AS SELECT id, notes AS n FROM users;";
#[cfg(feature = "postgres")]
const POSTGRES: &str = "CREATE TABLE users (id int PRIMARY KEY, name text, notes text, password text); INSERT INTO users VALUES (1, 'Ann', 'hunterzz', 'x');
    CREATE TABLE letters (id int PRIMARY KEY, body text); CREATE VIEW shown AS SELECT id, notes AS n FROM users;";

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|word| (*word).to_owned()).collect()
}

/// Hide, show, and a preset.
fn said(hide: &[&str], show: &[&str], preset: &[&str]) -> TableSettings {
    let mut said = TableSettings { hide: words(hide), show: words(show), ..TableSettings::default() };
    if !preset.is_empty() {
        said.presets.insert("short".to_owned(), words(preset));
    }
    said
}

#[tokio::test]
async fn r_ext_6_settings_that_do_not_fit_fail_the_first_look() {
    let file = File::of(SQLITE);
    #[cfg(feature = "postgres")]
    let server = crate::server::Server::new(POSTGRES).await;
    let all = || -> Vec<Settings> {
        vec![
            file.settings(),
            #[cfg(feature = "postgres")]
            server.settings(),
        ]
    };
    for (table, said, told) in [
        ("users", said(&["Notes"], &[], &[]), vec!["users'", "'Notes'", "Did you mean 'notes'?"]),
        ("users", said(&["nots"], &[], &[]), vec!["'nots'", "Did you mean 'notes'?"]),
        ("users", said(&["notes", "qqqqqq"], &[], &[]), vec!["'qqqqqq'"]),
        ("users", said(&["id"], &[], &[]), vec!["'id'", "key"]),
        ("Users", said(&["notes"], &[], &[]), vec!["'Users'", "Did you mean 'users'?"]),
        ("user", said(&["notes"], &[], &[]), vec!["'user'"]),
        ("nowhere.users", said(&["notes"], &[], &[]), vec!["'nowhere.users'"]),
        ("users", said(&[], &["pasword"], &[]), vec!["'show'", "Did you mean 'password'?"]),
        ("Users", said(&[], &["password"], &[]), vec!["'show'", "'Users'"]),
        ("users", said(&["password"], &["password"], &[]), vec!["'password'", "'hide'", "'show'"]),
        ("users", said(&["notes"], &[], &["id", "notes"]), vec!["preset 'short'", "'notes'"]),
        ("users", said(&[], &[], &["id", "password"]), vec!["preset 'short'", "'password'", "'show'"]),
        ("shown", said(&["Nn"], &[], &[]), vec!["'Nn'"]),
    ] {
        for mut settings in all() {
            settings.tables.insert(table.to_owned(), said.clone());
            let failure = open(settings).await.err().unwrap_or_else(|| panic!("{table} {said:?}"));
            let cause = failure.cause().unwrap().to_owned();
            for words in &told {
                assert!(cause.contains(words), "{words}: {cause}");
            }
            // Callers are told that something is wrong, not what is to be hidden.
            let answer = json!({ "error": failure });
            harmless(&answer);
            assert!(!["otes", "nots", "pass", "qqq"].iter().any(|word| answer.to_string().contains(word)), "{answer}");
        }
    }
    // What fits, and what is about a table that is not wanted, is no mistake.
    for (table, said, exclude) in [
        ("users", said(&["notes"], &["password"], &["id", "name"]), ""),
        ("users", said(&["whatever"], &[], &[]), "users"),
        ("users", said(&[], &["password"], &["password"]), ""),
    ] {
        for mut settings in all() {
            settings.tables.insert(table.to_owned(), said.clone());
            settings.exclude.extend(Some(exclude.to_owned()).filter(|pattern| !pattern.is_empty()));
            open(settings).await.unwrap_or_else(|failure| panic!("{failure:?}"));
        }
    }
}

/// A setting with the schema stands for the one without; it must not say less.
#[cfg(feature = "postgres")]
#[tokio::test]
async fn r_ext_6_a_table_that_is_set_twice_is_hidden_by_both() {
    let server = crate::server::Server::new(POSTGRES).await;
    let mut settings = server.settings();
    settings.tables.insert("users".to_owned(), said(&["notes"], &[], &[]));
    settings.tables.insert("public.users".to_owned(), said(&["name"], &[], &[]));
    let failure = open(settings.clone()).await.err().unwrap();
    assert!(failure.cause().unwrap().contains("'public.users' is set twice"), "{failure:?}");
    settings.tables.insert("public.users".to_owned(), said(&["name", "notes"], &[], &[]));
    open(settings).await.unwrap();
}

/// When somebody changes a table so that a column to be hidden is called otherwise, the table goes until it is mended,
/// and whatever shows its columns with it.
#[tokio::test]
async fn r_ext_6_a_table_whose_hide_no_longer_fits_is_withdrawn() {
    let hide = |settings: &mut Settings| {
        settings.tables.insert("users".to_owned(), said(&["notes"], &[], &[]));
    };
    let stages = vec![
        Stage::sqlite_with(SQLITE, hide).await,
        #[cfg(feature = "postgres")]
        Stage::postgres_with(POSTGRES, hide).await,
    ];
    for stage in stages {
        assert_eq!(
            stage.get("list_users", json!({ "fields": "full" })).await["items"],
            json!([{ "id": 1, "name": "Ann" }])
        );
        stage.behind("ALTER TABLE users RENAME COLUMN notes TO remarks").await;
        assert!(stage.engine.reload().await.is_empty());
        let names = stage.operations();
        assert!(!names.iter().any(|name| name.contains("user")), "{names:?}");
        stage.refused("list_users", json!({ "fields": ["remarks"] }), "NOT_FOUND_OPERATION").await;
        // A view of it is served without what may be hidden, and all of it may.
        assert!(!names.iter().any(|name| name.contains("shown")), "{names:?}");
        assert!(names.contains(&"list_letters".to_owned()), "others are served: {names:?}");
        stage.behind("ALTER TABLE users RENAME COLUMN remarks TO notes").await;
        assert!(stage.engine.reload().await.is_empty());
        assert_eq!(stage.get("list_users", json!({})).await["items"], json!([{ "id": 1, "name": "Ann" }]));
    }
    // SQLite is noticed by itself, before the next answer is out.
    let stage = Stage::sqlite_with(SQLITE, hide).await;
    stage.behind("ALTER TABLE users RENAME COLUMN notes TO remarks").await;
    stage.get("list_letters", json!({})).await;
    assert!(!stage.operations().iter().any(|name| name.contains("user")));
}

/// A database that is not there yet is looked for; settings that do not fit then are still no reason to serve it.
#[tokio::test]
async fn r_ext_6_a_database_that_appears_later_is_held_to_its_settings() {
    let file = File::missing();
    let mut settings = file.settings();
    settings.tables.insert("users".to_owned(), said(&["Notes"], &[], &[]));
    let database = unopened(settings);
    let engine = engine(&database);
    let looking = tokio::spawn(Database::look_until_found(Arc::downgrade(&database)));
    assert!(!database.is_misconfigured(), "a file that is missing is no mistake in the settings");
    file.run(SQLITE);
    until("the mistake is found", || async { database.is_misconfigured() }).await;
    let answer = crate::support::ask(&engine, "list_tables", json!({})).await;
    assert_eq!(answer["error"]["code"], "UPSTREAM_UNAVAILABLE", "{answer}");
    assert!(!answer.to_string().contains("otes"), "{answer}");
    engine.refresh().unwrap();
    assert_eq!(engine.snapshot().catalog().operations().len(), 2, "nothing but list_tables and introspect");
    looking.abort();
}
