//! `query_sql` on PostgreSQL (R-EXT-5): permissions decide what is read, and the tree of a statement what is called.

use std::time::Duration;

use aquifer_sql::{Settings, TableSettings};
use serde_json::json;

use crate::needs::denying;
use crate::server::Server;
use crate::statements::{DENIED, INVALID, TABLES, assert_refused, rows};
use crate::support::{Backing, Fixture, open};

/// A role that may read everything but the hidden column and the vault.
const GRANTS: &str = "GRANT SELECT (id, name, age) ON people TO {role}; GRANT SELECT ON visits, grown TO {role};";

/// A database with these tables, and settings for a role with these grants.
async fn prepare(sql: &str, grants: &str) -> (Server, Settings) {
    let server = Server::new(&format!("{TABLES}{sql}")).await;
    let role = server.role().await;
    server.run(&format!("GRANT USAGE ON SCHEMA public TO {role}; {}", grants.replace("{role}", &role))).await;
    let mut settings = server.settings_of(&role);
    settings.query_sql = true;
    (server, settings)
}

async fn fixture(sql: &str) -> Fixture {
    let (server, settings) = prepare(sql, GRANTS).await;
    Fixture::with_settings(settings, Backing::Server(server)).await
}

/// The server resolves every call, whatever the grammar, so no spelling hides one.
#[tokio::test]
async fn r_ext_5_every_call_is_found_whatever_the_grammar() {
    let more = "
        CREATE EXTENSION dblink; CREATE EXTENSION citext;
        CREATE FUNCTION leak() RETURNS TEXT LANGUAGE sql SECURITY DEFINER AS $$ SELECT content FROM vault $$;
        CREATE FUNCTION shout(text) RETURNS text LANGUAGE sql AS $$ SELECT upper($1) $$;
        CREATE AGGREGATE leak_all(text) (SFUNC = textcat, STYPE = text);
        CREATE VIEW napping AS SELECT id, pg_sleep(0)::text AS nap FROM visits;
        CREATE VIEW shouting AS SELECT id, upper(place) AS place, now() > '2000-01-01' AS is_new FROM visits;
        CREATE TABLE notes (id INTEGER PRIMARY KEY, owner TEXT, label CITEXT);
        ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
        CREATE POLICY own ON notes USING (owner = current_setting('app.owner', true));
        INSERT INTO notes VALUES (1, 'ann', 'A');
        CREATE TABLE logs (id INTEGER PRIMARY KEY);
        ALTER TABLE logs ENABLE ROW LEVEL SECURITY;
        CREATE POLICY sleepy ON logs USING (pg_sleep(0) IS NOT NULL);";
    let grants = format!("{GRANTS} GRANT SELECT ON napping, shouting, notes, logs TO {{role}};");
    let (server, settings) = prepare(more, &grants).await;
    // As long as the role may call what is not known to be harmless, there is no query_sql, and the reason is shown.
    let database = open(settings.clone()).await.unwrap();
    let status = format!("{:?}", aquifer_engine::source::LiveSource::status(&*database));
    let revoke = status.split("To turn it on: ").nth(1).unwrap_or_else(|| panic!("{status}"));
    let revoke = revoke.split_once(" FROM PUBLIC").unwrap().0;
    assert!(revoke.contains("public.leak()") && revoke.contains("public.dblink_exec(text, text)"), "{revoke}");
    assert!(revoke.contains("public.leak_all(text)"), "{revoke}");
    assert!(revoke.contains("public.shout(text)") && !revoke.contains("citext"), "{revoke}");
    server.run(&format!("{revoke} FROM PUBLIC")).await;
    let fixture = Fixture::with_settings(settings, Backing::Server(server)).await;
    for sql in [
        "SELECT DISTINCT ON (1) leak()",
        "SELECT (0) OPERATOR(+) length(leak())",
        "SELECT DISTINCT ON (1) dblink_exec('reports', 'DELETE FROM visits')",
        "SELECT 1 FROM visits ORDER BY (1), leak()",
        "SELECT leak_all(place) FROM visits",
        "SELECT count(*) FILTER (WHERE leak() = '') OVER (ORDER BY id) FROM visits",
        "SELECT sum(paid) OVER (ORDER BY id ROWS pg_backend_pid() PRECEDING) FROM visits",
        "SELECT 1 FROM visits LIMIT pg_backend_pid()",
        "SELECT 1 FROM visits GROUP BY GROUPING SETS ((leak()), ())",
        "SELECT 1 FROM visits JOIN LATERAL leak() l(x) ON true",
        "SELECT CASE leak() WHEN '' THEN 1 END",
        "SELECT ARRAY[leak()]",
        "VALUES (leak())",
        "SELECT 1 WHERE (1, leak()) < (2, '')",
        "SELECT (SELECT leak())",
        "WITH a(b) AS (SELECT 1), leak(c) AS MATERIALIZED (SELECT pg_sleep(0)) SELECT c FROM leak",
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT 1 FROM r WHERE leak() = '') SELECT n FROM r",
        "SELECT shout(place) FROM visits",
        "SELECT 'ann'::text || pg_catalog.version()",
        "SELECT nap FROM napping",
        "SELECT id FROM logs",
        "SELECT XMLELEMENT(NAME a, leak())",
        "SELECT (ARRAY['vault']::regclass[])[1]",
        "SELECT place::regclass FROM visits",
        "SELECT pg_typeof(1)",
        "SELECT current_catalog",
        "SELECT tableoid::regclass FROM visits",
    ] {
        assert_refused(&fixture, sql, DENIED).await;
    }
    for (sql, expected) in [
        ("SELECT place, is_new FROM shouting WHERE id = 1", json!([["ROME", true]])),
        ("SELECT id FROM notes", json!([])),
        ("SELECT count(*) FROM notes WHERE label = 'a'", json!([[0]])),
        ("SELECT 'A'::citext = 'a'", json!([[true]])),
        ("SELECT id \":funcid\", 'x{' \"}) :opno 7\" FROM visits \"{FUNCEXPR\" WHERE id = 1", json!([[1, "x{"]])),
        ("SELECT 'a' COLLATE \"C\" < 'b', name::varchar(2) FROM people WHERE id = 1", json!([[true, "An"]])),
        ("SELECT DATE '2026-01-01' OVERLAPS DATE '2026-01-01' IS NULL", json!(null)),
        (
            "SELECT (DATE '2026-01-01', DATE '2026-02-01') OVERLAPS (DATE '2026-01-15', DATE '2026-03-01')",
            json!([[true]]),
        ),
        ("SELECT 'a%' LIKE 'a!%' ESCAPE '!', 'abc' SIMILAR TO 'a_c', 'a' IS NORMALIZED", json!([[true, true, true]])),
        (
            "SELECT sum(id) OVER (ORDER BY id RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM visits",
            json!([[1], [3], [5]]),
        ),
        ("SELECT TIMESTAMP '2026-01-01 00:00' AT TIME ZONE 'UTC' = '2026-01-01'::timestamptz", json!([[true]])),
        ("SELECT to_tsvector('english', 'cats') @@ to_tsquery('english', 'cat')", json!([[true]])),
    ] {
        if expected.is_null() {
            assert_refused(&fixture, sql, INVALID).await;
        } else {
            assert_eq!(rows(&fixture, sql, json!([])).await, expected, "{sql}");
        }
    }
    assert_eq!(fixture.value("SELECT count(*) FROM visits").await, "3");
    // A function that appears later closes the source until it is revoked.
    fixture
        .run_sql("CREATE FUNCTION late() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 1; EXECUTE 'x'; END $$")
        .await;
    assert_refused(&fixture, "SELECT 1", DENIED).await;
    fixture.run_sql("REVOKE EXECUTE ON FUNCTION late() FROM PUBLIC").await;
    assert_eq!(rows(&fixture, "SELECT 1", json!([])).await, json!([[1]]));
}

