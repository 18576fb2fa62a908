//! The gate as its users meet it: asked, confirmed, done and on record; approved from outside; explained.

mod approvals;
mod audit;
mod destinations;
mod dry_run;
mod earned;
mod hidden_values;
mod looking;
mod once;
mod people;
mod popup;
mod renamed;
mod same_names;
mod story;
mod time;
mod whole_call;

use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::support::{Folder, StdioServer, alter, aquifer, text};

/// A library to delete from, with state of its own.
pub(crate) struct Fixture {
    pub(crate) folder: Folder,
    config: String,
    pub(crate) library: String,
    of_source: String,
}

const BOOKS: &str = "CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT NOT NULL);";

impl Fixture {
    /// With more in its configuration.
    pub(crate) fn new(keys: &str) -> Self {
        Self::with_source("", keys)
    }

    /// The same with more said of the library itself.
    pub(crate) fn with_source(of_source: &str, keys: &str) -> Self {
        let folder = Folder::new();
        let library = folder.database("library.db", BOOKS);
        let rows: Vec<String> = (1..=50).map(|id| format!("({id}, 'Book {id}')")).collect();
        alter(&library, &format!("INSERT INTO books VALUES {}", rows.join(", ")));
        let of_source = of_source.to_owned();
        let fixture = Self { config: folder.path("aquifer.toml"), folder, library, of_source };
        fixture.rewrite(keys);
        fixture
    }

    /// Changes what is in the configuration beside the library and the state.
    pub(crate) fn rewrite(&self, keys: &str) {
        let (library, of_source, state) = (&self.library, &self.of_source, self.folder.path("state"));
        let text =
            format!("[[source]]\ntarget = \"sqlite:{library}\"\n{of_source}\n[state]\ndir = \"{state}\"\n{keys}\n");
        self.folder.file("aquifer.toml", &text);
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = aquifer();
        command.args(arguments).args(["--config", &self.config]).env_remove("AQUIFER_ADMIN_SECRET");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).stdin(Stdio::null()).output().unwrap()
    }

    /// A server on pipes that logs everything.
    pub(crate) fn piped(&self) -> StdioServer {
        let mut piped = StdioServer::spawn(self.command(&["serve"]).env("AQUIFER_LOG", "trace"));
        piped.initialize("2025-06-18");
        piped
    }

    /// How many books are left.
    pub(crate) fn books(&self) -> i64 {
        let direct = rusqlite::Connection::open(&self.library).unwrap();
        direct.query_row("SELECT count(*) FROM books", [], |row| row.get(0)).unwrap()
    }

    /// A person at a terminal runs a command, answering what it asks.
    pub(crate) fn person(&self, talk: &[(&str, &str)], arguments: &[&str]) -> (i32, String) {
        self.person_with("", talk, arguments)
    }

    /// The same with a secret in the environment.
    pub(crate) fn person_with(&self, secret: &str, talk: &[(&str, &str)], arguments: &[&str]) -> (i32, String) {
        let mut command = vec![env!("CARGO_BIN_EXE_aquifer")];
        command.extend(arguments);
        command.extend(["--config", &self.config]);
        Self::at_terminal(secret, talk, &command)
    }

    /// The same with the output going into a file. Also returns what the file has then.
    pub(crate) fn person_into_file(&self, talk: &[(&str, &str)], arguments: &[&str]) -> (i32, String, String) {
        let file = self.folder.path("output");
        let mut command = vec!["sh", "-c", "file=$1; shift; exec \"$@\" > \"$file\"", "sh", &file];
        command.push(env!("CARGO_BIN_EXE_aquifer"));
        command.extend(arguments);
        command.extend(["--config", &self.config]);
        let (code, shown) = Self::at_terminal("", talk, &command);
        (code, shown, std::fs::read_to_string(&file).unwrap())
    }

    pub(crate) fn at_terminal(secret: &str, talk: &[(&str, &str)], arguments: &[&str]) -> (i32, String) {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/binary/safety/person.py");
        let mut command = Command::new("python3");
        command.arg(script).arg(json!(talk).to_string()).args(arguments).env("AQUIFER_ADMIN_SECRET", secret);
        let output = command.stdin(Stdio::null()).output().unwrap();
        (output.status.code().unwrap(), text(&output.stdout) + &text(&output.stderr))
    }

    /// The admin secret, as a person got it.
    pub(crate) fn secret(&self) -> String {
        let (code, shown) = self.person(&[], &["approvals", "secret"]);
        assert_eq!(code, 0, "{shown}");
        let secret = shown.lines().map(str::trim).find(|line| line.len() == 64 && line.contains('-'));
        secret.unwrap_or_else(|| panic!("{shown}")).to_owned()
    }

    /// Everything in the audit.
    pub(crate) fn audited(&self) -> String {
        text(&self.run(&["audit", "show", "--last", "100000", "--json"]).stdout)
    }

    /// Whether the audit is whole, and what is said of it.
    pub(crate) fn verified(&self) -> (i32, String) {
        let output = self.run(&["audit", "verify"]);
        (output.status.code().unwrap(), text(&output.stdout) + &text(&output.stderr))
    }
}

pub(crate) fn delete(id: i64) -> Value {
    json!({ "operation": "delete_book", "params": { "id": id } })
}

pub(crate) fn delete_with(id: i64, token: &str) -> Value {
    json!({ "operation": "delete_book", "params": { "id": id, "confirmation_token": token } })
}
