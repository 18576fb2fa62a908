//! `aquifer doctor` finds what is wrong with a machine and says what to do, and finds nothing on a healthy one.

use std::fs::Permissions;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::process::Stdio;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::{Folder, alter, aquifer, server, text, tools};

/// A machine on which everything works: a database, an MCP server, a client, secrets, state that was used.
pub(crate) struct Machine {
    pub(crate) folder: Folder,
    /// Held for faults that need another program.
    _listener: TcpListener,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let folder = Folder::new();
        let library = folder.database("library.db", "CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT);");
        let [python, program, offered] = server(&folder.tools("tools.json", &tools()));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let free = TcpListener::bind((own_address(), 0)).or_else(|_| TcpListener::bind("127.0.0.1:0")).unwrap();
        let free = free.local_addr().unwrap();
        folder.file("aquifer.env", "TOKEN=hush\n");
        folder.file(
            "aquifer.toml",
            &format!(
                "version = 1\nenv_file = \"aquifer.env\"\n[http]\naddress = \"{free}\"\n[state]\ndir = \"state\"\n\
                 [[source]]\nname = \"library\"\ntarget = \"sqlite:{library}\"\n\
                 [[source]]\nname = \"tools\"\ncommand = {python:?}\nargs = [{program:?}, {offered:?}]\n\
                 env = {{ TOKEN = \"${{TOKEN}}\" }}\n"
            ),
        );
        std::fs::create_dir(folder.path(".cursor")).unwrap();
        let entry = json!({ "command": env!("CARGO_BIN_EXE_aquifer"), "args": ["serve", "--config", folder.path("aquifer.toml")] });
        folder.file(".cursor/mcp.json", &json!({ "mcpServers": { "aquifer": entry } }).to_string());
        let machine = Self { folder, _listener: listener };
        machine.set_mode("aquifer.env", 0o600);
        machine.use_state();
        machine
    }

    /// Makes a call, so that state and audit log exist.
    fn use_state(&self) {
        let mut command = aquifer();
        command.args(["call", "--config", &self.folder.path("aquifer.toml"), "library_create_book", "{}"]);
        let output = command.env("HOME", self.folder.path("")).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.folder.path(name)
    }

    pub(crate) fn set_mode(&self, name: &str, mode: u32) {
        std::fs::set_permissions(self.path(name), Permissions::from_mode(mode)).unwrap();
    }

    /// Replaces text in the configuration.
    pub(crate) fn edit(&self, from: &str, to: &str) {
        let path = self.path("aquifer.toml");
        let before = std::fs::read_to_string(&path).unwrap();
        let after = before.replace(from, to);
        assert_ne!(before, after, "{from} is not in {before}");
        std::fs::write(path, after).unwrap();
    }

    /// Makes the client start Aquifer with these arguments.
    fn replace_client(&self, args: &[&str]) {
        let entry = json!({ "command": env!("CARGO_BIN_EXE_aquifer"), "args": args });
        self.folder.file(".cursor/mcp.json", &json!({ "mcpServers": { "aquifer": entry } }).to_string());
    }

    /// A line of the configuration that begins like this.
    pub(crate) fn line(&self, begin: &str) -> String {
        let text = std::fs::read_to_string(self.path("aquifer.toml")).unwrap();
        text.lines().find(|line| line.starts_with(begin)).unwrap().to_owned()
    }

    /// The findings of the doctor, each with its topic, and whether it found problems.
    pub(crate) fn examine(&self) -> (Vec<Value>, bool) {
        self.examine_with(&["--config", &self.path("aquifer.toml")], &[])
    }

    fn examine_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> (Vec<Value>, bool) {
        let mut command = aquifer();
        command.args(["doctor", "--json"]).args(arguments).current_dir(self.path(""));
        command.envs(variables.iter().copied());
        command.env("HOME", self.path("")).env_remove("XDG_CONFIG_HOME");
        command.env("PATH", format!("{}:{}", self.path("bin"), std::env::var("PATH").unwrap()));
        let output = command.stdin(Stdio::null()).output().unwrap();
        let printed = text(&output.stdout);
        assert!(!text(&output.stderr).contains("panicked"), "{}", text(&output.stderr));
        let sections: Vec<Value> =
            serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}{}", text(&output.stderr)));
        let findings = sections.iter().flat_map(|section| {
            section["findings"].as_array().unwrap().iter().cloned().map(|mut finding| {
                finding["topic"] = section["topic"].clone();
                finding
            })
        });
        (findings.collect(), output.status.code() == Some(1))
    }
}