/// Code that no tree shows: checks of domains run while a text is parsed, and casts to JSON inside of functions.
#[tokio::test]
async fn r_ext_5_code_outside_of_statements_turns_it_off() {
    let check = "CREATE FUNCTION is_fine(text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('counter'); RETURN true; END $$;";
    let cases = [
        ("", None),
        ("CREATE DOMAIN fine AS text CHECK (VALUE ~ '^\\w+$' AND length(VALUE) < 9);", None),
        (
            "CREATE DOMAIN odd AS text CHECK (is_fine(VALUE)); REVOKE EXECUTE ON FUNCTION is_fine(text) FROM PUBLIC;",
            None,
        ),
        (
            "CREATE SCHEMA inner_code; ALTER FUNCTION is_fine(text) SET SCHEMA inner_code;
             CREATE DOMAIN odd AS text CHECK (inner_code.is_fine(VALUE));",
            Some("REVOKE EXECUTE ON FUNCTION inner_code.is_fine(text) FROM PUBLIC"),
        ),
        (
            "CREATE TYPE mood AS ENUM ('sad'); REVOKE EXECUTE ON FUNCTION is_fine(text) FROM PUBLIC;
             CREATE FUNCTION mood_json(mood) RETURNS json LANGUAGE sql AS $$ SELECT to_json(is_fine('')) $$;
             REVOKE EXECUTE ON FUNCTION mood_json(mood) FROM PUBLIC;
             CREATE CAST (mood AS json) WITH FUNCTION mood_json(mood);",
            Some("cast to JSON calls 'public.mood_json(mood)'"),
        ),
        (
            "CREATE FUNCTION on_view() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('counter'); END $$;
             CREATE EVENT TRIGGER on_tables ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION on_view();",
            None,
        ),
        (
            "CREATE FUNCTION on_view() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('counter'); END $$;
             CREATE EVENT TRIGGER on_views ON ddl_command_end WHEN TAG IN ('CREATE VIEW') EXECUTE FUNCTION on_view();",
            Some("the event trigger 'on_views', which also runs for temporary views, calls 'public.on_view()'"),
        ),
        // It changes the session for later callers, and a rollback does not undo that.
        ("CREATE EXTENSION isn;", Some("public.isn_weak(boolean)")),
    ];
    for (sql, expected) in cases {
        let check = if sql.contains("is_fine") { check } else { "" };
        let (server, settings) = prepare(&format!("CREATE SEQUENCE counter; {check}{sql}"), GRANTS).await;
        let database = open(settings.clone()).await.unwrap();
        let status = format!("{:?}", aquifer_engine::source::LiveSource::status(&*database));
        let fixture = Fixture::with_settings(settings, Backing::Server(server)).await;
        match expected {
            Some(words) => {
                assert!(status.contains(words), "{status}");
                assert!(!fixture.operations().contains(&"query_sql".to_owned()), "{sql}");
            }
            None => {
                assert_eq!(
                    rows(&fixture, "SELECT $1::int[]", json!([[1, 2]])).await,
                    json!([[[1, 2]]]),
                    "{sql}: {status}"
                );
                if sql.contains("DOMAIN odd") {
                    assert_refused(&fixture, "SELECT '{a}'::odd[]", DENIED).await;
                }
            }
        }
        assert_eq!(fixture.value("SELECT is_called FROM counter").await, "f", "{sql}");
    }
}

