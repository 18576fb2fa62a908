//! The way of a new user with servers nobody here wrote: `init`, `policy show`, `interrogate`, `review`, `build`, `validate`,
//! `serve`. One of the three servers cannot start, one has secrets. Whatever a command says is held against what is so.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::support::{Folder, StdioServer, aquifer, children, shell_in, text, token};

const SECRETS: [&str; 2] = ["hush-walk-key-4720", "hush-walk-note-4721"];

fn node() -> String {
    std::env::var("AQUIFER_TEST_NODE").unwrap_or_else(|_| "node".to_owned())
}

fn script(name: &str) -> String {
    let installed = std::env::var_os("AQUIFER_TEST_SERVERS_NPM")
        .unwrap_or_else(|| panic!("AQUIFER_TEST_SERVERS_NPM is not set. Run these tests with: cargo xtask test"));
    let path = format!("node_modules/@modelcontextprotocol/server-{name}/dist/index.js");
    PathBuf::from(installed).join(path).display().to_string()
}

/// A user's home: Cursor with three servers, files to read, and notes of the user's own in the client's file.
fn home() -> Folder {
    let folder = Folder::new();
    let node = node();
    for made in ["files", ".cursor"] {
        std::fs::create_dir(folder.path(made)).unwrap();
    }
    folder.file("files/hello.txt", "Hello");
    let [key, note] = SECRETS;
    let servers = json!({
        "files": { "command": node, "args": [script("filesystem"), folder.path("files")] },
        "memory": { "command": node, "args": [script("memory")], "env": {
            "MEMORY_FILE_PATH": folder.path("memory.jsonl"), "MEMORY_API_KEY": key, "MEMORY_NOTE": note } },
        "archive": { "command": node, "args": [script("filesystem"), folder.path("gone")] },
    });
    let file = format!("{{\n  // mine\n  \"mcpServers\": {}\n}}\n", serde_json::to_string_pretty(&servers).unwrap());
    folder.file(".cursor/mcp.json", &file);
    folder
}

/// Runs a command as the user types it. Nothing that it prints holds a secret or a trace of our own code.
fn typed(folder: &Folder, command: &str, expected: i32) -> (String, String) {
    let output: Output = shell_in(folder, command);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(expected), "{command}\n{out}\n{err}");
    for stderr in [&out, &err] {
        assert!(!SECRETS.iter().any(|secret| stderr.contains(secret)), "{command}: {stderr}");
        assert!(!stderr.contains("panicked"), "{command}: {stderr}");
    }
    (out, err)
}

