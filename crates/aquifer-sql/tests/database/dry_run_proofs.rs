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
    format!(
        "CREATE TABLE @ (id int PRIMARY KEY, a text, n bigint);
         CREATE FUNCTION f_@() RETURNS trigger LANGUAGE plpgsql AS $body$ {body} $body$;
         CREATE TRIGGER t BEFORE INSERT OR UPDATE OR DELETE ON @ FOR EACH ROW EXECUTE FUNCTION f_@();"
    )
}

#[tokio::test]
async fn r_req_9_ordinary_tables_stay_proven() {
    let quiet = [
        "BEGIN NEW.a = now(); RETURN NEW; END",
        "\r\nBEGIN\r\n  -- don't forget\r\n  NEW.a := CURRENT_TIMESTAMP AT TIME ZONE 'utc';\r\n  RETURN NEW;\r\nEND;\r\n",
        "BEGIN IF TG_OP = 'UPDATE' AND NEW.a IS DISTINCT FROM OLD.a THEN NEW.n := coalesce(OLD.n, 0) + 1; END IF; RETURN NEW; END",
        "BEGIN IF NEW.a IS NULL THEN RAISE EXCEPTION 'can''t be null, % please', NEW.id USING ERRCODE = '23502'; END IF; RETURN NEW; END",
        "BEGIN PERFORM pg_notify('changed', row_to_json(NEW)::text); RETURN NEW; END",
    ]
    .map(with_trigger);
    let tables = [
        "CREATE TABLE @ (id serial PRIMARY KEY, price numeric(8,2) CHECK (price >= 0),
             status text NOT NULL DEFAULT 'new' CHECK (status = ANY (ARRAY['new', 'old'])), kind varchar(9) CHECK (kind IN ('a', 'b')),
             name text CHECK (char_length(name) < 10 AND name ~ '^[a-z\\d]+$'), made date DEFAULT CURRENT_DATE,
             at timestamptz NOT NULL DEFAULT now(), until timestamptz DEFAULT now() + '1 day'::interval, CHECK (until > at + interval '1 hour'),
             key uuid DEFAULT gen_random_uuid(), tags text[] DEFAULT '{}', extra jsonb DEFAULT '{}'::jsonb,
             loud text GENERATED ALWAYS AS (upper(name)) STORED, code text DEFAULT md5(random()::text));
         CREATE UNIQUE INDEX ON @ (lower(name)) WHERE status = 'new';",
        "CREATE TABLE @ (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, m mood DEFAULT 'ok', e email DEFAULT 'a@b', l email[], p place,
             CHECK (m <> 'sad'), CHECK ((p).city <> ''), CHECK (valid(e)));",
        "CREATE TABLE @ (id int PRIMARY KEY, owner text DEFAULT CURRENT_USER, a text); ALTER TABLE @ ENABLE ROW LEVEL SECURITY;
         CREATE POLICY p ON @ USING (owner = CURRENT_USER OR owner = current_setting('app.user', true));",
        "CREATE TABLE @ (id int PRIMARY KEY, a text, n bigint DEFAULT next_one(1));
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
        CREATE FUNCTION valid(text) RETURNS bool LANGUAGE sql IMMUTABLE AS $$ SELECT $1 LIKE '%@%' $$;
        CREATE FUNCTION next_one(n int) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN n + 1; END $$;
        CREATE DOMAIN word AS text CHECK (VALUE <> ''); CREATE DOMAIN email AS word CHECK (valid(VALUE));
        CREATE TYPE place AS (street text, city word);
        CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.a := now()::text; RETURN NEW; END $$;";
    assert_proven(common, &cases).await;
}

