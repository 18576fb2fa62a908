//! Served by itself, an adapter has a gate.

use aquifer_adapter::{ServeError, engine, router, serve_http};
use aquifer_engine::{Context, Interaction, Reply};
use aquifer_protocol::limits::Limits;
use aquifer_protocol::surface::Receiver;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::book_index::Library;
use crate::elicitation::Depot;
use crate::guest_book::GuestBook;
use crate::task_board::Board;
use crate::{call_family, context};

/// Sends one HTTP request of MCP 2026-07-28, which needs no session, and returns status and body.
async fn post(stream: &mut TcpStream, path: &str, host: &str, operation: &str, params: Value) -> (u16, Value) {
    let (status, response) = post_raw(stream, path, host, operation, params).await;
    let (_, body) = response.split_once("\r\n\r\n").unwrap();
    let start = body.find('{').unwrap_or(0);
    let end = body.rfind('}').map_or(0, |end| end + 1);
    let answer: Value = serde_json::from_str(body.get(start..end).unwrap_or_default()).unwrap_or_default();
    let result = &answer["result"];
    (status, result.get("structuredContent").unwrap_or(result).clone())
}

async fn post_raw(stream: &mut TcpStream, path: &str, host: &str, operation: &str, params: Value) -> (u16, String) {
    let tool = match operation.split('_').next() {
        Some("create") => "mcp_aql_create",
        Some("delete") => "mcp_aql_delete",
        Some("send") => "mcp_aql_execute",
        _ => "mcp_aql_read",
    };
    let message = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": tool, "arguments": { "operation": operation, "params": params }, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "tests", "version": "1" },
            // Who is asked to delete something gets a token instead.
            "io.modelcontextprotocol/clientCapabilities": if operation.starts_with("send") {
                json!({ "elicitation": { "form": {} } })
            } else {
                json!({})
            }
        } }
    })
    .to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\naccept: application/json, \
         text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: {tool}\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n",
        message.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(message.as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    let status = response.split(' ').nth(1).unwrap().parse().unwrap();
    (status, response)
}

#[tokio::test]
async fn r_saf_1_a_delete_asks_first_without_a_line_of_configuration() {
    let entry = json!({ "text": "x", "stars": 5 });
    let book = json!({ "title": "Emma", "author": "Austen", "year": 1815 });
    for (engine, resource, values, key) in [
        (engine(Board::default()).unwrap(), "task", json!({ "title": "x" }), "id"),
        (engine(Library::default()).unwrap(), "book", book, "id"),
        (engine(GuestBook::default()).unwrap(), "entry", entry, "number"),
    ] {
        let made = call_family(&engine, "create", &format!("create_{resource}"), values).await;
        assert_eq!(made["success"], true, "{made}");
        let delete = async |params: Value| call_family(&engine, "delete", &format!("delete_{resource}"), params).await;
        let asked = delete(json!({ key: 1 })).await;
        assert_eq!(asked["error"]["code"], "PERMISSION_DENIED", "nobody could be asked: {asked}");
        assert!(asked["error"]["message"].as_str().unwrap().contains("nobody is there to ask"), "{asked}");
        let get = call_family(&engine, "read", &format!("get_{resource}"), json!({ key: 1 })).await;
        assert_eq!(get["success"], true, "it is still there: {get}");
        // A client that can ask its user does.
        let request = json!({ "operation": format!("delete_{resource}"), "params": { key: 1 } });
        let request = request.as_object().unwrap();
        let asking = Context { interaction: Interaction::Available, ..context() };
        let asked = engine.handle(&Receiver::Family("delete".into()), request.clone(), asking.clone()).await;
        let Reply::NeedsInput(question) = asked else { panic!("{resource} was deleted unasked") };
        let answers = [(question.key, json!({ "action": "accept" }))].into_iter().collect::<Map<_, _>>();
        let answered = Context { answers: std::sync::Arc::new(answers), ..asking };
        let deleted = engine.handle(&Receiver::Family("delete".into()), request.clone(), answered).await;
        let Reply::Response(deleted) = deleted else { panic!("it is asked twice") };
        assert_eq!(deleted.render(&Limits::default()).value()["success"], true);
    }
}

#[tokio::test]
async fn an_adapter_is_part_of_an_axum_server() {
    let app = axum::Router::new().nest("/tasks", router(Board::default()).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(async move { axum::serve(listener, app).await });
    let ask = async |path: &str, host: &str, operation: &str, params: Value| {
        post(&mut TcpStream::connect(address).await.unwrap(), path, host, operation, params).await
    };
    let local = address.to_string();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let (_, answer) = post_raw(&mut stream, "/tasks/mcp", &local, "list_tasks", json!({})).await;
    assert!(answer.to_ascii_lowercase().contains("\r\ncontent-length: "), "sent in one write: {answer}");
    let (status, made) = ask("/tasks/mcp", &local, "create_task", json!({ "title": "x" })).await;
    assert_eq!((status, &made["data"]["id"]), (200, &json!(1)), "{made}");
    let (_, asked) = ask("/tasks/mcp", &local, "delete_task", json!({ "id": 1 })).await;
    assert_eq!(asked["error"]["code"], "PERMISSION_DENIED", "{asked}");
    let (status, _) = ask("/tasks/mcp", "evil.example", "get_task", json!({ "id": 1 })).await;
    assert_eq!(status, 403, "a page elsewhere cannot reach it by another name");
    let (status, _) = ask("/mcp", &local, "get_task", json!({ "id": 1 })).await;
    assert_eq!(status, 404);
    serving.abort();
}

#[tokio::test]
async fn a_question_with_an_enum_reaches_the_client() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(async move { axum::serve(listener, router(Depot).unwrap()).await });
    let mut stream = TcpStream::connect(address).await.unwrap();
    let (_, asked) = post(&mut stream, "/mcp", &address.to_string(), "send_parcel", json!({})).await;
    let form = &asked["inputRequests"]["adapter_1"]["params"];
    assert_eq!(form["message"], "How is it sent?", "{asked}");
    let names = &form["requestedSchema"]["properties"]["way"]["enumNames"];
    assert!(names.to_string().contains("truck: In a few days, by land."), "{asked}");
    serving.abort();
}

#[tokio::test]
async fn an_address_that_is_taken_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let taken = serve_http(Board::default(), listener.local_addr().unwrap()).await;
    let error = taken.unwrap_err();
    assert!(matches!(error, ServeError::Http(_)), "{error}");
    // What Rust prints if `main` returns it.
    assert_eq!(format!("{error:?}"), error.to_string());
}