/// PostgreSQL calculates conditions of callers before those of a view, if they cost less. Messages about what it looks up
/// by a value of a row contain that value.
#[tokio::test]
async fn r_ext_5_messages_do_not_contain_values_of_rows() {
    let more = "CREATE TABLE notes (id INTEGER PRIMARY KEY, language TEXT, owner TEXT);
        INSERT INTO notes VALUES (1, 'hunterzz', 'bob'), (2, 'english', 'ann');
        CREATE VIEW own AS SELECT id, language FROM notes WHERE lower(btrim(ltrim(rtrim(owner)))) = 'ann';";
    let (server, settings) = prepare(more, &format!("{GRANTS} GRANT SELECT ON own TO {{role}};")).await;
    let fixture = Fixture::with_settings(settings, Backing::Server(server)).await;
    assert_eq!(rows(&fixture, "SELECT language FROM own", json!([])).await, json!([["english"]]));
    for type_name in ["regconfig", "regdictionary", "int", "jsonb", "tsquery", "jsonpath"] {
        let value = if type_name == "jsonpath" { "(language || ' (')" } else { "language" };
        let sql = format!("SELECT id FROM own WHERE {value}::{type_name} IS NOT NULL");
        if type_name == "tsquery" {
            assert_eq!(rows(&fixture, &sql, json!([])).await, json!([[2]]));
        } else {
            assert_refused(&fixture, &sql, INVALID).await;
        }
    }
}

