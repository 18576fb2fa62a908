//! MCP servers behind us: connect, interrogate, call, supervise, reload.
//!
//! An [`Upstream`] is a source of the engine. One task, the supervisor, starts the server when it is wanted and watches over
//! it; a `Link` is one live connection, over the pipes of a child process or over HTTP; what it offers is a snapshot
//! that is replaced whole. Calls go straight from the caller's task to the wire.
//!
//! The wire is ours, not the SDK's: discovery keeps the very bytes, every buffer is bounded, an answer too large or a
//! line of nonsense costs one call and not the connection, and a result is read once. What never happens here: a tool is
//! called that nobody called, or a schema from outside reaches out.

mod accepted;
mod answer;
mod arguments;
mod cache;
mod calls;
mod child;
mod compact;
mod configured;
mod connection;
mod delivery;
mod error;
mod http;
mod interrogate;
mod link;
mod message;
mod oauth;
mod pinning;
mod pipe;
mod quarantine;
mod rate_limit;
mod relay;
mod resources;
mod review;
mod roots;
mod sanitize;
mod schema_cost;
mod served;
mod settings;
mod shared;
mod sse;
mod stdio;
mod supervisor;
mod tool_call;
mod upstream;

pub use connection::ClientCapabilities;
pub use connection::PlainClient;
pub use error::describe_failure;
pub use interrogate::Interrogation;
pub use interrogate::interrogate;
pub use oauth::LoginAttempt;
pub use oauth::LoginError;
pub use oauth::LoginSettings;
pub use oauth::LoginSummary;
pub use oauth::LogoutOutcome;
pub use oauth::logout;
pub use pinning::DefinitionObserver;
pub use pinning::PinStore;
pub use quarantine::QuarantinePolicy;
pub use review::Examination;
pub use review::Finding;
pub use review::ReviewError;
pub use review::examine;
pub use settings::AllowedRequests;
pub use settings::BearerToken;
pub use settings::Settings;
pub use settings::Transport;
pub use upstream::Upstream;
