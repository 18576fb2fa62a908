//! An adapter written in Rust without a gate refuses what cannot be undone: over stdio and HTTP, with one source and
//! with several, and after a restart.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use aquifer_engine::source::{Call, Offering, Outcome};
use aquifer_engine::{Answer, Engine, Source};
use aquifer_protocol::category::Category;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::surface::{Mode, Profile, Surface};
use aquifer_server::{HttpServer, HttpSettings, serve_streams};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

/// Long enough for a busy machine; nothing here takes that long when it works.
const DEADLINE: Duration = Duration::from_secs(60);

/// Counts what it deletes.
#[derive(Default)]
struct Board {
    name: &'static str,
    deleted: AtomicUsize,
}

impl Source for Board {
    fn name(&self) -> &str {
        self.name
    }

    fn offering(&self) -> Offering {
        let operations = vec![
            Operation::new("get_task", Category::Read, "Get a task."),
            Operation::new("delete_task", Category::Delete, "Delete a task."),
        ];
        Offering { operations, ..Offering::default() }
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Outcome> {
        self.deleted.fetch_add(usize::from(&*call.name == "delete_task"), Ordering::SeqCst);
        std::future::ready(Outcome::Done(Answer::new(json!("done")))).boxed()
    }
}

fn message(tool: &str, operation: &str) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
        "io.modelcontextprotocol/clientInfo": { "name": "tests", "version": "1" },
    });
    let arguments = json!({ "operation": operation, "params": {} });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": tool, "arguments": arguments, "_meta": meta } })
}

async fn over_stdio(engine: Arc<Engine>, tool: &str, operation: &str) -> Value {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (read, write) = tokio::io::split(theirs);
    let stop = CancellationToken::new();
    tokio::spawn(serve_streams(engine, read, write, stop.clone()));
    let (read, mut write) = tokio::io::split(ours);
    write.write_all(format!("{}\n", message(tool, operation)).as_bytes()).await.unwrap();
    let line = tokio::time::timeout(DEADLINE, BufReader::new(read).lines().next_line()).await.expect("an answer");
    stop.cancel();
    serde_json::from_str(&line.unwrap().unwrap()).unwrap()
}

async fn over_http(engine: Arc<Engine>, tool: &str, operation: &str) -> Value {
    let server = HttpServer::bind(engine, HttpSettings::new("127.0.0.1:0".parse().unwrap())).await.unwrap();
    let (address, stop) = (server.address(), CancellationToken::new());
    tokio::spawn(server.serve(stop.clone()));
    let body = message(tool, operation).to_string();
    let head = format!(
        "POST /mcp HTTP/1.0\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\n\
         mcp-name: {tool}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all((head + &body).as_bytes()).await.unwrap();
    let mut answer = String::new();
    tokio::time::timeout(DEADLINE, stream.read_to_string(&mut answer)).await.expect("an answer").unwrap();
    stop.cancel();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let data = body.lines().find_map(|line| line.strip_prefix("data: ")).unwrap_or(body);
    serde_json::from_str(data).unwrap_or_else(|_| panic!("{answer}"))
}

#[tokio::test]
async fn r_saf_2_an_adapter_without_a_gate_refuses_what_cannot_be_undone() {
    let boards = ["board", "other"].map(|name| Arc::new(Board { name, ..Board::default() }));
    for sources in [1, 2] {
        for run in ["first", "again"] {
            let surface = Surface::new(Mode::Semantic, Profile::known("crude").unwrap(), "").unwrap();
            let builder = boards
                .iter()
                .take(sources)
                .fold(Engine::builder(surface), |builder, board| builder.source(board.clone()));
            let engine = Arc::new(builder.build().unwrap());
            let prefix = if sources == 1 { "" } else { "board_" };
            for is_http in [false, true] {
                for (operation, expected) in [("get_task", "done"), ("delete_task", "PERMISSION_DANGER_LEVEL_DENIED")] {
                    let operation = format!("{prefix}{operation}");
                    let mut codes = Vec::new();
                    for tool in ["mcp_aql_read", "mcp_aql_delete", "mcp_aql_execute"] {
                        let engine = engine.clone();
                        let answer = if is_http {
                            over_http(engine, tool, &operation).await
                        } else {
                            over_stdio(engine, tool, &operation).await
                        };
                        let content = &answer["result"]["structuredContent"];
                        codes.push(if content["success"] == true {
                            json!("done")
                        } else {
                            content["error"]["code"].clone()
                        });
                    }
                    assert!(codes.contains(&json!(expected)), "{sources} {run} {is_http} {operation}: {codes:?}");
                }
            }
        }
    }
    assert!(boards.iter().all(|board| board.deleted.load(Ordering::SeqCst) == 0), "nothing is deleted");
}
