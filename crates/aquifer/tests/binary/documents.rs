//! What the documents promise is there.

use std::path::{Path, PathBuf};

use crate::support::{shell, text};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|_| panic!("{path} is missing"))
}

#[test]
fn the_example_adapter_is_short() {
    let lines = read("examples/task_board.rs").lines().count();
    assert!(lines < 60, "{lines} lines");
}

#[test]
fn the_crates_that_architecture_names_exist_and_all_are_named() {
    let page = read("ARCHITECTURE.md");
    let crates = std::fs::read_dir(root().join("crates")).unwrap();
    let names: Vec<String> = crates.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    for name in &names {
        assert!(page.contains(&format!("`{name}`")), "ARCHITECTURE.md does not name {name}");
    }
    for word in page.split('`').filter(|word| word.starts_with("aquifer-") && !word.contains([' ', '/', '.', ':'])) {
        assert!(names.iter().any(|name| name == word), "ARCHITECTURE.md names {word}, which is not there");
    }
}

#[test]
fn every_decision_is_listed() {
    let index = read("docs/adr/README.md");
    for entry in std::fs::read_dir(root().join("docs/adr")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name == "README.md" || index.contains(&name), "docs/adr/README.md does not list {name}");
    }
}

#[test]
fn links_between_documents_lead_somewhere() {
    for page in [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "docs/adapters.md",
        "docs/protocol.md",
        "docs/configuration.md",
        "docs/databases.md",
    ] {
        let text = read(page);
        let folder = root().join(page).parent().unwrap().to_path_buf();
        for (_, rest) in text.match_indices("](").map(|(index, _)| text.split_at(index + 2)) {
            let target = rest.split(')').next().unwrap().split('#').next().unwrap();
            if !target.is_empty() && !target.contains("://") {
                assert!(folder.join(target).exists(), "{page} links to {target}");
            }
        }
    }
}

/// Commands are tried, not believed.
fn printed(command: &str) -> String {
    let output = shell(command);
    assert!(output.status.success(), "{command}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn the_commands_of_the_readme_work_and_answer_as_shown() {
    let page = read("README.md");
    let mut lines = page.lines().peekable();
    let mut tried = 0;
    while let Some(line) = lines.next() {
        let Some(command) = line.strip_prefix("$ ") else { continue };
        let printed = printed(command);
        if let Some(shown) = lines.next_if(|next| next.starts_with('{')) {
            assert_eq!(printed.trim_end(), shown, "{command}");
        }
        tried += 1;
    }
    assert!(tried >= 3, "{tried} commands");
}

/// Those that end by themselves.
#[test]
fn the_commands_of_the_help_work() {
    for command in ["", "call", "introspect"] {
        let help = printed(&format!("aquifer {command} --help"));
        let examples: Vec<&str> = help.lines().filter(|line| line.contains("--source demo:")).collect();
        assert!(examples.len() >= 2, "{help}");
        for example in examples {
            // What it is for stands behind some blanks.
            printed(example.trim_start().split("   ").next().unwrap());
        }
    }
}
