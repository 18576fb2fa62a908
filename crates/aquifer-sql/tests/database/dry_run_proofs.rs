//! Which dry runs on PostgreSQL are proven safe. A wrong "yes" leaves traces without a confirmation; a needless "no"
//! asks people about dry runs that change nothing.

use aquifer_engine::Source;
use aquifer_sql::Database;
use serde_json::json;

use crate::server::Server;
use crate::support::{Fixture, open};

const ALL: [bool; 3] = [true; 3];
const NONE: [bool; 3] = [false; 3];

/// Which of create, update and delete are proven for a table. A table without a key has only the first.
fn proven(database: &Database, table: &str) -> [bool; 3] {
    let operations = database.offering().operations;
    ["create", "update", "delete"].map(|verb| {
        let name = format!("{verb}_{table}");
        let found = operations.iter().find(|operation| *operation.name == *name);
        assert!(found.is_some() || verb != "create", "{name} is not there");
        found.is_some_and(|operation| operation.safety.has_safe_dry_run)
    })
}

/// Creates every table in one database, and compares what is proven. `@` stands for the table's name.
async fn assert_proven(common: &str, cases: &[(&str, [bool; 3])]) {
    let mut sql = common.to_owned();
    for (index, (made, _)) in cases.iter().enumerate() {
        sql += &made.replace('@', &format!("thing{index}x"));
    }
    let server = Server::new(&sql).await;
    let database = open(server.settings()).await.unwrap();
    for (index, (made, expected)) in cases.iter().enumerate() {
        assert_eq!(proven(&database, &format!("thing{index}x")), *expected, "{made}");
    }
}

/// A trigger with this body, for every event.
fn with_trigger(body: &str) -> String {
    declared("", body)
}

/// A trigger whose function has this body and these settings.
fn declared(settings: &str, body: &str) -> String {
    format!(
        "CREATE TABLE @ (id int PRIMARY KEY, a text, b timestamptz, n bigint);
         CREATE FUNCTION f_@() RETURNS trigger LANGUAGE plpgsql {settings} AS $body$ {body} $body$;
         CREATE TRIGGER t BEFORE INSERT OR UPDATE OR DELETE ON @ FOR EACH ROW EXECUTE FUNCTION f_@();"
    )
}

