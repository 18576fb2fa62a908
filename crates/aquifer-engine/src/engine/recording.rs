//! Calls whose messages a person wants to see.

use std::borrow::Cow;
use std::sync::Arc;

use aquifer_protocol::surface::Receiver;
use serde_json::{Map, Value, json};

use super::{Engine, Reply};
use crate::snapshot::Snapshot;
use crate::source::Context;
use crate::trace::{CallLog, CallRecorder, Channel, Step, requested_operation};

impl Engine {
    /// The calls whose messages were recorded.
    pub fn call_log(&self) -> &CallLog {
        &self.call_log
    }

    /// Answers a request, and keeps its messages.
    pub(super) async fn handle_recorded(
        &self,
        receiver: &Receiver,
        arguments: Map<String, Value>,
        context: Arc<Context>,
    ) -> Reply {
        let trace = context.trace.clone();
        let _recorder = CallRecorder {
            log: &self.call_log,
            trace: trace.clone(),
            request_id: context.request_id.clone(),
            operation: requested_operation(&arguments),
            principal: context.caller.principal.clone(),
            started_at: self.clock.now(),
        };
        add_secrets(&self.snapshot.load(), &arguments, &context);
        trace.record(Step::Received, Channel::Client, || {
            (head(receiver), Cow::Owned(Value::Object(arguments.clone()).to_string()))
        });
        let reply = self.handle_request(receiver, arguments, context).await;
        trace.record(Step::Answered, Channel::Client, || (String::new(), Cow::Owned(self.text_of(&reply))));
        reply
    }

    /// A reply as the client gets it. A question has another form for every revision of MCP.
    fn text_of(&self, reply: &Reply) -> String {
        match reply {
            Reply::Response(response) => response.clone().render(&self.settings.limits).text,
            Reply::NeedsInput(question) => {
                json!({ "question": question.message, "schema": question.schema }).to_string()
            }
        }
    }
}

fn head(receiver: &Receiver) -> String {
    match receiver {
        Receiver::Unified => "A call of the tool for all operations".to_owned(),
        Receiver::Family(family) => format!("A call of the tool for the endpoint {family}"),
    }
}

/// Remembers the secrets of a request before it is checked: a request that is refused is recorded, too.
fn add_secrets(snapshot: &Snapshot, arguments: &Map<String, Value>, context: &Context) {
    add_secrets_of_one(snapshot, arguments, context);
    let batch = arguments.get("operations").and_then(Value::as_array);
    for one in batch.into_iter().flatten().filter_map(Value::as_object) {
        add_secrets_of_one(snapshot, one, context);
    }
}

fn add_secrets_of_one(snapshot: &Snapshot, request: &Map<String, Value>, context: &Context) {
    let name = request.get("operation").and_then(Value::as_str).unwrap_or_default();
    let params = request.get("params").and_then(Value::as_object);
    if let (Some((operation, catalog)), Some(params)) = (snapshot.operation(name), params) {
        context.trace.add_secrets(operation, catalog.types(), params);
    }
}
