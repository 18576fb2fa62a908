//! Trust says what was done: `accepted` for what an operator serves, `validated` for what passed a recorded run.

use serde_json::{Value, json};

use crate::support::{Folder, alter, forgetful, server, text, tools};

const BOOKS: &str = "CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT NOT NULL);";

struct Shelf {
    folder: Folder,
}

impl Shelf {
    fn new() -> Self {
        let folder = Folder::new();
        let library = folder.database("library.db", BOOKS);
        alter(&library, "INSERT INTO books (title) VALUES ('One'), ('Two'), ('Three')");
        Self { folder }
    }

    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let mut command = forgetful(&self.folder);
        let output = command.args(arguments).current_dir(self.folder.path("")).output().unwrap();
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    }

    /// The trust block that callers see.
    fn trust(&self, source: &[&str]) -> Value {
        let asked = [&["call"], source, &["introspect", r#"{"query":"adapter_info"}"#]].concat();
        let (code, answer, stderr) = self.run(&asked);
        assert_eq!(code, 0, "{answer}{stderr}");
        serde_json::from_str::<Value>(&answer).unwrap()["data"]["trust"].clone()
    }
}

#[test]
fn r_saf_2_validated_is_earned_by_a_recorded_run() {
    let shelf = Shelf::new();
    let accepted = json!({ "level": "accepted" });
    for source in ["library.db", "demo:", "tasks:"] {
        assert_eq!(shelf.trust(&[source]), accepted, "{source}: nobody tested it");
    }
    // Whoever says so without a run is told how to earn it, and may do as much as before.
    let (code, answer, stderr) =
        shelf.run(&["call", "create_book", r#"{"title":"Four"}"#, "--source", "library.db", "--trust", "validated"]);
    assert_eq!(code, 0, "{answer}{stderr}");
    assert!(stderr.contains("counts as 'accepted', not as 'validated'") && stderr.contains("aquifer conformance"));
    // A run that may not write grants nothing.
    let (_, _, stderr) = shelf.run(&["conformance", "library.db"]);
    assert!(!stderr.contains("is recorded"), "{stderr}");
    assert_eq!(shelf.trust(&["library.db"]), accepted);
    let (_, report, stderr) =
        shelf.run(&["conformance", "library.db", "--allow-writes", "--timeout", "120", "--format", "json"]);
    assert!(stderr.contains("The run of 'library' is recorded"), "{stderr}");
    let report: Value = serde_json::from_str(&report).unwrap();
    let trust = shelf.trust(&["library.db"]);
    assert_eq!(trust["level"], "validated", "{trust}");
    assert_eq!(trust["validation_report"]["tests_passed"], report["summary"]["passed"], "{trust}");
    assert_eq!(trust["validation_report"]["conformance_level"], report["conformanceLevel"], "{trust}");
    let by = format!("aquifer-conformance-v{}", env!("CARGO_PKG_VERSION"));
    assert_eq!(trust["validated_by"], by);
    assert!(trust["validated_at"].as_str().is_some_and(|at| at.ends_with('Z')), "{trust}");
    let (_, shown, _) = shelf.run(&["policy", "show", "library.db"]);
    assert!(shown.contains("library (trusted as 'validated')"), "{shown}");
    let (_, _, stderr) = shelf.run(&["policy", "show", "library.db", "--trust", "validated"]);
    assert!(!stderr.contains("counts as"), "{stderr}");
    // Beside other sources it is the same source.
    let both = shelf.trust(&["library.db", "demo:"]);
    assert_eq!(both["level"], "accepted", "the lowest of both: {both}");
    // Nothing else was tested: not a copy, not other operations, not on another machine.
    std::fs::copy(shelf.folder.path("library.db"), shelf.folder.path("copy.db")).unwrap();
    assert_eq!(shelf.trust(&["copy.db"]), accepted);
    let (_, shown, _) = shelf.run(&["policy", "show", "library.db", "--read-only"]);
    assert!(shown.contains("trusted as 'accepted'"), "{shown}");
    assert_eq!(shelf.trust(&["library.db", "--trust", "generated"]), json!({ "level": "generated" }));
    alter(&shelf.folder.path("library.db"), "ALTER TABLE books ADD COLUMN isbn TEXT");
    assert_eq!(shelf.trust(&["library.db"]), accepted, "its operations changed");
    let (_, _, stderr) = shelf.run(&["policy", "show", "library.db", "--trust", "validated"]);
    assert!(stderr.contains("its operations differ from those tested on 20"), "{stderr}");
    alter(&shelf.folder.path("library.db"), "ALTER TABLE books DROP COLUMN isbn");
    assert_eq!(shelf.trust(&["library.db"])["level"], "validated", "they are the tested ones again");
    std::fs::rename(shelf.folder.path("state"), shelf.folder.path("elsewhere")).unwrap();
    assert_eq!(shelf.trust(&["library.db"]), accepted);
}

/// An operator accepts a file; a run makes it validated; only then does the file say so.
#[test]
fn r_saf_2_a_file_is_validated_after_it_was_tested() {
    let folder = Folder::new();
    let [python, program, offered] = server(&folder.tools("tools.json", &tools()));
    let shelf = Shelf { folder };
    let with = |arguments: &[&str]| shelf.run(&[arguments, &["--", &python, &program, &offered]].concat());
    assert_eq!(with(&["interrogate", "--name", "small", "-o", "small.bundle.json"]).0, 0);
    assert_eq!(shelf.run(&["build", "small.bundle.json"]).0, 0);
    let file = shelf.folder.path("small-adapter.md");
    let built = std::fs::read_to_string(&file).unwrap();
    let trust = |to: &str| shelf.run(&["trust", "small-adapter.md", "--to", to, "--reason", "read it", "--by", "Ada"]);
    let shown_as = |level: &str| {
        let (code, shown, stderr) = with(&["policy", "show", "small-adapter.md"]);
        assert!(code == 0 && shown.contains(&format!("trusted as '{level}'")), "{level}: {shown}{stderr}");
    };
    shown_as("generated");
    let (code, _, stderr) = trust("validated");
    assert!(code == 2 && stderr.contains("--to accepted") && stderr.contains("aquifer conformance"), "{stderr}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), built);
    let (code, _, stderr) = trust("accepted");
    assert!(code == 0 && stderr.contains("from 'generated' to 'accepted'"), "{stderr}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), built, "it is no published level, so the file does not say it");
    shown_as("accepted");
    let (code, _, stderr) = trust("accepted");
    assert!(code == 2 && stderr.contains("'accepted' already"), "{stderr}");
    let (code, _, stderr) = trust("validated");
    assert!(code == 2 && !stderr.contains("--to accepted"), "{stderr}");
    // Taken back, it is what the file says again.
    let (code, _, stderr) = trust("generated");
    assert!(code == 0 && stderr.contains("from 'accepted' to 'generated'"), "{stderr}");
    shown_as("generated");
}