/// What is hidden by settings only, and what only a powerful role may do, is an error at start.
#[tokio::test]
async fn r_ext_5_a_role_that_may_read_more_than_is_served_is_refused() {
    let more = "ALTER TABLE visits ADD COLUMN api_token TEXT;
        CREATE SCHEMA other; CREATE TABLE other.things (id INTEGER);
        CREATE TABLE logs (id INTEGER, at DATE, hushword TEXT) PARTITION BY RANGE (at);
        CREATE TABLE logs_old PARTITION OF logs FOR VALUES FROM ('2000-01-01') TO ('2020-01-01');";
    let server = Server::new(&format!("{TABLES}{more}")).await;
    let cases = [
        ("", "", None),
        ("GRANT SELECT ON people, vault TO {role}", "", None),
        ("GRANT SELECT ON people TO {role}", "hide", Some("column 'public.people.hushword'")),
        ("GRANT SELECT ON vault TO {role}", "exclude", Some("table 'public.vault'")),
        ("GRANT SELECT ON visits TO {role}", "", Some("column 'public.visits.api_token'")),
        (
            "GRANT USAGE ON SCHEMA other TO {role}; GRANT SELECT ON other.things TO {role}",
            "",
            Some("table 'other.things'"),
        ),
        ("GRANT pg_read_server_files TO {role}", "", Some("member of pg_read_server_files")),
        ("GRANT pg_read_all_data TO {role}", "", Some("'public.visits.api_token'")),
        // A partition can be read past the table it belongs to.
        (
            "GRANT SELECT (id, at) ON logs TO {role}; GRANT SELECT ON logs_old TO {role}",
            "",
            Some("column 'public.logs.hushword'"),
        ),
    ];
    for (grants, set, expected) in cases {
        let role = server.role().await;
        let grants = grants.replace("{role}", &role);
        let base = format!("GRANT SELECT (id, name) ON people TO {role}; GRANT SELECT (id, place) ON visits TO {role}");
        server.run(&format!("GRANT USAGE ON SCHEMA public TO {role}; {base}; {grants}")).await;
        let mut settings = server.settings_of(&role);
        settings.query_sql = true;
        if set == "exclude" {
            settings.exclude = vec!["vault".to_owned()];
        } else if set == "hide" {
            let hidden = TableSettings { hide: vec!["hushword".to_owned()], ..TableSettings::default() };
            settings.tables.insert("people".to_owned(), hidden);
        }
        match (open(settings).await, expected) {
            (Ok(_), None) => {}
            (Err(failure), Some(words)) => {
                let cause = failure.cause().unwrap_or_default();
                assert!(cause.contains(words), "{cause}");
                assert!(!failure.message().contains("hushword"), "{}", failure.message());
            }
            (opened, expected) => panic!("{grants}: {expected:?}: {:?}", opened.err()),
        }
        server.run(&format!("DROP OWNED BY {role}")).await;
    }
    let mut settings = server.settings();
    settings.query_sql = true;
    let failure = open(settings).await.err().expect("a superuser");
    assert!(failure.cause().unwrap().contains("superuser"), "{failure:?}");
}

/// Permissions that are given later are noticed by the next statement.
#[tokio::test]
async fn r_ext_5_permissions_are_checked_with_every_statement() {
    let fixture = fixture("").await;
    assert_eq!(rows(&fixture, "SELECT count(*) FROM people", json!([])).await, json!([[3]]));
    let role = fixture.value("SELECT grantee FROM information_schema.role_table_grants WHERE table_name = 'visits' AND grantee LIKE 'role%'").await;
    fixture.run_sql(&format!("GRANT SELECT ON vault TO {role}")).await;
    assert_refused(&fixture, "SELECT * FROM vault", DENIED).await;
    assert_refused(&fixture, "SELECT 1", DENIED).await;
    fixture.run_sql(&format!("REVOKE SELECT ON vault FROM {role}")).await;
    assert_eq!(rows(&fixture, "SELECT 1", json!([])).await, json!([[1]]));
}

