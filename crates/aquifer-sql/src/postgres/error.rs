//! Converts errors of PostgreSQL.

use std::error::Error as _;

use tokio_postgres::error::{DbError, SqlState};

use crate::error::{Constraint, SqlError, Violation};

pub(super) fn from_driver(error: &tokio_postgres::Error) -> SqlError {
    let cause = match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    };
    match error.as_db_error() {
        Some(db) => from_server(db, cause),
        None if error.is_closed() => SqlError::ConnectionLost { cause },
        None => SqlError::Unavailable { reason: connect_failure_reason(&cause).to_owned(), cause },
    }
}

/// The reason a connection failed, without the driver's message.
fn connect_failure_reason(cause: &str) -> &'static str {
    let says = |words: &str| cause.contains(words);
    if says("Connection refused") {
        "no server is listening on its address"
    } else if says("failed to lookup address") || says("Name or service not known") {
        "the host name of its server cannot be resolved"
    } else if says("not valid for name") {
        "the certificate of its server is for another host name"
    } else if says("certificate") {
        "the certificate of its server is not trusted"
    } else if says("password missing") {
        "its server requires a password, and none is configured"
    } else if says("server does not support TLS") {
        "its server does not support TLS, and sslmode requires it"
    } else if says("timed out") {
        "its server does not answer"
    } else {
        "its server cannot be reached"
    }
}

fn from_server(db: &DbError, cause: String) -> SqlError {
    let code = db.code();
    let cause = match db.detail() {
        Some(detail) => format!("{cause} ({detail})"),
        None => cause,
    };
    let unavailable = |reason: &str| SqlError::Unavailable { reason: reason.to_owned(), cause: cause.clone() };
    let broken = |kind| {
        SqlError::Violation(Violation {
            kind,
            constraint: db.constraint().map(str::to_owned),
            columns: match db.column() {
                Some(column) => vec![column.to_owned()],
                None => parse_key_columns(db.detail().unwrap_or_default()),
            },
            other: None,
            blocking: None,
            cause: cause.clone(),
        })
    };
    let invalid =
        |problem| SqlError::InvalidValue { problem, column: db.column().map(str::to_owned), cause: cause.clone() };
    if db.routine() == Some("exec_stmt_raise") {
        // Messages of RAISE were written for users, whatever their code.
        SqlError::Rejected { message: Some(db.message().to_owned()), cause }
    } else if *code == SqlState::UNIQUE_VIOLATION {
        broken(Constraint::Unique)
    } else if *code == SqlState::FOREIGN_KEY_VIOLATION {
        // Both directions of a broken reference have the same code; only the message differs.
        let still_referenced = db.message().contains("update or delete on table");
        let kind = if still_referenced { Constraint::HasChildren } else { Constraint::MissingParent };
        broken(kind)
    } else if *code == SqlState::CHECK_VIOLATION {
        broken(Constraint::Check)
    } else if *code == SqlState::NOT_NULL_VIOLATION {
        broken(Constraint::NotNull)
    } else if *code == SqlState::EXCLUSION_VIOLATION {
        broken(Constraint::Exclusion)
    } else if *code == SqlState::QUERY_CANCELED {
        SqlError::Timeout { cause }
    } else if *code == SqlState::LOCK_NOT_AVAILABLE {
        SqlError::Busy { reason: "another session holds a lock on the same rows" }
    } else if *code == SqlState::T_R_SERIALIZATION_FAILURE || *code == SqlState::T_R_DEADLOCK_DETECTED {
        SqlError::SerializationFailure { cause }
    } else if *code == SqlState::READ_ONLY_SQL_TRANSACTION {
        SqlError::PermissionDenied { reason: "the database is read-only", cause }
    } else if *code == SqlState::INSUFFICIENT_PRIVILEGE {
        SqlError::PermissionDenied { reason: "the database does not permit this for its user", cause }
    } else if *code == SqlState::INVALID_PASSWORD || *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION {
        unavailable("its server rejects the user name or the password")
    } else if *code == SqlState::INVALID_CATALOG_NAME {
        unavailable("its server has no such database")
    } else if *code == SqlState::TOO_MANY_CONNECTIONS {
        unavailable("its server has no free connection")
    } else if *code == SqlState::UNDEFINED_TABLE
        || *code == SqlState::UNDEFINED_COLUMN
        || *code == SqlState::UNDEFINED_OBJECT
    {
        SqlError::SchemaChanged { message: Some(db.message().to_owned()), cause }
    } else if *code == SqlState::FEATURE_NOT_SUPPORTED && db.routine() == Some("RevalidateCachedQuery") {
        SqlError::StaleStatement { cause }
    } else if *code == SqlState::STRING_DATA_RIGHT_TRUNCATION {
        invalid("is too long for its column")
    } else if *code == SqlState::NUMERIC_VALUE_OUT_OF_RANGE {
        invalid("is out of the range of its column")
    } else if code.code().starts_with("22") {
        invalid("has a value its column does not accept")
    } else if *code == SqlState::ADMIN_SHUTDOWN || *code == SqlState::CRASH_SHUTDOWN {
        unavailable("its server has ended the connection")
    } else if ["08", "53", "57", "58"].iter().any(|class| code.code().starts_with(class)) {
        unavailable("its server is not ready")
    } else {
        SqlError::Rejected { message: None, cause }
    }
}

/// The columns named in `Key (a, "b c")=(1, 2) already exists.` The constraint of a partition has a generated name, but
/// its columns are those of the table. The surrounding words depend on the server's language.
fn parse_key_columns(detail: &str) -> Vec<String> {
    let Some((before, _)) = detail.split_once(")=(") else { return Vec::new() };
    let Some((_, list)) = before.split_once('(') else { return Vec::new() };
    crate::schema::sql_definitions::parse_names(list)
}
