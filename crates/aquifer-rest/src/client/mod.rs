//! Sends requests to an HTTP API, with one pooled client for each target.
//!
//! The client guarantees the following. A request that may change something is sent once, unless the target can
//! recognize a copy. Redirects to other origins are not followed. Connections go only to addresses that the operator
//! allowed. No more of a response than the configured size is kept in memory. Credentials are sent only to the
//! configured origins and are removed from every error.

mod address;
mod answer;
mod auth;
mod clients;
mod connect_error;
mod delivery;
mod http_client;
mod prepared;
mod retry;
mod secrets;
mod settings;
mod status;
mod wire_log;

pub use answer::HttpAnswer;
pub use auth::Authenticator;
pub use delivery::{Effect, LinkCheck, SendRules};
pub use http_client::HttpClient;
pub use settings::{BaseUrlOrigin, ClientSettings};
