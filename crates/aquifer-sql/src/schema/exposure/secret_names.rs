//! Detects column names that indicate a secret.
//!
//! Names are split into words in any style: `passwordHash`, `PASSWORD_HASH` and `password hash` are the same. The
//! subject of a name is at its end (`reset_token` is a token, `token_count` is a number), so a name matches if it ends
//! in a secret or a representation of one (`token_hash`), and not if it only describes one (`password_changed_at`,
//! `has_password`).

use aquifer_protocol::case::snake_identifier;
use aquifer_query::FieldType;

/// Words that are a secret at the end of a name.
const SECRETS: &[&[&str]] = &[
    &["token"],
    &["jwt"],
    &["secret"],
    &["secrets"],
    &["credential"],
    &["credentials"],
    &["api", "key"],
    &["api", "keys"],
    &["apikey"],
    &["apikeys"],
    &["private", "key"],
    &["privkey"],
    &["access", "key"],
    &["secret", "key"],
    &["session", "key"],
    &["session", "data"],
    &["session", "cookie"],
    &["encryption", "key"],
    &["signing", "key"],
    &["master", "key"],
    &["auth", "key"],
    &["hmac", "key"],
    &["ssh", "key"],
    &["otp", "key"],
    &["totp", "key"],
    &["mfa", "key"],
    &["activation", "key"],
    &["activation", "code"],
    &["reset", "key"],
    &["reset", "code"],
    &["verification", "key"],
    &["verification", "code"],
    &["login", "code"],
    &["auth", "code"],
    &["authorization", "code"],
    &["device", "code"],
    &["code", "verifier"],
    &["wrapped", "key"],
    &["dek"],
    &["mfa", "code"],
    &["otp", "seed"],
    &["totp", "seed"],
    &["seed", "phrase"],
    &["mnemonic"],
    &["security", "answer"],
    &["secret", "answer"],
    &["salt"],
    // These usually contain a password.
    &["database", "url"],
    &["database", "uri"],
    &["db", "url"],
    &["db", "uri"],
    &["connection", "string"],
    &["dsn"],
];

/// Words that are a secret even in a numeric column.
const NUMBERS: &[&[&str]] = &[
    &["ssn"],
    &["social", "security"],
    &["social", "security", "number"],
    &["social", "security", "no"],
    &["credit", "card"],
    &["credit", "card", "number"],
    &["credit", "card", "no"],
    &["creditcard"],
    &["debit", "card"],
    &["debit", "card", "number"],
    &["card", "number"],
    &["card", "no"],
    &["cc", "number"],
    &["cvv"],
    &["cvv", "code"],
    &["cvc"],
    &["cvc", "code"],
    &["card", "verification", "code"],
    &["security", "code"],
    &["pin"],
    &["otp"],
    &["totp"],
    &["otp", "code"],
    &["totp", "code"],
    &["recovery", "code"],
    &["recovery", "codes"],
    &["backup", "code"],
    &["backup", "codes"],
];

/// Words that are a secret anywhere in a name, unless the name ends in a description.
const PASSWORDS: &[&str] = &[
    "password",
    "passwords",
    "passwd",
    "pwd",
    "pw",
    "pwhash",
    "pwdhash",
    "passphrase",
    "passcode",
    "passhash",
    "passwort",
    "kennwort",
    "contrasena",
    "senha",
    "wachtwoord",
    "motdepasse",
];

/// Words before `pass` that make it a password rather than, say, a mountain pass.
const PASS_OWNERS: &[&str] =
    &["user", "db", "smtp", "mail", "ftp", "admin", "login", "account", "auth", "root", "member", "hashed"];

/// Words before `tokens` that make them credentials. Other `tokens` usually count a language model's tokens.
const TOKEN_PURPOSES: &[&str] = &[
    "access", "refresh", "auth", "api", "session", "bearer", "oauth", "reset", "login", "device", "push", "csrf",
    "jwt", "secret",
];

/// Words before `digest` that make it the digest of a credential (`remember_digest`).
const DIGEST_SUBJECTS: &[&str] =
    &["remember", "activation", "reset", "confirm", "confirmation", "login", "session", "unlock", "invitation"];

/// Endings of joined words: `accesstoken`, `userpassword`.
const ENDINGS: &[&str] = &["password", "passwd", "token", "secret", "apikey", "privatekey", "secretkey", "accesskey"];

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

/// Representations of a secret, which are just as sensitive.
const FORMS: &[&str] = &[
    "hash",
    "hashed",
    "hashes",
    "digest",
    "encrypted",
    "enc",
    "cipher",
    "ciphertext",
    "salt",
    "bcrypt",
    "argon",
    "md",
    "sha",
    "hmac",
    "pem",
    "der",
    "hex",
    "base",
    "value",
    "plain",
    "plaintext",
    "clear",
    "cleartext",
    "raw",
    "text",
    "old",
    "new",
    "current",
    "previous",
    "confirmation",
    "backup",
];

/// Words after a secret that make the column a description of it.
const DESCRIPTIONS: &[&str] = &[
    "at",
    "on",
    "date",
    "time",
    "timestamp",
    "changed",
    "updated",
    "created",
    "expires",
    "expired",
    "expiry",
    "expiration",
    "set",
    "reset",
    "required",
    "enabled",
    "disabled",
    "count",
    "attempts",
    "tries",
    "failures",
    "length",
    "strength",
    "policy",
    "id",
    "ids",
    "type",
    "kind",
    "name",
    "version",
    "algorithm",
    "algo",
    "method",
    "rounds",
    "iterations",
    "cost",
    "age",
    "days",
    "ttl",
    "status",
    "state",
    "url",
    "link",
    "label",
    "description",
];

