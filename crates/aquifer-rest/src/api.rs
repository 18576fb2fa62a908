//! An HTTP API as its description defines it: its operations, and the route of each.

use std::collections::BTreeMap;
use std::sync::Arc;

use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::Types;

use crate::route::{Method, Route, Security};

/// An HTTP API.
#[derive(Debug, Clone, Default)]
pub struct Api {
    /// Its title, cleaned.
    pub title: String,
    /// The version that the description states.
    pub version: Option<String>,
    /// The base URL of every path, without a trailing slash. Empty if the description names none.
    pub base_url: String,
    /// The authentication schemes, the preferred one first. Empty if the API needs none. Routes refer to them by index.
    pub auth: Vec<AuthScheme>,
    /// The operations, for the catalog.
    pub operations: Vec<Operation>,
    /// The types they refer to.
    pub types: Types,
    /// The route of each operation, by operation name.
    pub routes: BTreeMap<Arc<str>, Arc<Route>>,
    /// The location of each operation in the description, such as `GET /pets/{petId}`, by operation name. Operations
    /// written by hand have none.
    pub described_at: BTreeMap<Arc<str>, Arc<str>>,
    /// The digests of all definitions that were reviewed with an adapter file, by location in the description.
    pub reviewed_digests: BTreeMap<String, String>,
    /// The fields that operations return by default, by operation name.
    pub default_fields: BTreeMap<Arc<str>, Vec<Arc<str>>>,
    /// The operations of the description that are not served.
    pub omitted: Vec<OmittedOperation>,
    /// The requests that the description contains and that are not served, because they were excluded, deleted by a
    /// reviewer, or cannot be served. Nothing may lead to them.
    pub unserved: Vec<UnservedRequest>,
    /// Notes for the operator about the description.
    pub notes: Vec<String>,
}

/// A request of a description that is not served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnservedRequest {
    /// The method, or `None` for all.
    pub method: Option<Method>,
    /// The path with `{placeholders}`.
    pub path: Arc<str>,
}

/// An operation of a description that is not served, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OmittedOperation {
    /// The method and the path, `GET /pets/{id}`.
    pub route: String,
    /// Why it is not served.
    pub reason: String,
}

impl Api {
    /// Uses the bearer token in this variable in place of every scheme that sets the `Authorization` header. Operations
    /// that need only other credentials get it as their first alternative. Operations that need none get none.
    pub fn use_bearer(&mut self, variable: &str) {
        let bearer = AuthScheme::Credential {
            place: CredentialPlace::Header("Authorization".to_owned()),
            prefix: "Bearer ".to_owned(),
            variable: variable.to_owned(),
        };
        let new_indexes: Vec<Option<usize>> = {
            let mut count = 0;
            let mut new_index = |scheme: &AuthScheme| {
                let is_kept = !scheme.is_authorization();
                count += usize::from(is_kept);
                is_kept.then_some(count)
            };
            self.auth.iter().map(&mut new_index).collect()
        };
        self.auth.retain(|scheme| !scheme.is_authorization());
        self.auth.insert(0, bearer);
        let renumber = |alternative: &Vec<usize>| -> Vec<usize> {
            let renumbered = |index: &usize| new_indexes.get(*index).copied().flatten();
            let mut numbers: Vec<usize> = alternative.iter().filter_map(renumbered).collect();
            if numbers.len() < alternative.len() {
                numbers.insert(0, 0);
            }
            numbers
        };
        self.change_security(|security| {
            let Security::OneOf(alternatives) = security else { return Security::Any };
            let mut changed: Vec<Vec<usize>> = alternatives.iter().map(renumber).collect();
            let needs_some = changed.iter().any(|alternative| !alternative.is_empty());
            if needs_some && !changed.iter().any(|alternative| alternative.contains(&0)) {
                changed.insert(0, vec![0]);
            }
            Security::OneOf(changed.into())
        });
    }

    /// Sends every request to the base URL, even if the description names another server for it.
    pub fn use_one_server(&mut self) {
        for route in self.routes.values_mut().filter(|route| route.base_url.is_some()) {
            Arc::make_mut(route).base_url = None;
        }
    }

