//! The fast path of tool calls.
//!
//! Tool calls are parsed and handled where they arrive ([`direct_calls`], and [`stateless_http`] for HTTP without a
//! session), because most of the cost of a call is the SDK's general parsing and task switching. Everything else takes
//! the SDK's path.

pub(crate) mod direct_calls;
pub(crate) mod stateless_http;
