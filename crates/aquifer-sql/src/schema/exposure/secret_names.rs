//! Detects columns that hold a secret, by their names ([`secret_kind`]), their types and their tables.

use aquifer_protocol::case::snake_identifier;
use aquifer_protocol::secrets::{SecretKind, is_secret_form, secret_kind};
use aquifer_query::FieldType;

/// Names of the secret itself in a table of secrets: `api_keys.key`, `access_tokens.value`.
const CONTENTS: &[&[&str]] =
    &[&["value"], &["hash"], &["digest"], &["ciphertext"], &["encrypted", "value"], &["hashed", "value"]];

/// Names of the content of a login session and of what identifies it: whoever knows the identifier is logged in.
const SESSION_CONTENTS: &[&[&str]] = &[
    &["sid"],
    &["session", "id"],
    &["session", "sid"],
    &["sess"],
    &["data"],
    &["payload"],
    &["session", "payload"],
    &["cookie"],
];

/// Such names that equal the singular of the table.
const CONTENT_WORDS: &[&str] = &["key", "token", "secret", "code"];

/// Whether a column of this name and type in this table looks like a secret.
pub(crate) fn looks_secret(table: &str, column: &str, field_type: &FieldType) -> bool {
    match field_type {
        // Booleans, times and enumerations are never secrets.
        FieldType::Boolean | FieldType::Time | FieldType::Date | FieldType::Enum(_) => false,
        // A number is more likely a count or a price than a token or a salt.
        FieldType::Integer => matches!(secret_kind(column), Some(SecretKind::Number | SecretKind::Password)),
        FieldType::Number => secret_kind(column) == Some(SecretKind::Number),
        FieldType::List(Some(element)) => looks_secret(table, column, element),
        _ => secret_kind(column).is_some() || is_content_of(table, column),
    }
}

/// The words of a name, without trailing digits.
fn words_of(snake: &str) -> Vec<&str> {
    let words = snake.split('_').map(|word| word.trim_end_matches(|c: char| c.is_ascii_digit()));
    words.filter(|word| !word.is_empty()).collect()
}

/// The words of a table's name, each in the singular.
fn row_words(snake: &str) -> Vec<&str> {
    words_of(snake).into_iter().map(|word| word.strip_suffix('s').unwrap_or(word)).collect()
}

/// Whether the rows of a table are sessions, of whatever kind.
pub(super) fn holds_session(table: &str) -> bool {
    let snake = snake_identifier(table);
    row_words(&snake).last().is_some_and(|word| word.ends_with("session"))
}

/// Whether the rows of a table are credentials: `personal_access_tokens`, `api_keys`, `password_resets`, `oauth_grant`.
pub(super) fn names_credentials(table: &str) -> bool {
    let snake = snake_identifier(table);
    let rows = row_words(&snake);
    secret_kind(&rows.join("_")) == Some(SecretKind::Text)
        || rows.windows(2).any(|pair| pair == ["password", "reset"])
        || (snake.contains("oauth") && rows.last().is_some_and(|word| word.ends_with("grant")))
}

/// Whether the column is the secret of a table of secrets: `api_keys.key`, `api_keys.hashed_key`,
/// `recovery_codes.code`, `apitoken.key_hash`, `sessions.payload`.
fn is_content_of(table: &str, column: &str) -> bool {
    let (table, column) = (snake_identifier(table), snake_identifier(column));
    let (rows, words) = (row_words(&table), words_of(&column));
    let is_of_sessions = rows.last().is_some_and(|word| word.ends_with("session"));
    if is_of_sessions && SESSION_CONTENTS.contains(&words.as_slice()) {
        return true;
    }
    let Some(kind) = secret_kind(&rows.join("_")) else { return false };
    if CONTENTS.contains(&words.as_slice()) {
        return true;
    }
    let own: Vec<&str> = words.into_iter().filter(|word| !is_secret_form(word)).collect();
    let last_of_rows = rows.last().copied().unwrap_or_default();
    matches!(own.as_slice(), [word] if CONTENT_WORDS.contains(word) && last_of_rows.ends_with(word))
        // Django calls a token its key.
        || (own == ["key"] && last_of_rows.ends_with("token"))
        || (column == "code" && (kind == SecretKind::Password || ["otp", "totp"].contains(&last_of_rows)))
}

#[cfg(test)]
#[path = "secret_names_tests.rs"]
mod tests;
