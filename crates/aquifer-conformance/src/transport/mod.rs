//! Connections to servers over pipes and HTTP. Nothing here knows MCP-AQL.

mod connection;
mod http;
mod stdio;

pub use connection::{Connection, Connector, SimulatedUser, Target, TransportError};
