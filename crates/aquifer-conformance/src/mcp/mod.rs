//! A small MCP client, and what comes back from a server.

mod client;
mod reply;
pub(crate) mod rows;

pub(crate) use client::Client;
pub(crate) use reply::{Reply, ReplyKind};
