//! Runs requests of the person, through the engine and its gate like every other request.

use std::sync::Arc;
use std::time::{Duration, Instant};

use aquifer_engine::trace::{Stage, Trace};
use aquifer_engine::{Caller, Context, Interaction, Reply};
use aquifer_protocol::error::Failure;
use aquifer_protocol::response::Response;
use aquifer_protocol::scan::{Frame, scan};
use aquifer_protocol::surface::Receiver;
use aquifer_query::budget::estimate_text;
use axum::body::Bytes;
use axum::extract::State;
use axum::{Extension, Json};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::ExplorerState;
use crate::Explorer;
use crate::error::ApiError;
use crate::login::Session;

#[derive(Deserialize)]
pub(super) struct RunRequest {
    request: Map<String, Value>,
}

#[derive(Serialize)]
pub(super) struct RunResult {
    /// The response exactly as an agent gets it.
    response: Box<RawValue>,
    request_id: Arc<str>,
    took_us: u64,
    bytes: usize,
    /// Estimated.
    tokens: usize,
    /// What a tool of the source's own would have returned, estimated. `None` if that is not known.
    direct_tokens: Option<usize>,
    stages: Vec<StageTime>,
}

/// How long a stage took.
#[derive(Serialize)]
pub(super) struct StageTime {
    name: &'static str,
    took_us: u64,
}

impl From<(Stage, Duration)> for StageTime {
    fn from((stage, took): (Stage, Duration)) -> Self {
        Self { name: stage.as_str(), took_us: microseconds(took) }
    }
}

/// Runs a request. It is cancelled when the page goes away.
pub(super) async fn run(
    State(explorer): ExplorerState,
    Extension(session): Extension<Session>,
    body: Bytes,
) -> Result<Json<RunResult>, ApiError> {
    let RunRequest { request } = parse(&explorer, &body)?;
    let started = Instant::now();
    let trace = Trace::measuring();
    let context = Context::new(caller(&session), explorer.engine.next_request_id());
    let context = Context { trace: trace.clone(), interaction: Interaction::Person, ..context };
    let request_id = context.request_id.clone();
    let text = handle(&explorer, request, context).await;
    let took_us = microseconds(started.elapsed());
    let stages = trace.stages().into_iter().map(StageTime::from).collect();
    let direct_tokens = trace.direct_tokens();
    let (bytes, tokens) = (text.len(), estimate_text(text.as_bytes()));
    let response = RawValue::from_string(text).map_err(|error| ApiError::Internal(error.to_string()))?;
    Ok(Json(RunResult { response, request_id, took_us, bytes, tokens, direct_tokens, stages }))
}

/// Reads a request. The scanner runs before the parser, as for the requests of agents: duplicate names and numbers that
/// would lose digits are refused.
pub(super) fn parse<T: DeserializeOwned>(explorer: &Explorer, body: &[u8]) -> Result<T, ApiError> {
    scan(body, Frame::Bare, &explorer.engine.settings().limits)
        .map_err(|problem| ApiError::Invalid(Failure::from(&problem).message().to_owned()))?;
    serde_json::from_slice(body).map_err(|error| ApiError::Invalid(format!("The request is not valid: {error}")))
}

pub(super) fn microseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// The person as a caller. Tokens and cursors belong to the person, so that they work after a new login.
pub(super) fn caller(session: &Session) -> Caller {
    Caller { principal: Some(format!("explorer:{}", session.person).into()), session: Some(session.id().into()) }
}

/// The response to a request, as text.
async fn handle(explorer: &Explorer, request: Map<String, Value>, context: Context) -> String {
    let response = match explorer.engine.handle(&Receiver::Unified, request, context).await {
        Reply::Response(response) => response,
        Reply::NeedsInput(question) => Response::Failure(question.into_failure()),
    };
    response.render(&explorer.engine.settings().limits).text
}

/// Asks `introspect` what agents ask it, and returns the data.
pub(super) async fn introspect(explorer: &Explorer, session: &Session, params: Value) -> Result<Value, ApiError> {
    let request = Map::from_iter([("operation".to_owned(), "introspect".into()), ("params".to_owned(), params)]);
    let context = Context::new(caller(session), explorer.engine.next_request_id());
    let context = Context { trace: Trace::never(), ..context };
    let text = handle(explorer, request, context).await;
    let mut response: Value =
        serde_json::from_str(&text).map_err(|error| ApiError::Internal(format!("introspect: {error}")))?;
    match response.get("success") {
        Some(Value::Bool(true)) => Ok(response.get_mut("data").map(Value::take).unwrap_or_default()),
        _ => {
            let message =
                response.pointer("/error/message").and_then(Value::as_str).unwrap_or("It cannot be described");
            Err(ApiError::NotFound(message.to_owned()))
        }
    }
}
