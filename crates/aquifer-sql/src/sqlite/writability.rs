//! Whether this process can write to a SQLite file. If not, only reading is offered.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use aquifer_system::{may_create_files, may_write};
use rusqlite::Connection;

/// Why this process cannot write to the file, if it cannot. Completes a sentence.
pub(super) fn unwritable_reason(connection: &Connection, file: &Path) -> rusqlite::Result<Option<String>> {
    // SQLite puts its files beside the one that a link leads to.
    let file = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    if !may_write(&file) {
        return Ok(Some("this user may not write to its file".to_owned()));
    }
    if file.parent().is_none_or(may_create_files) {
        return Ok(None);
    }
    let mode: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
    // Another process may have created the files that WAL needs.
    if mode == "wal" && [beside(&file, "-wal"), beside(&file, "-shm")].iter().all(|one| may_write(one)) {
        return Ok(None);
    }
    Ok(Some("this user may not create files in its directory, where SQLite keeps its journal".to_owned()))
}

fn beside(file: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(file);
    name.push(suffix);
    name.into()
}
