//! The MCP handler on in-memory streams, for cases that need a source or a gate that the binary does not have.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::pin::pin;
use std::task::Poll;

use aquifer_engine::gate::{Decision, Gate, Pass};
use aquifer_engine::source::{Call, ClientCapability, Offering, Outcome};
use aquifer_engine::{Answer, Context, Engine, InputRequest, Source};
use aquifer_protocol::category::Category;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::operation::Operation;
use aquifer_protocol::response::Attachment;
use aquifer_protocol::surface::{Mode, Profile, Surface};
use aquifer_protocol::validate::Checked;
use parking_lot::Mutex;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio::sync::Semaphore;

use super::*;

/// How many messages a source logs during one call.
const FLOOD: u64 = 20_000;

/// A source whose operations can be changed, with one that waits to be let go.
struct Changing(Mutex<Vec<Operation>>, Semaphore);

impl Source for Changing {
    fn name(&self) -> &str {
        "changing"
    }

    fn offering(&self) -> Offering {
        Offering { operations: self.0.lock().clone(), ..Offering::default() }
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Outcome> {
        if &*call.name == "get_slow" {
            return async {
                let _permit = self.1.acquire().await.unwrap();
                Outcome::Done(Answer::new(json!("done")))
            }
            .boxed();
        }
        if &*call.name == "get_flood" {
            let client = call.context.client.clone().unwrap();
            let message = json!({ "level": "error", "data": "x".repeat(1_000) });
            (0..FLOOD).for_each(|_| client.log(message.as_object().unwrap().clone()));
            let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
            return std::future::ready(Outcome::Done(Answer::new(json!(tasks)))).boxed();
        }
        if &*call.name == "get_favours" {
            return capabilities(call.context).boxed();
        }
        let answered = call.context.answers.get("sure").cloned();
        let outcome = match &*call.name {
            "get_picture" => {
                let mut answer = Answer::new(json!({ "picture": { "_attachment": 0 } }));
                answer
                    .attachments
                    .push(Attachment::Image { media_type: "image/png".to_owned(), base64: "AAAA".to_owned() });
                Outcome::Done(answer)
            }
            _ => Outcome::Done(Answer::new(json!({ "answered": answered }))),
        };
        std::future::ready(outcome).boxed()
    }
}

/// Asks the client for everything a source may ask for.
async fn capabilities(context: Arc<Context>) -> Outcome {
    let Some(client) = &context.client else { return Outcome::Done(Answer::new(json!("nobody to ask"))) };
    client.log(json!({ "level": "info", "data": "quiet" }).as_object().unwrap().clone());
    client.log(json!({ "level": "error", "logger": "l", "data": { "a": 1 } }).as_object().unwrap().clone());
    let questions = [
        (
            ClientCapability::Elicitation,
            json!({ "message": "Who?", "requestedSchema": { "type": "object", "properties": {} } }),
        ),
        (ClientCapability::Sampling, json!({ "messages": [], "maxTokens": 1 })),
        (ClientCapability::Roots, json!({})),
    ];
    let mut answers = Vec::new();
    for (capability, params) in questions {
        let params = params.as_object().unwrap().clone();
        answers.push(if client.can(capability) {
            client.ask(capability, params).await.unwrap_or_default()
        } else {
            json!("cannot")
        });
    }
    Outcome::Done(Answer::new(Value::Array(answers)))
}

/// Wants a person's word before anything is deleted.
struct Careful;

impl Gate for Careful {
    fn decide<'a>(&'a self, request: &'a Checked, context: &'a Context) -> BoxFuture<'a, Decision> {
        assert!(&*request.operation().name != "get_panic", "a gate that panics");
        let refused = || Decision::Refuse(Failure::new(Code::PermissionDenied, "Permission denied: a person said no"));
        let decision = match (request.operation().category, context.answers.get("sure")) {
            (Category::Delete, Some(answer)) if answer["action"] == "accept" => Decision::Allow(Pass::default()),
            (Category::Delete, Some(_)) => refused(),
            (Category::Delete, None) => Decision::Ask(InputRequest {
                key: "sure".to_owned(),
                message: "Really delete it?".to_owned(),
                schema: json!({ "type": "object", "properties": { "really": { "type": "boolean" } } })
                    .as_object()
                    .unwrap()
                    .clone(),
            }),
            _ => Decision::Allow(Pass::default()),
        };
        std::future::ready(decision).boxed()
    }
}

