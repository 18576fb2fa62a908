//! The state file: created for its owner only; detects when another file has taken its place.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// SQLite's write-ahead log and its index.
const SIDE_FILES: [&str; 2] = ["-wal", "-shm"];
/// How long another process may take to create the file.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// Creates the file with `fill` if it is missing, and restricts it to its owner.
pub(super) fn prepare(path: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    match std::fs::metadata(path) {
        // Restricting a device such as /dev/null would take it from every program on this machine.
        Ok(metadata) if !metadata.is_file() => Err(Error::new(ErrorKind::InvalidInput, "it is not a regular file")),
        Ok(metadata) => {
            aquifer_system::restrict_file(path, &metadata)?;
            // SQLite creates these with the mode of the state file. If it was read-only, they still are.
            for rest in SIDE_FILES.map(|ending| sibling(path, ending)) {
                aquifer_system::share_mode(&rest, &metadata);
            }
            // The lock file is restricted as well, because anyone who can open it can hold the lock. It contains
            // nothing secret, so a failure is ignored.
            let lock = sibling(path, "-lock");
            if let Ok(metadata) = std::fs::metadata(&lock) {
                let _ = aquifer_system::restrict_file(&lock, &metadata);
            }
            Ok(())
        }
        Err(error) if error.kind() == ErrorKind::NotFound => create(path, fill),
        Err(error) => Err(error),
    }
}

/// Creates the file under a lock. If an earlier file was deleted, its log and index may be left behind. A new file must
/// not pick them up, and they must not be deleted if another process has just created them.
///
/// The file appears with its contents, so that a file without contents is never a new one.
fn create(path: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let _lock = lock(&sibling(path, "-lock"))?;
    if std::fs::exists(path)? {
        return Ok(());
    }
    for rest in SIDE_FILES.map(|ending| sibling(path, ending)) {
        match std::fs::remove_file(rest) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    // Closing a file releases this process's locks on it, so close it before any lock can be held.
    let draft = sibling(path, "-new");
    create_empty(&draft)?;
    fill(&draft)?;
    std::fs::rename(&draft, path)
}

/// Creates an empty file for its owner only, or empties it.
pub(super) fn create_empty(path: &Path) -> Result<()> {
    private().truncate(true).open(path).map(drop)
}

/// Whether the file was emptied. SQLite would take it for a new database and delete the log beside it.
pub(super) fn is_emptied(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.len() == 0)
}

/// Takes the lock. It is released when the file is dropped.
fn lock(path: &Path) -> Result<File> {
    let file = private().truncate(false).open(path)?;
    let until = Instant::now() + LOCK_TIMEOUT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(Duration::from_millis(5)),
            Err(TryLockError::WouldBlock) => {
                return Err(Error::new(ErrorKind::TimedOut, "another process is creating it"));
            }
        }
    }
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true);
    aquifer_system::make_private(&mut options);
    options
}

fn sibling(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
