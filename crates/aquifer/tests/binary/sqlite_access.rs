//! SQLite files that this user may not write to, or not even reach.

use crate::support::{OtherUser, text};

const NOTES: &str = "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT); INSERT INTO notes (body) VALUES ('one');";

/// A user, and a directory for a database that belongs to somebody else.
struct Reader(OtherUser);

impl Reader {
    fn new() -> Self {
        let user = OtherUser::new();
        std::fs::create_dir(user.folder.path("data")).unwrap();
        Self(user)
    }
}

impl std::ops::Deref for Reader {
    type Target = OtherUser;

    fn deref(&self) -> &OtherUser {
        &self.0
    }
}

impl Drop for Reader {
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
        let user = Reader::new();
        let file = user.folder.database("data/notes.db", NOTES);
        user.set_mode("data/notes.db", file_mode);
        user.set_mode("data", directory_mode);
        let output = user.run(&["introspect", "--source", &file]);
        let (listed, log) = (text(&output.stdout), text(&output.stderr));
        assert!(listed.contains("list_notes") && listed.contains("get_note"), "{listed}{log}");
        for change in ["create_note", "update_note", "delete_note"] {
            assert!(!listed.contains(change), "{file_mode:o}: {listed}");
        }
        assert!(log.contains("only reading is offered") && log.contains(reason), "{log}");
        let output = user.run(&["call", "list_notes", "--source", &file]);
        assert!(text(&output.stdout).contains("one"), "{}", text(&output.stderr));

        let config =
            format!("[state]\ndir = \"home/state\"\n[[source]]\nname = \"notes\"\ntarget = \"sqlite:{file}\"\n");
        let config = user.folder.file("aquifer.toml", &config);
        let output = user.run(&["doctor", "--config", &config]);
        let findings = text(&output.stdout);
        assert!(findings.contains("answers") && findings.contains(reason), "{findings}{}", text(&output.stderr));
    }
}

#[test]
fn a_file_that_can_be_written_offers_changes() {
    let user = Reader::new();
    let file = user.folder.database("data/notes.db", NOTES);
    user.set_mode("data/notes.db", 0o666);
    user.set_mode("data", 0o777);
    let output = user.run(&["call", "create_note", "{\"body\":\"two\"}", "--source", &file]);
    assert!(text(&output.stdout).contains("two"), "{}{}", text(&output.stdout), text(&output.stderr));
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn a_closed_directory_is_not_a_missing_file() {
    let user = Reader::new();
    let file = user.folder.database("data/notes.db", NOTES);
    user.set_mode("data", 0o000);
    for arguments in [&["introspect", "--source", &file][..], &["serve", &format!("sqlite:{file}")]] {
        let output = user.run(arguments);
        let printed = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {printed}");
        assert!(printed.contains("permission denied: this user may not enter the directory"), "{printed}");
        assert!(!printed.contains("does not exist"), "{printed}");
    }
}

#[test]
fn a_file_in_wal_mode_says_what_reading_needs() {
    let user = Reader::new();
    let file = user.folder.database("data/notes.db", &format!("PRAGMA journal_mode = WAL; {NOTES}"));
    user.set_mode("data/notes.db", 0o444);
    user.set_mode("data", 0o555);
    let output = user.run(&["call", "list_notes", "--source", &file]);
    let printed = text(&output.stderr) + &text(&output.stdout);
    assert!(printed.contains("WAL mode") && printed.contains("-shm"), "{printed}");
    assert!(!printed.contains("Permission denied: the database file is read-only"), "{printed}");
}
