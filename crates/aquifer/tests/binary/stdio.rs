//! MCP on stdin and stdout.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::{StdioServer, TIMEOUT, envelope, terminate, until};

#[test]
fn every_revision_with_a_handshake_is_served() {
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut piped = StdioServer::initialized(&["serve", "tasks:"], revision);
        let tools = piped.request("tools/list", json!({}));
        assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 5, "{revision}");
        assert!(piped.close().success());
    }
}

#[test]
fn the_stateless_revision_is_served_on_pipes_too() {
    let mut piped = StdioServer::start(&["serve", "tasks:"]);
    let (body, _) = crate::support::stateless_body(
        "tools/call",
        json!({ "name": "mcp_aql_create", "arguments": { "operation": "create_task", "title": "x" } }),
    );
    piped.send(&body);
    let answer = piped.receive();
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    assert_eq!(envelope(&answer)["data"]["id"], 1);
}

#[test]
fn server_info_names_the_server() {
    let mut piped = StdioServer::start(&["serve", "tasks:"]);
    let answer = piped.initialize("2025-06-18");
    assert_eq!(answer["result"]["serverInfo"]["name"], "aquifer");
    assert_eq!(answer["result"]["capabilities"]["tools"]["listChanged"], true);
}

#[test]
fn r_end_5_tools_carry_hints_and_an_open_schema() {
    let mut piped = StdioServer::tasks();
    let tools = piped.request("tools/list", json!({}))["result"]["tools"].clone();
    let read = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "mcp_aql_read").unwrap();
    assert_eq!(read["annotations"], json!({ "readOnlyHint": true, "destructiveHint": false }));
    let delete = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "mcp_aql_delete").unwrap();
    assert_eq!(delete["annotations"], json!({ "readOnlyHint": false, "destructiveHint": true }));
    assert!(read["inputSchema"].get("required").is_none());
}

#[test]
fn r_end_2_environment_beats_the_default_and_a_flag_beats_both() {
    let names = |arguments: &[&str], variables: &[(&str, &str)]| -> Vec<String> {
        let folder = crate::support::Folder::new();
        let config = "[surface]\nmode = \"semantic\"\nprefix = \"file_\"\n[[source]]\ntarget = \"tasks:\"\n";
        let file = folder.file("config.toml", config);
        let mut command = crate::support::aquifer();
        command
            .args(["introspect", "create_task", "--json", "--config", &file])
            .args(arguments)
            .envs(variables.iter().copied());
        let output = command.output().unwrap();
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        vec![answer["data"]["operation"]["mcpTool"].as_str().unwrap().to_owned()]
    };
    assert_eq!(names(&[], &[]), ["file_mcp_aql_create"]);
    assert_eq!(names(&[], &[("MCP_AQL_ENDPOINT_MODE", "single")]), ["file_mcp_aql"]);
    assert_eq!(
        names(&[], &[("MCP_AQL_ENDPOINT_PROFILE", "inspect_query_mutate_administer"), ("A", ""), ("B", ""), ("C", "")]),
        ["file_mcp_aql_mutate"]
    );
    assert_eq!(
        names(&["--mode", "all"], &[("MCP_AQL_ENDPOINT_MODE", "single"), ("MCP_AQL_TOOL_PREFIX", "env_")]),
        ["env_mcp_aql_create"]
    );
    assert_eq!(
        names(
            &["--prefix", "flag_", "--profile", "discover_query_manage_operate"],
            &[("MCP_AQL_TOOL_PREFIX", "env_"), ("MCP_AQL_ENDPOINT_PROFILE", "crude"), ("X", "")]
        ),
        ["flag_mcp_aql_manage"]
    );
}

#[test]
fn r_res_3_domain_failures_are_answers_and_unknown_tools_are_errors() {
    let mut piped = StdioServer::tasks();
    let mismatch = piped.request(
        "tools/call",
        json!({ "name": "mcp_aql_delete", "arguments": { "operation": "create_task", "params": { "title": "x" } } }),
    );
    assert_eq!(mismatch["result"]["isError"], false);
    assert_eq!(envelope(&mismatch)["error"]["code"], "VALIDATION_ENDPOINT_MISMATCH");
    let unknown = piped.request("tools/call", json!({ "name": "mcp_aql_fly", "arguments": {} }));
    assert!(unknown["error"]["message"].as_str().unwrap().contains("mcp_aql_create"), "{unknown}");
    let shapeless = piped.request("tools/call", json!({ "name": "mcp_aql_read", "arguments": [1] }));
    assert!(shapeless["error"].is_object(), "{shapeless}");
    let method = piped.request("no/such/method", json!({}));
    assert_eq!(method["error"]["code"], -32601);
}

