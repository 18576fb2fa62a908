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

/// The commands README and the help show are tried, not believed.
#[test]
fn the_commands_of_the_readme_work() {
    let page = read("README.md");
    let commands: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("$ aquifer ")).collect();
    assert!(commands.len() >= 3, "{commands:?}");
    for command in commands {
        let output = shell(command);
        assert!(output.status.success(), "{command}: {}", text(&output.stderr));
    }
}
