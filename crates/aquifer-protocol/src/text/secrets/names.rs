//! Names of secrets.
//!
//! The last word of a name denotes its value: `secret_name` is a name, `token_id` an id, `max_tokens` a number, but
//! `db_password` is a password. Some last words need a qualifier: a `key` is a secret if it is an API key, but not if
//! it is a primary key.

/// The maximum length of a name.
const MAX_NAME_BYTES: usize = 256;

/// Last words that denote a secret whatever precedes them.
const SECRETS: &[&str] = &[
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "pw",
    "secret",
    "secrets",
    "token",
    "authorization",
    "credential",
    "credentials",
    "apikey",
    "apikeys",
    "cookie",
    "cookies",
    "bearer",
    "jwt",
    "dsn",
    "otp",
    "totp",
    "cvv",
    "cvc",
    "cvv2",
];

/// Words that denote a secret only if they are the whole name.
const SECRET_ALONE: &[&str] = &["tokens", "auth", "pass", "pin"];

/// Last words that denote a secret after one of these qualifiers.
const QUALIFIED: &[(&[&str], &[&str])] = &[
    (
        &["key", "keys"],
        &[
            "api",
            "access",
            "secret",
            "private",
            "signing",
            "encryption",
            "decryption",
            "account",
            "auth",
            "authorization",
            "master",
            "shared",
            "service",
            "admin",
            "ssh",
            "gpg",
            "pgp",
            "deploy",
            "hmac",
            "session",
            "storage",
            "subscription",
            "client",
            "app",
            "application",
            "license",
            "webhook",
        ],
    ),
    (&["tokens"], &["access", "refresh", "api", "auth", "bearer", "session", "id", "secret"]),
    (&["auth"], &["basic", "http", "proxy", "x", "registry", "user"]),
    (&["pass"], &["user", "db", "database", "admin", "root", "login", "smtp", "mail", "ftp", "http"]),
    (&["pin"], &["user", "card", "sim", "login", "security", "access", "account", "new", "old", "current"]),
    (&["pat"], &["github", "gitlab", "azure", "ado", "my", "user"]),
    (
        &["code", "codes"],
        &["recovery", "backup", "mfa", "otp", "2fa", "verification", "security", "access", "auth", "authorization"],
    ),
    (&["hash", "digest", "salt"], &["password", "passwd", "pwd", "secret", "token", "pin", "passphrase"]),
    (
        &["value", "string", "data", "text", "plaintext", "binary", "content"],
        &["secret", "secrets", "password", "token", "credential", "credentials"],
    ),
    (&["phrase"], &["seed", "recovery", "pass"]),
    (&["string", "str"], &["connection", "conn"]),
    (&["url", "uri"], &["database", "db"]),
];

/// Words before `token` that denote a page token, a token of text or a nonce instead of a secret.
const OTHER_TOKENS: &[&str] = &[
    "page",
    "next",
    "prev",
    "previous",
    "continuation",
    "pagination",
    "sync",
    "cursor",
    "start",
    "stop",
    "end",
    "first",
    "last",
    "eos",
    "bos",
    "pad",
    "mask",
    "special",
    "progress",
    "delta",
    "change",
    "max",
    "min",
    "per",
    "idempotency",
    "idempotent",
    "concurrency",
    "version",
];

/// First words of names that describe a secret instead of containing it.
const DESCRIBING_WORDS: &[&str] = &[
    "is", "has", "had", "show", "hide", "use", "uses", "require", "requires", "required", "need", "needs", "allow",
    "allows", "enable", "enabled", "disable", "include", "exclude", "without", "no", "public",
];

/// Last words that are ignored: `password_confirmation`.
const REPEATED: &[&str] =
    &["confirmation", "confirm", "again", "repeat", "repeated", "verify", "new", "old", "current"];

/// Further words that make a configured value suspicious, anywhere in its name.
const SUSPECT: &[&str] = &[
    "tokens",
    "auth",
    "authentication",
    "pass",
    "pin",
    "pat",
    "key",
    "keys",
    "session",
    "signature",
    "sig",
    "cert",
    "private",
];

/// Whether the value of this name is a secret: `db_password`, `apiKey`, `X-Api-Key`, not `secret_name` or `max_tokens`.
pub fn names_secret(name: &str) -> bool {
    if name.len() > MAX_NAME_BYTES {
        return false;
    }
    let words = words(name);
    let mut words: &[String] = &words;
    while let [before @ .., last] = words
        && !before.is_empty()
        && (REPEATED.contains(&last.as_str()) || last.bytes().all(|byte| byte.is_ascii_digit()))
    {
        words = before;
    }
    let [before @ .., last] = words else { return false };
    let last = match last.trim_end_matches(|c: char| c.is_ascii_digit()) {
        "" => last.as_str(),
        _ if last == "cvv2" => last.as_str(),
        word => word,
    };
    if before.first().is_some_and(|first| DESCRIBING_WORDS.contains(&first.as_str()))
        || before.iter().any(|word| word == "public")
    {
        return false;
    }
    if before.is_empty() && SECRET_ALONE.contains(&last) {
        return true;
    }
    let before: Vec<&str> = before.iter().map(String::as_str).collect();
    // `passWord` and `accesstoken` are the same names, split differently.
    let (joined, compound) = (before.last().map(|word| format!("{word}{last}")), split_compound(last));
    is_secret(last, &before)
        || joined.is_some_and(|joined| SECRETS.contains(&joined.as_str()))
        || compound.is_some_and(|(word, end)| {
            let before: Vec<&str> = before.iter().copied().chain([word]).collect();
            is_secret(end, &before)
        })
}

/// Whether the value of this name may be a secret. Broader than [`names_secret`], for configurations, where hiding too
/// much does no harm.
pub fn may_name_secret(name: &str) -> bool {
    let is_suspect = |word: &String| SUSPECT.contains(&word.as_str()) || SECRETS.contains(&word.as_str());
    names_secret(name) || words(name).iter().any(is_suspect)
}

fn is_secret(last: &str, before: &[&str]) -> bool {
    if SECRETS.contains(&last) {
        return last != "token" || before.last().is_none_or(|word| !OTHER_TOKENS.contains(word));
    }
    QUALIFIED
        .iter()
        .any(|(lasts, qualifiers)| lasts.contains(&last) && before.iter().any(|word| qualifiers.contains(word)))
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

/// The words of a name in any style, in lower case.
fn words(name: &str) -> Vec<String> {
    let characters: Vec<char> = name.chars().take(MAX_NAME_BYTES).collect();
    let mut words: Vec<String> = vec![String::new()];
    for (index, &character) in characters.iter().enumerate() {
        if !character.is_alphanumeric() {
            words.push(String::new());
            continue;
        }
        let before = index.checked_sub(1).and_then(|index| characters.get(index)).copied().unwrap_or(' ');
        let next_is_small = characters.get(index + 1).is_some_and(|next| next.is_lowercase());
        let begins = character.is_uppercase()
            && (before.is_lowercase() || before.is_numeric() || (before.is_uppercase() && next_is_small));
        if begins {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(character.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
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
