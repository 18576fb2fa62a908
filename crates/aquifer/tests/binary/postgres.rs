//! `aquifer serve postgres://…`, against a real server: a database of the test's own, gone with the value that holds it.

use std::cell::OnceCell;
use std::process::Output;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;
use tokio::runtime::Runtime;
use tokio_postgres::{Client, Config, NoTls, Row};

use crate::killed::{self, Entry, Ledger, Store, first_ledgers};
use crate::support::{Folder, Server, StdioServer, Transport, aquifer, forgetful, run, signal, text, until};

/// The superuser's URL, to the database of this name.
fn url(database: &str) -> String {
    let all = std::env::var("AQUIFER_TEST_POSTGRES").expect("AQUIFER_TEST_POSTGRES is set: cargo xtask test does it");
    let (server, _) = all.rsplit_once('/').unwrap();
    format!("{server}/{database}")
}

fn password() -> String {
    let config: Config = url("postgres").parse().unwrap();
    String::from_utf8(config.get_password().expect("the server asks for a password").to_vec()).unwrap()
}

/// A database that may not be there yet.
pub(crate) struct Database {
    name: String,
    pub(crate) url: String,
    runtime: Runtime,
    /// One connection for everything that is asked: making one takes long.
    inside: OnceCell<Client>,
}

impl Database {
    fn planned() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("aquifer_binary_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        Self { url: url(&name), name, runtime, inside: OnceCell::new() }
    }

    pub(crate) fn with(sql: &str) -> Self {
        let database = Self::planned();
        database.create(sql);
        database
    }

