//! `aquifer init` in the folder of a project. What comes with a repository is started by clients of that project alone.

use std::path::Path;

use serde_json::{Value, json};

use crate::init::{put, read};
use crate::init_again::{init_in, names, parsed};
use crate::support::{Folder, text};

const CURSOR: &str = ".cursor/mcp.json";
const PROJECT: &str = "repo/.mcp.json";
/// The user's own configuration, if `init` runs in a project.
const OWN: &str = ".config/aquifer/aquifer.toml";

/// A file of a client with one server, which runs a command of the same name.
fn client(name: &str) -> String {
    json!({ "mcpServers": { name: { "command": name, "env": { "TOKEN": format!("hush-{name}-4911") } } } }).to_string()
}

#[track_caller]
fn run_in(folder: &Folder, directory: &str, arguments: &[&str], code: i32) -> String {
    let output = init_in(folder, directory, arguments);
    let printed = format!("{}{}", text(&output.stderr), text(&output.stdout));
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {printed}");
    printed
}

/// The configuration that a client starts.
fn started(folder: &Folder, path: &str) -> String {
    let file: Value = parsed(folder, path);
    let config = file["mcpServers"]["aquifer"]["args"][2].as_str().unwrap_or_else(|| panic!("{file}"));
    let home = std::fs::canonicalize(folder.path("")).unwrap();
    Path::new(config).strip_prefix(home).unwrap().display().to_string()
}

#[test]
fn servers_of_a_repository_do_not_reach_the_users_configuration() {
    let folder = Folder::new();
    put(&folder, CURSOR, &client("mine"));
    run_in(&folder, "", &["--apply"], 0);
    let own = read(&folder, "aquifer.toml");
    put(&folder, PROJECT, &client("theirs"));
    // A running server reads its configuration as soon as it changes, so every run counts.
    for arguments in [&["--dry-run"][..], &[], &["--force"], &["--apply"]] {
        let printed = run_in(&folder, "repo", arguments, 0);
        assert!(printed.contains("Servers of the project in "), "{printed}");
        assert_eq!(read(&folder, "aquifer.toml"), own, "{arguments:?}");
    }
    assert!(read(&folder, "repo/aquifer.toml").contains("\"theirs\""));
    assert!(read(&folder, "repo/aquifer.env").contains("hush-theirs-4911"));
    assert_eq!(
        (started(&folder, CURSOR), started(&folder, PROJECT)),
        ("aquifer.toml".into(), "repo/aquifer.toml".into())
    );
    // The next server of the project joins its configuration.
    let both = parsed(&folder, PROJECT)["mcpServers"]["aquifer"].clone();
    put(&folder, PROJECT, &json!({ "mcpServers": { "aquifer": both, "more": { "command": "more" } } }).to_string());
    run_in(&folder, "repo", &["--apply"], 0);
    assert!(read(&folder, "repo/aquifer.toml").contains("\"more\""));
    assert_eq!(read(&folder, "aquifer.toml"), own);

    let printed = run_in(&folder, "repo", &["--undo"], 0);
    assert_eq!(
        (read(&folder, CURSOR), names(&folder, PROJECT)),
        (client("mine"), vec!["more".into(), "theirs".into()])
    );
    let home = std::fs::canonicalize(folder.path("")).unwrap().display().to_string();
    assert!(printed.contains(&format!("no longer need: {home}/aquifer.toml, {home}/repo/aquifer.toml")), "{printed}");
}

