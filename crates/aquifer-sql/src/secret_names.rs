//! Which column names announce a secret.
//!
//! Names are read as words, in whatever style they are written: `passwordHash`, `PASSWORD_HASH` and `password hash` are
//! alike. What a name is about stands at its end (`reset_token` is a token, `token_count` is a number), so a name counts
//! if a secret stands there, perhaps in some representation (`token_hash`), and not if it is only described
//! (`password_changed_at`, `has_password`).

use aquifer_query::FieldType;

use crate::names::snake;

/// A secret by itself: these words, at the end of a name.
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
    &["encryption", "key"],
    &["signing", "key"],
    &["master", "key"],
    &["auth", "key"],
    &["hmac", "key"],
    &["ssn"],
    &["social", "security"],
    &["social", "security", "number"],
    &["social", "security", "no"],
    &["credit", "card"],
    &["credit", "card", "number"],
    &["credit", "card", "no"],
    &["creditcard"],
    &["debit", "card"],
    &["card", "number"],
    &["card", "no"],
    &["cc", "number"],
    &["cvv"],
    &["cvc"],
    &["card", "verification", "code"],
    &["security", "code"],
    &["pin"],
    &["otp"],
    &["totp"],
    &["otp", "code"],
    &["mfa", "code"],
    &["otp", "seed"],
    &["totp", "seed"],
    &["recovery", "code"],
    &["recovery", "codes"],
    &["backup", "code"],
    &["backup", "codes"],
    &["seed", "phrase"],
    &["mnemonic"],
    &["security", "answer"],
    &["secret", "answer"],
    &["salt"],
];

/// A secret wherever it stands in a name, unless the name ends by describing it.
const PASSWORDS: &[&str] = &[
    "password",
    "passwords",
    "passwd",
    "pwd",
    "passphrase",
    "passcode",
    "passhash",
    "passwort",
    "kennwort",
    "contrasena",
    "senha",
    "wachtwoord",
];

/// Whose pass it is, where `pass` alone could be a mountain's.
const PASS_OF: &[&str] =
    &["user", "db", "smtp", "mail", "ftp", "admin", "login", "account", "auth", "root", "member", "hashed"];

/// Endings that written-together names are recognised by: `accesstoken`, `userpassword`.
const ENDINGS: &[&str] = &["password", "passwd", "token", "secret", "apikey", "privatekey", "secretkey", "accesskey"];

/// A secret in another form is still one worth guessing.
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

/// What follows a secret's name where the column only tells something about it.
const ABOUT: &[&str] = &[
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

/// What precedes a secret's name where the column only says whether there is one.
const WHETHER: &[&str] =
    &["is", "has", "have", "had", "needs", "requires", "require", "must", "can", "should", "use", "uses", "force"];

/// Whether a column of this name and type looks like a secret.
pub(crate) fn looks_secret(column: &str, of: &FieldType) -> bool {
    // Whether, and when: neither opens a door.
    !matches!(of, FieldType::Boolean | FieldType::Time | FieldType::Date) && names_secret(column)
}

fn names_secret(column: &str) -> bool {
    let snake = snake(column);
    let words: Vec<&str> = snake.split('_').map(|word| word.trim_end_matches(|c: char| c.is_ascii_digit())).collect();
    // A number of its own (`password_2`) leaves nothing.
    let mut words: &[&str] = &words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>();
    if words.first().is_some_and(|first| WHETHER.contains(first)) {
        return false;
    }
    if words.iter().any(|word| is_password(word)) || words.windows(2).any(is_pass_of_somebody) {
        return !words.last().is_some_and(|last| ABOUT.contains(last));
    }
    loop {
        if SECRETS.iter().any(|secret| words.ends_with(secret)) || words.last().is_some_and(|word| is_joined(word)) {
            return true;
        }
        match words.split_last() {
            Some((last, before)) if FORMS.contains(last) => words = before,
            _ => return false,
        }
    }
}

fn is_password(word: &str) -> bool {
    PASSWORDS.contains(&word) || word.starts_with("password") || word.ends_with("password")
}

fn is_pass_of_somebody(pair: &[&str]) -> bool {
    match pair {
        [owner, "pass"] => PASS_OF.contains(owner),
        ["pass", form] => ["hash", "salt", "digest"].contains(form),
        _ => false,
    }
}

fn is_joined(word: &str) -> bool {
    ENDINGS.iter().any(|ending| word.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_saf_5_names_of_secrets_are_recognised_in_every_style() {
        for name in [
            "password",
            "PASSWORD",
            "Password",
            "password_hash",
            "passwordHash",
            "PasswordHash",
            "PASSWORD HASH",
            "password-hash",
            "passwordhash",
            "user_password",
            "encrypted_password",
            "hashed_password",
            "password2",
            "password_2",
            "password_hint",
            "password_reset_token",
            "passwd",
            "pwd",
            "pwd_hash",
            "user_pass",
            "pass_hash",
            "Contraseña",
            "ssn",
            "SSN",
            "customer_ssn",
            "social_security_number",
            "socialSecurityNo",
            "token",
            "access_token",
            "accessToken",
            "accesstoken",
            "refreshToken",
            "token_hash",
            "csrf_token_2",
            "api_key",
            "apiKey",
            "APIKey",
            "apikey",
            "stripe_api_key",
            "api_key_hash",
            "secret",
            "client_secret",
            "clientSecret",
            "totp_secret",
            "secret_key",
            "secret_key_base",
            "private_key",
            "privateKey",
            "private_key_pem",
            "aws_secret_access_key",
            "credit_card",
            "credit_card_number",
            "creditCardNumber",
            "card_number",
            "cvv",
            "CVV2",
            "cvc",
            "pin",
            "card_pin",
            "pin_hash",
            "otp",
            "otp_code",
            "recovery_code",
            "recovery_codes",
            "backupCodes",
            "session_key",
            "session_token",
            "password_salt",
            "salt",
            "credentials",
        ] {
            assert!(names_secret(name), "{name}");
        }
    }

    #[test]
    fn what_only_speaks_of_a_secret_is_none() {
        for name in [
            "token_count",
            "tokens",
            "prompt_tokens",
            "max_tokens",
            "token_id",
            "token_type",
            "token_expires_at",
            "secret_name",
            "secret_id",
            "secretary",
            "hash_tags",
            "hash",
            "content_hash",
            "commit_hash",
            "password_changed_at",
            "password_expires",
            "has_password",
            "is_password_set",
            "must_change_password",
            "failed_password_attempts",
            "access_key_id",
            "public_key",
            "primary_key",
            "sort_key",
            "key",
            "card_type",
            "credit_card_type",
            "credit_card_id",
            "pinned",
            "pin_count",
            "shipping_pass",
            "mountain_pass",
            "passport",
            "compass",
            "bypass",
            "opinion",
            "spin",
            "salted",
            "name",
            "",
            "_",
            "123",
        ] {
            assert!(!names_secret(name), "{name}");
        }
        assert!(!looks_secret("secret", &FieldType::Boolean));
        assert!(!looks_secret("token", &FieldType::Time));
        assert!(looks_secret("pin", &FieldType::Integer));
    }
}
