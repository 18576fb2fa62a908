//! One tool call. An upstream of the newest revision may not ask back while it works: it answers with its questions, and
//! is called again with the answers. So a call may take several rounds.

use std::sync::Arc;

use aquifer_engine::source::{ClientCapability, Context};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::calls::CallOrigin;
use crate::delivery::Delivery;
use crate::error::{Gone, UpstreamError};
use crate::link::{Link, ProtocolMode};
use crate::message::Json;
use crate::relay;
use crate::roots;
use crate::sanitize::Sanitizer;
use crate::served::Served;
use crate::supervisor::Supervisor;

/// One that never has enough answers is refused.
const MAX_ROUNDS: usize = 5;

const UNANSWERED: &str = "It asks for input, no client gave any, and the call is not sent again";

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

/// What an upstream wants to know before it goes on.
#[derive(Deserialize)]
struct Wanted {
    #[serde(rename = "resultType", default)]
    kind: Option<String>,
    #[serde(rename = "inputRequests", default)]
    questions: Map<String, Value>,
    #[serde(rename = "requestState", default)]
    state: Option<String>,
}

/// Calls a tool when it is its turn, and answers what it wants to know. `served` is what the call was judged by: nothing
/// is sent once something else is served or waits to be.
pub(crate) async fn call(
    supervisor: &Supervisor,
    link: &Link,
    served: &Arc<Served>,
    tool: &str,
    arguments: &Value,
    context: &Context,
    delivery: &mut Delivery,
) -> Result<Json, UpstreamError> {
    let timeout = supervisor.settings.timeout;
    let turn = tokio::time::timeout(timeout, supervisor.permits.acquire()).await;
    let Ok(Ok(_turn)) = turn else { return Err(UpstreamError::TimedOut) };
    let heard = context.progress.has_listener();
    let session: Option<Arc<str>> = context.caller.owner().map(Into::into);
    let (mut answers, mut state): (Option<Map<String, Value>>, Option<String>) = (None, None);
    let mut gave_roots = false;
    for round in 0..MAX_ROUNDS {
        let call_origin = CallOrigin::new(context.progress.clone(), context.client.clone(), session.clone());
        let call_origin = Arc::new(call_origin);
        link.shared.used_by(&call_origin);
        if link.mode == ProtocolMode::Sessions {
            roots::bring(&link.shared, &call_origin, timeout).await;
        }
        // Waiting for its turn and for roots may have taken long.
        if round == 0 && !(link.is_fresh() && Arc::ptr_eq(served, &supervisor.served.load())) {
            return Err(UpstreamError::Unsent(Gone::new(
                "its tools have changed",
                "the tools changed before the call was sent",
            )));
        }
        let params = |id| Params {
            name: tool,
            arguments,
            answers: answers.as_ref(),
            state: state.as_deref(),
            meta: link.meta(heard.then_some(id)),
        };
        let result = link.deliver(delivery, "tools/call", Some(tool), call_origin, timeout, params).await?;
        if link.mode == ProtocolMode::Sessions {
            return Ok(result);
        }
        match serde_json::from_str::<Wanted>(result.text()) {
            Ok(wanted) if wanted.kind.as_deref() == Some("input_required") => {
                let answered = answer(&supervisor.sanitizer, wanted.questions, context).await?;
                let news = answered.by_client || (answered.roots && !gave_roots);
                gave_roots |= answered.roots;
                // Without an answer of the client the next message would be a copy of the first.
                if news {
                    delivery.begin_round();
                } else if !delivery.may_send() {
                    return Err(UpstreamError::Unfinished(UNANSWERED));
                }
                answers = Some(answered.answers);
                state = wanted.state;
            }
            _ => return Ok(result),
        }
    }
    Err(UpstreamError::Unfinished("It asks again and again for input"))
}

/// Questions of one round that are passed on. More are declined.
const MAX_QUESTIONS: usize = 8;

/// The answers of one round, and who gave them.
#[derive(Default)]
struct Answers {
    answers: Map<String, Value>,
    /// The client answered a question for a person or a model, if only by declining it.
    by_client: bool,
    /// The client gave its roots. It gives the same ones whenever it is asked.
    roots: bool,
}

async fn answer(
    sanitizer: &Sanitizer,
    questions: Map<String, Value>,
    context: &Context,
) -> Result<Answers, UpstreamError> {
    let mut answered = Answers::default();
    for (index, (key, asked)) in questions.into_iter().enumerate() {
        let capability = match asked.get("method").and_then(Value::as_str) {
            Some("elicitation/create") => ClientCapability::Elicitation,
            Some("sampling/createMessage") => ClientCapability::Sampling,
            Some("roots/list") => ClientCapability::Roots,
            _ => return Err(UpstreamError::Unintelligible("a question of an unknown kind".to_owned())),
        };
        let params = asked.get("params").and_then(Value::as_object).cloned().unwrap_or_default();
        let client = context.client.as_ref().filter(|client| index < MAX_QUESTIONS && client.can(capability));
        // Asked first, because the log has to say why a source is declined whoever is behind the call.
        let question = relay::question(sanitizer, capability, params);
        let answer = match (client, question) {
            (Some(client), Some(mut question)) => {
                let params = std::mem::take(&mut question.params);
                client.ask(capability, params).await.ok().map(|answer| question.translate(answer))
            }
            _ => None,
        };
        match capability {
            ClientCapability::Roots => answered.roots |= answer.is_some(),
            ClientCapability::Elicitation | ClientCapability::Sampling => answered.by_client |= answer.is_some(),
        }
        let declined = match capability {
            ClientCapability::Elicitation => Some(json!({ "action": "decline" })),
            ClientCapability::Roots => Some(json!({ "roots": [] })),
            ClientCapability::Sampling => None,
        };
        let answer = answer
            .or(declined)
            .ok_or(UpstreamError::Unfinished("It needs a completion (sampling), which is not offered for this call"))?;
        answered.answers.insert(key, answer);
    }
    Ok(answered)
}
