//! `aquifer init` and servers that a user of Claude Code has for one folder (`claude mcp add`).

use serde_json::{Value, json};

use crate::init::{put, read};
use crate::init_again::{init_in, parsed};
use crate::support::{Folder, text};

const CLAUDE: &str = ".claude.json";
const SHARED: &str = "repo/.mcp.json";

#[track_caller]
fn run_in(folder: &Folder, directory: &str, arguments: &[&str], code: i32) -> String {
    let output = init_in(folder, directory, arguments);
    let printed = format!("{}{}", text(&output.stderr), text(&output.stdout));
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {printed}");
    printed
}

/// A machine with servers of a user, of the user in two folders, and of a project.
fn machine() -> Folder {
    let folder = Folder::new();
    let server = |name: &str| json!({ name: { "command": name, "env": { "TOKEN": format!("hush-{name}-4951") } } });
    put(&folder, SHARED, &json!({ "mcpServers": server("theirs") }).to_string());
    put(&folder, "repo/sub/none", "");
    put(&folder, "other/none", "");
    let file = json!({
        "numStartups": 3,
        "mcpServers": server("mine"),
        "projects": {
            home(&folder, "repo"): { "allowedTools": ["x"], "mcpServers": server("private") },
            home(&folder, "other"): { "mcpServers": server("elsewhere") },
            home(&folder, "gone"): { "mcpServers": {} },
        },
    });
    put(&folder, CLAUDE, &serde_json::to_string_pretty(&file).unwrap());
    folder
}

fn home(folder: &Folder, path: &str) -> String {
    std::fs::canonicalize(folder.path("")).unwrap().join(path).display().to_string()
}

/// The user's configuration for a folder.
fn local(folder: &Folder, directory: &str) -> String {
    let stem = home(folder, directory).replace(|c: char| !c.is_alphanumeric() && c != '_', "-");
    let stem: String = stem.chars().skip(stem.chars().count().saturating_sub(60)).collect();
    format!(".config/aquifer/projects/{}.toml", stem.trim_matches('-'))
}

fn config_of(section: &Value) -> &str {
    section["mcpServers"]["aquifer"]["args"][2].as_str().unwrap_or_else(|| panic!("{section}"))
}

#[test]
fn servers_of_a_user_for_one_folder_get_a_configuration_of_their_own() {
    let folder = machine();
    let before = [CLAUDE, SHARED].map(|path| read(&folder, path));
    let printed = run_in(&folder, "repo", &[], 0);
    assert!(printed.contains("Claude Code (local): ") && printed.contains("Your own servers for "), "{printed}");
    assert!(printed.contains("\"projects\": {"), "{printed}");
    assert_eq!([CLAUDE, SHARED].map(|path| read(&folder, path)), before);
    let printed = run_in(&folder, "repo", &["--apply"], 0);
    let (claude, shared) = (parsed(&folder, CLAUDE), parsed(&folder, SHARED));
    let repo = &claude["projects"][home(&folder, "repo")];
    let own = [".config/aquifer/aquifer.toml".to_owned(), local(&folder, "repo"), "repo/aquifer.toml".to_owned()];
    for ((section, config), name) in [&claude, repo, &shared].into_iter().zip(&own).zip(["mine", "private", "theirs"]) {
        assert_eq!(config_of(section), home(&folder, config), "{printed}");
        assert!(section["mcpServers"].get(name).is_none(), "{section}");
        let written = read(&folder, config) + &read(&folder, &config.replace(".toml", ".env"));
        assert!(written.contains(&format!("hush-{name}-4951")), "{written}");
        assert_eq!(written.matches("[[source]]").count(), 1, "{written}");
    }
    assert_eq!(repo["allowedTools"], json!(["x"]));
    let other = home(&folder, "other");
    assert_eq!(claude["projects"][&other]["mcpServers"]["elsewhere"]["command"], "elsewhere");
    assert!(run_in(&folder, "repo", &["--apply"], 0).contains("Nothing to do"));

    // The file is as it was, wherever it is undone.
    run_in(&folder, "", &["--undo"], 0);
    assert_eq!(read(&folder, CLAUDE), before[0]);
    run_in(&folder, "repo", &["--undo"], 0);
    assert_eq!(read(&folder, SHARED), before[1]);
}

#[test]
fn they_are_read_in_their_folder_and_below() {
    for (directory, is_read) in [("repo", true), ("repo/sub", true), ("other", false), ("", false)] {
        let folder = machine();
        let printed = run_in(&folder, directory, &["--dry-run"], 0);
        assert_eq!(printed.contains("name = \"private\""), is_read, "{directory}: {printed}");
        assert_eq!(printed.contains("name = \"elsewhere\""), directory == "other", "{directory}: {printed}");
    }
}

#[test]
fn later_edits_of_the_file_survive_undo() {
    let folder = machine();
    let before = parsed(&folder, CLAUDE);
    run_in(&folder, "repo", &["--apply"], 0);
    // A server that is added later joins the configuration for the folder.
    let mut file = parsed(&folder, CLAUDE);
    let repo = home(&folder, "repo");
    file["projects"][&repo]["mcpServers"]["late"] = json!({ "command": "late" });
    file["numStartups"] = json!(4);
    put(&folder, CLAUDE, &file.to_string());
    run_in(&folder, "repo/sub", &["--apply"], 0);
    assert_eq!(read(&folder, &local(&folder, "repo")).matches("[[source]]").count(), 2);
    run_in(&folder, "repo", &["--undo"], 0);
    let mut expected = before;
    expected["projects"][&repo]["mcpServers"]["late"] = json!({ "command": "late" });
    expected["numStartups"] = json!(4);
    assert_eq!(parsed(&folder, CLAUDE), expected);
}

#[test]
fn an_entry_for_one_folder_does_not_lead_to_a_configuration_that_others_use() {
    let folder = machine();
    run_in(&folder, "repo", &["--apply"], 0);
    let repo = home(&folder, "repo");
    for config in [".config/aquifer/aquifer.toml", "repo/aquifer.toml"] {
        let mut file = parsed(&folder, CLAUDE);
        file["projects"][&repo]["mcpServers"] = json!({
            "aquifer": { "command": "aquifer", "args": ["serve", "--config", home(&folder, config)] },
            "late": { "command": "late" },
        });
        put(&folder, CLAUDE, &file.to_string());
        std::fs::remove_file(folder.path(&local(&folder, "repo"))).unwrap_or_default();
        let served = read(&folder, config);
        run_in(&folder, "repo", &["--apply"], 0);
        assert_eq!(read(&folder, config), served);
        assert!(read(&folder, &local(&folder, "repo")).contains("\"late\""));
    }
}
