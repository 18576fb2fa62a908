//! Logging in and out.

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};

use super::ExplorerState;
use crate::error::ApiError;
use crate::login::{self, Session};

/// A token longer than this is not one of ours.
const MAX_TOKEN_BYTES: usize = 256;

#[derive(Deserialize)]
pub(super) struct Login {
    token: String,
}

/// What the page keeps.
#[derive(Serialize)]
pub(super) struct SessionSecret {
    secret: String,
}

/// Exchanges the token of a link for a session.
pub(super) async fn begin(
    State(explorer): ExplorerState,
    Json(Login { token }): Json<Login>,
) -> Result<Json<SessionSecret>, ApiError> {
    if token.len() > MAX_TOKEN_BYTES {
        return Err(ApiError::LoginRequired);
    }
    let secret = login::redeem_link(&explorer, &token).await?;
    Ok(Json(SessionSecret { secret }))
}

pub(super) async fn show(Extension(session): Extension<Session>) -> Json<Session> {
    Json(session)
}

pub(super) async fn end(
    State(explorer): ExplorerState,
    Extension(session): Extension<Session>,
) -> Result<StatusCode, ApiError> {
    login::end_session(&explorer, &session).await?;
    Ok(StatusCode::NO_CONTENT)
}
