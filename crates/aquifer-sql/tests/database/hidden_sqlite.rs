//! Ways in which a SQLite file shows a hidden column that only SQLite's own parser reveals.

use aquifer_sql::Settings;
use serde_json::json;

use crate::hidden::{hide, nothing_tells};
use crate::support::Fixture;

const USERS: &str = "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, notes TEXT); INSERT INTO users VALUES (1, 'Ann', 'hunterzz');";

/// The columns of full-text tables are those that SQLite reports.
#[tokio::test]
async fn r_saf_5_full_text_tables_show_no_hidden_column() {
    let filled = |name: &str| format!("INSERT INTO {name} SELECT name, notes FROM users;");
    let rebuilt = "INSERT INTO f(f) VALUES ('rebuild');";
    let copied = "CREATE TABLE pings (id INTEGER PRIMARY KEY); CREATE VIRTUAL TABLE found USING fts5(body);";
    for more in [
        // All kinds of quoted names.
        format!("CREATE VIRTUAL TABLE f USING fts5(name, 'notes'); {}", filled("f")),
        format!("CREATE VIRTUAL TABLE f USING fts5(name, `notes`); {}", filled("f")),
        format!("CREATE VIRTUAL TABLE f USING fts4(name, [notes], tokenize=porter); {}", filled("f")),
        format!("CREATE VIRTUAL TABLE f USING fts5(name, 'notes', content=users, content_rowid=id); {rebuilt}"),
        // Comments between them.
        format!("CREATE VIRTUAL TABLE f USING fts5(name -- ,'\n, notes); {}", filled("f")),
        format!("CREATE VIRTUAL TABLE f USING fts5(/* , */ name, /* it's */ notes); {}", filled("f")),
        format!("CREATE VIRTUAL TABLE f USING fts5(name, /*/ , */ notes); {}", filled("f")),
        // Tables named like keywords.
        format!("CREATE VIRTUAL TABLE \"using\" USING fts5(name, notes); {}", filled("\"using\"")),
        format!("CREATE VIRTUAL TABLE [using] USING fts5(name, notes); {}", filled("[using]")),
        format!(
            "CREATE VIRTUAL TABLE f USING fts5(name, notes, content=users, content_rowid=id); {rebuilt}
             CREATE VIRTUAL TABLE \"using\" USING fts5vocab(f, instance);"
        ),
        // A column that is not indexed can be read.
        format!(
            "CREATE VIRTUAL TABLE f USING fts5(name, notes UNINDEXED, content='users', content_rowid='id'); {rebuilt}
             CREATE VIEW seen AS SELECT rowid AS id, notes AS n FROM f;"
        ),
        // Copied by a trigger from an index, or from an excluded table.
        format!(
            "CREATE VIRTUAL TABLE f USING fts5(name, notes, content=users, content_rowid=id); {rebuilt} {copied}
             CREATE TRIGGER t AFTER INSERT ON pings BEGIN INSERT INTO found SELECT notes FROM f; END; INSERT INTO pings VALUES (1);"
        ),
        format!(
            "CREATE VIEW left_out AS SELECT id, notes AS body FROM users; {copied}
             CREATE TRIGGER t AFTER INSERT ON pings BEGIN INSERT INTO found SELECT body FROM left_out; END; INSERT INTO pings VALUES (1);"
        ),
        format!(
            "CREATE VIEW left_out AS SELECT id, notes AS body FROM users; CREATE VIEW left_out_too AS SELECT id, body || '' AS b FROM left_out; {copied}
             CREATE TRIGGER t AFTER INSERT ON pings BEGIN INSERT INTO found SELECT b FROM left_out_too; END; INSERT INTO pings VALUES (1);"
        ),
        format!("CREATE VIEW left_out AS SELECT x FROM gone; {copied}"),
    ] {
        let hidden = hide(&["users.notes"]);
        let set = |settings: &mut Settings| {
            hidden(settings);
            settings.exclude.push("left_out*".to_owned());
        };
        let fixture = Fixture::sqlite_with(&format!("{USERS}{more}"), set).await;
        nothing_tells(&fixture).await;
        let all = fixture.call_ok("list_users", json!({ "fields": "full" })).await;
        assert_eq!(all["items"], json!([{ "id": 1, "name": "Ann" }]), "{more}");
    }
}

