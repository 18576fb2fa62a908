//! Live conformance runs against any MCP-AQL server.
//!
//! A run is a plain MCP client: it knows what the server says of itself through `tools/list` and `introspect`, and
//! nothing else. It shares no code with Aquifer's own server, so that a mistake there is not repeated here.

pub mod checks;
mod client;
mod context;
mod described;
pub mod evidence;
pub mod exchange;
mod feature;
mod kinds;
pub mod options;
mod prepare;
mod probe;
mod progress;
pub mod record;
pub mod render;
mod reply;
pub mod report;
mod resources;
mod rows;
pub mod run;
mod sandbox;
mod tally;
mod walk;
mod wire;
mod writing;

pub use wire::Broken;
pub use wire::Dial;
pub use wire::Target;
pub use wire::Wire;
