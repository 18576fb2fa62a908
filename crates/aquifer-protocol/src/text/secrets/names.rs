//! Names of secrets: the only list in the project, for parameters, settings, text and columns of databases.
//!
//! Names are split into words in any style: `passwordHash`, `PASSWORD_HASH` and `password hash` are the same. The last
//! word of a name denotes its value: `secret_name` is a name, `token_id` an id, `max_tokens` a number, but `db_password`
//! is a password. Some last words need a qualifier: a `key` is a secret if it is an API key, but not if it is a primary
//! key. A representation of a secret is as sensitive as the secret (`token_hash`), and a description of one is not
//! (`password_changed_at`, `has_password`).

use super::name_words::{
    DESCRIBING_WORDS, DESCRIPTIONS, DIGEST_SUBJECTS, ENDINGS, FORMS, NUMBERS, OTHER_TOKENS, PASS_OWNERS, PASSWORDS,
    QUALIFIED, REPEATED, SECRET_ALONE, SECRETS, SUSPECT, TOKEN_PURPOSES,
};
use crate::case::snake_identifier;

/// The maximum length of a name.
const MAX_NAME_BYTES: usize = 256;

/// The kind of a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretKind {
    /// A token, a key or the like, which is never a number.
    Text,
    /// A password.
    Password,
    /// May also be stored as a number: a card number, a PIN.
    Number,
}

/// The kind of secret that a value of this name is: `db_password`, `apiKey`, `X-Api-Key`. `None` for `secret_name` or
/// `max_tokens`.
pub fn secret_kind(name: &str) -> Option<SecretKind> {
    if name.len() > MAX_NAME_BYTES {
        return None;
    }
    let snake = snake_words(name);
    let words = words_of(&snake);
    let mut words = words.as_slice();
    let describes = words.len() > 1 && words.first().is_some_and(|first| DESCRIBING_WORDS.contains(first));
    if describes || words.contains(&"public") {
        return None;
    }
    if words == ["pass"] {
        return Some(SecretKind::Text);
    }
    let is_pass =
        words.windows(2).any(is_personal_pass) || words.windows(3).any(|three| three == ["mot", "de", "passe"]);
    if is_pass || words.iter().any(|word| is_password(word)) {
        let is_about = words.last().is_some_and(|last| DESCRIPTIONS.contains(last));
        return (!is_about).then_some(SecretKind::Password);
    }
    loop {
        if NUMBERS.iter().any(|secret| words.ends_with(secret)) || is_pin(words) {
            return Some(SecretKind::Number);
        }
        if is_text_secret(words) {
            return Some(SecretKind::Text);
        }
        match words.split_last() {
            Some((last, before)) if FORMS.contains(last) || REPEATED.contains(last) => words = before,
            _ => return None,
        }
    }
}

/// Whether the value of this name is a secret.
pub fn names_secret(name: &str) -> bool {
    secret_kind(name).is_some()
}

/// Whether the value of this name may be a secret. Broader than [`names_secret`], for configurations, where hiding too
/// much does no harm.
pub fn may_name_secret(name: &str) -> bool {
    let snake = snake_words(name);
    let is_suspect = |word: &&str| {
        let is_secret = |secret: &&[&str]| *secret == [*word];
        SUSPECT.contains(word) || is_password(word) || SECRETS.iter().chain(NUMBERS).any(is_secret)
    };
    names_secret(name) || words_of(&snake).iter().any(is_suspect)
}

/// Whether a word of a name says in which form a secret is stored: `hash`, `encrypted`.
pub fn is_secret_form(word: &str) -> bool {
    FORMS.contains(&word)
}

/// The name in snake_case. An identifier would begin with a letter: `n2fa_code`.
fn snake_words(name: &str) -> String {
    let snake = snake_identifier(name);
    let has_digit = name.starts_with(|first: char| first.is_ascii_digit());
    snake.strip_prefix('n').filter(|_| has_digit).map(str::to_owned).unwrap_or(snake)
}

/// The words of a snake_case name, without trailing digits.
fn words_of(snake: &str) -> Vec<&str> {
    let words = snake.split('_').map(|word| word.trim_end_matches(|c: char| c.is_ascii_digit()));
    // A word of digits only (`password_2`) is dropped.
    words.filter(|word| !word.is_empty()).collect()
}

fn is_text_secret(words: &[&str]) -> bool {
    let Some((last, before)) = words.split_last() else { return false };
    // `passWord` and `accesstoken` are the same names, split differently.
    let (word, end) = split_compound(last).map_or((None, *last), |(word, end)| (Some(word), end));
    if end == "token" && word.or(before.last().copied()).is_some_and(|word| OTHER_TOKENS.contains(&word)) {
        return false;
    }
    let is_qualified = |last: &str, before: &[&str]| {
        let holds = |(lasts, qualifiers): &(&[&str], &[&str])| {
            lasts.contains(&last) && before.iter().any(|word| qualifiers.contains(word))
        };
        QUALIFIED.iter().any(holds)
    };
    SECRETS.iter().any(|secret| words.ends_with(secret))
        || (before.is_empty() && SECRET_ALONE.contains(last))
        || ENDINGS.iter().any(|ending| last.ends_with(ending))
        || has_purpose(words)
        || is_qualified(last, before)
        || word.is_some_and(|word| is_qualified(end, &[before, &[word]].concat()))
}

/// A PIN of a person or a card, and not one of a circuit.
fn is_pin(words: &[&str]) -> bool {
    let Some((&"pin", before)) = words.split_last() else { return false };
    let of_pins = |(lasts, qualifiers): &(&[&str], &[&str])| {
        lasts.contains(&"pin") && before.iter().any(|word| qualifiers.contains(word))
    };
    before.is_empty() || QUALIFIED.iter().any(of_pins)
}

