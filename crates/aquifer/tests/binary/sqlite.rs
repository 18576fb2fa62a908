//! `aquifer serve sqlite:FILE`: a database that somebody else made, over MCP on pipes.

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::{Folder, StdioServer};

/// A small library: a reference, a rule, words, a document, and something for full text to find.
pub(crate) const LIBRARY: &str = "
    CREATE TABLE authors (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, born INTEGER);
    CREATE TABLE books (
        id INTEGER PRIMARY KEY,
        author_id INTEGER NOT NULL REFERENCES authors (id),
        title TEXT NOT NULL,
        price NUMERIC NOT NULL CHECK (price >= 0),
        state TEXT NOT NULL DEFAULT 'new' CHECK (state IN ('new', 'used')),
        about JSON NOT NULL DEFAULT '{}'
    );
    CREATE VIRTUAL TABLE books_words USING fts5 (title, content = 'books', content_rowid = 'id');
    CREATE TRIGGER books_made AFTER INSERT ON books BEGIN
        INSERT INTO books_words (rowid, title) VALUES (NEW.id, NEW.title);
    END;
    INSERT INTO authors VALUES (1, 'Ada', 1815), (2, 'Bo', NULL);
    INSERT INTO books (author_id, title, price) VALUES
        (1, 'Notes on engines', 10.5), (1, 'Letters', 7), (2, 'Engines of war', 3.25);";

/// The library in a folder of its own, and a server of it that has shaken hands.
fn library() -> (Folder, String, StdioServer) {
    let folder = Folder::new();
    let file = folder.database("library.db", LIBRARY);
    let piped = StdioServer::initialized(&["serve", &format!("sqlite:{file}")], "2025-06-18");
    (folder, file, piped)
}

fn each(items: &Value, field: &str) -> Vec<Value> {
    items.as_array().unwrap().iter().map(|item| item[field].clone()).collect()
}

#[test]
fn every_way_to_name_a_file_is_understood() {
    let folder = Folder::new();
    let file = folder.database("library.db", LIBRARY);
    let other = folder.path("library.sqlite");
    std::fs::copy(&file, &other).unwrap();
    for target in [format!("sqlite:{file}"), format!("sqlite://{file}"), file, other] {
        let mut piped = StdioServer::initialized(&["serve", &target], "2025-06-18");
        assert_eq!(piped.data("read", "get_author", json!({ "id": 1 }))["name"], "Ada", "{target}");
    }
}

#[test]
fn rows_are_listed_searched_and_got() {
    let (_folder, _, mut piped) = library();
    let cheap =
        json!({ "filter": { "price": { "lt": 8 } }, "sort": { "field": "price" }, "fields": ["title", "price"] });
    assert_eq!(
        piped.data("read", "list_books", cheap)["items"],
        json!([{ "title": "Engines of war", "price": 3.25 }, { "title": "Letters", "price": 7 }])
    );
    let sums = json!({ "aggregate": { "by": { "group_by": "author_id", "count": true, "sum": "price" } } });
    assert_eq!(
        piped.data("read", "list_books", sums)["aggregations"]["by"],
        json!({ "1": { "count": 2, "sum": 17.5 }, "2": { "count": 1, "sum": 3.25 } })
    );
    let found = piped.data("read", "search_books", json!({ "query": "engines", "fields": ["id"] }));
    let mut ids = each(&found["items"], "id");
    ids.sort_by_key(Value::as_i64);
    assert_eq!(ids, [1, 3]);
    let book = piped.data("read", "get_book", json!({ "id": 2 }));
    assert_eq!((&book["title"], &book["state"], &book["about"]), (&json!("Letters"), &json!("new"), &json!({})));
    assert_eq!(piped.error("read", "get_book", json!({ "id": 99 }))["code"], "NOT_FOUND_RESOURCE");

    // Page by page, each row once.
    let (mut seen, mut page) = (Vec::new(), json!({ "first": 2, "sort": { "field": "title" } }));
    loop {
        let data = piped.data("read", "list_books", page.clone());
        seen.extend(each(&data["items"], "title"));
        if data["pageInfo"]["hasNextPage"] == false {
            break;
        }
        page["after"] = data["pageInfo"]["endCursor"].clone();
    }
    assert_eq!(seen, ["Engines of war", "Letters", "Notes on engines"]);
}

