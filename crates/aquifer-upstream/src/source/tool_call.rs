//! One tool call. Upstreams of the newest revision cannot send requests during a call. They answer with questions
//! instead and are called again with the answers, so a call may take several rounds.

use std::sync::Arc;

use aquifer_engine::source::{ClientCapability, Context};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::catalog::snapshot::CatalogSnapshot;
use crate::client::connection::{Connection, ProtocolMode};
use crate::client::delivery::Delivery;
use crate::client::message::Json;
use crate::client::pending_calls::CallOrigin;
use crate::client::question;
use crate::client::roots;
use crate::error::{Outage, UpstreamError};
use crate::sanitize::Sanitizer;
use crate::supervisor::lifecycle::Supervisor;

/// Maximum number of rounds of one call.
const MAX_ROUNDS: usize = 5;

const NO_INPUT: &str = "It requested input, no client provided any, and the call is not sent again";

#[derive(Serialize)]
struct Params<'a> {
    name: &'a str,
    arguments: &'a Value,
    #[serde(rename = "inputResponses", skip_serializing_if = "Option::is_none")]
    answers: Option<&'a Map<String, Value>>,
    #[serde(rename = "requestState", skip_serializing_if = "Option::is_none")]
    state: Option<&'a str>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Value>,
}

/// An answer that requests input.
#[derive(Deserialize)]
struct InputRequest {
    #[serde(rename = "resultType", default)]
    kind: Option<String>,
    #[serde(rename = "inputRequests", default)]
    requests: Map<String, Value>,
    #[serde(rename = "requestState", default)]
    state: Option<String>,
}

/// Calls a tool when a permit is free, and answers requests for input. `snapshot` is the catalog that the call was
/// checked against: nothing is sent if another one is served or pending.
pub(crate) async fn call(
    supervisor: &Supervisor,
    connection: &Connection,
    snapshot: &Arc<CatalogSnapshot>,
    tool: &str,
    arguments: &Value,
    context: &Context,
    delivery: &mut Delivery,
) -> Result<Json, UpstreamError> {
    let timeout = supervisor.settings.timeout;
    let permit = tokio::time::timeout(timeout, supervisor.permits.acquire()).await;
    let Ok(Ok(_permit)) = permit else { return Err(UpstreamError::TimedOut) };
    let wants_progress = context.progress.has_listener();
    let session: Option<Arc<str>> = context.caller.owner().map(Into::into);
    let (mut answers, mut state): (Option<Map<String, Value>>, Option<String>) = (None, None);
    let mut gave_roots = false;
    for round in 0..MAX_ROUNDS {
        let call_origin = CallOrigin::new(context.progress.clone(), context.client.clone(), session.clone());
        let call_origin = Arc::new(call_origin.with_trace(context.trace.clone()));
        connection.shared.record_client(&call_origin);
        if connection.mode == ProtocolMode::Sessions {
            roots::refresh(&connection.shared, &call_origin, timeout).await;
        }
        // Waiting for the permit and for roots may have taken long.
        if round == 0 && !(connection.is_fresh() && Arc::ptr_eq(snapshot, &supervisor.snapshot.load())) {
            return Err(UpstreamError::Unsent(Outage::new(
                "its tools have changed",
                "the tools changed before the call was sent",
            )));
        }
        let params = |id| Params {
            name: tool,
            arguments,
            answers: answers.as_ref(),
            state: state.as_deref(),
            meta: connection.meta(wants_progress.then_some(id)),
        };
        let result = connection.deliver(delivery, "tools/call", Some(tool), call_origin, timeout, params).await?;
        if connection.mode == ProtocolMode::Sessions {
            return Ok(result);
        }
        match serde_json::from_str::<InputRequest>(result.text()) {
            Ok(request) if request.kind.as_deref() == Some("input_required") => {
                let round_answers = answer_requests(&supervisor.sanitizer, request.requests, context).await?;
                let has_new_answer = round_answers.by_client || (round_answers.roots && !gave_roots);
                gave_roots |= round_answers.roots;
                // Without a new answer, the next message would repeat the first one.
                if has_new_answer {
                    delivery.begin_round();
                } else if !delivery.may_send() {
                    return Err(UpstreamError::MissingInput(NO_INPUT));
                }
                answers = Some(round_answers.answers);
                state = request.state;
            }
            _ => return Ok(result),
        }
    }
    Err(UpstreamError::MissingInput("It keeps requesting input"))
}

/// Maximum number of questions of one round that are passed on. Further questions are declined.
const MAX_QUESTIONS: usize = 8;

/// The answers of one round and who gave them.
#[derive(Default)]
struct RoundAnswers {
    answers: Map<String, Value>,
    /// Whether the client answered a question, even by declining it.
    by_client: bool,
    /// Whether the client returned its roots, which are the same in every round.
    roots: bool,
}

async fn answer_requests(
    sanitizer: &Sanitizer,
    requests: Map<String, Value>,
    context: &Context,
) -> Result<RoundAnswers, UpstreamError> {
    let mut round_answers = RoundAnswers::default();
    for (index, (key, request)) in requests.into_iter().enumerate() {
        let capability = match request.get("method").and_then(Value::as_str) {
            Some("elicitation/create") => ClientCapability::Elicitation,
            Some("sampling/createMessage") => ClientCapability::Sampling,
            Some("roots/list") => ClientCapability::Roots,
            _ => return Err(UpstreamError::InvalidResponse("an unknown request for input".to_owned())),
        };
        let params = request.get("params").and_then(Value::as_object).cloned().unwrap_or_default();
        let client = context.client.as_ref().filter(|client| index < MAX_QUESTIONS && client.can(capability));
        // Prepared before a client is looked for, so that a request that is not allowed is logged even without a
        // client.
        let question = question::prepare_question(sanitizer, capability, params);
        let answer = match (client, question) {
            (Some(client), Some(mut question)) if question.fits(&**client) => {
                let params = std::mem::take(&mut question.params);
                client.ask(capability, params).await.ok().map(|answer| question.translate(answer))
            }
            _ => None,
        };
        match capability {
            ClientCapability::Roots => round_answers.roots |= answer.is_some(),
            ClientCapability::Elicitation | ClientCapability::Sampling => round_answers.by_client |= answer.is_some(),
        }
        let declined = match capability {
            ClientCapability::Elicitation => Some(json!({ "action": "decline" })),
            ClientCapability::Roots => Some(json!({ "roots": [] })),
            ClientCapability::Sampling => None,
        };
        let answer = answer.or(declined).ok_or(UpstreamError::MissingInput(
            "It needs a completion (sampling), which the client does not offer for this call",
        ))?;
        round_answers.answers.insert(key, answer);
    }
    Ok(round_answers)
}
