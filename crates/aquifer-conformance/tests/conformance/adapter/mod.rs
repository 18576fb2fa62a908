//! A small library behind MCP-AQL without flaws, or with one flaw if a test requests it.

mod catalog;
mod checking;
mod flaw;
mod query;
mod world;

use std::time::Duration;

use aquifer_conformance::record::Mode;
use aquifer_conformance::{Connection, Connector, SimulatedUser, TransportError};
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

pub(crate) use flaw::Flaw;
use world::World;

/// The result of an operation: data and warnings, or a failure.
type Answer = Result<(Value, Vec<Value>), Failure>;

/// Code, message, details.
pub(crate) struct Failure(&'static str, String, Value);

/// Opens connections to the library.
#[derive(Default)]
pub(crate) struct Library {
    pub(crate) flaw: Option<Flaw>,
    pub(crate) mode: Option<Mode>,
    /// Whether nothing can be written.
    pub(crate) read_only: bool,
}

impl Connector for Library {
    fn open(&self, mode: Option<Mode>) -> BoxFuture<'_, Result<Option<Box<dyn Connection>>, TransportError>> {
        let asked = mode.filter(|_| self.flaw != Some(Flaw::OneModeOnly));
        let mode = asked.or(self.mode).unwrap_or(Mode::Semantic);
        let mut server = Server {
            flaw: self.flaw,
            mode,
            read_only: self.read_only,
            world: World::new(),
            asked: 0,
            operations: Vec::new(),
            user: SimulatedUser::default(),
        };
        server.operations = server.catalog();
        Box::pin(async move {
            let connection: Box<dyn Connection> = Box::new(server);
            Ok(Some(connection))
        })
    }

    fn transport(&self) -> &'static str {
        "memory"
    }
}

/// One connection.
pub(crate) struct Server {
    flaw: Option<Flaw>,
    mode: Mode,
    read_only: bool,
    world: World,
    asked: usize,
    operations: Vec<Value>,
    user: SimulatedUser,
}

const FAMILIES: [&str; 5] = ["create", "read", "update", "delete", "execute"];

impl Connection for Server {
    fn user(&mut self) -> &mut SimulatedUser {
        &mut self.user
    }

