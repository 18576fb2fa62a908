//! `aquifer doctor` finds what is wrong with a machine and says what to do, and finds nothing on a healthy one.

use std::fs::Permissions;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Folder, alter, aquifer, server, text, tools};

/// A machine on which everything works: a database, an MCP server, a client, secrets, state that was used.
struct Machine {
    folder: Folder,
    /// Held for faults that need another program.
    _listener: TcpListener,
}

impl Machine {
    fn new() -> Self {
        let folder = Folder::new();
        let library = folder.database("library.db", "CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT);");
        let [python, program, offered] = server(&folder.tools("tools.json", &tools()));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
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

    fn path(&self, name: &str) -> String {
        self.folder.path(name)
    }

    fn set_mode(&self, name: &str, mode: u32) {
        std::fs::set_permissions(self.path(name), Permissions::from_mode(mode)).unwrap();
    }

    /// Replaces text in the configuration.
    fn edit(&self, from: &str, to: &str) {
        let path = self.path("aquifer.toml");
        let before = std::fs::read_to_string(&path).unwrap();
        let after = before.replace(from, to);
        assert_ne!(before, after, "{from} is not in {before}");
        std::fs::write(path, after).unwrap();
    }

    /// A line of the configuration that begins like this.
    fn line(&self, begin: &str) -> String {
        let text = std::fs::read_to_string(self.path("aquifer.toml")).unwrap();
        text.lines().find(|line| line.starts_with(begin)).unwrap().to_owned()
    }

    /// The findings of the doctor, each with its topic, and whether it found problems.
    fn examine(&self) -> (Vec<Value>, bool) {
        let mut command = aquifer();
        command.args(["doctor", "--json", "--config", &self.path("aquifer.toml")]).current_dir(self.path(""));
        command.env("HOME", self.path("")).env_remove("XDG_CONFIG_HOME");
        command.env("PATH", format!("{}:{}", self.path("bin"), std::env::var("PATH").unwrap()));
        let output = command.stdin(Stdio::null()).output().unwrap();
        let printed = text(&output.stdout);
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

/// A fault: what is done to the machine, the topic of the finding, words of its message, and words of the advice.
type Fault = (fn(&Machine), &'static str, &'static str, &'static str);

#[rustfmt::skip]
const FAULTS: &[Fault] = &[
    (|machine| machine.edit("[state]", "[stat]"), "configuration", "unknown field", "Did you mean 'state'?"),
    (|machine| machine.edit("version = 1", "version = 2"), "configuration", "has version 2", "Update Aquifer"),
    (|machine| ["aquifer.toml", ".cursor/mcp.json"].iter().for_each(|file| std::fs::remove_file(machine.path(file)).unwrap()), "configuration", "cannot be read", "Check the path"),
    (|machine| std::fs::remove_file(machine.path("aquifer.env")).unwrap(), "configuration", "aquifer.env", "refers to"),
    (|machine| machine.set_mode("aquifer.env", 0o644), "configuration", "other users can read the secrets", "chmod 600"),
    (|machine| { machine.folder.file("aquifer.env", "OTHER=1\n"); }, "sources", "${TOKEN}", "Set the variable"),
    (|machine| std::fs::remove_file(machine.path("library.db")).unwrap(), "sources", "does not exist", "Check the path"),
    (|machine| { machine.folder.file("library.db", "this is no database, although it is long enough to be one"); }, "sources", "not a SQLite database", "Check the path"),
    (|machine| machine.edit("command = \"python3\"", "command = \"no-such-program\""), "sources", "command not found", "Install no-such-program"),
    (|machine| machine.edit("command = \"python3\"", "command = \"/nowhere/npx\""), "sources", "no such file", "Install Node.js"),
    (|machine| { let line = machine.line("command"); machine.edit(&line, "command = \"sh\"\nargs = [\"-c\", \"exit 3\"]\n#"); let line = machine.line("args = [\"/"); machine.edit(&line, ""); }, "sources", "tools", "Run it by hand"),
    (|machine| { let line = machine.line("target"); machine.edit(&line, "target = \"postgres://a:b@127.0.0.1:1/shop\""); }, "sources", "no server is listening", "Start PostgreSQL"),
    (|machine| machine.set_mode("state", 0o755), "state", "other users", "chmod 700"),
    (|machine| { machine.folder.file("state/version", "99\n"); }, "state", "newer Aquifer", "state.dir"),
    (|machine| { machine.folder.file("state/cursor.key", "short"); }, "state", "not a valid key", "Remove the file"),
    (|machine| { for ending in ["", "-wal", "-shm"] { let _ = std::fs::remove_file(machine.path(&format!("state/state.sqlite{ending}"))); } machine.folder.file("state/state.sqlite", &"damaged ".repeat(900)); }, "state", "damaged", "move the file away"),
    (|machine| machine.edit("[state]", "[state]\nstore = \"redis://127.0.0.1:1\""), "state", "127.0.0.1", "Start Redis"),
    (|machine| alter(&machine.path("state/state.sqlite"), "UPDATE records SET value = CAST('4102444800000' AS BLOB), version = 4102444800000 WHERE key = 'clock/high_water'"), "clock", "in the future", "Set the clock"),
    (|machine| { let file = audit_file(machine); let text = std::fs::read_to_string(&file).unwrap(); std::fs::write(&file, text.replace("create_book", "delete_book")).unwrap(); }, "audit", "changed or are missing", "aquifer audit verify"),
    (|machine| { let line = machine.line("address"); machine.edit(&line, &format!("address = \"{}\"", machine._listener.local_addr().unwrap())); }, "network", "another program", "another port"),
    (|machine| { machine.folder.file(".cursor/mcp.json", "{ not json"); }, "clients", "Cursor", "Correct the file"),
    (|machine| { machine.folder.file(".cursor/mcp.json", r#"{"mcpServers": {"aquifer": {"command": "/nowhere/aquifer", "args": ["serve"]}}}"#); }, "clients", "/nowhere/aquifer, which does not exist", "aquifer init --apply"),
    (|machine| { let entry = json!({ "command": env!("CARGO_BIN_EXE_aquifer"), "args": ["serve", "--config", "/nowhere/aquifer.toml"] }); machine.folder.file(".cursor/mcp.json", &json!({ "mcpServers": { "aquifer": entry } }).to_string()); }, "clients", "/nowhere/aquifer.toml", "correct the path"),
    (|machine| { std::fs::create_dir(machine.path("bin")).unwrap(); machine.folder.file("bin/aquifer", "#!/bin/sh\necho aquifer 0.0.1\n"); machine.set_mode("bin/aquifer", 0o755); }, "versions", "another version, 0.0.1", "update it"),
];

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
fn the_report_is_written_for_people() {
    let machine = Machine::new();
    machine.set_mode("aquifer.env", 0o644);
    let output = aquifer().args(["doctor", "--offline", "--config", &machine.path("aquifer.toml")]).output().unwrap();
    let shown = text(&output.stdout);
    assert!(shown.contains("PROBLEM") && shown.contains("chmod 600") && shown.contains("not checked"), "{shown}");
    assert!(shown.trim_end().ends_with("1 problem."), "{shown}");
    assert!(!shown.contains("hush"), "{shown}");
}
