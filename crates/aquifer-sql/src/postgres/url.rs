//! Parses a PostgreSQL URL, with libpq's meaning of `sslmode` and `sslrootcert`. The driver does not support
//! `verify-ca` and `verify-full`, so both parameters are removed from the URL first.

use std::str::FromStr;

use aquifer_protocol::percent;
use tokio_postgres::Config;
use tokio_postgres::config::SslMode;

use crate::error::SqlError;

/// How the server is authenticated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Encryption {
    /// No encryption.
    Off,
    /// Encryption without verification: `prefer` and `require`.
    Unverified,
    /// A certificate of a trusted authority, for any host: `verify-ca`, and `require` with `sslrootcert`.
    Authority(Roots),
    /// A certificate of a trusted authority, for the host in the URL: `verify-full`.
    AuthorityAndHost(Roots),
}

/// The certificates of trusted authorities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Roots {
    /// Those of the operating system.
    System,
    /// Those in a file.
    File(String),
}

pub(super) fn parse_url(url: &str) -> Result<(Config, Encryption), SqlError> {
    let invalid = |reason: &str, cause: String| SqlError::Unavailable { reason: reason.to_owned(), cause };
    let (base, query) = split_query(url);
    let (mut mode, mut roots, mut others) = (None, None, Vec::new());
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        // The value may be a secret, so only the name is reported.
        let malformed = || invalid("its URL has a parameter with a malformed percent sequence", name.to_owned());
        let name = percent::decode(name).ok_or_else(malformed)?;
        let value = || percent::decode(value).ok_or_else(malformed);
        match name.as_str() {
            "sslmode" => mode = Some(value()?),
            "sslrootcert" => roots = Some(value()?),
            _ => {
                value()?;
                others.push(pair);
            }
        }
    }
    let base = if others.is_empty() { base.to_owned() } else { format!("{base}?{}", others.join("&")) };
    let mut config = Config::from_str(&base).map_err(|error| invalid("its URL is not valid", error.to_string()))?;
    if config.get_application_name().is_none() {
        config.application_name("aquifer");
    }
    let (ssl, encryption) = encryption(mode.as_deref(), roots).map_err(|(reason, cause)| invalid(reason, cause))?;
    config.ssl_mode(ssl);
    Ok((config, encryption))
}

/// Splits a URL at its parameters. A `?` in a password does not start them: the driver treats everything before the
/// first `@` as credentials.
fn split_query(url: &str) -> (&str, &str) {
    let scheme = url.find("://").map_or(0, |start| start + 3);
    let place = url.get(scheme..).and_then(|rest| rest.find('@')).map_or(scheme, |at| scheme + at + 1);
    match url.get(place..).and_then(|rest| rest.find('?')).map(|mark| url.split_at(place + mark)) {
        Some((base, query)) => (base, query.strip_prefix('?').unwrap_or(query)),
        None => (url, ""),
    }
}

