//! Temporary directories that nothing is left of.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// A temporary directory, deleted when it is dropped.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let path = base().join(NEXT.fetch_add(1, Ordering::Relaxed).to_string());
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// The file of a store.
    pub(crate) fn file(&self) -> PathBuf {
        self.0.join("state.db")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The directory of this process. The thread of an audit may outlive its test by a moment and make its directory anew, and a
/// process that is killed drops nothing, so another process removes everything when this one has ended.
fn base() -> &'static Path {
    static BASE: OnceLock<Base> = OnceLock::new();
    let base = BASE.get_or_init(|| {
        let path = std::env::temp_dir().join(format!("aquifer-gate-{}", std::process::id()));
        // The machine may have been switched off while a process with the same id ran.
        let _ = std::fs::remove_dir_all(&path);
        Base { _sweeper: sweep_after_exit(&path), path }
    });
    &base.path
}

struct Base {
    path: PathBuf,
    /// Its input ends when this process does.
    _sweeper: Option<std::process::Child>,
}

#[cfg(unix)]
fn sweep_after_exit(path: &Path) -> Option<std::process::Child> {
    use std::os::unix::process::CommandExt as _;
    use std::process::{Command, Stdio};
    let mut command = Command::new("sh");
    // Processes that a killed test has started may write for another moment.
    let script = "cat > /dev/null; for turn in 1 2 3; do rm -rf -- \"$1\"; sleep 1; done";
    command.args(["-c", script, "sh"]).arg(path);
    // Signals to the group of the test are not for it.
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    Some(command.spawn().unwrap())
}

#[cfg(not(unix))]
fn sweep_after_exit(_path: &Path) -> Option<std::process::Child> {
    None
}