fn read(folder: &Folder, path: &str) -> String {
    std::fs::read_to_string(folder.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A server as the client's file starts it.
fn started_by_client(folder: &Folder) -> StdioServer {
    let text = read(folder, ".cursor/mcp.json").replace("// mine", "");
    let file: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let entry = &file["mcpServers"]["aquifer"];
    let mut command = Command::new(entry["command"].as_str().unwrap_or_else(|| panic!("{file}")));
    command.args(entry["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()));
    let mut piped = StdioServer::spawn(command.env("XDG_STATE_HOME", folder.path("state")).env_remove("AQUIFER_LOG"));
    piped.initialize("2025-06-18");
    piped
}

/// Every row of `policy show`, as JSON has it.
fn decisions(folder: &Folder) -> Vec<(String, String)> {
    let (out, _) = typed(folder, "aquifer policy show --config aquifer.toml --json", 0);
    let shown: Value = serde_json::from_str(&out).unwrap();
    let rows = shown["operations"].as_array().unwrap_or_else(|| panic!("{shown}"));
    let word = |row: &Value, key: &str| row[key].as_str().unwrap_or_else(|| panic!("{row}")).to_owned();
    rows.iter().map(|row| (word(row, "operation"), word(row, "decision"))).collect()
}

#[test]
fn everything_a_new_user_reads_is_true() {
    let folder = home();
    let before = read(&folder, ".cursor/mcp.json");

    // What init says it did, it did, and nothing else.
    let (snippet, stderr) = typed(&folder, "aquifer init", 0);
    assert!(stderr.contains("with 3 sources") && stderr.contains("files of your clients are unchanged"), "{stderr}");
    assert_eq!(read(&folder, ".cursor/mcp.json"), before);
    let (config, values) = (read(&folder, "aquifer.toml"), read(&folder, "aquifer.env"));
    assert!(SECRETS.iter().all(|secret| !config.contains(secret) && values.contains(secret)), "{config}{values}");
    assert!(stderr.contains("MEMORY_API_KEY  env MEMORY_API_KEY of 'memory'"), "{stderr}");
    let mode = std::fs::metadata(folder.path("aquifer.env")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(snippet.contains("\"serve\"") && snippet.contains("aquifer.toml"), "{snippet}");

    // What policy shows is what happens.
    let (table, stderr) = typed(&folder, "aquifer policy show --config aquifer.toml", 0);
    assert!((table.clone() + &stderr).contains("archive"), "the broken server is named: {table}{stderr}");
    let decisions = decisions(&folder);
    let decided = |name: &str| {
        let found = decisions.iter().find(|(operation, _)| operation == name);
        found.unwrap_or_else(|| panic!("{name}: {decisions:?}")).1.clone()
    };
    for (name, decision) in &decisions {
        assert!(table.contains(name.as_str()), "{name} ({decision}) is not in the table: {table}");
    }
    for (name, params, runs) in [
        ("files_list_directory", json!({ "path": folder.path("files") }), true),
        ("files_write_file", json!({ "path": folder.path("files/new.txt"), "content": "x" }), false),
        ("memory_read_graph", json!({}), true),
        ("memory_delete_entities", json!({ "entity_names": ["nobody"] }), false),
    ] {
        assert_eq!(decided(name) == "allow", runs, "{name}: {decisions:?}");
        let command = format!("aquifer call {name} '{params}' --config aquifer.toml");
        let (answer, _) = typed(&folder, &command, i32::from(!runs));
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!((answer["success"] == true, token(&answer).is_some()), (runs, !runs), "{name}: {answer}");
        let (explained, _) = typed(&folder, &format!("{command} --explain"), 0);
        assert!(explained.contains(&decided(name)), "{name}: {explained}");
    }
    assert!(!PathBuf::from(folder.path("files/new.txt")).exists());

    // A server is looked at, decided about, and served as it was decided.
    typed(&folder, "aquifer interrogate .cursor/mcp.json --server memory -o memory.bundle.json", 0);
    let bundle: Value = serde_json::from_str(&read(&folder, "memory.bundle.json")).unwrap();
    let tools = bundle["raw_capture"]["tools"].as_array().unwrap_or_else(|| panic!("{bundle}")).len();
    let (_, stderr) = typed(&folder, "aquifer review memory.bundle.json", 0);
    assert!(stderr.is_empty() || !stderr.contains("error"), "{stderr}");
    let decide =
        "aquifer review memory.bundle.json --accept-all --danger add_observations=destructive -o memory.overrides.yaml";
    typed(&folder, decide, 0);
    typed(&folder, "aquifer build memory.bundle.json --overrides memory.overrides.yaml", 0);
    let files = "aquifer.toml .cursor/mcp.json memory.bundle.json memory.overrides.yaml memory-adapter.md";
    let (valid, _) = typed(&folder, &format!("aquifer validate {files}"), 0);
    assert_eq!(valid.matches(": valid ").count(), 5, "{valid}");
    assert!(
        valid.contains("configuration, 3 sources") && valid.contains(&format!("adapter, {tools} operations")),
        "{valid}"
    );
    let server = format!("{} {}", node(), script("memory"));
    let (shown, _) =
        typed(&folder, &format!("aquifer policy show memory-adapter.md --trust validated --json -- {server}"), 0);
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let row = shown["operations"].as_array().unwrap().iter().find(|row| row["operation"] == "add_observations");
    assert_eq!(row.unwrap_or_else(|| panic!("{shown}"))["decision"], "confirm");
    for written in ["memory.bundle.json", "memory.overrides.yaml", "memory-adapter.md"] {
        assert!(!SECRETS.iter().any(|secret| read(&folder, written).contains(secret)), "{written}");
    }

    // The client starts it, and everything is there: five tools or fewer, both servers, and the secret where it belongs.
    let (_, stderr) = typed(&folder, "aquifer init --apply", 0);
    assert_eq!(read(&folder, ".cursor/mcp.json.before-aquifer"), before, "{stderr}");
    let mut piped = started_by_client(&folder);
    let offered = piped.tools();
    assert!((1..=5).contains(&offered.len()), "{offered:?}");
    let listed = piped.data("read", "files_list_directory", json!({ "path": folder.path("files") }));
    assert!(listed.to_string().contains("hello.txt"), "{listed}");
    piped.data(
        "create",
        "memory_create_entities",
        json!({ "entities": [
        { "name": "Ada", "entityType": "person", "observations": ["mathematician"] }] }),
    );
    assert!(read(&folder, "memory.jsonl").contains("Ada"));
    let environments: Vec<String> = children(piped.pid())
        .into_iter()
        .map(|pid| text(&std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default()))
        .collect();
    let holders = environments.iter().filter(|environment| environment.contains(SECRETS[0])).count();
    assert_eq!(holders, 1, "one server has the secret, and no other");
    assert_eq!(piped.error("read", "archive_upstream_status", json!({}))["code"], "UPSTREAM_UNAVAILABLE");
    drop(piped);
    let mut command = aquifer();
    command.args(["validate", &folder.path("aquifer.toml")]).env("XDG_STATE_HOME", folder.path("state"));
    assert!(command.output().unwrap().status.success());
}
