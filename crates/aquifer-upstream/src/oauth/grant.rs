//! Requests tokens for an authorization code or a refresh token.

use reqwest::Url;
use serde::Deserialize;
use serde_json::Value;

use super::client::Client;
use super::error::{LoginError, sanitized};
use crate::oauth::network::http::{HttpResponse, OAuthHttp};

/// A token response.
#[derive(Deserialize)]
pub(crate) struct TokenGrant {
    pub(crate) access_token: String,
    token_type: String,
    #[serde(default)]
    pub(crate) refresh_token: Option<String>,
    #[serde(default)]
    expires_in: Option<Value>,
    #[serde(default)]
    pub(crate) scope: Option<String>,
}

/// Why no token was granted.
#[derive(Debug)]
pub(crate) enum GrantError {
    /// The code or refresh token is permanently invalid.
    Refused(LoginError),
    /// The request failed, but may succeed later.
    Failed(LoginError),
}

impl GrantError {
    pub(crate) fn into_failure(self) -> LoginError {
        match self {
            GrantError::Refused(failure) | GrantError::Failed(failure) => failure,
        }
    }
}

impl TokenGrant {
    /// Requests a token. `grant` holds the code and its verifier, or the refresh token.
    pub(crate) async fn request(
        web: &OAuthHttp,
        endpoint: &Url,
        client: &Client,
        grant: &[(&str, &str)],
    ) -> Result<Self, GrantError> {
        let form = [grant, &client.fields()].concat();
        let header = client.header();
        let basic_credentials = header.as_ref().and_then(|header| header.to_str().ok()?.strip_prefix("Basic "));
        let secrets: Vec<&str> = form
            .iter()
            .filter(|(name, _)| matches!(*name, "code" | "code_verifier" | "refresh_token"))
            .map(|(_, value)| *value)
            .chain(client.secret.as_deref())
            .chain(basic_credentials)
            .collect();
        let answer = web.post_form(endpoint, &form, header.clone()).await.map_err(GrantError::Failed)?;
        if !answer.status.is_success() {
            let failure = refusal("the authorization server issued no token", &answer, &secrets);
            let for_good = matches!(
                OAuthErrorBody::parse(&answer).error.as_str(),
                "invalid_grant" | "invalid_client" | "unauthorized_client"
            );
            return Err(if for_good { GrantError::Refused(failure) } else { GrantError::Failed(failure) });
        }
        let unusable = |words: &str| GrantError::Failed(LoginError::new(words));
        let granted: Self = serde_json::from_slice(&answer.body)
            .map_err(|_| unusable("the authorization server's token response is invalid"))?;
        if !granted.token_type.eq_ignore_ascii_case("bearer") {
            return Err(unusable("the authorization server issued an unsupported type of token"));
        }
        let sendable = |token: &str| !token.is_empty() && token.bytes().all(|byte| (0x21..0x7f).contains(&byte));
        if !sendable(&granted.access_token) {
            return Err(unusable("the authorization server's token contains invalid characters"));
        }
        Ok(granted)
    }

    /// The lifetime of the token in seconds, if known.
    pub(crate) fn expires_in(&self) -> Option<i64> {
        const MAX_LIFETIME_SECONDS: i64 = 10 * 365 * 24 * 3_600;
        let value = self.expires_in.as_ref()?;
        // Some servers send the number as a string.
        let text = value.as_str().and_then(|text| text.trim().parse().ok());
        let seconds = value.as_i64().or(text).or_else(|| value.as_f64().map(|seconds| seconds as i64))?;
        Some(seconds.clamp(0, MAX_LIFETIME_SECONDS))
    }
}

/// An OAuth error response.
#[derive(Default, Deserialize)]
pub(crate) struct OAuthErrorBody {
    #[serde(default)]
    error: String,
    #[serde(default)]
    error_description: String,
}

impl OAuthErrorBody {
    fn parse(answer: &HttpResponse) -> Self {
        serde_json::from_slice(&answer.body).unwrap_or_default()
    }
}

/// A refusal with the server's own text.
pub(crate) fn refusal(what: &str, answer: &HttpResponse, secrets: &[&str]) -> LoginError {
    let OAuthErrorBody { error, error_description } = OAuthErrorBody::parse(answer);
    let words = [error.as_str(), error_description.as_str()].map(|words| sanitized(words, secrets));
    let words: Vec<String> = words.into_iter().filter(|words| !words.is_empty()).collect();
    if words.is_empty() {
        return LoginError::new(format!("{what} (HTTP {})", answer.status.as_u16()));
    }
    LoginError::new(format!("{what}: {}", words.join(": ")))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_contains_no_secret() {
        let body = br#"{"error": "invalid_grant", "error_description": "code s3cr3t-code \u001b[31mis used"}"#.as_slice().into();
        let answer = HttpResponse { status: reqwest::StatusCode::BAD_REQUEST, body };
        let failure = refusal("no token", &answer, &["s3cr3t-code"]).to_string();
        assert_eq!(failure, "no token: invalid_grant: code [redacted] is used");
        let answer = HttpResponse { status: reqwest::StatusCode::BAD_GATEWAY, body: b"<html>".as_slice().into() };
        assert_eq!(refusal("no token", &answer, &[]).to_string(), "no token (HTTP 502)");
    }

    #[test]
    fn lifetimes_are_bounded() {
        for (value, expected) in [
            ("3600", Some(3_600)),
            ("3600.5", Some(3_600)),
            ("-5", Some(0)),
            ("\"60\"", Some(60)),
            ("\"soon\"", None),
            ("1e300", Some(315_360_000)),
        ] {
            let text = format!(r#"{{"access_token": "x", "token_type": "Bearer", "expires_in": {value}}}"#);
            assert_eq!(serde_json::from_str::<TokenGrant>(&text).unwrap().expires_in(), expected, "{value}");
        }
    }
}