#[tokio::test]
async fn r_req_9_ordinary_tables_stay_proven() {
    let bodies = [
        "BEGIN NEW.a = now(); RETURN NEW; END",
        "\r\nBEGIN\r\n  -- don't forget\r\n  NEW.a := CURRENT_TIMESTAMP AT TIME ZONE 'utc';\r\n  RETURN NEW;\r\nEND;\r\n",
        "begin new.a := pg_catalog.clock_timestamp(); new.\"b\" = statement_timestamp(); return new; end;",
    ];
    let settings = ["SECURITY DEFINER", "SET search_path = ''", "SET search_path = evil, public"];
    let quiet = bodies.map(with_trigger).into_iter().chain(settings.map(|set| declared(set, bodies[0])));
    let quiet: Vec<String> = quiet.collect();
    let tables = [
        "CREATE TABLE @ (id serial PRIMARY KEY, price numeric(8,2) CHECK (price >= 0),
             status text NOT NULL DEFAULT 'new' CHECK (status = ANY (ARRAY['new', 'old'])), kind varchar(9) CHECK (kind IN ('a', 'b')),
             name text CHECK (char_length(name) < 10 AND name ~ '^[a-z\\d]+$'), made date DEFAULT CURRENT_DATE,
             at timestamptz NOT NULL DEFAULT now(), until timestamptz DEFAULT now() + '1 day'::interval, CHECK (until > at + interval '1 hour'),
             key uuid DEFAULT gen_random_uuid(), tags text[] DEFAULT '{}', extra jsonb DEFAULT '{}'::jsonb,
             loud text GENERATED ALWAYS AS (upper(name)) STORED, code text DEFAULT md5(random()::text));
         CREATE UNIQUE INDEX ON @ (lower(name)) WHERE status = 'new';",
        "CREATE TABLE @ (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, m mood DEFAULT 'ok', e email DEFAULT 'a@b', l email[], p place,
             CHECK (m <> 'sad'), CHECK ((p).city <> ''));",
        "CREATE TABLE @ (id int PRIMARY KEY, owner text DEFAULT CURRENT_USER, a text); ALTER TABLE @ ENABLE ROW LEVEL SECURITY;
         CREATE POLICY p ON @ USING (owner = CURRENT_USER OR owner = current_setting('app.user', true));",
        "CREATE TABLE @ (id int PRIMARY KEY, a text, n bigint DEFAULT 1 + 1);
         CREATE TRIGGER t BEFORE UPDATE ON @ FOR EACH ROW WHEN (OLD.a IS DISTINCT FROM NEW.a) EXECUTE FUNCTION touch();
         CREATE TRIGGER u BEFORE UPDATE ON @ FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION touch();",
        "CREATE TABLE @ (id int, r text, a text, PRIMARY KEY (id, r)) PARTITION BY LIST (r);
         CREATE TABLE @_a PARTITION OF @ FOR VALUES IN ('a'); CREATE TABLE @_b PARTITION OF @ DEFAULT;
         CREATE TRIGGER t BEFORE UPDATE ON @ FOR EACH ROW EXECUTE FUNCTION touch();",
    ];
    let cases: Vec<(&str, [bool; 3])> =
        quiet.iter().map(String::as_str).chain(tables).map(|made| (made, ALL)).collect();
    let common = "
        CREATE TYPE mood AS ENUM ('ok', 'sad');
        CREATE SCHEMA evil;
        CREATE DOMAIN word AS text CHECK (VALUE <> ''); CREATE DOMAIN email AS word CHECK (VALUE LIKE '%@%');
        CREATE TYPE place AS (street text, city word);
        CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.a := now(); RETURN NEW; END $$;";
    assert_proven(common, &cases).await;
}

