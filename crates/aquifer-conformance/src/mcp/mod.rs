//! A small MCP client, and the replies of servers.

mod client;
mod reply;
pub(crate) mod rows;

pub(crate) use client::Client;
pub(crate) use reply::{Reply, ReplyKind};
