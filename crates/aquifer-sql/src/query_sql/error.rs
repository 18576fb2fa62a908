//! Failures for statements that cannot be run. The messages are our own, because those of the databases may name
//! objects that callers cannot see.

use aquifer_protocol::error::wording::looks_like_a_leak;
use aquifer_protocol::error::{Code, Failure, FailureReason};
use aquifer_protocol::suggest;

use super::SqlText;

/// Maximum number of characters shown of a database message or a name.
const MAX_MESSAGE_CHARS: usize = 300;
const MAX_NAME_CHARS: usize = 64;

/// A name, sanitized for a message.
fn shown(name: &str) -> String {
    let name: String = name.chars().filter(|c| !c.is_control()).take(MAX_NAME_CHARS).collect();
    if looks_like_a_leak(&name) { "…".to_owned() } else { name }
}

/// A failure about the parameter `sql`.
pub(super) fn invalid_sql(problem: impl std::fmt::Display) -> Failure {
    Failure::invalid_value("sql", problem.to_string())
}

/// The character number at this byte, from 1.
pub(super) fn position_of(sql: &str, byte: usize) -> usize {
    sql.char_indices().take_while(|(index, _)| *index < byte).count() + 1
}

/// The failure for a syntax error at this byte.
pub(crate) fn syntax_error(sql: &SqlText, byte: Option<usize>, near: &str) -> Failure {
    match byte {
        Some(byte) if !near.is_empty() => {
            let (position, near) = (sql.position_of(byte), shown(near));
            invalid_sql(format_args!("has a syntax error near '{near}' (character {position})"))
                .detail("position", position)
        }
        _ => invalid_sql("has a syntax error: it ends too early"),
    }
}

/// The failure for a table that does not exist or is not served.
pub(crate) fn no_such_table<'a>(name: &str, tables: impl Iterator<Item = &'a str>) -> Failure {
    let (near, name) = (suggest::near(name, tables, 3), shown(name));
    let hint = match near.first() {
        Some(first) => format!("Did you mean '{first}'?"),
        None => "Use introspect with query \"schema\" to see the tables".to_owned(),
    };
    invalid_sql(format_args!("names '{name}', which is not a table here. {hint}")).detail("suggestions", near)
}

/// The failure for a column that does not exist or is not served.
pub(crate) fn no_such_column<'a>(name: &str, columns: impl Iterator<Item = &'a str>) -> Failure {
    let (near, name) = (suggest::near(name, columns, 3), shown(name));
    let hint = match near.first() {
        Some(first) => format!("Did you mean '{first}'?"),
        None => "Use introspect with query \"schema\" to see the columns".to_owned(),
    };
    invalid_sql(format_args!("names an unknown column: '{name}'. {hint}")).detail("suggestions", near)
}

/// The failure for a statement that is not allowed.
pub(crate) fn refused(reason: impl std::fmt::Display) -> Failure {
    Failure::explained(Code::PermissionDenied, "Permission denied", reason)
}

/// The failure for a statement that the database does not accept.
pub(crate) fn invalid(problem: impl std::fmt::Display, cause: &dyn std::error::Error) -> Failure {
    invalid_sql(problem).because(cause.to_string())
}

/// The failure for a statement that the database does not accept at this byte. The database's message refers only to
/// the caller's own text.
pub(crate) fn invalid_near(
    sql: &SqlText,
    byte: Option<usize>,
    message: &str,
    cause: &dyn std::error::Error,
) -> Failure {
    let failure = match byte {
        Some(byte) => {
            let position = sql.position_of(byte);
            invalid(format_args!("is not valid near character {position}"), cause).detail("position", position)
        }
        None => invalid("is not valid", cause),
    };
    let line: String = message.lines().next().unwrap_or_default().chars().take(MAX_MESSAGE_CHARS).collect();
    failure.with_reason(FailureReason::SourceError(line.into()))
}