struct Client {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    write: WriteHalf<DuplexStream>,
    engine: Arc<Engine>,
    source: Arc<Changing>,
    handler: Arc<McpHandler>,
}

impl Client {
    fn start() -> Self {
        let operations = vec![
            Operation::new("get_x", Category::Read, "Get."),
            Operation::new("get_picture", Category::Read, "Get a picture."),
            Operation::new("get_slow", Category::Read, "Get slowly."),
            Operation::new("get_favours", Category::Read, "Ask the client."),
            Operation::new("get_flood", Category::Read, "Log."),
            Operation::new("get_panic", Category::Read, "Panic in the gate."),
            Operation::new("delete_x", Category::Delete, "Delete."),
        ];
        let source = Arc::new(Changing(Mutex::new(operations), Semaphore::new(0)));
        let surface = Surface::new(Mode::Semantic, Profile::known("crude").unwrap(), "").unwrap();
        let engine = Arc::new(Engine::builder(surface).source(source.clone()).gate(Arc::new(Careful)).build().unwrap());
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (read, write) = tokio::io::split(theirs);
        let handler = Arc::new(McpHandler::new(engine.clone(), Connection::Stdio));
        let (served, settings) = (handler.clone(), engine.settings().clone());
        tokio::spawn(async move { serve_handler(served, &settings, read, write, CancellationToken::new()).await });
        let (read, write) = tokio::io::split(ours);
        Self { lines: BufReader::new(read).lines(), write, engine, source, handler }
    }

