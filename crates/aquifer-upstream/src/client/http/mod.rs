//! A connection over Streamable HTTP. Every message of ours is a request; answers come as JSON or as events.

mod exchange;
mod listen;
mod probe;
mod rate_limit;
mod session;
mod sse;
pub(super) mod transport;
