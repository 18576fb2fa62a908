//! `aquifer init` and files of clients in unusual states: empty, read-only, of another user, or written by extensions.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::Path;
use std::process::Stdio;

use crate::init::{init, put, read};
use crate::support::{Folder, NOBODY, OtherUser, aquifer, text};

const CURSOR: &str = ".cursor/mcp.json";
const STUDIO: &str = ".lmstudio/mcp.json";
const CODEX: &str = ".codex/config.toml";
const ZED: &str = ".config/zed/settings.json";
const SERVER: &str = r#"{"mcpServers":{"files":{"command":"files"}}}"#;

#[track_caller]
fn run(folder: &Folder, arguments: &[&str], code: i32) -> String {
    let output = init(folder, arguments);
    let printed = format!("{}{}", text(&output.stderr), text(&output.stdout));
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {printed}");
    printed
}

/// What `aquifer doctor` says about a client.
fn diagnosis(folder: &Folder, client: &str) -> String {
    let mut command = aquifer();
    command.env("HOME", folder.path("")).env_remove("XDG_CONFIG_HOME").current_dir(folder.path(""));
    let output =
        command.env("XDG_STATE_HOME", folder.path("state")).arg("doctor").stdin(Stdio::null()).output().unwrap();
    let printed = text(&output.stdout) + &text(&output.stderr);
    let start = printed.find(client).unwrap_or_else(|| panic!("{printed}"));
    printed[start..].lines().take(2).collect::<Vec<_>>().join("\n")
}

fn set_mode(folder: &Folder, path: &str, mode: u32) {
    std::fs::set_permissions(folder.path(path), std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn extensions_of_zed_stay_as_they_are() {
    let folder = Folder::new();
    let settings = "{\n  \"context_servers\": {\n    \"ext\": { \"settings\": { \"key\": \"x\" } },\n    \"own\": { \"source\": \
                    \"custom\", \"command\": \"own\" }\n  }\n}\n";
    put(&folder, ZED, settings);
    assert!(diagnosis(&folder, "Zed").contains("does not use Aquifer"));
    let printed = run(&folder, &["--apply"], 0);
    assert!(printed.contains("'ext' belongs to an extension of Zed and stays"), "{printed}");
    let edited = read(&folder, ZED);
    assert!(edited.contains("\"ext\": { \"settings\": { \"key\": \"x\" } }"), "{edited}");
    assert_eq!(read(&folder, "aquifer.toml").matches("[[source]]").count(), 1);
    run(&folder, &["--undo"], 0);
    assert_eq!(read(&folder, ZED), settings);
}

#[test]
fn a_backup_is_mentioned_if_there_is_one() {
    let folder = Folder::new();
    put(&folder, CURSOR, "{ not json");
    let advice = diagnosis(&folder, "Cursor");
    assert!(advice.contains("Correct the file") && !advice.contains("backup"), "{advice}");
    put(&folder, CURSOR, SERVER);
    run(&folder, &["--apply"], 0);
    put(&folder, CURSOR, "{ not json");
    assert!(diagnosis(&folder, "Cursor").contains("A backup of each change"));
}

#[test]
fn an_empty_file_has_no_servers() {
    let folder = Folder::new();
    put(&folder, CURSOR, SERVER);
    for (path, content) in [(".gemini/settings.json", ""), (STUDIO, " \n"), (CODEX, ""), (ZED, "\u{feff}")] {
        put(&folder, path, content);
    }
    assert!(!run(&folder, &["--apply"], 0).contains("Gemini"));
    assert_eq!(read(&folder, ".gemini/settings.json"), "");
    run(&folder, &["--undo"], 0);
}

#[test]
fn the_snippet_is_printed_for_a_file_that_cannot_be_edited() {
    let folder = Folder::new();
    put(&folder, CURSOR, SERVER);
    let inline = "[mcp_servers]\ncode = { command = \"code\" }\n";
    put(&folder, CODEX, inline);
    let output = init(&folder, &["--apply"]);
    let (shown, problem) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{problem}");
    assert!(problem.contains("Paste the snippet for Codex"), "{problem}");
    assert!(
        shown.contains("[mcp_servers.aquifer]") && shown.contains("config.toml") && !shown.contains("Cursor"),
        "{shown}"
    );
    assert_eq!(read(&folder, CODEX), inline);
}

#[test]
fn line_endings_of_a_file_are_kept() {
    let folder = Folder::new();
    let toml = "model = \"o3\"\r\n\r\n[mcp_servers.code]\r\ncommand = \"code\"\r\n";
    let json = "{\r\n  \"mcpServers\": {\r\n    \"files\": { \"command\": \"files\" }\r\n  }\r\n}\r\n";
    put(&folder, CODEX, toml);
    put(&folder, CURSOR, json);
    run(&folder, &["--apply"], 0);
    for path in [CODEX, CURSOR] {
        let edited = read(&folder, path);
        assert!(edited.contains("\"serve\""), "{edited}");
        assert_eq!(edited.matches('\n').count(), edited.matches("\r\n").count(), "{path}: {edited:?}");
    }
    run(&folder, &["--undo"], 0);
    assert_eq!((read(&folder, CODEX), read(&folder, CURSOR)), (toml.to_owned(), json.to_owned()));
}

#[test]
fn a_file_that_its_owner_made_read_only_stays() {
    let folder = Folder::new();
    put(&folder, CURSOR, SERVER);
    put(&folder, STUDIO, SERVER);
    set_mode(&folder, CURSOR, 0o444);
    let printed = run(&folder, &["--apply"], 1);
    assert!(printed.contains("aquifer: Cursor: ") && printed.contains("is read-only and stays as it is"), "{printed}");
    assert!(printed.contains("LM Studio now uses Aquifer"), "{printed}");
    assert_eq!(read(&folder, CURSOR), SERVER);
    assert!(!Path::new(&folder.path(".cursor/mcp.json.before-aquifer")).exists());
    // Undo does not replace such a file either.
    let applied = read(&folder, STUDIO);
    set_mode(&folder, STUDIO, 0o444);
    assert!(run(&folder, &["--undo"], 1).contains("LM Studio still starts Aquifer: "));
    assert_eq!(read(&folder, STUDIO), applied);
}

/// Only the administrator can make files of others, so this tests something only there.
#[test]
fn a_file_of_another_user_stays_theirs() {
    let folder = Folder::new();
    put(&folder, CURSOR, SERVER);
    if chown(folder.path(CURSOR), Some(NOBODY), Some(NOBODY)).is_err() {
        return;
    }
    // The administrator can keep the owner.
    run(&folder, &["--apply"], 0);
    let found = std::fs::metadata(folder.path(CURSOR)).unwrap();
    assert_eq!((found.uid(), found.gid()), (NOBODY, NOBODY));
    // Another user, who may write the file and replace it in its directory, cannot.
    let user = OtherUser::new();
    assert!(user.is_root);
    let file = user.folder.path(&format!("home/{CURSOR}"));
    put(&user.folder, &format!("home/{CURSOR}"), SERVER);
    for (path, mode) in [("home/.cursor".to_owned(), 0o777), (format!("home/{CURSOR}"), 0o666)] {
        user.set_mode(&path, mode);
    }
    let output = user.run(&["init", "--apply"]);
    let printed = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(printed.contains("belongs to another user and stays as it is"), "{printed}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), SERVER);
    assert_eq!(std::fs::metadata(&file).unwrap().uid(), 0);
}
