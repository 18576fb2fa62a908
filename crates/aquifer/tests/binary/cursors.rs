//! What outlives a process: the secret that cursors are sealed with, kept in a folder or told by the operator.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::sqlite::LIBRARY;
use crate::support::{Folder, aquifer, text};

/// A library and configurations that differ in `[state]`.
struct Desk {
    folder: Folder,
    library: String,
}

impl Desk {
    fn new() -> Self {
        let folder = Folder::new();
        let library = folder.database("library.db", LIBRARY);
        Self { folder, library }
    }

    /// A process of its own that answers once.
    fn list(&self, state: &str, params: &Value) -> Value {
        let source = format!("[[source]]\ntarget = \"sqlite:{}\"\n", self.library);
        let config = self.folder.file("aquifer.toml", &format!("[state]\n{state}\n{source}"));
        let output = aquifer()
            .args(["call", "list_books", &params.to_string(), "--config", &config])
            .env("SECRET", "the same in every process")
            .output()
            .unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{state}: {}", text(&output.stderr)))
    }

    fn cursor(&self, state: &str) -> Value {
        let first = self.list(state, &json!({ "first": 1 }));
        assert_eq!(first["data"]["items"][0]["id"], 1, "{first}");
        first["data"]["pageInfo"]["endCursor"].clone()
    }

    /// Whether a process with this state goes on after the cursor of another.
    fn accepts(&self, state: &str, cursor: &Value) -> bool {
        let second = self.list(state, &json!({ "first": 1, "after": cursor }));
        if second["success"] == true {
            assert_eq!(second["data"]["items"][0]["id"], 2, "{second}");
            return true;
        }
        assert_eq!(second["error"]["code"], "VALIDATION_INVALID_VALUE", "{second}");
        assert_eq!(second["error"]["details"]["param_name"], "after", "{second}");
        false
    }
}

#[test]
fn a_cursor_works_in_the_next_process_with_the_same_folder_and_in_no_other() {
    let desk = Desk::new();
    let dir = |name: &str| format!("dir = \"{}\"", desk.folder.path(name));
    let (one, other) = (dir("one/deep"), dir("other"));
    let cursor = desk.cursor(&one);
    assert!(desk.accepts(&one, &cursor));
    assert!(!desk.accepts(&other, &cursor));
    assert!(desk.accepts(&one, &cursor));

    for name in ["one/deep", "other"] {
        let file = std::fs::metadata(desk.folder.path(&format!("{name}/cursor.key"))).unwrap();
        assert_eq!((file.permissions().mode() & 0o777, file.len()), (0o600, 32));
    }
}

#[test]
fn a_cursor_works_where_the_secret_is_the_same_and_nowhere_else() {
    let desk = Desk::new();
    let one = "cursor_secret = \"sixteen letters or more\"";
    let other = "cursor_secret = \"sixteen letters or less\"";
    let cursor = desk.cursor(one);
    assert!(desk.accepts(one, &cursor));
    assert!(!desk.accepts(other, &cursor));
    // It beats the folder, where no key is made.
    let beside = desk.folder.path("beside");
    assert!(desk.accepts(&format!("dir = \"{beside}\"\n{one}"), &cursor));
    assert!(!std::path::Path::new(&format!("{beside}/cursor.key")).exists());
    let from_environment = "cursor_secret = \"${SECRET}\"";
    let cursor = desk.cursor(from_environment);
    assert!(desk.accepts("cursor_secret = \"the same in every process\"", &cursor));
}

#[test]
fn a_cursor_that_was_tampered_with_or_belongs_elsewhere_is_refused() {
    let desk = Desk::new();
    let state = "cursor_secret = \"sixteen letters or more\"";
    let cursor = desk.cursor(state);
    let text = cursor.as_str().unwrap();
    let turned: String = text.chars().rev().collect();
    for bad in ["", "x", &turned, &format!("{text}A"), &text[1..]] {
        assert!(!desk.accepts(state, &bad.into()), "{bad}");
    }
    let other_order = json!({ "first": 1, "after": cursor, "sort": { "field": "title" } });
    assert_eq!(desk.list(state, &other_order)["error"]["code"], "VALIDATION_INVALID_VALUE");
}

#[test]
fn a_key_that_cannot_be_read_costs_only_the_cursors_of_other_processes() {
    let desk = Desk::new();
    let kept = desk.folder.path("kept");
    std::fs::create_dir_all(format!("{kept}/cursor.key")).unwrap();
    let state = format!("dir = \"{kept}\"");
    let cursor = desk.cursor(&state);
    assert!(!desk.accepts(&state, &cursor));
}

#[test]
fn a_short_secret_is_reported_without_repeating_it() {
    let desk = Desk::new();
    let config =
        desk.folder.file("aquifer.toml", "[state]\ncursor_secret = \"hush-4711\"\n[[source]]\ntarget = \"tasks:\"\n");
    let output = aquifer().args(["serve", "--config", &config]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let printed = text(&output.stderr);
    assert!(printed.contains("at least 16 characters") && !printed.contains("hush"), "{printed}");
}

/// Two that start at once must end up with one key.
#[test]
fn processes_that_start_together_share_their_key() {
    let desk = Desk::new();
    let dir = desk.folder.path("shared");
    let config = desk.folder.file(
        "together.toml",
        &format!("[state]\ndir = \"{dir}\"\n[[source]]\ntarget = \"sqlite:{}\"\n", desk.library),
    );
    let started: Vec<_> = (0..8)
        .map(|_| {
            let mut command = aquifer();
            command.args(["call", "list_books", "{\"first\":1}", "--config", &config]);
            command.stdout(std::process::Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in started {
        let output = child.wait_with_output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(desk.accepts(&format!("dir = \"{dir}\""), &answer["data"]["pageInfo"]["endCursor"]), "{answer}");
    }
}
