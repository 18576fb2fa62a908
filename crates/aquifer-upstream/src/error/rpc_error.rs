//! JSON-RPC errors of an upstream, and whether they mean that the request was not executed.

use serde::Deserialize;

/// A JSON-RPC error.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct RpcError {
    #[serde(default)]
    pub(crate) code: i64,
    #[serde(default)]
    pub(crate) message: String,
    /// The HTTP status of the response, unless it was a success.
    #[serde(skip)]
    pub(crate) status: Option<u16>,
}

/// JSON-RPC errors that occur before a request is handled.
const REFUSALS: [i64; 4] = [-32700, -32600, -32601, -32602];

/// The method does not exist.
const METHOD_NOT_FOUND: i64 = -32601;

/// The resource does not exist, as MCP defines the code.
const RESOURCE_NOT_FOUND: i64 = -32002;

/// The server failed internally, possibly after it handled the request.
const INTERNAL_ERROR: i64 = -32603;

impl RpcError {
    pub(crate) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), status: None }
    }

    /// The error text of a tool that failed.
    pub(crate) fn from_tool(message: impl Into<String>) -> Self {
        Self::new(0, message)
    }

    /// Whether the error may mean that the tool does not exist. MCP has no code for that, so the message is examined as
    /// well.
    pub(crate) fn may_be_unknown_tool(&self) -> bool {
        let text = self.message.to_ascii_lowercase();
        let is_missing =
            ["not found", "does not exist", "no such", "unknown"].iter().any(|missing| text.contains(missing));
        self.code == METHOD_NOT_FOUND || (text.contains("tool") && is_missing)
    }

    /// Whether the error code says that a resource does not exist.
    pub(crate) fn is_resource_not_found(&self) -> bool {
        self.code == RESOURCE_NOT_FOUND
    }

    /// Whether the error means that the request was not executed. Server-defined codes are inconclusive: servers also
    /// use them for calls that timed out or failed halfway.
    pub(crate) fn is_refusal(&self) -> bool {
        match self.status {
            Some(status) => !is_inconclusive(status) && self.code != INTERNAL_ERROR,
            None => REFUSALS.contains(&self.code),
        }
    }
}

/// Whether an HTTP status leaves open if the request was handled. Inconclusive are server errors, which proxies send
/// when the server was disconnected; 408, which servers send when a handler takes too long; 499, which proxies write
/// when the connection was closed; and redirects, which many servers send after handling a POST.
pub(crate) fn is_inconclusive(status: u16) -> bool {
    status >= 500 || matches!(status, 300..400 | 408 | 499)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn r_saf_5_only_errors_found_before_a_call_is_handled_are_refusals() {
        let read = |code: Value| serde_json::from_value::<RpcError>(json!({ "code": code, "message": "m" })).unwrap();
        for (code, status, expected) in [
            (-32700, None, true),
            (-32600, None, true),
            (-32601, None, true),
            (-32602, None, true),
            (-32603, None, false),
            (-32000, None, false),
            (-32001, None, false),
            (-32099, None, false),
            // Codes outside the range reserved by JSON-RPC, and an error without a code.
            (1, None, false),
            (-1, None, false),
            (0, None, false),
            (-32603, Some(400), false),
            (-32000, Some(400), true),
            (404, Some(404), true),
            (-32602, Some(500), false),
            (-32000, Some(504), false),
            (499, Some(499), false),
            (408, Some(408), false),
        ] {
            let error = RpcError { status, ..read(json!(code)) };
            assert_eq!(error.is_refusal(), expected, "{error:?}");
        }
        // A tool that fails may have done half of its work.
        assert!(!RpcError::from_tool("no such account").is_refusal());
    }
}
