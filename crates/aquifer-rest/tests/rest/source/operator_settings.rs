//! APIs with settings of the operator.

use std::path::PathBuf;

use aquifer_engine::{Caller, Context, Engine, Reply};
use aquifer_protocol::limits::Limits;
use aquifer_protocol::surface::{Mode, Profile, Receiver, Surface};
use aquifer_rest::openapi::{self, ReadOptions};
use aquifer_rest::{RestSettings, RestSource};
use serde_json::{Value, json};
use std::sync::Arc;

use crate::client::server::{Reply as HttpReply, Server};

fn settings(server: &Server, paths: Value) -> RestSettings {
    let description = json!({
        "openapi": "3.1.0",
        "info": {},
        "servers": [{ "url": server.url() }],
        "paths": paths,
        "components": { "securitySchemes": { "key": { "type": "apiKey", "in": "header", "name": "X-Key" } } },
        "security": []
    });
    let options = ReadOptions { source: "shop".to_owned(), ..ReadOptions::default() };
    let mut settings = RestSettings::new("shop", openapi::read(&description, &options).unwrap());
    settings.client.retry_delay = std::time::Duration::from_millis(1);
    settings
}

fn engine(settings: RestSettings) -> Engine {
    let source = RestSource::new(settings, |_| None).unwrap();
    let surface = Surface::new(Mode::All, Profile::known("crude").unwrap(), "").unwrap();
    Engine::builder(surface).dangerously_let_everything_pass().source(Arc::new(source)).build().unwrap()
}

async fn ask(engine: &Engine, operation: &str, params: Value) -> Value {
    let request = json!({ "operation": operation, "params": params });
    match engine.handle(&Receiver::Unified, request.as_object().unwrap().clone(), context()).await {
        Reply::Response(response) => response.render(&Limits::default()).value(),
        Reply::NeedsInput(question) => panic!("{}", question.message),
    }
}

fn context() -> Context {
    Context::new(Caller::session("tests"), "req_test")
}

fn items() -> Value {
    let parameter = json!([{ "name": "id", "in": "path", "required": true, "schema": { "type": "integer" } }]);
    let body = json!({ "content": { "application/json": { "schema": { "type": "object", "properties": {
        "stripe_account": { "type": "string" }, "size": { "type": "integer" }
    } } } } });
    json!({
        "/items": { "get": { "operationId": "listItems", "responses": {} },
                    "post": { "operationId": "createItem", "requestBody": body, "responses": {} } },
        "/items/{id}": { "parameters": parameter,
                         "get": { "operationId": "getItem", "responses": {} },
                         "put": { "operationId": "updateItem", "requestBody": body, "responses": {} } }
    })
}

#[tokio::test]
async fn callers_fill_headers_that_the_description_omits() {
    let server = Server::start(|_, _| HttpReply::json(200, "{\"size\":1}")).await;
    let mut settings = settings(&server, items());
    settings.call_headers = vec!["Account".to_owned(), "Stripe-Account".to_owned()];
    let engine = engine(settings);
    // A body field already has the shorter name.
    ask(&engine, "get_item", json!({ "id": 1, "stripe_account_header": "acct_1", "account": "a" })).await;
    ask(&engine, "get_item", json!({ "id": 1 })).await;
    ask(&engine, "create_item", json!({ "stripe_account": "body", "stripe_account_header": "acct_2" })).await;
    // The resource that a PUT replaces is read with the same header.
    ask(&engine, "update_item", json!({ "id": 1, "stripe_account_header": "acct_3", "input": { "size": 2 } })).await;
    let refused = ask(&engine, "get_item", json!({ "id": 1, "account": "a\r\nX: y" })).await;
    assert_eq!(refused["success"], false, "{refused}");
    let sent: Vec<_> = server
        .received()
        .iter()
        .map(|request| (request.method.clone(), request.headers.get("stripe-account").cloned().unwrap_or_default()))
        .collect();
    let expected = [("GET", "acct_1"), ("GET", ""), ("POST", "acct_2"), ("GET", "acct_3"), ("PUT", "acct_3")];
    assert_eq!(sent, expected.map(|(method, header)| (method.to_owned(), header.to_owned())));
}

