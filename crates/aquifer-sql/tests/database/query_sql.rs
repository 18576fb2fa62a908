//! `query_sql`: statements that callers write (R-EXT-5). Most of this is attempts to read what is not served.

use std::time::Duration;

use aquifer_sql::{Settings, Style, TableSettings};
use serde_json::{Value, json};

use crate::needs::denying;
use crate::statements::{DENIED, INVALID, SECRET, TABLES, assert_refused, enable, rows};
use crate::support::{Backing, File, Fixture, TIMEOUT, fixtures_with};

async fn sqlite(sql: &str) -> Fixture {
    Fixture::sqlite_with(&format!("{TABLES}{sql}"), enable).await
}

/// The search for a long phrase is one step of a statement, which nothing interrupts.
#[tokio::test]
async fn r_col_2_long_phrases_and_texts_are_refused() {
    let sqlite = "CREATE VIRTUAL TABLE notes USING fts5(body); INSERT INTO notes VALUES ('a a b');";
    let postgres = "CREATE TABLE notes (id integer PRIMARY KEY, body text); INSERT INTO notes VALUES (1, 'a a b');";
    for fixture in fixtures_with(sqlite, postgres, |_| {}).await {
        for words in [65, 40_000] {
            let query = format!("\"{}\"", vec!["a"; words].join(" "));
            fixture.call_err("search_notes", json!({ "query": query }), INVALID).await;
        }
        let word = json!({ "query": "a".repeat(20_000) });
        fixture.call_err("search_notes", word, INVALID).await;
        let phrase = format!("\"{}\"", vec!["a"; 64].join(" "));
        assert_eq!(fixture.call_ok("search_notes", json!({ "query": phrase })).await["items"], json!([]));
        let found = fixture.call_ok("search_notes", json!({ "query": "\"a b\" c" })).await;
        assert_eq!(found["items"].as_array().unwrap().len(), 1, "{found}");
    }
}

#[tokio::test]
async fn r_ext_5_it_is_off_unless_the_source_allows_it() {
    for fixture in fixtures_with(TABLES, TABLES, |_| {}).await {
        assert!(!fixture.operations().contains(&"query_sql".to_owned()));
        let answer = fixture.call("query_sql", json!({ "sql": "SELECT 1" })).await;
        assert_eq!(answer["error"]["code"], "NOT_FOUND_OPERATION", "{answer}");
    }
}

/// Long texts of one letter.
const LONG: &str = "printf('%.*c', 900000, 'a')";
const LONG_OTHER: &str = "printf('%.*c', 400000, 'b')";

/// Functions that SQLite does not interrupt, with arguments on which its own take minutes.
#[tokio::test]
async fn r_ext_5_functions_take_time_proportional_to_their_arguments() {
    let fixture = Fixture::sqlite_with(TABLES, |settings| {
        enable(settings);
        settings.timeout = TIMEOUT;
    })
    .await;
    for (sql, expected) in [
        (format!("SELECT length(trim({LONG}, {LONG_OTHER} || 'a'))"), json!([[0]])),
        (format!("SELECT length(ltrim({LONG} || 'c', {LONG_OTHER} || 'a'))"), json!([[1]])),
        (format!("SELECT length(replace({LONG}, substr({LONG}, 1, 400000) || 'b', 'c'))"), json!([[900_000]])),
        (format!("SELECT instr({LONG}, substr({LONG}, 1, 400000) || 'b')"), json!([[0]])),
    ] {
        assert_eq!(rows(&fixture, &sql, json!([])).await, expected, "{sql}");
    }
}

