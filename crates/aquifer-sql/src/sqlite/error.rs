//! Converts errors of SQLite.

use rusqlite::{Error, ErrorCode, ffi};

use crate::error::{Constraint, SqlError, Violation};

/// Why a file cannot be used in a directory in which this user may not create files. Where only reading is offered, it
/// is in WAL mode.
const CANNOT_CREATE_FILES: &str = "SQLite cannot create files beside it. It needs them to write and, in WAL mode, also \
    to read (the one that ends in -shm). Let this user create files in the directory, or switch the database to \
    another journal mode";

pub(super) fn from_rusqlite(error: &Error) -> SqlError {
    let cause = error.to_string();
    let (code, message) = match error {
        Error::SqliteFailure(code, message) => (code, message.clone().unwrap_or_default()),
        // Errors with a position in the statement.
        Error::SqlInputError { error, msg, .. } => (error, msg.clone()),
        _ => return SqlError::Rejected { message: None, cause },
    };
    let unavailable = |reason: &str| SqlError::Unavailable { reason: reason.to_owned(), cause: cause.clone() };
    match code.code {
        ErrorCode::ConstraintViolation => violation(code.extended_code, &message, cause),
        ErrorCode::OperationInterrupted => SqlError::Timeout { cause },
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
            SqlError::Busy { reason: "its file is locked by another process" }
        }
        ErrorCode::ReadOnly => match code.extended_code {
            ffi::SQLITE_READONLY_CANTINIT
            | ffi::SQLITE_READONLY_CANTLOCK
            | ffi::SQLITE_READONLY_DIRECTORY
            | ffi::SQLITE_READONLY_RECOVERY => unavailable(CANNOT_CREATE_FILES),
            _ => SqlError::PermissionDenied { reason: "the database file is read-only", cause },
        },
        ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied => {
            SqlError::PermissionDenied { reason: "the database does not allow it", cause }
        }
        ErrorCode::CannotOpen => unavailable("its file cannot be opened"),
        ErrorCode::NotADatabase => unavailable("its file is not a SQLite database"),
        ErrorCode::DatabaseCorrupt => unavailable("its file is damaged"),
        ErrorCode::DiskFull => unavailable("its disk is full"),
        ErrorCode::SystemIoFailure => unavailable("its file cannot be read or written"),
        ErrorCode::OutOfMemory => unavailable("there is not enough memory"),
        ErrorCode::TooBig => SqlError::InvalidValue { problem: "is too large for the database", column: None, cause },
        ErrorCode::TypeMismatch => {
            SqlError::InvalidValue { problem: "has a value of the wrong type for its column", column: None, cause }
        }
        ErrorCode::SchemaChanged => SqlError::SchemaChanged { message: None, cause },
        _ if message.starts_with("no such table") || message.starts_with("no such column") => {
            SqlError::SchemaChanged { message: Some(message), cause }
        }
        _ if message.contains("integer overflow") => SqlError::InvalidValue {
            problem: "has a sum beyond 64 bits. Narrow the filter",
            column: Some("aggregate".to_owned()),
            cause,
        },
        _ => SqlError::Rejected { message: None, cause },
    }
}

/// SQLite names violated constraints only in its message, such as `UNIQUE constraint failed: users.email`.
fn violation(extended: i32, message: &str, cause: String) -> SqlError {
    let named = message.split_once(": ").map_or("", |(_, named)| named);
    let columns =
        || named.split(", ").filter_map(|name| name.rsplit_once('.')).map(|(_, column)| column.to_owned()).collect();
    let broken = |kind, constraint, columns| {
        SqlError::Violation(Violation { kind, constraint, columns, other: None, blocking: None, cause: cause.clone() })
    };
    match extended {
        ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY | ffi::SQLITE_CONSTRAINT_ROWID => {
            broken(Constraint::Unique, None, columns())
        }
        ffi::SQLITE_CONSTRAINT_NOTNULL => broken(Constraint::NotNull, None, columns()),
        ffi::SQLITE_CONSTRAINT_CHECK => broken(Constraint::Check, Some(named.to_owned()), Vec::new()),
        ffi::SQLITE_CONSTRAINT_FOREIGNKEY => broken(Constraint::MissingParent, None, Vec::new()),
        ffi::SQLITE_CONSTRAINT_DATATYPE => {
            // `cannot store TEXT value in INTEGER column things.size`
            let column = message.rsplit_once('.').map(|(_, column)| column.to_owned());
            SqlError::InvalidValue { problem: "has a value of the wrong type for its column", column, cause }
        }
        // RESTRICT is implemented as a trigger.
        _ if message == "FOREIGN KEY constraint failed" => broken(Constraint::MissingParent, None, Vec::new()),
        // Messages of RAISE were written for users.
        _ => SqlError::Rejected { message: Some(message.to_owned()), cause },
    }
}