#[tokio::test]
async fn r_req_9_unrecognized_code_is_not_proven_safe() {
    let loud = [
        // Code that only computes, but sets no time.
        "BEGIN RETURN NEW; END",
        "BEGIN NEW.a := lower(NEW.a); RETURN NEW; END",
        "BEGIN IF NEW.a IS NULL THEN NEW.b := now(); END IF; RETURN NEW; END",
        "BEGIN NEW.b := now() + interval '1 day'; RETURN NEW; END",
        // Statements next to the time.
        "BEGIN PERFORM nextval('s'); NEW.b := now(); RETURN NEW; END",
        "BEGIN NEW.b := now(); INSERT INTO log DEFAULT VALUES; RETURN NEW; END",
        "BEGIN NEW.b := now(); EXECUTE 'SELECT nextval(''s'')'; RETURN NEW; END",
        "BEGIN NEW.b := (SELECT leak()); RETURN NEW; END",
        "BEGIN NEW.b := leak(); RETURN NEW; END",
        "BEGIN NEW.b := evil.now(); RETURN NEW; END",
        "DECLARE x drawn := 'x'; BEGIN NEW.b := now(); RETURN NEW; END",
        // Text that looks like code, and code that looks like text.
        "BEGIN /* outer /* inner */ NEW.b := */ PERFORM nextval('s'); /* now(); */ RETURN NEW; END",
        "BEGIN NEW.b := U&\"n!006fw\" UESCAPE '!' (); RETURN NEW; END",
        "BEGIN -- \rPERFORM nextval('s'); --\n NEW.b := now(); RETURN NEW; END",
        "BEGIN NEW.b := n\u{43e}w(); RETURN NEW; END",
        "BEGIN NEW.b := now() AT TIME ZONE $$utc$$; RETURN NEW; END",
    ]
    .map(with_trigger);
    let tables = [
        "CREATE TABLE @ (id int PRIMARY KEY, a text, CHECK (nextval('s') > 0));",
        "CREATE TABLE @ (id int PRIMARY KEY, a text, CHECK (pg_try_advisory_lock(4711)));",
        "CREATE TABLE @ (id int PRIMARY KEY, a text, CHECK (pg_logical_emit_message(false, 'x', 'y') IS NOT NULL));",
        "CREATE TABLE @ (id int PRIMARY KEY, a int, CHECK (doubled(a) > 0));",
        "CREATE TABLE @ (id int PRIMARY KEY, a text);
         CREATE TRIGGER t BEFORE INSERT OR UPDATE OR DELETE ON @ FOR EACH ROW WHEN (nextval('s') > 0) EXECUTE FUNCTION quiet();",
        "CREATE TABLE @ (id int PRIMARY KEY, a text); ALTER TABLE @ ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON @ USING (nextval('s') > 0);",
        "CREATE TABLE @ (id int PRIMARY KEY, a text); ALTER TABLE @ ENABLE ROW LEVEL SECURITY;
         CREATE POLICY p ON @ WITH CHECK (EXISTS (SELECT 1 FROM as_xml));",
        "CREATE TABLE @ (id int PRIMARY KEY, a drawn);",
        "CREATE TABLE @ (id int PRIMARY KEY, a drawn_again);",
        "CREATE TABLE @ (id int PRIMARY KEY, a drawn_again[]);",
        "CREATE TABLE @ (id int PRIMARY KEY, a holder);",
        "CREATE TABLE @ (id int PRIMARY KEY, a text); CREATE INDEX ON @ (liar(a));",
        "CREATE TABLE @ (id int PRIMARY KEY, a text); CREATE INDEX ON @ (a) WHERE liar(a) > 0;",
        "CREATE TABLE @ (id int PRIMARY KEY, a text, g bigint GENERATED ALWAYS AS (liar(a)) STORED);",
        "CREATE TABLE @ (id int NOT NULL, a text) PARTITION BY LIST (liar(a)); CREATE TABLE @_1 PARTITION OF @ DEFAULT;",
        // Tables that are read because of references.
        "CREATE TABLE @ (id int PRIMARY KEY, guarded_id int REFERENCES guarded);",
    ];
    let mut cases: Vec<(&str, [bool; 3])> =
        loud.iter().map(String::as_str).chain(tables).map(|made| (made, NONE)).collect();
    // A row that moves to another partition is inserted there and deleted here.
    let partitioned = "CREATE TABLE @ (id int, r text, PRIMARY KEY (id, r)) PARTITION BY LIST (r);
        CREATE TABLE @_a PARTITION OF @ FOR VALUES IN ('a'); CREATE TABLE @_b PARTITION OF @ FOR VALUES IN ('b');";
    let inserted = format!("{partitioned} CREATE TRIGGER t AFTER INSERT ON @ FOR EACH ROW EXECUTE FUNCTION loud();");
    let deleted = format!("{partitioned} CREATE TRIGGER t AFTER DELETE ON @_a FOR EACH ROW EXECUTE FUNCTION loud();");
    cases.extend([(&*inserted, [false, false, true]), (&*deleted, [true, false, false])]);
    let common = "
        CREATE SEQUENCE s;
        CREATE TABLE log (id serial);
        CREATE FUNCTION doubled(int) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT 2 * $1 $$;
        CREATE SCHEMA evil;
        CREATE FUNCTION leak() RETURNS timestamptz LANGUAGE sql AS $$ SELECT nextval('s'); SELECT now() $$;
        CREATE FUNCTION liar(text) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN nextval('s'); END $$;
        CREATE FUNCTION quiet() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.a = now(); RETURN NEW; END $$;
        CREATE FUNCTION loud() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('s'); RETURN NULL; END $$;
        CREATE VIEW as_xml AS SELECT query_to_xml('select nextval(''s'')', true, true, '')::text AS x;
        CREATE TABLE guarded (id int PRIMARY KEY); ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
        CREATE POLICY p ON guarded USING (nextval('s') > 0);
        CREATE DOMAIN drawn AS text CHECK (liar(VALUE) > 0);
        CREATE DOMAIN drawn_again AS drawn;
        CREATE TYPE holder AS (a drawn_again);";
    let recognized = with_trigger("BEGIN NEW.b := now(); RETURN NEW; END");
    cases.push((&recognized, ALL));
    assert_proven(common, &cases).await;
    let range = "CREATE TABLE @ (id int PRIMARY KEY, a odd_range);";
    assert_proven("CREATE TYPE odd_range AS RANGE (SUBTYPE = int);", &[(range, NONE)]).await;
}

