//! How messages reach a server and come back, over pipes or HTTP. Nothing here knows MCP-AQL.

mod connection;
mod http;
mod stdio;

pub use connection::{Connection, Connector, Target, TransportError};
