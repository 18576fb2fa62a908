//! `aquifer call … --explain`: what would be decided about a request, and why. Nothing runs.

use aquifer_engine::{Caller, Context, Engine};
use aquifer_protocol::error::Failure;
use aquifer_protocol::request::{ParsedRequest, Request, RequestError, parse};
use aquifer_protocol::surface::Receiver;
use serde_json::{Map, Value, json};

use crate::Ending;
use crate::safety::Safety;

/// Explains a request, or every operation of a batch. Fails where the request itself would be refused, and where it would
/// be denied.
pub(super) async fn run(
    engine: &Engine,
    safety: &Safety,
    receiver: &Receiver,
    request: Map<String, Value>,
    caller: Caller,
) -> anyhow::Result<Ending> {
    let context = Context::new(caller, engine.next_request_id());
    let mut told = Vec::new();
    let batch = match parse(request, engine.settings().max_batch_size) {
        Ok(ParsedRequest::One(request)) => {
            told.push(one(engine, safety, receiver, Ok(request), &context).await);
            false
        }
        Ok(ParsedRequest::Batch(items)) => {
            for item in items {
                told.push(one(engine, safety, receiver, item.request, &context).await);
            }
            true
        }
        Err(RequestError::One(failure) | RequestError::Batch(failure)) => {
            told.push(refused(&failure));
            false
        }
    };
    let goes = |told: &Value| told.get("decision").is_some_and(|decision| decision != "deny");
    let ending = if told.iter().all(goes) { Ending::Done } else { Ending::Failure };
    let told = if batch { Value::Array(told) } else { told.into_iter().next().unwrap_or_default() };
    super::json::print(&told.to_string())?;
    Ok(ending)
}

async fn one(
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

/// A request that never gets as far as a decision.
fn refused(failure: &Failure) -> Value {
    json!({ "refused": { "code": failure.code().as_str(), "message": failure.message() } })
}