/// Defaults that may advance a sequence are never tried, and neither are those that call a function of the database.
#[tokio::test]
async fn r_req_9_unrecognized_defaults_are_not_tried() {
    let fixture = Fixture::postgres(
        "CREATE SEQUENCE s;
         CREATE FUNCTION drawn() RETURNS bigint LANGUAGE sql AS $$ SELECT nextval('s') $$;
         CREATE FUNCTION one() RETURNS bigint LANGUAGE sql IMMUTABLE AS $$ SELECT 1::bigint $$;
         CREATE FUNCTION checked(bigint) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('s'); RETURN true; END $$;
         CREATE DOMAIN inner_one AS bigint CHECK (checked(VALUE)); CREATE DOMAIN outer_one AS inner_one;
         CREATE TABLE a_things (id int PRIMARY KEY, n bigint DEFAULT drawn());
         CREATE TABLE b_things (id int PRIMARY KEY, n bigint DEFAULT one());
         CREATE TABLE c_things (id int PRIMARY KEY, n text DEFAULT (5::bigint)::outer_one::text);
         CREATE TABLE d_things (id int PRIMARY KEY, n text DEFAULT query_to_xml('select nextval(''s'')', true, true, '')::text);
         CREATE TABLE e_things (id int PRIMARY KEY, n bigint DEFAULT nextval('s') + nextval('s'::text));",
    )
    .await;
    for table in ["a_thing", "b_thing", "c_thing", "d_thing", "e_thing"] {
        let answer = fixture.call(&format!("create_{table}"), json!({ "id": 1, "dry_run": true })).await;
        assert_eq!(answer["warnings"][0]["code"], "DRY_RUN_NOT_TRIED", "{table}: {answer}");
        assert_eq!(fixture.value("SELECT is_called FROM s").await, "f", "{table}: {answer}");
    }
}

/// Functions of known extensions are known, too.
#[tokio::test]
async fn r_req_9_extensions_that_compute_are_known() {
    let extended = "CREATE EXTENSION citext; CREATE EXTENSION moddatetime; CREATE EXTENSION dblink;";
    assert_proven(
        extended,
        &[
            (&with_trigger("BEGIN NEW.a = now(); RETURN NEW; END"), ALL),
            (&with_trigger("BEGIN PERFORM dblink_exec('x', 'y'); RETURN NEW; END"), NONE),
            (
                "CREATE TABLE @ (id int PRIMARY KEY, a citext UNIQUE CHECK (a <> ''), at timestamptz);
                 CREATE TRIGGER t BEFORE UPDATE ON @ FOR EACH ROW EXECUTE FUNCTION moddatetime(at);",
                ALL,
            ),
            ("CREATE TABLE @ (id int PRIMARY KEY, a text CHECK (dblink_is_busy(a) = 0));", NONE),
        ],
    )
    .await;
}

