//! Asks the person behind the client: directly in a session, otherwise by making the client repeat the call.

use std::collections::BTreeMap;
use std::time::Duration;

use aquifer_engine::InputRequest;
use aquifer_protocol::error::FailureReason;
use aquifer_protocol::response::Response;
use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitationCapability, ElicitationSchema, InputRequest as McpInputRequest,
    InputRequests, InputRequiredResult, InputResponses,
};
use rmcp::service::{Peer, ServiceError};
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value, json};

use crate::client::call_context::CallContext;

/// A person who has not answered within this time counts as having refused.
const TIMEOUT: Duration = Duration::from_secs(300);

/// How long a call waits until the person has seen that there is a page. The message of the failure names it, too.
const PAGE_TIMEOUT: Duration = Duration::from_secs(30);

/// How the person behind this client can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ElicitationMode {
    /// Not at all.
    Never,
    /// With a request to the client, while the call waits.
    Directly,
    /// With an answer that asks the client to repeat the call.
    ByRetry,
}

impl ElicitationMode {
    pub(crate) fn from_context(context: &CallContext) -> Self {
        if !elicitation(context).is_some_and(shows_forms) {
            return ElicitationMode::Never;
        }
        if context.is_newest() { ElicitationMode::ByRetry } else { ElicitationMode::Directly }
    }
}

/// Whether a client can show forms. One that names no mode can.
pub(crate) fn shows_forms(elicitation: &ElicitationCapability) -> bool {
    elicitation.form.is_some() || elicitation.url.is_none()
}

/// Whether the client can be asked to open a page for the person while the call waits.
pub(crate) fn can_open_pages(context: &CallContext) -> bool {
    elicitation(context).is_some_and(|elicitation| elicitation.url.is_some()) && !context.is_newest()
}

fn elicitation(context: &CallContext) -> Option<&ElicitationCapability> {
    context.capabilities.as_ref()?.elicitation.as_ref()
}

/// A page on which a person decides about a call.
pub(crate) struct PageRequest {
    id: String,
    url: String,
    message: String,
}

impl PageRequest {
    /// The page that a response refers to.
    pub(crate) fn from_response(response: &Response) -> Option<Self> {
        let failure = response.failure()?;
        let FailureReason::ApprovalPending { id, url } = failure.reason()? else { return None };
        let message = "A call of your agent needs your approval. This page shows it".to_owned();
        Some(Self { id: id.to_string(), url: url.to_string(), message })
    }

    /// Asks the client to open the page. Whatever it answers, the call fails for now: it is repeated once it is approved.
    pub(crate) async fn ask(self, peer: &Peer<RoleServer>) {
        let Self { id, url, message } = self;
        let params = ElicitRequestParams::UrlElicitationParams { meta: None, message, url, elicitation_id: id };
        if let Err(cause) = peer.create_elicitation_with_timeout(params, Some(PAGE_TIMEOUT)).await {
            tracing::debug!(%cause, "the client did not open the page of an approval");
        }
    }
}

/// The answers in a repeated call, by the key of their question.
pub(crate) fn read(responses: Option<InputResponses>) -> Map<String, Value> {
    responses.unwrap_or_default().into_iter().collect()
}

/// Asks in a session. No answer, or a late one, counts as a refusal, and so does a question that did not reach the person.
pub(crate) async fn ask(peer: &Peer<RoleServer>, question: InputRequest) -> (String, Value) {
    let key = question.key.clone();
    let unavailable = json!({ "action": "unavailable" });
    let Ok(params) = form(question) else {
        tracing::error!(key, "a question has a form that MCP does not have");
        return (key, unavailable);
    };
    match peer.create_elicitation_with_timeout(params, Some(TIMEOUT)).await {
        Ok(result) => (key, serde_json::to_value(result).unwrap_or(unavailable)),
        Err(ServiceError::Timeout { .. }) => (key, json!({ "action": "timeout" })),
        Err(cause) => {
            tracing::debug!(%cause, "could not ask the person");
            (key, unavailable)
        }
    }
}

/// Asks by making the client repeat the call.
pub(crate) fn ask_by_retry(question: InputRequest) -> Result<InputRequiredResult, ErrorData> {
    let key = question.key.clone();
    let request = McpInputRequest::Elicitation(ElicitRequest::new(form(question)?));
    let requests: InputRequests = BTreeMap::from([(key, request)]);
    Ok(InputRequiredResult::from_input_requests(requests))
}

fn form(question: InputRequest) -> Result<ElicitRequestParams, ErrorData> {
    let requested_schema: ElicitationSchema = serde_json::from_value(Value::Object(question.schema))
        .map_err(|_| ErrorData::internal_error("the question has no valid form", None))?;
    Ok(ElicitRequestParams::FormElicitationParams { meta: None, message: question.message, requested_schema })
}
