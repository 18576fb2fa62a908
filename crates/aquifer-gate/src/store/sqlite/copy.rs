//! Copies the state file while other processes use it.

use std::path::Path;
use std::time::Duration;

use aquifer_engine::store::StoreError;
use rusqlite::{Connection, OpenFlags};

use super::file;

/// How long to wait for another process's lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Copies a state file as it is at one moment. The copy is readable only by its owner, and must not exist yet.
pub fn copy_state_file(from: &Path, to: &Path) -> Result<(), StoreError> {
    let error = |cause: &dyn std::fmt::Display| StoreError(format!("cannot copy {}: {cause}", from.display()));
    file::create_empty(to).map_err(|cause| error(&cause))?;
    let copy = || {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(from, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        // An empty file is accepted as the target.
        connection.execute("VACUUM INTO ?1", [to.to_string_lossy()])
    };
    copy().map(drop).map_err(|cause: rusqlite::Error| error(&cause))
}
