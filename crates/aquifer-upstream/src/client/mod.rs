//! The MCP client: messages, transports and live connections.

pub(crate) mod aql;
pub(crate) mod connection;
pub(crate) mod delivery;
mod http;
pub(crate) mod interrogation;
pub(crate) mod message;
pub(crate) mod pending_calls;
mod plain_client;
pub(crate) mod question;
pub(crate) mod roots;
mod shared_state;
pub(crate) mod stdio;
mod wire_log;

pub use interrogation::Interrogation;
pub use interrogation::interrogate;
pub use plain_client::ClientCapabilities;
pub use plain_client::PlainClient;
pub use stdio::ancestry::Recursion;
pub use stdio::ancestry::recursion;
