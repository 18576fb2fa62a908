//! A connection over Streamable HTTP: every message of ours is a request, and answers come as JSON or as events.

mod client;
mod exchange;
mod listen;
mod probe;
mod session;

pub(crate) use client::HttpTransport;
pub(crate) use client::RequestInfo;
