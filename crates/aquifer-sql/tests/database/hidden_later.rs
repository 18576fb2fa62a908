//! Hidden columns stay hidden when tables change while they are served.

use aquifer_sql::{Settings, TableSettings};
use serde_json::json;

use crate::support::Fixture;

/// Hides `notes` of a table.
fn hide(table: &'static str) -> impl Fn(&mut Settings) {
    move |settings| {
        let table_settings = TableSettings { hide: vec!["notes".to_owned()], ..TableSettings::default() };
        settings.tables.insert(table.to_owned(), table_settings);
    }
}

/// Reflects again, and checks everything that can be listed or searched.
async fn shows_nothing_hidden(fixture: &Fixture, after: &str) {
    for _ in 0..2 {
        assert!(fixture.engine.reload().await.is_empty());
        for name in fixture.operations() {
            let params = match name.split_once('_') {
                Some(("list", rest)) if rest != "tables" => json!({ "fields": "full" }),
                Some(("search", _)) => json!({ "query": "hushword" }),
                _ => continue,
            };
            let all = fixture.call_ok(&name, params).await;
            let found = name.starts_with("search_") && all["items"] != json!([]);
            assert!(!found && !all.to_string().contains("hushword"), "{after}: {name} {all}");
        }
    }
}

#[tokio::test]
async fn r_saf_5_an_index_without_triggers_may_still_hold_hidden_words() {
    let sql = "CREATE TABLE users (id INTEGER PRIMARY KEY, notes TEXT); CREATE VIRTUAL TABLE f USING fts5(body);
        CREATE TRIGGER t AFTER INSERT ON users BEGIN INSERT INTO f (rowid, body) VALUES (new.id, new.notes); END;
        INSERT INTO users VALUES (1, 'hushword');";
    let fixture = Fixture::sqlite_with(sql, hide("users")).await;
    shows_nothing_hidden(&fixture, "first").await;
    for change in ["DROP TRIGGER t", "CREATE VIEW v AS SELECT rowid AS id, body AS b FROM f"] {
        fixture.run_sql(change).await;
        shows_nothing_hidden(&fixture, change).await;
    }
}

#[tokio::test]
async fn r_saf_5_a_detached_table_keeps_its_columns_hidden() {
    let sql = "CREATE TABLE users (id int PRIMARY KEY, notes text) PARTITION BY RANGE (id);
        CREATE TABLE part PARTITION OF users FOR VALUES FROM (0) TO (100); INSERT INTO users VALUES (1, 'hushword');
        CREATE VIEW seen AS SELECT id, notes AS n FROM part;";
    let inherited = "CREATE TABLE users (id int PRIMARY KEY, notes text); CREATE TABLE kids () INHERITS (users);
        INSERT INTO kids VALUES (1, 'hushword'); CREATE VIEW seen AS SELECT id, upper(notes) AS n, notes AS o FROM kids;";
    for (sql, changes) in [
        (
            sql,
            ["ALTER TABLE users DETACH PARTITION part", "CREATE VIEW later AS SELECT id, lower(notes) AS n FROM part"],
        ),
        (inherited, ["ALTER TABLE kids NO INHERIT users", "CREATE VIEW later AS SELECT id, notes AS n FROM kids"]),
    ] {
        let fixture = Fixture::postgres_with(sql, hide("users")).await;
        shows_nothing_hidden(&fixture, "first").await;
        for change in changes {
            fixture.run_sql(change).await;
            shows_nothing_hidden(&fixture, change).await;
        }
    }
}

/// An unqualified name matches tables of several schemas. If one is renamed, the other does not replace it.
#[tokio::test]
async fn r_ext_6_a_table_of_the_same_name_does_not_excuse_a_dropped_one() {
    let sql = "CREATE SCHEMA hr; CREATE TABLE users (id int PRIMARY KEY, notes text);
        CREATE TABLE hr.users (id int PRIMARY KEY, notes text); CREATE TABLE pets (id int PRIMARY KEY, n text);
        INSERT INTO users VALUES (1, 'hushword'); CREATE VIEW seen AS SELECT id, notes AS n FROM users;
        CREATE VIEW loud AS SELECT id, n || '!' AS m FROM seen;";
    for renaming in [
        "ALTER TABLE public.users RENAME TO people",
        "CREATE SCHEMA x; ALTER TABLE public.users SET SCHEMA x; CREATE VIEW more AS SELECT id, notes AS n FROM x.users",
        "ALTER TABLE public.users RENAME TO people; ALTER TABLE people RENAME COLUMN notes TO remarks",
    ] {
        for table in ["users", "public.users"] {
            let fixture = Fixture::postgres_with(sql, |settings| {
                hide(table)(settings);
                settings.schemas = vec!["public".to_owned(), "hr".to_owned()];
            })
            .await;
            shows_nothing_hidden(&fixture, "first").await;
            fixture.run_sql(renaming).await;
            shows_nothing_hidden(&fixture, renaming).await;
            assert!(fixture.operations().contains(&"list_pets".to_owned()), "{renaming}: {:?}", fixture.operations());
        }
    }
}
