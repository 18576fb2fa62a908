//! Names and texts of files reach a terminal without anything that a terminal acts on, and programs exactly.

use std::process::Command;

use aquifer_protocol::text::is_clean;
use serde_json::{Value, json};

use crate::init::put;
use crate::support::{Folder, aquifer, server, text};

/// A title, a cleared screen, a reversed line, a line that is overwritten, a tag that only models read, links, a title in
/// 8-bit controls, a string for the device, a line end, and other marks of direction.
const HOSTILE: &str = concat!(
    "\u{1b}]0;t\u{7}\u{1b}[8m\u{9b}2J\u{202e}\r\u{8}\u{e0041}",
    "\u{1b}]8;;https://x.example\u{1b}\\y\u{1b}]8;;\u{7}\u{9d}0;t\u{9c}\u{1b}Pq\u{1b}\\\u{85}\u{61c}\u{2066}\u{200f}x"
);

/// Whether a terminal shows the text and does nothing else. Independent of how the program cleans it.
fn only_shows(shown: &str) -> bool {
    let acts = |character: char| match character {
        '\n' | '\t' => false,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        character => character.is_control(),
    };
    is_clean(shown) && !shown.contains(acts)
}

fn command(folder: &Folder, words: &[&str]) -> Command {
    let mut command = aquifer();
    command.args(words).current_dir(folder.path("repo")).env("HOME", folder.path("")).env("AQUIFER_LOG", "debug");
    command
}

/// The same command at a terminal, where everything is one stream. It is answered what it asks.
fn at_terminal(folder: &Folder, words: &[&str], talk: &[(&str, &str)]) -> Command {
    let plain = command(folder, words);
    let person = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/binary/safety/person.py");
    let mut command = Command::new("python3");
    command.args([person, &json!(talk).to_string()]).arg(plain.get_program()).args(plain.get_args());
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
        assert!(only_shows(&text(&piped.stderr)), "{words:?}: {:?}", text(&piped.stderr));
        let shown = at_terminal(&folder, words, &[]).output().unwrap();
        let shown = text(&[shown.stdout, shown.stderr].concat()).replace("\r\n", "\n");
        // The progress of a command replaces its own line.
        let shown = shown.replace("\r\u{1b}[K", "");
        assert!(!shown.is_empty() && only_shows(&shown), "{words:?}: {shown:?}");
        // A generated file is for programs, everything else is for people.
        let is_file = words.contains(&"--dry-run");
        assert!(is_file || only_shows(&text(&piped.stdout)), "{words:?}: {:?}", text(&piped.stdout));
    }
    let written = command(&folder, &["init", "--dry-run"]).output().unwrap();
    let config: toml::Table = text(&written.stdout).parse().unwrap();
    assert_eq!(config["source"][0]["args"][0].as_str(), Some(HOSTILE), "{config}");
    let report = command(&folder, &["validate", "--json", "wrong.toml"]).output().unwrap();
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    assert!(report.to_string().contains(escaped.get(..6).unwrap()), "{report}");
}

/// What a review shows of tools that were changed: their names, descriptions and parameters.
#[test]
fn nothing_that_a_reviewed_server_says_controls_the_terminal() {
    let folder = Folder::new();
    let tools = |description: &str| {
        let parameter = json!({ "type": "string", "description": description, "enum": [HOSTILE] });
        let schema = json!({ "type": "object", "properties": { format!("p{HOSTILE}"): parameter } });
        let tool = |name: &str| {
            let hints = json!({ "readOnlyHint": true });
            json!({ "name": name, "description": description, "inputSchema": schema, "annotations": hints })
        };
        folder.tools("tools.json", &json!([tool("list_things"), tool(&format!("get{HOSTILE}"))]));
    };
    tools(&format!("First {HOSTILE}"));
    let [python, program, offered] = server(&folder.path("tools.json"));
    let state = folder.path("state");
    let source = format!("name = \"people\"\ncommand = {python:?}\nargs = [{program:?}, {offered:?}]\n");
    put(&folder, "repo/aquifer.toml", &format!("[state]\ndir = {state:?}\n[[source]]\n{source}"));
    let known = command(&folder, &["call", "list_things", "--config", "aquifer.toml"]).output().unwrap();
    assert!(known.status.success(), "{}", text(&known.stderr));
    tools(&format!("Second {HOSTILE}"));
    let refuse = [("[y/N/q] > ", "n"); 2];
    for (words, talk) in [
        (&["review", "people", "--config", "aquifer.toml"][..], &refuse[..]),
        (&["review", "people", "--config", "aquifer.toml", "--accept", HOSTILE], &[]),
        (&["review", HOSTILE, "--config", "aquifer.toml"], &[]),
        (&["review", "people", "--config", "aquifer.toml", "--accept-all"], &[]),
    ] {
        let piped = command(&folder, words).output().unwrap();
        let piped = text(&[piped.stdout, piped.stderr].concat());
        assert!(only_shows(&piped), "{words:?}: {piped:?}");
        let shown = at_terminal(&folder, words, talk).output().unwrap();
        let shown = text(&[shown.stdout, shown.stderr].concat()).replace("\r\n", "\n").replace("\r\u{1b}[K", "");
        assert!(!shown.is_empty() && only_shows(&shown), "{words:?}: {shown:?}");
        // Each of the two tools is asked about.
        assert_eq!(shown.matches("[y/N/q]").count(), talk.len(), "{words:?}: {shown}");
        let shows_changes = words.contains(&"--accept-all") || !talk.is_empty();
        assert!(!shows_changes || piped.contains("+ Second"), "{words:?}: {piped}");
        assert!(talk.is_empty() || shown.contains("+ Second"), "{words:?}: {shown}");
    }
    let done = text(&command(&folder, &["review", "people", "--config", "aquifer.toml"]).output().unwrap().stdout);
    assert!(!done.contains("quarantined"), "{done}");
}
