//! An HTTP API as a description defines it: its operations, and the request behind each of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::Types;

use crate::route::Route;

/// An HTTP API.
#[derive(Debug, Clone, Default)]
pub struct Api {
    /// Its title, cleaned.
    pub title: String,
    /// The version that the description states.
    pub version: Option<String>,
    /// The base URL of every path, without a slash at the end. Empty if the description names none.
    pub base_url: String,
    /// The ways to authenticate, the preferred one first. Empty if the API needs none.
    pub auth: Vec<AuthScheme>,
    /// The operations, for the catalog.
    pub operations: Vec<Operation>,
    /// The types they refer to.
    pub types: Types,
    /// The request behind each operation, by the operation's name.
    pub routes: BTreeMap<Arc<str>, Arc<Route>>,
    /// Where each operation stands in the description, by the operation's name: `GET /pets/{petId}`. Operations that were
    /// written by hand stand in none.
    pub described_at: BTreeMap<Arc<str>, Arc<str>>,
    /// The digests of all definitions that were reviewed with an adapter file, by where they stand in the description.
    pub reviewed_digests: BTreeMap<String, String>,
    /// The operations of the description that are not served.
    pub omitted: Vec<OmittedOperation>,
    /// What else the operator should know about the description.
    pub notes: Vec<String>,
}

/// An operation of a description that is not served, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OmittedOperation {
    /// The method and the path, `GET /pets/{id}`.
    pub route: String,
    /// Why it is not served.
    pub reason: String,
}

/// A way to authenticate. It names environment variables, never a credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthScheme {
    /// A token or key in one place of the request.
    Credential {
        /// The place.
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

/// Where a credential goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CredentialPlace {
    /// A header of this name.
    Header(String),
    /// A query parameter of this name.
    Query(String),
    /// A cookie of this name.
    Cookie(String),
}