#[tokio::test]
async fn r_req_9_unrecognized_code_is_not_proven_safe() {
    let loud = [
        // Text that looks like code, and code that looks like text.
        "BEGIN IF NEW.a IS NULL THEN RAISE EXCEPTION $$can't be null$$; END IF; PERFORM nextval('s'); RAISE NOTICE $$it's done$$; RETURN NEW; END",
        "BEGIN /* outer /* inner */ don't */ PERFORM nextval('s'); /* ' */ RETURN NEW; END",
        "BEGIN PERFORM U&\"n!0065xtval\" UESCAPE '!' ('s'); RETURN NEW; END",
        "BEGIN -- \rPERFORM nextval('s'); --\n RETURN NEW; END",
        // Functions in column notation.
        "BEGIN NEW.n := (SELECT max(t.draw) FROM rows t); RETURN NEW; END",
        "BEGIN NEW.n := (NEW).draw; RETURN NEW; END",
        // Code behind a relation.
        "BEGIN SELECT x INTO NEW.a FROM as_xml; RETURN NEW; END",
        "BEGIN SELECT x INTO NEW.n FROM calls_stable; RETURN NEW; END",
        "BEGIN SELECT count(*) INTO NEW.n FROM guarded; RETURN NEW; END",
        "BEGIN IF EXISTS (TABLE guarded) THEN NULL; END IF; RETURN NEW; END",
        // Types with checks.
        "BEGIN NEW.a := 'x'::drawn; RETURN NEW; END",
        "DECLARE x drawn := 'x'; BEGIN RETURN NEW; END",
        // User-defined functions.
        "BEGIN NEW.n := with_default(1); RETURN NEW; END",
        "BEGIN NEW.a := NEW.a::date; RETURN NEW; END",
    ]
    .map(with_trigger);
    let tables = [
        "CREATE TABLE @ (id int PRIMARY KEY, a text, CHECK (nextval('s') > 0));",
        "CREATE TABLE @ (id int PRIMARY KEY, a text, CHECK (pg_try_advisory_lock(4711)));",
        "CREATE TABLE @ (id int PRIMARY KEY, a text, CHECK (pg_logical_emit_message(false, 'x', 'y') IS NOT NULL));",
        "CREATE TABLE @ (id int PRIMARY KEY, a text, CHECK (atomic(id)));",
        "CREATE TABLE @ (id int PRIMARY KEY, a int, CHECK (with_default(a) > 0));",
        "CREATE TABLE @ (id int PRIMARY KEY, a text, CHECK (keywords(a, a) > 0));",
        "CREATE TABLE @ (id int PRIMARY KEY, a int, CHECK (harmless(a) > 0 AND harmless(a::text) > 0));",
        "CREATE TABLE @ (id int PRIMARY KEY, a text);
         CREATE TRIGGER t BEFORE INSERT OR UPDATE OR DELETE ON @ FOR EACH ROW WHEN (nextval('s') > 0) EXECUTE FUNCTION quiet();",
        "CREATE TABLE @ (id int PRIMARY KEY, a text); ALTER TABLE @ ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON @ USING (nextval('s') > 0);",
        "CREATE TABLE @ (id int PRIMARY KEY, a text); ALTER TABLE @ ENABLE ROW LEVEL SECURITY;
         CREATE POLICY p ON @ WITH CHECK (EXISTS (SELECT 1 FROM as_xml));",
        "CREATE TABLE @ (id int PRIMARY KEY, a drawn);",
        "CREATE TABLE @ (id int PRIMARY KEY, a drawn_again);",
        "CREATE TABLE @ (id int PRIMARY KEY, a drawn_again[]);",
        "CREATE TABLE @ (id int PRIMARY KEY, a holder);",
        "CREATE TABLE @ (id int PRIMARY KEY, a odd_range);",
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
        CREATE TABLE rows (id int PRIMARY KEY);
        CREATE FUNCTION draw(rows) RETURNS bigint LANGUAGE sql AS $$ SELECT nextval('s') $$;
        CREATE FUNCTION atomic(bigint) RETURNS bool LANGUAGE sql BEGIN ATOMIC SELECT nextval('s') > 0; END;
        CREATE FUNCTION with_default(int, bigint DEFAULT nextval('s')) RETURNS int LANGUAGE sql AS $$ SELECT $1 $$;
        CREATE TABLE log (id serial);
        CREATE FUNCTION keywords(\"insert\" text, \"into\" text) RETURNS int LANGUAGE sql AS $$ INSERT INTO log SELECT 1; SELECT 1 $$;
        CREATE FUNCTION harmless(int) RETURNS bigint LANGUAGE sql AS $$ SELECT 1::bigint $$;
        CREATE FUNCTION harmless(text) RETURNS bigint LANGUAGE sql AS $$ SELECT nextval('s') $$;
        CREATE FUNCTION liar(text) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN nextval('s'); END $$;
        CREATE FUNCTION stable_one() RETURNS bigint LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN nextval('s'); END $$;
        CREATE FUNCTION quiet() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN coalesce(NEW, OLD); END $$;
        CREATE FUNCTION loud() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('s'); RETURN NULL; END $$;
        CREATE VIEW as_xml AS SELECT query_to_xml('select nextval(''s'')', true, true, '')::text AS x;
        CREATE VIEW calls_stable AS SELECT stable_one() AS x;
        CREATE TABLE guarded (id int PRIMARY KEY); ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
        CREATE POLICY p ON guarded USING (nextval('s') > 0);
        CREATE SCHEMA other; CREATE DOMAIN other.date AS text;
        CREATE DOMAIN drawn AS text CHECK (liar(VALUE) > 0);
        CREATE DOMAIN drawn_again AS drawn;
        CREATE TYPE holder AS (a drawn_again);
        CREATE TYPE odd_range AS RANGE (SUBTYPE = int);";
    assert_proven(common, &cases).await;
}

/// Defaults that may advance a sequence are never tried, whatever they look like.
#[tokio::test]
async fn r_req_9_unrecognized_defaults_are_not_tried() {
    let fixture = Fixture::postgres(
        "CREATE SEQUENCE s;
         CREATE FUNCTION atomic() RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT nextval('s'); END;
         CREATE FUNCTION twice(int) RETURNS bigint LANGUAGE sql AS $$ SELECT 1::bigint $$;
         CREATE FUNCTION twice(text) RETURNS bigint LANGUAGE sql AS $$ SELECT nextval('s') $$;
         CREATE FUNCTION more(int, bigint DEFAULT nextval('s')) RETURNS bigint LANGUAGE sql AS $$ SELECT 1::bigint $$;
         CREATE FUNCTION checked(bigint) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('s'); RETURN true; END $$;
         CREATE DOMAIN inner_one AS bigint CHECK (checked(VALUE)); CREATE DOMAIN outer_one AS inner_one;
         CREATE TABLE a_things (id int PRIMARY KEY, n bigint DEFAULT atomic());
         CREATE TABLE b_things (id int PRIMARY KEY, n bigint DEFAULT twice(1) + twice('x'::text));
         CREATE TABLE c_things (id int PRIMARY KEY, n bigint DEFAULT more(1));
         CREATE TABLE d_things (id int PRIMARY KEY, n text DEFAULT (5::bigint)::outer_one::text);
         CREATE TABLE e_things (id int PRIMARY KEY, n text DEFAULT query_to_xml('select nextval(''s'')', true, true, '')::text);
         CREATE TABLE f_things (id int PRIMARY KEY, n bigint DEFAULT nextval('s') + nextval('s'::text));",
    )
    .await;
    for table in ["a_thing", "b_thing", "c_thing", "d_thing", "e_thing", "f_thing"] {
        let answer = fixture.call(&format!("create_{table}"), json!({ "id": 1, "dry_run": true })).await;
        assert_eq!(answer["warnings"][0]["code"], "DRY_RUN_NOT_TRIED", "{table}: {answer}");
        assert_eq!(fixture.value("SELECT is_called FROM s").await, "f", "{table}: {answer}");
    }
}

/// Functions of a known extension do not make PostgreSQL's own doubtful.
#[tokio::test]
async fn r_req_9_extensions_that_compute_are_known() {
    let extended = "CREATE EXTENSION citext; CREATE EXTENSION moddatetime; CREATE EXTENSION dblink;";
    let largest =
        with_trigger("BEGIN NEW.n := (SELECT max(NEW.n)); NEW.a := replace(NEW.a, 'a', 'b'); RETURN NEW; END");
    assert_proven(
        extended,
        &[
            (&largest, ALL),
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

/// User-defined operators and casts call functions that bodies do not name. Expressions name all of them.
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
            (&with_trigger("BEGIN NEW.n := NEW.n <%> 1; RETURN NEW; END"), NONE),
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
        "ALTER DOMAIN word ADD CHECK (nextval('s') > 0)",
        "ALTER TABLE things ENABLE TRIGGER disabled",
        "ALTER TABLE things ENABLE ROW LEVEL SECURITY",
    ] {
        let fixture = Fixture::postgres(
            "CREATE SEQUENCE s; CREATE DOMAIN word AS text CHECK (VALUE <> '');
             CREATE TABLE things (id int PRIMARY KEY, a word);
             CREATE FUNCTION quiet() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
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

/// A function or type may have the name of any keyword: then the keyword is not recognized.
#[tokio::test]
async fn r_req_9_keywords_shadowed_by_functions_or_types_are_not_recognized() {
    let calls = [
        "BEGIN NEW.a := perform(NEW.a); RETURN NEW; END",
        "BEGIN PERFORM perform(NEW.a); RETURN NEW; END",
        "BEGIN NEW.a := \"perform\"(NEW.a); RETURN NEW; END",
        "BEGIN NEW.a := elsif(NEW.a); RETURN NEW; END",
        "BEGIN NEW.a := info 'x'; RETURN NEW; END",
        "BEGIN NEW.a := info -- a comment\n 'x'; RETURN NEW; END",
        "BEGIN NEW.a := log 'x'; RETURN NEW; END",
        "BEGIN NEW.a := notice '(x)'; RETURN NEW; END",
    ]
    .map(with_trigger);
    let in_path = calls.map(|made| made.replace("LANGUAGE plpgsql", "LANGUAGE plpgsql SET search_path = evil, public"));
    let deferred = "CREATE TABLE @ (id int PRIMARY KEY, a text);
        CREATE FUNCTION f_@() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM perform(NEW.a); RETURN NULL; END $$;
        CREATE CONSTRAINT TRIGGER t AFTER INSERT OR UPDATE OR DELETE ON @ DEFERRABLE INITIALLY DEFERRED
            FOR EACH ROW EXECUTE FUNCTION f_@();";
    let checked = |function: &str| {
        format!("CREATE FUNCTION f_@{function}; CREATE TABLE @ (id int PRIMARY KEY, a text CHECK (f_@(a)));")
    };
    let checks = [
        "(x text) RETURNS bool LANGUAGE sql AS $$ SELECT if(x) IS NOT NULL $$",
        "(x text) RETURNS bool LANGUAGE sql AS $$ SELECT like(x, x, 1) $$",
        "(x text) RETURNS bool LANGUAGE sql AS $$ SELECT ilike(x, x, 1) $$",
        "(odd text) RETURNS bool LANGUAGE sql AS $$ SELECT odd 'x' IS NOT NULL AND odd IS NOT NULL $$",
        "(held text) RETURNS bool LANGUAGE sql AS $$ SELECT held '(x)' IS NOT NULL $$",
    ]
    .map(checked);
    let assert_harmless = [
        checked(
            "(other text) RETURNS bool LANGUAGE sql AS $$ SELECT other <> 'c' AND other NOT BETWEEN 'a' AND 'b' $$",
        ),
        with_trigger("BEGIN NEW.a := 'x'; RAISE WARNING 'it is %', NEW.a; RETURN NEW; END"),
    ];
    let loud = in_path.iter().chain(&checks).map(|made| (made.as_str(), NONE)).chain([(deferred, NONE)]);
    let cases: Vec<(&str, [bool; 3])> = loud.chain(assert_harmless.iter().map(|made| (made.as_str(), ALL))).collect();
    let mut common = "CREATE SEQUENCE s; CREATE SCHEMA evil;".to_owned();
    for (name, arguments, result) in [
        ("perform", "text", "text"),
        ("\"if\"", "text", "text"),
        ("\"elsif\"", "text", "text"),
        ("\"like\"", "text, text, int", "bool"),
        ("\"ilike\"", "text, text, int", "bool"),
        ("draw_ok", "text", "bool"),
    ] {
        let value = if result == "bool" { "true" } else { "$1" };
        common += &format!(
            "CREATE FUNCTION {name}({arguments}) RETURNS {result} LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('public.s'); RETURN {value}; END $$;"
        );
    }
    common += "CREATE DOMAIN info AS text CHECK (draw_ok(VALUE)); CREATE DOMAIN evil.log AS text CHECK (public.draw_ok(VALUE));
        CREATE DOMAIN odd AS text CHECK (draw_ok(VALUE)); CREATE TABLE notice (a info); CREATE TABLE held (a info);";
    assert_proven(&common, &cases).await;
    // Every trigger contains this word.
    let returned = "CREATE SEQUENCE s; CREATE FUNCTION \"return\"(text) RETURNS text LANGUAGE sql AS $$ SELECT nextval('s')::text $$;";
    let loud = with_trigger("BEGIN NEW.a := return(NEW.a); RETURN NEW; END");
    assert_proven(returned, &[(&loud, NONE)]).await;
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
             CREATE TABLE words (id int PRIMARY KEY, a text);
             CREATE FUNCTION words() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.a := info 'x'; RETURN NEW; END $$;
             CREATE TRIGGER t BEFORE INSERT OR UPDATE OR DELETE ON words FOR EACH ROW EXECUTE FUNCTION words();
             CREATE TABLE plain_ones (id int PRIMARY KEY, a hstore CHECK (exist(a, 'x')));",
        )
        .await;
    let database = open(server.settings()).await.unwrap();
    for (table, expected) in
        [("function", NONE), ("operator", NONE), ("domain", NONE), ("word", NONE), ("plain_one", ALL)]
    {
        assert_eq!(proven(&database, table), expected, "{table}");
    }
}
