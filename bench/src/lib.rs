//! What the programs of this package share: a client's side of HTTP and MCP, servers as child processes, statistics.

pub mod http;
pub mod mcp;
pub mod process;
pub mod session;
pub mod statistics;
