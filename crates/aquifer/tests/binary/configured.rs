//! Every key of `[[source]]`, seen to work.

use std::process::Output;

use serde_json::{Value, json};

use crate::sqlite::LIBRARY;
use crate::support::{Folder, StdioServer, aquifer, confirmed, text};

/// A library and what an operator says about it.
struct Desk {
    folder: Folder,
    library: String,
}

impl Desk {
    fn new() -> Self {
        let folder = Folder::new();
        let library = folder.database("library.db", LIBRARY);
        Self { folder, library }
    }

    /// A configuration with these keys for the library, and these further tables.
    fn config(&self, keys: &str) -> String {
        self.folder.file("aquifer.toml", &format!("[[source]]\ntarget = \"sqlite:{}\"\n{keys}\n", self.library))
    }

    fn run(&self, keys: &str, arguments: &[&str]) -> Output {
        aquifer().args(arguments).args(["--config", &self.config(keys)]).output().unwrap()
    }

    fn call(&self, keys: &str, operation: &str, params: Value) -> Value {
        let output = confirmed(&params, |params| self.run(keys, &["call", operation, params]));
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{keys}: {}", text(&output.stderr)))
    }

    fn data(&self, keys: &str, operation: &str, params: Value) -> Value {
        let answer = self.call(keys, operation, params);
        assert_eq!(answer["success"], true, "{keys}: {answer}");
        answer["data"].clone()
    }

