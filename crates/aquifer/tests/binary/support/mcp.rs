//! MCP servers for the gateway to stand in front of: real processes, written in plain Python.

use serde_json::{Value, json};

use super::Folder;

/// Tools of every kind: a list to be shaped, names to be translated, something nobody can classify, something that
/// fails.
pub(crate) fn tools() -> Value {
    json!([
        { "name": "list_things", "description": "List things.", "annotations": { "readOnlyHint": true },
          "inputSchema": { "type": "object", "properties": { "ownerName": { "type": "string" } } } },
        { "name": "frobnicate", "description": "Frobnicate a thing.",
          "inputSchema": { "type": "object", "properties": { "thingId": { "type": "integer" }, "howMuch": { "type": "integer", "default": 1 } },
                           "required": ["thingId"] } },
        { "name": "environment", "description": "Show the environment.", "annotations": { "readOnlyHint": true },
          "inputSchema": { "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] } },
        { "name": "fail", "description": "Fail.", "inputSchema": { "type": "object" } }
    ])
}

/// The program and its arguments for a server that offers what stands in this file.
pub(crate) fn server(tools: &str) -> [String; 3] {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/binary/support/mcp_server.py");
    ["python3".to_owned(), program.to_owned(), tools.to_owned()]
}

impl Folder {
    /// A file of tools. It appears whole, also for a server that is just reading it.
    pub(crate) fn tools(&self, name: &str, tools: &Value) -> String {
        let draft = self.file(&format!("{name}.draft"), &tools.to_string());
        std::fs::rename(draft, self.path(name)).unwrap();
        self.path(name)
    }
}