    /// A connection that ends with its client.
    fn connect(&self, database: &str) -> Client {
        self.runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(&url(database), NoTls).await.unwrap();
            tokio::spawn(connection);
            client
        })
    }

    /// Makes the database. It appears with everything in it.
    fn create(&self, sql: &str) {
        let draft = format!("{}_draft", self.name);
        let outside = self.connect("postgres");
        let run = |client: &Client, sql: &str| self.runtime.block_on(client.batch_execute(sql)).unwrap();
        run(&outside, &format!("CREATE DATABASE {draft}"));
        let inside = self.connect(&draft);
        run(&inside, sql);
        drop(inside);
        // The server may take a moment to see that the connection is gone.
        until("the draft is renamed", || {
            let rename = format!("ALTER DATABASE {draft} RENAME TO {}", self.name);
            self.runtime.block_on(outside.batch_execute(&rename)).ok()
        });
    }

    fn inside(&self) -> &Client {
        self.inside.get_or_init(|| self.connect(&self.name))
    }

    pub(crate) fn query(&self, sql: &str) -> Vec<Row> {
        self.runtime.block_on(self.inside().query(sql, &[])).unwrap()
    }

    /// Runs statements that return nothing.
    pub(crate) fn run(&self, sql: &str) {
        self.runtime.block_on(self.inside().batch_execute(sql)).unwrap();
    }

    /// The URL for a new role that these statements grant something to, in which it is called `{role}`.
    pub(crate) fn role(&self, grants: &str) -> String {
        let role = format!("{}_role", self.name);
        self.run(&format!("CREATE ROLE {role} LOGIN PASSWORD 'secret'; {}", grants.replace("{role}", &role)));
        let (_, address) = self.url.split_once('@').unwrap();
        format!("postgres://{role}:secret@{address}")
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let outside = self.connect("postgres");
        for name in [self.name.clone(), format!("{}_draft", self.name)] {
            let _ =
                self.runtime.block_on(outside.batch_execute(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")));
        }
        let _ = self.runtime.block_on(outside.batch_execute(&format!("DROP ROLE IF EXISTS {}_role", self.name)));
    }
}

pub(crate) const LIBRARY: &str = "
    CREATE TABLE authors (id serial PRIMARY KEY, name text NOT NULL UNIQUE, born integer);
    CREATE TABLE books (
        id serial PRIMARY KEY, author_id integer NOT NULL REFERENCES authors, title text NOT NULL,
        price numeric(8, 2) NOT NULL CHECK (price >= 0)
    );
    INSERT INTO authors (name, born) VALUES ('Ada', 1815), ('Bo', NULL);
    INSERT INTO books (author_id, title, price) VALUES (1, 'Notes on engines', 10.5), (1, 'Letters', 7), (2, 'War', 3.25);";

#[test]
fn rows_are_served_and_changed() {
    let database = Database::with(LIBRARY);
    let mut piped = StdioServer::initialized(&["serve", &database.url], "2025-06-18");
    let listed = piped.data("read", "list_books", json!({ "sort": { "field": "title" }, "fields": ["title"] }));
    assert_eq!(listed["items"], json!([{ "title": "Letters" }, { "title": "Notes on engines" }, { "title": "War" }]));
    assert_eq!(piped.data("read", "search_books", json!({ "query": "engines" }))["items"][0]["id"], 1);
    let made = piped.data("create", "create_book", json!({ "author_id": 2, "title": "Peace", "price": 1 }));
    piped.data("update", "update_book", json!({ "id": made["id"], "input": { "title": "Peace at last" } }));
    piped.data("delete", "delete_book", json!({ "id": 3 }));
    let titles: Vec<String> =
        database.query("SELECT title FROM books ORDER BY id").iter().map(|row| row.get(0)).collect();
    assert_eq!(titles, ["Notes on engines", "Letters", "Peace at last"]);
    let walk = json!({ "root": { "element_type": "authors", "id": 2 }, "direction": "incoming" });
    let related = piped.data("read", "query_relationships", walk);
    assert_eq!(related["relationships"][0]["target"]["id"], made["id"]);
    assert_eq!(piped.error("delete", "delete_author", json!({ "id": 1 }))["code"], "CONFLICT_CONSTRAINT");
}

#[test]
fn a_missing_database_is_reported_and_served_later_without_a_restart() {
    let database = Database::planned();
    let mut piped = StdioServer::initialized(&["serve", &database.url], "2025-06-18");
    piped.says("is unavailable: its server has no");
    assert_eq!(piped.tools(), ["mcp_aql_read"]);
    assert_eq!(piped.error("read", "list_tables", json!({}))["code"], "UPSTREAM_UNAVAILABLE");
    database.create(LIBRARY);
    until("the database is served", || {
        piped.tools_changed();
        piped.operations().contains(&"list_books".to_owned()).then_some(())
    });
    assert_eq!(piped.data("read", "get_author", json!({ "id": 1 }))["name"], "Ada");
}

#[test]
fn a_hangup_shows_a_new_table() {
    let database = Database::with(LIBRARY);
    let mut piped = StdioServer::initialized(&["serve", &database.url], "2025-06-18");
    assert!(!piped.operations().contains(&"list_shelves".to_owned()));
    database.query("CREATE TABLE shelves (id integer PRIMARY KEY, room text)");
    signal("-HUP", piped.pid());
    until("the new table is offered", || piped.operations().contains(&"list_shelves".to_owned()).then_some(()));
}

/// Only some schemas, the first one's tables under their plain names.
#[test]
fn only_the_configured_schemas_are_served() {
    let database = Database::with(&format!(
        "{LIBRARY} CREATE SCHEMA sales; CREATE TABLE sales.orders (id integer PRIMARY KEY, note text);
         CREATE SCHEMA hidden; CREATE TABLE hidden.things (id integer PRIMARY KEY);"
    ));
    let folder = Folder::new();
    for (keys, there, not_there) in [
        ("", "list_books", "list_sales_orders"),
        ("schemas = [\"public\", \"sales\"]", "list_sales_orders", "list_hidden_things"),
        ("schemas = [\"sales\"]", "list_orders", "list_books"),
        ("schemas = [\"public\", \"sales\"]\nexclude = [\"sales.*\"]", "list_books", "list_sales_orders"),
    ] {
        let config = folder.file("aquifer.toml", &format!("[[source]]\ntarget = \"{}\"\n{keys}\n", database.url));
        let output = run(&["introspect", "--config", &config]);
        let operations = text(&output.stdout);
        let has = |name: &str| operations.lines().any(|line| line.split(' ').next() == Some(name));
        assert!(has(there) && !has(not_there), "{keys}: {operations} {}", text(&output.stderr));
    }
}

#[test]
fn the_password_never_comes_out() {
    let database = Database::with(LIBRARY);
    let (folder, password) = (Folder::new(), password());
    let url = database.url.clone();
    let config =
        folder.file("aquifer.toml", &format!("[[source]]\ntarget = \"{}\"\n", url.replace(&password, "${KEY}")));
    let silent = |what: &str, output: &Output, code: i32| {
        let printed = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{what}");
        assert!(!printed.contains(&password), "{what} tells the password");
        printed
    };
    for arguments in [
        &["call", "list_books", "--log", "trace"][..],
        &["introspect"],
        &["introspect", "list_books"],
        &["introspect", "Book"],
    ] {
        for place in [&["--source", url.as_str()][..], &["--config", &config]] {
            let output = aquifer().args(arguments).args(place).env("KEY", &password).output().unwrap();
            assert!(silent(&arguments.join(" "), &output, 0).to_lowercase().contains("book"));
        }
    }
    let wrong = url.replace(&password, "hush-4711");
    let refused = run(&["call", "list_books", "--source", &wrong, "--log", "trace"]);
    let printed = silent("a wrong password", &refused, 2);
    assert!(printed.contains("rejects the user name or the password") && !printed.contains("hush-4711"), "{printed}");

    let mut piped = StdioServer::initialized(&["serve", &url, "--log", "trace"], "2025-06-18");
    let mut answers = String::new();
    for (family, operation, params) in [
        ("read", "introspect", json!({ "query": "operations", "name": "list_books" })),
        ("read", "list_books", json!({ "filter": { "title": { "contains": "e" } } })),
        ("create", "create_author", json!({ "name": "Ada" })),
    ] {
        answers +=
            &piped.call(&format!("mcp_aql_{family}"), json!({ "operation": operation, "params": params })).to_string();
    }
    answers += &piped.last_words();
    assert!(!answers.contains(&password), "a server tells the password");
}

/// A function that deletes, and an operator that calls it.
const DELETING: &str = "
    CREATE FUNCTION f() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN DELETE FROM books; RETURN 1; END $$;
    CREATE FUNCTION plus(integer, integer) RETURNS integer LANGUAGE sql AS $$ SELECT f() $$;
    CREATE OPERATOR <+> (LEFTARG = integer, RIGHTARG = integer, FUNCTION = plus);";

/// What a message says to run so that statements are on.
fn revocation(said: &str) -> &str {
    let (_, sql) = said.split_once("To turn it on: ").unwrap_or_else(|| panic!("{said}"));
    let end = sql.find(" FROM PUBLIC").unwrap_or_else(|| panic!("{said}")) + " FROM PUBLIC".len();
    assert!(sql.starts_with("REVOKE EXECUTE ON FUNCTION "), "{said}");
    &sql[..end]
}

/// Statements are off while the role may call what nobody can judge, and the message says what turns them on. Then they
/// still call nothing that changes something.
#[test]
fn r_ext_5_statements_call_no_functions_that_change_something() {
    for transport in Transport::BOTH {
        let database = Database::with(&format!("{LIBRARY}{DELETING}"));
        let role = database.role("GRANT USAGE ON SCHEMA public TO {role}; GRANT SELECT ON books, authors TO {role}");
        let mut attacks = vec![
            "SELECT DISTINCT ON (1) leak()".to_owned(),
            "SELECT (0) OPERATOR(+) f()".to_owned(),
            "SELECT (0) OPERATOR(public.<+>) 1".to_owned(),
            "SELECT title FROM books ORDER BY (1), leak()".to_owned(),
        ];
        // A connection of its own also writes where the statement may only read. Not every server has the extension.
        let mut delete = "DELETE FROM books RETURNING title".to_owned();
        if !database.query("SELECT FROM pg_available_extensions WHERE name = 'dblink'").is_empty() {
            database.run("CREATE EXTENSION dblink");
            delete = format!("SELECT DISTINCT ON (1) dblink_exec('{}', 'DELETE FROM books')", database.url);
            attacks.push(delete.clone());
        }
        database.run(&format!("CREATE FUNCTION leak() RETURNS text LANGUAGE sql SECURITY DEFINER AS $$ {delete} $$"));
        let books = || database.query("SELECT count(*) FROM books")[0].get::<_, i64>(0);
        let folder = Folder::new();
        let config = folder.file("aquifer.toml", &format!("[[source]]\ntarget = \"{role}\"\nquery_sql = true\n"));
        let start = || Server::spawn(transport, forgetful(&folder).args(["serve", "--config", &config]));
        let statement = |server: &mut Server, sql: &str| {
            server.call("mcp_aql_read", json!({ "operation": "query_sql", "params": { "sql": sql } }))
        };
        let refuse_all = |server: &mut Server, code: &str| {
            for sql in &attacks {
                let refused = statement(server, sql);
                assert_eq!(refused["error"]["code"], code, "{sql}: {refused}");
            }
            assert_eq!(books(), 3);
        };

        let mut server = start();
        refuse_all(&mut server, "NOT_FOUND_OPERATION");
        server.has_said("To turn it on: ");
        let shown = match &server {
            Server::Stdio(piped) => piped.stderr_so_far(),
            Server::Http(served) => served.stderr_so_far(),
        };
        let revoke = revocation(shown).to_owned();
        assert!(revoke.contains("public.leak()") && revoke.contains("public.plus(integer, integer)"), "{revoke}");
        let validated = run(&["validate", &config]);
        assert_eq!(revocation(&text(&validated.stderr)), revoke, "{}", text(&validated.stderr));

        database.run(&revoke);
        signal("-HUP", server.pid());
        until("statements are on", || (statement(&mut server, "SELECT 1")["success"] == true).then_some(()));
        refuse_all(&mut server, "PERMISSION_DENIED");
        server.stop();
        let mut server = start();
        let counted = until("statements are on", || {
            let answer = statement(&mut server, "SELECT count(*) FROM books");
            (answer["success"] == true).then_some(answer)
        });
        assert_eq!(counted["data"]["rows"], json!([[3]]), "{counted}");
        refuse_all(&mut server, "PERMISSION_DENIED");

        // One that is there later turns them off until it is revoked as well.
        database.run("CREATE FUNCTION late() RETURNS integer LANGUAGE sql AS $$ SELECT f() $$");
        let refused = statement(&mut server, "SELECT 1");
        assert_eq!(refused["error"]["code"], "PERMISSION_DENIED", "{refused}");
        server.has_said("To turn it on: REVOKE EXECUTE ON FUNCTION public.late() FROM PUBLIC");
        database.run("REVOKE EXECUTE ON FUNCTION late() FROM PUBLIC");
        assert_eq!(statement(&mut server, "SELECT 1")["data"]["rows"], json!([[1]]));
        // They would have deleted.
        database.query("SELECT leak()");
        assert_eq!(books(), 0);
    }
}

const LEDGERS: &str = "
    CREATE TABLE ledgers (
        id bigint PRIMARY KEY, version bigint NOT NULL, twice bigint NOT NULL, stamp text NOT NULL, note text NOT NULL,
        entries bigint NOT NULL DEFAULT 0, total bigint NOT NULL DEFAULT 0
    );
    CREATE TABLE entries (
        ledger_id bigint NOT NULL REFERENCES ledgers (id), number bigint NOT NULL, stamp text NOT NULL, note text NOT NULL,
        PRIMARY KEY (ledger_id, number)
    );
    CREATE FUNCTION counted() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE ledgers SET entries = entries + 1, total = total + NEW.number WHERE id = NEW.ledger_id;
        RETURN NULL;
    END $$;
    CREATE TRIGGER counted AFTER INSERT ON entries FOR EACH ROW EXECUTE FUNCTION counted();";

impl Store for Database {
    fn target(&self) -> String {
        self.url.clone()
    }

    /// The database server ends what it had been told, whoever told it so.
    fn settle(&mut self) {
        let others =
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
        until("the killed server's transactions are over", || {
            (self.query(others)[0].get::<_, i64>(0) == 0).then_some(())
        });
    }

    fn read(&mut self) -> (Vec<Ledger>, Vec<Entry>) {
        let ledgers = self.query("SELECT id, version, twice, stamp, note, entries, total FROM ledgers ORDER BY id");
        let entries = self.query("SELECT ledger_id, number, stamp, note FROM entries ORDER BY ledger_id, number");
        let ledgers = ledgers.iter().map(|row| Ledger {
            id: row.get(0),
            version: row.get(1),
            twice: row.get(2),
            stamp: row.get(3),
            note: row.get(4),
            entries: row.get(5),
            total: row.get(6),
        });
        let entries = entries.iter().map(|row| Entry {
            ledger: row.get(0),
            number: row.get(1),
            stamp: row.get(2),
            note: row.get(3),
        });
        (ledgers.collect(), entries.collect())
    }
}

#[test]
fn acknowledged_writes_survive_and_no_row_is_half_written() {
    let mut database = Database::with(&format!("{LEDGERS} {}", first_ledgers()));
    killed::kill(&mut database, 20);
}
