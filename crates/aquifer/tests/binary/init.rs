//! `aquifer init`: the clients of a machine, one configuration, one snippet for each, and their own files changed where
//! that is asked for.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::safety::Fixture;
use crate::support::{Folder, aquifer, confirmed, server, text, tools};

const SECRETS: [&str; 4] = ["hush-environment-4711", "hush-argument-4712", "hush-header-4713", "hush-query-4714"];

/// A machine with clients on it.
fn machine() -> Folder {
    let folder = Folder::new();
    let [python, program, offered] = server(&folder.tools("tools.json", &tools()));
    let [env, argument, header, query] = SECRETS;
    let put = |path: &str, text: String| put(&folder, path, &text);
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

pub(crate) fn put(folder: &Folder, path: &str, text: &str) {
    let path = folder.path(path);
    std::fs::create_dir_all(Path::new(&path).parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

pub(crate) fn read(folder: &Folder, path: &str) -> String {
    std::fs::read_to_string(folder.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn mode(folder: &Folder, path: &str) -> u32 {
    std::fs::metadata(folder.path(path)).unwrap().permissions().mode() & 0o777
}

pub(crate) fn init(folder: &Folder, arguments: &[&str]) -> Output {
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
        for printed in [&written, &text(&output.stdout), &text(&output.stderr), &text(&shown.stderr)] {
            assert!(!printed.contains(secret), "{printed}");
        }
    }
    assert!(
        written.contains("FILES_TOKEN\" = \"${FILES_TOKEN}\"") && written.contains("LOG_LEVEL\" = \"debug\""),
        "{written}"
    );
    assert!(written.contains("\"Bearer ${WEB_TOKEN}\""), "{written}");
    assert_eq!(written.matches("[[source]]").count(), 5, "each server once, and not ourselves: {written}");
    // What is told to people.
    let printed = text(&output.stderr);
    for words in [
        "Claude Desktop",
        "Cursor",
        "VS Code",
        "Codex",
        "Gemini CLI",
        "'broken' has neither",
        "Not readable as JSON",
        "FILES_TOKEN  env FILES_TOKEN of 'files'",
        "WEB_TOKEN  header Authorization of 'web'",
    ] {
        assert!(printed.contains(words), "{words}: {printed}");
    }
    // A snippet for every client, in its own words.
    let snippets = text(&output.stdout);
    for words in [
        "\"mcpServers\"",
        "\"servers\"",
        "[mcp_servers.aquifer]",
        "\"--config\"",
        // What VS Code asks a person for, it goes on asking for.
        "\"WEB_TOKEN\": \"${input:web-token}\"",
    ] {
        assert!(snippets.contains(words), "{words}: {snippets}");
    }
    let first: String = snippets.lines().skip(1).take_while(|line| !line.starts_with('#')).collect();
    let first: Value = serde_json::from_str(&first).unwrap_or_else(|_| panic!("{snippets}"));
    assert_eq!(first["mcpServers"]["aquifer"]["args"][0], "serve");
    // What stands there stays.
    std::fs::write(folder.path("aquifer.toml"), "# mine\n").unwrap();
    let again = init(&folder, &[]);
    assert_eq!(again.status.code(), Some(1));
    assert!(text(&again.stderr).contains("--force"), "{}", text(&again.stderr));
    assert_eq!(std::fs::read_to_string(folder.path("aquifer.toml")).unwrap(), "# mine\n");
    assert_eq!(init(&folder, &["--force"]).status.code(), Some(0));
    assert_eq!(read(&folder, "aquifer.toml.before-aquifer"), "# mine\n");
    // Secrets are in a file for its owner alone, and it works as it is.
    let values = read(&folder, "aquifer.env");
    assert!(SECRETS.iter().all(|secret| values.contains(secret)), "{values}");
    assert_eq!(mode(&folder, "aquifer.env"), 0o600);
    let called = confirmed(&json!({ "thing_id": 1 }), |params| {
        let mut command = aquifer();
        command.args(["call", "files_frobnicate", params, "--config", &folder.path("aquifer.toml")]);
        command.env("XDG_STATE_HOME", folder.path("state")).env_remove("FILES_TOKEN");
        command.stdin(Stdio::null()).output().unwrap()
    });
    assert_eq!(called.status.code(), Some(0), "{}{}", text(&called.stdout), text(&called.stderr));
}

#[test]
fn init_without_clients_explains_what_to_do() {
    let folder = Folder::new();
    let output = init(&folder, &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("have no MCP servers"), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "");
}

/// Whatever is in a client's file beside its servers is there afterwards, and the file as it was is kept.
#[test]
fn apply_changes_the_clients_files_and_keeps_everything_else() {
    let folder = machine();
    let code = "{ // mine\n  \"inputs\": [{ \"id\": \"web-token\", \"type\": \"promptString\" }],\n  \"servers\": {\n    \
                // the one on the web\n    \"web\": { \"type\": \"http\", \"url\": \"https://web.example.com/mcp\", \
                \"headers\": { \"Authorization\": \"Bearer ${input:web-token}\" } },\n    \
                \"off\": { \"command\": \"x\", \"disabled\": true },\n  },\n}\n";
    put(&folder, ".config/Code/User/mcp.json", code);
    put(
        &folder,
        ".codex/config.toml",
        "# mine\nmodel = \"o3\"\n\n[mcp_servers.code]\ncommand = \"code-server\"\n\n[tui]\nbell = false # quiet\n",
    );
    put(&folder, ".gemini/settings.json", "{ \"theme\": \"y\" }");
    let untouched = [".gemini/settings.json", ".config/zed/settings.json"].map(|path| (path, read(&folder, path)));
    // Dotfiles are often links, and often private.
    let (link, real) = (folder.path(".cursor/mcp.json"), folder.path("dotfiles.json"));
    std::fs::rename(&link, &real).unwrap();
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let cursor = read(&folder, ".cursor/mcp.json");

    let output = init(&folder, &["--apply"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "", "there is nothing to paste");
    for (path, text) in untouched {
        assert_eq!(read(&folder, path), text, "{path}");
    }
    let edited = read(&folder, ".config/Code/User/mcp.json");
    assert!(edited.starts_with("{ // mine\n  \"inputs\": [{ \"id\": \"web-token\""), "{edited}");
    assert!(edited.contains("\"off\": { \"command\": \"x\", \"disabled\": true },"), "{edited}");
    assert!(edited.contains("\"WEB_TOKEN\": \"${input:web-token}\"") && !edited.contains("https://"), "{edited}");
    assert_eq!(read(&folder, ".config/Code/User/mcp.json.before-aquifer"), code);
    let edited = read(&folder, ".codex/config.toml");
    assert!(edited.starts_with("# mine\nmodel = \"o3\"\n\n[tui]\nbell = false # quiet\n"), "{edited}");
    assert!(edited.contains("[mcp_servers.aquifer]") && !edited.contains("code-server"), "{edited}");
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!((mode(&folder, "dotfiles.json"), mode(&folder, "dotfiles.json.before-aquifer")), (0o600, 0o600));
    assert_eq!(read(&folder, "dotfiles.json.before-aquifer"), cursor);
    let edited: Value = serde_json::from_str(&read(&folder, ".cursor/mcp.json")).unwrap();
    let servers = edited["mcpServers"].as_object().unwrap();
    // The first one serves what is in the folder where the client starts it, which nobody knows.
    assert_eq!(servers.keys().collect::<Vec<_>>(), ["aquifer", "aquifer-2"], "{edited}");
    let config = std::fs::canonicalize(folder.path("aquifer.toml")).unwrap();
    assert_eq!(servers["aquifer"]["args"], json!(["serve"]));
    assert_eq!(servers["aquifer-2"]["args"], json!(["serve", "--config", config]));
    // A server that makes no sense is left for its owner to mend.
    assert!(read(&folder, ".config/Claude/claude_desktop_config.json").contains("\"broken\""));

    // Nobody has other servers than Aquifer now.
    let again = init(&folder, &["--apply"]);
    assert_eq!(again.status.code(), Some(0), "{}", text(&again.stderr));
    assert!(text(&again.stderr).contains("Already uses Aquifer: Claude Desktop, Cursor, VS Code, Codex"));
    assert!(!Path::new(&folder.path("dotfiles.json.before-aquifer-2")).exists());
}

/// What `--apply` changed is put back, and the changed file is kept beside it.
#[test]
fn undo_puts_the_files_of_clients_back() {
    let folder = machine();
    put(&folder, ".gemini/settings.json", "{}");
    let nothing = init(&folder, &["--undo"]);
    assert_eq!(nothing.status.code(), Some(2), "{}", text(&nothing.stderr));
    let files = [".config/Claude/claude_desktop_config.json", ".config/Code/User/mcp.json", ".codex/config.toml"];
    let before = files.map(|path| read(&folder, path));
    assert_eq!(init(&folder, &["--apply"]).status.code(), Some(0));
    let applied = files.map(|path| read(&folder, path));
    let undone = init(&folder, &["--undo"]);
    assert_eq!(undone.status.code(), Some(0), "{}", text(&undone.stderr));
    for ((path, before), applied) in files.iter().zip(&before).zip(&applied) {
        assert_ne!(before, applied, "{path}");
        assert_eq!(read(&folder, path), *before, "{path}");
        assert_eq!(read(&folder, &format!("{path}.with-aquifer")), *applied, "{path}");
    }
    // Once more, there and back.
    assert_eq!(init(&folder, &["--apply", "--force"]).status.code(), Some(0));
    assert_eq!(init(&folder, &["--undo"]).status.code(), Some(0));
    assert_eq!(files.map(|path| read(&folder, path)), before);
}

/// A client's file that cannot be edited safely stays as it is, and the others are changed.
#[test]
fn apply_leaves_alone_what_it_cannot_edit() {
    let folder = machine();
    let odd = "mcp_servers = { code = { command = \"code-server\" } }\n";
    put(&folder, ".codex/config.toml", odd);
    let output = init(&folder, &["--apply"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(
        text(&output.stderr).contains("Codex: ") && text(&output.stderr).contains("Paste"),
        "{}",
        text(&output.stderr)
    );
    assert_eq!(read(&folder, ".codex/config.toml"), odd);
    assert!(read(&folder, ".cursor/mcp.json").contains("\"serve\""));
}

/// What a README tells people to replace is no value, wherever it stands, and a variable never stands for two things.
#[test]
fn placeholders_are_named_and_not_taken_for_values() {
    let folder = Folder::new();
    put(
        &folder,
        ".cursor/mcp.json",
        &json!({ "mcpServers": {
            "github": { "command": "npx", "args": ["-y", "server-github"], "env": { "GITHUB_TOKEN": "<YOUR_TOKEN>" } },
            "files": { "command": "npx", "args": ["-y", "server-files", "/path/to/allowed/files"] },
            "search": { "url": "https://search.example.com/mcp", "headers": { "Authorization": "Bearer YOUR_API_KEY" } },
            "shell": { "command": "shell-server", "env": { "SHELL_TOKEN": "${env:API_TOKEN}", "BASE": "x-${API_TOKEN}" } },
            "own": { "command": "own-server", "env": { "API_TOKEN": "hush-own-4715" } },
        } })
        .to_string(),
    );
    let output = init(&folder, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let (written, values, stderr) = (read(&folder, "aquifer.toml"), read(&folder, "aquifer.env"), text(&output.stderr));
    for placeholder in ["YOUR_TOKEN", "YOUR_API_KEY", "/path/to"] {
        assert!(!written.contains(placeholder) && !values.contains(placeholder), "{placeholder}: {written}{values}");
    }
    for (variable, fixture) in [
        ("GITHUB_TOKEN", "env GITHUB_TOKEN of 'github'"),
        ("FILES_ARGUMENT_3", "argument 3 of 'files'"),
        ("SEARCH_AUTHORIZATION", "header Authorization of 'search'"),
    ] {
        assert!(written.contains(&format!("${{{variable}}}")), "{variable}: {written}");
        assert!(values.contains(&format!("\n# {variable}=\n")), "{variable}: {values}");
        assert!(stderr.contains(&format!("{variable}  {fixture}")), "{variable}: {stderr}");
    }
    assert!(written.contains("\"Bearer ${SEARCH_AUTHORIZATION}\""), "{written}");
    // One server's literal does not become what another reads from the environment.
    assert!(values.contains("OWN_API_TOKEN=hush-own-4715") && !values.contains("\nAPI_TOKEN="), "{values}");
    assert!(
        written.contains("\"SHELL_TOKEN\" = \"${API_TOKEN}\"") && written.contains("\"x-${API_TOKEN}\""),
        "{written}"
    );
    // What a person filled in meanwhile stays; what is another value than before is not written over unasked.
    std::fs::write(
        folder.path("aquifer.env"),
        values.replace("# GITHUB_TOKEN=", "GITHUB_TOKEN='mine now'") + "OTHER=1\n",
    )
    .unwrap();
    assert_eq!(init(&folder, &[]).status.code(), Some(0));
    let values = read(&folder, "aquifer.env");
    assert!(values.contains("GITHUB_TOKEN='mine now'") && values.contains("OTHER=1"), "{values}");
    std::fs::write(folder.path("aquifer.env"), values.replace("4715", "4716")).unwrap();
    let again = init(&folder, &[]);
    assert!(again.status.code() == Some(1) && text(&again.stderr).contains("OWN_API_TOKEN"), "{}", text(&again.stderr));
    assert!(read(&folder, "aquifer.env").contains("4716"));
}

/// At a terminal, what is missing is asked for and not shown.
#[test]
fn a_person_is_asked_for_what_is_missing() {
    let folder = Folder::new();
    let server = json!({ "command": "npx", "env": { "A_TOKEN": "<token>", "B_TOKEN": "changeme", "C_TOKEN": "TODO" } });
    put(&folder, ".cursor/mcp.json", &json!({ "mcpServers": { "one": server } }).to_string());
    let home = folder.path("");
    let command = ["env", "-u", "XDG_CONFIG_HOME", &format!("HOME={home}"), "sh", "-c", "cd && exec \"$0\" init"];
    let command = [&command[..], &[env!("CARGO_BIN_EXE_aquifer")]].concat();
    let talk = [("A_TOKEN: ", "hush typed 4717"), ("B_TOKEN: ", ""), ("C_TOKEN: ", "<your-token>")];
    let (code, shown) = Fixture::at_terminal("", &talk, &command);
    assert_eq!(code, 0, "{shown}");
    assert!(!shown.contains("hush"), "{shown}");
    let values = read(&folder, "aquifer.env");
    assert!(values.contains("A_TOKEN='hush typed 4717'"), "{values}");
    assert!(values.contains("# B_TOKEN=") && values.contains("# C_TOKEN="), "{values}");
}

/// Two windows of VS Code with the same server, others of one name in three files, and options with their values.
#[test]
fn servers_of_several_clients_are_kept_apart_and_inputs_reach_all_that_need_them() {
    let folder = Folder::new();
    let asked = json!({
        "inputs": [{ "id": "key", "type": "promptString", "description": "The\nkey" }, { "id": "zone", "default": "eu" }],
        "servers": { "shared": { "command": "shared-server", "args": ["--key=${input:key}", "--zone", "${input:zone}"] } },
    });
    put(&folder, ".config/Code/User/mcp.json", &asked.to_string());
    put(&folder, ".vscode/mcp.json", &asked.to_string());
    let same_name = |word: &str| json!({ "mcpServers": { "files": { "command": "files", "args": [word, "--token=hush-4740-x"] } } });
    for (path, word) in
        [(".config/Claude/claude_desktop_config.json", "a"), (".cursor/mcp.json", "b"), (".mcp.json", "c")]
    {
        put(&folder, path, &same_name(word).to_string());
    }
    let second = "Library/Application Support/Claude/claude_desktop_config.json";
    put(&folder, second, &same_name("d").to_string());
    let output = init(&folder, &["--apply"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let written = read(&folder, "aquifer.toml");
    for word in ["a", "b", "c", "d"] {
        assert!(written.contains(&format!("args = [\"{word}\", \"--token=${{")), "{word}: {written}");
    }
    assert_eq!(written.matches("[[source]]").count(), 5, "{written}");
    assert!(written.contains("\"--key=${KEY}\", \"--zone\", \"${ZONE:-eu}\""), "{written}");
    for path in [".config/Code/User/mcp.json", ".vscode/mcp.json"] {
        let edited: Value = serde_json::from_str(&read(&folder, path)).unwrap();
        assert_eq!(
            edited["servers"]["aquifer"]["env"],
            json!({ "KEY": "${input:key}", "ZONE": "${input:zone}" }),
            "{path}"
        );
        assert_eq!(edited["inputs"], asked["inputs"], "{path}");
    }
    assert!(!read(&folder, ".cursor/mcp.json").contains("\"env\""), "Cursor asks for nothing");
    assert!(read(&folder, "aquifer.env").contains("asks for it (The key)"));
    assert_eq!(init(&folder, &["-o", "x.env"]).status.code(), Some(2));
}