#[tokio::test]
async fn r_ext_5_nothing_is_read_or_called_that_is_not_served() {
    let more = "
        CREATE FUNCTION leak() RETURNS TEXT LANGUAGE sql SECURITY DEFINER AS $$ SELECT content FROM vault $$;
        CREATE FUNCTION leaked(people) RETURNS TEXT LANGUAGE sql SECURITY DEFINER AS $$ SELECT content FROM vault $$;
        CREATE FUNCTION lower(visits) RETURNS TEXT LANGUAGE sql SECURITY DEFINER AS $$ SELECT content FROM vault $$;
        REVOKE EXECUTE ON FUNCTION leak(), leaked(people), lower(visits) FROM PUBLIC;
        CREATE SEQUENCE counter;
        CREATE EXTENSION IF NOT EXISTS pg_trgm;";
    let fixture = fixture(more).await;
    let attempts = [
        ("SELECT hushword FROM people", DENIED),
        ("SELECT * FROM people", DENIED),
        ("SELECT p FROM people p", DENIED),
        ("SELECT to_json(p) FROM people p", DENIED),
        ("SELECT 1 FROM people NATURAL JOIN (SELECT 'x' AS hushword) x", DENIED),
        ("SELECT 1 FROM people JOIN (SELECT 'x' AS hushword) x USING (hushword)", DENIED),
        ("SELECT id FROM people ORDER BY hushword", DENIED),
        ("SELECT * FROM vault", DENIED),
        ("SELECT count(*) FROM public.vault", DENIED),
        ("SELECT 1 WHERE EXISTS (TABLE vault)", DENIED),
        ("WITH people AS (SELECT content FROM vault) SELECT * FROM people", DENIED),
        ("SELECT relname FROM pg_class", DENIED),
        ("SELECT * FROM pg_catalog.pg_stats", DENIED),
        ("SELECT * FROM \"pg_stat_activity\"", DENIED),
        ("SELECT * FROM information_schema.tables", DENIED),
        ("SELECT * FROM U&\"\\0070g_class\"", INVALID),
        ("SELECT 'vault'::regclass", DENIED),
        ("SELECT regclass 'vault'", DENIED),
        ("SELECT CAST('vault' AS regclass)", DENIED),
        ("SELECT current_user", DENIED),
        ("SELECT session_user", DENIED),
        ("SELECT user", DENIED),
        ("SELECT version()", DENIED),
        ("SELECT current_setting('server_version')", DENIED),
        ("SELECT current_database()", DENIED),
        ("SELECT inet_server_addr()", DENIED),
        ("SELECT pg_sleep(100)", DENIED),
        ("SELECT pg_catalog.pg_sleep(100)", DENIED),
        ("SELECT \"pg_sleep\"(100)", DENIED),
        ("SELECT pg_sleep/**/(100)", DENIED),
        ("SELECT pg_sleep --\n(100)", DENIED),
        ("SELECT pg_terminate_backend(1)", DENIED),
        ("SELECT pg_advisory_lock(1)", DENIED),
        ("SELECT pg_notify('a', 'b')", DENIED),
        ("SELECT pg_read_file('/etc/passwd')", DENIED),
        ("SELECT set_config('transaction_read_only', 'off', true)", DENIED),
        ("SELECT set_config('role', 'postgres', true)", DENIED),
        ("SELECT nextval('counter')", DENIED),
        ("SELECT last_value FROM counter", DENIED),
        ("SELECT lo_import('/etc/passwd')", DENIED),
        ("SELECT lo_get(1)", DENIED),
        ("SELECT txid_current()", DENIED),
        ("SELECT dblink('host=x', 'SELECT 1')", INVALID),
        ("SELECT * FROM visits, dblink('host=x', 'SELECT 1') AS (a int)", INVALID),
        ("SELECT * FROM visits, dblink('host=x', 'SELECT 1') AS (values int)", INVALID),
        ("SELECT query_to_xml('SELECT * FROM vault', true, true, '')", DENIED),
        ("SELECT table_to_xml('vault', true, true, '')", DENIED),
        ("SELECT database_to_xml(true, true, '')", DENIED),
        ("SELECT ts_stat('SELECT content FROM vault')", DENIED),
        ("SELECT json_populate_record(null::visits, '{}')", DENIED),
        ("SELECT has_table_privilege('vault', 'SELECT')", DENIED),
        ("SELECT to_regclass('vault')", DENIED),
        ("SELECT leak()", DENIED),
        ("SELECT public.leak()", DENIED),
        ("SELECT * FROM leak()", DENIED),
        ("SELECT * FROM ROWS FROM (leak())", DENIED),
        ("SELECT p.leaked FROM people p", DENIED),
        ("SELECT (p).leaked FROM people p", DENIED),
        ("SELECT p.\"leaked\" FROM people p", DENIED),
        // A function of a name that is allowed, which the database defines too.
        ("SELECT lower(v) FROM visits v", DENIED),
        ("SELECT * FROM visits TABLESAMPLE system(50)", DENIED),
        ("SELECT xmlparse(document '<a/>')", DENIED),
        ("SELECT id INTO other FROM visits", DENIED),
        ("SELECT id FROM visits FOR UPDATE", INVALID),
        ("SELECT id FROM visits FOR SHARE", DENIED),
        ("WITH x AS (DELETE FROM visits RETURNING id) SELECT * FROM x", INVALID),
        ("WITH x AS (INSERT INTO visits VALUES (9) RETURNING id) SELECT * FROM x", INVALID),
        ("WITH x AS (SELECT 1) UPDATE visits SET paid = 0", INVALID),
        ("DELETE FROM visits", INVALID),
        ("SET ROLE postgres", INVALID),
        ("COPY vault TO STDOUT", INVALID),
        ("COPY (SELECT 1) TO PROGRAM 'id'", INVALID),
        ("DO $$ BEGIN END $$", INVALID),
        ("EXPLAIN ANALYZE SELECT 1", INVALID),
        ("TABLE visits", INVALID),
        ("CALL x()", INVALID),
        ("SELECT 1; DELETE FROM visits", INVALID),
        ("SELECT 1) AS q; DELETE FROM visits; --", INVALID),
        ("SELECT 1) AS q, (SELECT 2", INVALID),
        ("SELECT $$a$$", INVALID),
        ("SELECT $x$a$x$", INVALID),
        ("SELECT E'\\' , pg_sleep(1) --'", INVALID),
        ("SELECT e'a'", INVALID),
        ("SELECT '\\' , pg_sleep(1) --'", DENIED),
        ("SELECT U&'\\0061'", INVALID),
        ("SELECT /* /* */ pg_sleep(1) */ 1", INVALID),
        ("SELECT FROM visits", DENIED),
        ("SELECT 1 \u{feff}", INVALID),
    ];
    for (sql, code) in attempts {
        let expected = if sql.starts_with("SELECT /* /*") { "" } else { code };
        if expected.is_empty() {
            // Comments nest, so all of it is one.
            assert_eq!(rows(&fixture, sql, json!([])).await, json!([[1]]));
        } else {
            assert_refused(&fixture, sql, code).await;
        }
    }
    assert_eq!(fixture.value("SELECT count(*) FROM visits").await, "3");
    assert_eq!(fixture.value("SELECT is_called FROM counter").await, "f");
    assert_eq!(rows(&fixture, "SELECT similarity('ann', 'anne') > 0.1", json!([])).await, json!([[true]]));
    assert_eq!(rows(&fixture, "SELECT name FROM grown ORDER BY id", json!([])).await, json!([["Ann"], ["Bob"]]));
    let error = fixture.call_err("query_sql", json!({ "sql": "SELECT * FROM people" }), DENIED).await;
    assert!(error["message"].as_str().unwrap().contains("name only columns"), "{error}");
}

