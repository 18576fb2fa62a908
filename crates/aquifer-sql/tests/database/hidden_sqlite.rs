//! Ways by which a SQLite file shows a hidden column that only its own reading of SQL tells.

use aquifer_sql::Settings;
use serde_json::json;

use crate::hidden::{hide, nothing_tells};
use crate::support::Stage;

const USERS: &str = "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, notes TEXT); INSERT INTO users VALUES (1, 'Ann', 'hunterzz');";

/// Full-text tables: their columns are what SQLite says they are.
#[tokio::test]
async fn r_saf_5_full_text_tables_show_no_hidden_column() {
    let filled = |name: &str| format!("INSERT INTO {name} SELECT name, notes FROM users;");
    let rebuilt = "INSERT INTO f(f) VALUES ('rebuild');";
    let copied = "CREATE TABLE pings (id INTEGER PRIMARY KEY); CREATE VIRTUAL TABLE found USING fts5(body);";
    for more in [
        // Names in quotes of every kind.
        format!("CREATE VIRTUAL TABLE f USING fts5(name, 'notes'); {}", filled("f")),
        format!("CREATE VIRTUAL TABLE f USING fts5(name, `notes`); {}", filled("f")),
        format!("CREATE VIRTUAL TABLE f USING fts4(name, [notes], tokenize=porter); {}", filled("f")),
        format!("CREATE VIRTUAL TABLE f USING fts5(name, 'notes', content=users, content_rowid=id); {rebuilt}"),
        // Comments between them.
        format!("CREATE VIRTUAL TABLE f USING fts5(name -- ,'\n, notes); {}", filled("f")),
        format!("CREATE VIRTUAL TABLE f USING fts5(/* , */ name, /* it's */ notes); {}", filled("f")),
        format!("CREATE VIRTUAL TABLE f USING fts5(name, /*/ , */ notes); {}", filled("f")),
        // Tables called like keywords.
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
        // Copied by a trigger from an index, or from what is left out.
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
        let stage = Stage::sqlite_with(&format!("{USERS}{more}"), set).await;
        nothing_tells(&stage).await;
        let all = stage.get("list_users", json!({ "fields": "full" })).await;
        assert_eq!(all["items"], json!([{ "id": 1, "name": "Ann" }]), "{more}");
    }
}

/// Generated columns: what SQLite skips is skipped, and nothing else.
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
        let stage = Stage::sqlite_with(&made, hide(&["users.notes"])).await;
        let all = stage.get("list_users", json!({ "fields": "full" })).await;
        assert_eq!(all["items"], json!([{ "id": 1, "name": "Ann" }]), "{expression:?}");
    }
}
