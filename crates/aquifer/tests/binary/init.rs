//! `aquifer init`: the clients of a machine, one configuration, one snippet for each.

use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::support::{Folder, aquifer, confirmed, server, text, tools};

const SECRETS: [&str; 4] = ["hush-environment-4711", "hush-argument-4712", "hush-header-4713", "hush-query-4714"];

/// A machine with clients on it.
fn machine() -> Folder {
    let folder = Folder::new();
    let [python, program, offered] = server(&folder.tools("tools.json", &tools()));
    let [env, argument, header, query] = SECRETS;
    let put = |path: &str, text: String| {
        let path = folder.path(path);
        std::fs::create_dir_all(std::path::Path::new(&path).parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let files =
        json!({ "command": python, "args": [program, offered], "env": { "FILES_TOKEN": env, "LOG_LEVEL": "debug" } });
    put(
        ".config/Claude/claude_desktop_config.json",
        json!({ "mcpServers": { "files": files, "broken": { "args": [] } } }).to_string(),
    );
    put(
        ".cursor/mcp.json",
        json!({ "mcpServers": {
            "files": files,
            "notes": { "command": python, "args": [program, offered, "--api-key", argument] },
            "aquifer": { "command": "/usr/local/bin/aquifer", "args": ["serve"] },
            "far": { "url": format!("https://far.example.com/mcp?key={query}"), "headers": { "X-Api-Key": header } }
        } })
        .to_string(),
    );
    put(
        ".config/Code/User/mcp.json",
        "{ // mine\n \"servers\": { \"web\": { \"type\": \"http\", \"url\": \"https://web.example.com/mcp\", \
         \"headers\": { \"Authorization\": \"Bearer ${input:web-token}\" } }, }, }"
            .to_owned(),
    );
    put(".config/zed/settings.json", "{ \"theme\": \"x\" }".to_owned());
    put(".gemini/settings.json", "{ not json".to_owned());
    put(".codex/config.toml", "[mcp_servers.code]\ncommand = \"code-server\"\nargs = [\"--stdio\"]\n".to_owned());
    folder
}

fn init(folder: &Folder, arguments: &[&str]) -> Output {
    let mut command = aquifer();
    command.env("HOME", folder.path("")).env_remove("XDG_CONFIG_HOME").current_dir(folder.path(""));
    command.arg("init").args(arguments).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn the_clients_of_a_machine_become_one_configuration() {
    let folder = machine();
    let shown = init(&folder, &["--dry-run"]);
    assert!(!std::path::Path::new(&folder.path("aquifer.toml")).exists());
    let output = init(&folder, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let written = std::fs::read_to_string(folder.path("aquifer.toml")).unwrap();
    assert_eq!(text(&shown.stdout), written, "the same input, the same bytes");
    for secret in SECRETS {
        for said in [&written, &text(&output.stdout), &text(&output.stderr), &text(&shown.stderr)] {
            assert!(!said.contains(secret), "{said}");
        }
    }
    assert!(
        written.contains("FILES_TOKEN\" = \"${FILES_TOKEN}\"") && written.contains("LOG_LEVEL\" = \"debug\""),
        "{written}"
    );
    assert!(written.contains("\"Bearer ${WEB_TOKEN}\""), "{written}");
    assert_eq!(written.matches("[[source]]").count(), 5, "each server once, and not ourselves: {written}");
    // What is told to people.
    let said = text(&output.stderr);
    for words in [
        "Claude Desktop",
        "Cursor",
        "VS Code",
        "Codex",
        "Gemini CLI",
        "'broken' has neither",
        "Not readable as JSON",
        "FILES_TOKEN  now in env FILES_TOKEN of 'files'",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    // A snippet for every client, in its own words.
    let snippets = text(&output.stdout);
    for words in [
        "\"mcpServers\"",
        "\"servers\"",
        "[mcp_servers.aquifer]",
        "\"--config\"",
        "\"FILES_TOKEN\": \"<env FILES_TOKEN of files>\"",
    ] {
        assert!(snippets.contains(words), "{words}: {snippets}");
    }
    let first: String = snippets.lines().skip(1).take_while(|line| !line.starts_with('#')).collect();
    let first: Value = serde_json::from_str(&first).unwrap_or_else(|_| panic!("{snippets}"));
    assert_eq!(first["mcpServers"]["aquifer"]["args"][0], "serve");
    // What stands there stays.
    std::fs::write(folder.path("aquifer.toml"), "# mine\n").unwrap();
    let again = init(&folder, &[]);
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("--force"), "{}", text(&again.stderr));
    assert_eq!(std::fs::read_to_string(folder.path("aquifer.toml")).unwrap(), "# mine\n");
    assert_eq!(init(&folder, &["--force"]).status.code(), Some(0));
    // And it works as soon as the values are where the snippet wants them.
    let called = confirmed(&json!({ "thing_id": 1 }), |params| {
        let mut command = aquifer();
        command.args(["call", "files_frobnicate", params, "--config", &folder.path("aquifer.toml")]);
        command.env("XDG_STATE_HOME", folder.path("state")).env("FILES_TOKEN", "x").env("NOTES_ARGUMENT_4", "y");
        command.stdin(Stdio::null()).output().unwrap()
    });
    assert_eq!(called.status.code(), Some(0), "{}{}", text(&called.stdout), text(&called.stderr));
}

#[test]
fn a_machine_without_clients_is_told_what_to_do() {
    let folder = Folder::new();
    let output = init(&folder, &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("no MCP server is configured"), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "");
}