/// User-defined operators and casts call functions that no text names. Expressions name all of them.
#[tokio::test]
async fn r_req_9_operators_of_the_database_are_followed() {
    let operators = "
        CREATE SEQUENCE s;
        CREATE FUNCTION draw(int, int) RETURNS int LANGUAGE sql AS $$ SELECT nextval('s')::int $$;
        CREATE FUNCTION add(int, int) RETURNS int LANGUAGE sql AS $$ SELECT $1 + $2 $$;
        CREATE OPERATOR @@@ (FUNCTION = draw, LEFTARG = int, RIGHTARG = int);"
        .replace("@@@", "<%>");
    assert_proven(
        &operators,
        &[
            ("CREATE TABLE @ (id int PRIMARY KEY, a int CHECK (a > 0));", ALL),
            ("CREATE TABLE @ (id int PRIMARY KEY, a int CHECK (a <%> 1 > 0));", NONE),
            (&with_trigger("BEGIN NEW.b := now() <%> 1; RETURN NEW; END"), NONE),
        ],
    )
    .await;
}

/// The proof is as recent as the offered tables.
#[tokio::test]
async fn r_req_9_the_proof_is_renewed_with_every_reflection() {
    let server = Server::new("CREATE TABLE things (id int PRIMARY KEY, a text);").await;
    let database = open(server.settings()).await.unwrap();
    assert_eq!(proven(&database, "thing"), ALL);
    server.run("CREATE SEQUENCE s; ALTER TABLE things ADD CHECK (nextval('s') > 0)").await;
    database.reflect().await.unwrap();
    assert_eq!(proven(&database, "thing"), NONE);
    server.run("ALTER TABLE things DROP CONSTRAINT things_check").await;
    database.reflect().await.unwrap();
    assert_eq!(proven(&database, "thing"), ALL);
}

/// Added code makes no call fail, so a dry run that relies on the proof checks whether it is still valid.
#[tokio::test]
async fn r_req_9_a_dry_run_is_refused_once_its_proof_is_outdated() {
    for change in [
        "ALTER TABLE things ADD CHECK (nextval('s') > 0)",
        "CREATE TRIGGER u BEFORE INSERT ON things FOR EACH ROW EXECUTE FUNCTION loud()",
        "CREATE OR REPLACE FUNCTION quiet() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('s'); RETURN NEW; END $$",
        "CREATE SCHEMA evil; CREATE FUNCTION evil.now() RETURNS date LANGUAGE sql AS 'SELECT NULL::date'",
        "ALTER DOMAIN word ADD CHECK (nextval('s') > 0)",
        "ALTER TABLE things ENABLE TRIGGER disabled",
        "ALTER TABLE things ENABLE ROW LEVEL SECURITY",
    ] {
        let fixture = Fixture::postgres(
            "CREATE SEQUENCE s; CREATE DOMAIN word AS text CHECK (VALUE <> '');
             CREATE TABLE things (id int PRIMARY KEY, a word);
             CREATE FUNCTION quiet() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.a = now(); RETURN NEW; END $$;
             CREATE FUNCTION loud() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('s'); RETURN NEW; END $$;
             CREATE TRIGGER t BEFORE INSERT ON things FOR EACH ROW EXECUTE FUNCTION quiet();
             CREATE TRIGGER disabled BEFORE INSERT ON things FOR EACH ROW EXECUTE FUNCTION loud();
             ALTER TABLE things DISABLE TRIGGER disabled;
             CREATE POLICY p ON things USING (nextval('s') > 0);",
        )
        .await;
        let dry_run = json!({ "id": 1, "a": "x", "dry_run": true });
        fixture.call_ok("create_thing", dry_run.clone()).await;
        // A change that does not affect the proof has no effect on callers.
        fixture.run_sql("CREATE TABLE others (id int PRIMARY KEY)").await;
        fixture.call_ok("create_thing", dry_run.clone()).await;
        fixture.run_sql(&format!("{change}; ALTER SEQUENCE s RESTART")).await;
        let error = fixture.call_err("create_thing", dry_run, "UPSTREAM_ERROR").await;
        assert_eq!(error["details"]["schema_changed"], json!(true), "{change}: {error}");
        assert_eq!(fixture.value("SELECT is_called FROM s").await, "f", "{change}");
    }
}