#[test]
fn two_configurations_are_written_for_a_user_and_a_project() {
    let folder = Folder::new();
    put(&folder, CURSOR, &client("mine"));
    put(&folder, PROJECT, &client("theirs"));
    let printed = run_in(&folder, "repo", &["--dry-run"], 0);
    assert!(printed.contains("# aquifer.toml: Servers of the project in "), "{printed}");
    assert!(printed.contains("aquifer/aquifer.toml: Your own servers"), "{printed}");
    let printed = run_in(&folder, "repo", &["--apply"], 0);
    for (client, config, served, other) in
        [(CURSOR, OWN, "mine", "theirs"), (PROJECT, "repo/aquifer.toml", "theirs", "mine")]
    {
        assert_eq!(started(&folder, client), config, "{printed}");
        let text = read(&folder, config) + &read(&folder, &config.replace(".toml", ".env"));
        assert!(text.contains(&format!("hush-{served}-4911")) && !text.contains(other), "{text}");
    }
    run_in(&folder, "repo", &["--undo"], 0);
    assert_eq!((read(&folder, CURSOR), read(&folder, PROJECT)), (client("mine"), client("theirs")));
}

/// It is for the user's own servers, or for those of the project if there are no others.
#[test]
fn a_named_file_is_for_one_scope() {
    let folder = Folder::new();
    put(&folder, CURSOR, &client("mine"));
    put(&folder, "repo/none", "");
    run_in(&folder, "repo", &["--apply", "-o", "../named.toml"], 0);
    assert_eq!(started(&folder, CURSOR), "named.toml");
    put(&folder, PROJECT, &client("theirs"));
    let printed = run_in(&folder, "repo", &["--apply", "-o", "../other.toml"], 1);
    assert!(printed.contains("is not in the folder of the project"), "{printed}");
    assert!(!Path::new(&folder.path("other.toml")).exists());
    let printed = run_in(&folder, "repo", &["--apply", "-o", "../named.toml", "--force"], 1);
    assert!(printed.contains("named.toml is your own configuration (Cursor)"), "{printed}");
    run_in(&folder, "repo", &["--apply", "-o", "team.toml"], 0);
    assert_eq!(started(&folder, PROJECT), "repo/team.toml");
}

#[test]
fn a_named_file_is_not_for_two_scopes() {
    let folder = Folder::new();
    put(&folder, CURSOR, &client("mine"));
    put(&folder, PROJECT, &client("theirs"));
    let printed = run_in(&folder, "repo", &["--apply", "-o", "aquifer.toml", "--force"], 1);
    assert!(printed.contains("Claude Code (project) left out: aquifer.toml is for the servers of Cursor"), "{printed}");
    assert!(!read(&folder, "repo/aquifer.toml").contains("theirs"));
    let printed = run_in(&folder, "repo", &["--apply", "--force"], 1);
    assert!(printed.contains("aquifer.toml is your own configuration (Cursor)"), "{printed}");
    assert_eq!(read(&folder, PROJECT), client("theirs"));
}

/// The configuration of a checkout runs the commands of whoever wrote it.
#[test]
fn a_configuration_of_a_project_is_joined_by_this_project_alone() {
    let folder = Folder::new();
    let start = json!({ "command": "aquifer", "args": ["serve", "--config", "./aquifer.toml"] });
    put(&folder, PROJECT, &json!({ "mcpServers": { "aquifer": start } }).to_string());
    put(&folder, "repo/aquifer.toml", "[[source]]\nname = \"theirs\"\ncommand = \"theirs\"\n");
    put(&folder, "repo/.cursor/mcp.json", &json!({ "mcpServers": { "team": { "command": "team" } } }).to_string());
    put(&folder, CURSOR, &client("mine"));
    let named = run_in(&folder, "repo", &["--apply", "--force", "-o", "aquifer.toml"], 1);
    assert!(named.contains("Cursor left out: aquifer.toml is the configuration of a project"), "{named}");
    let extended = read(&folder, "repo/aquifer.toml");
    assert!(
        extended.contains("\"theirs\"") && extended.contains("\"team\"") && !extended.contains("mine"),
        "{extended}"
    );
    run_in(&folder, "repo", &["--apply"], 0);
    assert_eq!(started(&folder, CURSOR), OWN);
    assert_eq!(read(&folder, "repo/aquifer.toml"), extended);
}

