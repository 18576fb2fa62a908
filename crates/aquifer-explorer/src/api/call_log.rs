//! The messages of recorded calls: those that a person tried, and those of all callers while recording is on.

use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::trace::{LogSwitch, MAX_TEXT_BYTES, RecordedCall, Step, WireMessage};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::ExplorerState;
use super::run::{StageTime, microseconds};
use crate::error::ApiError;

/// More calls cannot be recorded at once.
const MAX_CALLS: u32 = 100;

/// Recording ends by itself after this time at the latest.
const MAX_MINUTES: u64 = 30;

#[derive(Serialize)]
pub(super) struct CallList {
    /// `null` if recording is off.
    recording: Option<Recording>,
    calls: Vec<CallEntry>,
}

#[derive(Serialize)]
struct Recording {
    calls_left: u32,
    seconds_left: u64,
}

/// A recorded call without its messages.
#[derive(Serialize)]
struct CallEntry {
    request_id: Arc<str>,
    operation: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    principal: Option<Arc<str>>,
    started_at: Timestamp,
    took_us: u64,
    /// The estimated tokens of the answer. `None` if the call was cancelled.
    tokens: Option<usize>,
    direct_tokens: Option<usize>,
}

#[derive(Serialize)]
pub(super) struct CallDetails {
    #[serde(flatten)]
    entry: CallEntry,
    stages: Vec<StageTime>,
    messages: Vec<WireMessage>,
    max_text_bytes: usize,
}

#[derive(Deserialize)]
pub(super) struct Switch {
    /// How many calls are recorded. Zero ends recording.
    calls: u32,
    minutes: u64,
}

/// The recorded calls, the newest first, and whether recording is on.
pub(super) async fn list(State(explorer): ExplorerState) -> Json<CallList> {
    let log = explorer.engine.call_log();
    let recording = log
        .switch()
        .map(|LogSwitch { calls_left, time_left }| Recording { calls_left, seconds_left: time_left.as_secs() });
    Json(CallList { recording, calls: log.calls().iter().map(|call| entry(call)).collect() })
}

/// One call with its messages.
pub(super) async fn show(
    State(explorer): ExplorerState,
    Path(request_id): Path<String>,
) -> Result<Json<CallDetails>, ApiError> {
    let Some(call) = explorer.engine.call_log().find(&request_id) else {
        return Err(ApiError::NotFound("The messages of this call were not recorded, or are gone".to_owned()));
    };
    Ok(Json(CallDetails {
        entry: entry(&call),
        stages: call.stages.iter().copied().map(StageTime::from).collect(),
        messages: call.messages.clone(),
        max_text_bytes: MAX_TEXT_BYTES,
    }))
}

/// Switches recording on, for a number of calls and a time, or off.
pub(super) async fn switch(
    State(explorer): ExplorerState,
    Json(Switch { calls, minutes }): Json<Switch>,
) -> Result<StatusCode, ApiError> {
    if calls > MAX_CALLS || minutes > MAX_MINUTES {
        return Err(ApiError::Invalid(format!(
            "At most {MAX_CALLS} calls within {MAX_MINUTES} minutes can be recorded"
        )));
    }
    let log = explorer.engine.call_log();
    match calls {
        0 => log.switch_off(),
        calls => log.switch_on(calls, Duration::from_secs(minutes * 60)),
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Drops everything that was recorded.
pub(super) async fn clear(State(explorer): ExplorerState) -> StatusCode {
    explorer.engine.call_log().clear();
    StatusCode::NO_CONTENT
}

fn entry(call: &RecordedCall) -> CallEntry {
    let answered = call.messages.iter().find(|message| message.step == Step::Answered);
    CallEntry {
        request_id: call.request_id.clone(),
        operation: call.operation.clone(),
        principal: call.principal.clone(),
        started_at: call.started_at,
        took_us: microseconds(call.took),
        tokens: answered.map(|message| message.tokens),
        direct_tokens: call.direct_tokens,
    }
}
