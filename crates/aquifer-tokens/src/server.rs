//! The interface to the measured servers, limited to what any MCP client can do.

use std::future::Future;

use serde_json::Value;

/// Why a request failed.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct ServerError(pub String);

/// A connected MCP server.
pub trait Server {
    /// The instructions of the server.
    fn instructions(&self) -> Option<&str>;

    /// Lists every tool, unchanged.
    fn tools(&self) -> impl Future<Output = Result<Vec<Value>, ServerError>>;

    /// Calls a tool and returns the result unchanged. A failure reported by the tool is a result.
    fn call(&self, tool: &str, arguments: &Value) -> impl Future<Output = Result<Value, ServerError>>;

    /// The name of the operation that MCP-AQL derives from a tool of this server.
    fn operation(&self, tool: &str) -> String {
        tool.to_owned()
    }
}