/// The search path decides which function a body calls, so a name that the database also defines is not recognized.
#[tokio::test]
async fn r_req_9_redefined_functions_for_the_time_are_not_recognized() {
    let common = "CREATE SEQUENCE s; CREATE SCHEMA evil;
        CREATE FUNCTION evil.now() RETURNS timestamptz LANGUAGE sql AS $$ SELECT to_timestamp(nextval('public.s')) $$;";
    let unqualified = "BEGIN NEW.b = now(); RETURN NEW; END";
    assert_proven(
        common,
        &[
            (&with_trigger(unqualified), NONE),
            (&declared("SET search_path = evil, pg_catalog", unqualified), NONE),
            (&declared("SECURITY DEFINER SET search_path = pg_catalog", unqualified), NONE),
            (&with_trigger("BEGIN NEW.b = pg_catalog.now(); RETURN NEW; END"), ALL),
            (&with_trigger("BEGIN NEW.b = clock_timestamp(); RETURN NEW; END"), ALL),
            (&with_trigger("BEGIN NEW.b = CURRENT_TIMESTAMP; RETURN NEW; END"), ALL),
        ],
    )
    .await;
}

/// A trigger function may set the search path and nothing else, and its assignments call casts of the database.
#[tokio::test]
async fn r_req_9_the_declaration_of_a_trigger_function_counts() {
    let harmless = "BEGIN NEW.b = now(); RETURN NEW; END";
    let own_type = with_trigger(harmless).replace("b timestamptz", "b made");
    let to_text = with_trigger("BEGIN NEW.a = now(); RETURN NEW; END");
    let own_cast = "CREATE TYPE made AS ENUM ('a');
        CREATE FUNCTION to_it(timestamptz) RETURNS made LANGUAGE sql AS $$ SELECT 'a'::made $$;
        CREATE CAST (timestamptz AS made) WITH FUNCTION to_it(timestamptz) AS ASSIGNMENT;
        CREATE SEQUENCE s;
        CREATE FUNCTION to_words(timestamptz) RETURNS text LANGUAGE sql AS $$ SELECT nextval('s')::text $$;
        CREATE CAST (timestamptz AS text) WITH FUNCTION to_words(timestamptz) AS ASSIGNMENT;";
    let set = ["work_mem = '1MB'", "search_path = public SET session_replication_role = replica"];
    let set = set.map(|setting| declared(&format!("SET {setting}"), harmless));
    let unset = with_trigger(harmless);
    let cases: Vec<_> = set.iter().map(|made| (made.as_str(), NONE)).chain([(unset.as_str(), ALL)]).collect();
    assert_proven("", &cases).await;
    assert_proven(own_cast, &[(&own_type, NONE), (&to_text, NONE)]).await;
}

