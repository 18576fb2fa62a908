//! The content of a package: files by their paths, sorted.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Result, bail};

/// What is at a path.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    Directory,
    File(Arc<[u8]>),
}

/// Paths with their permissions and content. Directories are added with their files.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tree(BTreeMap<String, (u32, Content)>);

impl Tree {
    pub(crate) fn add_file(&mut self, path: &str, mode: u32, bytes: impl Into<Arc<[u8]>>) -> Result<()> {
        self.add(path, mode, Content::File(bytes.into()))
    }

    fn add(&mut self, path: &str, mode: u32, content: Content) -> Result<()> {
        if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            bail!("'{path}' is no path in a package");
        }
        for (index, _) in path.match_indices('/') {
            let parent = path.get(..index).unwrap_or_default().to_owned();
            self.0.entry(parent).or_insert((0o755, Content::Directory));
        }
        if self.0.insert(path.to_owned(), (mode, content)).is_some() {
            bail!("'{path}' is twice in a package");
        }
        Ok(())
    }

    /// Moves everything into a folder.
    pub(crate) fn below(self, folder: &str) -> Result<Self> {
        let mut moved = Self::default();
        for (path, (mode, content)) in self.0 {
            if !matches!(content, Content::Directory) {
                moved.add(&format!("{folder}/{path}"), mode, content)?;
            }
        }
        Ok(moved)
    }

    /// Paths, permissions and content, sorted by path.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, u32, &Content)> {
        self.0.iter().map(|(path, (mode, content))| (path.as_str(), *mode, content))
    }

    /// Only the files.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, u32, &[u8])> {
        self.entries().filter_map(|(path, mode, content)| match content {
            Content::File(bytes) => Some((path, mode, &**bytes)),
            Content::Directory => None,
        })
    }

    /// The size of all files.
    pub(crate) fn size(&self) -> usize {
        self.files().map(|(_, _, bytes)| bytes.len()).sum()
    }

    /// Writes everything below a folder of this machine.
    pub(crate) fn write(&self, folder: &std::path::Path) -> Result<()> {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::create_dir_all(folder)?;
        for (path, mode, content) in self.entries() {
            let path = folder.join(path);
            match content {
                Content::Directory => std::fs::create_dir_all(&path)?,
                Content::File(bytes) => {
                    std::fs::write(&path, bytes)?;
                    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode))?;
                }
            }
        }
        Ok(())
    }
}
