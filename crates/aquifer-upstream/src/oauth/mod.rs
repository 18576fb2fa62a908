//! Logging in to remote MCP servers, as MCP's authorization has it (2025-06-18 and later).
//!
//! A server that wants a login says where its authorization server is described (`discover`); a person agrees in a
//! browser (`LoginAttempt`); what is given is kept in a file (`store`) and goes with every request (`tokens`), renewed when it
//! is about to end. Serving never opens a browser: it says which command a person is to run, and looks again with the
//! next call.
//!
//! What never happens here: a token goes to another server than the one it was given for, or over a wire that others
//! can read; a server's metadata sends us into a network that is not its own; anything secret is shown.

mod addresses;
mod attempt;
mod callback;
mod challenge;
mod client;
mod discover;
mod failure;
mod grant;
mod metadata;
mod places;
mod proof;
mod store;
mod tokens;
mod web;
mod written;

use std::fmt;
use std::path::PathBuf;

pub use attempt::LoginAttempt;
pub use attempt::LoginSummary;
pub use attempt::LogoutOutcome;
pub use attempt::logout;
pub use failure::LoginError;

pub(crate) use store::StoredLogin;
pub(crate) use tokens::LoginTokens;

/// How one logs in to a server, as far as an operator says.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct LoginSettings {
    /// Where logins are kept.
    pub folder: PathBuf,
    /// What a person runs to log in. Callers see it.
    pub command: String,
    /// The same with the whole paths of files, for the log.
    pub command_in_full: String,
    /// A client that the operator registered with the authorization server.
    pub client_id: Option<String>,
    /// Its secret, if it has one.
    pub client_secret: Option<String>,
    /// The authorization server that the secret is for.
    pub issuer: Option<String>,
    /// The URL of a document that describes us, for authorization servers that read such.
    pub client_document: Option<String>,
    /// What to ask for, if not what the server wants.
    pub scopes: Vec<String>,
    /// The port that the browser comes back to; any, if none.
    pub port: Option<u16>,
}

impl fmt::Debug for LoginSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("command", &self.command).field("issuer", &self.issuer).finish_non_exhaustive()
    }
}
