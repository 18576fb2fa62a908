//! Looks for damage in the state file without changing it.

use std::path::Path;
use std::time::{Duration, Instant};

use aquifer_engine::store::StoreError;
use rusqlite::{Connection, OpenFlags};

/// How long to wait for another process's lock, and how long to look.
const TIMEOUT: Duration = Duration::from_secs(5);
/// After how many steps of SQLite the time is checked.
const STEPS_PER_CHECK: i32 = 10_000;
/// What SQLite answers if it finds nothing.
const INTACT: &str = "ok";

/// Returns what is damaged in a state file, if anything. Pages that are reached in time are checked.
pub fn find_damage(path: &Path) -> Result<Option<String>, StoreError> {
    let until = Instant::now() + TIMEOUT;
    let check = || {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(TIMEOUT)?;
        connection.progress_handler(STEPS_PER_CHECK, Some(move || Instant::now() > until))?;
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0))
    };
    match check() {
        Ok(found) => Ok((found != INTACT).then_some(found)),
        Err(error) => match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase) => {
                Ok(Some(error.to_string()))
            }
            Some(rusqlite::ErrorCode::OperationInterrupted) => Ok(None),
            _ => Err(StoreError(format!("cannot check {}: {error}", path.display()))),
        },
    }
}