    async fn initialized(capabilities: Value) -> Self {
        let mut client = Self::start();
        client.send(json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": { "name": "tests", "version": "1" } } })).await;
        assert_eq!(client.receive().await["id"], 0);
        client.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        client
    }

    /// Whether a message is a call that is handled without the SDK.
    fn is_direct(&self, message: &str) -> bool {
        DirectCalls::new(self.handler.clone()).read(message.as_bytes(), None).is_some()
    }

    /// Waits until the SDK has completed the handshake: calls are handled directly from then on.
    async fn greeted(&mut self) {
        self.send(call(1000, "mcp_aql_read", "get_x")).await;
        assert_eq!(self.receive().await["id"], 1000);
    }

    async fn send(&mut self, message: Value) {
        self.send_bytes(message.to_string().as_bytes()).await;
    }

    async fn send_bytes(&mut self, bytes: &[u8]) {
        self.write.write_all(bytes).await.unwrap();
        self.write.write_all(b"\n").await.unwrap();
    }

    async fn receive(&mut self) -> Value {
        serde_json::from_str(&self.receive_line().await).unwrap()
    }

    async fn receive_line(&mut self) -> String {
        let line = tokio::time::timeout(Duration::from_secs(30), self.lines.next_line()).await;
        line.expect("an answer in time").unwrap().unwrap()
    }

    fn grow(&self) {
        self.source.0.lock().push(Operation::new("create_y", Category::Create, "Create."));
        assert!(self.engine.refresh().unwrap());
    }
}

fn call(id: u64, tool: &str, operation: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": tool, "arguments": { "operation": operation } } })
}

fn stateless(mut message: Value, capabilities: Value) -> Value {
    message["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    message
}

#[tokio::test]
async fn r_dis_7_log_messages_beyond_a_limit_are_dropped_and_counted() {
    let mut client = Client::initialized(json!({})).await;
    client.greeted().await;
    for id in 1..3 {
        client.send(call(id, "mcp_aql_read", "get_flood")).await;
        let (mut sent, mut tasks, mut dropped) = (0, None, None);
        while tasks.is_none() || dropped.is_none() {
            let message = client.receive().await;
            let text = message["params"]["data"].as_str().unwrap_or_default();
            if message["id"] == id {
                tasks = message["result"]["structuredContent"]["data"].as_u64();
            } else if message["params"]["logger"] == "aquifer" {
                dropped = text.split_once(' ').and_then(|(count, _)| count.parse::<u64>().ok());
            } else {
                sent += 1;
            }
        }
        assert!(tasks.unwrap() < 100, "{tasks:?} tasks wait");
        assert_eq!(sent + dropped.unwrap(), FLOOD);
    }
}

#[tokio::test]
async fn r_int_7_older_clients_are_notified_only_of_real_catalog_changes() {
    let mut client = Client::initialized(json!({})).await;
    client.send(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" })).await;
    assert_eq!(client.receive().await["result"]["tools"].as_array().unwrap().len(), 2);
    assert!(!client.engine.refresh().unwrap());
    client.grow();
    assert_eq!(client.receive().await["method"], "notifications/tools/list_changed");
    client.send(json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" })).await;
    assert_eq!(client.receive().await["result"]["tools"].as_array().unwrap().len(), 3);
}

/// What a server does not declare, it does not answer: a client that asks anyway learns it at once.
#[tokio::test]
async fn undeclared_capabilities_are_not_answered() {
    for method in ["prompts/list", "resources/list", "resources/templates/list", "completion/complete"] {
        let mut client = Client::start();
        let ask = |id: u64, method: &str| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": {} });
        client.send(stateless(ask(1, "server/discover"), json!({}))).await;
        let declared = client.receive().await["result"]["capabilities"].clone();
        assert!(declared["tools"].is_object() && declared["prompts"].is_null(), "{declared}");
        client.send(stateless(ask(2, method), json!({}))).await;
        assert_eq!(client.receive().await["error"]["code"], -32601, "{method}");
    }
}

#[tokio::test]
async fn r_int_7_newer_clients_are_notified_if_they_listen() {
    let mut client = Client::start();
    let listen = json!({ "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": { "notifications": { "toolsListChanged": true } } });
    client.send(stateless(listen, json!({}))).await;
    assert_eq!(client.receive().await["method"], "notifications/subscriptions/acknowledged");
    client.grow();
    assert_eq!(client.receive().await["method"], "notifications/tools/list_changed");
}

#[tokio::test]
async fn questions_and_logs_of_a_source_reach_the_client() {
    let mut client = Client::initialized(json!({ "elicitation": {}, "roots": {} })).await;
    client
        .send(json!({ "jsonrpc": "2.0", "id": 1, "method": "logging/setLevel", "params": { "level": "warning" } }))
        .await;
    assert_eq!(client.receive().await["id"], 1);
    client.send(call(2, "mcp_aql_read", "get_favours")).await;
    let mut logged = 0;
    loop {
        let message = client.receive().await;
        match message["method"].as_str() {
            Some("notifications/message") => {
                assert_eq!(message["params"], json!({ "level": "error", "logger": "l", "data": { "a": 1 } }));
                logged += 1;
            }
            Some("elicitation/create") => {
                assert_eq!(message["params"]["message"], "Who?");
                let result = json!({ "action": "accept", "content": { "who": "me" } });
                client.send(json!({ "jsonrpc": "2.0", "id": message["id"], "result": result })).await;
            }
            Some("roots/list") => {
                let result = json!({ "roots": [{ "uri": "file:///home", "name": "home" }] });
                client.send(json!({ "jsonrpc": "2.0", "id": message["id"], "result": result })).await;
            }
            Some(other) => panic!("{other}"),
            None => {
                let data = &message["result"]["structuredContent"]["data"];
                assert_eq!(data[0], json!({ "action": "accept", "content": { "who": "me" } }), "{message}");
                assert_eq!(data[1], "cannot");
                assert_eq!(data[2]["roots"][0]["uri"], "file:///home");
                break;
            }
        }
    }
    assert_eq!(logged, 1, "what is less urgent than it wants to hear is not said");
    let mut newer = Client::start();
    newer.send(stateless(call(1, "mcp_aql_read", "get_favours"), json!({ "elicitation": {} }))).await;
    assert_eq!(newer.receive().await["result"]["structuredContent"]["data"], "nobody to ask");
}

#[tokio::test]
async fn a_person_is_asked_in_a_session() {
    for (action, code) in
        [("accept", None), ("decline", Some("PERMISSION_DENIED")), ("cancel", Some("PERMISSION_DENIED"))]
    {
        let mut client = Client::initialized(json!({ "elicitation": {} })).await;
        client.send(call(1, "mcp_aql_delete", "delete_x")).await;
        let question = client.receive().await;
        assert_eq!(question["method"], "elicitation/create");
        assert_eq!(question["params"]["message"], "Really delete it?");
        client.send(json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": action, "content": { "really": true } } })).await;
        let answer = client.receive().await;
        assert_eq!(answer["result"]["structuredContent"]["error"]["code"].as_str(), code, "{answer}");
    }
}

#[tokio::test]
async fn a_person_is_asked_by_retry_without_a_session() {
    let mut client = Client::start();
    let capabilities = json!({ "elicitation": {} });
    client.send(stateless(call(1, "mcp_aql_delete", "delete_x"), capabilities.clone())).await;
    let challenge = client.receive().await;
    assert_eq!(challenge["result"]["resultType"], "input_required", "{challenge}");
    assert_eq!(challenge["result"]["inputRequests"]["sure"]["params"]["message"], "Really delete it?");
    let mut again = stateless(call(2, "mcp_aql_delete", "delete_x"), capabilities);
    again["params"]["inputResponses"] = json!({ "sure": { "action": "accept", "content": { "really": true } } });
    client.send(again).await;
    let answer = client.receive().await;
    assert_eq!(answer["result"]["structuredContent"]["success"], true, "{answer}");
}

#[tokio::test]
async fn a_client_that_cannot_be_asked_gets_a_failure() {
    let mut client = Client::initialized(json!({})).await;
    client.send(call(1, "mcp_aql_delete", "delete_x")).await;
    let answer = client.receive().await;
    assert_eq!(answer["result"]["structuredContent"]["error"]["code"], "CONFIRMATION_REQUIRED");
    assert_eq!(answer["result"]["isError"], false);
}

#[tokio::test]
async fn r_res_3_pictures_follow_the_text() {
    let mut client = Client::initialized(json!({})).await;
    client.send(call(1, "mcp_aql_read", "get_picture")).await;
    let answer = client.receive().await;
    assert_eq!(answer["result"]["content"][1], json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" }));
    assert_eq!(answer["result"]["structuredContent"]["data"]["picture"]["_attachment"], 0);
}

#[tokio::test]
async fn r_res_4_a_panic_anywhere_is_answered() {
    let mut client = Client::initialized(json!({})).await;
    client.send(call(1, "mcp_aql_read", "get_panic")).await;
    let answer = client.receive().await;
    assert_eq!(answer["result"]["structuredContent"]["error"]["code"], "INTERNAL_ERROR");
    assert_eq!(answer["result"]["isError"], true);
}

#[tokio::test]
async fn r_req_7_more_calls_than_fit_are_refused_and_the_rest_answered() {
    let mut client = Client::initialized(json!({})).await;
    for id in 1..=256 {
        client.send(call(id, "mcp_aql_read", "get_slow")).await;
    }
    client.send(call(257, "mcp_aql_read", "get_slow")).await;
    let refused = client.receive().await;
    assert_eq!(refused["id"], 257);
    assert_eq!(refused["result"]["resultType"], "complete");
    assert_eq!(refused["result"]["structuredContent"]["error"]["code"], "RATE_LIMIT_EXCEEDED");
    client.send(json!({ "jsonrpc": "2.0", "id": 258, "method": "tools/list" })).await;
    assert_eq!(client.receive().await["error"]["code"], -32000, "what is not a call gets no tool result");
    client.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } })).await;
    client.source.1.add_permits(1000);
    for _ in 2..=256 {
        assert_eq!(client.receive().await["result"]["structuredContent"]["data"], "done");
    }
    client.send(call(300, "mcp_aql_read", "get_x")).await;
    assert_eq!(client.receive().await["id"], 300, "there is room again");
}

/// The same message with the slash of its method escaped. Direct calls are recognized only by the method as it is.
fn for_the_sdk(message: &Value) -> String {
    message.to_string().replace("tools/call", "tools\\/call")
}

#[tokio::test]
async fn direct_calls_have_the_answers_of_the_sdk() {
    let with = |params: Value| json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params });
    let read = |arguments: Value| with(json!({ "name": "mcp_aql_read", "arguments": arguments }));
    // The calls that are handled directly, and those that are left to the SDK.
    let direct = [
        call(1, "mcp_aql_read", "get_x"),
        call(2, "mcp_aql_read", "get_picture"),
        call(3, "mcp_aql_read", "get_nothing"),
        call(4, "mcp_aql_read", "get_panic"),
        call(5, "mcp_aql_delete", "delete_x"),
        call(6, "mcp_aql_update", "get_x"),
        call(7, "no_tool", "get_x"),
        stateless(call(8, "mcp_aql_read", "get_x"), json!({})),
        read(json!({ "operation": "get_x", "params": { "y": 1 } })),
        read(json!({ "operations": [{ "operation": "get_x" }, { "operation": "get_y" }] })),
        read(json!({ "operation": 1 })),
        read(json!({})),
        read(Value::Null),
        with(json!({ "name": "mcp_aql_read" })),
        with(json!({ "name": "mcp_aql_read", "arguments": { "operation": "get_x" }, "_meta": { "a": 1 }, "more": 2 })),
        json!({ "jsonrpc": "2.0", "id": "text", "method": "tools/call", "params": { "name": "mcp_aql_read", "arguments": { "operation": "get_x" } } }),
    ];
    let indirect = [
        read(json!([])),
        with(json!({ "name": 1 })),
        with(json!({ "arguments": {} })),
        with(json!({ "name": "mcp_aql_read", "arguments": { "operation": "get_x" }, "_meta": 1 })),
        with(json!(1)),
        json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call" }),
        json!({ "jsonrpc": "1.0", "id": 9, "method": "tools/call", "params": { "name": "mcp_aql_read", "arguments": { "operation": "get_x" } } }),
        json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/list", "params": { "of": "tools/call" } }),
    ];
    for capabilities in [json!({}), json!({ "roots": {}, "sampling": {} })] {
        let mut client = Client::initialized(capabilities).await;
        client.greeted().await;
        let messages =
            direct.iter().map(|message| (message, true)).chain(indirect.iter().map(|message| (message, false)));
        for (message, is_direct) in messages {
            let (text, for_the_sdk) = (message.to_string(), for_the_sdk(message));
            assert_eq!((client.is_direct(&text), client.is_direct(&for_the_sdk)), (is_direct, false), "{message}");
            client.send_bytes(text.as_bytes()).await;
            let one = client.receive_line().await;
            client.send_bytes(for_the_sdk.as_bytes()).await;
            assert_eq!(client.receive_line().await, one, "{message}");
        }
    }
}

