//! Redirects and links to the next page do not lead to what the caller may not call.

use std::sync::Arc;

use aquifer_engine::gate::{Decision, Gate, Pass};
use aquifer_engine::{Context, Engine};
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::Types;
use aquifer_protocol::surface::{Mode, Profile, Surface};
use aquifer_protocol::validate::Checked;
use aquifer_rest::openapi::{self, ReadOptions};
use aquifer_rest::{RestSettings, RestSource};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::call;
use crate::client::server::{Reply, Server};

/// Denies `get_secret`, and `get_note` of one note.
struct Rules;

impl Rules {
    fn denies(operation: &Operation, params: &Map<String, Value>) -> bool {
        &*operation.origin.own_name == "get_secret"
            || (&*operation.origin.own_name == "get_note" && params.get("id") == Some(&json!(7)))
    }
}

impl Gate for Rules {
    fn decide<'a>(&'a self, request: &'a Checked, _: &'a Context) -> BoxFuture<'a, Decision> {
        let decision = match Self::denies(request.operation(), request.judged_params()) {
            true => Decision::Refuse(Failure::new(Code::PermissionDenied, "Permission denied")),
            false => Decision::Allow(Pass::default()),
        };
        std::future::ready(decision).boxed()
    }

    fn admit_target(
        &self,
        operation: &Operation,
        params: &Map<String, Value>,
        _: &Types,
        _: &Context,
    ) -> Result<(), Failure> {
        match Self::denies(operation, params) {
            true => Err(Failure::new(Code::PermissionDenied, "get_secret is denied")),
            false => Ok(()),
        }
    }
}

fn description() -> Value {
    let list = json!({ "200": { "description": "Rows", "headers": { "Link": {} }, "content": { "application/json": { "schema": { "type": "array", "items": { "type": "object" } } } } } });
    let id = json!([{ "name": "id", "in": "path", "required": true, "schema": { "type": "integer" } }]);
    let body = json!({ "required": true, "content": { "application/json": { "schema": { "type": "object", "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } } } } } });
    json!({
        "openapi": "3.1.0", "info": { "title": "Notes", "version": "1" }, "servers": [{ "url": "https://notes.example" }],
        "paths": {
            "/notes": { "get": { "operationId": "listNotes", "summary": "List notes", "responses": list } },
            "/notes/{id}": {
                "get": { "operationId": "getNote", "summary": "Get a note", "parameters": id },
                "put": { "operationId": "updateNote", "summary": "Update a note", "parameters": id, "requestBody": body },
            },
            "/secret": { "get": { "operationId": "getSecret", "summary": "Get the secret" } },
            "/excluded": { "get": { "operationId": "getExcluded", "summary": "Get another secret" } },
            "/reset": { "get": { "operationId": "resetAll", "summary": "Reset everything" } },
        }
    })
}

/// An API that leads every request to one path, by a redirect or by a link to the next page.
async fn led_to(target: &'static str, by_link: bool) -> (Server, Engine) {
    let server = Server::start(move |request, _| match request.target.as_str() {
        "/notes" if by_link => Reply::json(200, "[{\"id\":1}]").with("link", &format!("<{target}>; rel=\"next\"")),
        "/notes" | "/notes/1" => Reply::redirect(302, target),
        _ => Reply::json(200, "[{\"id\":2,\"secret\":\"tell nobody\"}]"),
    })
    .await;
    let options =
        ReadOptions { source: "notes".to_owned(), exclude: vec!["get_excluded".to_owned()], ..ReadOptions::default() };
    let mut api = openapi::read(&description(), &options).unwrap();
    api.base_url = server.url();
    let source = RestSource::new(RestSettings::new("notes", api), |_| None).unwrap();
    let surface = Surface::new(Mode::All, Profile::known("crude").unwrap(), "").unwrap();
    let engine = Engine::builder(surface).gate(Arc::new(Rules)).source(Arc::new(source)).build().unwrap();
    (server, engine)
}

#[tokio::test]
async fn links_are_judged_as_the_operations_that_they_are() {
    for (target, is_followed) in [
        ("/secret", false),
        ("/secret?x=1", false),
        ("/secret/", false),
        ("//127.0.0.1/secret", false),
        ("/SECRET", false),
        ("/./secret", false),
        ("/notes/..%2fsecret", false),
        ("/%73ecret", false),
        ("/secret;x", false),
        ("/excluded", false),
        ("/notes/7", false),
        ("/reset", false),
        ("/notes/2?_method=DELETE", false),
        ("/notes/2", true),
        ("/notes?page=2", true),
        ("/moved/notes", true),
    ] {
        for by_link in [false, true] {
            let (server, engine) = led_to(target, by_link).await;
            let answer = call(&engine, "list_notes", json!({ "aggregate": { "n": { "count": true } } })).await;
            let shown = answer.to_string();
            assert_eq!(server.count(), if is_followed { 2 } else { 1 }, "{target} {by_link}: {answer}");
            assert!(!shown.contains("get_secret"), "{target}: {shown}");
            match (is_followed, by_link) {
                (true, _) => assert_eq!(answer["success"], true, "{target}: {answer}"),
                (false, true) => assert!(shown.contains("RESULT_INCOMPLETE"), "{target}: {answer}"),
                (false, false) => assert!(answer["error"].is_object(), "{target}: {answer}"),
            }
        }
    }
    // The read before a change is led no further, either.
    let (server, engine) = led_to("/secret", false).await;
    let answer = call(&engine, "update_note", json!({ "id": 1, "input": { "a": 1 }, "dry_run": true })).await;
    assert_eq!(answer["error"]["code"], "PERMISSION_DENIED", "{answer}");
    assert_eq!(server.count(), 1);
}
