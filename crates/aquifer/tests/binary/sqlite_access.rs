//! SQLite files that this user may not write to, or not even reach.

use std::fs::Permissions;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::process::{Output, Stdio};

use crate::support::{Folder, aquifer, text};

/// The user `nobody`, who owns nothing.
const NOBODY: u32 = 65_534;
const NOTES: &str = "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT); INSERT INTO notes (body) VALUES ('one');";

/// A folder that is used by somebody other than root, because root may do everything.
struct OtherUser {
    folder: Folder,
    is_root: bool,
}

impl OtherUser {
    fn new() -> Self {
        let folder = Folder::new();
        std::fs::create_dir(folder.path("home")).unwrap();
        std::fs::create_dir(folder.path("data")).unwrap();
        let is_root = std::fs::metadata(folder.path("home")).unwrap().uid() == 0;
        if is_root {
            chown(folder.path("home"), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        Self { folder, is_root }
    }

    fn set_mode(&self, name: &str, mode: u32) {
        std::fs::set_permissions(self.folder.path(name), Permissions::from_mode(mode)).unwrap();
    }

    /// `None` if the user cannot start the program.
    fn run(&self, arguments: &[&str]) -> Option<Output> {
        let mut command = aquifer();
        command.args(arguments).current_dir(self.folder.path("home")).stdin(Stdio::null());
        command.env("HOME", self.folder.path("home")).env_remove("XDG_STATE_HOME");
        if self.is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        match command.output() {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => None,
            output => Some(output.unwrap()),
        }
    }
}

impl Drop for OtherUser {
    /// A closed directory could not be removed.
    fn drop(&mut self) {
        self.set_mode("data", 0o700);
    }
}

#[test]
fn only_reading_is_offered_where_nothing_can_be_written() {
    for (file_mode, directory_mode, reason) in [
        (0o444, 0o755, "this user may not write to its file"),
        (0o666, 0o555, "this user may not create files in its directory, where SQLite keeps its journal"),
    ] {
        let user = OtherUser::new();
        let file = user.folder.database("data/notes.db", NOTES);
        user.set_mode("data/notes.db", file_mode);
        user.set_mode("data", directory_mode);
        let Some(output) = user.run(&["introspect", "--source", &file]) else { return };
        let (listed, log) = (text(&output.stdout), text(&output.stderr));
        assert!(listed.contains("list_notes") && listed.contains("get_note"), "{listed}{log}");
        for change in ["create_note", "update_note", "delete_note"] {
            assert!(!listed.contains(change), "{file_mode:o}: {listed}");
        }
        assert!(log.contains("only reading is offered") && log.contains(reason), "{log}");
        let output = user.run(&["call", "list_notes", "--source", &file]).unwrap();
        assert!(text(&output.stdout).contains("one"), "{}", text(&output.stderr));

        let config =
            format!("[state]\ndir = \"home/state\"\n[[source]]\nname = \"notes\"\ntarget = \"sqlite:{file}\"\n");
        let config = user.folder.file("aquifer.toml", &config);
        let output = user.run(&["doctor", "--config", &config]).unwrap();
        let findings = text(&output.stdout);
        assert!(findings.contains("answers") && findings.contains(reason), "{findings}{}", text(&output.stderr));
    }
}

#[test]
fn a_file_that_can_be_written_offers_changes() {
    let user = OtherUser::new();
    let file = user.folder.database("data/notes.db", NOTES);
    user.set_mode("data/notes.db", 0o666);
    user.set_mode("data", 0o777);
    let Some(output) = user.run(&["call", "create_note", "{\"body\":\"two\"}", "--source", &file]) else { return };
    assert!(text(&output.stdout).contains("two"), "{}{}", text(&output.stdout), text(&output.stderr));
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn a_closed_directory_is_not_a_missing_file() {
    let user = OtherUser::new();
    let file = user.folder.database("data/notes.db", NOTES);
    user.set_mode("data", 0o000);
    for arguments in [&["introspect", "--source", &file][..], &["serve", &format!("sqlite:{file}")]] {
        let Some(output) = user.run(arguments) else { return };
        let printed = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {printed}");
        assert!(printed.contains("permission denied: this user may not enter the directory"), "{printed}");
        assert!(!printed.contains("does not exist"), "{printed}");
    }
}

#[test]
fn a_file_in_wal_mode_says_what_reading_needs() {
    let user = OtherUser::new();
    let file = user.folder.database("data/notes.db", &format!("PRAGMA journal_mode = WAL; {NOTES}"));
    user.set_mode("data/notes.db", 0o444);
    user.set_mode("data", 0o555);
    let Some(output) = user.run(&["call", "list_notes", "--source", &file]) else { return };
    let printed = text(&output.stderr) + &text(&output.stdout);
    assert!(printed.contains("WAL mode") && printed.contains("-shm"), "{printed}");
    assert!(!printed.contains("Permission denied: the database file is read-only"), "{printed}");
}
