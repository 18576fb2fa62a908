//! The API of the page. Every request has passed the [guard](crate::guard), so it has a session.

mod approvals;
mod audit;
mod call_log;
mod events;
mod operations;
mod overview;
mod run;
mod session;
mod tables;

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use serde_json::Value;

use crate::Explorer;
use crate::error::ApiError;
use crate::login::Session;

type ExplorerState = State<Arc<Explorer>>;

pub(crate) fn router() -> Router<Arc<Explorer>> {
    Router::new()
        .route("/session", get(session::show).post(session::begin).delete(session::end))
        .route("/overview", get(overview::show))
        .route("/operations", get(operations::list))
        .route("/operations/{name}", get(operations::show))
        .route("/tables", get(tables::list))
        .route("/run", post(run::run))
        .route("/call-log", get(call_log::list).post(call_log::switch).delete(call_log::clear))
        .route("/call-log/{request_id}", get(call_log::show))
        .route("/approvals", get(approvals::list))
        .route("/approvals/resume", post(approvals::resume))
        .route("/approvals/{id}", get(approvals::show).post(approvals::decide))
        .route("/approvals/{id}/edit", post(approvals::check_edit))
        .route("/audit", get(audit::list))
        .route("/audit/verify", post(audit::verify))
        .route("/events", get(events::stream))
        .route("/review", get(review).post(decide_review))
        .route("/settings", get(settings))
        .route("/rules/preview", post(preview_rules))
        .route("/rules/apply", post(apply_rules))
        .fallback(unknown)
}

async fn unknown() -> ApiError {
    ApiError::NotFound("The API has no such address".to_owned())
}

async fn review(State(explorer): ExplorerState) -> Result<Json<Value>, ApiError> {
    explorer.operator.review().await.map(Json)
}

async fn decide_review(
    State(explorer): ExplorerState,
    Extension(session): Extension<Session>,
    Json(decision): Json<Value>,
) -> Result<StatusCode, ApiError> {
    explorer.operator.decide_review(decision, session.person).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn settings(State(explorer): ExplorerState) -> Result<Json<Value>, ApiError> {
    explorer.operator.settings().await.map(Json)
}

async fn preview_rules(State(explorer): ExplorerState, Json(change): Json<Value>) -> Result<Json<Value>, ApiError> {
    explorer.operator.preview_rules(change).await.map(Json)
}

async fn apply_rules(
    State(explorer): ExplorerState,
    Extension(session): Extension<Session>,
    Json(change): Json<Value>,
) -> Result<StatusCode, ApiError> {
    explorer.operator.apply_rules(change, session.person).await?;
    Ok(StatusCode::NO_CONTENT)
}