#[tokio::test]
async fn r_ext_5_statements_are_answered_as_the_server_does() {
    let fixture = fixture("").await;
    for (sql, params, expected) in [
        ("SELECT 1;", json!([]), json!([[1]])),
        ("SELECT -- one\n 1 /* a /* b */ */", json!([]), json!([[1]])),
        ("(SELECT 1) UNION (SELECT 2) ORDER BY 1", json!([]), json!([[1], [2]])),
        ("VALUES (1, 'a'), (2, NULL)", json!([]), json!([[1, "a"], [2, null]])),
        (
            "SELECT place, count(*) FROM visits GROUP BY place ORDER BY 2 DESC",
            json!([]),
            json!([["Rome", 2], ["Oslo", 1]]),
        ),
        (
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4), m(j) AS (SELECT i FROM n) SELECT sum(j) FROM m",
            json!([]),
            json!([[10]]),
        ),
        (
            "SELECT name, row_number() OVER (ORDER BY age DESC NULLS LAST) FROM people ORDER BY 2",
            json!([]),
            json!([["Bob", 1], ["Ann", 2], ["O'Hara", 3]]),
        ),
        ("SELECT count(*) FILTER (WHERE paid > 2) FROM visits", json!([]), json!([[1]])),
        ("SELECT n FROM generate_series(1, 3) AS g(n)", json!([]), json!([[1], [2], [3]])),
        ("SELECT x FROM (VALUES (1), (2)) v(x) WHERE x IN (2)", json!([]), json!([[2]])),
        ("SELECT id FROM people WHERE name = $1", json!(["O'Hara"]), json!([[3]])),
        ("SELECT id FROM people WHERE id = ANY($1) ORDER BY id", json!([[1, 3]]), json!([[1], [3]])),
        (
            "SELECT id FROM people WHERE name = ANY($1::text[]) ORDER BY id",
            json!([["Ann", "O'Hara", "a,\"b\\"]]),
            json!([[1], [3]]),
        ),
        (
            "SELECT $1::int, $2::boolean, $3::float8, $4::text, $5::numeric",
            json!([null, true, 1.5, "it's \"x\" -- ; $1", 12]),
            json!([[null, true, 1.5, "it's \"x\" -- ; $1", 12]]),
        ),
        (
            "SELECT $1::int8, $2::int8",
            json!([9_007_199_254_740_993_i64, i64::MIN]),
            json!([["9007199254740993", "-9223372036854775808"]]),
        ),
        ("SELECT $1::jsonb -> 'a'", json!([{ "a": [1] }]), json!([[[1]]])),
        (
            "SELECT 'NaN'::float8, '-Infinity'::float8, 1.50::numeric, 12345678901234567890::numeric",
            json!([]),
            json!([["NaN", "-Infinity", 1.5, "12345678901234567890"]]),
        ),
        (
            "SELECT DATE '2026-01-31', TIMESTAMPTZ '2026-01-31 12:00:00+01', INTERVAL '1 day', '\\x00ff'::bytea",
            json!([]),
            json!([["2026-01-31", "2026-01-31T11:00:00.000000Z", "P1D", "AP8="]]),
        ),
        ("SELECT ARRAY[1, 2], '{\"a\": 1}'::jsonb, (1, 'x')", json!([]), json!([[[1, 2], { "a": 1 }, "(1,x)"]])),
        ("SELECT id, id FROM visits WHERE '{\"a\": 1}'::jsonb ? 'a' AND id = 1", json!([]), json!([[1, 1]])),
        ("SELECT 1 OPERATOR(pg_catalog.+) 1", json!([]), json!([[2]])),
        ("SELECT id FROM visits ORDER BY id LIMIT $2 OFFSET $1", json!([1, 1]), json!([[2]])),
        ("SELECT $1 || $2, $1", json!(["it's", "\\' -- "]), json!([["it's\\' -- ", "it's"]])),
        ("SELECT v.id FROM public.visits v ORDER BY v.id DESC", json!([]), json!([[3], [2], [1]])),
    ] {
        assert_eq!(rows(&fixture, sql, params.clone()).await, expected, "{sql} {params}");
    }
}

