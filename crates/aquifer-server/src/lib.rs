//! Serves an engine over MCP: stdio and Streamable HTTP, every MCP revision on the same endpoint.
//!
//! The MCP SDK stays inside this crate. It silently drops messages that it cannot parse, so every message passes our
//! own byte scanner first. Messages that the scanner refuses are answered here and never reach the SDK.

mod answer;
mod client;
mod direct;
mod handler;
mod http;
mod log_forwarder;
mod memory_estimate;
mod progress;
mod resources;
mod stdio;

pub use http::HttpError;
pub use http::HttpServer;
pub use http::HttpSettings;
pub use http::router;
pub use stdio::StdioError;
pub use stdio::serve_stdio;
pub use stdio::serve_streams;
