//! Fake servers with scripted answers that record their calls.

use std::sync::Mutex;

use aquifer_tokens::{Options, Report, Server, ServerError, Subject, measure, task};
use serde_json::{Value, json};

type Answer = Box<dyn Fn(&str, &Value) -> Value>;

/// A fake server.
pub(crate) struct FakeServer {
    pub(crate) tools: Vec<Value>,
    instructions: Option<String>,
    answer: Answer,
    calls: Mutex<Vec<(String, Value)>>,
}

impl FakeServer {
    pub(crate) fn new(tools: Vec<Value>, answer: impl Fn(&str, &Value) -> Value + 'static) -> Self {
        Self { tools, instructions: None, answer: Box::new(answer), calls: Mutex::default() }
    }

    pub(crate) fn with_instructions(mut self, instructions: &str) -> Self {
        self.instructions = Some(instructions.to_owned());
        self
    }

    /// The tools or operations that were called, without introspection.
    pub(crate) fn called(&self) -> Vec<String> {
        let calls = self.calls.lock().unwrap();
        let named = calls.iter().map(|(tool, arguments)| arguments["operation"].as_str().unwrap_or(tool).to_owned());
        named.filter(|name| name != "introspect").collect()
    }
}

impl Server for FakeServer {
    fn instructions(&self) -> Option<&str> {
        self.instructions.as_deref()
    }

    async fn tools(&self) -> Result<Vec<Value>, ServerError> {
        Ok(self.tools.clone())
    }

    async fn call(&self, tool: &str, arguments: &Value) -> Result<Value, ServerError> {
        self.calls.lock().unwrap().push((tool.to_owned(), arguments.clone()));
        Ok((self.answer)(tool, arguments))
    }

    fn operation(&self, tool: &str) -> String {
        tool.replace('-', "_")
    }
}

pub(crate) fn tool(name: &str, annotations: Value) -> Value {
    json!({ "name": name, "description": "Does it.", "inputSchema": { "type": "object" }, "annotations": annotations })
}

/// A server with four tools. One declares to be read-only but must not be trusted.
pub(crate) fn own() -> FakeServer {
    let tools = ["list-things", "delete-thing", "get-picture", "read-doubtful"]
        .map(|name| tool(name, json!({ "readOnlyHint": name == "read-doubtful" })));
    FakeServer::new(tools.to_vec(), |name, _| match name {
        "get-picture" => picture(),
        _ => json!({ "content": [{ "type": "text", "text": "thing ".repeat(30) }] }),
    })
}

fn picture() -> Value {
    json!({ "content": [
        { "type": "text", "text": "Look:" },
        { "type": "image", "mimeType": "image/png", "data": "A".repeat(4_000) },
    ] })
}

/// The same server behind MCP-AQL, with these tools.
pub(crate) fn aql(names: &[&str]) -> FakeServer {
    let schema = json!({ "type": "object", "properties": { "operation": { "type": "string" }, "params": { "type": "object" } } });
    let tools = names.iter().map(|name| json!({ "name": name, "description": "MCP-AQL.", "inputSchema": schema }));
    FakeServer::new(tools.collect(), answer)
}

pub(crate) fn single() -> FakeServer {
    aql(&["mcp_aql"])
}

pub(crate) fn semantic() -> FakeServer {
    aql(&["mcp_aql_delete", "mcp_aql_read"])
}

fn success(data: Value) -> Value {
    let envelope = json!({ "success": true, "data": data });
    json!({ "content": [{ "type": "text", "text": envelope.to_string() }], "structuredContent": envelope })
}

pub(crate) fn refusal(words: &str) -> Value {
    let envelope = json!({ "success": false, "error": { "code": "NOT_FOUND_RESOURCE", "message": words } });
    json!({ "content": [{ "type": "text", "text": envelope.to_string() }], "isError": true })
}

/// Answers a call. Lists have pages of two.
fn answer(tool: &str, arguments: &Value) -> Value {
    let operations =
        [("list_things", "READ"), ("delete_thing", "DELETE"), ("get_picture", "READ"), ("read_doubtful", "READ")];
    let listed = |range: std::ops::Range<usize>| {
        let one = |(name, category): &(&str, &str)| json!({ "name": name, "semantic_category": category });
        operations[range].iter().map(one).collect::<Vec<_>>()
    };
    let params = &arguments["params"];
    if tool.ends_with("delete") && arguments["operation"] != "delete_thing" {
        return refusal("Use mcp_aql_read");
    }
    match arguments["operation"].as_str().unwrap() {
        "introspect" if params["name"].is_string() => {
            let name = params["name"].as_str().unwrap();
            let Some((_, category)) = operations.iter().find(|(known, _)| *known == name) else {
                return refusal("No such operation");
            };
            let family = if *category == "READ" { "read" } else { "delete" };
            let parameters = if name == "list_things" {
                json!([{ "name": "fields", "required": false }, { "name": "first", "required": false }])
            } else if name == "read_doubtful" {
                json!([{ "name": "confirmation_token", "required": false }])
            } else {
                json!([{ "name": "id", "required": true }])
            };
            success(
                json!({ "operation": { "name": name, "endpoint": family, "description": "Does.", "parameters": parameters } }),
            )
        }
        "introspect" if params["search"] == "things" => success(json!({ "operations": listed(0..1) })),
        "introspect" if params["search"].is_string() => success(json!({ "operations": [] })),
        "introspect" if params["after"] == "2" => {
            success(json!({ "_protocol": { "page": { "hasNextPage": false } }, "operations": listed(2..4) }))
        }
        "introspect" => {
            let page = json!({ "hasNextPage": true, "endCursor": "2" });
            success(json!({ "_protocol": { "page": page }, "operations": listed(0..2) }))
        }
        "list_things" => {
            let rows = params["first"].as_u64().unwrap_or(20);
            let few = params["fields"].is_array();
            let row = |n| {
                if few {
                    json!({ "id": n, "name": "x" })
                } else {
                    json!({ "id": n, "name": "x", "note": "long words" })
                }
            };
            success(json!({ "items": (0..rows).map(row).collect::<Vec<_>>() }))
        }
        "get_picture" => {
            let mut result = success(json!("Look:"));
            result["content"].as_array_mut().unwrap().push(picture()["content"][1].clone());
            result
        }
        "delete_thing" if params["id"] == 9 && params["confirmation_token"] != "conf_1" => {
            let details = json!({ "confirmation_token": "conf_1" });
            let error = json!({ "code": "CONFIRMATION_REQUIRED", "message": "Sure?", "details": details });
            let envelope = json!({ "success": false, "error": error });
            json!({ "content": [{ "type": "text", "text": envelope.to_string() }], "isError": true })
        }
        "delete_thing" => success(json!({ "deleted": true })),
        other => refusal(&format!("No operation {other}")),
    }
}

/// Measures servers, optionally with a file of tasks.
pub(crate) fn report(direct: &[FakeServer], served: &[FakeServer], tasks: Option<&str>, allow_writes: bool) -> Report {
    let tasks = tasks.map(|text| task::parse(text).unwrap());
    let options = Options { tasks, allow_writes, no_calls: false };
    let subject = Subject { name: "things".to_owned(), direct, served };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(measure(&subject, &options)).unwrap()
}
