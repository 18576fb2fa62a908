//! Files for a server to serve.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of the test's own.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        Self::create_in(Path::new(env!("CARGO_TARGET_TMPDIR")), "")
    }

    /// A folder that every user can reach, wherever this repository is.
    pub(crate) fn reachable() -> Self {
        Self::create_in(&std::env::temp_dir(), "aquifer-test-")
    }

    fn create_in(parent: &Path, prefix: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("{prefix}{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = parent.join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// Writes a file and gives its path.
    pub(crate) fn file(&self, name: &str, content: &str) -> String {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Makes a database and gives its path. The file appears with everything in it.
    pub(crate) fn database(&self, name: &str, sql: &str) -> String {
        let (draft, path) = (self.path(&format!("{name}.draft")), self.path(name));
        alter(&draft, sql);
        std::fs::rename(draft, &path).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Does something to a database as another program would.
pub(crate) fn alter(path: &str, sql: &str) {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.execute_batch(sql).unwrap();
    connection.close().unwrap();
}
