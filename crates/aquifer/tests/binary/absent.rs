//! Databases that are not there, come, change and go while they are served.

use serde_json::json;

use crate::sqlite::LIBRARY;
use crate::support::{Folder, StdioServer, alter, run, signal, text, until};

const BY_TABLE: [&str; 5] = ["list_books", "search_books", "get_book", "create_book", "query_relationships"];

fn serve(target: &str) -> StdioServer {
    StdioServer::initialized(&["serve", target], "2025-06-18")
}

#[test]
fn a_missing_file_is_reported_and_served_later_without_a_restart() {
    let folder = Folder::new();
    // What the command line names has to be there.
    let missing = run(&["serve", &folder.path("library.db")]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(text(&missing.stderr).contains("Source 'library' is unavailable: its file does not exist"));
    // What a configuration names may come later. The path is relative to it.
    let config = folder.file("aquifer.toml", "[[source]]\ntarget = \"library.db\"\n");
    let mut piped = serve(&config);
    piped.says("Source 'library' is unavailable: its file does not exist");
    assert_eq!(piped.tools(), ["mcp_aql_read"]);
    assert_eq!(piped.operations(), ["list_tables", "introspect"]);
    let error = piped.error("read", "list_tables", json!({}));
    assert_eq!(error["code"], "UPSTREAM_UNAVAILABLE", "{error}");
    assert_eq!(error["message"], "Source 'library' is unavailable: its file does not exist");
    assert_eq!(piped.error("read", "list_books", json!({}))["code"], "NOT_FOUND_OPERATION");

    folder.database("library.db", LIBRARY);
    let operations = until("the file is served", || {
        piped.tools_changed();
        Some(piped.operations()).filter(|operations| !operations.contains(&"list_tables".to_owned()))
    });
    for name in BY_TABLE {
        assert!(operations.iter().any(|known| known == name), "{name} is missing: {operations:?}");
    }
    assert_eq!(piped.tools().len(), 4);
    assert_eq!(piped.data("read", "get_author", json!({ "id": 1 }))["name"], "Ada");
}

/// Whoever asks need not wait until the server looks by itself.
#[test]
fn asking_for_the_tables_looks_at_once() {
    let folder = Folder::new();
    let file = folder.path("library.db");
    let config = folder.file("aquifer.toml", &format!("[[source]]\ntarget = \"sqlite:{file}\"\nstyle = \"generic\"\n"));
    let mut piped = StdioServer::initialized(&["serve", "--config", &config], "2025-06-18");
    assert_eq!(piped.error("read", "list_tables", json!({}))["code"], "UPSTREAM_UNAVAILABLE");
    folder.database("library.db", LIBRARY);
    let tables = piped.data("read", "list_tables", json!({ "fields": ["name"] }));
    assert_eq!(tables["items"], json!([{ "name": "authors" }, { "name": "books" }]));
}

/// Who makes a database with a shell makes an empty file first.
#[test]
fn a_file_that_comes_empty_is_served_when_it_has_tables() {
    let folder = Folder::new();
    let file = folder.file("library.db", "");
    let mut piped = serve(&file);
    assert_eq!(piped.operations(), ["list_tables", "introspect"]);
    assert_eq!(piped.data("read", "list_tables", json!({}))["items"], json!([]));
    alter(&file, LIBRARY);
    piped.data("read", "list_tables", json!({}));
    until("the tables are offered", || piped.operations().contains(&"list_books".to_owned()).then_some(()));
}

#[test]
fn a_hangup_has_every_source_look_again() {
    let folder = Folder::new();
    let file = folder.database("library.db", LIBRARY);
    let mut piped = serve(&file);
    assert!(!piped.operations().contains(&"list_shelves".to_owned()));
    alter(
        &file,
        "CREATE TABLE shelves (id INTEGER PRIMARY KEY, room TEXT NOT NULL); INSERT INTO shelves VALUES (1, 'A');",
    );
    signal("-HUP", piped.pid());
    until("the new table is offered", || piped.operations().contains(&"list_shelves".to_owned()).then_some(()));
    assert_eq!(piped.data("read", "get_shelf", json!({ "id": 1 }))["room"], "A");
}

#[test]
fn a_changed_table_is_detected_on_the_next_read() {
    let folder = Folder::new();
    let file = folder.database("library.db", LIBRARY);
    let mut piped = serve(&file);
    alter(&file, "ALTER TABLE authors ADD COLUMN country TEXT; UPDATE authors SET country = 'UK' WHERE id = 1;");
    piped.data("read", "list_authors", json!({}));
    until("the new column is offered", || {
        let author = piped.data("read", "get_author", json!({ "id": 1 }));
        (author["country"] == "UK").then_some(())
    });

    alter(&file, "DROP TABLE books_words; DROP TABLE books;");
    let error = piped.error("read", "list_books", json!({}));
    assert_eq!(error["code"], "UPSTREAM_ERROR", "{error}");
    assert_eq!(error["details"]["schema_changed"], true, "{error}");
    until("the table is gone", || (!piped.operations().contains(&"list_books".to_owned())).then_some(()));
    assert_eq!(piped.data("read", "list_authors", json!({}))["items"].as_array().unwrap().len(), 2);
}

#[test]
fn a_deleted_file_is_reported_and_its_replacement_is_read() {
    let folder = Folder::new();
    let file = folder.database("library.db", LIBRARY);
    let mut piped = serve(&file);
    piped.data("read", "list_authors", json!({}));
    std::fs::remove_file(&file).unwrap();
    for (family, operation, params) in [
        ("read", "list_authors", json!({})),
        ("create", "create_author", json!({ "name": "Cy" })),
        ("read", "query_relationships", json!({ "root": { "element_type": "authors", "id": 1 }, "direction": "both" })),
    ] {
        assert_eq!(piped.error(family, operation, params)["code"], "UPSTREAM_UNAVAILABLE", "{operation}");
    }
    assert!(!std::path::Path::new(&file).exists(), "nothing makes a file");
    folder.database("library.db", &LIBRARY.replace("'Ada'", "'Ida'"));
    assert_eq!(piped.data("read", "get_author", json!({ "id": 1 }))["name"], "Ida");
    piped.data("create", "create_author", json!({ "name": "Cy" }));
}

#[test]
fn commands_that_answer_once_need_the_file() {
    let folder = Folder::new();
    let missing = folder.path("missing.db");
    let no_database = folder.file("letter.db", &"Dear reader, this is no database. ".repeat(100));
    for (file, words) in [
        (&missing, "Source 'missing' is unavailable: its file does not exist"),
        (&no_database, "Source 'letter' is unavailable: its file is not a SQLite database"),
    ] {
        for arguments in [&["call", "list_books", "--source", file][..], &["introspect", "--source", file]] {
            let output = run(arguments);
            assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output.stderr));
            assert_eq!(text(&output.stdout), "", "{arguments:?}");
            let printed = text(&output.stderr);
            assert!(printed.contains(words), "{arguments:?}: {printed}");
            assert_eq!(printed.lines().count(), 1, "{printed}");
        }
    }
    assert!(!std::path::Path::new(&missing).exists(), "nothing makes a file");
}