    /// Gets all tokens from this endpoint, whatever the description says.
    pub fn use_token_url(&mut self, url: &str) {
        for scheme in &mut self.auth {
            if let AuthScheme::ClientCredentials { token_url, .. } | AuthScheme::RefreshToken { token_url, .. } = scheme
            {
                url.clone_into(token_url);
            }
        }
    }

    /// Uses these schemes wherever credentials are needed, whatever the description says.
    pub fn use_auth(&mut self, auth: Vec<AuthScheme>) {
        self.auth = auth;
        self.change_security(|security| match security {
            Security::OneOf(alternatives) if alternatives.iter().all(Vec::is_empty) => security.clone(),
            _ => Security::Any,
        });
    }

    fn change_security(&mut self, change: impl Fn(&Security) -> Security) {
        for route in self.routes.values_mut() {
            let changed = change(&route.security);
            if changed != route.security {
                Arc::make_mut(route).security = changed;
            }
        }
    }
}

impl AuthScheme {
    /// Whether its credential is sent in the `Authorization` header.
    fn is_authorization(&self) -> bool {
        self.place() == CredentialPlace::Header("authorization".to_owned())
    }

    /// The token endpoint, if the scheme uses one.
    pub fn token_url(&self) -> Option<&str> {
        match self {
            AuthScheme::ClientCredentials { token_url, .. } | AuthScheme::RefreshToken { token_url, .. } => {
                Some(token_url)
            }
            AuthScheme::Credential { .. } | AuthScheme::Basic { .. } => None,
        }
    }

    /// The environment variables that it needs.
    pub fn variables(&self) -> Vec<&str> {
        match self {
            AuthScheme::Credential { variable, .. } => vec![variable],
            AuthScheme::Basic { username_variable, password_variable } => vec![username_variable, password_variable],
            AuthScheme::ClientCredentials { id_variable, secret_variable, .. } => vec![id_variable, secret_variable],
            AuthScheme::RefreshToken { id_variable, secret_variable, token_variable, .. } => {
                let all = [Some(id_variable), secret_variable.as_ref(), Some(token_variable)];
                all.into_iter().flatten().map(String::as_str).collect()
            }
        }
    }

    /// Where its credential is sent. Header names are in lower case.
    pub(crate) fn place(&self) -> CredentialPlace {
        match self {
            AuthScheme::Credential { place: CredentialPlace::Header(name), .. } => {
                CredentialPlace::Header(name.to_ascii_lowercase())
            }
            AuthScheme::Credential { place, .. } => place.clone(),
            _ => CredentialPlace::Header("authorization".to_owned()),
        }
    }
}

/// An authentication scheme. It names environment variables and never contains a credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthScheme {
    /// A token or key in one part of the request.
    Credential {
        /// Where it is sent.
        place: CredentialPlace,
        /// The text before the credential, such as `Bearer `.
        prefix: String,
        /// The environment variable that holds it.
        variable: String,
    },
    /// A user name and a password (HTTP Basic).
    Basic {
        /// The environment variable that holds the user name.
        username_variable: String,
        /// The environment variable that holds the password.
        password_variable: String,
    },
    /// An OAuth 2 client that gets tokens with its own credentials.
    ClientCredentials {
        /// The token endpoint.
        token_url: String,
        /// The environment variable that holds the client id.
        id_variable: String,
        /// The environment variable that holds the client secret.
        secret_variable: String,
        /// The scopes to request.
        scopes: Vec<String>,
    },
    /// An OAuth 2 client that exchanges a refresh token for access tokens.
    RefreshToken {
        /// The token endpoint.
        token_url: String,
        /// The environment variable that holds the client id.
        id_variable: String,
        /// The environment variable that holds the client secret, if the client has one.
        secret_variable: Option<String>,
        /// The environment variable that holds the refresh token.
        token_variable: String,
    },
}

/// Where a credential is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CredentialPlace {
    /// The header with this name.
    Header(String),
    /// The query parameter with this name.
    Query(String),
    /// The cookie with this name.
    Cookie(String),
}