/// A loopback address of this process alone: a free port of 127.0.0.1 may belong to another test by the time it is checked.
fn own_address() -> Ipv4Addr {
    let [_, high, middle, low] = std::process::id().to_be_bytes();
    Ipv4Addr::new(127, high | 128, middle, low)
}

/// A fault: what is done to the machine, the topic of the finding, words of its message, and words of the advice.
type Fault = (fn(&Machine), &'static str, &'static str, &'static str);

#[rustfmt::skip]
const FAULTS: &[Fault] = &[
    (|machine| machine.edit("[state]", "[stat]"), "configuration", "unknown field", "Did you mean 'state'?"),
    (|machine| machine.edit("version = 1", "version = 3"), "configuration", "has version 3", "Update Aquifer"),
    (|machine| ["aquifer.toml", ".cursor/mcp.json"].iter().for_each(|file| std::fs::remove_file(machine.path(file)).unwrap()), "configuration", "cannot be read", "Check the path"),
    (|machine| std::fs::remove_file(machine.path("aquifer.env")).unwrap(), "configuration", "aquifer.env", "refers to"),
    (|machine| machine.set_mode("aquifer.env", 0o644), "configuration", "other users can read the secrets", "chmod 600"),
    (|machine| { machine.folder.file("aquifer.env", "OTHER=1\n"); }, "sources", "${TOKEN}", "Set TOKEN"),
    (|machine| std::fs::remove_file(machine.path("library.db")).unwrap(), "sources", "does not exist", "Check the path"),
    (|machine| { machine.folder.file("library.db", "this is no database, although it is long enough to be one"); }, "sources", "not a SQLite database", "Check the path"),
    (|machine| machine.edit("command = \"python3\"", "command = \"no-such-program\""), "sources", "command not found", "Install no-such-program"),
    (|machine| machine.edit("command = \"python3\"", "command = \"/nowhere/npx\""), "sources", "no such file", "Install Node.js"),
    (|machine| { let line = machine.line("command"); machine.edit(&line, "command = \"sh\"\nargs = [\"-c\", \"exit 3\"]\n#"); let line = machine.line("args = [\"/"); machine.edit(&line, ""); }, "sources", "tools", "sh -c 'exit 3'"),
    (|machine| { let line = machine.line("target"); machine.edit(&line, "target = \"postgres://a:b@127.0.0.1:1/shop\""); }, "sources", "no server is listening", "Start PostgreSQL"),
    (|machine| machine.set_mode("state", 0o755), "state", "other users", "chmod 700"),
    (|machine| { machine.folder.file("state/version", "99\n"); }, "state", "newer Aquifer", "state.dir"),
    (|machine| { machine.folder.file("state/version", "abc\n"); }, "state", "does not contain a version number", "Restore the file"),
    (|machine| machine.edit("[state]", "[[gate.rule]]\neffect = \"deny\"\ntable = \"custmers\"\n[state]"), "rules", "custmers", "introspect"),
    (|machine| { machine.folder.file("aquifer.env", "TOKEN=hush\ngarbage line\nA B=c\n"); }, "configuration", "not NAME=VALUE: line 2, 3", "NAME=VALUE"),
    (|machine| { machine.folder.file("aquifer.env", "TOKEN=hush\nQ=\"unterminated\n"); }, "configuration", "not closed, so it is part of the value: line 2", "both quotes"),
    (|machine| machine.edit("[state]", "[surface]\nmode = \"bogus\"\n[state]"), "configuration", "bogus", "[surface]"),
    (|machine| machine.edit("[state]", "[state]\ncursor_secret = \"short\""), "configuration", "at least 16", "longer"),
    (|machine| std::fs::write(machine.path("library.db"), "").unwrap(), "sources", "its file is empty", "create the tables"),
    (|machine| { std::fs::remove_file(machine.path("library.db")).unwrap(); std::fs::create_dir(machine.path("library.db")).unwrap(); }, "sources", "directory", "Name the database file"),
    (|machine| machine.edit("env = {", "cwd = \"nowhere\"\nenv = {"), "sources", "does not exist", "correct cwd"),
    (|machine| machine.edit("command = \"python3\"", "command = \"python3 /x/fake.py\""), "sources", "no such file", "args = [\"/x/fake.py\"]"),
    (|machine| { machine.folder.file("script", "#!/bin/sh\n"); machine.edit("command = \"python3\"", "command = \"./script\""); }, "sources", "tools", "chmod +x"),
    (|machine| machine.edit("command = \"python3\"", "command = \"\""), "sources", "tools", "Name a program"),
    (|machine| machine.edit("${TOKEN}", "${TOKEN"), "sources", "without '}'", "Close the reference"),
    (|machine| { let line = machine.line("target"); machine.edit(&line, "target = \"mysql\""); }, "sources", "unknown source", "Check the target"),
    (|machine| machine.edit("command = \"python3\"", "command = \"./.cursor\""), "sources", "tools", "is a directory"),
    (|machine| { machine.folder.file("state/cursor.key", "short"); }, "state", "not a valid key", "Remove the file"),
    (|machine| { for ending in ["", "-wal", "-shm"] { let _ = std::fs::remove_file(machine.path(&format!("state/state.sqlite{ending}"))); } machine.folder.file("state/state.sqlite", &"damaged ".repeat(900)); }, "state", "damaged", "move the file away"),
    (|machine| { std::fs::write(machine.path("state/state.sqlite"), "").unwrap(); std::fs::write(machine.path("state/state.sqlite-wal"), "changes").unwrap(); }, "state", "was emptied", "move the file away"),
    (|machine| { std::fs::remove_dir_all(machine.path("state/audit")).unwrap(); machine.folder.file("state/audit", ""); }, "audit", "is not a directory", "audit.dir"),
    (|machine| std::fs::write(machine.path("aquifer.toml"), b"version = 1 # caf\xe9\n").unwrap(), "configuration", "cannot be read", "UTF-8"),
    (|machine| { let line = machine.line("target"); machine.edit(&line, "target = \"postgres://a:b@127.0.0.1:1/shop?sslmode=verify-full&sslrootcert=/nowhere\""); }, "sources", "sslrootcert", "PEM file"),
    (|machine| damage_table(&machine.path("state/state.sqlite"), "spent"), "state", "the file is damaged", "restore it from a backup"),
    (|machine| machine.edit("[state]", "[state]\nstore = \"redis://127.0.0.1:1\""), "state", "127.0.0.1", "Start Redis"),
    (|machine| alter(&machine.path("state/state.sqlite"), "UPDATE records SET value = CAST('4102444800000' AS BLOB), version = 4102444800000 WHERE key = 'clock/high_water'"), "clock", "in the future", "Set the clock"),
    (|machine| { let file = audit_file(machine); let text = std::fs::read_to_string(&file).unwrap(); std::fs::write(&file, text.replace("create_book", "delete_book")).unwrap(); }, "audit", "changed or are missing", "aquifer audit verify"),
    (|machine| { let line = machine.line("address"); machine.edit(&line, &format!("address = \"{}\"", machine._listener.local_addr().unwrap())); }, "network", "another program", "another port"),
    (|machine| { machine.folder.file(".cursor/mcp.json", "{ not json"); }, "clients", "Cursor", "Correct the file"),
    (|machine| { machine.folder.file(".cursor/mcp.json", r#"{"mcpServers": {"aquifer": {"command": "/nowhere/aquifer", "args": ["serve"]}}}"#); }, "clients", "/nowhere/aquifer, which does not exist", "aquifer init --apply"),
    (|machine| { let entry = json!({ "command": env!("CARGO_BIN_EXE_aquifer"), "args": ["serve", "--config", "/nowhere/aquifer.toml"] }); machine.folder.file(".cursor/mcp.json", &json!({ "mcpServers": { "aquifer": entry } }).to_string()); }, "clients", "/nowhere/aquifer.toml", "correct the path"),
    (|machine| machine.replace_client(&["srve"]), "clients", "srve", "aquifer init --apply"),
    (|machine| machine.replace_client(&["doctor"]), "clients", "not as a server", "correct the arguments"),
    (|machine| machine.replace_client(&["serve", "sqlite:/nowhere/shop.db"]), "clients", "/nowhere/shop.db, which does not exist", "correct the path"),
    (|machine| { std::fs::create_dir(machine.path("bin")).unwrap(); machine.folder.file("bin/aquifer", "#!/bin/sh\nexec sleep 1000\n"); machine.set_mode("bin/aquifer", 0o755); }, "versions", "does not run", "Remove it"),
    (|machine| { std::fs::create_dir(machine.path("bin")).unwrap(); machine.folder.file("bin/aquifer", "#!/bin/sh\necho aquifer 0.0.1\n"); machine.set_mode("bin/aquifer", 0o755); }, "versions", "another version, 0.0.1", "update it"),
];

/// Overwrites a table in a SQLite file, as a failing disk does.
fn damage_table(path: &str, table: &str) {
    let connection = Connection::open(path).unwrap();
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    let page_size: u64 = connection.query_row("PRAGMA page_size", [], |row| row.get(0)).unwrap();
    let root = connection.query_row("SELECT rootpage FROM sqlite_schema WHERE name = ?1", [table], |row| row.get(0));
    let root: u64 = root.unwrap();
    drop(connection);
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(&[0xff; 100], (root - 1) * page_size).unwrap();
}

fn audit_file(machine: &Machine) -> String {
    let mut files = std::fs::read_dir(machine.path("state/audit")).unwrap().map(|entry| entry.unwrap().path());
    files
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("audit-")))
        .unwrap()
        .display()
        .to_string()
}

#[test]
fn nothing_is_found_on_a_healthy_machine() {
    let machine = Machine::new();
    let (findings, has_problems) = machine.examine();
    assert!(!has_problems && findings.iter().all(|finding| finding["status"] == "ok"), "{findings:#?}");
    for topic in ["configuration", "state", "clock", "audit", "network", "sources", "clients", "versions"] {
        assert!(findings.iter().any(|finding| finding["topic"] == topic), "{topic}: {findings:#?}");
    }
}

#[test]
fn every_seeded_fault_is_found_with_advice() {
    for (seed, topic, message, advice) in FAULTS {
        let machine = Machine::new();
        seed(&machine);
        let (findings, has_problems) = machine.examine();
        let problems: Vec<&Value> = findings.iter().filter(|finding| finding["status"] == "problem").collect();
        let is_meant = |finding: &Value| {
            let said = format!("{} {}", finding["subject"].as_str().unwrap(), finding["message"].as_str().unwrap());
            finding["topic"] == *topic && said.contains(message) && finding["advice"].as_str().unwrap().contains(advice)
        };
        assert!(has_problems && problems.iter().any(|finding| is_meant(finding)), "{message}: {findings:#?}");
        // One fault is not reported as several.
        assert_eq!(problems.len(), 1, "{message}: {problems:#?}");
    }
}

#[test]
fn approvals_that_nobody_can_give_are_noted() {
    let machine = Machine::new();
    machine.edit("[state]", "[gate.strength]\ndestructive = \"approval\"\n[state]");
    let (findings, has_problems) = machine.examine();
    let notes: Vec<&Value> = findings.iter().filter(|finding| finding["status"] == "note").collect();
    let [note] = notes.as_slice() else { panic!("{findings:#?}") };
    let advice = note["advice"].as_str().unwrap();
    assert!(!has_problems && note["subject"] == "admin secret", "{note}");
    assert!(advice.contains("aquifer approvals secret --config") && advice.contains("aquifer.toml"), "{advice}");
    let secret = ("AQUIFER_ADMIN_SECRET", "long enough to be a secret");
    let (findings, _) = machine.examine_with(&[], &[secret]);
    assert!(findings.iter().all(|finding| finding["status"] == "ok"), "{findings:#?}");
}

#[test]
fn the_report_is_written_for_people() {
    let machine = Machine::new();
    machine.set_mode("aquifer.env", 0o644);
    let output = aquifer().args(["doctor", "--offline", "--config", &machine.path("aquifer.toml")]).output().unwrap();
    let shown = text(&output.stdout);
    assert!(shown.contains("PROBLEM") && shown.contains("chmod 600") && shown.contains("not checked"), "{shown}");
    assert!(shown.trim_end().ends_with("1 problem."), "{shown}");
    assert!(!shown.contains("hush"), "{shown}");
}

/// The only problem among the findings, as text.
pub(crate) fn only_problem(findings: &[Value]) -> String {
    let problems: Vec<&Value> = findings.iter().filter(|finding| finding["status"] == "problem").collect();
    assert_eq!(problems.len(), 1, "{findings:#?}");
    problems[0].to_string()
}

#[test]
fn a_configuration_that_other_commands_ignore_is_a_problem() {
    let machine = Machine::new();
    machine.set_mode("aquifer.toml", 0o666);
    let problem = only_problem(&machine.examine_with(&[], &[]).0);
    assert!(problem.contains("writable by everyone") && problem.contains("run: chmod go-w aquifer.toml"), "{problem}");

    std::fs::rename(machine.path("aquifer.toml"), machine.path("other.toml")).unwrap();
    std::fs::remove_file(machine.path(".cursor/mcp.json")).unwrap();
    assert!(!machine.examine_with(&[], &[]).1, "no configuration is not a problem");
    std::fs::create_dir(machine.path("aquifer.toml")).unwrap();
    let problem = only_problem(&machine.examine_with(&[], &[]).0);
    assert!(problem.contains("is a directory"), "{problem}");

    std::fs::remove_dir(machine.path("aquifer.toml")).unwrap();
    std::os::unix::fs::symlink("nowhere.toml", machine.path("aquifer.toml")).unwrap();
    let problem = only_problem(&machine.examine_with(&[], &[]).0);
    assert!(problem.contains("If it is a link"), "{problem}");
}

#[test]
fn a_variable_that_no_server_accepts_is_a_problem() {
    let machine = Machine::new();
    let config = machine.path("aquifer.toml");
    let (findings, _) = machine.examine_with(&["--config", &config], &[("MCP_AQL_ENDPOINT_MODE", "bogus")]);
    let problem = only_problem(&findings);
    assert!(problem.contains("bogus") && problem.contains("unset MCP_AQL_ENDPOINT_MODE"), "{problem}");
}

#[test]
fn every_source_without_its_variable_is_named() {
    let machine = Machine::new();
    let line = machine.line("target");
    machine.edit(&line, "target = \"sqlite:${NO_SUCH_FOLDER}/library.db\"");
    machine.folder.file("aquifer.env", "OTHER=1\n");
    let (findings, _) = machine.examine();
    let advice = |name: &str| {
        let found = findings.iter().find(|finding| finding["subject"] == format!("source '{name}'"));
        found.unwrap_or_else(|| panic!("{name}: {findings:#?}"))["advice"].as_str().unwrap_or_default().to_owned()
    };
    assert!(advice("library").contains("Set NO_SUCH_FOLDER"), "{findings:#?}");
    assert!(advice("tools").contains("Set TOKEN"), "{findings:#?}");
}

#[test]
fn the_state_directory_is_not_created() {
    let machine = Machine::new();
    std::fs::remove_dir_all(machine.path("state")).unwrap();
    machine.edit("[state]", "[[gate.rule]]\neffect = \"deny\"\ntable = \"books\"\n[state]");
    let (findings, has_problems) = machine.examine();
    assert!(!has_problems, "{findings:#?}");
    assert!(findings.iter().any(|finding| finding["message"] == "not created yet"), "{findings:#?}");
    assert!(!std::fs::exists(machine.path("state")).unwrap());
}

/// Root may read everything, so nothing is closed to it.
fn is_root(machine: &Machine) -> bool {
    machine.folder.file("closed", "");
    machine.set_mode("closed", 0o000);
    std::fs::read(machine.path("closed")).is_ok()
}

#[test]
fn a_missing_permission_costs_no_state() {
    for (name, mode) in
        [("state", 0o700), ("state/version", 0o600), ("state/state.sqlite", 0o600), ("library.db", 0o600)]
    {
        let machine = Machine::new();
        if is_root(&machine) {
            return;
        }
        machine.set_mode(name, 0o000);
        let (findings, _) = machine.examine();
        machine.set_mode(name, mode);
        let problem = only_problem(&findings);
        assert!(problem.contains("chmod u+r") && problem.contains(name), "{name}: {problem}");
        assert!(!problem.contains("newer") && !problem.contains("away"), "{name}: {problem}");
    }
}

#[test]
fn servers_that_keep_failing_do_not_disturb_the_end() {
    let machine = Machine::new();
    let failing = ["\"echo hi\"", "\"exit 1\"", "\"echo no >&2; exit 2\""];
    let sources = failing.iter().map(|script| format!("[[source]]\ncommand = \"sh\"\nargs = [\"-c\", {script}]\n"));
    let configured = std::fs::read_to_string(machine.path("aquifer.toml")).unwrap();
    machine.folder.file("aquifer.toml", &(configured + &sources.collect::<String>()));
    // A panic of a task that is still running is found by the examination itself.
    for _ in 0..6 {
        let (findings, _) = machine.examine();
        assert_eq!(findings.iter().filter(|finding| finding["status"] == "problem").count(), 3, "{findings:#?}");
    }
}