/// Words before a secret that make the column a flag.
const EXISTENCE_PREFIXES: &[&str] =
    &["is", "has", "have", "had", "needs", "requires", "require", "must", "can", "should", "use", "uses", "force"];

/// Whether a column of this name and type in this table looks like a secret.
pub(crate) fn looks_secret(table: &str, column: &str, of: &FieldType) -> bool {
    match of {
        // Booleans, times and enumerations are never secrets.
        FieldType::Boolean | FieldType::Time | FieldType::Date | FieldType::Enum(_) => false,
        // A number is more likely a count or a price than a token or a salt.
        FieldType::Integer => matches!(find_secret(column), Some(Kind::Number | Kind::Password)),
        FieldType::Number => find_secret(column) == Some(Kind::Number),
        FieldType::List(Some(element)) => looks_secret(table, column, element),
        _ => find_secret(column).is_some() || is_content_of(table, column),
    }
}

/// The kind of a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Password,
    /// May also be stored as a number.
    Number,
}

/// The words of a name, without trailing digits.
fn words_of(snake: &str) -> Vec<&str> {
    let words = snake.split('_').map(|word| word.trim_end_matches(|c: char| c.is_ascii_digit()));
    // A word of digits only (`password_2`) is dropped.
    words.filter(|word| !word.is_empty()).collect()
}

fn find_secret(column: &str) -> Option<Kind> {
    let snake = snake_identifier(column);
    let words = words_of(&snake);
    let mut words = words.as_slice();
    if words.first().is_some_and(|first| EXISTENCE_PREFIXES.contains(first)) {
        return None;
    }
    if words == ["pass"] {
        return Some(Kind::Text);
    }
    let is_pass =
        words.windows(2).any(is_personal_pass) || words.windows(3).any(|words| words == ["mot", "de", "passe"]);
    if is_pass || words.iter().any(|word| is_password(word)) {
        let is_about = words.last().is_some_and(|last| DESCRIPTIONS.contains(last));
        return (!is_about).then_some(Kind::Password);
    }
    loop {
        if NUMBERS.iter().any(|secret| words.ends_with(secret)) {
            return Some(Kind::Number);
        }
        let is_joined = words.last().is_some_and(|word| is_joined(word));
        if is_joined || SECRETS.iter().any(|secret| words.ends_with(secret)) || has_purpose(words) {
            return Some(Kind::Text);
        }
        match words.split_last() {
            Some((last, before)) if FORMS.contains(last) => words = before,
            _ => return None,
        }
    }
}

/// Whether the last two words name a credential by its purpose: `access_tokens`, `remember_digest`.
fn has_purpose(words: &[&str]) -> bool {
    match words {
        [.., purpose, "tokens"] => TOKEN_PURPOSES.contains(purpose),
        [.., purpose, "digest"] => DIGEST_SUBJECTS.contains(purpose),
        _ => false,
    }
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
    are_credentials(&row_words(&snake))
        || row_words(&snake).windows(2).any(|pair| pair == ["password", "reset"])
        || (snake.contains("oauth") && row_words(&snake).last().is_some_and(|word| word.ends_with("grant")))
}

fn are_credentials(rows: &[&str]) -> bool {
    rows.last().is_some_and(|word| is_joined(word)) || SECRETS.iter().any(|secret| rows.ends_with(secret))
}

/// Whether the column is the secret of a table of secrets: `api_keys.key`, `api_keys.hashed_key`,
/// `recovery_codes.code`, `apitoken.key_hash`, `sessions.payload`.
fn is_content_of(table: &str, column: &str) -> bool {
    let (table, column) = (snake_identifier(table), snake_identifier(column));
    let rows = row_words(&table);
    let words = words_of(&column);
    let is_of_sessions = rows.last().is_some_and(|word| word.ends_with("session"));
    if is_of_sessions && SESSION_CONTENTS.contains(&words.as_slice()) {
        return true;
    }
    let is_of_passwords = rows.last().is_some_and(|word| is_password(word));
    let are_numbers = NUMBERS.iter().any(|number| rows.ends_with(number));
    if !(is_of_passwords || are_numbers || are_credentials(&rows)) {
        return false;
    }
    if CONTENTS.contains(&words.as_slice()) {
        return true;
    }
    let own: Vec<&str> = words.into_iter().filter(|word| !FORMS.contains(word)).collect();
    let last_of_rows = rows.last().copied().unwrap_or_default();
    matches!(own.as_slice(), [word] if CONTENT_WORDS.contains(word) && last_of_rows.ends_with(word))
        // Django calls a token its key.
        || (own == ["key"] && last_of_rows.ends_with("token"))
        || (column == "code" && (is_of_passwords || ["otp", "totp"].contains(&last_of_rows)))
}

fn is_password(word: &str) -> bool {
    PASSWORDS.contains(&word) || word.starts_with("password") || word.ends_with("password")
}

fn is_personal_pass(pair: &[&str]) -> bool {
    match pair {
        [owner, "pass"] => PASS_OWNERS.contains(owner),
        ["pass", form] => ["hash", "salt", "digest"].contains(form),
        _ => false,
    }
}

fn is_joined(word: &str) -> bool {
    ENDINGS.iter().any(|ending| word.ends_with(ending))
}

#[cfg(test)]
#[path = "secret_names_tests.rs"]
mod tests;