type InvalidParameter = (&'static str, String);

fn encryption(mode: Option<&str>, roots: Option<String>) -> Result<(SslMode, Encryption), InvalidParameter> {
    let is_system = roots.as_deref() == Some("system");
    let has_roots = roots.is_some();
    let roots = match roots {
        Some(file) if !is_system => Roots::File(file),
        _ => Roots::System,
    };
    // As in libpq: anyone can get a certificate from an authority that the system trusts.
    if is_system && !matches!(mode, None | Some("verify-full")) {
        let reason = "its sslrootcert=system needs sslmode=verify-full";
        return Err((reason, format!("sslmode={}", mode.unwrap_or_default())));
    }
    Ok(match mode {
        None if is_system => (SslMode::Require, Encryption::AuthorityAndHost(roots)),
        Some("disable") => (SslMode::Disable, Encryption::Off),
        None | Some("allow" | "prefer") => (SslMode::Prefer, Encryption::Unverified),
        Some("require") if !has_roots => (SslMode::Require, Encryption::Unverified),
        Some("require" | "verify-ca") => (SslMode::Require, Encryption::Authority(roots)),
        Some("verify-full") => (SslMode::Require, Encryption::AuthorityAndHost(roots)),
        Some(other) => {
            let reason = "its sslmode is not one of disable, prefer, require, verify-ca, verify-full";
            return Err((reason, format!("sslmode={other}")));
        }
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    fn file(path: &str) -> Roots {
        Roots::File(path.to_owned())
    }

    #[test]
    fn sslmode_and_sslrootcert_mean_what_they_mean_in_libpq() {
        use Encryption::{Authority, AuthorityAndHost, Off, Unverified};
        for (query, ssl, encryption) in [
            ("", SslMode::Prefer, Unverified),
            ("?sslmode=disable", SslMode::Disable, Off),
            ("?sslmode=allow", SslMode::Prefer, Unverified),
            ("?sslmode=require", SslMode::Require, Unverified),
            ("?sslmode=require&sslrootcert=/ca.pem", SslMode::Require, Authority(file("/ca.pem"))),
            ("?sslmode=verify-ca", SslMode::Require, Authority(Roots::System)),
            ("?sslmode=verify-ca&sslrootcert=/ca.pem", SslMode::Require, Authority(file("/ca.pem"))),
            ("?sslrootcert=/ca.pem&sslmode=verify-full", SslMode::Require, AuthorityAndHost(file("/ca.pem"))),
            ("?sslmode=verify%2Dfull", SslMode::Require, AuthorityAndHost(Roots::System)),
            ("?ssl%6Dode=verify-full&connect_timeout=3", SslMode::Require, AuthorityAndHost(Roots::System)),
            (
                "?sslmode=verify-ca&sslrootcert=%2Fmy%20certs%2F%C3%A4%252B+.pem",
                SslMode::Require,
                Authority(file("/my certs/ä%2B+.pem")),
            ),
            ("?sslmode=disable&sslmode=require", SslMode::Require, Unverified),
            ("?sslrootcert=system", SslMode::Require, AuthorityAndHost(Roots::System)),
            ("?sslrootcert=system&sslmode=verify-full", SslMode::Require, AuthorityAndHost(Roots::System)),
        ] {
            let (config, found) = parse_url(&format!("postgres://u:p@h:5432/shop{query}")).unwrap();
            assert_eq!((config.get_ssl_mode(), found), (ssl, encryption), "{query}");
            assert_eq!(config.get_dbname(), Some("shop"), "{query}");
        }
    }

    #[test]
    fn a_password_may_contain_a_question_mark() {
        let (config, encryption) =
            parse_url("postgres://u:a?b&sslmode=disable@h/my%20shop?sslmode=verify-full").unwrap();
        assert_eq!(encryption, Encryption::AuthorityAndHost(Roots::System));
        assert_eq!(config.get_password(), Some(b"a?b&sslmode=disable".as_slice()));
        assert_eq!(config.get_dbname(), Some("my shop"));
    }

    #[test]
    fn invalid_urls_are_refused() {
        for (query, words) in [
            ("?sslmode=perhaps", "sslmode"),
            ("?sslmode=verify-ca&sslrootcert=%2", "malformed"),
            ("?sslrootcert=%FFca.pem", "malformed"),
            ("?application_name=%zz", "malformed"),
            ("?%zz=1", "malformed"),
            ("?sslrootcert=system&sslmode=verify-ca", "sslrootcert=system"),
            ("?sslrootcert=system&sslmode=disable", "sslrootcert=system"),
            ("?nobody_knows=1", "URL"),
        ] {
            match parse_url(&format!("postgres://u:p@h/shop{query}")) {
                Err(SqlError::Unavailable { reason, .. }) => assert!(reason.contains(words), "{query}: {reason}"),
                other => panic!("{query}: {:?}", other.map(|(_, encryption)| encryption)),
            }
        }
    }
}