/// Whether the last two words name a credential by its purpose: `access_tokens`, `remember_digest`.
fn has_purpose(words: &[&str]) -> bool {
    match words {
        [.., purpose, "tokens"] => TOKEN_PURPOSES.contains(purpose),
        [.., purpose, "digest"] => DIGEST_SUBJECTS.contains(purpose),
        _ => false,
    }
}

fn is_password(word: &str) -> bool {
    PASSWORDS.contains(&word) || word.starts_with("password") || word.ends_with("password")
}

fn is_personal_pass(pair: &[&str]) -> bool {
    match pair {
        ["pass", "word" | "phrase" | "code"] => true,
        [owner, "pass"] => PASS_OWNERS.contains(owner),
        ["pass", form] => ["hash", "salt", "digest"].contains(form),
        _ => false,
    }
}

/// Splits a compound without a separator: `clientsecret`.
fn split_compound(word: &str) -> Option<(&str, &str)> {
    const SECRET_ENDINGS: &[&str] =
        &["password", "passwd", "passphrase", "secret", "token", "tokens", "key", "apikey", "cookie"];
    /// Long enough for `api` and `access`, but not for the `m` of `monkey`.
    const MIN_PREFIX_BYTES: usize = 2;
    let end = SECRET_ENDINGS
        .iter()
        .filter(|end| word.len() >= end.len() + MIN_PREFIX_BYTES)
        .find(|end| word.ends_with(**end))?;
    let rest = word.strip_suffix(*end)?;
    // A qualifier may be a compound itself: `sharedaccesskey`.
    let known = QUALIFIED.iter().flat_map(|(_, qualifiers)| *qualifiers).filter(|known| known.len() > 2);
    let known = known.chain(OTHER_TOKENS).filter(|known| rest.ends_with(**known)).max_by_key(|known| known.len());
    Some((known.copied().unwrap_or(rest), *end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_saf_5_the_last_word_of_a_name_decides() {
        for name in [
            "password",
            "Password",
            "passWord",
            "PASSWORD",
            "db_password",
            "userPassword",
            "PGPASSWORD",
            "password2",
            "password_confirmation",
            "new-password",
            "passwd",
            "pwd",
            "MYSQL_PWD",
            "passphrase",
            "apiKey",
            "api_key",
            "API-KEY",
            "APIKey",
            "apikey",
            "X-Api-Key",
            "x_api_key",
            "access_key",
            "AccountKey",
            "SharedAccessKey",
            "sharedaccesskey",
            "aws_secret_access_key",
            "private_key",
            "signingKey",
            "secretkey",
            "accessToken",
            "accesstoken",
            "refresh_token",
            "confirmation_token",
            "token",
            "tokens",
            "access_tokens",
            "auth_token",
            "authtoken",
            "id_token",
            "csrfToken",
            "client_secret",
            "clientsecret",
            "clientSecret",
            "secret",
            "secrets",
            "secret_value",
            "SecretString",
            "authorization",
            "Proxy-Authorization",
            "auth",
            "basic_auth",
            "cookie",
            "Set-Cookie",
            "credentials",
            "jwt",
            "bearer",
            "pin",
            "card_pin",
            "otp",
            "cvv",
            "cvv2",
            "recovery_codes",
            "mfa_code",
            "2fa_code",
            "ssn",
            "credit_card_number",
            "signing_keys",
            "remember_digest",
            "password_hash",
            "connection_string",
            "ConnectionString",
            "database_url",
            "dsn",
            "github_pat",
            "user.password",
        ] {
            assert!(names_secret(name), "{name}");
            assert!(may_name_secret(name), "{name}");
        }
        for name in [
            "",
            "id",
            "name",
            "key",
            "keys",
            "secret_name",
            "secretName",
            "secret_id",
            "secret_version",
            "secret_arn",
            "token_id",
            "token_count",
            "token_type",
            "tokenizer",
            "max_tokens",
            "maxTokens",
            "total_tokens",
            "page_token",
            "pageToken",
            "nextToken",
            "nexttoken",
            "next_page_token",
            "continuation_token",
            "stop_token",
            "idempotency_token",
            "password_reset_at",
            "passwordChangedAt",
            "password_policy",
            "has_password",
            "is_secret",
            "show_password",
            "key_id",
            "access_key_id",
            "public_key",
            "publicKey",
            "primary_key",
            "sort_key",
            "partition_key",
            "foreign_key",
            "idempotency_key",
            "cache_key",
            "monkey",
            "keyboard",
            "author",
            "authority",
            "auth_type",
            "auth_url",
            "oauth",
            "passenger",
            "compass",
            "cookie_name",
            "cookbook",
            "pinned",
            "gpio_pin",
            "spin",
            "zip_code",
            "country_code",
            "status_code",
            "content_hash",
            "query_string",
            "image_url",
            "pattern",
            "path",
            "secretary",
            "credential_id",
            "session_name",
        ] {
            assert!(!names_secret(name), "{name}");
        }
    }

    #[test]
    fn r_dis_2_a_configured_value_is_suspect_for_any_word_of_its_name() {
        for name in ["GITHUB_TOKEN_FILE", "--db-key", "SESSION_NAME", "X-Signature", "TLS_CERT", "private_path", "PAT"]
        {
            assert!(may_name_secret(name), "{name}");
        }
        for name in ["PORT", "LOG_LEVEL", "--verbose", "REGION", "keyboard"] {
            assert!(!may_name_secret(name), "{name}");
        }
    }
}