#[test]
fn progress_is_reported_and_grows() {
    let mut piped = StdioServer::tasks();
    let run = json!({ "operation": "execute_tasks", "ms_each": 5, "wait": true });
    // Beside the arguments as in MCP, inside of them as in MCP-AQL, alone and for a batch.
    let inside = |token: Value| json!({ "operation": "execute_tasks", "params": { "ms_each": 5, "wait": true }, "_meta": { "progressToken": token } });
    let batch = json!({ "operations": [run.clone()], "_meta": { "progressToken": "p" } });
    for (arguments, meta, token) in [
        (run.clone(), json!({ "progressToken": "p" }), json!("p")),
        (inside(json!("p")), json!({}), json!("p")),
        (inside(json!(17)), json!({}), json!(17)),
        (inside(json!("other")), json!({ "progressToken": "p" }), json!("p")),
        (batch, json!({}), json!("p")),
        (inside(json!([1])), json!({}), json!(null)),
    ] {
        // Those of the round before are done.
        for title in ["a", "b", "c"] {
            piped.call("mcp_aql_create", json!({ "operation": "create_task", "title": title }));
        }
        piped.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "mcp_aql_execute", "arguments": arguments, "_meta": meta,
        } }));
        let mut reported = Vec::new();
        let answer = loop {
            let message = piped.receive();
            if message["method"] == "notifications/progress" {
                assert_eq!(message["params"]["progressToken"], token);
                assert_eq!(message["params"]["total"], 3.0);
                reported.push(message["params"]["progress"].as_f64().unwrap());
            } else {
                break message;
            }
        };
        // Reports that come faster than they are sent are replaced by the newest.
        let last = (!token.is_null()).then_some(&3.0);
        assert!(reported.is_sorted() && reported.last() == last, "{arguments} {reported:?}");
        let answer = envelope(&answer);
        let ran = answer.get("results").map_or(&answer, |results| &results[0]["result"]);
        assert_eq!(ran["data"]["status"], "completed", "{answer}");
    }
}

#[test]
fn a_cancelled_call_stops_its_handler() {
    let mut piped = StdioServer::tasks();
    piped.call("mcp_aql_create", json!({ "operation": "create_task", "title": "a" }));
    piped.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "mcp_aql_execute", "arguments": { "operation": "execute_tasks", "ms_each": 60000, "wait": true } } }));
    let id = running_execution(&mut piped);
    piped.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }));
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let state = piped.call("mcp_aql_read", json!({ "operation": "get_execution", "execution_id": id }));
        if state["data"]["status"] == "cancelled" {
            break;
        }
        assert!(Instant::now() < deadline, "{state}");
    }
}

/// The id of the execution that a call sent before has begun. Calls run side by side, so it may take a moment.
fn running_execution(piped: &mut StdioServer) -> Value {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let listed = piped.call("mcp_aql_read", json!({ "operation": "list_executions" }));
        if let Some(execution) = listed["data"]["items"].get(0) {
            return execution["execution_id"].clone();
        }
        assert!(Instant::now() < deadline, "{listed}");
    }
}

#[test]
fn calls_under_way_are_finished_when_the_client_leaves_or_a_signal_comes() {
    let mut piped = StdioServer::tasks();
    piped.call("mcp_aql_create", json!({ "operation": "create_task", "title": "a" }));
    piped.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "mcp_aql_execute", "arguments": { "operation": "execute_tasks", "ms_each": 300, "wait": true } } }));
    running_execution(&mut piped);
    terminate(piped.pid());
    let answer = piped.receive();
    assert_eq!(answer["id"], 1, "{answer}");
    assert_eq!(envelope(&answer)["data"]["status"], "completed", "{answer}");
    assert!(piped.close().success());
}

#[test]
fn a_stop_does_not_wait_for_a_client_that_does_not_read() {
    let mut command = crate::support::aquifer();
    command.args(["serve", "tasks:"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = command.spawn().unwrap();
    let (mut input, mut output) = (server.stdin.take().unwrap(), BufReader::new(server.stdout.take().unwrap()));
    let mut send = |message: &str| writeln!(input, "{message}").unwrap();
    let mut call = |id: u64, tool: &str, arguments: Value| {
        let (mut message, _) =
            crate::support::stateless_body("tools/call", json!({ "name": tool, "arguments": arguments }));
        message["id"] = id.into();
        send(&message.to_string());
    };
    // More than fits into the pipe.
    let title = "x".repeat(90_000);
    call(1, "mcp_aql_create", json!({ "operation": "create_task", "title": title }));
    output.read_line(&mut String::new()).unwrap();
    call(2, "mcp_aql_read", json!({ "operation": "get_task", "id": 1 }));
    // An answer is being written, and the refusal of the next message has to wait for it.
    assert!(!output.fill_buf().unwrap().is_empty());
    send("{");
    terminate(server.id());
    let ended = until("the server ends", || server.try_wait().unwrap());
    assert!(ended.success(), "{ended}");
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("xxx"), "the answer is not complete: {}", rest.lines().last().unwrap_or_default());
}
