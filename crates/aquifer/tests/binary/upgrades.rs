//! State of the first release is brought up to date, with a copy of it; state of a newer release is refused.

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::support::{Folder, aquifer, text};

/// The admin secret in the state of the first release.
const SECRET: &str = "rikb-iiwz-rbpx-q6ee-cmz8-zcf9-ppfz-n85n-7ube-kkkx-xge3-uur5-xtix";
/// A cursor that the first release handed out.
const CURSOR: &str = "7_SYMT5kctmnapOM6rfrJi0ATw";

const NOTES: &str = "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT);
    INSERT INTO notes (text) VALUES ('one'), ('two'), ('two');";

/// A configuration with the state that the first release left behind.
fn first_release() -> Folder {
    let folder = Folder::new();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/binary/first_release");
    copy(&kept, Path::new(&folder.path("")));
    folder.database("notes.db", NOTES);
    folder
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target)
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn run(folder: &Folder, words: &[&str]) -> Output {
    let (command, rest) = words.split_first().unwrap();
    let mut aquifer = aquifer();
    aquifer.arg(command);
    let (sub, rest) = match *command {
        "audit" | "approvals" => rest.split_at(1),
        _ => (&[] as &[&str], rest),
    };
    aquifer.args(sub).args(["--config", &folder.path("aquifer.toml")]).args(rest).output().unwrap()
}

#[test]
fn the_state_of_the_first_release_is_used_and_a_copy_is_kept() {
    let folder = first_release();
    let version = folder.path("state/version");
    assert!(!Path::new(&version).exists());

    let call = run(&folder, &["call", "notes_list_notes", &format!(r#"{{"first": 1, "after": "{CURSOR}"}}"#)]);
    let answer: Value = serde_json::from_str(&text(&call.stdout)).unwrap();
    assert_eq!(answer["data"]["items"][0]["id"], 2, "a cursor of the first release: {answer}");
    let said = text(&call.stderr);
    assert!(said.contains("from version 1 to 2") && said.contains("backup-v1"), "{said}");
    assert_eq!(std::fs::read_to_string(&version).unwrap(), "2\n");

    for kept in ["state.sqlite", "cursor.key", "admin.key"] {
        assert!(Path::new(&folder.path(&format!("state/backup-v1/{kept}"))).exists(), "{kept}");
    }
    let key = |place: &str| std::fs::read(folder.path(&format!("{place}/cursor.key"))).unwrap();
    assert_eq!(key("state"), key("state/backup-v1"));
    let rows = |path: &str| {
        let connection = rusqlite::Connection::open(folder.path(path)).unwrap();
        connection.query_row("SELECT count(*) FROM records", [], |row| row.get::<_, i64>(0)).unwrap()
    };
    assert!(rows("state/backup-v1/state.sqlite") >= 3);

    // Its program is not installed here, so this is the cached catalog.
    let listed = text(&run(&folder, &["introspect"]).stdout);
    assert!(listed.contains("things_list_things"), "{listed}");
    assert!(!Path::new(&folder.path("state/catalogues")).exists());

    let verified = run(&folder, &["audit", "verify"]);
    assert!(verified.status.success(), "{}{}", text(&verified.stdout), text(&verified.stderr));

    // Nothing is left to do the next time.
    let again = run(&folder, &["call", "notes_list_notes", "{}"]);
    assert!(!text(&again.stderr).contains("version"), "{}", text(&again.stderr));
    assert!(!Path::new(&folder.path("state/backup-v1-2")).exists());
}

#[test]
fn the_admin_secret_of_the_first_release_is_accepted() {
    let folder = first_release();
    let person = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/binary/safety/person.py");
    let listed = |secret: &str| {
        let mut command = std::process::Command::new("python3");
        command.args([person, &format!("[[\"Admin secret:\", {secret:?}]]"), env!("CARGO_BIN_EXE_aquifer")]);
        let output = command.args(["approvals", "list", "--config", &folder.path("aquifer.toml")]).output().unwrap();
        (output.status.success(), text(&output.stdout) + &text(&output.stderr))
    };
    let (accepted, shown) = listed(SECRET);
    assert!(accepted, "{shown}");
    let (accepted, shown) = listed("aaaa-bbbb-cccc-dddd-eeee-ffff-gggg-hhhh");
    assert!(!accepted, "{shown}");
}

#[test]
fn processes_that_start_together_upgrade_once() {
    let folder = first_release();
    let mut started: Vec<_> = (0..4)
        .map(|_| {
            let mut command = aquifer();
            command.args(["call", "--config", &folder.path("aquifer.toml"), "notes_list_notes", "{}"]);
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap()
        })
        .collect();
    assert!(started.iter_mut().all(|process| process.wait().unwrap().success()));
    assert!(Path::new(&folder.path("state/backup-v1")).exists());
    assert!(!Path::new(&folder.path("state/backup-v1-2")).exists());
}

#[test]
fn the_state_of_a_newer_release_is_refused() {
    let folder = first_release();
    for (written, expected) in [("3\n", "newer Aquifer"), ("no number", "does not contain a version number")] {
        folder.file("state/version", written);
        let refused = run(&folder, &["call", "notes_list_notes", "{}"]);
        let said = text(&refused.stderr);
        assert!(!refused.status.success() && said.contains(expected) && said.contains("state.dir"), "{said}");
        assert_eq!(std::fs::read_to_string(folder.path("state/version")).unwrap(), written);
    }
    // Nor is state changed whose version cannot be read.
    std::fs::remove_file(folder.path("state/version")).unwrap();
    std::fs::create_dir(folder.path("state/version")).unwrap();
    assert!(!run(&folder, &["call", "notes_list_notes", "{}"]).status.success());
    assert!(Path::new(&folder.path("state/catalogues")).exists());
}

#[test]
fn a_store_that_the_configuration_places_is_not_an_older_state() {
    let folder = Folder::new();
    folder.database("notes.db", NOTES);
    std::fs::create_dir(folder.path("kept")).unwrap();
    let store = folder.path("kept/state.sqlite");
    folder.file(
        "aquifer.toml",
        &format!(
            "version = 1\n[state]\ndir = \"state\"\nstore = \"sqlite:{store}\"\n[[source]]\ntarget = \"sqlite:notes.db\"\n"
        ),
    );
    let called = run(&folder, &["call", "list_notes", "{}"]);
    assert!(called.status.success(), "{}", text(&called.stderr));
    assert!(Path::new(&store).exists());
    let verified = aquifer().args(["audit", "verify", "--state", &folder.path("kept")]).output().unwrap();
    let said = text(&verified.stderr);
    assert!(verified.status.success() && !said.contains("was changed"), "{said}");
    assert!(!Path::new(&folder.path("kept/backup-v1")).exists());
}

#[test]
fn commands_that_only_read_create_no_state() {
    let folder = Folder::new();
    let missing = folder.path("mistyped");
    for words in [&["audit", "verify"][..], &["audit", "show"], &["approvals", "list"], &["approvals", "show", "x"]] {
        let output = aquifer().args(words).args(["--state", &missing]).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        let is_named = said.contains("mistyped does not exist");
        assert!(is_named || said.contains("must be a terminal"), "{words:?}: {said}");
        assert!(!Path::new(&missing).exists(), "{words:?}");
    }
}
