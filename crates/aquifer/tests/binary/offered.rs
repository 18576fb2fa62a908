//! Tools of any server, offered by a stub that says back what reached it, behind the running binary.

use std::collections::HashSet;

use aquifer_discovery::bundle::{Auth, Bundle, RawCapture, Source, Transport};
use aquifer_discovery::{normalize, redact};
use aquifer_protocol::operation::{MAX_NAME_LEN, is_snake_case};
use serde_json::{Map, Value, json};

use crate::generated::objects;
use crate::support::{Folder, StdioServer, forgetful, server, unguarded, until};

/// As many operations as a batch may have.
const BATCH: usize = 100;

/// How many arguments were passed on and how many were refused.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) passed: usize,
    pub(crate) refused: usize,
    /// Passed on although the tool's schema refuses them, because the catalog cannot express the rule.
    pub(crate) left: usize,
}

/// Checks everything that must hold of tools.
pub(crate) fn check(name: &str, tools: &Value, folder: &Folder) -> Counts {
    let offered = folder.tools(&format!("{name}.json"), tools);
    let record = folder.file(&format!("{name}.record"), "");
    let [python, program, offered] = server(&offered);
    let mut command = forgetful(folder);
    command.args(["serve", "--config", &unguarded(folder), "--mode", "single", "--env", "MCP_RECORD"]);
    command.args(["--", &python, &program, &offered, "echo"]);
    let mut piped = StdioServer::spawn(command.env("MCP_RECORD", &record));
    piped.initialize("2025-06-18");
    let bundle = bundle(name, tools);
    let operations = &bundle.normalized_bundle.operations;
    let names = until("all operations", || {
        let names = listed(&mut piped);
        (names.len() >= operations.len()).then_some(names)
    });
    assert_eq!(operations.len(), tools.as_array().unwrap().len(), "{name}: no tool is lost");
    let unique: HashSet<&String> = names.iter().collect();
    assert_eq!(unique.len(), names.len(), "{name}: {names:?}");
    assert!(names.iter().all(|name| is_snake_case(name) && name.len() <= MAX_NAME_LEN), "{name}: {names:?}");
    let mut counts = Counts::default();
    for (tool, operation) in tools.as_array().unwrap().iter().zip(operations) {
        assert_eq!(tool["name"], operation.source_tool_name.as_str());
        assert!(names.contains(&operation.operation_name), "{name}: {} is lost", operation.operation_name);
        let schema = &tool["inputSchema"];
        let ours = |own: &str| {
            let found = operation.params.iter().find(|parameter| parameter.original_name == own);
            found.map_or(own, |parameter| &parameter.name).to_owned()
        };
        parameters_are_all_there(&mut piped, &operation.operation_name, schema, ours);
        let validator = jsonschema::validator_for(schema).unwrap();
        let made = objects(schema, schema, 0);
        for some in made.chunks(BATCH) {
            let requests: Vec<Value> = some
                .iter()
                .map(|arguments| {
                    let renamed = arguments.as_object().unwrap().iter().map(|(own, value)| (ours(own), value.clone()));
                    json!({ "operation": operation.operation_name, "params": renamed.collect::<Map<_, _>>() })
                })
                .collect();
            let answer = piped.call("mcp_aql", json!({ "operations": requests }));
            let results = answer["results"].as_array().unwrap_or_else(|| panic!("{name} {answer}"));
            assert_eq!(results.len(), some.len());
            for (arguments, result) in some.iter().zip(results) {
                let result = &result["result"];
                let is_valid = validator.is_valid(arguments);
                if !is_valid && !result["error"].is_null() {
                    is_told_well(&result["error"], &format!("{name} {} {arguments}", tool["name"]));
                    counts.refused += 1;
                    continue;
                }
                let reached = json!({ "tool": tool["name"], "arguments": arguments });
                assert_eq!(result["data"], reached, "{name} {}: {result}", tool["name"]);
                *(if is_valid { &mut counts.passed } else { &mut counts.left }) += 1;
            }
        }
    }
    let record = std::fs::read_to_string(record).unwrap();
    let calls = record.lines().filter(|line| *line == "tools/call").count();
    assert_eq!(calls, counts.passed + counts.left, "{name}: what is refused never reaches the server");
    counts
}

fn bundle(name: &str, tools: &Value) -> Bundle {
    let source = Source {
        name: name.to_owned(),
        server_url: format!("stdio:{name}"),
        transport: Transport::Stdio,
        captured_at: "2026-11-15T07:00:00Z".to_owned(),
        server: None,
        auth: Auth::none(),
        capture_config_redacted: redact::configuration(None, &[], None, &[]),
    };
    normalize(source, RawCapture::from_pages(&[&json!({ "tools": tools }).to_string()]).unwrap())
}

/// The names of all operations but introspection itself, page by page.
fn listed(piped: &mut StdioServer) -> Vec<String> {
    let mut names = Vec::new();
    let mut params = json!({ "query": "operations", "first": 100 });
    loop {
        let answer = piped.call("mcp_aql", json!({ "operation": "introspect", "params": params }));
        let data = &answer["data"];
        let page = data["operations"].as_array().unwrap_or_else(|| panic!("{answer}"));
        names.extend(page.iter().map(|one| one["name"].as_str().unwrap().to_owned()));
        let page = &data["_protocol"]["page"];
        if page["hasNextPage"] != true {
            names.retain(|name| name != "introspect" && name != "upstream_status");
            return names;
        }
        params["after"] = page["endCursor"].clone();
    }
}

fn parameters_are_all_there(piped: &mut StdioServer, operation: &str, schema: &Value, ours: impl Fn(&str) -> String) {
    let params = json!({ "query": "operations", "name": operation });
    let answer = piped.call("mcp_aql", json!({ "operation": "introspect", "params": params }));
    let shown = answer["data"]["operation"]["parameters"].as_array().unwrap_or_else(|| panic!("{operation}: {answer}"));
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for own in schema["properties"].as_object().into_iter().flat_map(|all| all.keys()) {
        let found = shown.iter().find(|parameter| parameter["name"] == ours(own).as_str());
        let found = found.unwrap_or_else(|| panic!("{operation}: '{own}' is lost: {answer}"));
        assert_eq!(found["required"], required.contains(&own.as_str()), "{operation} {own}");
    }
}

/// A refusal says which parameter is wrong and how.
fn is_told_well(error: &Value, what: &str) {
    let (code, message) = (error["code"].as_str().unwrap_or_default(), error["message"].as_str().unwrap_or_default());
    assert!(code.starts_with("VALIDATION_"), "{what}: {error}");
    let details = &error["details"];
    let named = details["param_name"].as_str().or(details["unknown_params"][0].as_str());
    assert!(named.is_some_and(|name| message.contains(&format!("'{name}"))), "{what}: {error}");
}
