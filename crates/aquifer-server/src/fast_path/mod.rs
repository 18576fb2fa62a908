//! The fast path of tool calls.
//!
//! The SDK parses every message as one of dozens of kinds and passes it and its answer through several tasks and
//! channels, which is most of what a call costs. Nearly every message is a tool call, so tool calls are parsed and handled where
//! they arrive ([`direct_calls`], and [`stateless_http`] for HTTP without a session). Everything else takes the SDK's path.

pub(crate) mod direct_calls;
pub(crate) mod stateless_http;
