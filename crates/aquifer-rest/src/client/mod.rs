//! Sends requests to an HTTP API: one pooled client for each target.
//!
//! What the client never does: it sends no request that may change something twice unless the target can recognize the
//! copy, it follows no redirect to another origin, it connects to no address that the operator did not allow, and it keeps
//! no more of an answer in memory than the configured size. Credentials go only to the configured origins and are removed
//! from every error.

mod address;
mod answer;
mod auth;
mod clients;
mod connect_error;
mod delivery;
mod http_client;
mod prepared;
mod resolver;
mod retry;
mod secrets;
mod settings;
mod status;

pub use answer::HttpAnswer;
pub use auth::Authenticator;
pub use delivery::{Effect, SendRules};
pub use http_client::HttpClient;
pub use settings::{BaseUrlOrigin, ClientSettings};
pub(crate) use status::StatusError;
