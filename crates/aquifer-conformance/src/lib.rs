//! Live conformance runs against any MCP-AQL server.
//!
//! A run is a plain MCP client. It sees a server only through `tools/list` and `introspect`, and shares no code with
//! Aquifer's own server, so that a mistake there is not repeated here.

pub mod checks;
mod context;
mod description;
pub mod evidence;
mod mcp;
pub mod options;
pub mod published;
pub mod render;
pub mod report;
pub mod run;
mod system;
mod transport;

pub use evidence::record;
pub use transport::{Connection, Connector, SimulatedUser, Target, TransportError};