/// Ways to a hidden column, an excluded table, the catalog, files and changes.
#[tokio::test]
async fn r_ext_5_nothing_is_read_that_is_not_served() {
    let more = "
        CREATE TABLE counted (id INTEGER PRIMARY KEY AUTOINCREMENT, n INTEGER); INSERT INTO counted (n) VALUES (1);
        CREATE TABLE plain (n INTEGER); INSERT INTO plain VALUES (7);
        CREATE VIRTUAL TABLE notes USING fts5(title, body); INSERT INTO notes VALUES ('a', 'hunterzz');
        CREATE VIRTUAL TABLE old_notes USING fts4(title, hushword); INSERT INTO old_notes VALUES ('a', 'hunterzz');
        CREATE TABLE \"odd name\" (id INTEGER PRIMARY KEY, content TEXT); INSERT INTO \"odd name\" VALUES (1, 'hunterzz');
        CREATE TABLE json_tree (id INTEGER PRIMARY KEY, content TEXT); INSERT INTO json_tree VALUES (1, 'hunterzz');
        ANALYZE;";
    let fixture = Fixture::sqlite_with(&format!("{TABLES}{more}"), |settings| {
        enable(settings);
        settings.exclude.extend(["notes", "odd name", "json_tree"].map(str::to_owned));
        let hidden = TableSettings { hide: vec!["hushword".to_owned()], ..TableSettings::default() };
        settings.tables.insert("old_notes".to_owned(), hidden);
    })
    .await;
    let attempts = [
        // The hidden column by name.
        ("SELECT hushword FROM people", INVALID),
        ("SELECT p.hushword FROM people AS p", INVALID),
        ("SELECT \"hushword\" FROM people", INVALID),
        ("SELECT [hushword] FROM people", INVALID),
        ("SELECT `people`.`hushword` FROM people", INVALID),
        ("SELECT HushWord FROM People", INVALID),
        ("SELECT id FROM people WHERE hushword = 'x'", INVALID),
        ("SELECT id FROM people ORDER BY hushword", INVALID),
        ("SELECT count(*) FROM people GROUP BY hushword", INVALID),
        ("SELECT id FROM people GROUP BY id HAVING max(hushword) > 'h'", INVALID),
        ("SELECT (SELECT hushword FROM people WHERE id = v.person_id) FROM visits v", INVALID),
        ("SELECT 1 WHERE EXISTS (SELECT 1 FROM people WHERE hushword LIKE 'h%')", INVALID),
        ("SELECT sum(length(hushword)) OVER (ORDER BY id) FROM people", INVALID),
        ("WITH p AS (SELECT hushword AS h FROM people) SELECT h FROM p", INVALID),
        ("SELECT id FROM visits UNION ALL SELECT hushword FROM people", INVALID),
        ("SELECT v.id FROM visits v JOIN people p ON p.hushword = v.place", INVALID),
        ("SELECT json_object('h', hushword) FROM people", INVALID),
        ("SELECT value FROM people, json_each(hushword)", INVALID),
        ("SELECT group_concat(hushword) FROM people", INVALID),
        ("VALUES ((SELECT hushword FROM people LIMIT 1))", INVALID),
        // By joins that compare columns of the same name: SQLite's authorizer does not see these.
        ("SELECT 1 FROM people JOIN (SELECT 'x' AS hushword) USING (hushword)", INVALID),
        // The table itself, which has the column.
        ("SELECT hushword FROM main.people", DENIED),
        ("SELECT main.people.hushword FROM main.people", DENIED),
        ("SELECT * FROM \"main\".people", DENIED),
        ("SELECT * FROM [main] . people", DENIED),
        ("SELECT * FROM 'main'.people", DENIED),
        ("SELECT * FROM main/**/.people", DENIED),
        ("SELECT * FROM temp.people", DENIED),
        // An expression with the name of a view: SQLite reports it as the accessor.
        ("WITH people AS (SELECT hushword FROM main.people) SELECT * FROM people", DENIED),
        ("WITH grown AS (SELECT hushword FROM people) SELECT * FROM grown", INVALID),
        ("SELECT hushword FROM grown", INVALID),
        // Row numbers are not columns of a view.
        ("SELECT rowid, * FROM people", INVALID),
        ("SELECT _rowid_ FROM people", INVALID),
        ("SELECT oid FROM people", INVALID),
        // The excluded table.
        ("SELECT content FROM vault", INVALID),
        ("SELECT * FROM VAULT", INVALID),
        ("SELECT * FROM \"vault\"", INVALID),
        ("SELECT * FROM 'vault'", DENIED),
        ("SELECT * FROM [vault]", INVALID),
        ("SELECT * FROM `vault` v", INVALID),
        ("SELECT count(*) FROM vault", INVALID),
        ("SELECT 1 FROM vault NATURAL JOIN (SELECT 'hunter' AS content)", INVALID),
        ("SELECT 1 WHERE 1 IN vault", INVALID),
        ("WITH x AS (SELECT * FROM vault) SELECT * FROM x", INVALID),
        ("WITH vault AS (SELECT * FROM vault) SELECT * FROM vault", INVALID),
        ("SELECT (SELECT content FROM/* */vault)", INVALID),
        ("SELECT * FROM--\nvault", INVALID),
        ("SELECT * FROM \u{feff}vault", INVALID),
        ("SELECT * FROM\u{a0}vault", INVALID),
        ("SELECT * FROM \"odd name\"", INVALID),
        // SQLite's own tables and pragmas.
        ("SELECT sql FROM sqlite_schema", DENIED),
        ("SELECT sql FROM sqlite_master", DENIED),
        ("SELECT sql FROM SQLITE_MASTER", DENIED),
        ("SELECT sql FROM main.sqlite_master", DENIED),
        ("SELECT sql FROM sqlite_temp_master", DENIED),
        ("SELECT * FROM 'sqlite_master'", DENIED),
        ("SELECT * FROM sqlite_sequence", DENIED),
        ("SELECT * FROM sqlite_stat1", DENIED),
        ("SELECT * FROM sqlite_stat4", DENIED),
        ("SELECT * FROM dbstat", INVALID),
        ("SELECT * FROM pragma_table_info('people')", DENIED),
        ("SELECT * FROM pragma_table_list", DENIED),
        ("SELECT * FROM pragma_database_list()", DENIED),
        ("SELECT * FROM notes", INVALID),
        ("SELECT * FROM notes_content", INVALID),
        ("SELECT * FROM old_notes_content", INVALID),
        ("SELECT * FROM old_notes_segments", INVALID),
        ("SELECT title FROM old_notes WHERE title MATCH 'hushword:hunter*'", DENIED),
        ("SELECT title FROM old_notes WHERE old_notes MATCH 'hunter*'", DENIED),
        ("SELECT title FROM old_notes('hunter*')", INVALID),
        ("SELECT snippet(old_notes) FROM old_notes", DENIED),
        ("SELECT * FROM fts3tokenize", INVALID),
        ("SELECT * FROM json_tree", INVALID),
        // Functions that do more than compute, and ours.
        ("SELECT load_extension('x')", DENIED),
        ("SELECT readfile('/etc/passwd')", INVALID),
        ("SELECT writefile('x', 'y')", INVALID),
        ("SELECT fts3_tokenizer('simple')", DENIED),
        ("SELECT sqlite_version()", DENIED),
        ("SELECT sqlite_compileoption_get(1)", DENIED),
        ("SELECT last_insert_rowid()", DENIED),
        ("SELECT changes()", DENIED),
        ("SELECT aquifer_version(1)", DENIED),
        ("SELECT \"load_extension\"('x')", DENIED),
        // Anything but a SELECT.
        ("", INVALID),
        ("   ;  ", INVALID),
        ("-- nothing", INVALID),
        ("ATTACH '/tmp/other.db' AS other", INVALID),
        ("PRAGMA query_only = 0", INVALID),
        ("EXPLAIN SELECT * FROM vault", INVALID),
        ("CREATE TABLE x (id)", INVALID),
        ("CREATE TEMP VIEW vault AS SELECT 1", INVALID),
        ("INSERT INTO plain VALUES (1)", INVALID),
        ("UPDATE plain SET n = 8", INVALID),
        ("DELETE FROM plain", INVALID),
        ("REPLACE INTO plain VALUES (1)", INVALID),
        ("VACUUM", INVALID),
        ("BEGIN", INVALID),
        ("WITH x AS (SELECT 1) DELETE FROM plain", INVALID),
        ("WITH x AS (SELECT 1) INSERT INTO plain SELECT 1", INVALID),
        ("WITH x AS (SELECT 1) UPDATE plain SET n = 1 RETURNING n", INVALID),
        ("WITH x AS (SELECT 1) REPLACE INTO plain SELECT 1", DENIED),
        // Several statements.
        ("SELECT 1; SELECT 2", INVALID),
        ("SELECT 1; DROP TABLE plain", INVALID),
        ("SELECT 1;; DROP TABLE plain;", INVALID),
        ("SELECT 1 /* ; */; DROP TABLE plain -- ;", INVALID),
        // What cannot be told apart.
        ("SELECT 'open", INVALID),
        ("SELECT \"open", INVALID),
        ("SELECT /* open", INVALID),
        ("SELECT (1", INVALID),
        ("SELECT 1)", INVALID),
        ("SELECT 1 FROM people WHERE id = :id", INVALID),
        ("SELECT @x", INVALID),
        ("SELECT $name", INVALID),
        ("SELECT 1from people", INVALID),
        ("SELECT 'a'\u{1}", INVALID),
    ];
    for (sql, code) in attempts {
        assert_refused(&fixture, sql, code).await;
    }
    assert_eq!(fixture.value("SELECT sum(n) FROM plain").await, "7");
    // An answer, but one in which the hidden column does not exist.
    for sql in [
        "SELECT * FROM people",
        "SELECT p.* FROM people p, grown",
        "SELECT 1 FROM people NATURAL JOIN (SELECT 'hunterzz' AS hushword) WHERE 1 = 0",
        "SELECT json_group_array(name) FROM grown",
        "SELECT 1 WHERE (1, 'Ann', 30) IN people",
        "TABLE people",
    ] {
        let answer = fixture.call("query_sql", json!({ "sql": sql })).await;
        assert!(!answer.to_string().contains(SECRET) || sql.contains(SECRET), "{sql}: {answer}");
    }
    // Had the join compared the column, two rows would be left of the nine.
    let joined = "SELECT count(*) FROM people NATURAL JOIN (SELECT 'hunterzz' AS hushword)";
    assert_eq!(rows(&fixture, joined, json!([])).await, json!([[3]]));
    let star = fixture.call_ok("query_sql", json!({ "sql": "SELECT * FROM people WHERE id = 1" })).await;
    assert_eq!(star, json!({ "columns": ["id", "name", "age"], "rows": [[1, "Ann", 30]] }));
    assert_eq!(rows(&fixture, "SELECT name FROM grown ORDER BY id", json!([])).await, json!([["Ann"], ["Bob"]]));
}

