//! Engines to ask, and the shortest way to ask them.

use std::sync::{Arc, Mutex};

use aquifer_engine::event::{Event, Observer};
use aquifer_engine::gate::{Decision, Gate, Pass};
use aquifer_engine::source::{Call, Offering, Outcome};
use aquifer_engine::{Caller, Context, Engine, EngineBuilder, InputRequest, Reply, Source};
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::limits::Limits;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::surface::{Mode, Profile, Receiver, Surface};
use aquifer_protocol::validate::Checked;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use crate::task_board::Board;

pub(crate) fn surface() -> Surface {
    Surface::new(Mode::All, Profile::known("crude").unwrap(), "").unwrap()
}

pub(crate) fn board() -> Arc<dyn Source> {
    Board::default().into_adapter("tasks").build().unwrap()
}

pub(crate) fn builder() -> EngineBuilder {
    Engine::builder(surface()).dangerously_let_everything_pass().source(board())
}

pub(crate) fn demo() -> Engine {
    builder().build().unwrap()
}

pub(crate) fn context() -> Context {
    Context::new(Caller::session("tests"), "req_test")
}

pub(crate) async fn ask(engine: &Engine, request: Value) -> Value {
    ask_as(engine, request, context()).await
}

pub(crate) async fn ask_as(engine: &Engine, request: Value, context: Context) -> Value {
    ask_at(engine, &Receiver::Unified, request, context).await
}

pub(crate) async fn ask_at(engine: &Engine, receiver: &Receiver, request: Value, context: Context) -> Value {
    match engine.handle(receiver, request.as_object().unwrap().clone(), context).await {
        Reply::Response(response) => response.render(&Limits::default()).value(),
        Reply::NeedsInput(question) => json!({ "question": question.message }),
    }
}

pub(crate) fn operation(name: &str, params: Value) -> Value {
    json!({ "operation": name, "params": params })
}

/// A source made of operations and one function.
pub(crate) struct Scripted {
    pub(crate) operations: Mutex<Vec<Operation>>,
    pub(crate) answer: fn(&str, Map<String, Value>) -> Outcome,
}

impl Scripted {
    pub(crate) fn new(operations: Vec<Operation>, answer: fn(&str, Map<String, Value>) -> Outcome) -> Arc<Self> {
        Arc::new(Self { operations: Mutex::new(operations), answer })
    }
}

impl Source for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn offering(&self) -> Offering {
        Offering { operations: self.operations.lock().unwrap().clone(), ..Offering::default() }
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Outcome> {
        let name = call.name.to_string();
        async move { (self.answer)(&name, call.params) }.boxed()
    }
}

/// Wants confirmation for everything that deletes, as a failure or as a question.
pub(crate) struct Careful;

impl Gate for Careful {
    fn decide<'a>(&'a self, request: &'a Checked, context: &'a Context) -> BoxFuture<'a, Decision> {
        let confirmed = request.metadata().confirmation.is_some() || context.answers.contains_key("sure");
        let decision = if &*request.operation().name != "delete_task" || confirmed {
            Decision::Allow(Pass::default())
        } else if context.interaction.can_ask() {
            Decision::Ask(InputRequest { key: "sure".to_owned(), message: "Sure?".to_owned(), schema: Map::new() })
        } else {
            Decision::Refuse(Failure::new(Code::ConfirmationRequired, "This operation requires confirmation"))
        };
        std::future::ready(decision).boxed()
    }

    fn confirms(&self) -> bool {
        true
    }
}

/// Remembers what happened.
#[derive(Default)]
pub(crate) struct Diary(pub(crate) Mutex<Vec<String>>);

impl Observer for Diary {
    fn observe(&self, event: Event<'_>) {
        self.0.lock().unwrap().push(format!("{event:?}"));
    }
}
