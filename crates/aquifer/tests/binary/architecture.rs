//! ARCHITECTURE.md describes the repository as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Component;

use crate::documents::{read, root};

type Dependencies = BTreeMap<String, BTreeSet<String>>;

/// The list of dependencies in a page.
fn listed(page: &str) -> Dependencies {
    let block = page.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    let lines = block.lines().map(|line| line.split_once(':').unwrap());
    lines.map(|(name, others)| (name.to_owned(), others.split_whitespace().map(str::to_owned).collect())).collect()
}

/// The crates of this repository that a manifest depends on, without those for its tests.
fn declared(manifest: &str) -> BTreeSet<String> {
    let sections = manifest.split("\n[").filter(|section| section.starts_with("dependencies]"));
    let lines = sections.flat_map(str::lines).filter(|line| line.starts_with("aquifer-"));
    lines.map(|line| line.split(['.', ' ', '=']).next().unwrap().to_owned()).collect()
}

#[test]
fn crates_depend_on_each_other_as_listed() {
    let crates = std::fs::read_dir(root().join("crates")).unwrap();
    let actual: Dependencies = crates
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .map(|name| (name.clone(), declared(&read(&format!("crates/{name}/Cargo.toml")))))
        .collect();
    assert_eq!(listed(&read("ARCHITECTURE.md")), actual);
}

#[test]
fn dependencies_are_read_from_manifests() {
    let manifest = "[package]\nname = \"aquifer-x\"\n\n[dependencies]\naquifer-a.workspace = true\n\
                    aquifer-b = { path = \"../b\" }\nserde.workspace = true\n\n[dev-dependencies]\naquifer-c.workspace = true\n";
    assert_eq!(declared(manifest), BTreeSet::from(["aquifer-a".to_owned(), "aquifer-b".to_owned()]));
}

/// Paths from the root stand as they are; others stand after the crate they are in: `` `aquifer-gate`: `policy/` ``.
#[test]
fn files_and_folders_that_are_named_exist() {
    let page = read("ARCHITECTURE.md");
    let mut count = 0;
    let words = page.split('`').skip(1).step_by(2);
    let mut last_crate = None;
    for word in words {
        let is_path =
            !word.contains([' ', '<', '\n']) && (word.ends_with('/') || word.ends_with(".rs") || word.ends_with(".md"));
        if word.starts_with("aquifer-") && !word.contains('/') {
            last_crate = Some(word);
        }
        if !is_path {
            continue;
        }
        let inside = last_crate.map(|name| format!("crates/{name}/src/{word}"));
        let candidates = [Some(word.to_owned()), inside, Some(format!("crates/aquifer/src/{word}"))];
        let exists = candidates.into_iter().flatten().any(|path| root().join(path).exists());
        assert!(exists, "ARCHITECTURE.md names `{word}`, which is not there (after `{last_crate:?}`)");
        count += 1;
    }
    assert!(count >= 30, "{count}");
}

/// The Rust files below a folder.
fn sources(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(sources(&path)),
            false if path.extension().is_some_and(|ending| ending == "rs") => found.push(path),
            false => {}
        }
    }
    found
}

/// Tests, which stand at the end of a file or in `tests.rs`, are written for Unix.
#[test]
fn only_the_modules_for_it_ask_for_the_operating_system() {
    const OF_THE_SYSTEM: [&str; 8] =
        ["cfg(unix", "cfg(not(unix", "cfg(windows", "target_os", "std::os::", "rustix", "net::unix", "signal::unix"];
    let crates = std::fs::read_dir(root().join("crates")).unwrap();
    let files: Vec<_> = crates.flat_map(|entry| sources(&entry.unwrap().path().join("src"))).collect();
    let is_seam = |part: Component<'_>| part.as_os_str() == "system" || part.as_os_str() == "aquifer-system";
    let (seams, others): (Vec<_>, Vec<_>) = files.into_iter().partition(|path| path.components().any(is_seam));
    let asks = |path: &std::path::PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap().split("#[cfg(all(test").next().unwrap();
        OF_THE_SYSTEM.iter().any(|word| code.contains(word))
    };
    assert!(seams.iter().filter(|path| asks(path)).count() >= 10, "{seams:?}");
    let elsewhere: Vec<_> =
        others.iter().filter(|path| !path.ends_with("tests.rs")).filter(|path| asks(path)).collect();
    assert!(elsewhere.is_empty(), "these belong in `aquifer-system`: {elsewhere:?}");
}
