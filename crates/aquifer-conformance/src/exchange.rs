//! What was really said between a run and a server: what findings show and evidence is written from.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One tool call and its answer.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Exchange {
    /// The tool that was called.
    pub tool: String,
    /// The arguments it was called with.
    pub arguments: Value,
    /// The envelope that came back; the JSON-RPC error where there was none.
    pub answer: Value,
}
