//! MCP servers as sources of the engine: connect, interrogate, call, supervise, reload.
//!
//! An [`Upstream`] is a source. One task, the supervisor, starts the server on demand and watches it. A `Connection` is
//! one live connection, over the pipes of a child process or over HTTP. The catalog is a snapshot that is replaced as a
//! whole. Calls go directly from the caller's task to the transport.
//!
//! The protocol is implemented here, not by the SDK: discovery keeps the original bytes, every buffer is bounded, an
//! answer that is too large or an invalid line costs one call and not the connection, and a result is parsed once. No
//! tool is ever called without a caller, and no schema can make us fetch anything.

mod catalog;
mod client;
mod configured_secrets;
mod error;
mod oauth;
mod sanitize;
mod settings;
mod source;
mod state_file;
mod supervisor;
mod tasks;
#[cfg(test)]
#[allow(clippy::panic)]
mod test_folder;

pub use client::ClientCapabilities;
pub use client::Interrogation;
pub use client::PlainClient;
pub use client::Recursion;
pub use client::interrogate;
pub use client::recursion;
pub use error::describe_failure;
pub use oauth::LoginAttempt;
pub use oauth::LoginError;
pub use oauth::LoginSummary;
pub use oauth::LogoutOutcome;
pub use oauth::logout;
pub use settings::AllowedRequests;
pub use settings::BearerToken;
pub use settings::LoginSettings;
pub use settings::QuarantinePolicy;
pub use settings::Settings;
pub use settings::Transport;
pub use source::Upstream;
pub use supervisor::DefinitionObserver;
pub use supervisor::Examination;
pub use supervisor::Finding;
pub use supervisor::PinStore;
pub use supervisor::ReviewError;
pub use supervisor::examine;
pub use tasks::shut_down;