/// Rules about lists hold for the tables that a statement names, in every spelling.
#[tokio::test]
async fn r_ext_6_a_statement_needs_permission_for_the_tables_it_reads() {
    for (style, always) in [(Style::Tables, false), (Style::Generic, false), (Style::Tables, true)] {
        let file = File::create(&format!("{TABLES} CREATE VIEW trips AS SELECT id, place FROM visits;"));
        let mut settings = Settings { style, ..file.settings() };
        enable(&mut settings);
        let fixture = denying(settings, Backing::File(file), &["list_visits"], always).await;
        for sql in [
            "SELECT * FROM visits",
            "SELECT * FROM VISITS",
            "SELECT * FROM \"visits\" v",
            "SELECT * FROM [visits]",
            "SELECT * FROM 'visits'",
            "SELECT * FROM/**/visits",
            "SELECT count(*) FROM visits",
            "SELECT name FROM people WHERE id IN (SELECT person_id FROM visits)",
            "SELECT name FROM people p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.person_id = p.id)",
            "WITH v AS (SELECT * FROM visits) SELECT count(*) FROM v",
            "SELECT id FROM people UNION SELECT id FROM visits",
            "SELECT 1 WHERE 1 IN visits",
            "VALUES ((SELECT place FROM visits LIMIT 1))",
        ] {
            let answer = fixture.call("query_sql", json!({ "sql": sql })).await;
            assert_eq!(answer["error"]["code"], DENIED, "{sql}: {answer}");
            assert!(!answer.to_string().contains("Rome"), "{sql}: {answer}");
        }
        // A mistake does not suggest the table where nobody may see it.
        let answer = fixture.call("query_sql", json!({ "sql": "SELECT * FROM visit" })).await;
        assert_eq!(answer["error"]["code"], INVALID, "{answer}");
        assert_eq!(answer.to_string().contains("visits"), !always, "{answer}");
        assert_eq!(rows(&fixture, "SELECT count(*) FROM people", json!([])).await, json!([[3]]));
        // A view has rules of its own.
        assert_eq!(rows(&fixture, "SELECT count(*) FROM trips", json!([])).await, json!([[3]]));
    }
    let file = File::create(TABLES);
    let mut settings = file.settings();
    enable(&mut settings);
    let fixture = denying(settings, Backing::File(file), &["query_sql"], false).await;
    assert_refused(&fixture, "SELECT 1", DENIED).await;
}

