//! Sources in an engine: what callers send, and what the API receives.

mod exact_numbers;
mod links;
mod merging;
mod operator_settings;
mod overriding;
mod policy;
mod query_strings;
mod read_only;
mod repeating;
mod replacing;
mod requiring;
mod result_headers;
mod servers;
mod streams;

use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::{Caller, Context, Engine, Reply};
use aquifer_protocol::limits::Limits;
use aquifer_protocol::surface::{Mode, Profile, Receiver, Surface};
use aquifer_rest::openapi::{self, ReadOptions};
use aquifer_rest::{Api, RestSettings, RestSource};
use serde_json::{Value, json};

use crate::client::server::{Received, Reply as HttpReply, Server};

/// An API behind an engine, with its test server.
pub(crate) struct Served {
    pub(crate) server: Server,
    pub(crate) engine: Engine,
}

/// The API of a description.
pub(crate) fn api(paths: Value) -> Api {
    let description = json!({ "openapi": "3.1.0", "info": { "title": "Notes", "version": "1" }, "servers": [{ "url": "https://notes.example" }], "paths": paths });
    openapi::read(&description, &ReadOptions { source: "notes".to_owned(), ..ReadOptions::default() }).unwrap()
}

pub(crate) fn settings(mut api: Api, server: &Server) -> RestSettings {
    api.base_url = server.url();
    let mut settings = RestSettings::new("notes", api);
    settings.client.retry_delay = Duration::from_millis(1);
    settings
}

impl Served {
    /// Serves the operations of these paths. The handler responds to the requests.
    pub(crate) async fn start(
        paths: Value,
        handler: impl Fn(&Received, usize) -> HttpReply + Send + Sync + 'static,
    ) -> Self {
        let server = Server::start(handler).await;
        let source = RestSource::new(settings(api(paths), &server), |_| None).unwrap();
        let surface = Surface::new(Mode::All, Profile::known("crude").unwrap(), "").unwrap();
        let engine = Engine::builder(surface).dangerously_let_everything_pass().source(Arc::new(source)).build();
        Self { server, engine: engine.unwrap() }
    }

    pub(crate) async fn call(&self, operation: &str, params: Value) -> Value {
        call(&self.engine, operation, params).await
    }

    /// The method and body of each request so far.
    pub(crate) fn sent(&self) -> Vec<(String, Value)> {
        let received = self.server.received().into_iter();
        received.map(|request| (request.method, serde_json::from_str(&request.body).unwrap_or_default())).collect()
    }
}

pub(crate) async fn call(engine: &Engine, operation: &str, params: Value) -> Value {
    let request = json!({ "operation": operation, "params": params }).as_object().unwrap().clone();
    let context = Context::new(Caller::session("tests"), "req_test");
    match engine.handle(&Receiver::Unified, request, context).await {
        Reply::Response(response) => response.render(&Limits::default()).value(),
        Reply::NeedsInput(question) => json!({ "question": question.message }),
    }
}

/// The path of a note with GET and PUT, with the schemas of the body and of the response.
pub(crate) fn note(body: Value, response: Option<Value>) -> Value {
    let content = response.map(|schema| json!({ "application/json": { "schema": schema } }));
    json!({ "/notes/{id}": {
        "parameters": [{ "name": "id", "in": "path", "required": true, "schema": { "type": "string" } }],
        "get": { "operationId": "getNote", "summary": "Get a note", "responses": { "200": { "description": "A note", "content": content.unwrap_or(json!({})) } } },
        "put": { "operationId": "updateNote", "summary": "Update a note", "requestBody": { "required": true, "content": { "application/json": { "schema": body } } } }
    } })
}