#[test]
fn a_repository_cannot_name_or_link_to_a_configuration_of_the_user() {
    let prepared = || {
        let folder = Folder::new();
        put(&folder, CURSOR, &client("mine"));
        run_in(&folder, "", &["--apply"], 0);
        let mine = ["aquifer.toml", "aquifer.env", CURSOR].map(|path| read(&folder, path));
        (folder, mine)
    };
    let check = |folder: &Folder, mine: &[String; 3], printed: &str| {
        assert_eq!(["aquifer.toml", "aquifer.env", CURSOR].map(|path| read(folder, path)), *mine, "{printed}");
    };
    let link = |folder: &Folder, target: &str, path: &str| {
        std::os::unix::fs::symlink(folder.path(target), folder.path(path)).unwrap();
    };
    // An entry of the project that starts the user's configuration, which no client of the user may be using.
    for is_used in [true, false] {
        let (folder, mut mine) = prepared();
        if !is_used {
            mine[2] = "{}".to_owned();
            put(&folder, CURSOR, "{}");
        }
        let start = json!({ "command": "aquifer", "args": ["serve", "--config", folder.path("aquifer.toml")] });
        let servers = json!({ "aquifer": start, "theirs": { "command": "theirs" } });
        put(&folder, PROJECT, &json!({ "mcpServers": servers }).to_string());
        let printed = run_in(&folder, "repo", &["--apply"], 0);
        check(&folder, &mine, &printed);
        assert!(read(&folder, "repo/aquifer.toml").contains("\"theirs\""), "{printed}");
        assert_eq!(names(&folder, PROJECT), ["aquifer", "aquifer-2"]);
    }
    // Links to the configuration, to its env file, to a file that does not exist yet, and to a client's file.
    for (target, path, words) in [
        ("aquifer.toml", "repo/aquifer.toml", "is your own configuration"),
        ("aquifer.env", "repo/aquifer.env", "is not in the folder of the project"),
        ("later.toml", "repo/aquifer.toml", "is not in the folder of the project"),
        ("elsewhere.json", "repo/.vscode/mcp.json", "a link to a file outside of the project"),
    ] {
        let (folder, mine) = prepared();
        put(&folder, "repo/.vscode/none", "");
        put(&folder, "elsewhere.json", &client("elsewhere"));
        put(&folder, PROJECT, &client("theirs"));
        link(&folder, target, path);
        let printed = run_in(&folder, "repo", &["--apply", "--force"], 1);
        assert!(printed.contains(words), "{path}: {printed}");
        check(&folder, &mine, &printed);
        assert!(!Path::new(&folder.path("later.toml")).exists(), "{printed}");
        assert_eq!(read(&folder, "elsewhere.json"), client("elsewhere"));
    }
    // A link to the file of the user's own client is that client, and not one of the project.
    let folder = Folder::new();
    put(&folder, CURSOR, &client("mine"));
    put(&folder, "repo/none", "");
    link(&folder, CURSOR, PROJECT);
    let printed = run_in(&folder, "repo", &["--dry-run"], 0);
    assert!(printed.contains("Cursor: ") && !printed.contains("(project)"), "{printed}");
    // A configuration of the project that names the user's env file.
    let (folder, mine) = prepared();
    put(&folder, "repo/aquifer.toml", "env_file = \"../aquifer.env\"\n");
    let start = json!({ "command": "aquifer", "args": ["serve", "--config", "aquifer.toml"] });
    let theirs = json!({ "command": "theirs", "env": { "PATH_TOKEN": "hush-4912-x" } });
    put(&folder, PROJECT, &json!({ "mcpServers": { "aquifer": start, "theirs": theirs } }).to_string());
    let printed = run_in(&folder, "repo", &["--apply"], 1);
    assert!(printed.contains("is not in the folder of the project"), "{printed}");
    check(&folder, &mine, &printed);
}
