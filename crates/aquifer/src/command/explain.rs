//! `aquifer call … --explain`: shows what would be decided about a request and why, without running it.

use aquifer_engine::{Caller, Context, Engine};
use aquifer_protocol::error::Failure;
use aquifer_protocol::request::{ParsedRequest, Request, RequestError, parse};
use aquifer_protocol::surface::Receiver;
use serde_json::{Map, Value, json};

use crate::Ending;
use crate::safety::Safety;

/// Explains a request, or every operation of a batch. Fails if the request would be refused or denied.
pub(super) async fn run(
    engine: &Engine,
    safety: &Safety,
    receiver: &Receiver,
    request: Map<String, Value>,
    caller: Caller,
) -> anyhow::Result<Ending> {
    let context = Context::new(caller, engine.next_request_id());
    let mut explanations = Vec::new();
    let batch = match parse(request, engine.settings().max_batch_size) {
        Ok(ParsedRequest::One(request)) => {
            explanations.push(explain_request(engine, safety, receiver, Ok(request), &context).await);
            false
        }
        Ok(ParsedRequest::Batch(items)) => {
            for item in items {
                explanations.push(explain_request(engine, safety, receiver, item.request, &context).await);
            }
            true
        }
        Err(RequestError::One(failure) | RequestError::Batch(failure)) => {
            explanations.push(refused(&failure));
            false
        }
    };
    let is_permitted = |explanation: &Value| explanation.get("decision").is_some_and(|decision| decision != "deny");
    let ending = if explanations.iter().all(is_permitted) { Ending::Done } else { Ending::Failure };
    let output = if batch { Value::Array(explanations) } else { explanations.into_iter().next().unwrap_or_default() };
    super::json::print(&output.to_string())?;
    Ok(ending)
}

async fn explain_request(
    engine: &Engine,
    safety: &Safety,
    receiver: &Receiver,
    request: Result<Request, Failure>,
    context: &Context,
) -> Value {
    match request.and_then(|request| engine.check(receiver, request)) {
        Ok(checked) => safety.gate.explain(&checked, context).await,
        Err(failure) => refused(&failure),
    }
}

/// The explanation of a request that is refused before a decision.
fn refused(failure: &Failure) -> Value {
    json!({ "refused": { "code": failure.code().as_str(), "message": failure.message() } })
}