/// A unique key is used only if it shows nothing hidden: unlike a primary key, it can be omitted.
#[tokio::test]
async fn r_saf_5_a_substitute_key_shows_no_hidden_column() {
    let unique = "CREATE UNIQUE INDEX only_notes ON users (notes);";
    for (more, keys) in [
        (
            "CREATE TABLE pins (note TEXT NOT NULL UNIQUE REFERENCES users (notes), size INTEGER);
             INSERT INTO pins VALUES ('hunterzz', 7);",
            json!([{ "rowid": 1, "size": 7 }]),
        ),
        // Through another table.
        (
            "CREATE TABLE steps (id INTEGER PRIMARY KEY, note TEXT UNIQUE REFERENCES users (notes));
             CREATE TABLE pins (Note TEXT NOT NULL UNIQUE REFERENCES steps (note), size INTEGER);
             INSERT INTO steps VALUES (1, 'hunterzz'); INSERT INTO pins VALUES ('hunterzz', 7);",
            json!([{ "rowid": 1, "size": 7 }]),
        ),
        // One column of several.
        (
            "CREATE TABLE pins (size INTEGER NOT NULL, note TEXT NOT NULL REFERENCES users (notes), UNIQUE (size, note));
             INSERT INTO pins VALUES (7, 'hunterzz');",
            json!([{ "rowid": 1, "size": 7 }]),
        ),
        // No name is left for the row number.
        (
            "CREATE TABLE pins (note TEXT NOT NULL UNIQUE REFERENCES users (notes), rowid INTEGER, oid INTEGER, _rowid_ INTEGER);
             INSERT INTO pins VALUES ('hunterzz', 7, 8, 9);",
            json!([{ "rowid": 7, "oid": 8, "rowid_2": 9 }]),
        ),
        // A key that shows nothing hidden is used.
        (
            "CREATE TABLE pins (owner INTEGER NOT NULL UNIQUE REFERENCES users (id), size INTEGER);
             INSERT INTO pins VALUES (1, 7);",
            json!([{ "owner": 1, "size": 7 }]),
        ),
    ] {
        let fixture = Fixture::sqlite_with(&format!("{USERS}{unique}{more}"), hide(&["users.notes"])).await;
        nothing_tells(&fixture).await;
        let all = fixture.call_ok("list_pins", json!({ "fields": "full" })).await;
        let shown: Vec<serde_json::Value> = all["items"].as_array().unwrap().iter().cloned().map(plain).collect();
        assert_eq!(json!(shown), keys, "{more}");
    }
}

/// A row without its computed fields.
fn plain(mut row: serde_json::Value) -> serde_json::Value {
    row.as_object_mut().unwrap().retain(|name, _| name == "rowid" || !name.starts_with('_'));
    row
}

/// Generated columns: exactly what SQLite skips is skipped.
#[tokio::test]
async fn r_saf_5_generated_columns_show_no_hidden_column() {
    for expression in [
        "/*/ ' */ notes /*/ ' */",
        "/*/ \" */ notes || '' /*/ \" */",
        "\u{feff}notes",
        "\u{feff}\u{feff}notes||\u{feff}''",
        "/**/notes",
        "-- '\n notes",
        "upper(/* [ */ notes /* ] */)",
    ] {
        let made = format!(
            "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, notes TEXT, g TEXT AS ({expression}));
             INSERT INTO users (id, name, notes) VALUES (1, 'Ann', 'hunterzz');"
        );
        let fixture = Fixture::sqlite_with(&made, hide(&["users.notes"])).await;
        let all = fixture.call_ok("list_users", json!({ "fields": "full" })).await;
        assert_eq!(all["items"], json!([{ "id": 1, "name": "Ann" }]), "{expression:?}");
    }
}