#[tokio::test]
async fn headers_that_callers_may_not_set_are_refused() {
    let server = Server::start(|_, _| HttpReply::json(200, "{}")).await;
    for header in ["Host", "Authorization", "x-key", "X-Fixed", "Content-Type", "a b", "", "Cookie"] {
        let mut settings = settings(&server, items());
        settings.client.headers = vec![("x-fixed".to_owned(), "1".to_owned())];
        settings.call_headers = vec![header.to_owned()];
        assert!(RestSource::new(settings, |_| None).is_err(), "{header}");
    }
}

#[tokio::test]
async fn writes_are_repeated_with_the_key_that_the_operator_names() {
    let server = Server::start(|_, number| match number {
        0 => HttpReply::Reset,
        _ => HttpReply::json(200, "{}"),
    })
    .await;
    let mut settings = settings(&server, items());
    settings.idempotency_header = Some("Idempotency-Key".to_owned());
    let engine = engine(settings);
    let result = ask(&engine, "create_item", json!({ "size": 1 })).await;
    assert_eq!(result["success"], true, "{result}");
    ask(&engine, "create_item", json!({ "size": 1 })).await;
    ask(&engine, "list_items", json!({})).await;
    let keys: Vec<Option<String>> =
        server.received().iter().map(|request| request.headers.get("idempotency-key").cloned()).collect();
    assert_eq!(keys.len(), 4, "{keys:?}");
    assert!(keys[0].is_some() && keys[0] == keys[1] && keys[1] != keys[2] && keys[2].is_some(), "{keys:?}");
    assert_eq!(keys[3], None, "reads need no key");
}

#[tokio::test]
async fn files_are_sent_by_their_path() {
    let server = Server::start(|_, _| HttpReply::json(200, "{}")).await;
    let schema = json!({ "type": "object", "required": ["file"], "properties": { "file": { "type": "string", "format": "binary" } } });
    let paths = json!({
        "/files": { "post": { "operationId": "uploadFile", "responses": {},
            "requestBody": { "required": true, "content": { "multipart/form-data": { "schema": schema } } } } },
        "/raw": { "post": { "operationId": "uploadRaw", "responses": {},
            "requestBody": { "required": true, "content": { "application/octet-stream": {} } } } }
    });
    let folder = std::env::temp_dir().join(format!("aquifer-rest-upload-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("note.txt"), "hello").unwrap();
    let with = |roots: Vec<PathBuf>| {
        let mut settings = settings(&server, paths.clone());
        settings.file_roots = roots;
        engine(settings)
    };
    let path = json!({ "path": "note.txt" });
    let refused = ask(&with(Vec::new()), "upload_file", json!({ "file": path })).await;
    assert_eq!(refused["success"], false, "{refused}");
    let engine = with(vec![folder.clone()]);
    for (operation, params) in [("upload_file", json!({ "file": path })), ("upload_raw", json!({ "body": path }))] {
        let result = ask(&engine, operation, params).await;
        assert_eq!(result["success"], true, "{result}");
    }
    let outside = ask(&engine, "upload_file", json!({ "file": { "path": "/etc/hosts" } })).await;
    assert!(outside["error"]["message"].as_str().unwrap().contains("file_roots"), "{outside}");
    let received = server.received();
    assert_eq!(received.len(), 2);
    let part = "filename=\"note.txt\"\r\nContent-Type: text/plain\r\n\r\nhello\r\n";
    assert!(received[0].body.contains(part), "{}", received[0].body);
    assert_eq!(received[1].body, "hello");
    std::fs::remove_dir_all(folder).unwrap();
}
