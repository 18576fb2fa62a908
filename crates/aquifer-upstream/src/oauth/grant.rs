//! Requests tokens for an authorization code or a refresh token.

use aquifer_net::{IssuedToken, OAuthError, UnusableToken};
use reqwest::Url;

use super::client::Client;
use super::error::{LoginError, sanitized};
use crate::oauth::network::http::{HttpResponse, OAuthHttp};

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

/// Requests a token. `grant` holds the code and its verifier, or the refresh token.
pub(crate) async fn request_token(
    web: &OAuthHttp,
    endpoint: &Url,
    client: &Client,
    grant: &[(&str, &str)],
) -> Result<IssuedToken, GrantError> {
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
            OAuthError::parse(&answer.body).error.as_str(),
            "invalid_grant" | "invalid_client" | "unauthorized_client"
        );
        return Err(if for_good { GrantError::Refused(failure) } else { GrantError::Failed(failure) });
    }
    IssuedToken::parse(&answer.body).map_err(|reason| {
        GrantError::Failed(LoginError::new(match reason {
            UnusableToken::Invalid => "the authorization server's token response is invalid",
            UnusableToken::UnsupportedType => "the authorization server issued an unsupported type of token",
            UnusableToken::InvalidCharacters => "the authorization server's token contains invalid characters",
        }))
    })
}

/// A refusal with the server's own text.
pub(crate) fn refusal(what: &str, answer: &HttpResponse, secrets: &[&str]) -> LoginError {
    let OAuthError { error, error_description } = OAuthError::parse(&answer.body);
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
}
