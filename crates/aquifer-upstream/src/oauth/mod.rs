//! Logging in to remote MCP servers, as MCP's authorization has it (2025-06-18 and later).
//!
//! A server that wants a login says where its authorization server is described (`discover`); a person agrees in a
//! browser (`LoginAttempt`); what is given is kept in a file (`store`) and goes with every request (`tokens`), renewed when it
//! is about to end. Serving never opens a browser: it says which command a person is to run, and looks again with the
//! next call.
//!
//! What never happens here: a token goes to another server than the one it was given for, or over a wire that others
//! can read; a server's metadata sends us into a network that is not its own; anything secret is shown.

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
