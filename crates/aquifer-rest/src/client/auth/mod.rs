//! The credentials of a target. They are read from the environment once and never shown.

mod token;

use std::collections::BTreeSet;
use std::sync::Arc;

use base64::Engine as _;
use reqwest::Url;

use super::address::parse_token_url;
use super::clients::Clients;
use super::secrets::Secrets;
use crate::api::{AuthScheme, CredentialPlace};
use crate::error::RestProblem;
use crate::route::{Security, is_reserved_header};
use token::{Grant, TokenSource};

/// Authenticates requests.
pub struct Authenticator {
    /// The authentication methods, in the order of the schemes.
    methods: Vec<AuthMethod>,
    /// The environment variables whose values may be sent.
    used_variables: BTreeSet<String>,
    secrets: Secrets,
}

enum AuthMethod {
    Fixed {
        place: CredentialPlace,
        value: String,
    },
    Token(Arc<TokenSource>),
    /// These environment variables are not set.
    Missing(Vec<String>),
    /// Unusable until the operator changes the configuration.
    Unusable(RestProblem),
}

/// A credential, and where it is sent.
#[derive(Clone)]
pub(super) struct Credential {
    pub(super) place: CredentialPlace,
    pub(super) value: String,
    /// The generation of the token, if it can be renewed.
    pub(super) generation: Option<u64>,
}

/// The credentials of one request, each with the index of its authentication method.
pub(super) type Credentials = Vec<(usize, Credential)>;

impl std::fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.methods.iter().map(|method| match method {
            AuthMethod::Fixed { .. } => "credential",
            AuthMethod::Token(_) => "token",
            AuthMethod::Missing(_) => "missing",
            AuthMethod::Unusable(_) => "unusable",
        });
        f.write_str("Authenticator ")?;
        f.debug_list().entries(names).finish()
    }
}

impl Authenticator {
    /// An authenticator that adds no credentials.
    pub fn none() -> Self {
        Self { methods: Vec::new(), used_variables: BTreeSet::new(), secrets: Secrets::default() }
    }

    /// Reads the credentials of every scheme from the environment. Requests that need a missing credential fail and
    /// name its variables.
    pub fn new(schemes: &[AuthScheme], variable: impl Fn(&str) -> Option<String>) -> Self {
        let variable = |name: &str| variable(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let secrets = Secrets::default();
        let methods = schemes.iter().map(|scheme| match missing_variables(scheme, &variable) {
            missing if missing.is_empty() => method(scheme, &variable, &secrets).unwrap_or_else(AuthMethod::Unusable),
            missing => AuthMethod::Missing(missing),
        });
        let methods: Vec<AuthMethod> = methods.collect();
        let is_used = |method: &AuthMethod| matches!(method, AuthMethod::Fixed { .. } | AuthMethod::Token(_));
        let used = schemes.iter().zip(&methods).filter(|(_, method)| is_used(method));
        let used_variables = used.flat_map(|(scheme, _)| scheme.variables()).map(str::to_owned).collect();
        Self { methods, used_variables, secrets }
    }

    /// The environment variables that must be set before requests that need these credentials can be sent.
    pub fn missing_variables(&self, security: &Security) -> Vec<String> {
        self.choose(security).err().unwrap_or_default()
    }

    /// Chooses the indexes of the methods to use. If no alternative is complete, returns the variables that the first
    /// one lacks.
    fn choose(&self, security: &Security) -> Result<Vec<usize>, Vec<String>> {
        let any: Vec<Vec<usize>>;
        let alternatives = match security {
            Security::OneOf(alternatives) => &**alternatives,
            Security::Any => {
                any = (0..self.methods.len()).map(|index| vec![index]).collect();
                &any
            }
        };
        let missing = |alternative: &Vec<usize>| -> Vec<String> {
            let mut names = Vec::new();
            for method in alternative.iter().filter_map(|index| self.methods.get(*index)) {
                let AuthMethod::Missing(variables) = method else { continue };
                names.extend(variables.iter().filter(|name| !names.contains(*name)).cloned().collect::<Vec<_>>());
            }
            names
        };
        match (alternatives.iter().find(|alternative| missing(alternative).is_empty()), alternatives.first()) {
            (Some(complete), _) => Ok(complete.clone()),
            (None, Some(first)) => Err(missing(first)),
            (None, None) => Ok(Vec::new()),
        }
    }

    /// The environment variables whose values may be sent.
    pub(super) fn used_variables(&self) -> &BTreeSet<String> {
        &self.used_variables
    }

    pub(super) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    pub(super) fn token_urls(&self) -> impl Iterator<Item = &Url> {
        self.methods.iter().filter_map(|method| match method {
            AuthMethod::Token(source) => Some(source.url()),
            _ => None,
        })
    }

    /// The credentials to send now.
    pub(super) async fn credentials(&self, security: &Security, clients: &Clients) -> Result<Credentials, RestProblem> {
        let chosen = self.choose(security).map_err(|variables| RestProblem::CredentialMissing { variables })?;
        let mut credentials = Vec::with_capacity(chosen.len());
        for index in chosen {
            credentials.push((index, self.credential(index, clients).await?));
        }
        Ok(credentials)
    }

    async fn credential(&self, index: usize, clients: &Clients) -> Result<Credential, RestProblem> {
        match self.methods.get(index) {
            Some(AuthMethod::Fixed { place, value }) => {
                Ok(Credential { place: place.clone(), value: value.clone(), generation: None })
            }
            Some(AuthMethod::Token(source)) => source.current(clients.get(source.url())?, &self.secrets).await,
            Some(AuthMethod::Missing(variables)) => {
                Err(RestProblem::CredentialMissing { variables: variables.clone() })
            }
            Some(AuthMethod::Unusable(problem)) => Err(problem.clone()),
            None => Err(invalid("the operation needs a credential that is not described".to_owned())),
        }
    }

    /// Renews the tokens among credentials that the target refused. `None` if there are none.
    pub(super) async fn renew(
        &self,
        clients: &Clients,
        refused: &Credentials,
    ) -> Result<Option<Credentials>, RestProblem> {
        let mut renewed = refused.clone();
        let mut has_new = false;
        for (index, credential) in &mut renewed {
            let (Some(AuthMethod::Token(source)), Some(generation)) = (self.methods.get(*index), credential.generation)
            else {
                continue;
            };
            source.discard(generation).await;
            *credential = source.current(clients.get(source.url())?, &self.secrets).await?;
            has_new = true;
        }
        Ok(has_new.then_some(renewed))
    }
}

fn missing_variables(scheme: &AuthScheme, variable: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    scheme.variables().into_iter().filter(|name| variable(name).is_none()).map(str::to_owned).collect()
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
            Ok(AuthMethod::Fixed { place: place.clone(), value })
        }
        AuthScheme::Basic { username_variable, password_variable } => {
            let (username, password) = (value(username_variable), secret(password_variable));
            if username.contains(':') {
                return Err(invalid(format!("the user name in '{username_variable}' contains a colon")));
            }
            let pair = base64::engine::general_purpose::STANDARD.encode(format!("{username}:{password}"));
            secrets.add(&pair);
            let place = CredentialPlace::Header("Authorization".to_owned());
            Ok(AuthMethod::Fixed { place, value: format!("Basic {pair}") })
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

/// Validates a credential. The error names the variable, never the value.
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
