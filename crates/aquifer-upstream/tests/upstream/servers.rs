//! Real servers, called directly and through the gateway: the answers are the same, and no tool or parameter is lost.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use aquifer_engine::Context;
use aquifer_engine::source::Progress;
use aquifer_protocol::response::Attachment;
use aquifer_upstream::{AllowedRequests, Settings, Transport, interrogate};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::support::{Folder, Gateway, context};

fn installed(variable: &str) -> PathBuf {
    std::env::var_os(variable)
        .unwrap_or_else(|| panic!("{variable} is not set: run `cargo xtask test`, which installs the servers"))
        .into()
}

fn npm(name: &str, args: &[&str]) -> Settings {
    let script = format!("node_modules/@modelcontextprotocol/server-{name}/dist/index.js");
    let script = installed("AQUIFER_TEST_SERVERS_NPM").join(script).display().to_string();
    let args = [script].into_iter().chain(args.iter().map(|argument| (*argument).to_owned()));
    with_long_timeouts(Settings::stdio(name, "node", args))
}

fn pypi(name: &str, variable: &str, args: &[&str]) -> Settings {
    let program = installed(variable).with_file_name(format!("mcp-server-{name}")).display().to_string();
    with_long_timeouts(Settings::stdio(name, &program, args.iter().copied()))
}

fn with_long_timeouts(mut settings: Settings) -> Settings {
    settings.timeout = Duration::from_secs(20);
    settings.start_timeout = Duration::from_secs(25);
    // The direct client supports both, and some servers offer other tools then.
    settings.allow = AllowedRequests { elicitation: true, sampling: true };
    settings
}

fn every(folder: &Folder) -> Vec<Settings> {
    let path = folder.0.display().to_string();
    let mut memory = npm("memory", &[]);
    if let Transport::Stdio { env, .. } = &mut memory.transport {
        env.push(("MEMORY_FILE_PATH".to_owned(), folder.file("memory.jsonl")));
    }
    vec![
        npm("everything", &[]),
        npm("filesystem", &[&path]),
        memory,
        pypi("git", "AQUIFER_TEST_SERVERS_PYTHON", &[]),
        pypi("time", "AQUIFER_TEST_SERVERS_PYTHON", &[]),
        pypi("sqlite", "AQUIFER_TEST_SERVERS_SQLITE", &["--db-path", &folder.file("test.db")]),
    ]
}

/// A minimal client.
struct DirectClient {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl DirectClient {
    fn new(settings: &Settings) -> Self {
        let Transport::Stdio { command, args, env, .. } = &settings.transport else { unreachable!() };
        let mut process = Command::new(command)
            .args(args)
            .envs(env.iter().cloned())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (input, output) = (process.stdin.take().unwrap(), BufReader::new(process.stdout.take().unwrap()));
        let mut direct = Self { process, input, output, next: 0 };
        let hello = json!({
            "protocolVersion": "2025-11-25", "clientInfo": { "name": "direct", "version": "1" },
            "capabilities": { "elicitation": {}, "sampling": {}, "roots": { "listChanged": false } },
        });
        direct.ask("initialize", hello);
        direct.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        direct
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
        self.input.flush().unwrap();
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "{method}: the server is gone");
            let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
            if message.get("method").is_some() && message.get("id").is_some() {
                let roots = json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "roots": [] } });
                self.send(&roots);
            } else if message["id"] == id {
                return message.get("result").cloned().unwrap_or_else(|| panic!("{method}: {message}"));
            }
        }
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments }))
    }
}

