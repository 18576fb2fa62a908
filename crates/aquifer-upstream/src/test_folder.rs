//! A temporary folder for unit tests.

use std::path::PathBuf;

/// A folder that is removed with everything in it, also when the test fails.
pub(crate) struct TestFolder(pub(crate) PathBuf);

impl TestFolder {
    /// A new, empty one. Names differ within the process.
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("aquifer-{name}-{}", std::process::id()));
        // A killed run with the same process id may have left one behind.
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self(path)
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
