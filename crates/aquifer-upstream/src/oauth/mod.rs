//! Logins to remote MCP servers, as defined by MCP authorization (2025-06-18 and later).
//!
//! A server that requires a login names its authorization server (`discovery`). A person agrees in a browser
//! (`LoginAttempt`). The tokens are stored in a file (`store`), sent with every request and renewed before they expire
//! (`tokens`). Serving never opens a browser: it names the command that a person has to run, and looks for a new login
//! with the next call.
//!
//! A token goes only to the server that it was granted for, and never over an unencrypted connection. A server's
//! metadata cannot send us into a network other than its own. Nothing secret is shown.

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
