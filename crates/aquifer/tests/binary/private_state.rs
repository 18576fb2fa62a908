//! What is kept is its owner's alone, whatever the umask says (R-SAF-6).

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::json;

use crate::support::{Folder, StdioServer, forgetful, server, text, tools, until};

fn mode(path: &Path) -> u32 {
    std::fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &str, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Everything below a directory, and the directory itself.
fn below(directory: &Path) -> Vec<PathBuf> {
    let mut found = vec![directory.to_owned()];
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(below(&path)) } else { found.push(path) }
    }
    found
}

/// A command of a shell that forbids nothing to anybody.
fn with_open_umask(command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", "umask 000; exec \"$@\"", "sh"]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell
}

/// A library and an MCP server, with state in a directory of its own.
fn configured(folder: &Folder, state: &str) -> String {
    let library =
        folder.database("library.db", "CREATE TABLE books (id INTEGER PRIMARY KEY); INSERT INTO books VALUES (1);");
    let [python, program, offered] = server(&folder.tools("tools.json", &tools()));
    folder.file(
        "aquifer.toml",
        &format!(
            "[state]\ndir = \"{state}\"\n[[source]]\ntarget = \"sqlite:{library}\"\n\
             [[source]]\nname = \"one\"\ncommand = {python:?}\nargs = [{program:?}, {offered:?}]\n"
        ),
    )
}

#[test]
fn r_saf_6_every_file_of_the_state_is_private_with_an_open_umask() {
    let folder = Folder::new();
    // Directories above it that are missing are created, too.
    let state = folder.path("above/state");
    let config = configured(&folder, &state);
    let mut serve = forgetful(&folder);
    let mut piped = StdioServer::spawn(&mut with_open_umask(serve.args(["serve", "--config", &config])));
    piped.initialize("2025-06-18");
    piped.data("delete", "library_delete_book", json!({ "id": 1 }));
    piped.data("execute", "one_frobnicate", json!({ "thing_id": 1 }));
    let person = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/binary/safety/person.py");
    let mut secret = Command::new("python3");
    secret.args([person, "[]", env!("CARGO_BIN_EXE_aquifer"), "approvals", "secret", "--config", &config]);
    assert!(with_open_umask(&secret).stdin(Stdio::null()).output().unwrap().status.success());
    let expected = ["state.sqlite", "-wal", "-shm", "cursor.key", "admin.key", "catalogs/one", "audit/audit-"];
    let files = until("every file is there", || {
        let files = below(Path::new(&state));
        let is_there = |name: &&str| files.iter().any(|file| file.to_str().unwrap().contains(*name));
        expected.iter().all(is_there).then_some(files)
    });
    for file in files {
        let wanted = if file.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(&file), wanted, "{}: {:o}", file.display(), mode(&file));
    }
    assert_eq!(mode(Path::new(&folder.path("above"))), 0o700);
}

#[test]
fn r_saf_6_the_usual_directory_is_private_too() {
    let folder = Folder::new();
    let mut call = forgetful(&folder);
    let done = with_open_umask(call.args(["call", "list_tasks", "{}", "--source", "tasks:"])).output().unwrap();
    assert!(done.status.success(), "{}", text(&done.stderr));
    let files = below(Path::new(&folder.path("state/aquifer")));
    assert!(files.iter().any(|file| file.ends_with("cursor.key")), "{files:?}");
    for file in files {
        assert_eq!(mode(&file) & 0o077, 0, "{}", file.display());
    }
}

fn call(folder: &Folder, state: &str) -> Output {
    let config = folder.file("tasks.toml", &format!("[state]\ndir = \"{state}\"\n[[source]]\ntarget = \"tasks:\"\n"));
    forgetful(folder).args(["call", "list_tasks", "{}", "--config", &config]).output().unwrap()
}

#[test]
fn r_saf_6_a_directory_that_is_more_open_is_repaired_or_refused() {
    // (its mode, whether something else is in it, whether it is used, its mode then, what is said)
    let table = [
        (0o700, true, true, 0o700, ""),
        (0o755, false, true, 0o700, "was accessible to other users; it is now private"),
        (0o777, false, true, 0o700, "was accessible to other users; it is now private"),
        (0o755, true, true, 0o755, "is not private: it also holds other files"),
        (0o775, true, false, 0o775, "other users can write to it"),
        (0o777, true, false, 0o777, "other users can write to it"),
        (0o1777, false, false, 0o1777, "it is shared with other users"),
    ];
    for (row, (before, has_other, used, after, words)) in table.into_iter().enumerate() {
        let folder = Folder::new();
        let state = folder.path("state-of-its-own");
        std::fs::create_dir(&state).unwrap();
        std::fs::write(Path::new(&state).join("admin.key"), [0; 32]).unwrap();
        if has_other {
            std::fs::write(Path::new(&state).join("notes.txt"), "").unwrap();
        }
        set_mode(&state, before);
        let output = call(&folder, &state);
        let printed = text(&output.stderr);
        assert_eq!(output.status.code(), Some(if used { 0 } else { 2 }), "row {row}: {printed}");
        assert!(printed.contains(words), "row {row}: {printed}");
        assert_eq!(mode(Path::new(&state)), after, "row {row}");
    }
}

#[test]
fn r_saf_6_a_link_into_a_public_place_is_refused() {
    let folder = Folder::new();
    let [public, own, target] = ["public", "own", "public/state"].map(|name| folder.path(name));
    for directory in [&public, &own, &target] {
        std::fs::create_dir(directory).unwrap();
        set_mode(directory, 0o700);
    }
    set_mode(&public, 0o777);
    let [into, within, fine] = ["into", "public/link", "fine"].map(|name| folder.path(name));
    symlink(&target, &into).unwrap();
    symlink(&own, &within).unwrap();
    symlink(&own, &fine).unwrap();
    for (link, used) in [(into, false), (within, false), (fine, true)] {
        let output = call(&folder, &link);
        let printed = text(&output.stderr);
        assert_eq!(output.status.code(), Some(if used { 0 } else { 2 }), "{link}: {printed}");
        assert_eq!(printed.contains("symbolic link"), !used, "{link}: {printed}");
    }
}

