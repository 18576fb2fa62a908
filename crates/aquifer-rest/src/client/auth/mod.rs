//! The credentials of a target. They are read from the environment once and never shown.

mod token;

use std::sync::Arc;

use base64::Engine as _;
use reqwest::{Client, Url};

use super::address::parse_token_url;
use super::secrets::Secrets;
use crate::api::{AuthScheme, CredentialPlace};
use crate::error::RestProblem;
use crate::route::is_reserved_header;
use token::{Grant, TokenSource};

/// Authenticates requests.
pub struct Authenticator {
    method: AuthMethod,
    secrets: Secrets,
}

enum AuthMethod {
    None,
    Fixed(Credential),
    Token(Arc<TokenSource>),
    /// Not usable until the operator changes something.
    Unusable(RestProblem),
}

/// A credential, and where it goes.
#[derive(Clone)]
pub(super) struct Credential {
    pub(super) place: CredentialPlace,
    pub(super) value: String,
    /// The number of the token, if it can be renewed.
    pub(super) generation: Option<u64>,
}

impl std::fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let method = match &self.method {
            AuthMethod::None => "none",
            AuthMethod::Fixed(_) => "credential",
            AuthMethod::Token(_) => "token",
            AuthMethod::Unusable(_) => "unusable",
        };
        f.debug_tuple("Authenticator").field(&method).finish()
    }
}

impl Authenticator {
    /// Sends requests without credentials.
    pub fn none() -> Self {
        Self { method: AuthMethod::None, secrets: Secrets::default() }
    }

    /// Chooses the first scheme whose environment variables are all set. If there is none, requests fail and name the
    /// variables of the first scheme. No schemes need no credentials.
    pub fn new(schemes: &[AuthScheme], variable: impl Fn(&str) -> Option<String>) -> Self {
        let variable = |name: &str| variable(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let secrets = Secrets::default();
        let is_complete = |scheme: &&AuthScheme| missing_variables(scheme, &variable).is_empty();
        let method = match (schemes.iter().find(is_complete), schemes.first()) {
            (Some(scheme), _) => method(scheme, &variable, &secrets).unwrap_or_else(AuthMethod::Unusable),
            (None, Some(first)) => {
                AuthMethod::Unusable(RestProblem::CredentialMissing { variables: missing_variables(first, &variable) })
            }
            (None, None) => AuthMethod::None,
        };
        Self { method, secrets }
    }

    /// The environment variables that must be set before requests can be sent.
    pub fn missing_variables(&self) -> &[String] {
        match &self.method {
            AuthMethod::Unusable(RestProblem::CredentialMissing { variables }) => variables,
            _ => &[],
        }
    }

    pub(super) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    pub(super) fn token_url(&self) -> Option<&Url> {
        match &self.method {
            AuthMethod::Token(source) => Some(source.url()),
            _ => None,
        }
    }

    /// The credential to send now.
    pub(super) async fn credential(&self, client: &Client) -> Result<Option<Credential>, RestProblem> {
        match &self.method {
            AuthMethod::None => Ok(None),
            AuthMethod::Fixed(credential) => Ok(Some(credential.clone())),
            AuthMethod::Token(source) => source.current(client, &self.secrets).await.map(Some),
            AuthMethod::Unusable(problem) => Err(problem.clone()),
        }
    }

    /// Another credential after the target refused this one. `None` if there is no other.
    pub(super) async fn renewed(
        &self,
        client: &Client,
        refused: &Credential,
    ) -> Result<Option<Credential>, RestProblem> {
        match (&self.method, refused.generation) {
            (AuthMethod::Token(source), Some(generation)) => {
                source.discard(generation).await;
                source.current(client, &self.secrets).await.map(Some)
            }
            _ => Ok(None),
        }
    }
}

fn missing_variables(scheme: &AuthScheme, variable: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let needed: Vec<&String> = match scheme {
        AuthScheme::Credential { variable, .. } => vec![variable],
        AuthScheme::Basic { username_variable, password_variable } => vec![username_variable, password_variable],
        AuthScheme::ClientCredentials { id_variable, secret_variable, .. } => vec![id_variable, secret_variable],
        AuthScheme::RefreshToken { id_variable, secret_variable, token_variable, .. } => {
            [Some(id_variable), secret_variable.as_ref(), Some(token_variable)].into_iter().flatten().collect()
        }
    };
    needed.into_iter().filter(|name| variable(name).is_none()).cloned().collect()
}

fn method(
    scheme: &AuthScheme,
    variable: &dyn Fn(&str) -> Option<String>,
    secrets: &Secrets,
) -> Result<AuthMethod, RestProblem> {
    let value = |name: &str| variable(name).unwrap_or_default();
    let secret = |name: &str| {
        let value = value(name);
        secrets.add(&value);
        value
    };
    match scheme {
        AuthScheme::Credential { place, prefix, variable } => {
            let value = format!("{prefix}{}", secret(variable));
            check_credential(place, &value, variable)?;
            Ok(AuthMethod::Fixed(Credential { place: place.clone(), value, generation: None }))
        }
        AuthScheme::Basic { username_variable, password_variable } => {
            let (username, password) = (value(username_variable), secret(password_variable));
            if username.contains(':') {
                return Err(invalid(format!("the user name in '{username_variable}' contains a colon")));
            }
            let pair = base64::engine::general_purpose::STANDARD.encode(format!("{username}:{password}"));
            secrets.add(&pair);
            let place = CredentialPlace::Header("Authorization".to_owned());
            Ok(AuthMethod::Fixed(Credential { place, value: format!("Basic {pair}"), generation: None }))
        }
        AuthScheme::ClientCredentials { token_url, id_variable, secret_variable, scopes } => {
            let grant = Grant::ClientCredentials { scopes: scopes.clone() };
            let client = (value(id_variable), Some(secret(secret_variable)));
            Ok(AuthMethod::Token(TokenSource::new(checked_token_url(token_url)?, client, grant)))
        }
        AuthScheme::RefreshToken { token_url, id_variable, secret_variable, token_variable } => {
            let grant = Grant::RefreshToken { token: secret(token_variable) };
            let client = (value(id_variable), secret_variable.as_deref().map(secret));
            Ok(AuthMethod::Token(TokenSource::new(checked_token_url(token_url)?, client, grant)))
        }
    }
}

fn checked_token_url(text: &str) -> Result<Url, RestProblem> {
    parse_token_url(text).map_err(|problem| invalid(format!("the URL of the token endpoint: {problem}")))
}

/// Names the variable, never the value.
fn check_credential(place: &CredentialPlace, value: &str, variable: &str) -> Result<(), RestProblem> {
    let is_valid = match place {
        CredentialPlace::Header(name) => {
            if name.is_empty() || (is_reserved_header(name) && !name.eq_ignore_ascii_case("authorization")) {
                return Err(invalid("the header for the credential cannot be set".to_owned()));
            }
            value.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        }
        CredentialPlace::Query(name) => !name.is_empty(),
        CredentialPlace::Cookie(name) => {
            let is_cookie = |byte: u8| matches!(byte, b'!'..=b'~') && !b"\",;\\".contains(&byte);
            !name.is_empty() && name.bytes().all(|byte| is_cookie(byte) && byte != b'=') && value.bytes().all(is_cookie)
        }
    };
    if is_valid { Ok(()) } else { Err(invalid(format!("the value of '{variable}' contains invalid characters"))) }
}

fn invalid(reason: String) -> RestProblem {
    RestProblem::CredentialInvalid { reason }
}
