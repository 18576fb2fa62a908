//! MCP servers behind us: connect, interrogate, call, supervise, reload.
//!
//! An [`Upstream`] is a source of the engine. One task, the supervisor, starts the server when it is wanted and watches over
//! it; a `Link` is one live connection, over the pipes of a child process or over HTTP; what it offers is a snapshot
//! that is replaced whole. Calls go straight from the caller's task to the wire.
//!
//! The wire is ours, not the SDK's: discovery keeps the very bytes, every buffer is bounded, an answer too large or a
//! line of nonsense costs one call and not the connection, and a result is read once. What never happens here: a tool is
//! called that nobody called, or a schema from outside reaches out.

mod catalog;
mod client;
mod configured_secrets;
mod error;
mod oauth;
mod sanitize;
mod settings;
mod source;
mod supervisor;

pub use client::ClientCapabilities;
pub use client::Interrogation;
pub use client::PlainClient;
pub use client::interrogate;
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
