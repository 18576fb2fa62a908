//! Serves an engine over MCP: stdio and Streamable HTTP, every MCP revision on the same endpoint.
//!
//! The MCP SDK stays inside this crate. It drops messages that it cannot parse without an answer, so every message
//! passes our own byte scanner first. What the scanner refuses is answered here and never reaches the SDK.

mod answer;
mod client;
mod expected;
mod fast_path;
mod handler;
mod http;
mod paths;
mod progress;
mod question;
mod resources;
mod stdio;

pub use http::HttpError;
pub use http::HttpServer;
pub use http::HttpSettings;
pub use http::router;
pub use paths::CallCounts;
pub use paths::CallPath;
pub use stdio::StdioError;
pub use stdio::serve_stdio;
pub use stdio::serve_streams;
