//! Logins to remote MCP servers, as defined by MCP authorization (2025-06-18 and later).
//!
//! A server that requires a login names its authorization server (`discovery`). A person consents in a browser
//! (`LoginAttempt`). The tokens are stored in a file (`store`), sent with every request and renewed before they expire
//! (`tokens`). `serve` never opens a browser: it names the command that a person has to run, and picks up a new login
//! on the next call.
//!
//! A token is sent only to the server that it was granted for, and never over an unencrypted connection. A server's
//! metadata cannot direct requests into a network other than the server's own. Secrets are never shown.

mod attempt;
mod callback;
mod client;
mod discovery;
mod error;
mod grant;
mod network;
mod pkce;
mod store;
mod tokens;
mod url_serde;

pub use attempt::LoginAttempt;
pub use attempt::LoginSummary;
pub use attempt::LogoutOutcome;
pub use attempt::logout;
pub use error::LoginError;

pub(crate) use store::StoredLogin;
pub(crate) use tokens::LoginTokens;