/// Limits in memory would begin anew with every process.
#[test]
fn r_saf_4_a_chosen_directory_that_cannot_be_used_stops_the_command() {
    let folder = Folder::new();
    let file = folder.file("file", "");
    let (inside, dangling) = (format!("{file}/state"), folder.path("dangling"));
    symlink(folder.path("nowhere"), &dangling).unwrap();
    for state in [&file, &inside, &dangling] {
        let output = call(&folder, state);
        let printed = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{state}: {printed}");
        assert!(printed.contains(state.as_str()) && output.stdout.is_empty(), "{state}: {printed}");
    }
    // Nobody asked for the usual directory.
    folder.file("state", "");
    let output = forgetful(&folder).args(["call", "list_tasks", "{}", "--source", "tasks:"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

/// Nobody would look for the audit on stderr.
#[test]
fn r_saf_5_an_audit_directory_that_cannot_be_used_stops_the_command() {
    // (whether the state directory and the audit directory are chosen, what stands in the way, the exit code)
    for (row, (has_state, has_audit, obstacle, code)) in [
        (true, false, "own/audit", 2),
        (true, true, "audited", 2),
        (false, true, "audited", 2),
        (false, false, "state/aquifer/audit", 2),
        // There is no directory for anything: what is said goes to stderr, as limits go to memory.
        (false, false, "state", 0),
        (true, false, "elsewhere", 0),
    ]
    .into_iter()
    .enumerate()
    {
        let folder = Folder::new();
        if obstacle != "state" {
            for directory in ["own", "state/aquifer"].map(|name| folder.path(name)) {
                std::fs::create_dir_all(&directory).unwrap();
                set_mode(&directory, 0o700);
            }
        }
        folder.file(obstacle, "");
        let mut keys = "[[source]]\ntarget = \"tasks:\"\n".to_owned();
        if has_state {
            keys += &format!("[state]\ndir = \"{}\"\n", folder.path("own"));
        }
        if has_audit {
            keys += &format!("[audit]\ndir = \"{}\"\n", folder.path("audited"));
        }
        let config = folder.file("tasks.toml", &keys);
        let params = "{\"title\": \"Milk\"}";
        let output = forgetful(&folder).args(["call", "create_task", params, "--config", &config]).output().unwrap();
        let printed = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "row {row}: {printed}{}", text(&output.stdout));
        assert_eq!(printed.contains("no operation can be audited"), code == 2, "row {row}: {printed}");
        assert_eq!(output.stdout.is_empty(), code == 2, "row {row}: nothing was done");
        if code == 2 {
            let mut piped = StdioServer::spawn(forgetful(&folder).args(["serve", "--config", &config]));
            piped.says("no operation can be audited");
            assert_eq!(piped.close().code(), Some(2), "row {row}");
        }
    }
}

#[test]
fn r_saf_6_what_is_in_the_directory_is_made_private() {
    let folder = Folder::new();
    let state = folder.path("own");
    let path = |name: &str| format!("{state}/{name}");
    for directory in [&state, &path("audit"), &path("catalogs"), &path("logins")] {
        std::fs::create_dir(directory).unwrap();
    }
    for file in ["cursor.key", "admin.key"] {
        std::fs::write(path(file), [7; 32]).unwrap();
        set_mode(&path(file), 0o666);
    }
    for directory in ["audit", "catalogs", "logins"] {
        set_mode(&path(directory), 0o777);
    }
    set_mode(&state, 0o700);
    let output = call(&folder, &state);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for found in below(Path::new(&state)) {
        assert_eq!(mode(&found) & 0o077, 0, "{}", found.display());
    }
    // Where others are to read the audit, they still can.
    let [chosen, own] = ["audited", "own"].map(|name| folder.path(name));
    std::fs::create_dir(&chosen).unwrap();
    set_mode(&chosen, 0o755);
    let keys = format!("[state]\ndir = \"{own}\"\n[audit]\ndir = \"{chosen}\"\n[[source]]\ntarget = \"tasks:\"\n");
    let config = folder.file("audited.toml", &keys);
    let output = forgetful(&folder).args(["call", "list_tasks", "{}", "--config", &config]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(mode(Path::new(&chosen)), 0o755);
}

/// Nobody ever writes into it, so reading it would not end.
#[test]
fn r_saf_6_a_pipe_is_not_read_as_a_key() {
    for key in ["cursor.key", "admin.key"] {
        let folder = Folder::new();
        let state = folder.path("own");
        std::fs::create_dir(&state).unwrap();
        set_mode(&state, 0o700);
        assert!(Command::new("mkfifo").arg(format!("{state}/{key}")).status().unwrap().success());
        let output = call(&folder, &state);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let config = folder.path("tasks.toml");
        let person = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/binary/safety/person.py");
        let mut listed = Command::new("python3");
        listed.args([person, "[]", env!("CARGO_BIN_EXE_aquifer"), "approvals", "list", "--config", &config]);
        let listed = listed.env_remove("AQUIFER_ADMIN_SECRET").stdin(Stdio::null()).output().unwrap();
        let printed = text(&listed.stdout) + &text(&listed.stderr);
        assert_eq!(printed.contains("it is not a regular file"), key == "admin.key", "{key}: {printed}");
    }
}
