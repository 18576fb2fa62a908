//! Names and texts of files reach a terminal without anything that a terminal acts on, and programs exactly.

use std::process::Command;

use aquifer_protocol::text::is_clean;
use serde_json::{Value, json};

use crate::init::put;
use crate::support::{Folder, aquifer, text};

/// A title, a cleared screen, a reversed line, a line that is overwritten, and a tag that only models read.
const HOSTILE: &str = "\u{1b}]0;t\u{7}\u{1b}[8m\u{9b}2J\u{202e}\r\u{8}\u{e0041}x";

fn command(folder: &Folder, words: &[&str]) -> Command {
    let mut command = aquifer();
    command.args(words).current_dir(folder.path("repo")).env("HOME", folder.path("")).env("AQUIFER_LOG", "debug");
    command
}

/// The same command at a terminal, where everything is one stream.
fn at_terminal(folder: &Folder, words: &[&str]) -> Command {
    let plain = command(folder, words);
    let person = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/binary/safety/person.py");
    let mut command = Command::new("python3");
    command.args([person, "[]"]).arg(plain.get_program()).args(plain.get_args());
    command.current_dir(folder.path("repo"));
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

#[test]
fn nothing_from_a_file_controls_the_terminal() {
    let folder = Folder::new();
    let escaped = serde_json::to_string(HOSTILE).unwrap();
    let escaped = escaped.trim_matches('"');
    let server = json!({ "command": format!("c{HOSTILE}"), "args": [HOSTILE], "env": { "TOKEN": HOSTILE } });
    put(&folder, "repo/.mcp.json", &json!({ "mcpServers": { format!("n{HOSTILE}"): server } }).to_string());
    put(&folder, "repo/wrong.toml", &format!("[[source]]\ntarget = \"sqlite:x.db\"\n\"k{escaped}\" = 1\n"));
    put(&folder, "repo/absent.toml", &format!("[[source]]\nname = \"a\"\ntarget = \"sqlite:x{escaped}.db\"\n"));
    let info = json!({ "title": HOSTILE, "version": HOSTILE });
    let paths = json!({ format!("/x{HOSTILE}"): { "get": { "operationId": HOSTILE, "summary": HOSTILE } } });
    put(&folder, "repo/api.json", &json!({ "openapi": "3.1.0", "info": info, "paths": paths }).to_string());
    let unread = format!("no{HOSTILE}.toml");
    for words in [
        &["init", "--dry-run"][..],
        &["init", "-o", "new.toml"],
        &["validate", "wrong.toml", "absent.toml", ".mcp.json", "api.json", &unread],
        &["doctor", "--config", "absent.toml"],
        &["review", "--config", "new.toml"],
        &["policy", "show", "--config", "absent.toml"],
        &["introspect", "--source", "openapi:api.json"],
        &["call", "x", "--source", "openapi:api.json"],
        &["tokens", ".mcp.json"],
        &["validate", &format!("--no{HOSTILE}")],
    ] {
        let piped = command(&folder, words).output().unwrap();
        assert!(is_clean(&text(&piped.stderr)), "{words:?}: {:?}", text(&piped.stderr));
        let shown = at_terminal(&folder, words).output().unwrap();
        let shown = text(&[shown.stdout, shown.stderr].concat()).replace("\r\n", "\n");
        // The progress of a command replaces its own line.
        let shown = shown.replace("\r\u{1b}[K", "");
        assert!(!shown.is_empty() && is_clean(&shown), "{words:?}: {shown:?}");
        // A generated file is for programs, everything else is for people.
        let is_file = words.contains(&"--dry-run");
        assert!(is_file || is_clean(&text(&piped.stdout)), "{words:?}: {:?}", text(&piped.stdout));
    }
    let written = command(&folder, &["init", "--dry-run"]).output().unwrap();
    let config: toml::Table = text(&written.stdout).parse().unwrap();
    assert_eq!(config["source"][0]["args"][0].as_str(), Some(HOSTILE), "{config}");
    let report = command(&folder, &["validate", "--json", "wrong.toml"]).output().unwrap();
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    assert!(report.to_string().contains(escaped.get(..6).unwrap()), "{report}");
}
