//! Servers that are not there, refuse or hang: each is reported once, in its own words, and the others are shown.

use std::process::{Command, Stdio};

use serde_json::json;

use crate::sqlite::LIBRARY;
use crate::support::{Folder, StdioServer, forgetful, server, text, tools};

/// A server that answers the greeting with an error.
const REFUSES: &str = r#"import sys, json
for line in sys.stdin:
    id = json.loads(line).get("id")
    if id is not None:
        error = {"code": -32000, "message": "SUPABASE_ACCESS_TOKEN is required"}
        print(json.dumps({"jsonrpc": "2.0", "id": id, "error": error}), flush=True)
"#;

/// A server's name, and the command that starts it.
type Server = (&'static str, &'static [&'static str]);

/// Text, and how often it is expected.
type ExpectedText = (&'static str, usize);

struct Fixture {
    folder: Folder,
    config: String,
}

impl Fixture {
    /// A library, and servers by name and command.
    fn new(with_library: bool, servers: &[(&str, &[&str])]) -> Self {
        let folder = Folder::new();
        let mut config = String::new();
        if with_library {
            folder.database("library.db", LIBRARY);
            config.push_str("[[source]]\ntarget = \"library.db\"\n");
        }
        for (name, command) in servers {
            let (program, arguments) = (command[0], json!(command[1..]));
            config.push_str(&format!("[[source]]\nname = \"{name}\"\ncommand = {program:?}\nargs = {arguments}\n"));
        }
        let config = folder.file("agent.toml", &config);
        Self { folder, config }
    }

    fn run(&self, words: &[&str]) -> (i32, String, String) {
        let mut command = forgetful(&self.folder);
        let output = command.args(words).arg(&self.config).stdin(Stdio::null()).output().unwrap();
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    }
}

/// The servers, and how often each text is expected.
#[test]
fn each_missing_server_is_reported_once_in_its_own_words() {
    const REFUSED: &[&str] = &["python3", "-c", REFUSES];
    const NONE: &[&str] = &["no-such-program-anywhere", "x"];
    const FILE: &[&str] = &["./no/such/file"];
    const ENDS: &[&str] = &["sh", "-c", "echo 'fatal: no such repository' >&2; exit 3"];
    #[rustfmt::skip]
    let table: &[(&[Server], &[ExpectedText])] = &[
        (&[("git", NONE)], &[("no-such-program-anywhere: command not found; used by source 'git'", 1)]),
        (&[("git", NONE), ("time", NONE)],
            &[("no-such-program-anywhere: command not found; used by sources 'git', 'time'", 1)]),
        (&[("git", FILE)], &[("./no/such/file: no such file", 1), ("'git'", 1)]),
        (&[("git", ENDS)], &[("fatal: no such repository", 1), ("'git'", 1)]),
        (&[("supabase", REFUSED)], &[("SUPABASE_ACCESS_TOKEN is required", 1), ("'supabase'", 1)]),
        (&[("supabase", REFUSED), ("git", NONE), ("files", ENDS)],
            &[("SUPABASE_ACCESS_TOKEN is required", 1), ("command not found", 1), ("fatal: no such repository", 1)]),
    ];
    for (servers, expected) in table {
        for with_library in [true, false] {
            let fixture = Fixture::new(with_library, servers);
            for words in [&["introspect"][..], &["policy", "show"]] {
                let (code, shown, stderr) = fixture.run(words);
                assert_eq!(code, i32::from(!with_library), "{servers:?} {words:?}: {stderr}");
                assert_eq!(shown.contains("list_authors"), with_library, "{servers:?}: {shown}");
                for (expected, count) in *expected {
                    assert_eq!(stderr.matches(expected).count(), *count, "{servers:?} {words:?}: {stderr}");
                }
                assert!(stderr.lines().count() <= servers.len() + 1, "{stderr}");
            }
        }
    }
}

#[test]
fn a_gateway_reports_once_why_a_server_is_missing() {
    let fixture =
        Fixture::new(true, &[("git", &["no-such-program-anywhere"]), ("supabase", &["python3", "-c", REFUSES])]);
    let mut piped = StdioServer::spawn(forgetful(&fixture.folder).args(["serve", &fixture.config]));
    piped.initialize("2025-06-18");
    piped.says("no-such-program-anywhere: command not found; used by source 'git'");
    piped.says("SUPABASE_ACCESS_TOKEN is required");
    assert!(piped.operations().iter().any(|name| name == "library_list_authors"));
}

/// In a terminal, which Python provides, because there a person sees who is waited for.
#[test]
fn a_server_that_hangs_is_named_and_the_others_are_shown() {
    const TERMINAL: &str = "import os, pty, sys\nsys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";
    let folder = Folder::new();
    let started = server(&folder.tools("tools.json", &tools()));
    let words: Vec<&str> = started.iter().map(String::as_str).collect();
    let fixture = Fixture::new(true, &[("slow", &["sleep", "600"]), ("small", &words)]);
    for command in [&["introspect"][..], &["policy", "show"], &["validate"], &["tokens", "--no-calls"]] {
        if command == ["validate"] {
            let rule = "[[gate.rule]]\nname = \"odd\"\neffect = \"deny\"\nsource = \"small\"\ntool = \"list_thing\"\n";
            let text = std::fs::read_to_string(&fixture.config).unwrap();
            std::fs::write(&fixture.config, text + rule).unwrap();
        }
        let mut terminal = Command::new("python3");
        terminal.args(["-c", TERMINAL, env!("CARGO_BIN_EXE_aquifer")]).args(command).arg(&fixture.config);
        terminal.env("XDG_STATE_HOME", fixture.folder.path("state")).env("TERM", "xterm");
        let output = terminal.stdin(Stdio::null()).output().unwrap();
        let shown = text(&output.stdout);
        assert!(shown.contains("waiting for") && shown.contains("'slow'"), "{command:?}: {shown}");
        assert!(shown.contains("Source 'slow' did not answer"), "{command:?}: {shown}");
        let other = if command == ["validate"] { "Did you mean 'list_things'?" } else { "list_things" };
        assert!(shown.contains(other), "{command:?}: {shown}");
    }
}