#[test]
fn rows_are_created_changed_and_deleted_in_the_file() {
    let (_folder, file, mut piped) = library();
    let direct = Connection::open(file).unwrap();
    let stored = |id: i64| -> Option<(String, f64, String)> {
        let sql = "SELECT title, price, about FROM books WHERE id = ?";
        direct.query_row(sql, [id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).ok()
    };
    let made = piped.data(
        "create",
        "create_book",
        json!({ "author_id": 2, "title": "Über Maschinen 🙂", "price": 12.75, "about": { "pages": 90, "tags": ["a"] } }),
    );
    assert_eq!((&made["id"], &made["state"]), (&json!(4), &json!("new")));
    assert_eq!(stored(4), Some(("Über Maschinen 🙂".into(), 12.75, r#"{"pages":90,"tags":["a"]}"#.into())));

    let rehearsed = piped.data("update", "update_book", json!({ "id": 4, "input": { "price": 1 }, "dry_run": true }));
    assert_eq!(rehearsed["changes"], json!({ "price": { "from": 12.75, "to": 1 } }));
    assert_eq!(stored(4).unwrap().1, 12.75);
    let change = json!({ "price": 9, "about": { "pages": 91, "tags": null } });
    let changed = piped.data("update", "update_book", json!({ "id": 4, "input": change, "if_match": made["_etag"] }));
    assert_eq!((&changed["price"], &changed["about"]), (&json!(9), &json!({ "pages": 91 })));
    assert_eq!(stored(4), Some(("Über Maschinen 🙂".into(), 9.0, r#"{"pages":91}"#.into())));
    let stale = piped.error("delete", "delete_book", json!({ "id": 4, "if_match": made["_etag"] }));
    assert_eq!(stale["code"], "CONFLICT_VERSION_MISMATCH");
    piped.data("delete", "delete_book", json!({ "id": 4 }));
    assert_eq!(stored(4), None);
}

#[test]
fn a_constraint_violation_is_reported_and_changes_nothing() {
    let (_folder, file, mut piped) = library();
    for (family, operation, params, code) in [
        ("create", "create_author", json!({ "name": "Ada" }), "CONFLICT_ALREADY_EXISTS"),
        ("create", "create_author", json!({ "born": 1 }), "VALIDATION_MISSING_PARAM"),
        ("create", "create_book", json!({ "author_id": 9, "title": "x", "price": 1 }), "CONFLICT_CONSTRAINT"),
        ("create", "create_book", json!({ "author_id": 1, "title": "x", "price": -1 }), "VALIDATION_INVALID_VALUE"),
        ("update", "update_book", json!({ "id": 1, "input": { "state": "lost" } }), "VALIDATION_INVALID_VALUE"),
        ("update", "update_book", json!({ "id": 9, "input": { "price": 1 } }), "NOT_FOUND_RESOURCE"),
        ("delete", "delete_author", json!({ "id": 1 }), "CONFLICT_CONSTRAINT"),
    ] {
        assert_eq!(piped.error(family, operation, params)["code"], code, "{operation}");
    }
    let direct = Connection::open(file).unwrap();
    let counts: (i64, i64) = direct
        .query_row("SELECT (SELECT count(*) FROM authors), (SELECT count(*) FROM books)", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    assert_eq!(counts, (2, 3));
}

#[test]
fn references_are_followed_both_ways() {
    let (_folder, _, mut piped) = library();
    let walk = |direction: &str| json!({ "root": { "element_type": "authors", "id": 1 }, "direction": direction });
    let incoming = piped.data("read", "query_relationships", walk("incoming"));
    let books: Vec<&Value> =
        incoming["relationships"].as_array().unwrap().iter().map(|one| &one["target"]["id"]).collect();
    assert_eq!(books, [1, 2]);
    assert_eq!(piped.data("read", "query_relationships", walk("outgoing"))["relationships"], json!([]));
    let from_book = json!({ "root": { "element_type": "books", "id": 3 }, "direction": "both", "depth": 2 });
    let graph = piped.data("read", "query_relationships", from_book)["graph"].clone();
    assert_eq!(graph["edges"], json!([{ "source": "books:3", "target": "authors:2", "type": "books.author_id" }]));
}

#[test]
fn a_batch_mixes_tables() {
    let (_folder, _, mut piped) = library();
    let batch = piped.call(
        "mcp_aql_read",
        json!({ "operations": [
            { "operation": "get_author", "params": { "id": 2 } },
            { "operation": "get_book", "params": { "id": 77 } },
            { "operation": "list_books", "params": { "filter": { "author_id": 2 } } },
        ] }),
    );
    assert_eq!(batch["summary"], json!({ "total": 3, "succeeded": 2, "failed": 1 }));
    assert_eq!(batch["results"][2]["result"]["data"]["items"][0]["title"], "Engines of war");
}
