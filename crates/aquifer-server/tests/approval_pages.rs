//! A call that waits for an approval: a client that can open pages is asked to open the approval's page, every other
//! finds its address in the message. And what a client calls itself reaches the gate and the sources, cleaned.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::source::{Call, Offering, Outcome};
use aquifer_engine::{Answer, Engine, Source};
use aquifer_protocol::category::Category;
use aquifer_protocol::error::{Code, Failure, FailureReason};
use aquifer_protocol::operation::Operation;
use aquifer_protocol::surface::{Mode, Profile, Surface};
use aquifer_server::serve_streams;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio_util::sync::CancellationToken;

const URL: &str = "http://127.0.0.1:3910/approvals/k3vm7pqa";

/// Fails as a gate does whose approval is open, and says what a client calls itself.
struct Waiting;

impl Source for Waiting {
    fn name(&self) -> &str {
        "waiting"
    }

    fn offering(&self) -> Offering {
        let operations = vec![
            Operation::new("get_report", Category::Read, "Get."),
            Operation::new("get_client", Category::Read, "Get the name of the client."),
        ];
        Offering { operations, ..Offering::default() }
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Outcome> {
        let outcome = match &*call.name {
            "get_client" => Outcome::Done(Answer::new(json!({ "name": call.context.client_name.as_deref() }))),
            _ => {
                let reason = FailureReason::ApprovalPending { id: "k3vm7pqa".into(), url: URL.into() };
                let message = format!("Ask your user to decide at {URL}");
                Outcome::Failed(Failure::new(Code::ConfirmationRequired, message).with_reason(reason))
            }
        };
        std::future::ready(outcome).boxed()
    }
}

struct Client {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    write: WriteHalf<DuplexStream>,
}

impl Client {
    fn start() -> Self {
        let surface = Surface::new(Mode::Semantic, Profile::known("crude").unwrap(), "").unwrap();
        let engine = Arc::new(Engine::builder(surface).source(Arc::new(Waiting)).build().unwrap());
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (read, write) = tokio::io::split(theirs);
        tokio::spawn(serve_streams(engine, read, write, CancellationToken::new()));
        let (read, write) = tokio::io::split(ours);
        Self { lines: BufReader::new(read).lines(), write }
    }

    /// With a session of revision 2025-11-25, the first with pages.
    async fn greeted(capabilities: Value, info: Value) -> Self {
        let mut client = Self::start();
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info });
        client.send(json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params })).await;
        assert_eq!(client.receive().await["id"], 0);
        client.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        client
    }

    async fn send(&mut self, message: Value) {
        self.write.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn receive(&mut self) -> Value {
        let next = tokio::time::timeout(Duration::from_secs(60), self.lines.next_line());
        serde_json::from_str(&next.await.expect("a message").unwrap().unwrap()).unwrap()
    }
}

fn call(id: u64, operation: &str) -> Value {
    let params = json!({ "name": "mcp_aql_read", "arguments": { "operation": operation } });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

fn tests() -> Value {
    json!({ "name": "tests", "version": "1" })
}

fn assert_waits(answer: &Value) {
    let error = &answer["result"]["structuredContent"]["error"];
    assert_eq!(error["code"], "CONFIRMATION_REQUIRED", "{answer}");
    assert_eq!(error["details"]["approval_url"], URL, "{answer}");
    assert!(error["message"].as_str().unwrap().contains(URL), "{answer}");
}

#[tokio::test]
async fn a_client_that_can_open_pages_is_asked_to_open_the_one_of_the_approval() {
    for action in ["accept", "decline", "cancel"] {
        let mut client = Client::greeted(json!({ "elicitation": { "form": {}, "url": {} } }), tests()).await;
        client.send(call(1, "get_report")).await;
        let asked = client.receive().await;
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        let params = &asked["params"];
        assert_eq!((&params["mode"], &params["url"]), (&json!("url"), &json!(URL)), "{asked}");
        assert_eq!(params["elicitationId"], "k3vm7pqa", "{asked}");
        assert!(params["message"].as_str().is_some_and(|message| !message.is_empty()), "{asked}");
        client.send(json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "action": action } })).await;
        // Opening the page decides nothing: the answer is the same.
        assert_waits(&client.receive().await);
    }
    // An error does not keep the call from being answered either.
    let mut client = Client::greeted(json!({ "elicitation": { "url": {} } }), tests()).await;
    client.send(call(1, "get_report")).await;
    let asked = client.receive().await;
    let error = json!({ "code": -32603, "message": "no browser" });
    client.send(json!({ "jsonrpc": "2.0", "id": asked["id"], "error": error })).await;
    assert_waits(&client.receive().await);
}

#[tokio::test]
async fn every_other_client_finds_the_address_in_the_message() {
    for capabilities in [json!({}), json!({ "elicitation": {} }), json!({ "elicitation": { "form": {} } })] {
        let mut client = Client::greeted(capabilities, tests()).await;
        client.send(call(1, "get_report")).await;
        let answer = client.receive().await;
        assert_eq!(answer["id"], 1, "nothing was asked: {answer}");
        assert_waits(&answer);
    }
    // The newest revision cannot be asked while a call waits.
    let mut client = Client::start();
    let mut newest = call(1, "get_report");
    newest["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "url": {} } },
        "io.modelcontextprotocol/clientInfo": tests(),
    });
    client.send(newest).await;
    assert_waits(&client.receive().await);
}

#[tokio::test]
async fn what_a_client_calls_itself_is_known_to_sources_as_one_clean_line() {
    let hostile = json!({ "name": "admin\n\u{202e}(verified)\u{1b}[1m", "version": "1" });
    for (info, expected) in [(tests(), "tests 1"), (hostile, "admin (verified) 1")] {
        let mut client = Client::greeted(json!({}), info.clone()).await;
        for id in [1, 2] {
            client.send(call(id, "get_client")).await;
            let answer = client.receive().await;
            assert_eq!(answer["result"]["structuredContent"]["data"]["name"], expected, "{answer}");
        }
        let mut client = Client::start();
        let mut newest = call(1, "get_client");
        newest["params"]["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": info,
        });
        client.send(newest).await;
        let answer = client.receive().await;
        assert_eq!(answer["result"]["structuredContent"]["data"]["name"], expected, "{answer}");
    }
}