#[tokio::test]
async fn r_ext_5_mistakes_are_explained() {
    let fixture = fixture("").await;
    for (sql, params, words) in [
        ("SELECT name FORM people", json!([]), "syntax error near 'people' (character 18)"),
        ("SELECT 'ä', id, FROM people", json!([]), "syntax error near 'FROM' (character 17)"),
        ("SELECT nmae FROM people", json!([]), "Did you mean 'name'?"),
        ("SELECT * FROM peeple", json!([]), "Did you mean 'people'?"),
        ("SELECT name, count(*) FROM people", json!([]), "is not valid near character 8"),
        ("SELECT 1 / (id - 1) FROM people", json!([]), "division by zero"),
        ("SELECT name::int FROM people", json!([]), "is not a value of the type"),
        ("SELECT $1::int", json!([]), "has 0 values, but the statement has 1 parameter."),
        ("SELECT 1", json!([1]), "has 1 value, but the statement has 0 parameters."),
        ("SELECT $1::int", json!(["x"]), "is not a value of the type"),
        ("SELECT (SELECT id FROM people)", json!([]), "more than one row"),
        ("SELECT ?", json!([1]), "syntax error"),
    ] {
        let error = fixture.call_err("query_sql", json!({ "sql": sql, "params": params }), INVALID).await;
        assert!(error["message"].as_str().unwrap().contains(words), "{sql}: {error}");
    }
}

