//! `aquifer call … --explain`: shows the decision about a request and its reasons, without running it.

use aquifer_engine::{Caller, Context, Engine};
use aquifer_protocol::error::Failure;
use aquifer_protocol::reference;
use aquifer_protocol::request::{ParsedRequest, Request, RequestError, parse};
use aquifer_protocol::surface::Receiver;
use serde_json::{Map, Value, json};

use crate::CommandOutcome;
use crate::safety::Safety;

/// Explains a request, or every operation of a batch. Fails if the request would be refused or denied.
pub(super) async fn run(
    engine: &Engine,
    safety: &Safety,
    receiver: &Receiver,
    request: Map<String, Value>,
    caller: Caller,
) -> anyhow::Result<CommandOutcome> {
    let context = Context::new(caller, engine.next_request_id());
    let mut explanations = Vec::new();
    let batch = match parse(request, engine.settings().max_batch_size) {
        Ok(ParsedRequest::One(request)) => {
            explanations.push(explain_request(engine, safety, receiver, Ok(request), &context).await);
            false
        }
        Ok(ParsedRequest::Batch(batch)) => {
            let names: Vec<String> = batch.items.iter().map(|item| item.operation.clone()).collect();
            for (index, item) in batch.items.into_iter().enumerate() {
                let request = item.request.and_then(|request| {
                    let is_complete = reference::referenced(&request, index)?.is_empty();
                    Ok((request, is_complete))
                });
                explanations.push(match request {
                    Ok((request, false)) => {
                        explain_incomplete(engine, safety, receiver, &request, &names, &context).await
                    }
                    Ok((request, true)) => explain_request(engine, safety, receiver, Ok(request), &context).await,
                    Err(failure) => refused(&failure),
                });
            }
            true
        }
        Err(RequestError::One(failure) | RequestError::Batch(failure)) => {
            explanations.push(refused(&failure));
            false
        }
    };
    let is_permitted = |explanation: &Value| explanation.get("decision").is_some_and(|decision| decision != "deny");
    let ending = if explanations.iter().all(is_permitted) { CommandOutcome::Done } else { CommandOutcome::Failure };
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

/// The explanation of a request with `$from`. Its values are unknown, because nothing runs.
async fn explain_incomplete(
    engine: &Engine,
    safety: &Safety,
    receiver: &Receiver,
    request: &Request,
    names: &[String],
    context: &Context,
) -> Value {
    let operation = match engine.find_operation(receiver, request) {
        Ok(operation) => operation,
        Err(failure) => return refused(&failure),
    };
    let mut explanation = safety.gate.explain_without_params(&operation, context).await;
    let from = reference::references(request).into_iter().map(|(param, text)| {
        let index = text.split('.').next().and_then(|index| index.parse::<usize>().ok());
        let earlier = index.and_then(|index| names.get(index));
        json!({ "param": param, "$from": text, "operation": earlier })
    });
    let from: Vec<Value> = from.collect();
    if let Some(explanation) = explanation.as_object_mut() {
        explanation.insert("unresolved".to_owned(), from.into());
        explanation.insert("note".to_owned(), UNRESOLVED.into());
    }
    explanation
}

/// Why the explanation of a request with `$from` is incomplete.
const UNRESOLVED: &str = "Nothing runs, so the values of 'unresolved' are not known. The decision is that for the operation; \
                          rules about parameters are applied, and the parameters are checked, when the batch runs. To explain \
                          it with its parameters, write values instead of '$from'";

/// The explanation of a request that is refused before a decision.
fn refused(failure: &Failure) -> Value {
    json!({ "refused": { "code": failure.code().as_str(), "message": failure.message() } })
}
