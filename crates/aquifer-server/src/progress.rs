//! Progress tokens inside the arguments of a tool call.
//!
//! MCP-AQL puts `_meta.progressToken` beside `operation`, inside the arguments; MCP puts `_meta` beside the arguments.
//! Both are accepted; MCP's takes precedence.

use rmcp::model::{ClientJsonRpcMessage, ClientRequest, GetMeta as _, JsonRpcMessage, ProgressToken};
use serde::Deserialize as _;
use serde_json::{Map, Value};

/// The progress token inside the arguments, if it is a string or an integer.
pub(crate) fn token_in(arguments: &Map<String, Value>) -> Option<ProgressToken> {
    let token = arguments.get("_meta")?.get("progressToken")?;
    ProgressToken::deserialize(token).ok()
}

/// Moves the token to where MCP expects it. In a session, the SDK sends progress to the stream of the request that
/// carried the token.
pub(crate) fn adopt_token(message: &mut ClientJsonRpcMessage) {
    let JsonRpcMessage::Request(request) = message else { return };
    let ClientRequest::CallToolRequest(call) = &request.request else { return };
    let Some(token) = call.params.arguments.as_ref().and_then(token_in) else { return };
    let meta = request.request.get_meta_mut();
    if meta.get_progress_token().is_none() {
        meta.set_progress_token(token);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tokens_in_arguments() {
        for (meta, expected) in [
            (json!({ "progressToken": "p" }), Some(json!("p"))),
            (json!({ "progressToken": 7 }), Some(json!(7))),
            (json!({ "progressToken": "" }), Some(json!(""))),
            (json!({ "progressToken": 1.5 }), None),
            (json!({ "progressToken": null }), None),
            (json!({ "progressToken": { "a": 1 } }), None),
            (json!({}), None),
            (json!("progressToken"), None),
            (Value::Null, None),
        ] {
            let arguments = json!({ "operation": "execute_tasks", "_meta": meta.clone() });
            let found = token_in(arguments.as_object().unwrap()).map(|token| json!(token));
            assert_eq!(found, expected, "{meta}");
            for (outer, counts) in [(None, expected.clone()), (Some("mcp"), Some(json!("mcp")))] {
                let mut params = json!({ "name": "mcp_aql", "arguments": arguments });
                if let Some(outer) = outer {
                    params["_meta"] = json!({ "progressToken": outer });
                }
                let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
                let mut message: ClientJsonRpcMessage = serde_json::from_value(request).unwrap();
                adopt_token(&mut message);
                let JsonRpcMessage::Request(request) = &message else { panic!("not a request") };
                let token = request.request.get_meta().get_progress_token().map(|token| json!(token));
                assert_eq!(token, counts, "{meta} {outer:?}");
            }
        }
    }
}