/// User-defined casts and operators run implicitly, even in the statements of a dry run itself.
#[tokio::test]
async fn r_req_9_types_with_casts_or_operators_of_the_database_are_not_proven() {
    let common = "
        CREATE SEQUENCE s;
        CREATE TYPE as_json AS ENUM ('a', 'b'); CREATE TYPE as_text AS ENUM ('a', 'b'); CREATE TYPE compared AS ENUM ('a', 'b');
        CREATE TYPE made AS ENUM ('a', 'b'); CREATE TYPE plain AS ENUM ('a', 'b'); CREATE TYPE pair AS (x int, y int);
        CREATE DOMAIN domain_of AS as_text; CREATE TYPE holder AS (a as_text);
        CREATE FUNCTION to_it(as_json) RETURNS json LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('s'); RETURN '1'; END $$;
        CREATE FUNCTION to_it(as_text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('s'); RETURN 'a'; END $$;
        CREATE FUNCTION to_it(pair) RETURNS text LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('s'); RETURN 'a'; END $$;
        CREATE FUNCTION to_it(text) RETURNS made LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('s'); RETURN 'a'; END $$;
        CREATE FUNCTION eq(compared, compared) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('s'); RETURN true; END $$;
        CREATE CAST (as_json AS json) WITH FUNCTION to_it(as_json); CREATE CAST (as_text AS text) WITH FUNCTION to_it(as_text);
        CREATE CAST (pair AS text) WITH FUNCTION to_it(pair); CREATE CAST (text AS made) WITH FUNCTION to_it(text);
        CREATE OPERATOR = (LEFTARG = compared, RIGHTARG = compared, FUNCTION = eq);";
    assert_proven(
        common,
        &[
            ("CREATE TABLE @ (id int PRIMARY KEY, m as_json CHECK (to_jsonb(m) IS NOT NULL));", NONE),
            ("CREATE TABLE @ (id int PRIMARY KEY, a text CHECK (to_jsonb('a'::as_json) IS NOT NULL));", NONE),
            ("CREATE TABLE @ (id int PRIMARY KEY, a text CHECK (jsonb_build_array('a'::as_json) IS NOT NULL));", NONE),
            ("CREATE TABLE @ (id int PRIMARY KEY, m as_json);", NONE),
            ("CREATE TABLE @ (id int PRIMARY KEY, m as_text);", NONE),
            ("CREATE TABLE @ (id int PRIMARY KEY, m as_text[]);", NONE),
            ("CREATE TABLE @ (id int PRIMARY KEY, m domain_of);", NONE),
            ("CREATE TABLE @ (id int PRIMARY KEY, m holder);", NONE),
            ("CREATE TABLE @ (id int PRIMARY KEY, m pair);", NONE),
            ("CREATE TABLE @ (id int PRIMARY KEY, m made);", NONE),
            ("CREATE TABLE @ (m compared PRIMARY KEY, a text);", NONE),
            ("CREATE TABLE @ (id int PRIMARY KEY, m plain, n numeric(8, 2) CHECK (n > 0), at timestamptz DEFAULT now());", ALL),
        ],
    )
    .await;
    let things = "CREATE TABLE things (id int PRIMARY KEY, a text, j jsonb DEFAULT to_jsonb('a'::as_json));";
    let fixture = Fixture::postgres(&format!("{common} {things}")).await;
    let answer = fixture.call("create_thing", json!({ "id": 1, "dry_run": true })).await;
    assert_eq!(answer["warnings"][0]["code"], "DRY_RUN_NOT_TRIED", "{answer}");
    assert_eq!(fixture.value("SELECT is_called FROM s").await, "f", "{answer}");
}

/// The owner of an extension can add functions to it, which are not trusted.
#[tokio::test]
async fn r_req_9_objects_added_to_an_extension_are_not_trusted() {
    let server = Server::new("CREATE EXTENSION hstore;").await;
    server
        .run(
            "CREATE SEQUENCE s;
             CREATE FUNCTION evil(text) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('s'); RETURN true; END $$;
             CREATE OPERATOR <%> (RIGHTARG = text, FUNCTION = evil); CREATE DOMAIN info AS text CHECK (evil(VALUE));
             ALTER EXTENSION hstore ADD FUNCTION evil(text); ALTER EXTENSION hstore ADD DOMAIN info;
             ALTER EXTENSION hstore ADD OPERATOR <%> (NONE, text);
             CREATE TABLE functions (id int PRIMARY KEY, a text CHECK (evil(a)));
             CREATE TABLE operators (id int PRIMARY KEY, a text CHECK (<%> a));
             CREATE TABLE domains (id int PRIMARY KEY, a info);
             CREATE TABLE plain_ones (id int PRIMARY KEY, a hstore CHECK (exist(a, 'x')));",
        )
        .await;
    let database = open(server.settings()).await.unwrap();
    for (table, expected) in [("function", NONE), ("operator", NONE), ("domain", NONE), ("plain_one", ALL)] {
        assert_eq!(proven(&database, table), expected, "{table}");
    }
}
