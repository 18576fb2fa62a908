//! Servers with the explorer, links to log in to them, and the command line beside them.

use std::cell::OnceCell;
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
        Self::start_with(&[])
    }

    pub(crate) fn start_with(options: &[&str]) -> Self {
        let mut command = Command::new(AQUIFER);
        command.args(["demo", "--http", "127.0.0.1:0"]).args(options).stdin(Stdio::null());
        let mut process = Process::start(command);
        let link = process.line("it prints a link", find_link);
        Self { link, _process: process }
    }
}

/// A configuration, with state that outlives the server.
pub(crate) struct Configured {
    folder: PathBuf,
    variables: Vec<(&'static str, String)>,
    secret: OnceCell<String>,
}

impl Configured {
    /// Serves a new database, which is created with `sql`. `keys` are added to the configuration, those of `[state]` first.
    pub(crate) fn new(name: &str, sql: &str, keys: &str) -> Self {
        Self::with_source(name, keys, |folder| database(folder, sql))
    }

    /// Serves the source that `prepare` creates in a new folder, and for which it returns the part of the configuration.
    pub(crate) fn with_source(name: &str, keys: &str, prepare: impl FnOnce(&Path) -> String) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("browser-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let source = prepare(&folder);
        let config = format!("{source}[state]\ndir = {:?}\n{keys}", folder.join("state"));
        std::fs::write(folder.join("aquifer.toml"), config).unwrap();
        Self { folder, variables: Vec::new(), secret: OnceCell::new() }
    }

    /// Sets an environment variable of everything that is started.
    pub(crate) fn variable(mut self, name: &'static str, value: &str) -> Self {
        self.variables.push((name, value.to_owned()));
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Changes the configuration, which a running server notices.
    pub(crate) fn edit(&self, change: impl FnOnce(&str) -> String) {
        let file = self.path("aquifer.toml");
        let before = std::fs::read_to_string(&file).unwrap();
        let after = change(&before);
        assert_ne!(before, after);
        std::fs::write(&file, after).unwrap();
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg("--config").arg(self.path("aquifer.toml")).stdin(Stdio::null());
        command.env("XDG_STATE_HOME", self.path("home")).envs(self.variables.iter().cloned());
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

    /// Runs a command, and returns its exit code and its output.
    pub(crate) fn run(&self, words: &[&str]) -> (Option<i32>, String) {
        finish(self.command(&[&[AQUIFER], words].concat()))
    }

    /// Runs a command as a person does who types the admin secret and then these answers to questions.
    pub(crate) fn run_as_admin(&self, answers: &[(&str, &str)], words: &[&str]) -> (Option<i32>, String) {
        let secret = ("Admin secret:", self.secret());
        let talk: Vec<(&str, &str)> = [secret].into_iter().chain(answers.iter().copied()).collect();
        self.at_terminal(&talk, words)
    }

    /// The admin secret, which is created when it is first needed.
    fn secret(&self) -> &str {
        self.secret.get_or_init(|| {
            let (_, shown) = self.at_terminal(&[], &["approvals", "secret"]);
            let secret = shown.lines().map(str::trim).find(|line| line.len() == 64 && line.contains('-'));
            secret.unwrap_or_else(|| panic!("no secret is printed: {shown}")).to_owned()
        })
    }

    /// Runs a command at a terminal, with a person who answers its questions.
    fn at_terminal(&self, talk: &[(&str, &str)], words: &[&str]) -> (Option<i32>, String) {
        let person = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/binary/safety/person.py");
        let talk = serde_json::to_string(talk).unwrap();
        finish(self.command(&[&["python3", person, &talk, AQUIFER], words].concat()))
    }
}

impl Drop for Configured {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn finish(mut command: Command) -> (Option<i32>, String) {
    let output = command.output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

/// Creates `data.db` with `sql`, and returns the source for it.
pub(crate) fn database(folder: &Path, sql: &str) -> String {
    let file = folder.join("data.db");
    rusqlite::Connection::open(&file).unwrap().execute_batch(sql).unwrap();
    format!("[[source]]\ntarget = {:?}\n", format!("sqlite:{}", file.display()))
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
        let (_, shown) = self.configured.run_as_admin(&[], &["explorer", "link", "--url", &self.address]);
        shown.lines().find_map(find_link).unwrap_or_else(|| panic!("no link is printed: {shown}"))
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.rsplit(':').next().unwrap().parse().unwrap()
    }
}
