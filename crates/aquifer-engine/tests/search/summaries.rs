//! The summaries in signatures, over every capture: no headings, emoji, labels or boilerplate.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;

use crate::catalog::{Server, engine, signatures};

const FAMILIES: [&str; 5] = ["create", "read", "update", "delete", "execute"];

/// The names of all captures.
fn captures() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["tests/search/captures", "../aquifer-discovery/tests/discovery/captures"];
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(root.join(folder)).unwrap());
    files.map(|file| file.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned()).collect()
}

/// The part of a signature after its parameters, family and marks.
fn summary(line: &str) -> Option<&str> {
    let ends = FAMILIES.iter().filter_map(|family| line.find(&format!(") {family}")));
    line.get(ends.min()?..)?.split_once(": ").map(|(_, summary)| summary)
}

#[test]
fn summaries_say_what_an_operation_does() {
    let mut seen = 0;
    for name in captures() {
        let engine = engine([Arc::new(Server::read(&name))]);
        for line in signatures(&engine, json!({ "query": "signatures", "first": 500 })) {
            let Some(summary) = summary(&line) else { continue };
            seen += 1;
            let lower = summary.to_lowercase();
            let is_wordy = ["this tool", "use this", "purpose", "overview", "warning", "important"];
            let starts_badly = is_wordy.iter().any(|start| lower.starts_with(start));
            let is_decorated = !summary.starts_with(|c: char| c.is_alphabetic() || "'\"([/".contains(c));
            let is_heading = summary.ends_with(':') || summary.contains('\n');
            assert!(!starts_badly && !is_decorated && !is_heading, "{name}: {line}");
        }
    }
    assert!(seen > 500, "{seen} summaries");
}
