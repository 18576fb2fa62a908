//! Lists of files, to prove that a package leaves nothing behind.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// How many differences are shown.
const MAX_SHOWN: usize = 20;

/// Every path below a folder with its permissions, and for files the size and time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listing(BTreeMap<String, String>);

impl Listing {
    /// Lists a folder, without paths that contain one of the words.
    pub(crate) fn read(folder: &Path, ignored: &[&str]) -> Result<Self> {
        let mut found = BTreeMap::new();
        let mut waiting = vec![folder.to_owned()];
        while let Some(current) = waiting.pop() {
            for entry in fs::read_dir(&current).with_context(|| format!("cannot list {}", current.display()))? {
                let path = entry?.path();
                let name = format!("/{}", path.strip_prefix(folder)?.to_string_lossy());
                if ignored.iter().any(|word| name.contains(word)) {
                    continue;
                }
                let facts = fs::symlink_metadata(&path)?;
                let mut text = format!("{:o}", facts.mode());
                if facts.is_dir() {
                    waiting.push(path);
                } else {
                    text += &format!(" {} bytes, changed {}", facts.len(), facts.mtime());
                }
                found.insert(name, text);
            }
        }
        Ok(Self(found))
    }

    /// Fails if the lists differ, and names the differences.
    pub(crate) fn expect_same(&self, now: &Self) -> Result<()> {
        let differences = self.differences(now);
        let shown = differences.iter().take(MAX_SHOWN).cloned().collect::<Vec<_>>().join("\n  ");
        ensure!(differences.is_empty(), "{} differences are left behind:\n  {shown}", differences.len());
        Ok(())
    }

    fn differences(&self, now: &Self) -> Vec<String> {
        let left = now.0.iter().filter_map(|(path, facts)| match self.0.get(path) {
            None => Some(format!("new: {path}")),
            Some(before) if before != facts => Some(format!("changed: {path} ({before} → {facts})")),
            Some(_) => None,
        });
        let gone = self.0.keys().filter(|path| !now.0.contains_key(*path)).map(|path| format!("gone: {path}"));
        left.chain(gone).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_named() -> Result<()> {
        let list = |entries: &[(&str, &str)]| {
            Listing(entries.iter().map(|(path, facts)| ((*path).to_owned(), (*facts).to_owned())).collect())
        };
        let before = list(&[("/a", "1"), ("/b", "2"), ("/c", "3")]);
        let after = list(&[("/a", "1"), ("/b", "9"), ("/d", "4")]);
        assert_eq!(before.differences(&after), ["changed: /b (2 → 9)", "new: /d", "gone: /c"]);
        assert!(before.expect_same(&after).is_err());
        before.expect_same(&before.clone())
    }
}
