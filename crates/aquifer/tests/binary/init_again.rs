//! `aquifer init` on a machine where it was used before, and on files that it must not touch.

use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::init::{init, put, read};
use crate::support::{Folder, aquifer, text};

const CURSOR: &str = ".cursor/mcp.json";

pub(crate) fn init_in(folder: &Folder, directory: &str, arguments: &[&str]) -> Output {
    let directory = folder.path(directory);
    std::fs::create_dir_all(&directory).unwrap();
    let mut command = aquifer();
    command.env("HOME", folder.path("")).env_remove("XDG_CONFIG_HOME").current_dir(directory);
    command.arg("init").args(arguments).stdin(Stdio::null()).output().unwrap()
}

#[track_caller]
fn run(folder: &Folder, arguments: &[&str], code: i32) -> String {
    let output = init(folder, arguments);
    let printed = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {printed}");
    printed
}

pub(crate) fn parsed(folder: &Folder, path: &str) -> Value {
    serde_json::from_str(&read(folder, path)).unwrap()
}

pub(crate) fn names(folder: &Folder, path: &str) -> Vec<String> {
    parsed(folder, path)["mcpServers"].as_object().unwrap().keys().cloned().collect()
}

/// Changes a JSON file the way a person would.
fn change(folder: &Folder, path: &str, edit: impl Fn(&mut Value)) {
    let mut value = parsed(folder, path);
    edit(&mut value);
    put(folder, path, &serde_json::to_string_pretty(&value).unwrap());
}

/// A machine with two clients that share a server.
fn machine() -> Folder {
    let folder = Folder::new();
    let notes = json!({ "command": "notes", "env": { "TOKEN": "hush-notes-4811" } });
    put(&folder, CURSOR, &json!({ "mcpServers": { "notes": notes, "files": { "command": "files" } } }).to_string());
    put(&folder, ".lmstudio/mcp.json", &json!({ "mcpServers": { "notes": notes } }).to_string());
    put(&folder, ".codex/config.toml", "model = \"o3\"\n\n[mcp_servers.code]\ncommand = \"code\" # mine\n");
    folder
}

