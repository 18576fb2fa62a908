//! HTTP requests of a login, limited to the addresses that the MCP server may name.

pub(super) mod http;
pub(super) mod urls;
pub(super) mod zone;