#[tokio::test]
async fn calls_with_the_same_id_are_all_answered() {
    let mut client = Client::initialized(json!({})).await;
    client.greeted().await;
    for _ in 0..2 {
        client.send(call(1, "mcp_aql_read", "get_slow")).await;
    }
    client.source.1.add_permits(2);
    for _ in 0..2 {
        assert_eq!(client.receive().await["result"]["structuredContent"]["data"], "done");
    }
    client.write.shutdown().await.unwrap();
    let end = tokio::time::timeout(Duration::from_secs(9), client.lines.next_line()).await.unwrap();
    assert_eq!(end.unwrap(), None, "none of them is waited for");
}

#[tokio::test]
async fn a_cancelled_call_is_never_answered() {
    let mut client = Client::initialized(json!({})).await;
    client.greeted().await;
    for message in [call(1, "mcp_aql_read", "get_slow").to_string(), for_the_sdk(&call(2, "mcp_aql_read", "get_slow"))]
    {
        client.send_bytes(message.as_bytes()).await;
    }
    for id in [1, 2] {
        let cancelled = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
        client.send(cancelled).await;
    }
    client.send(call(3, "mcp_aql_read", "get_x")).await;
    assert_eq!(client.receive().await["id"], 3);
    client.write.shutdown().await.unwrap();
    let end = tokio::time::timeout(Duration::from_secs(30), client.lines.next_line()).await.unwrap();
    assert_eq!(end.unwrap(), None, "nothing else is said, and nobody waits for what was cancelled");
}

