//! The pages in `docs/how-to`. Every block of every page is tried, or states why it is not: see [`super::block`].

use super::block::{Treatment, blocks};
use super::reader::Reader;
use crate::documents::{read, root};

/// What fits on a page that answers one question.
const MAX_LINES: usize = 80;

/// The how-to pages with their texts.
fn pages() -> Vec<(String, String)> {
    let entries = std::fs::read_dir(root().join("docs/how-to")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut pages: Vec<_> = names.map(|name| (name.clone(), read(&format!("docs/how-to/{name}")))).collect();
    pages.sort();
    pages
}

#[test]
fn how_to_pages_are_short_and_listed() {
    let pages = pages();
    let (_, index) = pages.iter().find(|(name, _)| name == "README.md").unwrap();
    for (name, page) in pages.iter().filter(|(name, _)| name != "README.md") {
        assert!(index.contains(&format!("]({name})")), "docs/how-to/README.md does not list {name}");
        let count = page.lines().count();
        assert!(count <= MAX_LINES, "{name} has {count} lines");
    }
    assert!(blocks(index).is_empty(), "the list has no commands");
}

#[test]
fn how_to_pages_work_as_written() {
    let pages: Vec<_> = pages().into_iter().filter(|(name, _)| name != "README.md").collect();
    assert!(pages.len() >= 10, "{}", pages.len());
    let failed: Vec<&str> = std::thread::scope(|scope| {
        let start = |(name, page): &'_ (String, String)| {
            let (name, page) = (name.clone(), page.clone());
            std::thread::Builder::new().name(name).spawn_scoped(scope, move || follow(&page)).unwrap()
        };
        let readers: Vec<_> = pages.iter().map(start).collect();
        let ended = pages.iter().zip(readers).map(|((name, _), reader)| (name.as_str(), reader.join()));
        ended.filter(|(_, result)| result.is_err()).map(|(name, _)| name).collect()
    });
    assert!(failed.is_empty(), "these pages do not work as written, see above: {failed:?}");
}

fn follow(page: &str) {
    let (mut reader, blocks) = (Reader::new(), blocks(page));
    for block in &blocks {
        reader.follow(block);
        // A file that nothing else on the page mentions would be tried by nobody.
        if let Ok(Treatment::File(name)) = block.treatment() {
            let is_checked = name.ends_with(".toml") || name.ends_with(".json");
            let is_used = blocks.iter().any(|other| other.text.contains(name));
            assert!(is_checked || is_used, "nothing uses {name}");
        }
    }
    reader.finish();
}