    fn operations(&self, keys: &str) -> Vec<String> {
        let listed = self.data(keys, "introspect", json!({ "query": "operations" }));
        listed["operations"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    }

    fn operation(&self, keys: &str, name: &str) -> Value {
        self.data(keys, "introspect", json!({ "query": "operations", "name": name }))["operation"].clone()
    }
}

fn count(data: &Value) -> usize {
    data["items"].as_array().unwrap().len()
}

#[test]
fn which_operations_there_are() {
    let desk = Desk::new();
    let all = desk.operations("");
    for (keys, there, not_there) in [
        ("prefix = \"lib_\"", &["lib_list_books", "lib_get_author"][..], &["list_books"][..]),
        ("name = \"shelf\"", &["list_books"], &["shelf_list_books"]),
        ("include = [\"auth*\"]", &["list_authors", "create_author"], &["list_books", "query_relationships"]),
        ("exclude = [\"auth*\"]", &["list_books"], &["list_authors", "query_relationships"]),
        ("include = [\"?uthors\"]", &["list_authors"], &["list_books"]),
        ("include = [\"*\", \"!b??ks\"]", &["list_authors"], &["list_books"]),
        ("exclude = [\"????s\"]", &["list_authors"], &["list_books"]),
        ("include = [\"*\"]\nexclude = [\"books\"]", &["list_authors"], &["list_books"]),
        (
            "read_only = true",
            &["list_books", "search_books", "get_book", "query_relationships"],
            &["create_book", "update_book", "delete_book", "create_author"],
        ),
        ("query_sql = true", &["query_sql", "list_books"], &[]),
        ("query_sql = false", &["list_books"], &["query_sql"]),
        ("query_sql = true\nread_only = true\nprefix = \"lib_\"", &["lib_query_sql"], &["query_sql"]),
        ("query_sql = true\nstyle = \"generic\"", &["query_sql", "list_records"], &["list_books"]),
        ("style = \"tables\"", &["list_books"], &["list_records", "list_tables"]),
        ("style = \"auto\"", &["list_books"], &["list_records", "list_tables"]),
        (
            "style = \"generic\"",
            &["list_tables", "get_table_schema", "list_records", "create_record", "query_relationships"],
            &["list_books"],
        ),
        ("style = \"generic\"\nread_only = true", &["list_records", "get_record"], &["create_record", "delete_record"]),
        (
            "tables.books.singular = \"volume\"\ntables.books.plural = \"holdings\"",
            &["list_holdings", "search_holdings", "get_volume", "create_volume", "list_authors"],
            &["list_books", "get_book"],
        ),
    ] {
        let operations = desk.operations(keys);
        let has = |name: &&&str| operations.iter().any(|known| known == **name);
        assert!(there.iter().all(|name| has(&name)), "{keys}: {operations:?}");
        assert!(!not_there.iter().any(|name| has(&name)), "{keys}: {operations:?}");
    }
    assert!(all.iter().any(|name| name == "list_books") && !all.iter().any(|name| name == "list_records"), "{all:?}");
}

#[test]
fn a_source_is_called_by_its_name() {
    let desk = Desk::new();
    // Beside another source it prefixes what is offered.
    let beside = "name = \"shelf\"\n[[source]]\ntarget = \"tasks:\"\nname = \"desk\"\n";
    let operations = desk.operations(beside);
    for name in ["shelf_list_books", "desk_list_tasks"] {
        assert!(operations.iter().any(|known| known == name), "{operations:?}");
    }
    // Errors are reported under it.
    std::fs::remove_file(&desk.library).unwrap();
    let output = desk.run("name = \"shelf\"", &["call", "list_books"]);
    assert!(text(&output.stderr).contains("Source 'shelf' is unavailable"), "{}", text(&output.stderr));
}

#[test]
fn what_is_read_only_cannot_be_changed_under_any_name() {
    let desk = Desk::new();
    let refused = desk.call("read_only = true", "delete_book", json!({ "id": 1 }));
    assert_eq!(refused["error"]["code"], "NOT_FOUND_OPERATION");
    let config = desk.config("read_only = true");
    let mut piped = StdioServer::initialized(&["serve", "--config", &config], "2025-06-18");
    assert_eq!(piped.tools(), ["mcp_aql_read"]);
}

#[test]
fn generic_operations_do_what_those_of_the_tables_do() {
    let desk = Desk::new();
    let keys = "style = \"generic\"";
    let table = |rest: Value| {
        let mut params = json!({ "table_name": "authors" });
        params.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        params
    };
    let tables = desk.data(keys, "list_tables", json!({ "fields": ["name"] }));
    assert_eq!(tables["items"], json!([{ "name": "authors" }, { "name": "books" }]));
    let made = desk.data(keys, "create_record", table(json!({ "values": { "name": "Cy", "born": 1900 } })));
    let key = json!({ "id": made["id"] });
    desk.data(keys, "update_record", table(json!({ "key": key, "input": { "born": 1901 } })));
    assert_eq!(desk.data(keys, "get_record", table(json!({ "key": key })))["born"], 1901);
    let listed = desk.data(keys, "list_records", table(json!({ "filter": { "born": { "gt": 1900 } } })));
    assert_eq!(listed["items"][0]["name"], "Cy");
    assert_eq!(count(&desk.data(keys, "search_records", table(json!({ "query": "cy" })))), 1);
    desk.data(keys, "delete_record", table(json!({ "key": key })));
    let schema = desk.data(keys, "get_table_schema", table(json!({})));
    assert_eq!((&schema["key"], &schema["references"]), (&json!(["id"]), &json!(["books.author_id"])));
}

#[test]
fn pages_have_the_configured_size() {
    let desk = Desk::new();
    let keys = "page_size = 1\nmax_page_size = 2";
    assert_eq!(count(&desk.data("", "list_books", json!({}))), 3);
    assert_eq!(count(&desk.data(keys, "list_books", json!({}))), 1);
    let clamped = desk.call(keys, "list_books", json!({ "first": 50 }));
    assert_eq!(count(&clamped["data"]), 2);
    assert_eq!(clamped["warnings"][0]["code"], "VALIDATION_PAGE_SIZE_CLAMPED");
    let operation = desk.operation(keys, "list_books");
    let first = operation["parameters"].as_array().unwrap().iter().find(|one| one["name"] == "first").unwrap();
    assert_eq!((&first["default"], &first["description"]), (&json!(1), &json!("Items or groups, up to 2.")));
    // A page is never larger than the largest.
    assert_eq!(count(&desk.data("page_size = 3\nmax_page_size = 2", "list_books", json!({}))), 2);
}

#[test]
fn a_table_has_the_configured_description() {
    let desk = Desk::new();
    let keys = "tables.books.description = \"What stands on shelves.\"";
    for name in ["list_books", "get_book", "create_book"] {
        let description = desk.operation(keys, name)["description"].to_string();
        assert!(description.contains("What stands on shelves."), "{name}: {description}");
    }
    let author = desk.operation(keys, "get_author")["description"].to_string();
    assert!(!author.contains("shelves"), "{author}");
}

#[test]
fn a_hidden_column_is_nowhere() {
    let desk = Desk::new();
    let hide = "tables.authors.hide = [\"born\"]\ntables.authors.presets.all = [\"name\"]";
    let generic = &format!("style = \"generic\"\n{hide}");
    for (keys, operation, params) in [
        (hide, "list_authors", json!({ "fields": "full" })),
        (hide, "list_authors", json!({ "preset": "all" })),
        (hide, "get_author", json!({ "id": 1 })),
        (hide, "search_authors", json!({ "query": "ada", "fields": "full" })),
        (hide, "update_author", json!({ "id": 1, "input": { "name": "Ada" } })),
        (hide, "delete_author", json!({ "id": 2, "dry_run": true })),
        (hide, "introspect", json!({ "query": "operations", "name": "create_author" })),
        (hide, "introspect", json!({ "query": "types", "name": "Author" })),
        (generic, "list_records", json!({ "table_name": "authors", "fields": "full" })),
        (generic, "get_table_schema", json!({ "table_name": "authors" })),
    ] {
        let answer = desk.call(keys, operation, params).to_string();
        assert!(!answer.contains("born") && !answer.contains("1815"), "{operation}: {answer}");
    }
    for (keys, operation, params) in [
        (hide, "list_authors", json!({ "fields": ["born"] })),
        (hide, "list_authors", json!({ "filter": { "born": 1815 } })),
        (hide, "list_authors", json!({ "sort": { "field": "born" } })),
        (hide, "list_authors", json!({ "aggregate": { "oldest": { "min": "born" } } })),
        (hide, "list_authors", json!({ "aggregate": { "by": { "group_by": "born", "count": true } } })),
        (hide, "create_author", json!({ "name": "Cy", "born": 1900 })),
        (hide, "update_author", json!({ "id": 1, "input": { "born": 1900 } })),
        (generic, "list_records", json!({ "table_name": "authors", "filter": { "born": 1815 } })),
        (generic, "create_record", json!({ "table_name": "authors", "values": { "name": "Cy", "born": 1900 } })),
    ] {
        let answer = desk.call(keys, operation, params.clone());
        assert_eq!(answer["success"], false, "{operation} {params}: {answer}");
    }
}

#[test]
fn presets_select_the_configured_fields() {
    let desk = Desk::new();
    let keys = "tables.books.presets.short = [\"id\", \"title\"]";
    for params in [json!({ "preset": "short", "first": 1 }), json!({ "fields": "short", "first": 1 })] {
        let items = desk.data(keys, "list_books", params)["items"].clone();
        assert_eq!(items, json!([{ "id": 1, "title": "Notes on engines" }]));
    }
    let got = desk.data(keys, "get_book", json!({ "id": 1, "preset": "short" }));
    assert_eq!((&got["title"], got.get("price")), (&json!("Notes on engines"), None));
    assert_eq!(desk.call("", "list_books", json!({ "preset": "short" }))["success"], false);
}

#[test]
fn computed_fields_are_selected_filtered_and_sorted() {
    let desk = Desk::new();
    let keys =
        "tables.books.computed.letters = { sql = \"length(title)\", type = \"integer\", description = \"How long\" }
        tables.books.computed.cheap = { sql = \"price < 8\", type = \"boolean\", sortable = false }
        tables.books.computed.shout = { sql = \"upper(title)\", type = \"text\", filterable = false }";
    let params = json!({
        "filter": { "_computed.letters": { "gt": 7 } }, "sort": { "field": "_computed.letters" },
        "fields": ["_computed.letters", "_computed.cheap", "_computed.shout"],
    });
    assert_eq!(
        desk.data(keys, "list_books", params)["items"],
        json!([
            { "_computed": { "letters": 14, "cheap": true, "shout": "ENGINES OF WAR" } },
            { "_computed": { "letters": 16, "cheap": false, "shout": "NOTES ON ENGINES" } },
        ])
    );
    for params in
        [json!({ "sort": { "field": "_computed.cheap" } }), json!({ "filter": { "_computed.shout": "LETTERS" } })]
    {
        assert_eq!(desk.call(keys, "list_books", params.clone())["success"], false, "{params}");
    }
    let shown = desk.operation(keys, "list_books")["computed_fields"].to_string();
    assert!(shown.contains("letters") && shown.contains("How long"), "{shown}");
}

#[test]
fn a_view_with_a_key_has_single_rows() {
    let folder = Folder::new();
    let library = folder.database(
        "library.db",
        &format!("{LIBRARY} CREATE VIEW catalogue (number, title) AS SELECT id + 100, title FROM books;"),
    );
    let desk = Desk { folder, library };
    assert!(!desk.operations("").contains(&"get_catalogue".to_owned()));
    let got = desk.data("tables.catalogue.key = [\"number\"]", "get_catalogue", json!({ "number": 102 }));
    assert_eq!(got["title"], "Letters");
}

/// A value that takes for ever to compute is given up, and the next request is answered.
#[test]
fn a_statement_has_the_configured_timeout() {
    let desk = Desk::new();
    let endless =
        "(WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers) SELECT count(*) FROM numbers)";
    let config = desk.config(&format!(
        "timeout_seconds = 1\nmax_connections = 1\ntables.books.computed.endless = {{ sql = \"{endless}\", type = \"integer\" }}"
    ));
    let mut piped = StdioServer::initialized(&["serve", "--config", &config], "2025-06-18");
    let error = piped.error("read", "list_books", json!({ "fields": ["_computed.endless"] }));
    assert_eq!(error["code"], "UPSTREAM_TIMEOUT", "{error}");
    assert_eq!(count(&piped.data("read", "list_books", json!({}))), 3);
}

#[test]
fn targets_are_read_with_the_environment() {
    let desk = Desk::new();
    let config = desk.folder.file("aquifer.toml", "[[source]]\ntarget = \"sqlite:${PLACE}/${FILE}.db\"\n");
    let run = |variables: &[(&str, &str)]| {
        aquifer()
            .args(["call", "get_book", "{\"id\":1}", "--config", &config])
            .env_remove("PLACE")
            .env_remove("FILE")
            .envs(variables.iter().copied())
            .output()
            .unwrap()
    };
    let place = desk.folder.path("");
    let output = run(&[("PLACE", &place), ("FILE", "library")]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let output = run(&[("PLACE", &place)]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("${FILE}, which is not set"), "{}", text(&output.stderr));
}

#[test]
fn what_cannot_be_meant_is_refused_at_the_start() {
    let desk = Desk::new();
    for (keys, words) in [
        ("colour = \"red\"", "unknown field `colour`"),
        ("style = \"rows\"", "unknown variant `rows`"),
        ("timeout_seconds = 0", "source 'library': timeout_seconds must be at least 1"),
        ("include = [\"b[o]*\"]", "source 'library': include: the pattern 'b[o]*' has '[' in it"),
        ("exclude = [\"\"]", "source 'library': exclude: an empty pattern"),
        ("prefix = \"Lib-\"", "is not valid"),
        ("tables.books.colour = \"red\"", "unknown field `colour`"),
        ("tables.books.computed.x = { sql = \"1\", type = \"float\" }", "unknown type 'float'. Known: text, integer"),
        ("tables.books.computed.x = { sql = \"1\" }", "missing field `type`"),
    ] {
        let output = desk.run(keys, &["serve"]);
        assert_eq!(output.status.code(), Some(2), "{keys}");
        assert!(text(&output.stderr).contains(words), "{keys}: {}", text(&output.stderr));
    }
}