#[tokio::test]
async fn the_last_line_needs_no_newline_and_is_answered_before_exit() {
    let mut client = Client::initialized(json!({})).await;
    let last = call(9, "mcp_aql_read", "get_slow").to_string();
    client.write.write_all(last.as_bytes()).await.unwrap();
    client.write.shutdown().await.unwrap();
    client.source.1.add_permits(1);
    assert_eq!(client.receive().await["id"], 9);
    let end = tokio::time::timeout(Duration::from_secs(30), client.lines.next_line()).await.unwrap();
    assert!(end.unwrap().is_none(), "then the connection ends");
}

#[tokio::test]
async fn shutdown_does_not_wait_for_listeners() {
    let mut client = Client::start();
    let listen = json!({ "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": { "notifications": { "toolsListChanged": true } } });
    client.send(stateless(listen, json!({}))).await;
    assert_eq!(client.receive().await["method"], "notifications/subscriptions/acknowledged");
    client.write.shutdown().await.unwrap();
    // The SDK itself takes some seconds to give a subscription up; ten more of ours would not fit.
    loop {
        let line =
            tokio::time::timeout(Duration::from_secs(9), client.lines.next_line()).await.expect("the end in time");
        if line.unwrap().is_none() {
            break;
        }
    }
}

#[tokio::test]
async fn messages_before_the_first_request_are_harmless() {
    let mut client = Client::start();
    client.send_bytes(b"\xef\xbb\xbf{}").await;
    assert!(client.receive().await["error"].is_object());
    client.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    client.send(json!({ "jsonrpc": "2.0", "id": 77, "result": {} })).await;
    client.send(stateless(call(1, "mcp_aql_read", "get_x"), json!({}))).await;
    assert_eq!(client.receive().await["result"]["structuredContent"]["success"], true);
}