    fn request<'a>(&'a mut self, request: &'a Value) -> BoxFuture<'a, Result<Value, TransportError>> {
        Box::pin(async move {
            let id = request["id"].clone();
            let params = &request["params"];
            Ok(match request["method"].as_str().unwrap() {
                "initialize" => json!({"jsonrpc": "2.0", "id": id, "result": {
                    "protocolVersion": params["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "library", "version": "1.2.3"},
                }}),
                "tools/list" => json!({"jsonrpc": "2.0", "id": id, "result": {"tools": self.tools()}}),
                "tools/call" => self.call(&id, params["name"].as_str().unwrap(), &params["arguments"]),
                "ping" => json!({"jsonrpc": "2.0", "id": id, "result": {}}),
                _ => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"}}),
            })
        })
    }

    fn notify<'a>(&'a mut self, _: &'a Value) -> BoxFuture<'a, Result<(), TransportError>> {
        Box::pin(async { Ok(()) })
    }

    fn send_raw<'a>(&'a mut self, _: &'a [u8], _: Duration) -> BoxFuture<'a, Result<Option<Value>, TransportError>> {
        let survived = !self.has(Flaw::DiesOfGarbage);
        Box::pin(async move { if survived { Ok(None) } else { Err(TransportError("it died".into())) } })
    }
}

impl Server {
    fn has(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    fn tools(&self) -> Vec<Value> {
        let mut names: Vec<String> = Vec::new();
        if self.mode != Mode::Single {
            let families = FAMILIES.iter().filter(|family| !self.read_only || **family == "read");
            names.extend(families.map(|family| format!("mcp_aql_{family}")));
        }
        if self.mode != Mode::Semantic {
            names.push("mcp_aql".into());
        }
        let params = if self.has(Flaw::ClosedSchema) {
            json!({"type": "object", "additionalProperties": false})
        } else {
            json!({"type": "object"})
        };
        let schema = json!({"type": "object", "properties": {
            "operation": {"type": "string"}, "params": params, "operations": {"type": "array"},
        }});
        names.iter().map(|name| json!({"name": name, "description": "A library.", "inputSchema": schema})).collect()
    }

    /// Calls a tool. In single mode, the tool has no family and accepts every operation.
    fn call(&mut self, id: &Value, tool: &str, arguments: &Value) -> Value {
        self.asked += 1;
        let family = tool.strip_prefix("mcp_aql").unwrap().strip_prefix('_');
        if arguments["operation"] == "no_such_operation_7f3a" && self.has(Flaw::RpcErrors) {
            let message = "Unknown operation 'no_such_operation_7f3a'";
            return json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": message}});
        }
        let envelope = match arguments.get("operations") {
            Some(operations) => self.batch(family, operations, arguments),
            None => {
                let answer = self.one(family, arguments);
                self.envelope(answer)
            }
        };
        let text = if self.has(Flaw::TextDiffers) { "Done.".to_owned() } else { envelope.to_string() };
        let result =
            json!({"content": [{"type": "text", "text": text}], "structuredContent": envelope, "isError": false});
        json!({"jsonrpc": "2.0", "id": id, "result": result})
    }

    fn envelope(&self, answer: Answer) -> Value {
        match answer {
            Ok((data, warnings)) if warnings.is_empty() => json!({"success": true, "data": data}),
            Ok((data, warnings)) => json!({"success": true, "data": data, "warnings": warnings}),
            Err(Failure(code, message, details)) => self.failure(code, message, details),
        }
    }

    fn failure(&self, code: &str, message: String, details: Value) -> Value {
        let mut code = code.to_owned();
        let mut message = message;
        let unknown = code == "NOT_FOUND_OPERATION";
        if unknown && self.has(Flaw::StringErrors) {
            return json!({"success": false, "error": message});
        }
        if unknown && self.has(Flaw::LowercaseCodes) {
            code = code.to_lowercase();
        }
        if unknown && self.has(Flaw::LeakedPath) {
            message.push_str(" in /srv/app/src/router.rs:42");
        }
        if code == "NOT_FOUND_RESOURCE" && self.has(Flaw::LeakedTrace) {
            message.push_str("\n    at Function.find (store.js:12)");
        }
        if code == "CONFLICT_ALREADY_EXISTS" && self.has(Flaw::LeakedDriver) {
            message.push_str(": UNIQUE constraint failed");
        }
        if code == "VALIDATION_INVALID_TYPE" && self.has(Flaw::OtherCode) {
            code = "VALIDATION_FAILED".into();
        }
        let mut envelope = json!({"success": false, "error": {"code": code, "message": message}});
        if !details.is_null() {
            envelope["error"]["details"] = details;
        }
        if self.has(Flaw::DataOnFailure) {
            envelope["data"] = Value::Null;
        }
        envelope
    }

    fn one(&mut self, family: Option<&str>, request: &Value) -> Answer {
        let deep = |value: &Value| value.to_string().contains(&"[".repeat(32));
        if request.to_string().len() > 1 << 20 || (deep(request) && !self.has(Flaw::DeepAccepted)) {
            return Err(Failure("VALIDATION_PAYLOAD_TOO_LARGE", "The request is too large".into(), Value::Null));
        }
        if deep(request) {
            return Ok((json!({"operation": null}), Vec::new()));
        }
        let Some(name) = request["operation"].as_str() else {
            return Err(Failure("VALIDATION_INVALID_REQUEST", "'operation' is missing or no text".into(), Value::Null));
        };
        let name = if self.has(Flaw::AnyCase) { name.to_lowercase() } else { name.to_owned() };
        let mut params: Map<String, Value> = match request.get("params") {
            None => Map::new(),
            Some(Value::Object(params)) => params.clone(),
            Some(_) => {
                return Err(Failure(
                    "VALIDATION_INVALID_TYPE",
                    "Parameter 'params' expected 'object'".into(),
                    Value::Null,
                ));
            }
        };
        for (key, value) in request.as_object().unwrap() {
            if !["operation", "params"].contains(&key.as_str())
                && (!params.contains_key(key) || self.has(Flaw::TopLevelWins))
            {
                params.insert(key.clone(), value.clone());
            }
        }
        let Some(operation) = self.operation(&name) else {
            let named = if self.has(Flaw::UnknownOperationUnnamed) { "there".to_owned() } else { format!("'{name}'") };
            return Err(Failure("NOT_FOUND_OPERATION", format!("No operation is {named}"), Value::Null));
        };
        if let Some(family) = family {
            self.route(family, &operation, &params)?;
        }
        self.run(&operation, params)
    }

    fn route(&mut self, family: &str, operation: &Value, params: &Map<String, Value>) -> Result<(), Failure> {
        let own = operation["endpoint"].as_str().unwrap();
        let reads = operation["semantic_category"] == "READ";
        if own == family || (self.has(Flaw::MismatchAccepted) && reads) {
            return Ok(());
        }
        if self.has(Flaw::MismatchRuns) && operation["semantic_category"] == "CREATE" && !params.is_empty() {
            let _ = self.run(operation, params.clone());
        }
        let name = operation["name"].as_str().unwrap();
        let message =
            format!("Operation '{name}' must use {} endpoint, not {}", own.to_uppercase(), family.to_uppercase());
        Err(Failure("VALIDATION_ENDPOINT_MISMATCH", message, Value::Null))
    }

    fn run(&mut self, operation: &Value, params: Map<String, Value>) -> Answer {
        let params = self.checked(operation, params)?;
        let name = operation["name"].as_str().unwrap();
        match name.split_once('_') {
            None => self.introspect(&params),
            Some(("recount", _)) => Ok((json!({"counted": self.world.rows("book").len()}), Vec::new())),
            Some(("list" | "search", plural)) => self.collection(plural.trim_end_matches('s'), &params),
            Some(("get", noun)) => self.get(noun, &params),
            Some(("create", noun)) => self.create(noun, params),
            Some(("update", noun)) => self.update(noun, &params),
            Some(("delete", noun)) => self.delete(noun, &params),
            Some(_) => unreachable!("{name}"),
        }
    }

    fn batch(&mut self, family: Option<&str>, operations: &Value, arguments: &Value) -> Value {
        let invalid = |message: &str| json!({"success": false, "error": {"code": "VALIDATION_INVALID_REQUEST", "message": message}});
        let items = operations.as_array().cloned().unwrap_or_default();
        let empty = items.is_empty() && !(operations.is_array() && self.has(Flaw::EmptyBatch));
        if empty || !items.iter().all(|item| item["operation"].is_string()) || arguments.get("operation").is_some() {
            return invalid("'operations' is a list of one request or more");
        }
        let (mut results, mut halted, mut pending) = (Vec::new(), Value::Null, Vec::new());
        let (mut succeeded, mut failed) = (0, 0);
        for (index, item) in items.iter().enumerate() {
            if !halted.is_null() {
                pending.push(json!({"index": index, "operation": item["operation"], "params": item["params"]}));
                continue;
            }
            let family = family.filter(|_| !self.has(Flaw::BatchUnrouted));
            let answer = self.one(family, item);
            let result = self.envelope(answer);
            let index = if self.has(Flaw::BatchIndexes) { index + 1 } else { index };
            let entry = json!({"index": index, "operation": item["operation"], "result": result});
            if result["error"]["code"] == "CONFIRMATION_REQUIRED" && !self.has(Flaw::BatchGoesOn) {
                halted = entry;
                continue;
            }
            if result["success"] == true {
                succeeded += 1
            } else {
                failed += 1
            }
            results.push(entry);
            if failed > 0 && self.has(Flaw::BatchStops) {
                break;
            }
        }
        let mut summary = json!({"total": items.len(), "succeeded": succeeded, "failed": failed});
        if self.has(Flaw::BatchSummary) {
            summary["succeeded"] = json!(items.len() + 1);
        }
        let mut envelope = json!({"success": true, "data": null, "results": results});
        if !halted.is_null() {
            summary["halted"] = json!(1);
            summary["pending"] = json!(pending.len());
            envelope["halted_at"] = halted;
            envelope["pending_operations"] = json!(pending);
        }
        envelope["summary"] = summary;
        envelope
    }

    fn get(&mut self, noun: &str, params: &Map<String, Value>) -> Answer {
        let Some(row) = self.world.find(noun, &params["id"]).cloned() else {
            if self.has(Flaw::NotFoundIsNull) {
                return Ok((Value::Null, Vec::new()));
            }
            return Err(not_found(noun, &params["id"]));
        };
        let selected = self.selected(noun, params.get("fields").unwrap_or(&json!("*")), vec![row])?;
        Ok((Value::Object(selected.into_iter().next().unwrap()), Vec::new()))
    }
}

fn not_found(noun: &str, id: &Value) -> Failure {
    Failure("NOT_FOUND_RESOURCE", format!("There is no {noun} {id}"), json!({"resource_type": noun}))
}
