//! Tool calls that are handled without the SDK.
//!
//! Well-formed tool calls are parsed and handled where they arrive ([`direct_calls`] on stdio, and [`stateless_http`] for
//! HTTP without a session), because most of the cost of a call is the SDK's general parsing and task switching.
//! Everything else goes through the SDK. Both end in the same handler, with the same
//! [`CallContext`](crate::client::call_context::CallContext).

pub(crate) mod direct_calls;
pub(crate) mod stateless_http;
