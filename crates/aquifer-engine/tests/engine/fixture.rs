//! Test engines and helpers to call them.

use std::sync::Arc;

use aquifer_adapter::IntoAdapter as _;
use aquifer_engine::event::{Event, Observer};
use aquifer_engine::gate::{Decision, Gate, Pass, Rules};
use aquifer_engine::source::{Call, Offering, Outcome};
use aquifer_engine::{Caller, Context, Engine, EngineBuilder, InputRequest, Reply, Source};
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::limits::Limits;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::surface::{Mode, Profile, Receiver, Surface};
use aquifer_protocol::validate::Checked;
use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::task_board::Board;

pub(crate) fn surface() -> Surface {
    Surface::new(Mode::All, Profile::known("crude").unwrap(), "").unwrap()
}

pub(crate) fn board() -> Arc<dyn Source> {
    Board::default().into_adapter().build().unwrap()
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

pub(crate) fn batch(operations: Value) -> Value {
    json!({ "operations": operations })
}

pub(crate) fn operation(name: &str, params: Value) -> Value {
    json!({ "operation": name, "params": params })
}

/// A source with given operations and one function as the handler.
pub(crate) struct ScriptedSource {
    pub(crate) operations: Mutex<Vec<Operation>>,
    pub(crate) answer: fn(&str, Map<String, Value>) -> Outcome,
}

impl ScriptedSource {
    pub(crate) fn new(operations: Vec<Operation>, answer: fn(&str, Map<String, Value>) -> Outcome) -> Arc<Self> {
        Arc::new(Self { operations: Mutex::new(operations), answer })
    }
}

impl Source for ScriptedSource {
    fn name(&self) -> &str {
        "scripted"
    }

    fn offering(&self) -> Offering {
        Offering { operations: self.operations.lock().clone(), ..Offering::default() }
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Outcome> {
        let name = call.name.to_string();
        async move { (self.answer)(&name, call.params) }.boxed()
    }
}

/// Requires confirmation for `delete_task`, as a failure or as a question.
pub(crate) struct ConfirmingGate;

impl Gate for ConfirmingGate {
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

    fn as_rules(&self) -> Option<&dyn Rules> {
        Some(self)
    }
}

impl Rules for ConfirmingGate {
    fn confirms(&self) -> bool {
        true
    }
}

/// Records events.
#[derive(Default)]
pub(crate) struct RecordingObserver(pub(crate) Mutex<Vec<String>>);

impl Observer for RecordingObserver {
    fn observe(&self, event: Event<'_>) {
        self.0.lock().push(format!("{event:?}"));
    }
}
