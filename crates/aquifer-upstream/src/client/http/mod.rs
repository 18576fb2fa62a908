//! A connection over Streamable HTTP. Every message is sent as an HTTP request; responses arrive as JSON or as
//! server-sent events.

mod exchange;
mod listen;
mod probe;
mod rate_limit;
mod session;
mod sse;
pub(super) mod transport;
