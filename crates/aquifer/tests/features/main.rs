//! What a build can do, whatever features it was compiled with: it serves a SQLite file, and for every backend that was left
//! out it says which feature is missing. `cargo xtask test --long` runs this on the smallest build too.

#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder of one test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("features-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn database(&self, name: &str) -> String {
        let path = self.0.join(name);
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection.execute_batch("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL);").unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Runs the binary with this folder as its home.
    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_aquifer"));
        command.args(arguments).current_dir(&self.0).env("HOME", &self.0).stdin(Stdio::null());
        command.env("XDG_STATE_HOME", self.0.join("state")).env_remove("XDG_CONFIG_HOME").env_remove("AQUIFER_LOG");
        command.output().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_sqlite_file_is_served() {
    let folder = Folder::new("sqlite");
    let file = folder.database("notes.db");
    let created = folder.run(&["call", &file, "create_note", r#"{"text": "milk"}"#]);
    assert!(created.status.success(), "{}", text(&created.stderr));
    let listed = folder.run(&["call", &file, "list_notes"]);
    assert!(text(&listed.stdout).contains("milk"), "{}{}", text(&listed.stdout), text(&listed.stderr));
    let demo = folder.run(&["introspect", "demo:"]);
    assert!(text(&demo.stdout).contains("list_orders"), "{}", text(&demo.stderr));
}

/// Each command fails in every build, since what it names is not there. Only a build without the feature blames the
/// feature.
#[test]
fn a_missing_feature_is_named() {
    let folder = Folder::new("missing");
    let redis =
        folder.file("redis.toml", "[[source]]\ntarget = \"demo:\"\n\n[state]\nstore = \"redis://127.0.0.1:1/0\"\n");
    let client = folder.file("mcp.json", r#"{"mcpServers": {"notes": {"command": "/does/not/exist"}}}"#);
    let commands: [(&str, bool, &[&str]); 11] = [
        ("postgres", cfg!(feature = "postgres"), &["call", "postgres://me@127.0.0.1:1/shop", "list_tables"]),
        ("redis", cfg!(feature = "redis"), &["call", "--config", &redis, "delete_tag", r#"{"id": 1}"#]),
        ("conformance", cfg!(feature = "conformance"), &["conformance", "report", "missing.json"]),
        ("tokens", cfg!(feature = "tokens"), &["tokens", "--compare", "missing.json", "missing.json"]),
        ("gateway", cfg!(feature = "gateway"), &["call", "list_notes", "--", "/does/not/exist"]),
        ("gateway", cfg!(feature = "gateway"), &["call", &client, "list_notes"]),
        ("gateway", cfg!(feature = "gateway"), &["interrogate", "--", "/does/not/exist"]),
        ("gateway", cfg!(feature = "gateway"), &["review", "missing.bundle.json"]),
        ("gateway", cfg!(feature = "gateway"), &["build", "missing.bundle.json"]),
        ("gateway", cfg!(feature = "gateway"), &["login", "nobody"]),
        ("gateway", cfg!(feature = "gateway"), &["init", "--dry-run"]),
    ];
    for (feature, is_there, arguments) in commands {
        let ended = folder.run(arguments);
        let said = text(&ended.stderr);
        assert!(!ended.status.success(), "{arguments:?} succeeded");
        let blamed = said.contains(&format!("it was compiled without the feature '{feature}'"));
        assert_eq!(blamed, !is_there, "{arguments:?}: {said}");
    }
}

/// In a configuration with several sources, those that this build can serve are served.
#[test]
fn sources_of_a_missing_feature_do_not_hold_up_others() {
    let folder = Folder::new("others");
    let file = folder.database("notes.db");
    let config = folder.file(
        "both.toml",
        &format!("[[source]]\ntarget = \"{file}\"\nname = \"own\"\n\n[[source]]\nname = \"gone\"\ncommand = \"/does/not/exist\"\n"),
    );
    let listed = folder.run(&["call", "--config", &config, "own_list_notes"]);
    let said = text(&listed.stderr);
    assert!(listed.status.success(), "{said}");
    assert_eq!(said.contains("without the feature 'gateway'"), !cfg!(feature = "gateway"), "{said}");
}