impl Drop for DirectClient {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The expected data for a direct result.
fn expected(result: &Value) -> Value {
    if let Some(structured) = result.get("structuredContent") {
        return structured.clone();
    }
    let data = |block: &Value| {
        let text = block["text"].as_str().unwrap_or_default();
        match serde_json::from_str::<Value>(text) {
            Ok(value) if value.is_object() || value.is_array() => value,
            _ => json!(text),
        }
    };
    match result["content"].as_array().map(Vec::as_slice) {
        Some([only]) => data(only),
        Some(blocks) => blocks.iter().map(data).collect(),
        None => Value::Null,
    }
}

#[tokio::test]
async fn r_dis_3_no_tool_and_no_parameter_is_lost() {
    let folder = Folder::new();
    for settings in every(&folder) {
        let direct = DirectClient::new(&settings).ask("tools/list", json!({}));
        let interrogation =
            interrogate(&settings).await.unwrap_or_else(|failure| panic!("{}: {failure:?}", settings.name));
        let captured: Value = serde_json::from_str(interrogation.capture.tools_text()).unwrap();
        assert_eq!(captured, direct["tools"], "{}", settings.name);
        let bundle = interrogation.bundle(&settings, Timestamp::UNIX_EPOCH);
        let gateway = Gateway::ready(settings.clone()).await;
        let snapshot = gateway.engine.snapshot();
        for tool in captured.as_array().unwrap() {
            let made = &bundle.normalized_bundle.operations;
            let made = made.iter().find(|made| made.source_tool_name == tool["name"].as_str().unwrap()).unwrap();
            let operation = snapshot.catalog().operation(&made.operation_name).unwrap();
            for name in tool["inputSchema"]["properties"].as_object().into_iter().flat_map(|all| all.keys()) {
                let parameter = made.params.iter().find(|parameter| parameter.original_name == *name).unwrap();
                assert!(operation.parameter(&parameter.name).is_some(), "{}: {name}", settings.name);
            }
        }
    }
}

#[tokio::test]
async fn r_dis_7_calls_to_real_servers_return_what_direct_calls_return() {
    let folder = Folder::new();
    std::fs::write(folder.0.join("a.txt"), "first\nsecond ä\n").unwrap();
    std::fs::create_dir(folder.0.join("inside")).unwrap();
    let repository = folder.0.join("repository");
    let git = |args: &[&str]| {
        let done = Command::new("git").args(args).current_dir(&repository).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    std::fs::create_dir(&repository).unwrap();
    git(&["init", "-q", "-b", "main"]);
    std::fs::write(repository.join("file"), "x").unwrap();
    git(&["add", "file"]);
    git(&["-c", "user.name=T", "-c", "user.email=t@example.com", "commit", "-q", "-m", "first"]);
    let (text, place) = (folder.file("a.txt"), folder.0.display().to_string());
    let repository = repository.display().to_string();
    // Server, operation, its parameters, the tool behind it, its arguments.
    let cases: Vec<(&str, &str, Value, &str, Value)> = vec![
        ("everything", "echo", json!({ "message": "hällo" }), "echo", json!({ "message": "hällo" })),
        ("everything", "get_sum", json!({ "a": 2, "b": 3.5 }), "get-sum", json!({ "a": 2, "b": 3.5 })),
        (
            "everything",
            "get_structured_content",
            json!({ "location": "Chicago" }),
            "get-structured-content",
            json!({ "location": "Chicago" }),
        ),
        ("filesystem", "read_text_file", json!({ "path": text }), "read_text_file", json!({ "path": text })),
        ("filesystem", "list_directory", json!({ "path": place }), "list_directory", json!({ "path": place })),
        ("filesystem", "list_allowed_directories", json!({}), "list_allowed_directories", json!({})),
        (
            "memory",
            "create_entities",
            json!({ "entities": [{ "name": "A", "entityType": "t", "observations": ["o"] }] }),
            "create_entities",
            json!({ "entities": [{ "name": "B", "entityType": "t", "observations": ["o"] }] }),
        ),
        ("memory", "read_graph", json!({}), "read_graph", json!({})),
        ("git", "git_status", json!({ "repo_path": repository }), "git_status", json!({ "repo_path": repository })),
        ("git", "git_log", json!({ "repo_path": repository }), "git_log", json!({ "repo_path": repository })),
        (
            "time",
            "convert_time",
            json!({ "source_timezone": "Europe/Berlin", "time": "12:00", "target_timezone": "Asia/Tokyo" }),
            "convert_time",
            json!({ "source_timezone": "Europe/Berlin", "time": "12:00", "target_timezone": "Asia/Tokyo" }),
        ),
        (
            "sqlite",
            "create_table",
            json!({ "query": "create table if not exists t (a integer, b text)" }),
            "create_table",
            json!({ "query": "create table if not exists t (a integer, b text)" }),
        ),
        ("sqlite", "list_tables", json!({}), "list_tables", json!({})),
    ];
    for settings in every(&folder) {
        let mut direct = DirectClient::new(&settings);
        let gateway = Gateway::ready(settings.clone()).await;
        for (server, operation, params, tool, arguments) in &cases {
            if *server != settings.name {
                continue;
            }
            let result = direct.call(tool, arguments);
            assert_ne!(result["isError"], json!(true), "{tool}: {result}");
            let got = gateway.get(operation, params.clone()).await;
            if operation.starts_with("create_entities") {
                assert_eq!(got.to_string().replace("\"A\"", "\"B\""), expected(&result).to_string());
                continue;
            }
            assert_eq!(got, expected(&result), "{server} {operation}");
        }
    }
}

#[tokio::test]
async fn server_everything_shows_pictures_resources_and_progress() {
    let gateway = Gateway::ready(npm("everything", &[])).await;
    let operations = gateway.operations();
    let (answer, blocks) = gateway.ask_whole("get_tiny_image", json!({}), context()).await;
    assert_eq!(answer["success"], true, "{answer} {operations:?}");
    let pictures =
        blocks.iter().filter(|block| matches!(block, Attachment::Verbatim(json) if json.contains("image/png")));
    assert_eq!(pictures.count(), 1, "{blocks:?}");
    let (answer, blocks) = gateway.ask_whole("get_resource_links", json!({ "count": 2 }), context()).await;
    let links =
        blocks.iter().filter(|block| matches!(block, Attachment::Verbatim(json) if json.contains("resource_link")));
    assert_eq!(links.count(), 2, "{answer}");
    let (progress, mut updates) = Progress::channel();
    let context = Context { progress, ..context() };
    let answer = gateway.ask_as("trigger_long_running_operation", json!({ "duration": 1, "steps": 4 }), context).await;
    assert_eq!(answer["success"], true, "{answer}");
    let mut seen = 0;
    while updates.try_recv().is_ok() {
        seen += 1;
    }
    assert!(seen >= 3, "{seen}");
    let error = gateway.refused("get_resource_links", json!({ "count": 99 }), "VALIDATION_INVALID_VALUE").await;
    assert_eq!(error["details"]["param_name"], "count");
}

#[tokio::test]
async fn r_dis_8_a_real_result_is_shaped() {
    let folder = Folder::new();
    // A graph has two lists, so that the operator says which of them is the rows.
    let mut memory = every(&folder).remove(2);
    memory.rows.insert("read_graph".to_owned(), "entities".to_owned());
    let gateway = Gateway::ready(memory).await;
    let entities: Vec<Value> = (0..5)
        .map(|index| json!({ "name": format!("n{index}"), "entityType": "t", "observations": ["long", "words"] }))
        .collect();
    gateway.get("create_entities", json!({ "entities": entities })).await;
    let whole = gateway.get("read_graph", json!({})).await;
    assert_eq!(whole["entities"].as_array().unwrap().len(), 5);
    let answer = gateway.get("read_graph", json!({ "fields": ["name"], "filter": { "name": "n3" } })).await;
    let text = answer.to_string();
    assert!(text.contains("n3") && !text.contains("n2") && !text.contains("words"), "{text}");
}