#[tokio::test]
async fn r_ext_5_rows_bytes_and_time_are_limited() {
    let (server, mut settings) = prepare("", GRANTS).await;
    settings.timeout = Duration::from_secs(3);
    settings.pages.max_size = 10;
    settings.pages.max_bytes = 5_000;
    let fixture = Fixture::with_settings(settings, Backing::Server(server)).await;
    let answer = fixture.call("query_sql", json!({ "sql": "SELECT * FROM generate_series(1, 100)" })).await;
    assert_eq!(answer["data"]["rows"].as_array().unwrap().len(), 10, "{answer}");
    assert_eq!(answer["warnings"][0]["code"], "RESULT_TRUNCATED", "{answer}");
    let wide = "SELECT repeat('x', 1000) FROM generate_series(1, 100)";
    let answer = fixture.call("query_sql", json!({ "sql": wide })).await;
    assert_eq!(answer["data"]["rows"].as_array().unwrap().len(), 4, "{answer}");
    for (sql, code) in [
        ("SELECT count(*) FROM generate_series(1, 100000000000)", "UPSTREAM_TIMEOUT"),
        ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT count(*) FROM n", "UPSTREAM_TIMEOUT"),
        ("SELECT repeat('x', 6000)", INVALID),
        ("SELECT repeat('x', 10000000)", INVALID),
        ("SELECT repeat('x', 2000000000)", INVALID),
    ] {
        assert_refused(&fixture, sql, code).await;
    }
    assert_eq!(rows(&fixture, "SELECT count(*) FROM people", json!([])).await, json!([[3]]));
}

/// Which tables a statement reads is not known before it runs, so a rule about any of them refuses all statements.
#[tokio::test]
async fn r_ext_6_a_rule_about_any_table_refuses_statements() {
    let (server, settings) = prepare("", GRANTS).await;
    let fixture = denying(settings, Backing::Server(server), &["list_visits"], false).await;
    for sql in ["SELECT * FROM visits", "SELECT count(*) FROM people", "SELECT 1"] {
        assert_refused(&fixture, sql, DENIED).await;
    }
}

/// Names without a schema are those of the offered schemas, whatever the role's own setting is.
#[tokio::test]
async fn r_ext_5_names_are_looked_up_in_the_offered_schemas() {
    let more =
        "CREATE SCHEMA sales; CREATE TABLE sales.orders (id INTEGER PRIMARY KEY); INSERT INTO sales.orders VALUES (7);";
    let grants = format!("{GRANTS} GRANT USAGE ON SCHEMA sales TO {{role}}; GRANT SELECT ON sales.orders TO {{role}};
        ALTER ROLE {{role}} SET search_path = information_schema; ALTER ROLE {{role}} SET standard_conforming_strings = off;");
    let (server, mut settings) = prepare(more, &grants).await;
    settings.schemas = vec!["public".to_owned(), "sales".to_owned()];
    let fixture = Fixture::with_settings(settings, Backing::Server(server)).await;
    assert_eq!(rows(&fixture, "SELECT id FROM orders", json!([])).await, json!([[7]]));
    assert_eq!(rows(&fixture, "SELECT o.id FROM sales.orders o, visits LIMIT 1", json!([])).await, json!([[7]]));
    assert_refused(&fixture, "SELECT * FROM tables", INVALID).await;
    // A backslash does not escape, so this is a string and a comment.
    assert_eq!(rows(&fixture, "SELECT 'a\\' -- , '", json!([])).await, json!([["a\\"]]));
}
