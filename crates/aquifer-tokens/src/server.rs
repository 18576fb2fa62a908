//! The seam to the servers that are measured: what any MCP client can do with one.

use std::future::Future;

use serde_json::Value;

/// A request that got no answer, and why.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct Unanswered(pub String);

/// A server that somebody is connected to.
pub trait Server {
    /// What it says about its use.
    fn instructions(&self) -> Option<&str>;

    /// Every tool, as it is listed.
    fn tools(&self) -> impl Future<Output = Result<Vec<Value>, Unanswered>>;

    /// Calls a tool and gives its result as it came. A failure of the tool's own is a result.
    fn call(&self, tool: &str, arguments: &Value) -> impl Future<Output = Result<Value, Unanswered>>;

    /// The operation that is made of a tool of this server where it is served as MCP-AQL.
    fn operation(&self, tool: &str) -> String {
        tool.to_owned()
    }
}