/// The overview and the signature mention it, with the names that SQL uses.
#[tokio::test]
async fn r_ext_5_overviews_say_how_to_call_it() {
    let fixture = sqlite("CREATE TABLE \"Order Details\" (id INTEGER PRIMARY KEY, \"Unit Price\" REAL);").await;
    let overview = fixture.call_ok("introspect", json!({ "query": "schema" })).await.to_string();
    assert!(overview.contains("query_sql: {sql, params} runs one SELECT"), "{overview}");
    assert!(overview.contains(r#"order_details =\"Order Details\""#), "{overview}");
    assert!(overview.contains(r#"unit_price =\"Unit Price\" number"#), "{overview}");
    let signature = fixture.call_ok("introspect", json!({ "query": "signatures", "names": ["query_sql"] })).await;
    assert!(signature.to_string().contains("query_sql(sql: string"), "{signature}");
    let details = fixture.details("query_sql").await;
    assert_eq!(details["permissions"], json!({ "readOnly": true, "destructive": false }), "{details}");
    for example in details["examples"].as_array().unwrap() {
        fixture.call_ok("query_sql", example["request"]["params"].clone()).await;
    }
    let plain = Fixture::sqlite(TABLES).await;
    let overview = plain.call_ok("introspect", json!({ "query": "schema" })).await.to_string();
    assert!(!overview.contains("query_sql"), "{overview}");
}

/// A table that appears is not read before it was reflected, and not by callers who may not read it.
#[tokio::test]
async fn r_ext_5_a_changed_schema_is_read_again_first() {
    let fixture = sqlite("").await;
    assert_eq!(rows(&fixture, "SELECT count(*) FROM people", json!([])).await, json!([[3]]));
    fixture.run_sql("ALTER TABLE people ADD COLUMN api_token TEXT DEFAULT 'hunterzz'").await;
    let answer = fixture.call("query_sql", json!({ "sql": "SELECT * FROM people" })).await;
    assert_eq!(answer["error"]["details"]["schema_changed"], json!(true), "{answer}");
    let again = fixture.call_ok("query_sql", json!({ "sql": "SELECT * FROM people LIMIT 1" })).await;
    assert_eq!(again["columns"], json!(["id", "name", "age"]), "{again}");
    fixture.run_sql("DROP TABLE vault; CREATE TABLE vault (id INTEGER PRIMARY KEY, content TEXT, more TEXT)").await;
    assert_eq!(fixture.call("query_sql", json!({ "sql": "SELECT * FROM vault" })).await["success"], json!(false));
    assert_refused(&fixture, "SELECT * FROM vault", INVALID).await;
}

#[tokio::test]
async fn r_ext_5_statements_are_answered_as_the_database_does() {
    let more = "
        CREATE VIEW vaulted AS SELECT count(*) AS n FROM vault;
        CREATE TABLE kinds (id INTEGER PRIMARY KEY, done BOOLEAN, at DATETIME, doc JSON, raw BLOB, big INTEGER);
        INSERT INTO kinds VALUES (1, 1, '2026-01-31 12:00:00', '{\"a\":[1]}', x'00ff', 9007199254740993);";
    let fixture = sqlite(more).await;
    for (sql, params, expected) in [
        ("SELECT 1", json!([]), json!([[1]])),
        ("SELECT 1;", json!([]), json!([[1]])),
        (" /* first */ select -- one\n 1 ; ", json!([]), json!([[1]])),
        ("VALUES (1, 'a'), (2, NULL)", json!([]), json!([[1, "a"], [2, null]])),
        (
            "SELECT place, count(*) FROM visits GROUP BY place ORDER BY 2 DESC",
            json!([]),
            json!([["Rome", 2], ["Oslo", 1]]),
        ),
        (
            "SELECT p.name, (SELECT count(*) FROM visits v WHERE v.person_id = p.id) FROM people p ORDER BY p.id",
            json!([]),
            json!([["Ann", 2], ["Bob", 1], ["O'Hara", 0]]),
        ),
        (
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4) SELECT sum(i) FROM n",
            json!([]),
            json!([[10]]),
        ),
        (
            "SELECT name, row_number() OVER (ORDER BY age DESC NULLS LAST) FROM people ORDER BY 2",
            json!([]),
            json!([["Bob", 1], ["Ann", 2], ["O'Hara", 3]]),
        ),
        ("WITH n(i) AS (VALUES (1), (2)) SELECT count(*) FROM n", json!([]), json!([[2]])),
        ("SELECT count(*) FROM json_each('[1,2]')", json!([]), json!([[2]])),
        ("SELECT n FROM vaulted", json!([]), json!([[1]])),
        ("SELECT value FROM json_each('[1,2]')", json!([]), json!([[1], [2]])),
        ("SELECT id FROM people WHERE name = ?", json!(["O'Hara"]), json!([[3]])),
        ("SELECT id FROM people WHERE name = $1 OR id = $2 ORDER BY id", json!(["Ann", 2]), json!([[1], [2]])),
        ("SELECT $2, $1, $2", json!(["a", "b"]), json!([["b", "a", "b"]])),
        ("SELECT ?2, ?1", json!(["a", "b"]), json!([["b", "a"]])),
        (
            "SELECT ?, ?, ?, ?",
            json!([null, true, 1.5, "it's \"x\" -- ; $1"]),
            json!([[null, 1, 1.5, "it's \"x\" -- ; $1"]]),
        ),
        (
            "SELECT ?, ?",
            json!([9_007_199_254_740_993_i64, i64::MIN]),
            json!([["9007199254740993", "-9223372036854775808"]]),
        ),
        ("SELECT typeof(?), typeof(?), typeof(?)", json!([1, 1.0, "1"]), json!([["integer", "real", "text"]])),
        ("SELECT value FROM json_each(?)", json!([[1, "x"]]), json!([[1], ["x"]])),
        ("SELECT 9e999, -9e999, 1e308", json!([]), json!([["Infinity", "-Infinity", 1e308]])),
        (
            "SELECT * FROM kinds",
            json!([]),
            json!([[1, true, "2026-01-31T12:00:00Z", { "a": [1] }, "AP8=", "9007199254740993"]]),
        ),
        ("SELECT done + 0, substr(at, 1, 4), doc ->> '$.a[0]' FROM kinds", json!([]), json!([[1, "2026", 1]])),
        ("SELECT done FROM kinds UNION SELECT 5", json!([]), json!([[1], [5]])),
        ("SELECT \"name\" AS \"select\", [age] FROM `people` WHERE id = 1", json!([]), json!([["Ann", 30]])),
        ("SELECT id FROM people WHERE name = 'it''s' OR name = '--' OR id = 1", json!([]), json!([[1]])),
        ("SELECT count(*) FROM people a, people b, visits c", json!([]), json!([[27]])),
        (
            "SELECT p.id, v.id FROM people p JOIN visits v ON v.person_id = p.id ORDER BY 2",
            json!([]),
            json!([[1, 1], [1, 2], [2, 3]]),
        ),
    ] {
        assert_eq!(rows(&fixture, sql, params.clone()).await, expected, "{sql} {params}");
    }
    let answer =
        fixture.call_ok("query_sql", json!({ "sql": "SELECT id, id, 1 + 1, name AS \"Näme\" FROM people" })).await;
    assert_eq!(answer["columns"], json!(["id", "id", "1 + 1", "Näme"]));
}

#[tokio::test]
async fn r_ext_5_mistakes_are_explained() {
    let fixture = sqlite("").await;
    let too_large: Value = serde_json::from_str("18446744073709551615").unwrap();
    for (sql, params, words, position) in [
        ("SELECT name FORM people", json!([]), "syntax error near 'people' (character 18)", Some(18)),
        ("SELECT id, FROM people", json!([]), "syntax error near 'FROM' (character 12)", Some(12)),
        ("SELECT id FROM people WHERE", json!([]), "it ends too early", None),
        ("SELECT nmae FROM people", json!([]), "Did you mean 'name'?", None),
        ("SELECT \"nmae\" FROM people", json!([]), "Did you mean 'name'?", None),
        ("SELECT * FROM peeple", json!([]), "Did you mean 'people'?", None),
        ("SELECT 1; SELECT 2", json!([]), "more than one statement", Some(9)),
        ("DROP TABLE people", json!([]), "is not a SELECT", Some(1)),
        ("SELECT no_such_thing(1)", json!([]), "is not valid", None),
        ("SELECT ?", json!([]), "has 0 values, but the statement has 1 parameter.", None),
        ("SELECT ?", json!([1, 2]), "has 2 values, but the statement has 1 parameter.", None),
        ("SELECT 1", json!([1]), "has 1 value, but the statement has 0 parameters.", None),
        ("SELECT $3", json!([1, 2]), "has 2 values, but the statement has 3 parameters.", None),
        ("SELECT ?, $1", json!([1]), "Use either '?' or '$1'", None),
        ("SELECT $0", json!([]), "beyond 1 to 500", None),
        ("SELECT ?", json!([too_large]), "beyond 64 bits", None),
    ] {
        let error = fixture.call_err("query_sql", json!({ "sql": sql, "params": params }), INVALID).await;
        assert!(error["message"].as_str().unwrap().contains(words), "{sql}: {error}");
        if let Some(position) = position {
            assert_eq!(error["details"]["position"], json!(position), "{sql}: {error}");
        }
    }
    let error = fixture.call_err("query_sql", json!({ "sql": "SELECT abs(1, 2)" }), INVALID).await;
    assert!(error["details"]["upstream_error"].as_str().unwrap().contains("wrong number of arguments"), "{error}");
}

#[tokio::test]
async fn r_ext_5_rows_bytes_and_time_are_limited() {
    let fixture = Fixture::sqlite_with(TABLES, |settings| {
        enable(settings);
        settings.timeout = Duration::from_millis(300);
        settings.pages.max_size = 10;
        settings.pages.max_bytes = 5_000;
    })
    .await;
    let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";
    let answer = fixture.call("query_sql", json!({ "sql": format!("{numbers} SELECT i FROM n") })).await;
    assert_eq!(answer["data"]["rows"].as_array().unwrap().len(), 10, "{answer}");
    assert!(answer["data"]["truncated"].as_str().unwrap().contains("first 10 rows"), "{answer}");
    assert_eq!(answer["warnings"][0]["code"], "RESULT_TRUNCATED", "{answer}");
    let text = answer["data"].to_string();
    assert!(text.find("truncated") < text.find("\"rows\""), "said before the rows: {text}");
    let exact = fixture.call("query_sql", json!({ "sql": format!("{numbers} SELECT i FROM n LIMIT 10") })).await;
    assert_eq!(exact["data"].get("truncated"), None, "{exact}");
    let wide = format!("{numbers} SELECT printf('%.*c', 1000, 'x') FROM n");
    let answer = fixture.call("query_sql", json!({ "sql": wide })).await;
    assert_eq!(answer["data"]["rows"].as_array().unwrap().len(), 4, "{answer}");
    assert!(answer["data"]["truncated"].as_str().unwrap().contains("5000 bytes"), "{answer}");
    for (sql, code) in [
        (format!("{numbers} SELECT count(*) FROM n"), "UPSTREAM_TIMEOUT"),
        (format!("{numbers} SELECT max(i) OVER () FROM n"), "UPSTREAM_TIMEOUT"),
        ("SELECT count(*) FROM people a, people b, people c, people d, people e, people f, people g, people h, people i, people j, people k, people l, people m, people n, people o, people p, people q, people r, people s".to_owned(), "UPSTREAM_TIMEOUT"),
        ("SELECT printf('%.*c', 6000, 'x')".to_owned(), INVALID),
        ("SELECT zeroblob(1000000000)".to_owned(), INVALID),
        ("SELECT length(zeroblob(1000000000))".to_owned(), INVALID),
        ("SELECT printf('%.*c', 1000000000, 'x')".to_owned(), INVALID),
        ("SELECT hex(zeroblob(900000))".to_owned(), INVALID),
        ("SELECT replace(hex(zeroblob(400000)), '0', '00000000')".to_owned(), INVALID),
        (
            format!("{numbers} SELECT length(group_concat(printf('%.*c', 9000, 'x'))) FROM (SELECT i FROM n LIMIT 200)"),
            INVALID,
        ),
        (format!("SELECT {}1{}", "abs(".repeat(2000), ")".repeat(2000)), INVALID),
        (format!("SELECT 1{}", " UNION SELECT 1".repeat(1000)), INVALID),
        (format!("SELECT '{}'", "x".repeat(20_000)), "VALIDATION_INVALID_VALUE"),
        (format!("SELECT 'a' LIKE '%{}'", "b".repeat(200)), INVALID),
        (format!("SELECT {}1", "abs(1), ".repeat(501)), DENIED),
        (format!("SELECT 1 WHERE {}1", "'a' LIKE 'b' OR ".repeat(21)), DENIED),
        ("SELECT json_patch('{}', '{}')".to_owned(), DENIED),
        (format!("SELECT instr(zeroblob(900000), zeroblob(90000) || x'01'), {LONG}"), INVALID),
    ] {
        let answer = fixture.call("query_sql", json!({ "sql": sql })).await;
        assert_eq!(answer["error"]["code"], code, "{}: {answer}", sql.chars().take(100).collect::<String>());
    }
    // The source still answers.
    assert_eq!(rows(&fixture, "SELECT count(*) FROM people", json!([])).await, json!([[3]]));
    assert_eq!(fixture.call_ok("list_people", json!({})).await["items"].as_array().unwrap().len(), 3);
}
