//! Adapters as their authors write them: extractors, answers, queries, versions, questions and serving.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, clippy::string_slice, clippy::expect_used)]

mod answers;
mod elicitation;
mod examples;
mod extractors;
mod queries;
mod serving;
mod unusual_types;
mod versions;

#[path = "../../examples/book_index.rs"]
#[allow(dead_code, reason = "the example has a main of its own")]
mod book_index;
#[path = "../../examples/guest_book.rs"]
#[allow(dead_code, reason = "the example has a main of its own")]
mod guest_book;
#[path = "../../examples/task_board.rs"]
#[allow(dead_code, reason = "the example has a main of its own")]
mod task_board;

use std::sync::Arc;

use aquifer_adapter::IntoAdapter;
use aquifer_engine::{Caller, Context, Engine, Reply};
use aquifer_protocol::limits::Limits;
use aquifer_protocol::surface::{Mode, Receiver, Surface};
use serde_json::{Value, json};

/// An engine that lets everything pass.
fn open_engine(adapter: impl IntoAdapter) -> Arc<Engine> {
    let surface = Surface::default().with_mode(Mode::Single);
    let source = adapter.into_adapter().build().unwrap();
    Arc::new(Engine::builder(surface).dangerously_let_everything_pass().source(source).build().unwrap())
}

fn context() -> Context {
    Context::new(Caller::session("tests"), "req_test")
}

async fn call(engine: &Engine, operation: &str, params: Value) -> Value {
    call_in(engine, operation, params, context()).await
}

async fn call_in(engine: &Engine, operation: &str, params: Value, context: Context) -> Value {
    let request = json!({ "operation": operation, "params": params });
    match engine.handle(&Receiver::Unified, request.as_object().unwrap().clone(), context).await {
        Reply::Response(response) => response.render(&Limits::default()).value(),
        Reply::NeedsInput(question) => {
            json!({ "question": question.message, "key": question.key, "schema": question.schema })
        }
    }
}

/// Calls the tool of one family.
async fn call_family(engine: &Engine, family: &str, operation: &str, params: Value) -> Value {
    let request = json!({ "operation": operation, "params": params });
    let receiver = Receiver::Family(family.into());
    match engine.handle(&receiver, request.as_object().unwrap().clone(), context()).await {
        Reply::Response(response) => response.render(&Limits::default()).value(),
        Reply::NeedsInput(question) => json!({ "question": question.message }),
    }
}

async fn parameters(engine: &Engine, operation: &str) -> Vec<String> {
    let details = call(engine, "introspect", json!({ "query": "operations", "name": operation })).await;
    let parameters = details["data"]["operation"]["parameters"].as_array().unwrap();
    parameters.iter().map(|parameter| parameter["name"].as_str().unwrap().to_owned()).collect()
}