#[tokio::test]
async fn malformed_client_answers_are_not_answered_under_their_id() {
    let mut client = Client::initialized(json!({})).await;
    client.send_bytes(br#"{"jsonrpc":"2.0","id":5,"result":{"a":1,"a":2}}"#).await;
    assert_eq!(client.receive().await["id"], Value::Null);
    let long = "x".repeat(300);
    client
        .send_bytes(
            format!(r#"{{"jsonrpc":"2.0","id":"{long}","method":"tools/call","params":{{"a":1,"a":2}}}}"#).as_bytes(),
        )
        .await;
    assert!(client.receive().await["error"].is_object(), "an id too long to repeat still gets an answer");
}

#[tokio::test]
async fn a_refusal_that_is_not_read_does_not_outlast_a_stop() {
    let surface = Surface::new(Mode::Semantic, Profile::known("crude").unwrap(), "").unwrap();
    let engine = Arc::new(Engine::builder(surface).build().unwrap());
    let handler = Arc::new(McpHandler::new(engine.clone(), Connection::Stdio));
    let (stop, given_up) = (CancellationToken::new(), CancellationToken::new());
    // Less than a refusal takes.
    let (ours, mut theirs) = tokio::io::duplex(64);
    let (read, write) = tokio::io::split(ours);
    let output = Output::new(write, given_up.clone());
    let calls = DirectCalls::new(handler);
    let mut transport = StdioTransport::new(read, output, engine.settings(), calls, stop.clone(), given_up.clone());
    theirs.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}\n").await.unwrap();
    {
        let mut receiving = pin!(transport.receive());
        assert!(futures::poll!(&mut receiving).is_pending());
        stop.cancel();
        assert!(futures::poll!(&mut receiving).is_pending(), "a slow client gets some time");
        given_up.cancel();
        assert!(matches!(futures::poll!(&mut receiving), Poll::Ready(None)));
    }
    assert!(futures::poll!(pin!(transport.close())).is_ready());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever comes down the line, the next good request is answered.
    #[test]
    fn r_req_8_any_line_leaves_the_connection_usable(lines in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..8)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut client = Client::initialized(json!({})).await;
            for line in lines {
                client.send_bytes(&line).await;
            }
            client.send(call(77, "mcp_aql_read", "get_x")).await;
            loop {
                let message = client.receive().await;
                if message["id"] == 77 {
                    assert_eq!(message["result"]["structuredContent"]["success"], true);
                    break;
                }
                assert!(message["error"].is_object(), "{message}");
            }
        });
    }
}
