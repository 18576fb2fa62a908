//! Asks the person behind the client: directly in a session, otherwise by making the client repeat the call.

use std::collections::BTreeMap;
use std::time::Duration;

use aquifer_engine::InputRequest;
use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitationSchema, InputRequest as McpInputRequest, InputRequests,
    InputRequiredResult, InputResponses, ProtocolVersion,
};
use rmcp::service::{Peer, RequestContext, ServiceError};
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value, json};

/// A person who has not answered within this time counts as having refused.
const TIMEOUT: Duration = Duration::from_secs(300);

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
    pub(crate) fn from_context(context: &RequestContext<RoleServer>) -> Self {
        if context.client_capabilities().is_none_or(|capabilities| capabilities.elicitation.is_none()) {
            return ElicitationMode::Never;
        }
        match context.protocol_version() {
            Some(version) if version >= ProtocolVersion::V_2026_07_28 => ElicitationMode::ByRetry,
            _ => ElicitationMode::Directly,
        }
    }
}

/// The answers in a repeated call, by the key of their question.
pub(crate) fn read(responses: Option<InputResponses>) -> Map<String, Value> {
    responses.unwrap_or_default().into_iter().collect()
}

/// Asks in a session. No answer, or a late one, counts as a refusal.
pub(crate) async fn ask(peer: &Peer<RoleServer>, question: InputRequest) -> (String, Value) {
    let key = question.key.clone();
    let refusal = json!({ "action": "cancel" });
    let Ok(params) = form(question) else { return (key, refusal) };
    match peer.create_elicitation_with_timeout(params, Some(TIMEOUT)).await {
        Ok(result) => (key, serde_json::to_value(result).unwrap_or(refusal)),
        Err(ServiceError::Timeout { .. }) => (key, json!({ "action": "timeout" })),
        Err(cause) => {
            tracing::debug!(%cause, "could not ask the person");
            (key, refusal)
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
