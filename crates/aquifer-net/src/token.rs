//! Token endpoints of OAuth 2 (RFC 6749): how a client authenticates there, and what they respond.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::client::form_encoded;

/// A longer lifetime is taken for this.
const MAX_LIFETIME: Duration = Duration::from_secs(10 * 365 * 24 * 3_600);

/// The credentials of a client, as the value of `Authorization` after `Basic`. Both parts are form-encoded first (section
/// 2.3.1).
pub fn basic_credentials(client_id: &str, secret: &str) -> String {
    let encoded = |text: &str| form_encoded(&[("", text)]).trim_start_matches('=').to_owned();
    STANDARD.encode(format!("{}:{}", encoded(client_id), encoded(secret)))
}

/// A bearer token that an endpoint issued.
#[derive(Clone)]
pub struct IssuedToken {
    /// The token, which can be sent in a header.
    pub access_token: String,
    /// What the next token is requested with, if it changes.
    pub refresh_token: Option<String>,
    /// How long it is valid, if the endpoint says so.
    pub lifetime: Option<Duration>,
    /// What it permits, if that is not what was asked for.
    pub scope: Option<String>,
}

/// Why a response contains no token that can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnusableToken {
    /// It is not JSON, or lacks the token.
    Invalid,
    /// It is not a bearer token.
    UnsupportedType,
    /// The token contains characters that a header cannot.
    InvalidCharacters,
}

impl IssuedToken {
    /// Parses a successful response. A token without a type is taken for a bearer token: some servers forget to say it.
    ///
    /// # Errors
    ///
    /// If it contains no usable token.
    pub fn parse(body: &[u8]) -> Result<Self, UnusableToken> {
        let response: Value = serde_json::from_slice(body).map_err(|_| UnusableToken::Invalid)?;
        let access_token = text(&response, "access_token").ok_or(UnusableToken::Invalid)?;
        let is_bearer = |kind: &Value| kind.as_str().is_some_and(|name| name.eq_ignore_ascii_case("bearer"));
        if response.get("token_type").is_some_and(|kind| !kind.is_null() && !is_bearer(kind)) {
            return Err(UnusableToken::UnsupportedType);
        }
        if !access_token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(UnusableToken::InvalidCharacters);
        }
        let (refresh_token, scope) = (text(&response, "refresh_token"), text(&response, "scope"));
        let lifetime = response.get("expires_in").and_then(lifetime);
        Ok(Self { access_token, refresh_token, lifetime, scope })
    }
}

/// A member that is text and not empty.
fn text(response: &Value, name: &str) -> Option<String> {
    response.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Some servers send the number of seconds as a string.
fn lifetime(seconds: &Value) -> Option<Duration> {
    let seconds: f64 = match seconds {
        Value::String(text) => text.trim().parse().ok()?,
        other => other.as_f64()?,
    };
    let seconds = if seconds.is_nan() { return None } else { seconds.clamp(0.0, MAX_LIFETIME.as_secs_f64()) };
    Some(Duration::from_secs_f64(seconds))
}

/// The response of an endpoint that refuses a request. What is missing is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OAuthError {
    /// The published code, such as `invalid_grant`.
    pub error: String,
    /// What the server says about it.
    pub error_description: String,
}

impl OAuthError {
    /// Parses a response, which may be anything.
    pub fn parse(body: &[u8]) -> Self {
        let response: Value = serde_json::from_slice(body).unwrap_or_default();
        let text = |name: &str| text(&response, name).unwrap_or_default();
        Self { error: text("error"), error_description: text("error_description") }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn issued(members: &str) -> Result<IssuedToken, UnusableToken> {
        IssuedToken::parse(format!("{{{members}}}").as_bytes())
    }

    #[test]
    fn credentials_are_form_encoded_first() {
        assert_eq!(basic_credentials("a:b", "c d"), "YSUzQWI6Yytk");
        assert_eq!(basic_credentials("=", ""), "JTNEOg==");
    }

    #[test]
    fn lifetimes_are_bounded() {
        for (value, expected) in [
            ("3600", Some(3_600)),
            ("3600.5", Some(3_600)),
            ("-5", Some(0)),
            ("\"60\"", Some(60)),
            ("\"soon\"", None),
            ("\"nan\"", None),
            ("\"inf\"", Some(315_360_000)),
            ("null", None),
            ("1e300", Some(315_360_000)),
        ] {
            let token =
                issued(&format!(r#""access_token": "x", "token_type": "Bearer", "expires_in": {value}"#)).unwrap();
            assert_eq!(token.lifetime.map(|lifetime| lifetime.as_secs()), expected, "{value}");
        }
    }

    #[test]
    fn only_bearer_tokens_that_a_header_can_contain_are_usable() {
        let token =
            issued(r#""access_token": "x", "token_type": "bearer", "refresh_token": "", "scope": "a b""#).unwrap();
        assert_eq!(
            (token.access_token.as_str(), token.refresh_token, token.scope.as_deref()),
            ("x", None, Some("a b"))
        );
        assert!(issued(r#""access_token": "x", "scope": ["a"], "refresh_token": null"#).is_ok());
        for (members, expected) in [
            ("", UnusableToken::Invalid),
            (r#""access_token": """#, UnusableToken::Invalid),
            (r#""access_token": 7"#, UnusableToken::Invalid),
            (r#""access_token": "x", "token_type": "mac""#, UnusableToken::UnsupportedType),
            (r#""access_token": "x", "token_type": """#, UnusableToken::UnsupportedType),
            (r#""access_token": "x", "token_type": ["bearer"]"#, UnusableToken::UnsupportedType),
            (r#""access_token": "a b", "token_type": "Bearer""#, UnusableToken::InvalidCharacters),
            (r#""access_token": "a\r\nx: y""#, UnusableToken::InvalidCharacters),
            (r#""access_token": "é""#, UnusableToken::InvalidCharacters),
        ] {
            assert_eq!(issued(members).err(), Some(expected), "{members}");
        }
        assert_eq!(IssuedToken::parse(b"<html>").err(), Some(UnusableToken::Invalid));
    }

    #[test]
    fn refusals_are_read_as_far_as_they_are_published() {
        let parsed = OAuthError::parse(br#"{"error": "invalid_grant", "error_description": null, "more": 1}"#);
        assert_eq!((parsed.error.as_str(), parsed.error_description.as_str()), ("invalid_grant", ""));
        assert_eq!(OAuthError::parse(b"<html>"), OAuthError::default());
    }
}
