//! Finding the authorization server of an MCP server, and what it supports.

pub(super) mod challenge;
pub(super) mod discover;
pub(super) mod metadata;
