//! Servers with the explorer, and links to log in to them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::process::Process;

const AQUIFER: &str = env!("CARGO_BIN_EXE_aquifer");

/// The link to log in, if the line is one.
fn find_link(line: &str) -> Option<String> {
    let link = line.trim();
    (link.starts_with("http://") && link.contains("/login#")).then(|| link.to_owned())
}

/// `aquifer demo`, which prints a link.
pub(crate) struct Demo {
    pub(crate) link: String,
    _process: Process,
}

impl Demo {
    pub(crate) fn start() -> Self {
        let mut command = Command::new(AQUIFER);
        command.args(["demo", "--http", "127.0.0.1:0"]).stdin(Stdio::null());
        let mut process = Process::start(command);
        let link = process.line("it prints a link", find_link);
        Self { link, _process: process }
    }
}

/// A configuration that serves a new database, with state that outlives the server.
pub(crate) struct Configured(PathBuf);

impl Configured {
    /// Creates the database with `sql`, and adds `keys` to the configuration.
    pub(crate) fn new(name: &str, sql: &str, keys: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("browser-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        rusqlite::Connection::open(folder.join("data.db")).unwrap().execute_batch(sql).unwrap();
        let (database, state) = (folder.join("data.db"), folder.join("state"));
        let target = format!("sqlite:{}", database.display());
        let config = format!("[[source]]\ntarget = {target:?}\n[state]\ndir = {state:?}\n{keys}");
        std::fs::write(folder.join("aquifer.toml"), config).unwrap();
        Self(folder)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg("--config").arg(self.0.join("aquifer.toml")).stdin(Stdio::null());
        command.env("XDG_STATE_HOME", self.0.join("home"));
        command
    }

    /// Serves it on this port, or on any free one if it is 0.
    pub(crate) fn start(&self, port: u16) -> Server<'_> {
        let mut process = Process::start(self.command(&[AQUIFER, "serve", "--http", &format!("127.0.0.1:{port}")]));
        let address = process.line("it prints its address", |line| {
            let (_, rest) = line.split_once("serves MCP-AQL at ")?;
            Some(rest.trim_end_matches("/mcp").to_owned())
        });
        Server { configured: self, address, _process: process }
    }
}

impl Drop for Configured {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// `aquifer serve`.
pub(crate) struct Server<'c> {
    configured: &'c Configured,
    address: String,
    _process: Process,
}

impl Server<'_> {
    /// A link to log in, which the command prints to people who know the admin secret.
    pub(crate) fn link(&self) -> String {
        let secret = self.at_terminal("[]", &["approvals", "secret"]).line("it prints the secret", |line| {
            let secret = line.trim();
            (secret.len() == 64 && secret.contains('-')).then(|| secret.to_owned())
        });
        let talk = format!("[[\"Admin secret:\", {secret:?}]]");
        self.at_terminal(&talk, &["explorer", "link", "--url", &self.address]).line("it prints a link", find_link)
    }

    /// Runs a command at a terminal, with a person who answers its questions.
    fn at_terminal(&self, talk: &str, words: &[&str]) -> Process {
        let person = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/binary/safety/person.py");
        Process::start(self.configured.command(&[&["python3", person, talk, AQUIFER], words].concat()))
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.rsplit(':').next().unwrap().parse().unwrap()
    }
}