#[test]
fn a_second_apply_adds_to_the_configuration_that_clients_use() {
    for directory in ["", "elsewhere"] {
        let folder = machine();
        run(&folder, &["--apply"], 0);
        let commented = read(&folder, "aquifer.toml") + "\n[gate]\n# mine";
        put(&folder, "aquifer.toml", &commented);
        let (values, entry) = (read(&folder, "aquifer.env"), parsed(&folder, CURSOR)["mcpServers"]["aquifer"].clone());
        change(&folder, CURSOR, |file| {
            file["mcpServers"]["files"] = json!({ "command": "other-files", "env": { "TOKEN": "hush-files-4812" } });
            file["mcpServers"]["notes"] = json!({ "command": "notes", "env": { "TOKEN": "hush-notes-4811" } });
        });
        // A new client joins the others.
        put(
            &folder,
            ".codeium/windsurf/mcp_config.json",
            "{\"mcpServers\":{\"web\":{\"url\":\"https://a.example.com/\"}}}",
        );
        let output = init_in(&folder, directory, &["--apply"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(!Path::new(&folder.path("elsewhere/aquifer.toml")).exists());
        let extended = read(&folder, "aquifer.toml");
        assert!(extended.starts_with(&commented), "{extended}");
        assert_eq!(extended.matches("[[source]]").count(), 5, "{extended}");
        assert!(extended.contains("\"files-cursor\"") && extended.contains("name = \"web\""), "{extended}");
        let extended = read(&folder, "aquifer.env");
        assert!(extended.starts_with(&values) && extended.contains("FILES_CURSOR_TOKEN=hush-files-4812"), "{extended}");
        assert_eq!(parsed(&folder, CURSOR)["mcpServers"], json!({ "aquifer": entry }));
        let windsurf = parsed(&folder, ".codeium/windsurf/mcp_config.json");
        assert_eq!(windsurf["mcpServers"]["aquifer"]["args"], entry["args"]);
        // The result is valid, and nothing is left to do.
        assert!(text(&init_in(&folder, directory, &["--apply", "--force"]).stderr).contains("Already uses Aquifer"));
        let check = aquifer().args(["validate", &folder.path("aquifer.toml")]).output().unwrap();
        assert_eq!(check.status.code(), Some(0), "{}{}", text(&check.stdout), text(&check.stderr));
    }
}

#[test]
fn an_env_file_is_named_when_the_first_secret_is_added() {
    let folder = Folder::new();
    put(&folder, CURSOR, "{\"mcpServers\":{\"files\":{\"command\":\"files\"}}}");
    run(&folder, &["--apply"], 0);
    let before = read(&folder, "aquifer.toml");
    let add = |file: &mut Value| file["mcpServers"]["a"] = json!({ "command": "a", "env": { "KEY": "hush-4813-x" } });
    change(&folder, CURSOR, add);
    // Without --apply first, as the guide says. The second run adds nothing.
    run(&folder, &[], 0);
    let written = read(&folder, "aquifer.toml");
    assert!(written.starts_with("env_file = \"aquifer.env\"\n") && written.contains(&before), "{written}");
    assert!(run(&folder, &["--apply"], 0).contains("already has these servers"));
    assert_eq!(read(&folder, "aquifer.toml"), written);
    assert_eq!(names(&folder, CURSOR), ["aquifer"]);
    // A configuration that cannot be extended is left alone, and so is the client.
    put(&folder, "aquifer.toml", "source = [{ command = \"files\", name = \"files\" }]\n");
    change(&folder, CURSOR, |file| file["mcpServers"]["b"] = json!({ "command": "b" }));
    assert!(run(&folder, &["--apply"], 1).contains("Add these sources yourself"));
    put(&folder, "aquifer.toml", "not toml");
    assert!(run(&folder, &["--apply", "--force"], 1).contains("not a valid configuration"));
    assert_eq!(read(&folder, "aquifer.toml"), "not toml");
    assert_eq!(names(&folder, CURSOR), ["aquifer", "b"]);
}

#[test]
fn only_a_server_that_is_served_is_already_in_the_configuration() {
    let folder = Folder::new();
    let remote = |url: &str| json!({ "command": "npx", "args": ["-y", "mcp-remote", url] });
    let servers = json!({
        "search": { "url": "https://search.example.com/?api_key=hush-4814" },
        "docs": remote("<url>"),
        "off": { "command": "off" },
    });
    put(&folder, CURSOR, &json!({ "mcpServers": servers }).to_string());
    run(&folder, &["--apply"], 0);
    let disabled = read(&folder, "aquifer.toml").replace("name = \"off\"", "name = \"off\"\ndisabled = true");
    put(&folder, "aquifer.toml", &disabled);
    change(&folder, CURSOR, |file| {
        file["mcpServers"]["maps"] = json!({ "url": "https://maps.example.com/?api_key=YOUR_API_KEY" });
        file["mcpServers"]["web"] = remote("<url>");
        file["mcpServers"]["off"] = json!({ "command": "off" });
        // The same one again, which may have its value by now.
        file["mcpServers"]["docs"] = remote("<url>");
    });
    let printed = run(&folder, &["--apply"], 0);
    assert_eq!(printed.matches("is already in the configuration").count(), 1, "{printed}");
    assert!(printed.contains("'docs' is already in the configuration as 'docs'"), "{printed}");
    let extended = read(&folder, "aquifer.toml");
    for name in ["maps", "web", "off-cursor"] {
        assert!(extended.contains(&format!("name = \"{name}\"")), "{name}: {extended}");
    }
}

#[test]
fn an_entry_whose_configuration_is_unknown_or_elsewhere_is_kept() {
    for config in ["${workspaceFolder}/cfg/aquifer.toml", "${UNKNOWN}/aquifer.toml", "relative/aquifer.toml"] {
        let folder = Folder::new();
        let own = json!({ "command": "aquifer", "args": ["serve", "--config", config] });
        let servers = json!({ "aquifer": own, "files": { "command": "files" } });
        put(&folder, CURSOR, &json!({ "mcpServers": servers }).to_string());
        let output = init_in(&folder, "elsewhere", &["--apply"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert_eq!(names(&folder, CURSOR), ["aquifer", "aquifer-2"], "{config}");
        assert_eq!(parsed(&folder, CURSOR)["mcpServers"]["aquifer"], own);
    }
    // Variables of clients have their values.
    let folder = Folder::new();
    let own = json!({ "command": "aquifer", "args": ["serve", "--config", "${userHome}/cfg/aquifer.toml"] });
    put(&folder, CURSOR, &json!({ "mcpServers": { "aquifer": own, "files": { "command": "files" } } }).to_string());
    put(&folder, "cfg/aquifer.toml", "[[source]]\nname = \"notes\"\ncommand = \"notes\"\n");
    let output = init_in(&folder, "elsewhere", &["--apply"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(parsed(&folder, CURSOR)["mcpServers"], json!({ "aquifer": own }));
    assert!(read(&folder, "cfg/aquifer.toml").contains("\"files\""));
    // A configuration that is gone is replaced.
    std::fs::remove_file(folder.path("cfg/aquifer.toml")).unwrap();
    change(&folder, CURSOR, |file| file["mcpServers"]["late"] = json!({ "command": "late" }));
    assert_eq!(init_in(&folder, "elsewhere", &["--apply"]).status.code(), Some(0));
    assert_eq!(names(&folder, CURSOR), ["aquifer"]);
}

#[test]
fn configurations_that_share_an_env_file_share_no_values() {
    let folder = Folder::new();
    let start = |name: &str| json!({ "command": "aquifer", "args": ["serve", "--config", folder.path(name)] });
    for (client, config, token) in
        [(CURSOR, "one.toml", "hush-4816-a"), (".lmstudio/mcp.json", "two.toml", "hush-4816-b")]
    {
        put(&folder, config, "env_file = \"shared.env\"\n");
        let server = json!({ "command": "notes", "env": { "TOKEN": token } });
        put(&folder, client, &json!({ "mcpServers": { "aquifer": start(config), "notes": server } }).to_string());
    }
    run(&folder, &["--apply"], 0);
    let values = read(&folder, "shared.env");
    assert!(values.contains("\nTOKEN=hush-4816-a") && values.contains("\nNOTES_TOKEN=hush-4816-b"), "{values}");
    assert!(read(&folder, "two.toml").contains("${NOTES_TOKEN}"));
}

#[test]
fn force_says_what_it_replaces() {
    let folder = machine();
    put(&folder, "aquifer.toml", "[[source]]\nname = \"old\"\ncommand = \"old\"\n");
    let printed = run(&folder, &["--force"], 0);
    assert!(printed.contains("No longer in aquifer.toml: old"), "{printed}");
    assert!(printed.contains("aquifer.toml.before-aquifer"), "{printed}");
}

#[test]
fn undo_takes_back_every_apply_and_keeps_later_edits() {
    let folder = machine();
    let before = [CURSOR, ".codex/config.toml", ".lmstudio/mcp.json"].map(|path| (path, read(&folder, path)));
    run(&folder, &["--apply"], 0);
    change(&folder, CURSOR, |file| {
        file["theme"] = json!("dark");
        file["mcpServers"]["late"] = json!({ "command": "late" });
    });
    put(&folder, ".codex/config.toml", &(read(&folder, ".codex/config.toml") + "\n[tui]\nbell = true\n"));
    run(&folder, &["--apply"], 0);
    assert_eq!(names(&folder, CURSOR), ["aquifer"]);
    change(&folder, CURSOR, |file| file["mcpServers"]["files"] = json!({ "command": "files-2" }));
    let printed = run(&folder, &["--undo"], 0);
    let cursor = parsed(&folder, CURSOR);
    assert_eq!(cursor["theme"], "dark", "{cursor}");
    let mut restored = names(&folder, CURSOR);
    restored.sort();
    assert_eq!(restored, ["files", "late", "notes"]);
    assert_eq!(cursor["mcpServers"]["files"]["command"], "files-2", "{cursor}");
    assert!(
        printed.contains("'files' stays as it is now") && printed.contains("other changes since then are kept"),
        "{printed}"
    );
    let codex = read(&folder, ".codex/config.toml");
    assert_eq!(codex, "model = \"o3\"\n\n[tui]\nbell = true\n\n[mcp_servers.code]\ncommand = \"code\" # mine\n");
    assert_eq!(read(&folder, ".lmstudio/mcp.json"), before[2].1);
    // The first backup is still there, under a name that says that it does not count.
    assert_eq!(read(&folder, ".cursor/mcp.json.undone-aquifer"), before[0].1);
    assert!(!Path::new(&folder.path(".cursor/mcp.json.before-aquifer")).exists());
    run(&folder, &["--undo"], 2);
    // A file that somebody writes later is nothing that --apply changed.
    let own =
        json!({ "mcpServers": { "aquifer": { "command": "aquifer", "args": ["serve", "shop.db"] } } }).to_string();
    put(&folder, CURSOR, &own);
    assert!(run(&folder, &["--undo"], 2).contains("init did not write"));
    assert_eq!(read(&folder, CURSOR), own);
}

#[test]
fn undo_says_what_it_cannot_undo() {
    let folder = machine();
    run(&folder, &["--apply"], 0);
    std::fs::remove_file(folder.path(".cursor/mcp.json.before-aquifer")).unwrap();
    put(&folder, ".lmstudio/mcp.json.before-aquifer", "{ not json");
    let printed = run(&folder, &["--undo"], 1);
    assert!(
        printed.contains("Cursor still starts Aquifer: ") && printed.contains("has no backup from before"),
        "{printed}"
    );
    assert!(printed.contains("LM Studio still starts Aquifer: "), "{printed}");
    assert!(printed.contains("mcp.json.before-aquifer. Remove 'aquifer'"), "{printed}");
    assert!(printed.contains("Codex: its file is as it was before --apply"), "{printed}");
    assert_eq!(names(&folder, CURSOR), ["aquifer"]);
    // With a backup of the second change alone, only that one can be taken back.
    change(&folder, CURSOR, |file| file["mcpServers"]["late"] = json!({ "command": "late" }));
    put(&folder, ".lmstudio/mcp.json", "{}");
    run(&folder, &["--apply"], 0);
    let printed = run(&folder, &["--undo"], 1);
    assert!(printed.contains("But it still starts Aquifer: "), "{printed}");
    assert_eq!(names(&folder, CURSOR), ["aquifer", "late"]);
}

#[test]
fn files_that_cannot_be_used_are_named_and_left_alone() {
    let folder = Folder::new();
    let twice = "{\"mcpServers\":{\"a\":{\"command\":\"old\"},\"a\":{\"command\":\"new\"}}}";
    let sections = "{\"mcpServers\":{\"b\":{\"command\":\"old\"}},\"mcpServers\":{\"c\":{\"command\":\"new\"}}}";
    put(&folder, CURSOR, twice);
    put(&folder, ".mcp.json", sections);
    put(&folder, ".lmstudio/mcp.json", "{\"mcpServers\":{\"ok\":{\"command\":\"ok\"}}}");
    put(&folder, ".gemini/settings.json", "{ not json");
    put(&folder, ".codex/config.toml", "not toml");
    std::fs::create_dir_all(folder.path(".claude.json")).unwrap();
    let printed = run(&folder, &["--apply"], 1);
    for words in [
        "'a' appears twice",
        "'mcpServers' appears twice",
        "Not readable as JSON",
        "Not readable as TOML",
        "cannot be read: ",
        "Claude Code: ",
        "aquifer: Gemini CLI: ",
        "LM Studio now uses Aquifer",
    ] {
        assert!(printed.contains(words), "{words}: {printed}");
    }
    assert_eq!((read(&folder, CURSOR), read(&folder, ".mcp.json")), (twice.to_owned(), sections.to_owned()));
    assert_eq!(read(&folder, "aquifer.toml").matches("[[source]]").count(), 1);
}

#[test]
fn aquifer_is_never_a_source_of_its_own() {
    let folder = Folder::new();
    let servers = json!({
        "one": { "command": "npx", "args": ["-y", "aquifer-mcp", "serve", "sqlite:shop.db"] },
        "two": { "command": "sh", "args": ["-c", "aquifer serve"] },
        "three": { "command": "docker", "args": ["run", "-i", "--rm", "ghcr.io/aquifer-mcp/aquifer", "serve"] },
        "aquifer": { "command": "aquifer", "args": ["serve", "sqlite:shop.db"] },
    });
    put(&folder, CURSOR, &json!({ "mcpServers": servers }).to_string());
    assert!(run(&folder, &["--apply"], 0).contains("Already uses Aquifer: Cursor"));
    assert!(!Path::new(&folder.path("aquifer.toml")).exists());
    // An entry that serves something else stays beside the new one.
    change(&folder, CURSOR, |file| file["mcpServers"]["files"] = json!({ "command": "files" }));
    let before = read(&folder, CURSOR);
    run(&folder, &["--apply"], 0);
    assert_eq!(parsed(&folder, CURSOR)["mcpServers"]["aquifer"], servers["aquifer"]);
    assert_eq!(parsed(&folder, CURSOR)["mcpServers"]["aquifer-2"]["args"][1], "--config");
    assert!(run(&folder, &["--undo"], 0).contains("still starts Aquifer with an entry that it had before"));
    assert_eq!(read(&folder, CURSOR), before);
}

#[test]
fn secrets_in_a_git_repository_are_mentioned() {
    let folder = machine();
    let made = std::process::Command::new("git").args(["init", "--quiet", &folder.path("")]).status();
    if !made.is_ok_and(|status| status.success()) {
        // Without git, its folder is recognized.
        std::fs::create_dir(folder.path(".git")).unwrap();
    }
    let printed = run(&folder, &[], 0);
    assert!(printed.contains("Do not commit it. To ignore it: echo 'aquifer.env*' >> "), "{printed}");
    assert!(!Path::new(&folder.path(".gitignore")).exists());
    put(&folder, ".gitignore", "/aquifer.env*\n");
    assert!(!run(&folder, &["--force"], 0).contains("commit"));
}
